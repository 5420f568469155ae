// What a position method does with a model's numbers. Each acts at one or more of these places: on
// the embeddings, on queries and keys or what they are made from, on the attention scores. What a
// method is, is in config/position/methods.h.
//
// Letters: see model/gpt.h.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "device/tensor.h"
#include "model/position/stretch.h"
#include "model/score_bias.h"

namespace alibi {

// What a method may need to know to make its bias.
struct BiasPlace {
  std::int64_t layer;
  std::int64_t keys;  // that the last query may see
  torch::Device device;
  const PositionChanges& changes;
  // What the queries are made from: the layer's normed input at the last T positions. On the meta
  // device where only the form of the bias is asked for.
  torch::Tensor normed_BTC = {};
};

// The method of one model, with its parameters. The functions here are those of a method that does
// nothing at that place.
class Positions {
 public:
  virtual ~Positions() = default;

  // x_BTC: embeddings of the tokens at `first` and after. Throws Error beyond a table's end.
  virtual torch::Tensor embed(const torch::Tensor& x_BTC, std::int64_t) const { return x_BTC; }
  // x_BHTD: queries or keys of the tokens at `first` and after.
  virtual torch::Tensor turn(const torch::Tensor& x_BHTD, std::int64_t,
                             const PositionStretch&) const {
    return x_BHTD;
  }
  // (count, C): what is added, for queries and keys alone, to the normed input of every layer at
  // `first` and after. Undefined: nothing.
  virtual torch::Tensor infuse(std::int64_t, std::int64_t, torch::Device) const { return {}; }
  // Whether `embed`, and whether `turn` or `infuse`, do anything.
  virtual bool moves_embeddings() const { return false; }
  virtual bool moves_heads() const { return false; }
  // What is added to the scores. Terms are of the last T positions alone, as if nothing came before
  // (see continue_terms).
  virtual ScoreBias bias(const BiasPlace&) const { return {}; }
  // Of linear biases, as trained by now; else empty.
  virtual std::vector<double> slopes() const { return {}; }
};

// Takes a parameter's name and first value, and returns the parameter.
using RegisterParameter = std::function<torch::Tensor(const std::string&, torch::Tensor)>;

// Parameters of two and more dimensions are zero: the model draws them. `model` is resolved.
using MakePositions = std::unique_ptr<Positions> (*)(const ModelConfig& model,
                                                     const RegisterParameter& register_parameter);

std::unique_ptr<Positions> make_positions(const ModelConfig& model,
                                          const RegisterParameter& register_parameter);

// First values of the parameters that are not drawn, by name.
std::vector<std::pair<std::string, torch::Tensor>> constant_position_parameters(
    const ModelConfig& model);

#define ALIBI_ROW(Name, name) extern const MakePositions kMake##Name;
ALIBI_POSITION_METHODS(ALIBI_ROW)
#undef ALIBI_ROW

}  // namespace alibi
