// curve.json and curve.csv, as drawn in curve_files.h.
#include "report/curve_files.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/checksums.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json/parse.h"
#include "base/json/record.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "report/change_fields.h"
#include "report/context.h"
#include "report/csv.h"

namespace alibi {

template <class Fields>
void fields(Fields& f, KeyTokenRule& rule) {
  f("evaluator", rule.evaluator);
  f("evaluator_sha256", rule.evaluator_sha256);
  f("short_length", rule.short_length);
  f("long_length", rule.long_length);
  f("least_gain", rule.least_gain);
  f("most_loss", rule.most_loss);
  f("tokens", rule.tokens);
}

template <class Fields>
void fields(Fields& f, KeyTokenList& list) {
  f.format({.kind = "key_tokens", .way_out = "name the evaluator itself"});
  f("program_version", list.program_version);
  f("text_sha256", list.text_sha256);
  f("targets", list.targets);
  f("rule", list.rule);
  f("positions", list.positions);
}

template <class Fields>
void fields(Fields& f, KeyFigures& key) {
  change_fields(f, "loss", key.loss);
  change_fields(f, "change", key.change);
  change_fields(f, "context_gain", key.context_gain);
}

template <class Fields>
void fields(Fields& f, CurvePoint& p) {
  f("length", p.length);
  f("multiple", p.multiple);
  f("applicable", p.applicable);
  f("note", p.note);
  f.or_absent("out_of_memory", p.out_of_memory, p.out_of_memory);
  f("loss", p.loss);
  f("loss_low", p.loss_low);
  f("loss_high", p.loss_high);
  f("perplexity", p.perplexity);
  f("perplexity_low", p.perplexity_low);
  f("perplexity_high", p.perplexity_high);
  f("change_from_1x", p.change_from_1x);
  f("change_low", p.change_low);
  f("change_high", p.change_high);
  f("loss_joint_low", p.loss_joint_low);
  f("loss_joint_high", p.loss_joint_high);
  f("change_joint_low", p.change_joint_low);
  f("change_joint_high", p.change_joint_high);
  f("bits_per_byte", p.bits_per_byte);
  f("word_perplexity", p.word_perplexity);
  f("full_loss", p.full_loss);
  f("early_gain", p.early_gain);
  f("early_gain_low", p.early_gain_low);
  f("early_gain_high", p.early_gain_high);
  f("context_gain", p.context_gain);
  f("context_gain_low", p.context_gain_low);
  f("context_gain_high", p.context_gain_high);
  f("targets", p.targets);
  f("seconds", p.seconds);
  f("tokens_per_second", p.tokens_per_second);
  f("peak_memory_bytes", p.peak_memory_bytes);
  f.or_absent("visited_share", p.visited_share, true);
  f.or_absent("key", p.key, std::isfinite(p.key.loss.mean));
}

template <class Fields>
void fields(Fields& f, PositionBin& bin) {
  f("first", bin.first);
  f("last", bin.last);
  f("loss", bin.loss);
  f("count", bin.count);
}

template <class Fields>
void fields(Fields& f, LossByPosition& measured) {
  f("length", measured.length);
  f("bins", measured.bins);
}

template <class Fields>
void fields(Fields& f, FarBin& bin) {
  f("first", bin.first);
  f("last", bin.last);
  f("targets", bin.targets);
  change_fields(f, "swapped", bin.swapped);
  change_fields(f, "shuffled", bin.shuffled);
  change_fields(f, "cut", bin.cut);
}

template <class Fields>
void fields(Fields& f, FarContext& far) {
  f("window", far.window);
  f("targets", far.targets);
  f.derived("useful", [&] { return useful_context(far).tokens; });
  f.derived("useful_bounded", [&] { return useful_context(far).bounded; });
  f.derived("noticed", [&] { return noticed_context(far).tokens; });
  f.derived("noticed_bounded", [&] { return noticed_context(far).bounded; });
  f("bins", far.bins);
}

template <class Fields>
void fields(Fields& f, UsableLength& usable) {
  f("tokens", usable.tokens);
  f("low", usable.low);
  f("high", usable.high);
  // Gains count from the longest usable length below; in older files from the next shorter one.
  bool over_usable = !std::same_as<Fields, RecordReader>;
  f.or_absent("over_usable", over_usable, true);
  if (!over_usable) usable = {};
}

template <class Fields>
void fields(Fields& f, Curve& c) {
  f("name", c.name);
  f("position", c.position);
  f("checkpoint", c.checkpoint);
  f("checkpoint_sha256", c.checkpoint_sha256);
  f("step", c.step);
  f("trained_length", c.trained_length);
  f("sequence_length", c.sequence_length);
  f("train_sequence_length_scaling", c.train_sequence_length_scaling);
  f("parameters", c.parameters);
  f("slopes", c.slopes);
  f("points", c.points);
  f("loss_by_position", c.loss_by_position);
  f.or_absent("usable_length", c.usable, c.usable.tokens > 0);
  f.or_null("far_context", c.far_context, c.far_context.window > 0);
}

// Two curves with equal rules may be compared, wherever they were measured.
template <class Fields>
void rule_fields(Fields& f, CurveProtocol& p) {
  f("name", p.name, {.hyphens = true});
  f("stride", p.stride);
  f("sinks", p.sinks);
  f("split_stride", p.split_stride);
  f("description", p.description);
  f("treatment", p.treatment);
  f("document_borders", p.document_borders);
  f("precision", p.precision);
}

constexpr JsonStyle kOneLine{.invalid_utf8 = JsonStyle::InvalidUtf8::kReplace};

template <class Fields>
void fields(Fields& f, CurveProtocol& p) {
  rule_fields(f, p);
  f("device", p.device);
  f("kernel", p.kernel);
  f.derived("sha256", [&] {
    RecordWriter rules;
    rule_fields(rules, p);
    return sha256_hex(write_json(rules.take(), kOneLine));
  });
}

template <class Fields>
void fields(Fields& f, CurveText& t) {
  f("files", t.files);
  f("selection", t.selection);
  f("sha256", t.sha256);
  f("tokens_scored", t.tokens_scored);
  f("tokens_cut_off", t.tokens_cut_off);
  f("bytes", t.bytes);
  f("words", t.words);
}

template <class Fields>
void fields(Fields& f, CurveSet& set) {
  f.format({.kind = "curve", .newest = kCurveFormat, .way_out = "measure it anew"});
  f("program_version", set.program_version);
  f("created", set.created);
  f("command_line", set.command_line);
  f("protocol", set.protocol);
  f("text", set.text);
  f.or_absent("key_tokens", set.key_tokens, !set.key_tokens.evaluator.empty());
  f("curves", set.curves);
}

namespace {

// Whole sentences, what is no single figure and what only some points have stay in curve.json.
constexpr std::array<std::string_view, 7> kNoColumns = {
    "description",   "treatment", "document_borders", "usable_length", "far_context",
    "out_of_memory", "key"};

void add_columns(Json& row, const Json& record, const std::string& prefix) {
  for (const auto& [key, value] : *record.as_object()) {
    if (value.is_list() || std::ranges::count(kNoColumns, key) > 0) continue;
    row.append(prefix + key, value);
  }
}

Json csv_row(const Curve& curve, const CurveProtocol& protocol, const CurvePoint& point) {
  Json row, rules = to_json(protocol);
  rules.erase("sha256");
  add_columns(row, to_json(curve), "");
  add_columns(row, rules, "protocol_");
  add_columns(row, to_json(point), "");
  return row;
}

}  // namespace

Json protocol_json(const CurveProtocol& protocol) { return to_json(protocol); }

Json text_json(const CurveText& text) { return to_json(text); }

Json key_tokens_json(const KeyTokenRule& rule) { return to_json(rule); }

std::string key_token_list_json(const KeyTokenList& list) {
  return write_json(to_json(list), {.spaced = true}) + "\n";
}

bool names_key_token_list(const std::string& evaluator) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(evaluator, ignored);
}

