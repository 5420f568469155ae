// A tokenizer as keys of a GGUF file: sentencepiece's BPE (llama.cpp's "llama"), byte-level BPE
// ("gpt2"), or none for plain bytes, of which llama.cpp has no tokenizer.
#pragma once

#include <string>
#include <vector>

#include "formats/gguf.h"
#include "text/tokenizer.h"

namespace alibi {

// What of it llama.cpp would do otherwise, a phrase each; empty: nothing.
std::vector<std::string> gguf_tokenizer_obstacles(const Tokenizer& tokenizer);

// What llama.cpp does otherwise with some texts only, a line for people; empty: nothing.
std::string gguf_tokenizer_note(const Tokenizer& tokenizer);

// Call without obstacles.
GgufKeys gguf_tokenizer_keys(const Tokenizer& tokenizer);

}  // namespace alibi
