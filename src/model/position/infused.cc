#include "device/libtorch.h"
#include "model/position/positions.h"
#include "model/position/sinusoidal.h"

namespace alibi {
namespace {

class Infused final : public Positions {
 public:
  explicit Infused(const ModelConfig& model) : width_(model.width) {}

  torch::Tensor infuse(std::int64_t first, std::int64_t count,
                       torch::Device device) const override {
    return sinusoidal_rows(first, count, width_, device);
  }

  bool moves_heads() const override { return true; }

 private:
  std::int64_t width_;
};

}  // namespace

const MakePositions kMakeInfused = [](const ModelConfig& model,
                                      const RegisterParameter&) -> std::unique_ptr<Positions> {
  return std::make_unique<Infused>(model);
};

}  // namespace alibi
