#include "base/error.h"
#include "base/strings.h"
#include "device/libtorch.h"
#include "model/position/positions.h"

namespace alibi {
namespace {

class Learned final : public Positions {
 public:
  Learned(const ModelConfig& model, const RegisterParameter& register_parameter) {
    ensure(model.max_sequence_length.has_value(), "learned positions have a resolved length");
    table_LC_ =
        register_parameter("positions", torch::zeros({*model.max_sequence_length, model.width}));
  }

  torch::Tensor embed(const torch::Tensor& x_BTC, std::int64_t first) const override {
    const std::int64_t end = first + x_BTC.size(1);
    if (end > table_LC_.size(0)) {
      throw Error("model.max_sequence_length",
                  cat("found input of ", end, " positions, expected at most ", table_LC_.size(0)),
                  "learned positions end at their table; ALiBi does not");
    }
    return x_BTC + table_LC_.narrow(0, first, x_BTC.size(1));
  }

  bool moves_embeddings() const override { return true; }

 private:
  torch::Tensor table_LC_;
};

}  // namespace

const MakePositions kMakeLearned =
    [](const ModelConfig& model,
       const RegisterParameter& register_parameter) -> std::unique_ptr<Positions> {
  return std::make_unique<Learned>(model, register_parameter);
};

}  // namespace alibi
