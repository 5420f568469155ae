// The configs that go with an imported model.
#pragma once

#include <filesystem>
#include <string>

#include "config/config.h"
#include "convert/foreign.h"
#include "text/tokenizer.h"

namespace alibi {

// What its checkpoint stores: the model, its tokenizer, and as trained length what the model says
// to be used with (2,048 where it does not say). Throws Error where the model has a size that no
// config may have.
Config imported_config(const ForeignModel& foreign, const Tokenizer& tokenizer,
                       const std::string& name, const std::filesystem::path& tokenizer_file);

// A file for `alibi train` that starts from the checkpoint in `folder`; data.train is the user's.
// With linear biases in the place of the model's own positions where `surgery` is asked for.
std::string continuing_config(const Config& imported, const std::filesystem::path& folder,
                              bool surgery);

}  // namespace alibi
