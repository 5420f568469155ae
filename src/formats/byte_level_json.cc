#include "formats/byte_level_json.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "base/strings.h"
#include "formats/strict_json.h"

namespace alibi {
namespace {

constexpr JsonLimits kLimits{.depth = 12, .values = 8'000'000};
constexpr std::int64_t kMostIds = 4'000'000;
constexpr std::size_t kMostPatterns = 16;
constexpr std::size_t kLongestPattern = 4096;

// The member as an object or value with the place it stands at; null counts as absent.
struct Part {
  const StrictObject& object;
  std::string place;

  std::string at(std::string_view key) const { return cat(place, "/", key); }
  const StrictJson* find(std::string_view key) const {
    const auto found = object.find(key);
    const bool there =
        found != object.end() && !std::holds_alternative<std::monostate>(found->second.value);
    return there ? &found->second : nullptr;
  }
  Part part(std::string_view key) const {
    return {as_object(required(object, key, place), at(key)), at(key)};
  }
  const StrictArray& list(std::string_view key) const {
    return as_array(required(object, key, place), at(key));
  }
  bool flag(std::string_view key, bool usual) const {
    const StrictJson* value = find(key);
    return value == nullptr ? usual : as_bool(*value, at(key));
  }
  std::string text(std::string_view key, const std::string& usual) const {
    const StrictJson* value = find(key);
    return value == nullptr ? usual : as_string(*value, at(key));
  }
  std::string type() const { return as_string(required(object, "type", place), at("type")); }
  void refuse(std::string_view key, const std::string& problem) const {
    throw Error(at(key), problem, "only byte-level BPE as GPT-2, BLOOM and MPT have it is read");
  }
};

std::int32_t id_of(const StrictJson& json, const std::string& place) {
  const std::int64_t id = as_count(json, place);
  if (id >= kMostIds) throw Error(place, cat("id ", id, ", expected one below ", kMostIds));
  return static_cast<std::int32_t>(id);
}

// Byte b is written as the character kBytes[b]: itself where it prints, else one from U+0100 on.
std::array<char32_t, 256> byte_characters() {
  std::array<char32_t, 256> characters{};
  char32_t next = 256;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const bool prints = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    characters[byte] = prints ? static_cast<char32_t>(byte) : next++;
  }
  return characters;
}

// The bytes that a piece of the file stands for; nothing where a character is none of the table.
std::optional<std::string> bytes_of(std::string_view piece) {
  static const auto bytes = [] {
    std::unordered_map<char32_t, char> map;
    const auto characters = byte_characters();
    for (std::size_t byte = 0; byte < 256; ++byte) map[characters[byte]] = static_cast<char>(byte);
    return map;
  }();
  std::string text;
  for (std::size_t i = 0; i < piece.size();) {
    const auto first = static_cast<unsigned char>(piece[i]);
    if (first >= 0xe0 || (first >= 0x80 && i + 1 >= piece.size())) return std::nullopt;
    const std::size_t size = first < 0x80 ? 1 : 2;  // valid UTF-8: the JSON reader saw to that
    const char32_t character = size == 1 ? first
                                         : (static_cast<char32_t>(first & 0x1f) << 6 |
                                            (static_cast<unsigned char>(piece[i + 1]) & 0x3f));
    const auto found = bytes.find(character);
    if (found == bytes.end()) return std::nullopt;
    text += found->second;
    i += size;
  }
  return text;
}

using Ids = std::unordered_map<std::string_view, std::int32_t>;  // views into the parsed file

void place_piece(ByteLevelModel& model, std::int32_t id, std::string text, std::vector<bool>& taken,
                 const std::string& place) {
  const auto at = static_cast<std::size_t>(id);
  if (model.pieces.size() <= at) model.pieces.resize(at + 1);
  if (taken.size() <= at) taken.resize(at + 1);
  if (taken[at]) throw Error(place, cat("id ", id, " stands twice"));
  taken[at] = true;
  model.pieces[at] = std::move(text);
}

AddedToken added_token(const StrictJson& json, const std::string& place) {
  const Part part{as_object(json, place), place};
  AddedToken token;
  token.id = id_of(required(part.object, "id", place), part.at("id"));
  token.text = as_string(required(part.object, "content", place), part.at("content"));
  token.special = part.flag("special", false);
  token.normalized = part.flag("normalized", false);
  if (token.text.empty()) throw Error(part.at("content"), "is empty");
  const bool plain = !part.flag("single_word", false) && !part.flag("lstrip", false) &&
                     !part.flag("rstrip", false);
  if (!token.special && !plain) part.refuse("content", "takes the spaces beside it");
  return token;
}

void read_vocabulary(const Part& bpe, const Part& root, ByteLevelModel& model, Ids& ids) {
  std::vector<bool> taken;
  const auto& added =
      root.find("added_tokens") == nullptr ? StrictArray() : root.list("added_tokens");
  std::unordered_map<std::string_view, std::int32_t> apart;  // their spelling is their text
  for (std::size_t i = 0; i < added.size(); ++i) {
    const std::string place = cat(root.at("added_tokens"), "/", i);
    model.added.push_back(added_token(added[i], place));
  }
  std::sort(model.added.begin(), model.added.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  for (const AddedToken& token : model.added) {
    place_piece(model, token.id, token.special ? "" : token.text, taken, root.at("added_tokens"));
    if (!apart.emplace(token.text, token.id).second)
      throw Error(root.at("added_tokens"), cat(shown(token.text), " stands twice"));
  }
  const Part vocabulary = bpe.part("vocab");
  for (const auto& [text, value] : vocabulary.object) {
    const std::int32_t id = id_of(value, vocabulary.place);
    ids.emplace(text, id);
    const auto other = apart.find(text);
    if (other != apart.end()) {
      if (other->second != id)
        throw Error(vocabulary.place, cat(shown(text), " has id ", id, " here and ", other->second,
                                          " in /added_tokens"));
      continue;
    }
    auto bytes = bytes_of(text);
    if (!bytes) vocabulary.refuse(shown(text), "is not written in bytes");
    place_piece(model, id, std::move(*bytes), taken, vocabulary.place);
  }
  // A file may leave ids out, not most of them.
  if (model.pieces.size() > 2 * (ids.size() + model.added.size()) + 1024)
    throw Error(vocabulary.place, cat("names ", ids.size(), " of ", model.pieces.size(), " ids"));
}

// "left right", or a pair of them.
std::pair<std::string_view, std::string_view> halves_of(const StrictJson& json,
                                                        const std::string& place) {
  if (const auto* text = std::get_if<std::string>(&json.value)) {
    const std::size_t space = text->find(' ');
    if (space == std::string::npos || text->find(' ', space + 1) != std::string::npos)
      throw Error(place, cat("is ", shown(*text), ", expected two pieces"));
    return {std::string_view(*text).substr(0, space), std::string_view(*text).substr(space + 1)};
  }
  const StrictArray& pair = as_array(json, place);
  if (pair.size() != 2) throw Error(place, cat(pair.size(), " pieces, expected two"));
  return {as_string(pair[0], place), as_string(pair[1], place)};
}

void read_merges(const Part& bpe, ByteLevelModel& model, const Ids& ids) {
  const StrictArray& merges = bpe.list("merges");
  model.merges.reserve(merges.size());
  std::vector<bool> special(model.pieces.size());
  for (const AddedToken& token : model.added)
    special[static_cast<std::size_t>(token.id)] = token.special;
  std::string both;
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const std::string place = cat(bpe.at("merges"), "/", i);
    const auto [left, right] = halves_of(merges[i], place);
    both = left;
    both += right;
    const auto l = ids.find(left), r = ids.find(right), m = ids.find(both);
    if (l == ids.end() || r == ids.end() || m == ids.end())
      throw Error(place, cat(shown(left), " and ", shown(right), ": not all three are in /vocab"));
    // Text that spells a special token is text: what would make one of it is left out.
    const bool makes_special = special[static_cast<std::size_t>(l->second)] ||
                               special[static_cast<std::size_t>(r->second)] ||
                               special[static_cast<std::size_t>(m->second)];
    if (makes_special) continue;
    model.merges.push_back({l->second, r->second, m->second});
  }
}

void read_bpe(const Part& root, ByteLevelModel& model) {
  const Part bpe = root.part("model");
  // The first files, GPT-2's own among them, do not say it: they tell by their members.
  const std::string type = bpe.find("merges") != nullptr ? bpe.text("type", "BPE") : bpe.type();
  if (type != "BPE") bpe.refuse("type", cat("is ", shown(type)));
  if (bpe.flag("byte_fallback", false))
    bpe.refuse("byte_fallback", "is true: a sentencepiece model, read from its tokenizer.model");
  if (bpe.find("dropout") != nullptr && as_number(*bpe.find("dropout"), bpe.at("dropout")) != 0)
    bpe.refuse("dropout", "draws merges");
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!bpe.text(affix, "").empty()) bpe.refuse(affix, cat("is ", shown(bpe.text(affix, ""))));
  model.words_before_merges = bpe.flag("ignore_merges", false);
  Ids ids;
  read_vocabulary(bpe, root, model, ids);
  read_merges(bpe, model, ids);
  std::array<bool, 256> there{};
  for (const std::string& piece : model.pieces)
    if (piece.size() == 1) there[static_cast<unsigned char>(piece[0])] = true;
  const auto lacking = std::find(there.begin(), there.end(), false) - there.begin();
  if (lacking != 256) bpe.refuse("vocab", cat("has no piece for byte ", lacking));
}

