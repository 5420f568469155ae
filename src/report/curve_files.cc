// curve.json and curve.csv, as drawn in curve_files.h.
#include "report/curve_files.h"

#include "base/checksums.h"
#include "base/strings.h"
#include "report/context.h"
#include "report/json_cells.h"

namespace alibi {
namespace {

using namespace cells;

Cells point_cells(const CurvePoint& point) {
  return {{"length", point.length},
          {"multiple", number(point.multiple)},
          {"applicable", point.applicable},
          {"note", point.note},
          {"loss", number(point.loss)},
          {"loss_low", number(point.loss_low)},
          {"loss_high", number(point.loss_high)},
          {"perplexity", number(point.perplexity)},
          {"perplexity_low", number(point.perplexity_low)},
          {"perplexity_high", number(point.perplexity_high)},
          {"change_from_1x", number(point.change_from_1x)},
          {"change_low", number(point.change_low)},
          {"change_high", number(point.change_high)},
          {"loss_joint_low", number(point.loss_joint_low)},
          {"loss_joint_high", number(point.loss_joint_high)},
          {"change_joint_low", number(point.change_joint_low)},
          {"change_joint_high", number(point.change_joint_high)},
          {"bits_per_byte", number(point.bits_per_byte)},
          {"word_perplexity", number(point.word_perplexity)},
          {"full_loss", number(point.full_loss)},
          {"early_gain", number(point.early_gain)},
          {"early_gain_low", number(point.early_gain_low)},
          {"early_gain_high", number(point.early_gain_high)},
          {"context_gain", number(point.context_gain)},
          {"context_gain_low", number(point.context_gain_low)},
          {"context_gain_high", number(point.context_gain_high)},
          {"targets", point.targets},
          {"seconds", number(point.seconds)},
          {"tokens_per_second", number(point.tokens_per_second)},
          {"peak_memory_bytes", point.peak_memory_bytes}};
}

Cells curve_cells(const Curve& curve) {
  return {{"name", curve.name},
          {"position", curve.position},
          {"checkpoint", curve.checkpoint},
          {"checkpoint_sha256", curve.checkpoint_sha256},
          {"step", curve.step},
          {"trained_length", curve.trained_length},
          {"sequence_length", curve.sequence_length},
          {"train_sequence_length_scaling", number(curve.train_sequence_length_scaling)},
          {"parameters", curve.parameters}};
}

Cells protocol_cells(const CurveProtocol& protocol) {
  return {{"name", protocol.name},
          {"stride", protocol.stride},
          {"sinks", protocol.sinks},
          {"split_stride", protocol.split_stride},
          {"description", protocol.description},
          {"treatment", protocol.treatment},
          {"document_borders", protocol.document_borders},
          {"precision", protocol.precision},
          {"device", protocol.device},
          {"kernel", protocol.kernel}};
}

// Two curves with the same checksum were measured by the same rules; where they ran is left out of
// it.
Json protocol_object(const CurveProtocol& protocol) {
  Json rules = object(protocol_cells(protocol));
  Json whole = rules;
  rules.erase("device");
  rules.erase("kernel");
  whole["sha256"] = sha256_hex(rules.dump(-1, ' ', false, Json::error_handler_t::replace));
  return whole;
}

Json text_object(const CurveText& text) {
  return {{"files", text.files},
          {"selection", text.selection},
          {"sha256", text.sha256},
          {"tokens_scored", text.tokens_scored},
          {"tokens_cut_off", text.tokens_cut_off},
          {"bytes", text.bytes},
          {"words", text.words}};
}

std::string compact(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json loss_by_position(const Curve& curve) {
  Json lengths = Json::array();
  for (const LossByPosition& measured : curve.loss_by_position) {
    Json bins = Json::array();
    for (const PositionBin& bin : measured.bins) {
      bins.push_back(object({{"first", bin.first},
                             {"last", bin.last},
                             {"loss", number(bin.loss)},
                             {"count", bin.count}}));
    }
    lengths.push_back(object({{"length", measured.length}, {"bins", std::move(bins)}}));
  }
  return lengths;
}

Json far_context(const FarContext& far) {
  if (far.window == 0) return nullptr;
  const Reach useful = useful_context(far), noticed = noticed_context(far);
  Json bins = Json::array();
  for (const FarBin& bin : far.bins) {
    Json one = object({{"first", bin.first}, {"last", bin.last}, {"targets", bin.targets}});
    for (const auto& [name, change] : {std::pair<std::string, LossChange>{"swapped", bin.swapped},
                                       {"shuffled", bin.shuffled},
                                       {"cut", bin.cut}}) {
      one[name] = number(change.mean);
      one[name + "_low"] = number(change.low);
      one[name + "_high"] = number(change.high);
    }
    bins.push_back(std::move(one));
  }
  return object({{"window", far.window},
                 {"targets", far.targets},
                 {"useful", useful.tokens},
                 {"useful_bounded", useful.bounded},
                 {"noticed", noticed.tokens},
                 {"noticed_bounded", noticed.bounded},
                 {"bins", std::move(bins)}});
}

Json curve_object(const Curve& curve) {
  Json result = object(curve_cells(curve));
  result["slopes"] = curve.slopes;
  result["points"] = Json::array();
  for (const CurvePoint& point : curve.points)
    result["points"].push_back(object(point_cells(point)));
  result["loss_by_position"] = loss_by_position(curve);
  result["far_context"] = far_context(curve.far_context);
  return result;
}

// The columns of one line; `names` gives their titles instead of their values.
std::string csv_line(const Curve& curve, const CurveProtocol& protocol, const CurvePoint& point,
                     bool names) {
  std::vector<std::string> cells;
  const auto add = [&](const Cells& from, std::string_view prefix) {
    for (const auto& [name, value] : from)
      cells.push_back(names ? cat(prefix, name) : csv_text(value));
  };
  add(curve_cells(curve), "");
  Cells short_cells = protocol_cells(protocol);
  std::erase_if(short_cells, [](const auto& cell) {  // whole sentences stay in curve.json
    return std::string_view("description treatment document_borders").find(cell.first) !=
           std::string_view::npos;
  });
  add(short_cells, "protocol_");
  add(point_cells(point), "");
  return join(cells, ",") + "\n";
}

}  // namespace

std::string protocol_json(const CurveProtocol& protocol) {
  return compact(protocol_object(protocol));
}

std::string text_json(const CurveText& text) { return compact(text_object(text)); }

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string curve_json(const CurveSet& set) {
  Json root = {
      {"format_version", kCurveFormat},         {"kind", "curve"},
      {"program_version", set.program_version}, {"created", set.created},
      {"command_line", set.command_line},       {"protocol", protocol_object(set.protocol)},
      {"text", text_object(set.text)},          {"curves", Json::array()}};
  for (const Curve& curve : set.curves) root["curves"].push_back(curve_object(curve));
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string curve_csv(const CurveSet& set) {
  std::string text = csv_line({}, {}, {}, true);
  for (const Curve& curve : set.curves) {
    for (const CurvePoint& point : curve.points)
      text += csv_line(curve, set.protocol, point, false);
  }
  return text;
}

}  // namespace alibi
