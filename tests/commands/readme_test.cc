// Documents with commands: every `alibi` command line in them parses, and every path they name is
// there or is made by a command of their own. Every link of every document leads somewhere.
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

#include "commands/cli_fixture.h"

namespace alibi {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

struct Readme {
  std::vector<Words> commands;  // of ```sh blocks, without their first word `alibi`
  std::string config;           // the last ```json block
  std::string text;
};

constexpr std::array kDocuments = {
    "README.md",         "CONTRIBUTING.md", "configs/GUIDE.md",
    "configs/NAMES.md",  "data/README.md",  "data/results/books/README.md",
    "scripts/README.md", "src/README.md",   "tests/README.md"};

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

Readme read_readme(const std::string& name) {
  Readme readme;
  readme.text = read_file(fs::path(ALIBI_SOURCE_DIR) / name);
  std::istringstream lines(readme.text);
  bool inside = false, config = false;
  std::string joined;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      inside = !inside && (line == "```sh" || line == "```bash" || line == "```console");
      config = line == "```json";
      if (config) readme.config.clear();
      continue;
    }
    if (config) readme.config += line + "\n";
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
    if (first == words.end() || (*first != "$alibi" && fs::path(*first).filename() != "alibi"))
      continue;
    const auto end = std::find_if(first, words.end(), [](const std::string& word) {
      return word == "|" || word == ">" || word == "&&" || word == ";";
    });
    readme.commands.emplace_back(first + 1, end);
  }
  return readme;
}

// A word that names a run, a text or another's model, of which this folder has none.
bool is_missing(const CliFixture& place, const std::string& word) {
  constexpr std::array kFolders = {"runs/", "data/", "downloads/", "imports/"};
  const auto holds = [&](const char* folder) { return word.starts_with(folder); };
  return std::any_of(kFolders.begin(), kFolders.end(), holds) && !place.has(word);
}

// A config that is not there is an argument that names nothing: code 2, and it is the place.
bool lacks_its_config(const CliFixture& place, const Words& words) {
  return words.size() > 1 && words[0] == "train" && is_missing(place, words[1]);
}

// The same measurement of a short sequence.
void shorten(Words& bench) {
  const auto lengths = std::find(bench.begin(), bench.end(), "--lengths");
  if (lengths != bench.end() && lengths + 1 != bench.end()) *(lengths + 1) = "64";
  bench.insert(bench.end(), {"--seconds", "0.01"});
}

// In a folder that holds the configs but neither text nor runs: a command that is understood finds
// nothing to work on, at worst (exit code 1); where it names nothing that is missing it works. One
// that is not understood leaves with exit code 2, one that crashes with 128 or more.
void expect_understood(const Readme& readme) {
  const CliFixture place;
  fs::create_directory_symlink(fs::path(ALIBI_SOURCE_DIR) / "configs", place.path("configs"));
  if (!readme.config.empty()) place.put("mine.json", readme.config);
  for (Words words : readme.commands) {
    std::string line = "alibi";
    for (const std::string& word : words) line += " " + word;
    if (!words.empty() && words[0] == "train") words.push_back("--print-config");
    if (!words.empty() && words[0] == "bench") shorten(words);
    const ProgramResult result = place.run(words);
    const bool reads_text = words.size() > 1 && ((words[0] == "prepare" && words[1] != "--task") ||
                                                 words[0] == "compare" || words[1] == "data");
    const bool lacks = reads_text || std::any_of(words.begin(), words.end(), [&](const auto& word) {
                         return is_missing(place, word);
                       });
    if (lacks_its_config(place, words)) {
      EXPECT_EQ(result.code, 2) << line << "\n" << result.err;
      EXPECT_TRUE(result.err.starts_with(words[1] + ": ")) << result.err;
    } else {
      EXPECT_EQ(result.code, lacks ? 1 : 0) << line << "\n" << result.err;
    }
    Words keys = {"train", "--print-config"};  // where no run is there, its keys are not read
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "--set") keys.insert(keys.end(), {"--set", words[i + 1]});
    }
    if (keys.size() > 2 && (words[0] != "train" || lacks_its_config(place, words))) {
      const ProgramResult known = place.run(keys);
      EXPECT_EQ(known.code, 0) << line << "\n" << known.err;
    }
  }
}

