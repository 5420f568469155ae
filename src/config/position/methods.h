// The position methods: what each is, and its keys. What it does with numbers is in
// model/position/NAME.cc.
//
// A new method is a row of ALIBI_POSITION_METHODS and its keys here, a description
// (config/position/NAME.cc) and its arithmetic (model/position/NAME.cc). All others ask the row.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/enum_names.h"
#include "config/position/slopes.h"

namespace alibi {

// ROW(Name, "value of model.position"): the enumerator kName, the description kNamePositions and
// the arithmetic kMakeName.
#define ALIBI_POSITION_METHODS(ROW) \
  ROW(Alibi, "alibi")               \
  ROW(Sinusoidal, "sinusoidal")     \
  ROW(Learned, "learned")           \
  ROW(Rotary, "rotary")             \
  ROW(T5, "t5")                     \
  ROW(Kerple, "kerple")             \
  ROW(Bam, "bam")                   \
  ROW(Sandwich, "sandwich")         \
  ROW(Forgetting, "forgetting")     \
  ROW(Infused, "position_infused")  \
  ROW(Fire, "fire")                 \
  ROW(None, "none")

#define ALIBI_ROW(Name, name) k##Name,
enum class Position { ALIBI_POSITION_METHODS(ALIBI_ROW) };
#undef ALIBI_ROW

#define ALIBI_ROW(Name, name) name,
constexpr auto enum_names(Position) { return std::array{ALIBI_POSITION_METHODS(ALIBI_ROW)}; }
#undef ALIBI_ROW

enum class KerpleKernel { kLog, kPower };
constexpr auto enum_names(KerpleKernel) { return std::array{"log", "power"}; }

inline constexpr std::int64_t kFireUnits = 32;  // hidden units of its function, as in its paper

enum class Stretch;

// The keys of all methods, side by side in section "model".
struct PositionKeys {
  Position position = Position::kAlibi;
  // Of methods with a table of positions: its rows. Not given: the trained length.
  std::optional<std::int64_t> max_sequence_length;
  // alibi
  SlopeRule slope_rule = SlopeRule::kPress;
  double slope_bias_max = 8;
  std::int64_t slope_seed = 0;               // of the exponential rule
  std::optional<std::int64_t> biased_heads;  // all heads
  std::vector<double> slopes;                // empty: by rule
  bool learned_slopes = false;
  // rotary
  double rotary_base = 10000;
  double rotary_share = 1;
  Stretch rotary_scaling{};  // kNone
  std::optional<double> rotary_scaling_factor;
  std::optional<std::int64_t> rotary_original_length;
  // t5
  std::int64_t t5_buckets = 32;
  std::int64_t t5_max_distance = 128;
  bool t5_shared = true;
  KerpleKernel kerple_kernel = KerpleKernel::kLog;
  std::int64_t sandwich_width = 128;
  double fire_threshold = 512;
};

// What other programs may have in common with a method.
struct PositionForm {
  enum Kind {
    kNothing,
    kTable,        // rows that are added to the embeddings
    kPressSlopes,  // linear biases by SlopeRule::kPress
    kOtherSlopes,  // linear biases of other values
    kOther
  };
  Kind kind = kOther;
  double bias_max = 0;    // kPressSlopes
  std::int64_t rows = 0;  // kTable
};

struct Config;
struct Field;
struct ModelConfig;
class Faults;

struct ParameterShape {
  std::string name;
  std::vector<std::int64_t> sizes;
  std::int64_t count() const;
  bool operator==(const ParameterShape&) const = default;
};

// One method. A function that is null has nothing to say.
struct PositionMethod {
  // Fields of its keys.
  void (*add_fields)(std::vector<Field>& fields, ModelConfig& model) = nullptr;
  // Rules over several keys, asked where it is the method.
  void (*check)(const ModelConfig& model, Faults& faults) = nullptr;
  // And those over the trained length, where that is sound.
  void (*check_length)(const ModelConfig& model, std::int64_t trained_length,
                       Faults& faults) = nullptr;
  // Fills defaults that other keys decide.
  void (*resolve)(ModelConfig& model, std::int64_t trained_length) = nullptr;
  std::vector<std::string> (*advice)(const Config& config) = nullptr;
  // In the order of registration. Those of two and more dimensions are drawn at step 0, the others
  // start at values that model/position/NAME.cc gives.
  std::vector<ParameterShape> (*parameters)(const ModelConfig& model) = nullptr;
  std::vector<double> (*slopes)(const ModelConfig& model) = nullptr;  // of linear biases, at step 0
  PositionForm (*form)(const ModelConfig& model) = nullptr;           // null: kOther
  // By evaluate.stretch; null: none does.
  bool (*stretches)(const ModelConfig& model, Stretch kind) = nullptr;
  bool has_table = false;          // ends at model.max_sequence_length
  bool counts_distances = false;   // and nothing else: a cache may drop what lies between
  bool scales_embeddings = false;  // which makes its embeddings another method's noise
  // Raised, above kArithmeticRevision, when a change of the program changes the bits of this
  // method's runs alone.
  int arithmetic_revision = 1;
  const char* paper = "";  // for a model card
  // The mixin `Positions` of an exported modeling file (convert/custom_code.cc), where it differs
  // from the one that does nothing. Null: none can hold it.
  const char* python = "";
};

const PositionMethod& position_method(Position method);
std::vector<Position> all_positions();
// The methods that fit, as a message names them: "alibi, t5, none".
std::string positions_where(const std::function<bool(const PositionMethod&)>& fits);

// Of the config's method, for those who ask about a model.
std::vector<double> initial_slopes(const ModelConfig& model);  // empty without linear biases
PositionForm position_form(const ModelConfig& model);
// The longest input; nothing for methods without a table, and before `resolve`.
std::optional<std::int64_t> position_limit(const ModelConfig& model);
// Makes `model` one that other programs describe so. Not kOtherSlopes, kOther.
void take_form(ModelConfig& model, const PositionForm& form);
// Of the arithmetic that computes a run's weights; and as it enters hashes.
int arithmetic_revision(const ModelConfig& model);
std::string arithmetic_text(const ModelConfig& model);
// Whether the key of section "model" is one of a method, or chooses it.
bool is_position_key(const std::string& key);

#define ALIBI_ROW(Name, name) extern const PositionMethod k##Name##Positions;
ALIBI_POSITION_METHODS(ALIBI_ROW)
#undef ALIBI_ROW

}  // namespace alibi
