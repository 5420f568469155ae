#include "data/token_stream.h"

#include <algorithm>
#include <bit>
#include <span>

#include "base/checksums.h"
#include "base/error.h"
#include "base/stop.h"
#include "base/strings.h"
#include "text/documents.h"
#include "text/encode_parallel.h"

namespace alibi {

TokenStream tokenize_files(const std::vector<std::string>& names, const Tokenizer& tokenizer,
                           int threads, std::int64_t max_tokens) {
  static_assert(std::endian::native == std::endian::little, "the hash is over little-endian ids");
  TokenStream stream;
  const auto full = [&] {
    return max_tokens > 0 && static_cast<std::int64_t>(stream.ids.size()) >= max_tokens;
  };
  ParallelEncoder encoder(tokenizer, threads, [&](const EncodedPart& part) {
    if (stop_signal() != 0) throw stopped_error("tokenising", stop_signal(), "nothing was written");
    stream.ids.insert(stream.ids.end(), part.ids.begin(), part.ids.end());
    stream.bytes += static_cast<std::int64_t>(part.text.size());
    return !full();
  });
  for_each_document(find_text_files(names).files,
                    [&](const DocumentView& document) { return encoder.add(document.text, 0); });
  encoder.flush();
  if (stream.ids.empty()) throw Error(join(names, ", "), "holds no text");
  if (max_tokens > 0 && static_cast<std::int64_t>(stream.ids.size()) > max_tokens) {
    for (std::size_t i = static_cast<std::size_t>(max_tokens); i < stream.ids.size(); ++i) {
      stream.bytes -= tokenizer.byte_length(stream.ids[i]);
    }
    stream.ids.resize(static_cast<std::size_t>(max_tokens));
  }
  stream.documents = std::ranges::count(stream.ids, Tokenizer::kEnd);
  stream.hash = sha256_hex(std::as_bytes(std::span(stream.ids)));
  return stream;
}

}  // namespace alibi
