#include "data/corpus.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/checksums.h"
#include "base/error.h"
#include "base/stop.h"
#include "base/strings.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kPartTokens = 1 << 20;

// check_ids() has seen them, but a file may change since.
std::vector<std::int32_t> ids_of(const TokenRange& range, std::int64_t first, std::int64_t last,
                                 const Tokenizer& tokenizer) {
  std::vector<std::int32_t> ids;
  ids.reserve(static_cast<std::size_t>(last - first) + 1);  // and an end token
  const std::int64_t vocabulary = tokenizer.vocabulary();
  for (std::int64_t i = first; i < last; ++i) {
    const std::int64_t id = (*range.file)[i];
    if (id < 0 || id >= vocabulary)
      throw Error(range.file->name(), "changed while it was read", "run it again");
    ids.push_back(static_cast<std::int32_t>(id));
  }
  return ids;
}

void check_ids(const TokenFile& file, const Tokenizer& tokenizer) {
  for (std::int64_t i = 0; i < file.size(); ++i) {
    if (i % kPartTokens == 0) leave_if_stopped("prepare");
    if (file[i] >= 0 && file[i] < tokenizer.vocabulary()) continue;
    throw Error(file.name(),
                cat("token ", i, " (read as ", file.format(), "'s) is id ", file[i],
                    ", expected 0 to ", tokenizer.vocabulary() - 1),
                "name in tokenizer.file the tokenizer that it was made with");
  }
}

void add_documents(const fs::path& path, const Tokenizer& tokenizer, Split split,
                   TokenCorpus& corpus) {
  const auto file = std::make_shared<const TokenFile>(path);
  check_ids(*file, tokenizer);
  const std::vector<std::int64_t> all = {0, file->size()};
  const std::vector<std::int64_t>& bounds = file->documents() ? *file->documents() : all;
  const auto add = [&](std::int64_t first, std::int64_t last) {
    if (first == last) ++corpus.division.empty_documents;
    if (first < last) corpus.documents.push_back({file, first, last, split});
  };
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    std::int64_t first = bounds[i];
    for (std::int64_t at = first; at < bounds[i + 1]; ++at) {
      if ((*file)[at] != tokenizer.end()) continue;
      add(first, at);
      first = at + 1;
    }
    if (first < bounds[i + 1]) add(first, bounds[i + 1]);
  }
}

std::string digest_of(const TokenRange& range, const Tokenizer& tokenizer) {
  Sha256 digest;
  for (std::int64_t first = range.first; first < range.last; first += kPartTokens) {
    leave_if_stopped("prepare");
    const auto ids = ids_of(range, first, std::min(first + kPartTokens, range.last), tokenizer);
    digest.update(std::as_bytes(std::span(ids)));
  }
  return digest.hex();
}

// True where both sides have documents.
bool split_by_hash(TokenCorpus& corpus, const Tokenizer& tokenizer) {
  for (TokenRange& range : corpus.documents) {
    const bool valid = held_out(digest_of(range, tokenizer), corpus.division.valid_fraction);
    range.split = valid ? kValid : kTrain;
  }
  const auto trains = [](const TokenRange& range) { return range.split == kTrain; };
  return std::ranges::any_of(corpus.documents, trains) &&
         !std::ranges::all_of(corpus.documents, trains);
}

// The last tokens; the document that holds the first of them is cut.
void split_tail(TokenCorpus& corpus) {
  std::int64_t total = 0;
  for (const TokenRange& range : corpus.documents) total += range.last - range.first;
  const double wanted = std::ceil(static_cast<double>(total) * corpus.division.valid_fraction);
  const auto tail = static_cast<std::int64_t>(wanted);
  const std::int64_t cut = total - tail;
  if (cut <= 0 || tail <= 0) {
    throw Error("data.train", cat("holds ", total, " tokens: too few to hold a part out"),
                "add text, or name other text in data.valid");
  }
  std::vector<TokenRange> documents;
  std::int64_t start = 0;
  for (const TokenRange& range : corpus.documents) {
    const std::int64_t size = range.last - range.first;
    const std::int64_t before = std::clamp<std::int64_t>(cut - start, 0, size);
    if (before > 0) documents.push_back({range.file, range.first, range.first + before, kTrain});
    if (before < size) documents.push_back({range.file, range.first + before, range.last, kValid});
    start += size;
  }
  corpus.documents = std::move(documents);
  corpus.division.rule = HoldOutRule::kTail;
}

}  // namespace

TokenCorpus divide_tokens(const std::vector<fs::path>& train_files,
                          const std::vector<fs::path>& valid_files, const Tokenizer& tokenizer,
                          double valid_fraction) {
  TokenCorpus corpus;
  corpus.division.rule = hold_out_rule(!valid_files.empty(), valid_fraction);
  corpus.division.valid_fraction = valid_fraction;
  corpus.division.cut_at = "a token";
  for (const fs::path& file : train_files) add_documents(file, tokenizer, kTrain, corpus);
  const std::size_t train = corpus.documents.size();
  if (train == 0) throw Error("data.train", "holds no token but end tokens");
  for (const fs::path& file : valid_files) add_documents(file, tokenizer, kValid, corpus);
  if (!valid_files.empty() && corpus.documents.size() == train)
    throw Error("data.valid", "holds no token but end tokens");
  if (corpus.division.rule == HoldOutRule::kHash && !split_by_hash(corpus, tokenizer))
    split_tail(corpus);
  return corpus;
}

TokenCorpus all_tokens(const std::vector<fs::path>& files, const Tokenizer& tokenizer) {
  TokenCorpus corpus;
  for (const fs::path& file : files) add_documents(file, tokenizer, kValid, corpus);
  return corpus;
}

void for_each_part(const TokenCorpus& corpus, const Tokenizer& tokenizer,
                   const ParallelEncoder::Sink& call) {
  for (const TokenRange& range : corpus.documents) {
    for (std::int64_t first = range.first; first < range.last; first += kPartTokens) {
      const std::int64_t last = std::min(first + kPartTokens, range.last);
      EncodedPart part;
      part.stream = range.split;
      part.ids = ids_of(range, first, last, tokenizer);
      part.text = tokenizer.decode(part.ids);
      count_ids(tokenizer, part);
      part.ends_document = last == range.last;
      if (part.ends_document) part.ids.push_back(tokenizer.end());
      if (!call(part)) return;
    }
  }
}

}  // namespace alibi
