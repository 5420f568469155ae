#include "bench/bench.h"

#include <cmath>

#include "base/strings.h"
#include "data/named_text.h"
#include "text/documents.h"
#include "text/encode_parallel.h"

namespace alibi {

BenchRecord bench_tokenize(const std::vector<std::string>& files, const Tokenizer& tokenizer,
                           int threads, const Rounds& rounds) {
  std::vector<std::string> documents;
  std::int64_t bytes = 0;
  for_each_document(find_text_files(files).files, [&](const DocumentView& document) {
    documents.emplace_back(document.text);
    bytes += std::ssize(document.text);
    return true;
  });
  std::int64_t tokens = 0;
  const auto encode = [&](int count) {
    tokens = 0;
    ParallelEncoder encoder(tokenizer, count, [&](const EncodedPart& part) {
      tokens += std::ssize(part.ids);
      return true;
    });
    for (const std::string& document : documents) encoder.add(document, 0);
    encoder.flush();
  };
  std::vector<int> counts = {1};
  if (threads > 1) counts.push_back(threads);
  std::vector<std::function<void()>> functions;
  for (const int count : counts) functions.emplace_back([&encode, count] { encode(count); });
  const std::vector<Timing> timings = time_in_turns(functions, rounds);
  BenchRecord record{.benchmark = "tokenize"};
  record.table.columns = {right("threads"), right("ms"), right("MB/s"), right("tokens/s")};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double rate = static_cast<double>(bytes) / timings[i].median;
    record.table.rows.push_back(
        {std::to_string(counts[i]), milliseconds(timings[i]), four_digits(rate / 1e6),
         with_commas(std::llround(static_cast<double>(tokens) / timings[i].median))});
    Json row = {{"threads", counts[i]}, {"bytes", bytes}, {"tokens", tokens}};
    add_timing(row, "encode", timings[i]);
    record.rows.push_back(std::move(row));
  }
  record.notes = {cat(with_commas(bytes), " bytes, ", with_commas(tokens), " tokens, vocabulary ",
                      tokenizer.vocabulary())};
  return record;
}

}  // namespace alibi
