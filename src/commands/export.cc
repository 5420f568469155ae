// alibi export: a checkpoint for other programs, read back and compared before it is called done.
#include <array>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>

#include "base/checksums.h"
#include "base/enum_names.h"
#include "base/error.h"
#include "base/files.h"
#include "base/log.h"
#include "base/strings.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/load_model.h"
#include "commands/atomic_output.h"
#include "commands/commands.h"
#include "commands/found.h"
#include "config/load.h"
#include "convert/gguf_model.h"
#include "convert/gguf_tokenizer.h"
#include "convert/huggingface.h"
#include "convert/model_card.h"
#include "convert/tokenizer_json.h"
#include "convert/verify.h"

namespace alibi {
namespace {
namespace fs = std::filesystem;

enum class ExportFormat { kHuggingFace, kGguf, kSafetensors };
constexpr auto enum_names(ExportFormat) { return std::array{"hf", "gguf", "safetensors"}; }

enum class WeightType { kF32, kF16, kBf16, kQ8 };
constexpr auto enum_names(WeightType) { return std::array{"f32", "f16", "bf16", "q8_0"}; }

struct Options {
  std::string checkpoint, output, curve, shard_size;
  std::string to, type = name_of(WeightType::kF32);  // as the command line has them
  std::int64_t shard_bytes = HuggingFaceOptions().shard_bytes;
  bool custom_code = false, as_json = false;
  std::vector<std::string> overrides;
  ExportFormat format() const { return *find_enum<ExportFormat>(to); }
  WeightType weight_type() const { return *find_enum<WeightType>(type); }
};

struct Exported {
  std::int64_t longest = 0;
  std::optional<CardCurve> curve;
  Verified verified;
};

torch::ScalarType torch_type(WeightType type) {
  if (type == WeightType::kF16) return torch::kHalf;
  if (type == WeightType::kBf16) return torch::kBFloat16;
  if (type == WeightType::kF32) return torch::kFloat;
  throw usage_error("--type", cat("\"", name_of(type), "\" is a type of gguf files only"),
                    "--type f32, f16 or bf16");
}

GgufElement gguf_element(WeightType type) {
  if (type == WeightType::kF16) return GgufElement::kF16;
  if (type == WeightType::kBf16) return GgufElement::kBf16;
  return type == WeightType::kQ8 ? GgufElement::kQ8 : GgufElement::kF32;
}

// What rounding to the type may do to each row, relative to its norm, and to logits. Eight bits of
// 32 numbers each: half a step of 127 in the worst of them, and 127 times what rounds their step.
MostDifference most_difference(WeightType type) {
  constexpr double kAny = std::numeric_limits<double>::infinity();  // weights say enough
  if (type == WeightType::kF16) return {2e-3, kAny};
  if (type == WeightType::kBf16) return {5e-3, kAny};
  constexpr double kStepRounding = 127 * 0x1p-25;  // of a step below the least normal fp16
  return type == WeightType::kQ8 ? MostDifference{3e-2, kAny, kStepRounding}
                                 : MostDifference{1e-6, 1e-4};
}

fs::path default_output(const Options& options, const LoadedModel& loaded) {
  const std::string& name = loaded.config.run.name;
  const fs::path folder = "exports";
  if (options.format() == ExportFormat::kGguf)
    return folder / (name + "-" + options.type + ".gguf");
  return folder /
         (options.format() == ExportFormat::kHuggingFace ? name + "-hf" : name + ".safetensors");
}

[[noreturn]] void refuse(const LoadedModel& loaded, const std::string& target,
                         const std::vector<std::string>& found) {
  const ModelConfig& m = loaded.config.model;
  const bool plain = obstacles(Dialect::kMpt, m).empty() || obstacles(Dialect::kBloom, m).empty();
  std::string way_out;
  if (plain && obstacles(Dialect::kGguf, m).empty()) {
    way_out = "";  // the tokenizer or the type is in the way
  } else if (plain) {
    way_out = "--to hf writes a folder that holds it";
  } else if (!obstacles(Dialect::kOwn, m).empty()) {
    way_out = "--to safetensors writes its weights; or train a model without that";
  } else {
    const bool gguf = gguf_obstacles(m, loaded.tokenizer, GgufElement::kF32).empty();
    way_out = cat(gguf ? "--to gguf writes a file for llama.cpp that holds it; " : "",
                  "--to hf --custom-code writes it with a modelling file of its own, which needs "
                  "trust_remote_code; or train a model without that");
  }
  throw usage_error(loaded.folder.string(),
                    cat(target, " cannot hold this model: ", join(found, "; ")), way_out);
}

Dialect huggingface_target(const LoadedModel& loaded, bool custom_code) {
  const ModelConfig& m = loaded.config.model;
  if (custom_code) {
    const auto own = obstacles(Dialect::kOwn, m);
    if (!own.empty()) refuse(loaded, "a modelling file of its own", own);
    return Dialect::kOwn;
  }
  const auto mpt = obstacles(Dialect::kMpt, m), bloom = obstacles(Dialect::kBloom, m);
  if (mpt.empty()) return Dialect::kMpt;
  if (bloom.empty()) return Dialect::kBloom;
  const bool nearer = mpt.size() <= bloom.size();
  refuse(loaded, nearer ? "transformers' MPT" : "transformers' BLOOM", nearer ? mpt : bloom);
}

// Before anything is written: what the target cannot hold, and what the type cannot.
void check_holds(LoadedModel& loaded, const Options& options) {
  if (options.format() == ExportFormat::kHuggingFace)
    huggingface_target(loaded, options.custom_code);
  if (options.format() == ExportFormat::kGguf) {
    const auto found =
        gguf_obstacles(loaded.config.model, loaded.tokenizer, gguf_element(options.weight_type()));
    if (!found.empty()) refuse(loaded, "llama.cpp's mpt", found);
  }
  if (options.weight_type() != WeightType::kF16) return;
  constexpr double kLargest = 65504;
  for (const auto& parameter : loaded.model->named_parameters()) {
    const double largest = parameter.value().detach().abs().max().item<double>();
    if (largest > kLargest)
      throw usage_error("--type",
                        cat("f16 ends at ", kLargest, ", and ", parameter.key(), " holds ",
                            significant(largest, 4)),
                        "--type bf16 or f32");
  }
}

Verified export_huggingface(LoadedModel& loaded, const Options& options, const Exported& about,
                            const fs::path& folder) {
  HuggingFaceOptions how;
  how.target = huggingface_target(loaded, options.custom_code);
  how.type = torch_type(options.weight_type());
  how.longest = about.longest;
  how.shard_bytes = options.shard_bytes;
  how.trained = batch_shape(loaded.config.batch).length;
  if (const std::string note = tokenizer_json_note(loaded.tokenizer); !note.empty())
    log_info("note: " + note);
  make_folders(folder);
  write_huggingface(folder, *loaded.model, loaded.tokenizer, how);
  if (about.curve && about.curve->has_figure)
    write_file_atomic(folder / "curve.svg", read_file(fs::path(options.curve) / "curve.svg"));
  // As it was trained, not as it is loaded here.
  const Config trained =
      parse_config(checkpoint_config(loaded.folder), (loaded.folder / "config.json").string());
  write_file_atomic(
      folder / "README.md",
      model_card({loaded.config.run.name, trained, loaded.model->parameter_count(),
                  loaded.tokenizer.vocabulary(), loaded.progress.tokens, about.longest, about.curve,
                  options.custom_code, how.target == Dialect::kMpt}));
  const ForeignModel read = read_huggingface(folder);
  sync_folder(folder);
  return verify_export(loaded.model, read.model, read.weights,
                       batch_shape(loaded.config.batch).length,
                       most_difference(options.weight_type()), folder.string());
}

Verified export_gguf(LoadedModel& loaded, const Options& options, const Exported& about,
                     const fs::path& file) {
  const GgufElement element = gguf_element(options.weight_type());
  if (const std::string note = gguf_tokenizer_note(loaded.tokenizer); !note.empty())
    log_info("note: " + note);
  write_gguf_model(file, *loaded.model, loaded.tokenizer,
                   {element, about.longest, loaded.config.run.name});
  const ForeignModel read = read_gguf_model(file, loaded.config.model.activation);
  return verify_export(loaded.model, read.model, read.weights,
                       batch_shape(loaded.config.batch).length,
                       most_difference(options.weight_type()), file.string());
}

Verified export_safetensors(LoadedModel& loaded, const Options& options, const fs::path& file) {
  Tensors weights = weights_of(*loaded.model);
  for (auto& [name, tensor] : weights) tensor = tensor.to(torch_type(options.weight_type()));
  save_tensors(file, weights);
  Tensors read = load_tensors(file);
  for (auto& [name, tensor] : read) tensor = tensor.to(torch::kFloat);
  return verify_export(loaded.model, loaded.config.model, read,
                       batch_shape(loaded.config.batch).length,
                       most_difference(options.weight_type()), file.string());
}

void check_options(Options& options) {
  const auto only_for = [&](const std::string& name, bool given, bool has_effect) {
    if (given && !has_effect)
      throw usage_error(name, cat("has no effect on --to ", options.to), "leave it out");
  };
  const bool folder = options.format() == ExportFormat::kHuggingFace;
  only_for("--custom-code", options.custom_code, folder);
  only_for("--shard-size", !options.shard_size.empty(), folder);
  only_for("--curve", !options.curve.empty(), options.format() != ExportFormat::kSafetensors);
  if (options.shard_size.empty()) return;
  options.shard_bytes = parse_bytes(options.shard_size).value_or(0);
  if (options.shard_bytes <= 0)
    throw usage_error("--shard-size", "found \"" + options.shard_size + "\"", "for example 5GB");
}

int run(Options options) {
  check_options(options);
  allow_overrides(options.overrides, {"runtime.threads"}, "has no effect on export");
  std::vector<std::string> overrides = options.overrides;
  overrides.insert(overrides.end(), {"runtime.device=cpu", "runtime.precision=fp32"});
  LoadedModel loaded = load_model(options.checkpoint, overrides);
  const fs::path target =
      options.output.empty() ? default_output(options, loaded) : without_slash(options.output);
  refuse_existing(target);
  check_holds(loaded, options);
  Exported about;
  about.longest =
      loaded.config.model.max_sequence_length.value_or(batch_shape(loaded.config.batch).length);
  if (!options.curve.empty()) {
    about.curve = read_card_curve(options.curve, sha256_file(loaded.folder / "manifest.json"));
    for (const CardPoint& point : about.curve->points)
      about.longest = std::max(about.longest, point.length);
  }
  write_atomically(target, [&](const fs::path& path) {
    about.verified = options.format() == ExportFormat::kHuggingFace
                         ? export_huggingface(loaded, options, about, path)
                     : options.format() == ExportFormat::kGguf
                         ? export_gguf(loaded, options, about, path)
                         : export_safetensors(loaded, options, path);
  });
  log_info(cat("step ", loaded.progress.step, " of ", loaded.folder.string()));
  log_info(cat("read back: largest difference ", significant(about.verified.weights, 2),
               " of the norm of a tensor's row (allowed for ", options.type, ": ",
               most_difference(options.weight_type()).weights, "), ",
               significant(about.verified.logits, 2), " in any logit of ", about.verified.length,
               " tokens"));
  if (options.format() == ExportFormat::kHuggingFace && about.curve && !about.curve->has_figure)
    log_info("note: the card has no figure: " + options.curve +
             "/curve.svg is missing, a link, or shows other models, too");
  const bool table = position_method(loaded.config.model.position).has_table;
  if (options.curve.empty() && options.format() != ExportFormat::kSafetensors && !table) {
    log_info(cat("note: input of up to ", about.longest,
                 " tokens, the trained length; --curve FOLDER (of alibi evaluate --output) raises "
                 "it to the longest length that was measured"));
  }
  if (options.format() == ExportFormat::kHuggingFace)
    log_info(cat("to publish it on the Hub: hf upload NAME ", quoted_for_shell(target.string())));
  const Verified& read = about.verified;
  return print_found(
      {cat("written: ", target.string(), "\n"),
       document("export",
                {{"path", target.string()},
                 {"to", options.to},
                 {"type", options.type},
                 {"checkpoint", loaded.folder.string()},
                 {"step", loaded.progress.step},
                 {"length_limit", about.longest},
                 {"read_back",
                  {{"weights", read.weights}, {"logits", read.logits}, {"tokens", read.length}}}})},
      options.as_json);
}

}  // namespace

Command export_command() {
  auto options = std::make_shared<Options>();
  return {
      .name = "export",
      .summary = "Write a checkpoint for transformers, llama.cpp or your own program",
      .footer = example("alibi export runs/quickstart --to hf --curve runs/quickstart/curve"),
      .options =
          {{.name = "CHECKPOINT",
            .meaning = "Checkpoint or run folder",
            .target = &options->checkpoint,
            .required = true},
           {.name = "--to",
            .meaning = "hf: a folder for transformers; gguf: a file for llama.cpp; safetensors: "
                       "the weights under the names of alibi's checkpoints",
            .target = &options->to,
            .required = true,
            .choices = all_names<ExportFormat>()},
           {.name = "--output", .meaning = "Default: exports/NAME...", .target = &options->output},
           {.name = "--type",
            .meaning = "Number type of the weights; q8_0 for gguf only",
            .target = &options->type,
            .shows_default = true,
            .choices = all_names<WeightType>()},
           {.name = "--curve",
            .meaning = "Folder of alibi evaluate --output: its longest length becomes the "
                       "model's, its table goes into the model card",
            .target = &options->curve},
           {.name = "--shard-size",
            .meaning = "With --to hf: weights beyond it go into several files (default: 5GB)",
            .target = &options->shard_size},
           {.name = "--custom-code",
            .meaning =
                "With --to hf: with a modelling file of its own (trust_remote_code=True), which "
                "most models may have (GUIDE.md)",
            .target = &options->custom_code},
           json_option(options->as_json),
           set_option(options->overrides)},
      .run = [options](const CommandLine&) { return run(*options); }};
}

}  // namespace alibi
