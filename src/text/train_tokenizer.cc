#include "text/train_tokenizer.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/stop.h"
#include "base/strings.h"
#include "text/sentencepiece_model.h"

namespace alibi {
namespace {

// The sample is taken in stretches of whole lines: long enough to show text as it runs, short
// enough that a few hundred of them spread over the text.
constexpr std::int64_t kLongestStretch = 4096;
constexpr std::int64_t kStretches = 256;
// sentencepiece aborts on a word of 65,536 characters and walks a word's letters one by one, so
// long lines are handed over in pieces.
constexpr std::size_t kLongestPiece = 4000;
constexpr std::int64_t kFixedPieces = 3 + 1 + 256;  // specials, line end, bytes
// sentencepiece leaves out the rarest characters, 0.05 % of the text. A space must have a piece all
// the same: as three bytes it would come back as U+2581. It is asked for only where it may be left
// out, since the model names what was asked for, and shown once, since sentencepiece aborts on a
// required character that it never saw.
constexpr std::int64_t kRareSpace = 1000;  // bytes of text for each

class Sampler {
 public:
  Sampler(std::int64_t total, std::int64_t wanted)
      : total_(total), wanted_(wanted), stretch_(std::min(kLongestStretch, wanted / kStretches)) {}

  void add(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
      add_line(text.substr(0, end));
      text.remove_prefix(end);
    }
  }
  std::vector<std::string> take() {
    if (spaces_are_rare()) lines_.emplace_back(" ");
    return std::move(lines_);
  }
  std::int64_t bytes() const { return taken_; }
  bool spaces_are_rare() const { return spaces_ * kRareSpace < taken_; }

 private:
  // Takes a line while the share taken lags behind the share wanted, then goes on for one stretch.
  void add_line(std::string_view line) {
    while (!line.empty()) {
      std::size_t size = std::min(line.size(), kLongestPiece);
      while (size < line.size() && inside_character(line[size])) --size;
      add_piece(line.substr(0, size));
      line.remove_prefix(size);
    }
  }
  void add_piece(std::string_view piece) {
    const auto size = static_cast<std::int64_t>(piece.size());
    const double due =
        static_cast<double>(wanted_) * static_cast<double>(seen_) / static_cast<double>(total_);
    seen_ += size;
    if (wanted_ < total_) {
      if (stretch_left_ <= 0 && static_cast<double>(taken_) <= due) stretch_left_ = stretch_ + 1;
      if (stretch_left_ <= 0 || taken_ + size > wanted_) return;
      stretch_left_ -= size;
    }
    taken_ += size;
    if (piece.ends_with('\n')) piece.remove_suffix(1);
    spaces_ += std::ranges::count(piece, ' ');
    if (!piece.empty()) lines_.emplace_back(piece);
  }

  std::int64_t total_;
  std::int64_t wanted_;
  std::int64_t stretch_;
  std::int64_t seen_ = 0;
  std::int64_t taken_ = 0;
  std::int64_t spaces_ = 0;
  std::int64_t stretch_left_ = 0;
  std::vector<std::string> lines_;
};

class Lines : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(std::vector<std::string> lines) : lines_(std::move(lines)) {}
  bool done() const override { return at_ == lines_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return lines_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  std::vector<std::string> lines_;
  std::size_t at_ = 0;
};

std::unordered_map<std::string, std::string> options(std::int64_t vocabulary, bool ask_for_space) {
  std::unordered_map<std::string, std::string> all = {
      {"model_type", "bpe"},
      {"vocab_size", std::to_string(vocabulary)},
      {"byte_fallback", "true"},
      {"normalization_rule_name", "identity"},
      {"remove_extra_whitespaces", "false"},
      {"add_dummy_prefix", "false"},
      {"allow_whitespace_only_pieces", "true"},
      {"user_defined_symbols", "\n"},
      {"max_sentence_length", std::to_string(2 * kLongestPiece)},
      {"unk_id", "0"},
      {"bos_id", "1"},
      {"eos_id", "2"},
      {"pad_id", "-1"},
      {"num_threads", "1"},  // only its normalizer has threads; one keeps the result beyond doubt
      {"minloglevel", "3"},
  };
  if (ask_for_space) all["required_chars"] = kSpace;
  return all;
}

// sentencepiece's message for a failed check names the source line first; what it found comes last.
[[noreturn]] void refuse(const std::string& message, const std::string& place,
                         std::int64_t vocabulary) {
  const auto number_after = [&](const std::string& words) -> std::string {
    const std::size_t at = message.find(words);
    if (at == std::string::npos) return "";
    const std::size_t from = at + words.size();
    return message.substr(from, message.find_first_not_of("0123456789", from) - from);
  };
  if (const std::string most = number_after("set it to a value <= "); !most.empty()) {
    throw Error(place, cat("a vocabulary of ", vocabulary, " is too large for this text"),
                cat("tokenizer.vocabulary may be at most ", most));
  }
  if (const std::string least = number_after(cat(vocabulary, " vs ")); !least.empty()) {
    throw Error(place, cat("a vocabulary of ", vocabulary, " is too small for this text"),
                cat("tokenizer.vocabulary must be at least ", least));
  }
  throw Error(place, "no tokenizer can be trained on this text: " + message,
              "set tokenizer.kind to bytes, or add text");
}

}  // namespace

std::string train_tokenizer(const TextSource& source, const TokenizerTraining& training,
                            const std::string& place) {
  const auto say = [&](const std::string& line) {
    if (training.progress) training.progress(line);
  };
  const std::int64_t vocabulary = training.vocabulary;
  if (vocabulary <= kFixedPieces || vocabulary > (1 << 24)) {
    throw Error(place, cat("a vocabulary of ", vocabulary),
                cat("tokenizer.vocabulary must be above ", kFixedPieces,
                    " (specials, line end, 256 bytes)"));
  }
  Sampler sampler(source.bytes, training.sample_bytes);
  source.for_each([&](std::string_view text) { sampler.add(text); });
  const double start = seconds_now();
  say(cat("training a tokenizer of ", vocabulary, " tokens on ",
          human_bytes(static_cast<double>(sampler.bytes())), " of ",
          human_bytes(static_cast<double>(source.bytes))));
  struct Work {
    Lines lines;
    std::string model;
    sentencepiece::util::Status status;
  };
  const auto work = std::make_shared<Work>(Work{Lines(sampler.take()), {}, {}});
  run_unless_stopped("prepare", [work, all = options(vocabulary, sampler.spaces_are_rare())] {
    work->status = sentencepiece::SentencePieceTrainer::Train(all, &work->lines, &work->model);
  });
  if (!work->status.ok()) refuse(work->status.ToString(), place, vocabulary);
  say(cat("tokenizer trained in ", human_seconds(seconds_now() - start)));
  return std::move(work->model);
}

}  // namespace alibi
