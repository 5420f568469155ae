// A corpus of text: the documents of its files, each in training or in validation
// (data/hold_out.h). Documents are read when they are asked for; none is kept.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "data/hold_out.h"
#include "text/documents.h"

namespace alibi {

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

}  // namespace alibi
