#include "text/encode_parallel.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/sentencepiece_model.h"
#include "support/small_tokenizer.h"

namespace alibi {
namespace {

// Seen failing with a part behind a cut encoded as a text of its own, to which a model adds a
// space.
TEST(EncodeParallel, KeepsOrderForAnyNumberOfThreads) {
  std::vector<std::string> documents = {small_text(2'500'000, 1), "a", "b\n"};
  for (std::uint64_t i = 0; i < 200; ++i) documents.push_back(small_text(1 + i * 37, i));
  const std::string prefixed =
      sentencepiece_model({{"byte_fallback", "true"}, {"vocab_size", "500"}});
  for (const Tokenizer& tokenizer : {small_tokenizer(), Tokenizer::from_model(prefixed, "m")}) {
    std::vector<std::int32_t> expected;
    for (const std::string& document : documents) {
      const auto ids = tokenizer.encode(document);
      expected.insert(expected.end(), ids.begin(), ids.end());
      expected.push_back(Tokenizer::kEnd);
    }
    for (const int threads : {1, 2, 5}) {
      std::vector<std::int32_t> ids;
      std::size_t parts = 0;
      ParallelEncoder encoder(tokenizer, threads, [&](const EncodedPart& part) {
        ids.insert(ids.end(), part.ids.begin(), part.ids.end());
        EXPECT_TRUE(part.survives);
        EXPECT_EQ(part.unknown, 0);
        ++parts;
        return true;
      });
      for (const std::string& document : documents) EXPECT_TRUE(encoder.add(document, 0));
      encoder.flush();
      EXPECT_EQ(ids, expected) << threads;
      EXPECT_EQ(parts, documents.size() + 2);
    }
  }
}

TEST(EncodeParallel, StopsWhenTheSinkHasEnough) {
  int taken = 0;
  ParallelEncoder encoder(Tokenizer::bytes(), 2, [&](const EncodedPart&) { return ++taken < 3; });
  EXPECT_FALSE(encoder.add(std::string(50'000'000, 'x'), 0));
  encoder.flush();
  EXPECT_EQ(taken, 3);
}

TEST(EncodeParallel, NotesTextThatDoesNotSurvive) {
  bool survives = true;
  ParallelEncoder encoder(small_tokenizer(), 1,
                          [&](const EncodedPart& part) { return survives = part.survives, true; });
  encoder.add("\xe2\x96\x81", 0);
  encoder.flush();
  EXPECT_FALSE(survives);
}

TEST(EncodeParallel, AFailingSinkReachesTheCaller) {
  ParallelEncoder encoder(Tokenizer::bytes(), 2,
                          [](const EncodedPart&) -> bool { throw Error("disk", "full"); });
  encoder.add("x", 0);
  EXPECT_THROW(encoder.flush(), Error);
}

}  // namespace
}  // namespace alibi
