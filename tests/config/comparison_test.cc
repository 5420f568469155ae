#include "config/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "support/error_text.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

class ComparisonFiles : public testing::Test {
 protected:
  ComparisonFile load(const std::string& text) const {
    const auto file = folder_.path() / "methods.json";
    write_file_atomic(file, text);
    return load_comparison(file.string());
  }
  // The lines of what is refused, without the file's name.
  std::string faults(const std::string& text) const {
    try {
      load(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
      std::string lines = error.what();
      const std::string file = (folder_.path() / "methods.json").string();
      EXPECT_NE(lines.find(file), std::string::npos) << lines;
      return lines;
    }
    return "";
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(ComparisonFiles, TakeTheirNameAndDefaults) {
  const ComparisonFile file = load(
      "{\"base\": \"a.json\", // a comment\n \"variants\": {\"z\": {}, \"a\": {\"model\": "
      "{\"heads\": 4}}}}");
  EXPECT_EQ(file.name, "methods");
  EXPECT_EQ(file.folder, "runs/compare/methods");
  EXPECT_EQ(file.base, std::vector<std::string>{"a.json"});
  EXPECT_EQ(file.reference, "z") << "the first as written";
  ASSERT_EQ(file.variants.size(), 2U);
  EXPECT_EQ(file.variants[1].changes.text, "{\"model\":{\"heads\":4}}");
  EXPECT_EQ(file.seeds, (std::vector<std::int64_t>{0, 1, 2}));
}

TEST_F(ComparisonFiles, FragmentsAreJudgedAsConfigsAtTheirPlace) {
  const ComparisonFile file = load(
      "{\"config\": {\"model\": {\"width\": 64}}, \"variants\": {\"a\": {\"model\": "
      "{\"positoin\": \"none\"}}, \"b\": {\"model\": {\"heads\": 4}}}}");
  const Config good = load_config({}, {}, {file.common, file.variants[1].changes});
  EXPECT_EQ(good.model.width, 64);
  EXPECT_EQ(good.model.heads, 4);
  try {
    load_config({}, {}, {file.common, file.variants[0].changes});
    FAIL();
  } catch (const Error& error) {
    const std::string line = error.what();
    EXPECT_ERROR_AT(line, "/variants/a: /model/positoin", "position");
  }
}

TEST_F(ComparisonFiles, RefuseWhatTheyCannotMean) {
  struct Case {
    const char *text, *place, *value;
  };
  const Case cases[] = {
      {"[]", "methods.json", "object"},
      {"{}", "/variants", "missing"},
      {"{\"variants\": {}}", "/variants", "object"},
      {"{\"variants\": [1]}", "/variants", "object"},
      {"{\"variants\": {\"a\": 3}}", "/variants/a", "3"},
      {"{\"variants\": {\"../a\": {}}}", "/variants/..~1a", "64"},
      {"{\"variants\": {\"a\": {}}, \"seed\": [1]}", "/seed", "seeds"},
      {"{\"variants\": {\"a\": {}}, \"seeds\": []}", "/seeds", "100"},
      {"{\"variants\": {\"a\": {}}, \"seeds\": [1, 1]}", "/seeds", "seed"},
      {"{\"variants\": {\"a\": {}}, \"seeds\": [-1]}", "/seeds", "100"},
      {"{\"variants\": {\"a\": {}}, \"seeds\": [1.5]}", "/seeds", "100"},
      {"{\"variants\": {\"a\": {}}, \"seeds\": [18446744073709551615]}", "/seeds", "100"},
      {"{\"variants\": {\"a\": {}}, \"reference\": \"b\"}", "/reference", "\"b\""},
      {"{\"variants\": {\"a\": {}}, \"base\": 3}", "/base", "3"},
      {"{\"variants\": {\"a\": {}}, \"config\": []}", "/config", "object"},
      {"{\"variants\": {\"a\": {}, \"a\": {}}}", "/variants/a", "a"},
      {"{\"variants\": {\"a\": {}}, \"tasks\": [\"recall\"]}", "/tasks", "object"},
      {"{\"variants\": {\"a\": {}}, \"tasks\": {\"perplexity\": {}}}", "/tasks/perplexity",
       "recall"},
      {"{\"variants\": {\"a\": {}}, \"tasks\": {\"recall\": 3}}", "/tasks/recall", "3"},
      {"{\"variants\": {\"a\": {}}, \"tasks\": {\"far\": {}}}", "/tasks/far", "recall"},
      {"{\"variants\": {\"a\": {}}, \"tasks\": {\"far\": {\"task\": \"recal\"}}}",
       "/tasks/far/task", "\"recal\""},
      {"{\"variants\": {\"a\": {}}, \"tasks\": {\"a b\": {\"task\": \"recall\"}}}", "/tasks/a b",
       "name"},
      {"{\"variants\": {\"a\": {}}} x", "methods.json", "JSON"}};
  for (const auto& [text, place, value] : cases)
    EXPECT_ERROR_AT(faults(text), place, value) << text;
}

TEST_F(ComparisonFiles, SayAllTheirFaultsAtOnce) {
  const std::string lines = faults("{\"variants\": {\"a\": 1}, \"seeds\": 3, \"nane\": \"x\"}");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;
}

// Every comparison that comes with the program, from where its commands are run.
TEST(ComparisonsOfTheProgram, LoadAndDiffer) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(ALIBI_SOURCE_DIR);
  int count = 0;
  for (const char* folder : {"configs/compare", "configs/reproduce"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".json") continue;
      if (read_file(entry.path()).find("\"variants\"") == std::string::npos) continue;  // a config
      const ComparisonFile file = load_comparison(entry.path().string());
      ++count;
      std::set<std::string> configs;
      for (const ComparisonVariant& variant : file.variants) {
        const Config config = load_config(file.base, {}, {file.common, variant.changes});
        EXPECT_FALSE(config.data.train.empty()) << entry.path() << " " << variant.name;
        EXPECT_TRUE(configs.insert(config_json(config)).second)
            << entry.path() << " " << variant.name << " is like another";
      }
    }
  }
  std::filesystem::current_path(before);
  EXPECT_GE(count, 15);
}

}  // namespace
}  // namespace alibi