void read_split(const Part& step, ByteLevelModel& model) {
  const Part pattern = step.part("pattern");
  const std::string behavior = step.text("behavior", "");
  if (behavior != "Isolated") step.refuse("behavior", cat("is ", shown(behavior)));
  if (step.flag("invert", false)) step.refuse("invert", "is true");
  const bool regex = pattern.find("Regex") != nullptr;
  std::string text =
      regex ? pattern.text("Regex", "") : literal_pattern(pattern.text("String", ""));
  if (text.empty() || text.size() > kLongestPattern)
    pattern.refuse(regex ? "Regex" : "String", cat("has ", text.size(), " bytes"));
  model.patterns.push_back(std::move(text));
}

// Returns whether the bytes are written as characters by this step.
bool read_pre_step(const Part& step, ByteLevelModel& model) {
  const std::string type = step.type();
  if (type == "ByteLevel") {
    if (step.flag("add_prefix_space", true))
      step.refuse("add_prefix_space", "is true: text would gain a space");
    if (step.flag("use_regex", true)) model.patterns.emplace_back(kGpt2Pattern);
    return true;
  }
  if (type == "Split") {
    read_split(step, model);
  } else if (type == "Digits") {
    model.patterns.emplace_back(step.flag("individual_digits", false) ? "\\p{N}" : "\\p{N}+");
  } else {
    step.refuse("type", cat("is ", shown(type)));
  }
  return false;
}