TEST(ReadmeSlow, EveryCommandLineIsUnderstood) {
  int commands = 0;
  for (const std::string name : kDocuments) {
    SCOPED_TRACE(name);
    const Readme readme = read_readme(name);
    commands += static_cast<int>(readme.commands.size());
    expect_understood(readme);
  }
  EXPECT_GT(commands, 30);
}

// Whether it is a file or folder: of the project, beside the document, or of src as its documents
// write it, "data/prepare".
bool is_there(const fs::path& document, const std::string& name) {
  const fs::path root = ALIBI_SOURCE_DIR;
  const std::array<fs::path, 3> places = {root / name, root / document.parent_path() / name,
                                          root / "src" / name};
  return std::any_of(places.begin(), places.end(), [](const fs::path& place) {
    return fs::exists(place) || fs::exists(place.string() + ".h") ||
           fs::exists(place.string() + ".cc");
  });
}

std::string folders_of_src(const fs::path& root) {
  std::string all;
  for (const auto& entry : fs::directory_iterator(root / "src"))
    if (entry.is_directory()) all += "|" + entry.path().filename().string();
  return all;
}

void expect_paths(const std::string& document) {
  const fs::path root = ALIBI_SOURCE_DIR;
  const Readme readme = read_readme(document);
  // Made by scripts, by the build, or as an --output of the document's own commands; or a pattern.
  const std::regex made(
      "^(data/(books|default|wikitext|tinystories)|build/|runs/)|/(NAME|RUN)([./]|$)");
  std::set<std::string> outputs;
  for (const Words& words : readme.commands) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "--output" || words[i] == "--out") outputs.insert(words[i + 1]);
    }
  }
  const std::regex named("(^|[\\s(`])((src|configs|data|scripts|tests|cmake|build" +
                         folders_of_src(root) + ")/[\\w./-]*[\\w/])");
  int count = 0;
  const std::string& text = readme.text;
  for (std::sregex_iterator at(text.begin(), text.end(), named), end; at != end; ++at) {
    const std::string name = (*at)[2];
    ++count;
    if (at->suffix().str().starts_with("*")) continue;  // a pattern
    if (std::regex_search(name, made) || outputs.contains(name)) continue;
    EXPECT_TRUE(is_there(document, name)) << document << " names " << name;
  }
  EXPECT_GT(count, 0);
}

// Seen failing with a file that src/README.md names renamed there.
TEST(Readme, EveryPathItNamesIsThere) {
  for (const char* name : kDocuments) expect_paths(name);
}

std::int64_t lines_below(const fs::path& folder) {
  std::int64_t lines = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().extension() == ".md") continue;
    const std::string text = read_file(entry.path());
    lines += std::count(text.begin(), text.end(), '\n');
  }
  return lines;
}

// Within 2 %. Seen failing with 32,000 lines in the document.
TEST(Readme, TheSizeOfSrcIsAsCounted) {
  const fs::path root = ALIBI_SOURCE_DIR;
  const std::string text = read_file(root / "src/README.md");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(text, found, std::regex("([0-9]+),([0-9]{3}) lines in all")));
  const double stated = std::stod(found.str(1) + found.str(2));
  EXPECT_NEAR(stated, static_cast<double>(lines_below(root / "src")), 0.02 * stated);
}

// Seen failing with a file renamed.
TEST(Readme, EveryLinkOfEveryDocumentLeadsSomewhere) {
  const fs::path root = ALIBI_SOURCE_DIR;
  std::vector<fs::path> documents = {root / "README.md", root / "CONTRIBUTING.md"};
  for (const char* folder : {"configs", "data", "scripts", "src", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder))
      if (entry.path().extension() == ".md") documents.push_back(entry.path());
  }
  const std::regex link("\\]\\(([^)#\\s]+)[^)]*\\)");
  int count = 0;
  for (const fs::path& document : documents) {
    const std::string text = read_file(document);
    for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at) {
      const std::string target = (*at)[1];
      if (target.find("://") != std::string::npos) continue;
      ++count;
      EXPECT_TRUE(fs::exists(document.parent_path() / target)) << document << ": " << target;
    }
  }
  EXPECT_GT(count, 40);
}

}  // namespace
}  // namespace alibi
