// README.md: every `alibi` command line in it parses, and every path it names is there or is made
// by a command of its own.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>

#include "commands/workplace.h"

namespace alibi {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

struct Readme {
  std::vector<Words> commands;  // of ```sh blocks, without their first word `alibi`
  std::string text;
};

// A shell line's words: blanks part them, quotes hold them together.
Words shell_words(const std::string& line) {
  Words words;
  char quote = 0;
  bool open = false;
  for (const char c : line) {
    if (quote != 0 ? c == quote : c == '\'' || c == '"') {
      quote = quote != 0 ? 0 : c;
      if (!open) words.emplace_back();
      open = true;
    } else if (quote == 0 && (c == ' ' || c == '\t')) {
      open = false;
    } else {
      if (!open) words.emplace_back();
      open = true;
      words.back() += c;
    }
  }
  return words;
}

Readme read_readme(const fs::path& path) {
  Readme readme;
  readme.text = read_file(path);
  std::istringstream lines(readme.text);
  bool inside = false;
  std::string joined;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      inside = !inside && (line == "```sh" || line == "```bash" || line == "```console");
      continue;
    }
    if (!inside) continue;
    joined += line;
    if (joined.ends_with('\\')) {
      joined.pop_back();
      continue;
    }
    const std::string whole = std::exchange(joined, "");
    const Words words = shell_words(whole.substr(0, whole.find(" #")));
    const auto first = std::find_if(words.begin(), words.end(), [](const std::string& word) {
      return word != "$" && word.find('=') == std::string::npos;  // prompts and VARIABLE=value
    });
    if (first == words.end() || fs::path(*first).filename() != "alibi") continue;
    const auto end = std::find_if(first, words.end(), [](const std::string& word) {
      return word == "|" || word == ">" || word == "&&" || word == ";";
    });
    readme.commands.emplace_back(first + 1, end);
  }
  return readme;
}

TEST(Readme, EveryCommandLineParses) {
  const fs::path path = fs::path(ALIBI_SOURCE_DIR) / "README.md";
  if (!fs::exists(path)) GTEST_SKIP() << "no README.md yet";
  const Readme readme = read_readme(path);
  EXPECT_FALSE(readme.commands.empty());
  ProgramOptions options;
  options.folder = ALIBI_SOURCE_DIR;
  for (Words words : readme.commands) {
    std::string line = "alibi";
    for (const std::string& word : words) line += " " + word;
    // Train and inspect can say what they would do; the others must at least know every option.
    const bool train = !words.empty() && words[0] == "train";
    words.push_back(train ? "--print-config" : "--help");
    const ProgramResult result = run_program(words, options);
    EXPECT_EQ(result.code, 0) << line << "\n" << result.err;
  }
}

TEST(Readme, EveryPathItNamesIsThere) {
  const fs::path root = ALIBI_SOURCE_DIR;
  if (!fs::exists(root / "README.md")) GTEST_SKIP() << "no README.md yet";
  const std::string text = read_file(root / "README.md");
  // Made by the README's own commands or downloaded: never in the repository.
  const std::regex made("^(data/(books|default|wikitext|tinystories)|build/|runs/|curves/)");
  const std::regex named(
      "(^|[\\s(`])((src|configs|data|scripts|tests|cmake|build)/[\\w./-]*[\\w/])");
  int count = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), named), end; at != end; ++at) {
    const std::string name = (*at)[2];
    ++count;
    if (std::regex_search(name, made)) continue;
    EXPECT_TRUE(fs::exists(root / name)) << "README.md names " << name;
  }
  EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace alibi