void read_pre_tokenizer(const Part& root, ByteLevelModel& model) {
  const Part pre = root.part("pre_tokenizer");
  bool bytes = false;
  if (pre.type() == "Sequence") {
    const StrictArray& steps = pre.list("pretokenizers");
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::string place = cat(pre.at("pretokenizers"), "/", i);
      if (bytes) throw Error(place, "follows ByteLevel, which is read as the last step only");
      bytes = read_pre_step({as_object(steps[i], place), place}, model);
    }
  } else {
    bytes = read_pre_step(pre, model);
  }
  if (!bytes) pre.refuse("type", "has no ByteLevel step");
  if (model.patterns.size() > kMostPatterns)
    pre.refuse("pretokenizers", cat(model.patterns.size(), " patterns"));
}

void read_normalizer(const Part& root, ByteLevelModel& model) {
  if (root.find("normalizer") == nullptr) return;
  const Part part = root.part("normalizer");
  const std::string type = part.type();
  if (type == "Sequence" && part.list("normalizers").empty()) return;
  if (type != "NFC") part.refuse("type", cat("is ", shown(type), ", expected NFC or none"));
  model.compose = true;
}

// Ids are read byte by byte; a file that joins them otherwise means another tokenizer.
void check_decoder(const Part& root) {
  if (root.find("decoder") == nullptr) return;
  const Part part = root.part("decoder");
  std::string type = part.type();
  if (type == "Sequence" && part.list("decoders").size() == 1)
    type = Part{as_object(part.list("decoders")[0], part.at("decoders")), part.at("decoders/0")}
               .type();
  if (type != "ByteLevel") part.refuse("type", cat("is ", shown(type), ", expected ByteLevel"));
}

