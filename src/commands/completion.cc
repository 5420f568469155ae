// alibi completion: what bash, zsh and fish need to complete commands, options and config keys.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/strings.h"
#include "commands/commands.h"
#include "config/fields.h"

namespace alibi {
namespace {

using Words = std::vector<std::string>;

struct Option {
  std::string name;  // "--set"
  std::string about;
  Words choices;  // all values it takes, where there is a list of them
};

struct Place {
  std::string path;  // "", "inspect", "inspect memory"
  std::string about;
  Words below;   // names of subcommands
  Words values;  // what an argument without a name may be
  std::vector<Option> options;
};

// CLI11 tells a list of choices in the type's name: "TEXT:{hf,gguf}".
Words choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t first = type.find('{'), last = type.find('}');
  if (first == std::string::npos || last == std::string::npos) return {};
  return split(type.substr(first + 1, last - first - 1), ',');
}

void add_places(const CLI::App& app, const std::string& path, std::vector<Place>& places) {
  Place place{path, app.get_description(), {}, {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    const Words choices = choices_of(*option);
    for (const std::string& name : option->get_lnames())
      place.options.push_back({"--" + name, option->get_description(), choices});
    if (option->get_positional()) place.values = choices;
  }
  const auto below = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : below) place.below.push_back(command->get_name());
  places.push_back(std::move(place));
  for (const CLI::App* command : below)
    add_places(*command, cat(path, path.empty() ? "" : " ", command->get_name()), places);
}

// What may follow --set: every key with its "=", and each value where there is a list of them.
struct Settings {
  Words keys, values;
};

Settings settings() {
  Config defaults;
  Settings all;
  for (const Section& section : sections(defaults)) {
    for (const Field& field : section.fields) {
      const std::string key = cat(section.path, ".", field.name, "=");
      all.keys.push_back(key);
      if (const auto* names = std::get_if<EnumTarget>(&field.target)) {
        for (const std::string& name : names->names) all.values.push_back(key + name);
      } else if (std::holds_alternative<bool*>(field.target)) {
        all.values.insert(all.values.end(), {key + "false", key + "true"});
      }
    }
  }
  return all;
}

std::string spaced(const Words& words) { return join(words, " "); }

Words names_of(const std::vector<Option>& options) {
  Words names;
  for (const Option& option : options) names.push_back(option.name);
  return names;
}

// "--to=hf --to=gguf ...": every value of the options that have a list of them.
std::string choices_of(const std::vector<Option>& options) {
  Words all;
  for (const Option& option : options) {
    for (const std::string& choice : option.choices) all.push_back(cat(option.name, "=", choice));
  }
  return spaced(all);
}

// In single quotes, for all three shells.
std::string quoted(const std::string& text) {
  std::string line = first_line(text);
  std::erase(line, '\'');
  std::erase(line, '\\');
  return cat("'", line, "'");
}

// Shell code that bash and zsh share: the commands said so far become `place`, then its words.
std::string cases_of(const std::vector<Place>& places) {
  Words known;
  std::string words;
  for (const Place& place : places) {
    for (const std::string& name : place.below) known.push_back(quoted(cat(place.path, "/", name)));
    const Words& below = place.below.empty() ? place.values : place.below;
    words += cat("    ", quoted(place.path), ") below=", quoted(spaced(below)),
                 " options=", quoted(spaced(names_of(place.options))),
                 " choices=", quoted(choices_of(place.options)), " ;;\n");
  }
  return cat("  for one in \"${said[@]}\"; do\n    case \"$place/$one\" in\n      ",
             join(known, " | "),
             ") place=\"${place:+$place }$one\" ;;\n    esac\n  done\n"
             "  case \"$place\" in\n",
             words, "  esac\n");
}

std::string for_bash(const std::vector<Place>& places, const Settings& all) {
  return cat(
      "# Completion of alibi's commands, options and config keys for bash.\n"
      "_alibi() {\n"
      "  local line=\"${COMP_LINE:0:COMP_POINT}\" place= below= options= choices= one= lead= "
      "values=\n"
      "  local word=\"${line##*[[:space:]]}\"\n"
      "  COMPREPLY=()\n"
      "  local -a said\n"
      "  read -r -a said <<<\"${line%\"$word\"}\"\n",
      cases_of(places),
      "  local before=\"${said[${#said[@]} - 1]}\"\n"
      "  if [[ \"$word\" == --*=* ]]; then before=\"${word%%=*}\" lead=\"${word%%=*}=\"; fi\n"
      "  for one in $choices; do\n"
      "    if [[ \"$one\" == \"$before=\"* ]]; then values+=\" ${one#*=}\"; fi\n"
      "  done\n"
      "  if [[ \"$before\" == --set ]]; then\n"
      "    compopt -o nospace\n"
      "    local words=",
      quoted(spaced(all.keys)),
      "\n"
      "    if [[ \"${word#\"$lead\"}\" == *=* ]]; then words=",
      quoted(spaced(all.values)),
      "; fi\n"
      "    mapfile -t COMPREPLY < <(compgen -P \"$lead\" -W \"$words\" -- \"${word#\"$lead\"}\")\n"
      "  elif [[ -n \"$values\" ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -P \"$lead\" -W \"$values\" -- \"${word#\"$lead\"}\")\n"
      "  elif [[ \"$word\" == -* ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
      "  elif [[ -n \"$below\" ]]; then\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$below\" -- \"$word\")\n"
      "  fi  # else: files, which bash completes itself\n"
      "  # Bash takes what stands behind \"=\" for a word of its own.\n"
      "  if [[ \"$COMP_WORDBREAKS\" == *=* && \"$word\" == *=* ]]; then\n"
      "    COMPREPLY=(\"${COMPREPLY[@]#\"${word%\"${word##*=}\"}\"}\")\n"
      "  fi\n"
      "}\n"
      "complete -o default -F _alibi alibi\n");
}

std::string for_zsh(const std::vector<Place>& places, const Settings& all) {
  return cat(
      "#compdef alibi\n"
      "# Completion of alibi's commands, options and config keys for zsh.\n"
      "_alibi() {\n"
      "  local place= below= options= choices= one= before=\"${words[CURRENT-1]}\"\n"
      "  local -a said values\n"
      "  said=(\"${(@)words[2,CURRENT-1]}\")\n",
      cases_of(places),
      "  if [[ \"$PREFIX\" == --*=* ]]; then before=\"${PREFIX%%=*}\"; compset -P 1 '*='; fi\n"
      "  for one in ${=choices}; do\n"
      "    if [[ \"$one\" == \"$before=\"* ]]; then values+=(\"${one#*=}\"); fi\n"
      "  done\n"
      "  if [[ \"$before\" == --set ]]; then\n"
      "    if [[ \"$PREFIX\" == *=* ]]; then\n"
      "      compadd -- ",
      spaced(all.values), "\n    else\n      compadd -S '' -- ", spaced(all.keys),
      "\n"
      "    fi\n"
      "  elif (( ${#values} )); then\n"
      "    compadd -- $values\n"
      "  elif [[ \"$PREFIX\" == -* ]]; then\n"
      "    compadd -- ${=options}\n"
      "  elif [[ -n \"$below\" ]]; then\n"
      "    compadd -- ${=below}\n"
      "  else\n"
      "    _files\n"
      "  fi\n"
      "}\n"
      "if [[ \"${funcstack[1]}\" == _alibi ]]; then _alibi \"$@\"; else compdef _alibi alibi; "
      "fi\n");
}

std::string for_fish(const std::vector<Place>& places, const Settings& all) {
  std::string text =
      "# Completion of alibi's commands, options and config keys for fish.\n"
      "function __alibi_place\n"
      "  set -l place\n"
      "  for one in (commandline -opc)[2..]\n"
      "    switch \"$place/$one\"\n"
      "      case";
  for (const Place& place : places) {
    for (const std::string& name : place.below)
      text += cat(" ", quoted(cat(place.path, "/", name)));
  }
  text +=
      "\n        set place (string trim -- \"$place $one\")\n"
      "    end\n"
      "  end\n"
      "  test \"$place\" = \"$argv[1]\"\n"
      "end\n";
  for (const Place& place : places) {
    const std::string at = cat("complete -c alibi -n '__alibi_place \"", place.path, "\"'");
    for (const Option& option : place.options) {
      text += cat(at, " -l ", option.name.substr(2), " -d ", quoted(option.about));
      if (!option.choices.empty()) text += cat(" -x -a ", quoted(spaced(option.choices)));
      if (option.name == "--set")
        text += cat(" -x -a ", quoted(cat(spaced(all.keys), " ", spaced(all.values))));
      text += "\n";
    }
    for (const std::string& value : place.values) text += cat(at, " -f -a ", value, "\n");
    for (const std::string& name : place.below) {
      const std::string path = cat(place.path, place.path.empty() ? "" : " ", name);
      const auto found = std::find_if(places.begin(), places.end(),
                                      [&](const Place& other) { return other.path == path; });
      text += cat(at, " -f -a ", name, " -d ", quoted(found->about), "\n");
    }
  }
  return text;
}

int run(const CLI::App& app, const std::string& shell) {
  std::vector<Place> places;
  add_places(app, "", places);
  const Settings all = settings();
  std::string text;
  if (shell == "bash") text = for_bash(places, all);
  if (shell == "zsh") text = for_zsh(places, all);
  if (shell == "fish") text = for_fish(places, all);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace

void add_completion_command(CLI::App& app, Session& session) {
  CLI::App* command =
      add_command(app, "completion", "Print what a shell needs to complete commands and keys",
                  "source <(alibi completion bash)          # in ~/.bashrc\n"
                  "  alibi completion zsh > \"${fpath[1]}/_alibi\"\n"
                  "  alibi completion fish > ~/.config/fish/completions/alibi.fish");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback(
      [&app, shell, &session] { session.run = [&app, shell] { return run(app, *shell); }; });
}

}  // namespace alibi
