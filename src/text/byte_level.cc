#include "text/byte_level.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <queue>
#include <tuple>

#include "base/error.h"
#include "base/strings.h"

namespace alibi {
namespace {

// BLOOM's. Like GPT-2's it begins a cut at every space that stands between letters or digits.
constexpr std::string_view kBloomPattern =
    " ?[^(\\s|[.,!?\xe2\x80\xa6\xe3\x80\x82\xef\xbc\x8c\xe3"
    "\x80\x81\xe0\xa5\xa4\xdb\x94\xd8\x8c])]+";

std::uint64_t key_of(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

bool known_to_cut_between_words(const ByteLevelModel& model) {
  bool cuts = false;
  for (const std::string& pattern : model.patterns) {
    const bool at_spaces = pattern == kGpt2Pattern || pattern == kBloomPattern;
    if (!at_spaces && pattern != "\\p{N}") return false;  // which cuts no space off
    cuts = cuts || at_spaces;
  }
  if (!cuts) return false;
  return std::all_of(model.added.begin(), model.added.end(), [](const AddedToken& token) {
    return token.special || token.text.find(' ') == std::string::npos ||
           token.text.find_first_not_of(' ') == std::string::npos;
  });
}

// What utf8proc does not take (bytes that are no UTF-8) stays as it is.
std::string composed_part(std::string_view text) {
  const bool ascii = std::all_of(text.begin(), text.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (ascii) return std::string(text);
  utf8proc_uint8_t* out = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &out,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(out, &std::free);
  if (size < 0) return std::string(text);
  return {reinterpret_cast<const char*>(out), static_cast<std::size_t>(size)};
}

// In parts: a U+11A7 behind a Hangul syllable is lost in utf8proc (2.8). It composes with nothing
// before it, so a part may begin with it.
std::string composed(std::string_view text) {
  constexpr std::string_view kLost = "\xe1\x86\xa7";
  std::string all;
  for (std::size_t next = 0; !text.empty(); text.remove_prefix(next)) {
    next = std::min(text.find(kLost, 1), text.size());
    all += composed_part(text.substr(0, next));
  }
  return all;
}

// Hands out what lies between the added tokens of one kind, and their ids; of several at one place
// the longest.
void split_at_added(std::string_view text, const std::vector<AddedToken>& added, bool normalized,
                    const std::function<void(std::string_view)>& take_text,
                    const std::function<void(std::int32_t)>& take_id) {
  struct Next {
    const AddedToken* token;
    std::size_t at;
  };
  std::vector<Next> nexts;
  for (const AddedToken& token : added) {
    if (!token.special && token.normalized == normalized)
      nexts.push_back({&token, text.find(token.text)});
  }
  std::size_t done = 0;
  while (done < text.size()) {
    const Next* best = nullptr;
    for (Next& next : nexts) {
      if (next.at < done) next.at = text.find(next.token->text, done);
      if (next.at == std::string_view::npos) continue;
      if (best == nullptr || next.at < best->at ||
          (next.at == best->at && next.token->text.size() > best->token->text.size()))
        best = &next;
    }
    if (best == nullptr) break;
    if (best->at > done) take_text(text.substr(done, best->at - done));
    take_id(best->token->id);
    done = best->at + best->token->text.size();
  }
  if (done < text.size()) take_text(text.substr(done));
}

}  // namespace

ByteLevelBpe::ByteLevelBpe(ByteLevelModel model, const std::string& place)
    : model_(std::move(model)), patterns_(model_.patterns, place), byte_ids_(256, -1) {
  // Of several ids for a byte the one that is no added token: those stand beside the merges.
  std::vector<bool> is_added(model_.pieces.size());
  for (const AddedToken& token : model_.added) is_added[static_cast<std::size_t>(token.id)] = true;
  for (std::size_t id = model_.pieces.size(); id-- > 0;) {
    const std::string& piece = model_.pieces[id];
    if (piece.size() == 1 && !is_added[id])
      byte_ids_[static_cast<unsigned char>(piece[0])] = static_cast<std::int32_t>(id);
    if (model_.words_before_merges && !is_added[id] && !piece.empty())
      whole_words_[piece] = static_cast<std::int32_t>(id);
  }
  for (std::size_t byte = 0; byte < byte_ids_.size(); ++byte)
    if (byte_ids_[byte] < 0) throw Error(place, cat("has no piece for byte ", byte));
  merges_.reserve(model_.merges.size());
  for (std::size_t i = 0; i < model_.merges.size(); ++i) {
    const ByteMerge& merge = model_.merges[i];
    // Of a pair that stands twice the last counts, as in the tokenizers library.
    merges_[key_of(merge.left, merge.right)] = {static_cast<std::int32_t>(i), merge.merged};
  }
  for (AddedToken& token : model_.added)
    if (model_.compose && token.normalized) token.text = composed(token.text);
  cuts_between_words_ = known_to_cut_between_words(model_);
}

const ByteLevelBpe::Merge* ByteLevelBpe::merge_of(std::int32_t left, std::int32_t right) const {
  const auto found = merges_.find(key_of(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

// Symbols are a linked list in place; a queue holds the possible merges, those that meanwhile lost
// a partner included. They are told by the ids they were queued with.
ByteLevelBpe::Ids ByteLevelBpe::merged(std::string_view word) const {
  if (const auto whole = whole_words_.find(word); whole != whole_words_.end())
    return {whole->second};
  const std::size_t size = word.size(), none = size;
  Ids ids(size);
  std::vector<std::size_t> next(size), before(size);
  for (std::size_t i = 0; i < size; ++i) {
    ids[i] = byte_ids_[static_cast<unsigned char>(word[i])];
    next[i] = i + 1;
    before[i] = i == 0 ? none : i - 1;
  }
  using Possible = std::tuple<std::int32_t, std::size_t, std::int32_t, std::int32_t>;
  std::priority_queue<Possible, std::vector<Possible>, std::greater<>> queue;
  const auto consider = [&](std::size_t at) {
    if (at == none || next[at] == none) return;
    if (const Merge* merge = merge_of(ids[at], ids[next[at]]))
      queue.emplace(merge->rank, at, ids[at], ids[next[at]]);
  };
  for (std::size_t i = 0; i + 1 < size; ++i) consider(i);
  while (!queue.empty()) {
    const auto [rank, at, left, right] = queue.top();
    queue.pop();
    const std::size_t partner = ids[at] == left ? next[at] : none;
    if (partner == none || ids[partner] != right) continue;
    ids[at] = model_.merges[static_cast<std::size_t>(rank)].merged;
    ids[partner] = -1;
    next[at] = next[partner];
    if (next[at] != none) before[next[at]] = at;
    consider(before[at]);
    consider(at);
  }
  ids.erase(std::remove(ids.begin(), ids.end(), -1), ids.end());
  return ids;
}

void ByteLevelBpe::encode_plain(std::string_view text, WordMemory& known, Ids& ids) const {
  patterns_.cut(text, [&](std::string_view word) {
    if (const auto before = known.find(word)) {
      ids.insert(ids.end(), before->begin(), before->end());
      return;
    }
    const Ids some = merged(word);
    if (word.size() <= WordMemory::kLongestWord) known.add(word, some);
    ids.insert(ids.end(), some.begin(), some.end());
  });
}

std::vector<std::int32_t> ByteLevelBpe::encode(std::string_view text, WordMemory& known) const {
  Ids ids;
  ids.reserve(text.size() / 3);
  const auto take_id = [&](std::int32_t id) { ids.push_back(id); };
  const auto plain = [&](std::string_view part) { encode_plain(part, known, ids); };
  split_at_added(
      text, model_.added, false,
      [&](std::string_view part) {
        if (model_.compose) {
          split_at_added(composed(part), model_.added, true, plain, take_id);
        } else {
          split_at_added(part, model_.added, true, plain, take_id);
        }
      },
      take_id);
  return ids;
}

}  // namespace alibi
