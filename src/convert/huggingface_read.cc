#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/json/parse.h"
#include "base/json/reader.h"
#include "base/printable.h"
#include "base/stop.h"
#include "base/strings.h"
#include "convert/foreign_config.h"
#include "convert/huggingface.h"
#include "convert/names.h"
#include "formats/byte_level_json.h"
#include "model/shapes.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kLargestJson = 64ull << 20;

Json read_json(const fs::path& path) {
  return parse_json(read_file(path, kLargestJson), path.string(),
                    {.depth = 16, .values = 2'000'000});
}

// A name out of an index stays inside the folder.
fs::path file_inside(const fs::path& folder, const std::string& name, const std::string& place) {
  if (name.empty() || name.front() == '.' || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos)
    throw Error(place, cat("names the file ", shown(name), ", expected one in its own folder"));
  return folder / name;
}

// What stands in which file is the index's to say: a tensor elsewhere, too, or nowhere is refused.
Tensors read_shards(const fs::path& folder, const fs::path& index) {
  const Json content = read_json(index);
  const JsonReader map = JsonReader(content, index.string()).at("weight_map");
  const std::string& place = map.place();
  std::map<std::string, std::set<std::string>> files;
  for (const auto& [name, file] : map.members()) files[file.text()].emplace(name);
  Tensors all;
  for (const auto& [file, names] : files) {
    leave_if_stopped(folder.string());
    Tensors here = load_tensors(file_inside(folder, file, place));
    for (const std::string& name : names)
      if (!here.contains(name)) throw Error(place, cat(shown(name), " is not in ", file));
    for (const auto& [name, tensor] : here)
      if (!names.contains(name))
        throw Error(place, cat("does not name ", shown(name), " in ", file));
    all.merge(here);
  }
  return all;
}

// A name that PyTorch's pickled weights have, in this folder; "" where there is none.
std::string pickle_in(const fs::path& folder) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string ending = entry.path().extension().string();
    if (ending == ".bin" || ending == ".pt" || ending == ".pth" || ending == ".ckpt")
      found.push_back(entry.path().filename().string());
  }
  std::ranges::sort(found, {}, [](const std::string& name) {
    return std::pair(!name.starts_with("pytorch_model"), name);
  });
  return found.empty() ? "" : found.front();
}

Tensors read_weights(const fs::path& folder) {
  const fs::path whole = folder / "model.safetensors", index = whole.string() + ".index.json";
  std::error_code ignored;
  if (fs::exists(whole, ignored)) return load_tensors(whole);
  if (!fs::exists(index, ignored)) {
    const std::string pickle = pickle_in(folder);
    if (pickle.empty())
      throw Error(folder.string(), "holds no model.safetensors",
                  "expected that file, or model.safetensors.index.json and its shards");
    throw Error((folder / pickle).string(),
                "is a pickle file, which may run any code and is never read",
                cat("transformers makes a folder without it: python3 -c 'import sys, transformers "
                    "as t; [c.from_pretrained(sys.argv[1]).save_pretrained(sys.argv[2]) for c in "
                    "(t.AutoModelForCausalLM, t.AutoTokenizer)]' ",
                    quoted_for_shell(folder.string()), " NEW"));
  }
  return read_shards(folder, index);
}

