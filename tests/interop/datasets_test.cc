// What scripts/read-dataset prints of published datasets is what alibi prepare - makes of the same
// text. Needs scripts/setup --verify.
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/strings.h"
#include "commands/cli_fixture.h"
#include "support/error_text.h"

namespace alibi {
namespace {

namespace fs = std::filesystem;

class DatasetsInterop : public testing::Test {
 protected:
  void SetUp() override {
    const char* python = std::getenv("ALIBI_VERIFY_PYTHON");
    if (python == nullptr) GTEST_SKIP() << "ALIBI_VERIFY_PYTHON is not set (scripts/test --all)";
    python_ = python;
    std::string lines;
    for (int i = 0; i < 1000; ++i)
      lines += R"({"text": ")" + cat("document \xc3\xa9 ", i, i % 7 == 0 ? "\\n\\t" : "") + "\"}\n";
    place_.put("lines.jsonl", lines);
    const ProgramResult made = shell(cat("'", python_, "' '", ALIBI_SOURCE_DIR,
                                         "/tests/interop/make_datasets.py' lines.jsonl made"));
    ASSERT_EQ(made.code, 0) << made.err;
    place_.works({"prepare", "tiny.json", "--output", "prepared/lines", "--set",
                  "data.train=[\"lines.jsonl\"]", "--set", "data.valid=[]"});
  }

  ProgramResult shell(const std::string& script) const {
    ProgramOptions options = place_.options();
    options.program = "/bin/sh";
    return run_program({"-c", script}, options);
  }

  ProgramResult prepare(const std::string& source, const std::string& output) const {
    return shell(cat("HF_HUB_OFFLINE=1 '", python_, "' '", ALIBI_SOURCE_DIR,
                     "/scripts/read-dataset' ", source, " | '", tested_program(),
                     "' prepare tiny.json - --set data.valid=[] --output prepared/", output));
  }

  std::map<std::string, std::string> content(const std::string& prepared) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(place_.path("prepared/" + prepared)))
      files[entry.path().filename().string()] = read_file(entry.path());
    return files;
  }

  CliFixture place_;
  std::string python_;
};

TEST_F(DatasetsInterop, AllKindsGiveTheSameText) {
  const std::pair<const char*, const char*> sources[] = {{"pattern", "'made/parquet/*.parquet'"},
                                                         {"folder", "made/parquet"},
                                                         {"arrow", "made/arrow"},
                                                         {"splits", "made/splits --split train"},
                                                         {"web", "made/web.tar --column txt"}};
  for (const auto& [name, source] : sources) {
    const ProgramResult result = prepare(source, name);
    EXPECT_EQ(result.code, 0) << name << ": " << result.err;
    EXPECT_EQ(content(name), content("lines")) << name;
  }
}

// Seen failing where a source that broke off left what had come until then.
TEST_F(DatasetsInterop, NothingIsMadeOfWhatBreaks) {
  const fs::path file = place_.path("made/parquet/b.parquet");
  std::string bytes = read_file(file);
  bytes.replace(bytes.size() / 4, bytes.size() / 4, std::string(bytes.size() / 4, 'x'));
  place_.put("made/parquet/b.parquet", bytes);
  // Cut off between two members, which reads as the end of a tar.
  place_.put("made/cut.tar", read_file(place_.path("made/web.tar")).substr(0, 20 * 1024));
  std::filesystem::create_directories(place_.path("made/mds"));
  place_.put("made/mds/index.json",
             R"({"shards": [{"raw_data": {"basename": "shard.00000.mds", "bytes": 100}}]})");
  place_.put("made/mds/shard.00000.mds", std::string(50, 'x'));
  place_.put("made/text.txt", "text");
  const std::pair<const char*, const char*> wrong[] = {
      {"'made/parquet/*.parquet'", "b.parquet"},
      {"made/cut.tar --column txt", "made/cut.tar"},
      {"made/mds", "shard.00000.mds"},
      {"made/text.txt", "made/text.txt"},
      {"made/arrow --column body", "\"body\""},
      {"made/arrow made/splits --split test", "\"test\""},
      {"made/parquet/a.parquet --column id", "\"id\""},
      {"nowhere.parquet", "nowhere.parquet"}};
  for (const auto& [source, named] : wrong) {
    const ProgramResult result = prepare(source, "broken");
    EXPECT_EQ(result.code, 1) << source;
    EXPECT_NAMES(result.err, "read-dataset:", named);
    EXPECT_NAMES(result.err, "standard input");
    EXPECT_FALSE(place_.has("prepared/broken")) << source;
  }
}

}  // namespace
}  // namespace alibi
