// comparison.json and comparison.csv, as drawn in comparison_reports.h.
#include "base/json/parse.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "report/comparison_reports.h"
#include "report/context.h"
#include "report/csv.h"
#include "report/curve_files.h"

namespace alibi {
namespace {

// What the comparison's file says of a variant.
Json parsed(const std::string& changes) {
  std::vector<JsonFault> ignored;
  return parse_json(changes.empty() ? "{}" : changes, {.depth = 64}, ignored).value_or(nullptr);
}

// "x", "x_low", "x_high"
void add_estimate(Json& to, const std::string& name, const Estimate& e) {
  to[name] = e.mean;
  to[name + "_low"] = e.low;
  to[name + "_high"] = e.high;
}

Json point_object(const ComparedPoint& p) {
  Json point = {{"length", p.length},
                {"multiple", p.multiple},
                {"applicable", p.applicable},
                {"note", p.note},
                {"seeds", p.loss.count}};
  add_estimate(point, "loss", p.loss);
  point.append("loss_sd", p.loss.deviation);
  point.append("perplexity", p.perplexity);
  add_estimate(point, "change", p.change);
  point.append("bits_per_byte", p.bits_per_byte);
  add_estimate(point, "early_gain", p.early_gain);
  add_estimate(point, "context_gain", p.context_gain);
  point.append("difference", p.difference.mean);
  point.append("difference_error", p.difference.error);
  add_estimate(point, "difference", p.difference);
  point.append("visited_share", p.visited_share);
  point.append("verdict", verdict_name(p.verdict));
  return point;
}

Json key_object(const ComparedPoint& p) {
  Json key = Json::object();
  add_estimate(key, "loss", p.key_loss);
  add_estimate(key, "context_gain", p.key_context_gain);
  add_estimate(key, "difference", p.key_difference);
  return key;
}

// Without its lists.
Json variant_head(const ComparedVariant& v) {
  return {{"name", v.name},
          {"position", v.position},
          {"trained_length", v.trained_length},
          {"sequence_length", v.sequence_length},
          {"train_sequence_length_scaling", v.train_sequence_length_scaling},
          {"parameters", v.parameters},
          {"train_seconds", v.train_seconds},
          {"train_tokens_per_second", v.train_tokens_per_second},
          {"peak_memory_bytes", v.peak_memory_bytes},
          {"train_targets", v.train_targets}};
}

Json variant_object(const ComparedVariant& variant) {
  Json points = Json::list(), bins = Json::list();
  for (const ComparedPoint& point : variant.points) {
    points.push_back(point_object(point));
    if (point.key_loss.count > 0) points.as_list()->back().append("key", key_object(point));
  }
  for (const ComparedFarBin& bin : variant.far_context) {
    Json one = {{"first", bin.first}, {"last", bin.last}};
    add_estimate(one, "swapped", bin.swapped);
    add_estimate(one, "shuffled", bin.shuffled);
    add_estimate(one, "cut", bin.cut);
    bins.push_back(std::move(one));
  }
  Json result = variant_head(variant);
  result.update({{"changes", parsed(variant.changes)},
                 {"points", std::move(points)},
                 {"far_context", std::move(bins)}});
  return result;
}

// "at least 512 tokens"; null where it was not measured.
Json reach(const ComparedRun& run, Reach (*of)(const FarContext&)) {
  if (run.curve.far_context.bins.empty()) return nullptr;
  return reach_text(of(run.curve.far_context));
}

Json answers_list(const Comparison& c, const ComparedRun& run) {
  Json tasks = Json::list();
  for (std::size_t task = 0; task < run.answers.size(); ++task) {
    Json cells = Json::list();
    for (const AnswersCell& cell : run.answers[task].cells) {
      cells.push_back({{"length", cell.length},
                       {"depth", cell.depth},
                       {"note", cell.note},
                       {"share", cell.share},
                       {"loss", cell.loss.mean}});
    }
    tasks.push_back({{"task", c.tasks[task].name}, {"cells", std::move(cells)}});
  }
  return tasks;
}

Json task_object(const Comparison& c, const ComparedTask& task) {
  Json variants = Json::list();
  for (std::size_t i = 0; i < c.variants.size(); ++i) {
    Json points = Json::list();
    for (const ComparedAnswers& found : task.variants[i]) {
      Json point = {{"length", found.length}, {"note", found.note}, {"size", found.size}};
      point.append("seeds", found.share.count);
      add_estimate(point, "share", found.share);
      add_estimate(point, "share_difference", found.share_difference);
      add_estimate(point, "loss", found.loss);
      add_estimate(point, "loss_difference", found.loss_difference);
      point.append("verdict", verdict_name(found.verdict));
      points.push_back(std::move(point));
    }
    variants.push_back({{"name", c.variants[i].name}, {"points", std::move(points)}});
  }
  return {{"name", task.name}, {"unit", task.unit}, {"variants", std::move(variants)}};
}

Json run_object(const Comparison& c, const ComparedRun& run) {
  Json losses = Json::list();
  for (const CurvePoint& point : run.curve.points) {
    losses.push_back(
        {{"length", point.length}, {"loss", point.loss}, {"bits_per_byte", point.bits_per_byte}});
  }
  return {{"variant", run.variant},
          {"seed", run.seed},
          {"folder", run.folder},
          {"failure", run.failure},
          {"train_seconds", run.train_seconds},
          {"train_tokens_per_second", run.train_tokens_per_second},
          {"peak_memory_bytes", run.peak_memory_bytes},
          {"slopes", run.curve.slopes},
          {"usable_length", run.curve.usable.tokens > 0 ? Json(run.curve.usable.tokens) : Json()},
          {"far_context_window", run.curve.far_context.window},
          {"useful_context", reach(run, useful_context)},
          {"noticed_context", reach(run, noticed_context)},
          {"losses", std::move(losses)},
          {"answers", answers_list(c, run)}};
}

Json csv_row(Measure measure, const ComparedVariant& variant, const ComparedPoint& point) {
  Json row = variant_head(variant);
  row.update(point_object(point));
  row.append("measure", name_of(measure));  // that `difference` is of
  return row;
}

}  // namespace

Json comparison_value(const Comparison& c) {
  Json variants = Json::list(), runs = Json::list(), tasks = Json::list();
  for (const ComparedVariant& variant : c.variants) variants.push_back(variant_object(variant));
  for (const ComparedRun& run : c.runs) runs.push_back(run_object(c, run));
  for (const ComparedTask& task : c.tasks) tasks.push_back(task_object(c, task));
  Json all = {{"format_version", kComparisonFormat},
              {"kind", "comparison"},
              {"program_version", c.program_version},
              {"created", c.created},
              {"command_line", c.command_line},
              {"name", c.name},
              {"title", c.title},
              {"measure", name_of(c.measure)},
              {"reference", c.reference},
              {"seeds", c.seeds},
              {"protocol", protocol_json(c.protocol)},
              {"text", text_json(c.text)},
              {"variants", std::move(variants)},
              {"runs", std::move(runs)},
              {"tasks", std::move(tasks)}};
  if (!c.key_tokens.evaluator.empty()) all.append("key_tokens", key_tokens_json(c.key_tokens));
  return all;
}

std::string comparison_json(const Comparison& c) {
  return write_json(comparison_value(c),
                    {.indent = 1, .invalid_utf8 = JsonStyle::InvalidUtf8::kReplace}) +
         "\n";
}

std::string comparison_csv(const Comparison& c) {
  std::string text = csv_heading(csv_row(c.measure, {}, {}));
  for (const ComparedVariant& variant : c.variants) {
    for (const ComparedPoint& point : variant.points)
      text += csv_line(csv_row(c.measure, variant, point));
  }
  return text;
}

}  // namespace alibi
