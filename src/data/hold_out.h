// Which text trains and which validates.
//
// given  data.valid names it
// hash   a document validates when the SHA-256 of its text, as a fraction of its range, is below
//        valid_fraction: equal documents land on one side, whatever else the corpus holds
// tail   where that leaves one side without a document: the last valid_fraction of the bytes,
//        cut at a line end
// none   valid_fraction is 0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "text/documents.h"

namespace alibi {

enum class HoldOutRule { kGiven, kHash, kTail, kNone };

// One sentence for people; `unit` is what is cut at ("a line end", "a token").
std::string rule_text(HoldOutRule rule, double valid_fraction, const std::string& unit);

// Whether a document of that SHA-256 validates under rule kHash.
bool held_out(const std::string& sha256, double valid_fraction);

struct CorpusPlan {
  std::vector<std::filesystem::path> train_files;
  std::vector<std::filesystem::path> valid_files;  // rule kGiven only
  double valid_fraction = 0;
  HoldOutRule rule = HoldOutRule::kNone;
  std::int64_t cut_byte = 0;  // rule kTail: training ends here, counted over all documents
  std::int64_t train_bytes = 0;
  std::int64_t valid_bytes = 0;
  std::int64_t empty_documents = 0;
  bool prompts = false;  // some text is read but not learned
};

// Reads all text once (and so finds its faults). Throws Error when a side would be empty.
CorpusPlan plan_corpus(std::vector<std::filesystem::path> train_files,
                       std::vector<std::filesystem::path> valid_files, double valid_fraction);

enum Split : int { kTrain = 0, kValid = 1 };

// Each document, or each side of the one that is cut, in order; train_only leaves out data.valid
// and everything held out. The call returns false to stop.
using PartCall = std::function<bool(const DocumentView& part, Split split)>;
void for_each_part(const CorpusPlan& plan, bool train_only, const PartCall& call);

}  // namespace alibi
