#include "config/position/methods.h"

#include <algorithm>

#include "base/error.h"
#include "base/strings.h"
#include "base/version.h"
#include "config/config.h"
#include "config/field.h"

namespace alibi {
namespace {

#define ALIBI_ROW(Name, name) &k##Name##Positions,
constexpr std::array kMethods{ALIBI_POSITION_METHODS(ALIBI_ROW)};
#undef ALIBI_ROW

}  // namespace

std::int64_t ParameterShape::count() const {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) product *= size;
  return product;
}

const PositionMethod& position_method(Position method) {
  return *kMethods[static_cast<std::size_t>(method)];
}

std::vector<Position> all_positions() {
  std::vector<Position> all;
  for (std::size_t i = 0; i < kMethods.size(); ++i) all.push_back(static_cast<Position>(i));
  return all;
}

std::string positions_where(const std::function<bool(const PositionMethod&)>& fits) {
  std::vector<std::string> names;
  for (const Position position : all_positions())
    if (fits(position_method(position))) names.emplace_back(name_of(position));
  return join(names, ", ");
}

std::vector<double> initial_slopes(const ModelConfig& model) {
  const auto slopes = position_method(model.position).slopes;
  return slopes == nullptr ? std::vector<double>() : slopes(model);
}

PositionForm position_form(const ModelConfig& model) {
  const auto form = position_method(model.position).form;
  return form == nullptr ? PositionForm{} : form(model);
}

std::optional<std::int64_t> position_limit(const ModelConfig& model) {
  return position_method(model.position).has_table ? model.max_sequence_length : std::nullopt;
}

void take_form(ModelConfig& model, const PositionForm& form) {
  switch (form.kind) {
    case PositionForm::kNothing:
      model.position = Position::kNone;
      return;
    case PositionForm::kTable:
      model.position = Position::kLearned;
      model.max_sequence_length = form.rows;
      return;
    case PositionForm::kPressSlopes:
      model.position = Position::kAlibi;
      model.max_sequence_length.reset();
      model.slope_bias_max = form.bias_max;
      return;
    case PositionForm::kOtherSlopes:
    case PositionForm::kOther:
      ensure(false, "a form that other programs have");
  }
}

int arithmetic_revision(const ModelConfig& model) {
  return std::max(kArithmeticRevision, position_method(model.position).arithmetic_revision);
}

std::string arithmetic_text(const ModelConfig& model) {
  const int revision = arithmetic_revision(model);
  return revision == 1 ? "0.1.0" : cat("arithmetic ", revision);  // the version it began with
}

bool is_position_key(const std::string& key) {
  if (key == "position" || key == "max_sequence_length") return true;
  ModelConfig model;
  Fields fields;
  for (const PositionMethod* method : kMethods)
    if (method->add_fields != nullptr) method->add_fields(fields, model);
  return std::any_of(fields.begin(), fields.end(),
                     [&](const Field& field) { return field.name == key; });
}

}  // namespace alibi
