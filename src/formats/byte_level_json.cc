#include "formats/byte_level_json.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "base/json/reader.h"
#include "base/json/write.h"
#include "base/printable.h"
#include "base/strings.h"

namespace alibi {
namespace {

constexpr std::int64_t kMostIds = 4'000'000;
constexpr std::size_t kMostPatterns = 16;
constexpr std::size_t kLongestPattern = 4096;

[[noreturn]] void refuse(const JsonReader& part, std::string_view key, const std::string& problem) {
  throw Error(part.place_of(key), problem,
              "only byte-level BPE as GPT-2, BLOOM and MPT have it is read");
}

std::string type_of(const JsonReader& part) { return part.at("type").text(); }

std::int32_t id_of(const JsonReader& json) {
  const std::int64_t id = json.count();
  if (id >= kMostIds) json.expected(cat("an id below ", kMostIds));
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
  if (taken[at]) throw Error(place, cat("duplicate id ", id));
  taken[at] = true;
  model.pieces[at] = std::move(text);
}

AddedToken added_token(const JsonReader& json) {
  AddedToken token;
  token.id = id_of(json.at("id"));
  token.text = json.at("content").text();
  token.special = json.flag("special", false);
  token.normalized = json.flag("normalized", false);
  if (token.text.empty()) json.at("content").fail("is empty");
  const bool plain = !json.flag("single_word", false) && !json.flag("lstrip", false) &&
                     !json.flag("rstrip", false);
  if (!token.special && !plain) refuse(json, "content", "takes the spaces beside it");
  return token;
}

void read_added(const JsonReader& root, ByteLevelModel& model, std::vector<bool>& taken,
                Ids& apart) {
  const auto list = root.find("added_tokens");
  if (!list) return;
  for (const JsonReader& one : list->items()) model.added.push_back(added_token(one));
  std::ranges::sort(model.added, {}, &AddedToken::id);
  for (const AddedToken& token : model.added) {
    place_piece(model, token.id, token.special ? "" : token.text, taken, list->place());
    if (!apart.emplace(token.text, token.id).second)
      list->fail(cat("duplicate token ", shown(token.text)));
  }
}

void read_vocabulary(const JsonReader& bpe, const JsonReader& root, ByteLevelModel& model,
                     Ids& ids) {
  std::vector<bool> taken;
  Ids apart;  // their spelling is their text
  read_added(root, model, taken, apart);
  const JsonReader vocabulary = bpe.at("vocab");
  for (const auto& [text, value] : vocabulary.members()) {
    const std::int32_t id = id_of(value);
    ids.emplace(text, id);
    const auto other = apart.find(text);
    if (other != apart.end()) {
      if (other->second != id)
        value.fail(cat("found ", id, ", but its id in /added_tokens is ", other->second));
      continue;
    }
    auto bytes = bytes_of(text);
    if (!bytes) refuse(vocabulary, text, "is not written in bytes");
    place_piece(model, id, std::move(*bytes), taken, vocabulary.place());
  }
  // A file may leave ids out, not most of them.
  if (model.pieces.size() > 2 * (ids.size() + model.added.size()) + 1024)
    vocabulary.fail(cat("names ", ids.size(), " of ", model.pieces.size(), " ids"));
}

// "left right", or a pair of them.
std::pair<std::string_view, std::string_view> halves_of(const JsonReader& json) {
  if (const std::string* text = json.json().as_string()) {
    const std::size_t space = text->find(' ');
    if (space == std::string::npos || text->find(' ', space + 1) != std::string::npos)
      json.expected("two pieces with a space between them");
    return {std::string_view(*text).substr(0, space), std::string_view(*text).substr(space + 1)};
  }
  const std::vector<JsonReader> pair = json.items();
  if (pair.size() != 2) json.fail(cat("found ", pair.size(), " pieces, expected two"));
  return {pair[0].text(), pair[1].text()};
}

void read_merges(const JsonReader& bpe, ByteLevelModel& model, const Ids& ids) {
  const std::vector<JsonReader> merges = bpe.at("merges").items();
  model.merges.reserve(merges.size());
  std::vector<bool> special(model.pieces.size());
  for (const AddedToken& token : model.added)
    special[static_cast<std::size_t>(token.id)] = token.special;
  std::string both;
  for (const JsonReader& merge : merges) {
    const auto [left, right] = halves_of(merge);
    both = left;
    both += right;
    const auto l = ids.find(left), r = ids.find(right), m = ids.find(both);
    if (l == ids.end() || r == ids.end() || m == ids.end())
      merge.fail(cat(shown(left), " and ", shown(right), ": not all three are in /vocab"));
    // Text that spells a special token is text: what would make one of it is left out.
    const bool makes_special = special[static_cast<std::size_t>(l->second)] ||
                               special[static_cast<std::size_t>(r->second)] ||
                               special[static_cast<std::size_t>(m->second)];
    if (makes_special) continue;
    model.merges.push_back({l->second, r->second, m->second});
  }
}

void read_bpe(const JsonReader& root, ByteLevelModel& model) {
  const JsonReader bpe = root.at("model");
  // The first files, GPT-2's own among them, do not say it: they tell by their members.
  const std::string type = bpe.has("merges") ? bpe.text("type", "BPE") : type_of(bpe);
  if (type != "BPE") refuse(bpe, "type", cat("is ", shown(type)));
  if (bpe.flag("byte_fallback", false))
    refuse(bpe, "byte_fallback", "is true: a sentencepiece model, read from its tokenizer.model");
  if (bpe.number("dropout", 0) != 0) refuse(bpe, "dropout", "draws merges");
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!bpe.text(affix, "").empty()) refuse(bpe, affix, cat("is ", shown(bpe.text(affix, ""))));
  model.words_before_merges = bpe.flag("ignore_merges", false);
  Ids ids;
  read_vocabulary(bpe, root, model, ids);
  read_merges(bpe, model, ids);
  std::array<bool, 256> there{};
  for (const std::string& piece : model.pieces)
    if (piece.size() == 1) there[static_cast<unsigned char>(piece[0])] = true;
  const auto lacking = std::find(there.begin(), there.end(), false) - there.begin();
  if (lacking != 256) refuse(bpe, "vocab", cat("has no piece for byte ", lacking));
}

void read_split(const JsonReader& step, ByteLevelModel& model) {
  const JsonReader pattern = step.at("pattern");
  const std::string behavior = step.text("behavior", "");
  if (behavior != "Isolated") refuse(step, "behavior", cat("is ", shown(behavior)));
  if (step.flag("invert", false)) refuse(step, "invert", "is true");
  const bool regex = pattern.has("Regex");
  std::string text =
      regex ? pattern.text("Regex", "") : literal_pattern(pattern.text("String", ""));
  if (text.empty() || text.size() > kLongestPattern)
    refuse(pattern, regex ? "Regex" : "String", cat("has ", text.size(), " bytes"));
  model.patterns.push_back(std::move(text));
}

// Returns whether the bytes are written as characters by this step.
bool read_pre_step(const JsonReader& step, ByteLevelModel& model) {
  const std::string type = type_of(step);
  if (type == "ByteLevel") {
    if (step.flag("add_prefix_space", true))
      refuse(step, "add_prefix_space", "is true: text would gain a space");
    if (step.flag("use_regex", true)) model.patterns.emplace_back(kGpt2Pattern);
    return true;
  }
  if (type == "Split") {
    read_split(step, model);
  } else if (type == "Digits") {
    model.patterns.emplace_back(step.flag("individual_digits", false) ? "\\p{N}" : "\\p{N}+");
  } else {
    refuse(step, "type", cat("is ", shown(type)));
  }
  return false;
}

void read_pre_tokenizer(const JsonReader& root, ByteLevelModel& model) {
  const JsonReader pre = root.at("pre_tokenizer");
  bool bytes = false;
  if (type_of(pre) == "Sequence") {
    for (const JsonReader& step : pre.at("pretokenizers").items()) {
      if (bytes) step.fail("follows ByteLevel, which is read as the last step only");
      bytes = read_pre_step(step, model);
    }
  } else {
    bytes = read_pre_step(pre, model);
  }
  if (!bytes) refuse(pre, "type", "has no ByteLevel step");
  if (model.patterns.size() > kMostPatterns)
    refuse(pre, "pretokenizers", cat(model.patterns.size(), " patterns"));
}

void read_normalizer(const JsonReader& root, ByteLevelModel& model) {
  const auto part = root.find("normalizer");
  if (!part) return;
  const std::string type = type_of(*part);
  if (type == "Sequence" && part->at("normalizers").list().empty()) return;
  if (type != "NFC") refuse(*part, "type", cat("is ", shown(type), ", expected NFC or none"));
  model.compose = true;
}

// Ids are read byte by byte; a file that joins them otherwise means another tokenizer.
void check_decoder(const JsonReader& root) {
  const auto part = root.find("decoder");
  if (!part) return;
  std::string type = type_of(*part);
  if (type == "Sequence" && part->at("decoders").list().size() == 1)
    type = type_of(part->at("decoders").items().front());
  if (type != "ByteLevel") refuse(*part, "type", cat("is ", shown(type), ", expected ByteLevel"));
}

void find_end(const JsonReader& root, bool needed, ByteLevelModel& model) {
  if (const auto ours = root.find("alibi")) {
    const JsonReader end = ours->at("end");
    model.end = id_of(end);
    for (const AddedToken& token : model.added)
      if (token.id == model.end && token.special) return;
    end.fail(cat("id ", model.end, " is no special token of /added_tokens"));
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
  throw Error(root.place_of("added_tokens"),
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
  const Json parsed = parse_json(json, place, kTokenizerJsonLimits);
  const JsonReader root(parsed, place);
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
  Json vocabulary = parse_json(vocab_json, place, kTokenizerJsonLimits);
  Json merges = Json::list(), added = Json::list();
  for (std::size_t from = 0; from < merges_text.size();) {
    const std::size_t end = std::min(merges_text.find('\n', from), merges_text.size());
    std::string_view line = merges_text.substr(from, end - from);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && !line.starts_with("#version")) merges.push_back(line);
    from = end + 1;
  }
  constexpr const char* kEnd = "<|endoftext|>";
  if (const auto end = JsonReader(vocabulary, place).find(kEnd))
    added.push_back({{"id", id_of(*end)},
                     {"content", kEnd},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  return write_json(
      {{"added_tokens", std::move(added)},
       {"pre_tokenizer",
        {{"type", "ByteLevel"},
         {"add_prefix_space", false},
         {"trim_offsets", true},
         {"use_regex", true}}},
       {"model",
        {{"type", "BPE"}, {"vocab", std::move(vocabulary)}, {"merges", std::move(merges)}}}});
}

}  // namespace alibi
