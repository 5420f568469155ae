#include "commands/evaluation_text.h"

#include <algorithm>

#include "base/checksums.h"
#include "base/error.h"
#include "base/strings.h"
#include "data/prepare.h"
#include "device/device.h"

namespace alibi {
namespace {

TokenStream from_shards(const TokenShards& shards, const Tokenizer& tokenizer, std::int64_t most) {
  std::vector<std::int64_t> wide(static_cast<std::size_t>(std::min(shards.size(), most)));
  shards.read(0, wide);
  TokenStream stream;
  stream.ids.assign(wide.begin(), wide.end());
  for (const std::int32_t id : stream.ids) {
    stream.bytes += tokenizer.byte_length(id);
    stream.documents += id == Tokenizer::kEnd ? 1 : 0;
  }
  stream.hash = sha256_hex(std::as_bytes(std::span(stream.ids)));
  return stream;
}

}  // namespace

EvaluationText read_evaluation_text(const std::vector<std::string>& files,
                                    const LoadedModel& loaded, std::int64_t most) {
  const int threads = set_threads(0);
  const DataConfig& data = loaded.config.data;
  if (!files.empty()) return {files, tokenize_files(files, loaded.tokenizer, threads, most)};
  if (!data.valid.empty())
    return {data.valid, tokenize_files(data.valid, loaded.tokenizer, threads, most)};
  if (data.train.empty())
    throw usage_error("--text", "names no text, and the run's config has none", "--text FILE");
  const PreparedText prepared = prepare_text(data, loaded.config.tokenizer, threads);
  if (prepared.tokenizer.hash() != loaded.tokenizer.hash()) {
    throw Error(join(data.train, ", "), "gives another tokenizer than the checkpoint has",
                "the text changed since training; name held-out text by --text");
  }
  return {{"held out by the run"}, from_shards(prepared.valid, loaded.tokenizer, most)};
}

}  // namespace alibi
