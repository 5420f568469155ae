// The tokenizer of a folder of transformers as a checkpoint of ours keeps it.
#pragma once

#include <filesystem>

#include "convert/foreign.h"
#include "text/tokenizer.h"

namespace alibi {

// With as many ids as the embedding has rows (those no text uses become special tokens of a
// tokenizer.json) and with the model's end token. Throws Error, naming the file, for a tokenizer
// that is not read, has more ids than the model, or does not say how documents end; for a folder
// without one.
Tokenizer import_tokenizer(const ForeignModel& foreign, const std::filesystem::path& folder);

}  // namespace alibi
