// The weights that a run with `initialize.from` starts from.
//
// Where the source has another positional encoding, that is replaced (the surgery that turns a
// GPT-2 with learned positions into a model with linear biases): the source's position parameters
// are left out, the new method's biases act in attention, and neither table nor limit of length
// remains. Everything else must be the same model.
#pragma once

#include <string>

#include "checkpoint/tensors.h"
#include "config/config.h"
#include "text/tokenizer.h"

namespace alibi {

struct Start {
  Tensors weights;      // every parameter of a model of the config, no other
  std::string surgery;  // what was done to the positions; "": nothing
};

// Throws as start_from does, of all that the two configs show.
void refuse_other_start(const Config& source, const Config& config);

// Throws Error naming the key: another tokenizer, other layers, heads, activation or shapes than
// the source's, positions that cannot be exchanged, or scaled from another length.
Start start_from(const Config& config, const Tokenizer& tokenizer);

}  // namespace alibi
