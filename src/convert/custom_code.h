// The Python files that go with a folder for transformers whose model no class of its own can
// express: nearly every position method (PositionMethod::python), cached generation, padding on the
// left. Loaded with
// trust_remote_code; config.json holds this program's own keys for the model.
#pragma once

#include <string>

#include "config/model_config.h"

namespace alibi {

extern const char kConfigurationPy[];  // configuration_alibi.py

// modeling_alibi.py, with the model's position method (PositionMethod::python).
std::string modeling_py(const ModelConfig& model);

}  // namespace alibi
