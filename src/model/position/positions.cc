#include "model/position/positions.h"

namespace alibi {
namespace {

#define ALIBI_ROW(Name, name) &kMake##Name,
constexpr std::array kMakers{ALIBI_POSITION_METHODS(ALIBI_ROW)};
#undef ALIBI_ROW

}  // namespace

std::unique_ptr<Positions> make_positions(const ModelConfig& model,
                                          const RegisterParameter& register_parameter) {
  return (*kMakers[static_cast<std::size_t>(model.position)])(model, register_parameter);
}

std::vector<std::pair<std::string, torch::Tensor>> constant_position_parameters(
    const ModelConfig& model) {
  std::vector<std::pair<std::string, torch::Tensor>> constants;
  make_positions(model, [&](const std::string& name, torch::Tensor value) {
    if (value.dim() < 2) constants.emplace_back(name, value);
    return value;
  });
  return constants;
}

}  // namespace alibi