// Older folders leave "transformer." out, keep GPT-2's mask beside the weights, or write a tied
// head a second time.
Tensors usual_names(const Tensors& theirs, const ForeignConfig& config, const std::string& place) {
  if (config.dialect == Dialect::kOwn) return theirs;
  Tensors usual;
  for (const auto& [name, tensor] : theirs) {
    const bool mask = config.dialect == Dialect::kGpt2 &&
                      (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"));
    if (mask) continue;
    const bool whole = name.starts_with("transformer.") || name.starts_with("lm_head.");
    if (!usual.emplace(whole ? name : "transformer." + name, tensor).second)
      throw Error(place,
                  cat("tensor ", shown(name), " is there twice, with and without transformer."));
  }
  const auto head = usual.find("lm_head.weight");
  if (!config.model.tied_head || head == usual.end()) return usual;
  const std::string named = tensor_names(config.dialect, config.model).front().theirs;
  // safetensors.torch.save_model keeps one of two names, by the alphabet.
  if (!usual.contains(named)) usual.emplace(named, head->second);
  const auto embedding = usual.find(named);
  if (!embedding->second.to(torch::kFloat).equal(head->second.to(torch::kFloat)))
    throw Error(place, "tensor \"lm_head.weight\" differs from the embedding",
                "config.json says that they are one (tie_word_embeddings)");
  usual.erase(head);
  return usual;
}

Tensors to_ours(const Tensors& theirs, Dialect dialect, const ForeignModel& foreign,
                const std::string& place) {
  Tensors ours;
  std::set<std::string> known;
  const auto shapes = parameter_shapes(foreign.model, foreign.vocabulary);
  const auto names = tensor_names(dialect, foreign.model);
  for (std::size_t i = 0; i < names.size(); ++i) {
    leave_if_stopped(place);
    const auto found = theirs.find(names[i].theirs);
    if (found == theirs.end()) throw Error(place, cat("has no tensor ", shown(names[i].theirs)));
    known.insert(names[i].theirs);
    if (!found->second.is_floating_point())
      throw Error(place,
                  cat("tensor ", shown(names[i].theirs), " holds no floating-point numbers"));
    std::vector<std::int64_t> expected = shapes[i].sizes;
    if (names[i].layout == TensorLayout::kTransposed) std::swap(expected.front(), expected.back());
    if (found->second.sizes() != torch::IntArrayRef(expected))
      throw Error(place, cat("tensor ", shown(names[i].theirs), " has shape ",
                             found->second.sizes(), ", expected ", torch::IntArrayRef(expected)));
    ours[names[i].ours] =
        from_layout(found->second.to(torch::kFloat), names[i].layout, foreign.model.heads);
  }
  if (const auto bad = first_not_finite(ours))
    throw Error(place, cat("tensor ", *bad, " holds numbers that are not finite"));
  for (const auto& [name, tensor] : theirs) {
    if (!known.contains(name))
      throw Error(place, cat("has a tensor ", shown(name), " that such a model does not have"));
  }
  return ours;
}

struct TokenizerText {
  std::string file, text;
};

TokenizerText read_tokenizer(const fs::path& folder) {
  const auto read = [&](const char* name) { return read_file(folder / name, kLargestTokenizer); };
  const auto there = [&](const char* name) {
    std::error_code ignored;
    return fs::exists(folder / name, ignored);
  };
  for (const char* name : {"tokenizer.model", "tokenizer.json"})
    if (there(name)) return {name, read(name)};
  if (there("added_tokens.json"))
    throw Error((folder / "added_tokens.json").string(), "is not read",
                "in Python: AutoTokenizer.from_pretrained(FOLDER).save_pretrained(FOLDER) makes "
                "tokenizer.json of it");
  if (there("vocab.json") && there("merges.txt"))
    return {"vocab.json", byte_level_json_of(read("vocab.json"), read("merges.txt"),
                                             (folder / "vocab.json").string())};
  return {};
}

// Texts that gain a space or tokens there do not here.
void check_additions(const fs::path& folder, const TokenizerText& tokenizer,
                     std::vector<std::string>& notes) {
  const fs::path config = folder / "tokenizer_config.json";
  std::error_code ignored;
  if (fs::exists(config, ignored)) {
    const Json keys = read_json(config);
    const auto is_true = [&](const char* key) {
      const Json* found = keys.find(key);
      return found != nullptr && found->as_bool().value_or(false);
    };
    // sentencepiece's own model says whether it adds one, which this program then does, too.
    if (is_true("add_prefix_space") && tokenizer.file != "tokenizer.model")
      throw Error(config.string() + ": /add_prefix_space", "is true: text would gain a space");
    for (const char* key : {"add_bos_token", "add_eos_token"})
      if (is_true(key))
        notes.push_back(cat(config.string(), ": ", key,
                            " is true: no special tokens are put around texts here"));
  }
  if (tokenizer.file == "tokenizer.model") return;
  if (tokenizer.text.find("\"SpecialToken\"") != std::string::npos)
    notes.push_back(cat((folder / tokenizer.file).string(),
                        ": its post_processor puts special tokens around texts: none are put "
                        "here"));
}

}  // namespace

ForeignModel read_huggingface(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    throw Error(folder.string(), fs::exists(folder, ignored) ? "is no folder" : "does not exist",
                "name a folder with config.json and safetensors weights");
  const ForeignConfig config = read_foreign_config(folder / "config.json");
  ForeignModel foreign{.model = config.model,
                       .vocabulary = config.vocabulary,
                       .longest = config.longest,
                       .trained = config.trained,
                       .end = config.end,
                       .weights = {},
                       .tokenizer_model = {},
                       .tokenizer_file = {},
                       .notes = config.notes};
  const Tensors read = read_weights(folder);
  if (config.model.layers > std::ssize(read))  // before a table of all names is made
    throw Error(folder.string(), cat("holds ", read.size(), " tensors, too few for ",
                                     config.model.layers, " layers"));
  const Tensors theirs = usual_names(read, config, folder.string());
  foreign.weights = to_ours(theirs, config.dialect, foreign, folder.string());
  TokenizerText tokenizer = read_tokenizer(folder);
  check_additions(folder, tokenizer, foreign.notes);
  foreign.tokenizer_model = std::move(tokenizer.text);
  foreign.tokenizer_file = std::move(tokenizer.file);
  return foreign;
}

}  // namespace alibi
