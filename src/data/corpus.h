// The documents of a text, divided into training and validation, as a stream of token ids: the same
// for text and for token ids that other trainers wrote.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "data/named_text.h"
#include "formats/token_file.h"
#include "text/documents.h"
#include "text/encode_parallel.h"
#include "text/tokenizer.h"

namespace alibi {

// Which documents train and which validate.
//
// given  data.valid names the text that validates
// hash   a document validates when its SHA-256, as a fraction of its range, is below
//        valid_fraction: equal documents land on one side, whatever else the corpus holds
// tail   where that leaves one side without a document: the last valid_fraction of the text,
//        cut at a line end, at a character where none is near or, of token ids, at a token
// none   valid_fraction is 0
enum Split : int { kTrain = 0, kValid = 1 };

enum class HoldOutRule { kGiven, kHash, kTail, kNone };

// The rule to begin with; kTail replaces kHash where one side stays empty.
HoldOutRule hold_out_rule(bool valid_given, double valid_fraction);

// Whether a document of that SHA-256 validates under rule kHash.
bool held_out(const std::string& sha256, double valid_fraction);

// How a corpus was divided, and what was found on the way.
struct Division {
  HoldOutRule rule = HoldOutRule::kNone;
  double valid_fraction = 0;
  const char* cut_at = "a line end";  // rule kTail
  std::int64_t bytes = 0;             // of text, both sides; 0 where it is token ids
  std::int64_t empty_documents = 0;   // left out
  bool prompts = false;               // some text is read but is no target

  std::string rule_text() const;  // one sentence for people
};

// The documents of text files. They are read when they are needed; none is kept.
struct TextCorpus {
  std::vector<std::filesystem::path> train_files;
  std::vector<std::filesystem::path> valid_files;  // rule kGiven only
  Division division;
  std::int64_t cut_byte = 0;     // rule kTail: training ends here, counted over all documents
  std::int64_t train_bytes = 0;  // of division.bytes
};

// Reads all text once (and so finds its faults). Throws Error at data.train or data.valid when that
// side would be empty.
TextCorpus divide_text(std::vector<std::filesystem::path> train_files,
                       std::vector<std::filesystem::path> valid_files, double valid_fraction);

// Each document, or each side of the one that is cut, in order; train_only leaves out data.valid
// and everything held out. The call returns false to stop.
using PartCall = std::function<bool(const DocumentView& part, Split split)>;
void for_each_part(const TextCorpus& corpus, bool train_only, const PartCall& call);

// The documents of token ids that other trainers wrote (formats/token_file.h): split at end tokens
// and at the documents that an index names.
//
// One of them, without its end token; not empty.
struct TokenRange {
  std::shared_ptr<const TokenFile> file;
  std::int64_t first = 0, last = 0;  // one behind the last token
  Split split = kTrain;
};

struct TokenCorpus {
  std::vector<TokenRange> documents;
  Division division;
};

// Reads every id once. Throws Error naming file and token where one is outside the vocabulary, and
// at data.train or data.valid where that side would be empty.
TokenCorpus divide_tokens(const std::vector<std::filesystem::path>& train_files,
                          const std::vector<std::filesystem::path>& valid_files,
                          const Tokenizer& tokenizer, double valid_fraction);

// The documents of all files, in order, without a division. Throws as above.
TokenCorpus all_tokens(const std::vector<std::filesystem::path>& files, const Tokenizer& tokenizer);

// Each document in parts of at most a million tokens, as the encoder hands them over; the last part
// of each has the end token. The call returns false to stop.
void for_each_part(const TokenCorpus& corpus, const Tokenizer& tokenizer,
                   const ParallelEncoder::Sink& call);

using Corpus = std::variant<TextCorpus, TokenCorpus>;

// Reads all text once. `tokenizer`: must be given for token ids, is not used for text. Throws Error
// for what cannot be read, and at data.train or data.valid when that side would be empty.
Corpus divide(const NamedText& text, double valid_fraction,
              const std::optional<Tokenizer>& tokenizer);

const Division& division_of(const Corpus& corpus);

// Hands over each part of each document in order; EncodedPart::stream is its Split. The sink
// returns false to stop. Text is encoded on several threads; the ids do not depend on their number.
void encode(const Corpus& corpus, const Tokenizer& tokenizer, int threads,
            const ParallelEncoder::Sink& sink);

// The same for files that are not divided, which are read once: all of it is kValid.
void encode(const TextFiles& text, const Tokenizer& tokenizer, int threads,
            const ParallelEncoder::Sink& sink);

}  // namespace alibi
