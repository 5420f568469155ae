// The Python files that go with a folder for transformers whose model no class of its own can
// express: every position method, cached generation, padding on the left. Loaded with
// trust_remote_code; config.json holds this program's own keys for the model.
#pragma once

namespace alibi {

extern const char kConfigurationPy[];  // configuration_alibi.py
extern const char kModelingPy[];       // modeling_alibi.py

}  // namespace alibi
