// comparison.json and comparison.csv, as drawn in comparison_reports.h.
#include "base/strings.h"
#include "report/comparison_reports.h"
#include "report/context.h"
#include "report/curve_files.h"
#include "report/json_cells.h"

namespace alibi {
namespace {

using namespace cells;

Json parsed(const std::string& text) {
  return text.empty() ? Json::object() : Json::parse(text, nullptr, false);
}

// "x", "x_low", "x_high"
void add_estimate(Json& to, const std::string& name, const Estimate& e) {
  to[name] = number(e.mean);
  to[name + "_low"] = number(e.low);
  to[name + "_high"] = number(e.high);
}

Cells point_cells(const ComparedPoint& p) {
  return {{"length", p.length},
          {"multiple", number(p.multiple)},
          {"applicable", p.applicable},
          {"note", p.note},
          {"seeds", p.loss.count},
          {"loss", number(p.loss.mean)},
          {"loss_low", number(p.loss.low)},
          {"loss_high", number(p.loss.high)},
          {"loss_sd", number(p.loss.deviation)},
          {"perplexity", number(p.perplexity)},
          {"change", number(p.change.mean)},
          {"change_low", number(p.change.low)},
          {"change_high", number(p.change.high)},
          {"bits_per_byte", number(p.bits_per_byte)},
          {"early_gain", number(p.early_gain.mean)},
          {"early_gain_low", number(p.early_gain.low)},
          {"early_gain_high", number(p.early_gain.high)},
          {"context_gain", number(p.context_gain.mean)},
          {"context_gain_low", number(p.context_gain.low)},
          {"context_gain_high", number(p.context_gain.high)},
          {"difference", number(p.difference.mean)},
          {"difference_error", number(p.difference.error)},
          {"difference_low", number(p.difference.low)},
          {"difference_high", number(p.difference.high)},
          {"verdict", verdict_name(p.verdict)}};
}

Cells variant_cells(const ComparedVariant& v) {
  return {{"name", v.name},
          {"position", v.position},
          {"trained_length", v.trained_length},
          {"sequence_length", v.sequence_length},
          {"train_sequence_length_scaling", number(v.train_sequence_length_scaling)},
          {"parameters", v.parameters},
          {"train_seconds", number(v.train_seconds)},
          {"train_tokens_per_second", number(v.train_tokens_per_second)},
          {"peak_memory_bytes", v.peak_memory_bytes},
          {"train_targets", v.train_targets}};
}

Json variant_object(const ComparedVariant& variant) {
  Json result = object(variant_cells(variant));
  result["changes"] = parsed(variant.changes);
  result["points"] = Json::array();
  for (const ComparedPoint& point : variant.points)
    result["points"].push_back(object(point_cells(point)));
  result["far_context"] = Json::array();
  for (const ComparedFarBin& bin : variant.far_context) {
    Json one = object({{"first", bin.first}, {"last", bin.last}});
    add_estimate(one, "swapped", bin.swapped);
    add_estimate(one, "shuffled", bin.shuffled);
    add_estimate(one, "cut", bin.cut);
    result["far_context"].push_back(std::move(one));
  }
  return result;
}

// "at least 512 tokens"; null where it was not measured.
Json reach(const ComparedRun& run, Reach (*of)(const FarContext&)) {
  if (run.curve.far_context.bins.empty()) return nullptr;
  return reach_words(of(run.curve.far_context));
}

Json run_object(const ComparedRun& run) {
  Json result = object({{"variant", run.variant},
                        {"seed", run.seed},
                        {"folder", run.folder},
                        {"failure", run.failure},
                        {"train_seconds", number(run.train_seconds)},
                        {"train_tokens_per_second", number(run.train_tokens_per_second)},
                        {"peak_memory_bytes", run.peak_memory_bytes},
                        {"slopes", run.curve.slopes},
                        {"far_context_window", run.curve.far_context.window},
                        {"useful_context", reach(run, useful_context)},
                        {"noticed_context", reach(run, noticed_context)},
                        {"losses", Json::array()}});
  for (const CurvePoint& point : run.curve.points) {
    result["losses"].push_back(object({{"length", point.length},
                                       {"loss", number(point.loss)},
                                       {"bits_per_byte", number(point.bits_per_byte)}}));
  }
  return result;
}

std::string csv_line(const Cells& variant, const Cells& point, bool names) {
  std::vector<std::string> cells;
  for (const Cells* from : {&variant, &point}) {
    for (const auto& [name, value] : *from) cells.push_back(names ? name : csv_text(value));
  }
  return join(cells, ",") + "\n";
}

}  // namespace

std::string comparison_json(const Comparison& c) {
  Json root = {{"format_version", kComparisonFormat},
               {"kind", "comparison"},
               {"program_version", c.program_version},
               {"created", c.created},
               {"command_line", c.command_line},
               {"name", c.name},
               {"title", c.title},
               {"measure", c.measure == Measure::kLoss ? "loss" : "bits_per_byte"},
               {"reference", c.reference},
               {"seeds", c.seeds},
               {"protocol", parsed(protocol_json(c.protocol))},
               {"text", parsed(text_json(c.text))},
               {"variants", Json::array()},
               {"runs", Json::array()}};
  for (const ComparedVariant& variant : c.variants)
    root["variants"].push_back(variant_object(variant));
  for (const ComparedRun& run : c.runs) root["runs"].push_back(run_object(run));
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string comparison_csv(const Comparison& c) {
  std::string text = csv_line(variant_cells({}), point_cells({}), true);
  for (const ComparedVariant& variant : c.variants) {
    for (const ComparedPoint& point : variant.points)
      text += csv_line(variant_cells(variant), point_cells(point), false);
  }
  return text;
}

}  // namespace alibi
