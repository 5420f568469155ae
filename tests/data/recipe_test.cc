// What names a folder of the cache: a change of these names makes every user's text anew.
#include "data/recipe.h"

#include <gtest/gtest.h>

#include "base/stop.h"
#include "support/error_place.h"
#include "support/temporary_folder.h"
#include "support/token_files.h"

namespace alibi {
namespace {

class RecipeTest : public testing::Test {
 protected:
  std::string put(const std::string& file, const std::string& text) const {
    write_file_atomic(folder_.path() / file, text);
    return (folder_.path() / file).string();
  }
  static Recipe recipe(const std::vector<std::string>& train,
                       const std::vector<std::string>& valid = {}) {
    Recipe made{find_named_text(train, valid), 0.1, {}};
    made.tokenizer.given = Tokenizer::bytes();
    return made;
  }

 private:
  const TemporaryFolder folder_;
};

// Names of folders that earlier versions made.
TEST_F(RecipeTest, NamesStayWhatTheyWere) {
  const std::string a = put("a.txt", "kalo mi\n"), b = put("b.jsonl", "{\"text\": \"an\"}\n");
  EXPECT_EQ(cache_name(recipe({a})), "1d5bf0ff3c1c40cac5e74ea789dff7a5");
  EXPECT_EQ(cache_name(recipe({a}, {b})), "500a8ebb870bfacd5fbe52e8bf184554");
  Recipe trained = recipe({a, b});
  trained.tokenizer.given.reset();
  trained.tokenizer.training.vocabulary = 270;
  trained.tokenizer.training.sample_bytes = 1000;
  EXPECT_EQ(cache_name(trained), "e3d95f1f94d86d63455e89ba599e1acd");
  const std::string tokens = put("c.bin", raw<std::int32_t>({5, 6, 7}));
  put("c.idx", megatron_index(4, 4, {1, 2}, {0, 1, 2}));
  EXPECT_EQ(cache_name(recipe({tokens})), "83a7133928856dc7c79af875670744c2");
}

TEST_F(RecipeTest, ContentCountsAndNamesDoNot) {
  const std::string a = put("a.txt", "kalo"), same = put("same.txt", "kalo");
  const std::string first = cache_name(recipe({a}));
  EXPECT_EQ(cache_name(recipe({same})), first);
  EXPECT_NE(cache_name(recipe({a, same})), first);
  EXPECT_NE(cache_name(recipe({a}, {same})), first);
  EXPECT_NE(cache_name(recipe({put("a.jsonl", "kalo")})), first);
  Recipe other = recipe({a});
  other.valid_fraction = 0.2;
  EXPECT_NE(cache_name(other), first);
  other = recipe({a}, {same});
  const std::string given = cache_name(other);
  other.valid_fraction = 0.2;  // has no effect where data.valid is given
  EXPECT_EQ(cache_name(other), given);
}

TEST_F(RecipeTest, AStopIsHeeded) {
  const Recipe made = recipe({put("a.txt", "kalo")});
  request_stop(15);
  EXPECT_EQ(error_place([&] { cache_name(made); }), "prepare 143");
  clear_stop();
}

}  // namespace
}  // namespace alibi