void find_end(const Part& root, bool needed, ByteLevelModel& model) {
  if (root.find("alibi") != nullptr) {
    const Part ours = root.part("alibi");
    model.end = id_of(required(ours.object, "end", ours.place), ours.at("end"));
    for (const AddedToken& token : model.added)
      if (token.id == model.end && token.special) return;
    throw Error(ours.at("end"), cat("id ", model.end, " is no special token of /added_tokens"));
  }
  for (const char* usual : {"<|endoftext|>", "</s>", "<eos>"}) {
    for (const AddedToken& token : model.added) {
      if (!token.special || token.text != usual) continue;
      model.end = token.id;
      return;
    }
  }
  model.end = -1;
  if (!needed) return;
  throw Error(root.at("added_tokens"),
              "has no special token <|endoftext|>, </s> or <eos> to end a document with",
              "add one, or {\"alibi\": {\"end\": ID}} with the id of another special token");
}

}  // namespace

const char* const kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

std::string byte_level_text(std::string_view bytes) {
  static const auto characters = byte_characters();
  std::string text;
  for (const char byte : bytes) {
    const char32_t character = characters[static_cast<unsigned char>(byte)];
    if (character >= 0x80) text += static_cast<char>(0xc0 | character >> 6);  // all below U+0800
    text += static_cast<char>(character < 0x80 ? character : 0x80 | (character & 0x3f));
  }
  return text;
}

ByteLevelModel parse_byte_level_json(std::string_view json, const std::string& place,
                                     bool needs_end) {
  const StrictObject object = parse_strict_json(json, place, kLimits);
  const Part root{object, place + ": "};
  ByteLevelModel model;
  read_bpe(root, model);
  read_pre_tokenizer(root, model);
  read_normalizer(root, model);
  check_decoder(root);
  find_end(root, needs_end, model);
  return model;
}

std::string byte_level_json_of(std::string_view vocab_json, std::string_view merges_text,
                               const std::string& place) {
  const StrictObject vocabulary = parse_strict_json(vocab_json, place, kLimits);
  std::vector<std::string> merges;
  for (std::size_t from = 0; from < merges_text.size();) {
    const std::size_t end = std::min(merges_text.find('\n', from), merges_text.size());
    std::string_view line = merges_text.substr(from, end - from);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && !line.starts_with("#version")) merges.push_back(json_quoted(line));
    from = end + 1;
  }
  std::string added = "[]";
  if (const auto end = vocabulary.find("<|endoftext|>"); end != vocabulary.end())
    added = cat(R"([{"id": )", id_of(end->second, place),
                R"(, "content": "<|endoftext|>", "single_word": false, "lstrip": false, )",
                R"("rstrip": false, "normalized": false, "special": true}])");
  return cat(R"({"added_tokens": )", added,
             R"(, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, )",
             R"("trim_offsets": true, "use_regex": true}, )",
             R"("model": {"type": "BPE", "vocab": )", vocab_json, R"(, "merges": [)",
             join(merges, ", "), "]}}");
}

}  // namespace alibi
