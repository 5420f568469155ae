// Trains a sentencepiece tokenizer: byte pair encoding with byte fallback, no normalization, spaces
// and line ends kept, ids 0 unknown, 1 begin, 2 end.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace alibi {

// Text to learn from, read more than once; `bytes` is what for_each will hand out in total.
struct TextSource {
  std::int64_t bytes = 0;
  std::function<void(const std::function<void(std::string_view)>&)> for_each;
};

struct TokenizerTraining {
  std::int64_t vocabulary = 4096;
  std::int64_t sample_bytes = 10'000'000;            // spread evenly over the text
  std::function<void(const std::string&)> progress;  // lines for people; may be empty
};

// Returns the serialized model: a function of the text and the two numbers, whatever the machine's
// thread count. Throws Error at `place` when the vocabulary does not fit the text.
std::string train_tokenizer(const TextSource& source, const TokenizerTraining& training,
                            const std::string& place);

}  // namespace alibi