constexpr std::size_t kMostKeyTokens = 200'000'000;  // a gigabyte of text

KeyTokenList read_key_token_list(const std::filesystem::path& file,
                                 const std::string& text_sha256) {
  const std::string place = file.string();
  const Json json = parse_json(read_file(file), place, {.depth = 4, .values = kMostKeyTokens});
  KeyTokenList list = read_record<KeyTokenList>(JsonReader(json, place));
  if (list.text_sha256 != text_sha256) {
    throw usage_error(
        place + ": /text_sha256",
        cat("found ", list.text_sha256, ", but the text that is scored has ", text_sha256),
        "score the same text, with the same lengths, evaluate.max_tokens and tokenizer, or "
        "name the evaluator itself");
  }
  std::int64_t before = -1;
  for (const std::int64_t position : list.positions) {
    if (position <= before || position >= list.targets) {
      throw Error(place + ": /positions",
                  cat("found ", position, " behind ", before,
                      ", expected ascending numbers below \"targets\", ", list.targets),
                  "name the evaluator itself");
    }
    before = position;
  }
  if (std::ssize(list.positions) != list.rule.tokens) {
    throw Error(
        place + ": /rule/tokens",
        cat("found ", list.rule.tokens, ", but there are ", list.positions.size(), " positions"),
        "name the evaluator itself");
  }
  return list;
}

Json curve_value(const CurveSet& set) { return to_json(set); }

std::string curve_json(const CurveSet& set) {
  return write_json(curve_value(set),
                    {.indent = 1, .invalid_utf8 = JsonStyle::InvalidUtf8::kReplace}) +
         "\n";
}

CurveSet parse_curves(std::string_view text, const std::string& place) {
  const Json json = parse_json(text, place);
  return read_record<CurveSet>(JsonReader(json, place));
}

std::string curve_csv(const CurveSet& set) {
  std::string text = csv_heading(csv_row({}, {}, {}));
  for (const Curve& curve : set.curves) {
    for (const CurvePoint& point : curve.points)
      text += csv_line(csv_row(curve, set.protocol, point));
  }
  return text;
}

}  // namespace alibi
