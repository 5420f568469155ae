#include "convert/model_card.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "config/lengths.h"
#include "config/load.h"
#include "report/context.h"
#include "report/curve_files.h"

namespace alibi {
namespace {

constexpr std::uint64_t kLargestCurve = 256ull << 20;
constexpr std::int64_t kLongest = 1 << 24;  // tokens; the longest that is measured, and more

std::vector<CardPoint> points_of(const Curve& curve, const std::string& place) {
  std::vector<CardPoint> points;
  for (const CurvePoint& point : curve.points) {
    if (point.length < 1 || point.length > kLongest)
      throw Error(place, cat("/points: found the length ", point.length,
                             ", expected one from 1 to ", kLongest));
    if (!measured(point)) continue;
    points.push_back({point.length, point.perplexity, point.change_from_1x, point.bits_per_byte});
  }
  return points;
}

// A curve of the model as it is, which is what other programs will run.
void refuse_treated(const CurveProtocol& protocol, const std::string& place) {
  if (protocol.treatment.empty()) return;
  throw Error(place, cat("was measured otherwise than any export runs: ", protocol.treatment),
              "measure the model as it is (evaluate.stretch none, no sinks)");
}

// On what and how it was measured: without that a number says little.
std::string measurement_text(const CurveText& text, const CurveProtocol& protocol) {
  return cat("Text: ", join(text.files, ", "), "; ", text.selection, "; ", text.tokens_scored,
             " tokens scored. ", protocol.description, " Precision: ", protocol.precision, ".");
}

std::string front_matter(const ModelCard& card) {
  return cat("---\nlibrary_name: transformers\npipeline_tag: text-generation\ntags:\n- alibi\n- ",
             position_method(card.config.model.position).slopes != nullptr ? "length-extrapolation"
                                                                           : "causal-lm",
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
                first ? ""
                : !std::isfinite(point.change)
                    ? "-"
                    : cat(point.change >= 0 ? "+" : "", fixed(100 * point.change, 1), " %"),
                " | ", std::isfinite(point.bits_per_byte) ? fixed(point.bits_per_byte, 4) : "-",
                " |\n");
  }
  text += "\n" + card.curve->measured + "\n\n";
  if (!card.curve->usable.empty())
    text += cat("Usable length: ", card.curve->usable, ": ", usable_rule(), ".\n\n");
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

std::string position_text(const ModelConfig& model) {
  const std::string paper = position_method(model.position).paper;
  return paper.empty() ? cat("with positions: ", name_of(model.position)) : paper;
}

// An imported model has settings of this program, by which nothing was trained.
bool is_imported(const ModelCard& card) { return card.tokens == 0; }

std::string training_text(const ModelCard& card) {
  if (is_imported(card)) return "Imported; how it was trained is not known here.";
  return cat("Trained by alibi on ", human_count(static_cast<double>(card.tokens)),
             " tokens, each step on ", step_sequences_text(card.config.batch),
             card.config.initialize.from.empty() ? "." : ", from the weights of another model.");
}

std::string settings_section(const ModelCard& card) {
  if (is_imported(card)) return {};
  return "## Training settings\n\n```json\n" + config_json(card.config) + "```\n";
}

}  // namespace

CardCurve read_card_curve(const std::filesystem::path& folder, const std::string& manifest_sha256) {
  const std::string file = (folder / "curve.json").string();
  const CurveSet set = parse_curves(read_file(file, kLargestCurve), file);
  for (const Curve& curve : set.curves) {
    if (curve.checkpoint_sha256 != manifest_sha256) continue;
    refuse_treated(set.protocol, file);
    // The figure shows every curve of the folder: here it must be this one alone.
    const bool alone = set.curves.size() == 1;
    return {points_of(curve, file), usable_text(curve), measurement_text(set.text, set.protocol),
            alone && std::filesystem::symlink_status(folder / "curve.svg").type() ==
                         std::filesystem::file_type::regular};
  }
  throw Error(file, "holds no curve of this checkpoint",
              "name a folder that alibi evaluate --output wrote of this checkpoint");
}

std::string model_card(const ModelCard& card) {
  return front_matter(card) + "# " + card.name + "\n\n" +
         cat("A decoder-only language model of ", human_count(static_cast<double>(card.parameters)),
             " parameters (", card.config.model.layers, " layers, width ", card.config.model.width,
             ", ", card.config.model.heads, " heads, vocabulary ", card.vocabulary, ") ",
             position_text(card.config.model), ". ", training_text(card), "\n\n") +
         curve_section(card) + usage_section(card) + settings_section(card);
}

}  // namespace alibi
