#include "data/tokenise.h"

#include <cstdint>
#include <utility>

#include "base/stop.h"
#include "base/strings.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

// One side: its files and its counts.
class SplitWriter {
 public:
  SplitWriter(const fs::path& folder, const char* name, ShardIds ids)
      : writer_(folder, name, ids) {}

  void take(const EncodedPart& part) {
    writer_.append(part.ids);
    counts_.bytes += std::ssize(part.text);
    counts_.tokens += std::ssize(part.ids);
    counts_.unknown += part.unknown;
    counts_.byte_fallback += part.byte_fallback;
    changed_ = changed_ || !part.survives;
    if (!part.ends_document) return;
    writer_.end_document();
    ++counts_.documents;
    counts_.changed_documents += std::exchange(changed_, false);
  }

  const SplitStatistics& counts() const { return counts_; }
  TokenShards finish(const Tokenizer& tokenizer) {
    return TokenShards::open(writer_.finish(), tokenizer.vocabulary(), tokenizer.end());
  }

 private:
  ShardSetWriter writer_;
  SplitStatistics counts_;
  bool changed_ = false;  // the document that is being written
};

void note_large_share(const TokenisedText& text, const Division& division,
                      const PrepareProgress& progress) {
  const auto all = static_cast<double>(text.train.size() + text.valid.size());
  const auto held = static_cast<double>(text.valid.size());
  const double wanted = division.valid_fraction;
  if (division.rule == HoldOutRule::kGiven || held <= 3 * wanted * all) return;
  progress.say(
      cat("note: ", fixed(100 * held / all, 0), " % of the tokens are held out, not ",
          fixed(100 * wanted, 1), " %: ",
          division.rule == HoldOutRule::kTail
              ? cat("the text is cut at ", division.cut_at, " (name held-out text in data.valid)")
              : std::string("documents are held out whole, and these are few or "
                            "of unlike length (name held-out text in data.valid, "
                            "or split long files)")));
}

}  // namespace

TokenisedText tokenise(const Corpus& corpus, const Tokenizer& tokenizer, int threads,
                       const PrepareProgress& progress, const fs::path& folder) {
  const Division& division = division_of(corpus);
  const ShardIds ids{tokenizer.vocabulary(), division.prompts};
  SplitWriter train(folder, "train", ids), valid(folder, "valid", ids);
  std::int64_t done = 0;
  encode(corpus, tokenizer, threads, [&](const EncodedPart& part) {
    leave_if_stopped("prepare");
    (part.stream == kTrain ? train : valid).take(part);
    done += std::ssize(part.text);
    if (progress.bytes && division.bytes > 0) progress.bytes(done, division.bytes);
    return true;
  });
  TokenisedText text{train.finish(tokenizer), valid.finish(tokenizer), {}};
  text.statistics.train = train.counts();
  text.statistics.valid = valid.counts();
  text.statistics.empty_documents = division.empty_documents;
  text.statistics.hold_out = division.rule_text();
  note_large_share(text, division, progress);
  return text;
}

}  // namespace alibi
