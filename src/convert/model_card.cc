#include "convert/model_card.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "config/load.h"
#include "model/position.h"
#include "report/curve_files.h"

namespace alibi {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kLargestCurve = 256ull << 20;
constexpr std::int64_t kLongest = 1 << 24;  // tokens; the longest that is measured, and more

std::int64_t length_of(const Json& point, const std::string& place) {
  const Json& length = point.at("length");
  const bool fits = length.is_number_integer() && length > 0 && length <= kLongest;
  if (!fits)
    throw Error(place,
                cat("/points: length ", length.dump(), ", expected one from 1 to ", kLongest));
  return length.get<std::int64_t>();
}

std::vector<CardPoint> points_of(const Json& curve, const std::string& place) {
  std::vector<CardPoint> points;
  if (!curve.at("points").is_array()) throw Error(place, "/points is no list");
  for (const Json& point : curve.at("points")) {
    const std::int64_t length = length_of(point, place);
    if (!point.value("applicable", false) || !point.at("perplexity").is_number()) continue;
    const auto number = [&](const char* key) {
      return point.at(key).is_number() ? point.at(key).get<double>() : std::nan("");
    };
    points.push_back(
        {length, number("perplexity"), number("change_from_1x"), number("bits_per_byte")});
  }
  return points;
}

// A curve of the model as it is, which is what other programs will run.
void refuse_treated(const Json& protocol, const std::string& place) {
  const std::string treatment = protocol.value("treatment", "");
  if (treatment.empty()) return;
  throw Error(place, cat("was measured otherwise than any export runs: ", treatment),
              "measure the model as it is (evaluate.stretch none, no sinks)");
}

// On what and how it was measured: without that a number says little.
std::string measured_words(const Json& text, const Json& protocol) {
  std::string files;
  for (const Json& file : text.at("files"))
    files += (files.empty() ? "" : ", ") + file.get<std::string>();
  return cat("Text: ", files, "; ", text.value("selection", ""), "; ",
             text.value("tokens_scored", std::int64_t{0}), " tokens scored. ",
             protocol.value("description", ""), " Precision: ", protocol.value("precision", ""),
             ".");
}

std::string front_matter(const ModelCard& card) {
  return cat("---\nlibrary_name: transformers\npipeline_tag: text-generation\ntags:\n- alibi\n- ",
             card.config.model.position == Position::kAlibi ? "length-extrapolation" : "causal-lm",
             "\n---\n\n");
}

std::string curve_section(const ModelCard& card) {
  std::string text = "## Measured beyond the trained length\n\n";
  if (!card.curve) {
    return text +
           "Not measured. `alibi evaluate RUN --output FOLDER` measures it; `alibi export --curve "
           "FOLDER` puts it here.\n\n";
  }
  text += "| length | perplexity | change | bits per byte |\n|---|---|---|---|\n";
  for (const CardPoint& point : card.curve->points) {
    const bool first = point.length == batch_shape(card.config.batch).length;
    text += cat("| ", point.length, first ? " (trained)" : "", " | ",
                significant(point.perplexity, 4), " | ",
                first ? "" : cat(point.change >= 0 ? "+" : "", fixed(100 * point.change, 1), " %"),
                " | ", fixed(point.bits_per_byte, 4), " |\n");
  }
  text += "\n" + card.curve->measured + "\n\n";
  if (card.curve->has_figure) text += "![perplexity against context length](curve.svg)\n\n";
  return text +
         "A falling curve alone does not show that the longer context is used: at longer lengths "
         "fewer tokens stand near the start of a window (Press et al. 2021, appendix B).\n\n";
}

std::string usage_section(const ModelCard& card) {
  return cat(
      "## Use\n\n```python\nfrom transformers import pipeline\n\n"
      "generate = pipeline(\"text-generation\", model=\"path/of/this/folder\"",
      card.custom_code ? ", trust_remote_code=True" : "",
      ")\n"
      "print(generate(\"...\", max_new_tokens=",
      card.limited ? std::clamp<std::int64_t>(card.longest / 2, 1, 50) : 50,
      ")[0][\"generated_text\"])\n```\n\n"
      "Texts began after an end-of-text token (`eos_token`) in training; the tokenizer adds none "
      "by "
      "itself.\n",
      card.custom_code
          ? "Its model is `modeling_alibi.py` in this folder: logits, loss, a cache and padding; "
            "neither hidden states, attentions, `inputs_embeds` nor gradient checkpointing.\n\n"
      : !card.limited
          ? "\n"
          : cat("Input of up to ", card.longest,
                " tokens is taken; `AutoModelForCausalLM.from_pretrained(FOLDER, max_seq_len=N)` "
                "lifts that, untried.\n\n"));
}

std::string position_words(const ModelConfig& model) {
  if (model.position == Position::kAlibi)
    return "with attention biases linear in distance (ALiBi, Press et al. 2021, arXiv:2108.12409)";
  return cat("with positions: ", name_of(model.position));
}

}  // namespace

CardCurve read_card_curve(const std::filesystem::path& folder, const std::string& manifest_sha256) {
  const std::filesystem::path file = folder / "curve.json";
  const Json all = Json::parse(read_file(file, kLargestCurve), nullptr, false);
  const std::string way_out = "name a folder that alibi evaluate --output wrote of this checkpoint";
  if (!all.is_object() || !all.contains("curves") || !all.contains("protocol"))
    throw Error(file.string(), "is no curve", way_out);
  try {
    if (all.at("format_version") != kCurveFormat)
      throw Error(file.string(), cat("has format_version ", all.at("format_version").dump(),
                                     ", expected ", kCurveFormat));
    for (const Json& curve : all.at("curves")) {
      if (curve.value("checkpoint_sha256", "") != manifest_sha256) continue;
      refuse_treated(all.at("protocol"), file.string());
      // The figure shows every curve of the folder: here it must be this one alone.
      const bool alone = all.at("curves").size() == 1;
      return {points_of(curve, file.string()), measured_words(all.at("text"), all.at("protocol")),
              alone && std::filesystem::symlink_status(folder / "curve.svg").type() ==
                           std::filesystem::file_type::regular};
    }
  } catch (const Json::exception& error) {
    throw Error(file.string(), cat("is no curve: ", error.what()), way_out);
  }
  throw Error(file.string(), "holds no curve of this checkpoint", way_out);
}

std::string model_card(const ModelCard& card) {
  const BatchShape shape = batch_shape(card.config.batch);
  return front_matter(card) + "# " + card.name + "\n\n" +
         cat("A decoder-only language model of ", human_count(static_cast<double>(card.parameters)),
             " parameters (", card.config.model.layers, " layers, width ", card.config.model.width,
             ", ", card.config.model.heads, " heads, vocabulary ", card.vocabulary, ") ",
             position_words(card.config.model), ". Trained by alibi on ",
             human_count(static_cast<double>(card.tokens)), " tokens in sequences of ",
             shape.length, ".\n\n") +
         curve_section(card) + usage_section(card) + "## Training settings\n\n```json\n" +
         config_json(card.config) + "```\n";
}

}  // namespace alibi
