// alibi completion: what bash, zsh and fish need to complete commands, options and config keys.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/strings.h"
#include "commands/commands.h"
#include "config/fields.h"

namespace alibi {
namespace {

using Words = std::vector<std::string>;

struct OptionWords {
  std::string name;  // "--set"
  std::string about;
  Words choices;  // all values it takes, where there is a list of them
};

struct Place {
  std::string path;  // "", "inspect", "inspect memory"
  std::string about;
  Words below;   // names of subcommands
  Words values;  // what an argument without a name may be
  std::vector<OptionWords> options;
};

void add_places(const Command& command, const std::string& path, std::vector<Place>& places) {
  Place place{path, command.summary, {}, {}, {{"--help", kHelpMeaning, {}}}};
  if (!command.version.empty()) place.options.push_back({"--version", kVersionMeaning, {}});
  for (const Option& option : command.options) {
    const std::size_t dashes = option.name.find("--");  // after the "!" of a flag that sets false
    if (dashes == std::string::npos)
      place.values = option.choices;
    else
      place.options.push_back({option.name.substr(dashes), option.meaning, option.choices});
  }
  for (const Command& below : command.commands) place.below.push_back(below.name);
  places.push_back(std::move(place));
  for (const Command& below : command.commands)
    add_places(below, cat(path, path.empty() ? "" : " ", below.name), places);
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

Words names_of(const std::vector<OptionWords>& options) {
  Words names;
  for (const OptionWords& option : options) names.push_back(option.name);
  return names;
}

// "--to=hf --to=gguf ...": every value of the options that have a list of them.
std::string choices_of(const std::vector<OptionWords>& options) {
  Words all;
  for (const OptionWords& option : options) {
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
    for (const OptionWords& option : place.options) {
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

int run(const std::string& shell) {
  std::vector<Place> places;
  add_places(program(), "", places);
  const Settings all = settings();
  std::string text;
  if (shell == "bash") text = for_bash(places, all);
  if (shell == "zsh") text = for_zsh(places, all);
  if (shell == "fish") text = for_fish(places, all);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace

Command completion_command() {
  auto shell = std::make_shared<std::string>();
  return {.name = "completion",
          .summary = "Print what a shell needs to complete commands and keys",
          .footer = example("source <(alibi completion bash)          # in ~/.bashrc\n"
                            "  alibi completion zsh > \"${fpath[1]}/_alibi\"\n"
                            "  alibi completion fish > ~/.config/fish/completions/alibi.fish"),
          .options = {{.name = "SHELL",
                       .meaning = "bash, zsh or fish",
                       .target = shell.get(),
                       .required = true,
                       .choices = {"bash", "zsh", "fish"}}},
          .run = [shell](const CommandLine&) { return run(*shell); }};
}

}  // namespace alibi
