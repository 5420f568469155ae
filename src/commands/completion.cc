// alibi completion: what bash, zsh and fish need to complete commands, options and config keys: a
// script that asks this program at each key press.
#include <cstdio>
#include <map>
#include <memory>

#include "base/strings.h"
#include "commands/commands.h"
#include "config/fields.h"

namespace alibi {
namespace {

using Words = std::vector<std::string>;

// Each reads lines "WORD<tab>MEANING"; where there is none, the shell completes names of files.
const std::map<std::string, const char*>& scripts() {
  static const std::map<std::string, const char*> all = {
      {"bash", R"(# Completion of alibi's commands, options and config keys for bash.
_alibi() {
  local line="${COMP_LINE:0:COMP_POINT}"
  local word="${line##*[[:space:]]}"
  local -a words
  read -r -a words <<<"${line%"$word"}"
  mapfile -t COMPREPLY < <("${words[0]}" completion words -- "${words[@]:1}" "$word" 2>/dev/null)
  COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
  if [[ "${COMPREPLY[0]-}" == *= ]]; then compopt -o nospace; fi
  # Bash splits words at "=": only the part after it is replaced.
  if [[ "$COMP_WORDBREAKS" == *=* && "$word" == *=* ]]; then
    COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*=}"}"}")
  fi
}
complete -o default -F _alibi alibi
)"},
      {"zsh", R"(#compdef alibi
# Completion of alibi's commands, options and config keys for zsh.
_alibi() {
  local -a found
  found=("${(@f)$("${words[1]}" completion words -- "${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)}")
  found=("${(@)found%%$'\t'*}")
  if [[ -z "${found[1]}" ]]; then _files
  elif [[ "${found[1]}" == *= ]]; then compadd -S '' -- "${(@)found}"
  else compadd -- "${(@)found}"
  fi
}
if [[ "${funcstack[1]}" == _alibi ]]; then _alibi "$@"; else compdef _alibi alibi; fi
)"},
      {"fish", R"(# Completion of alibi's commands, options and config keys for fish.
function __alibi_candidates
  set -l line (commandline -opc)
  set -l found ($line[1] completion words -- $line[2..] (commandline -ct) 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c alibi -f -a '(__alibi_candidates)'
)"}};
  return all;
}

// "--set"; "" where the option is given by its place.
std::string flag_of(const Option& option) {
  const std::size_t dashes = option.name.find("--");  // after the "!" of a flag that sets false
  return dashes == std::string::npos ? "" : option.name.substr(dashes);
}

// Every config key with its "=", or with each value where there is a list of them.
Words settings(bool with_values) {
  Config defaults;
  Words all;
  for (const Section& section : sections(defaults)) {
    for (const Field& field : section.fields) {
      const std::string key = cat(section.path, ".", field.name, "=");
      if (!with_values) {
        all.push_back(key);
      } else if (const auto* names = std::get_if<EnumTarget>(&field.target)) {
        for (const std::string& name : names->names) all.push_back(key + name);
      } else if (std::holds_alternative<bool*>(field.target)) {
        all.insert(all.end(), {key + "false", key + "true"});
      }
    }
  }
  return all;
}

// What the last of `words` may become, with its meaning; the words before it are complete.
class Offers {
 public:
  Offers(const Command& program, const Words& words) : word_(words.back()) {
    const Command* command = &program;
    std::string before;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      before = words[i];
      for (const Command& below : command->commands)
        if (below.name == before) {
          command = &below;
          break;
        }
    }
    const std::size_t equals = word_.find('=');
    if (word_.starts_with("--") && equals != std::string::npos) {  // --to=hf
      before = word_.substr(0, equals);
      lead_ = before + "=";
    }
    offer(*command, before);
  }

  const std::string& text() const { return text_; }

 private:
  void offer(const Command& command, const std::string& before) {
    Words by_place;
    for (const Option& option : command.options) {
      const std::string flag = flag_of(option);
      if (flag.empty() && by_place.empty()) by_place = option.choices;
      if (flag.empty() || flag != before) continue;
      if (flag == "--set") return add(settings(word_.find('=', lead_.size()) != word_.npos));
      if (!option.choices.empty()) return add(option.choices);
    }
    if (!word_.starts_with('-')) {
      add(by_place);
      for (const Command& below : command.commands)
        if (!below.hidden) add(below.name, below.summary);
      return;
    }
    add("--help", kHelpMeaning);
    if (!command.version.empty()) add("--version", kVersionMeaning);
    for (const Option& option : command.options)
      if (!flag_of(option).empty()) add(flag_of(option), option.meaning);
  }

  void add(const Words& words) {
    for (const std::string& word : words) add(word, "");
  }
  void add(const std::string& word, const std::string& meaning) {
    const std::string whole = lead_ + word;
    if (whole.starts_with(word_)) text_ += cat(whole, "\t", first_line(meaning), "\n");
  }

  std::string word_, lead_, text_;
};

}  // namespace

Command completion_command() {
  struct Given {
    std::string shell;
    Words words;
  };
  auto given = std::make_shared<Given>();
  return {.name = "completion",
          .summary = "Print what a shell needs to complete commands and keys",
          .footer = example("source <(alibi completion bash)          # in ~/.bashrc\n"
                            "  alibi completion zsh > \"${fpath[1]}/_alibi\"\n"
                            "  alibi completion fish > ~/.config/fish/completions/alibi.fish"),
          .options = {{.name = "SHELL",
                       .meaning = "bash, zsh or fish; words: what their scripts ask for",
                       .target = &given->shell,
                       .required = true,
                       .choices = {"bash", "zsh", "fish", "words"}},
                      {.name = "WORDS",
                       .meaning = "Behind \"words --\": the line so far, without the program",
                       .target = &given->words,
                       .may_be_empty = true}},
          .run = [given](const CommandLine&) {
            if (given->shell != "words")
              std::fputs(scripts().at(given->shell), stdout);
            else if (!given->words.empty())
              std::fputs(Offers(program(), given->words).text().c_str(), stdout);
            return 0;
          }};
}

}  // namespace alibi
