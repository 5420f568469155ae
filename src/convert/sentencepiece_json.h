// A tokenizer.json of sentencepiece's kind back into the model that it was made of: transformers
// saves no tokenizer.model beside it.
#pragma once

#include <optional>
#include <string>

namespace alibi {

// Whether two tokenizer.json give the same ids and texts as far as this program writes them:
// cutting, padding, and a post-processor that adds nothing aside. What is no JSON is like nothing.
bool same_tokenizer_json(const std::string& one, const std::string& other);

// A serialized sentencepiece model whose tokenizer.json (convert/tokenizer_json.h) is like `file`;
// none where the file is of another kind, byte-level BPE for example. Throws Error at `place` where
// it is of this kind and says more or other things than such a model can.
std::optional<std::string> sentencepiece_of_json(const std::string& file, const std::string& place);

}  // namespace alibi
