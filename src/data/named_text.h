// The first stage of reading text, for training (data/prepare.h) and for evaluation
// (data/text_sample.h): names become files, and what kind of text they hold is decided.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace alibi {

enum class TextKind {
  kText,      // .txt and .jsonl, packed or not (text/documents.h)
  kTokens,    // .bin, token ids that other trainers wrote (formats/token_file.h)
  kPrepared,  // one folder that `alibi prepare` made (data/prepared.h)
};

struct TextFiles {
  TextKind kind = TextKind::kText;
  std::vector<std::filesystem::path> files;  // kPrepared: the folder
  // In folders, not read: of another ending, linked folders, broken links.
  std::int64_t other_files = 0;
};

struct NamedText {
  TextFiles train;
  TextFiles valid;  // of the same kind; without files where a part of train is held out
  TextKind kind() const { return train.kind; }
};

// The files that data.train and data.valid name. A name with '*', '?' or '[' in it that is no file
// or folder is a pattern for what it matches, in order; folders are walked recursively, in sorted
// order. Throws Error: a name that is missing, unreadable, empty or of another ending; a folder
// without text. Throws a usage Error at data.train: no name, token ids beside text, a prepared
// folder beside anything; at data.valid: names beside a prepared folder.
NamedText find_named_text(const std::vector<std::string>& train,
                          const std::vector<std::string>& valid);

// Of these names the first that is not there, and what makes it.
struct MissingName {
  std::string name, reason, way_out;
};
std::optional<MissingName> find_missing(const std::vector<std::string>& names);

// The same for names that are read without a division: kText or kTokens. Throws Error.
TextFiles find_text(const std::vector<std::string>& names);

// The same where only text is read.
TextFiles find_text_files(const std::vector<std::string>& names);

}  // namespace alibi
