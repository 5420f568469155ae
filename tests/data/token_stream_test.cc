#include "data/token_stream.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "support/error_text.h"
#include "support/small_tokenizer.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

TEST(TokenStream, IsTheSameForAnyNumberOfThreadsAndAPrefixWhenCut) {
  const TemporaryFolder folder;
  const std::string one = (folder.path() / "1.txt").string();
  const std::string two = (folder.path() / "2.jsonl").string();
  write_file_atomic(one, small_text(3'000'000));
  write_file_atomic(two, "{\"text\": \"kalo\"}\n{\"text\": \"\"}\n{\"text\": \"mi an\"}\n");
  const Tokenizer tokenizer = small_tokenizer();
  const TokenStream all = tokenize_files({one, two}, tokenizer, 1);
  EXPECT_EQ(all.documents, 3);
  EXPECT_EQ(all.bytes, static_cast<std::int64_t>(std::filesystem::file_size(one)) + 9);
  const TokenStream again = tokenize_files({one, two}, tokenizer, 3);
  EXPECT_EQ(again.ids, all.ids);
  EXPECT_EQ(again.hash, all.hash);
  const TokenStream some = tokenize_files({one, two}, tokenizer, 2, 1000);
  EXPECT_EQ(some.ids, std::vector<std::int32_t>(all.ids.begin(), all.ids.begin() + 1000));
  EXPECT_EQ(some.bytes, static_cast<std::int64_t>(tokenizer.decode(some.ids).size()));
  EXPECT_EQ(some.hash, tokenize_files({one}, tokenizer, 1, 1000).hash);
  EXPECT_EQ(some.documents, 0);
}

TEST(TokenStream, TextWithoutADocumentIsRefused) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "a.jsonl").string();
  write_file_atomic(path, "{\"text\": \"\"}\n");
  EXPECT_SAYS(error_text([&] { tokenize_files({path}, Tokenizer::bytes(), 1); }),
              "a.jsonl: holds no text");
}

}  // namespace
}  // namespace alibi
