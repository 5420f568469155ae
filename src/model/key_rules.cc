#include "model/key_rules.h"

#include <algorithm>

#include "base/error.h"
#include "base/random.h"
#include "device/libtorch.h"

namespace alibi {
namespace {

// Rows of rising blocks, each of which ends with the row itself.
void check_list(const ListedBlocks& list) {
  const auto &begin = list.begin, &blocks = list.blocks;
  ensure(!begin.empty() && begin.front() == 0 && begin.back() == std::ssize(blocks),
         "rows of a list of blocks");
  for (std::size_t row = 0; row + 1 < begin.size(); ++row) {
    const auto first = blocks.begin() + begin[row], end = blocks.begin() + begin[row + 1];
    ensure(first < end && std::cmp_equal(*(end - 1), row),
           "a list of blocks holds each query's own block");
    ensure(std::adjacent_find(first, end, std::greater_equal<>()) == end, "listed blocks rise");
  }
}

// Up to `count` blocks before each one, and itself.
ListedBlocks drawn_blocks(RandomKey key, std::int64_t count, std::int64_t rows) {
  ListedBlocks list{{0}, {}};
  for (std::int64_t row = 0; row < rows; ++row) {
    // By a permutation of the blocks before: each comes once.
    const auto earlier = static_cast<std::uint64_t>(row);
    const Permutation order(key.with(earlier), std::max<std::uint64_t>(earlier, 1));
    const auto drawn = std::ssize(list.blocks);
    for (std::uint64_t turn = 0; std::cmp_less(turn, std::min(count, row)); ++turn)
      list.blocks.push_back(static_cast<std::int64_t>(order(turn)));
    std::sort(list.blocks.begin() + drawn, list.blocks.end());
    list.blocks.push_back(row);
    list.begin.push_back(std::ssize(list.blocks));
  }
  return list;
}

// (rows, columns) bool: the listed pairs of blocks.
torch::Tensor listed_pairs(const BlockList& list, std::int64_t columns) {
  torch::Tensor pairs = torch::zeros({list.rows, columns}, torch::kBool);
  auto pair = pairs.accessor<bool, 2>();
  for (std::int64_t row = 0; row < list.rows; ++row)
    for (std::int64_t n = list.begin[row]; n < list.begin[row + 1]; ++n)
      if (list.blocks[n] < columns) pair[row][list.blocks[n]] = true;
  return pairs;
}

// What a rule shows to the queries i (R, 1) of the keys j (S), whose documents begin at `first` (1
// or B, R or 1, 1): (1 or B, R, S).
torch::Tensor shown_keys(const KeyRule& rule, const torch::Tensor& i_R1, const torch::Tensor& j_S,
                         const torch::Tensor& first) {
  const KeyParts& parts = rule.parts;
  const torch::Tensor distance = (i_R1 - j_S).unsqueeze(0);
  torch::Tensor shown = torch::zeros_like(distance, torch::kBool);
  if (parts.window > 0) {
    shown = shown | ((distance < parts.window * parts.dilation) &
                     (distance.remainder(parts.dilation) == 0));
  }
  if (parts.stride > 0) shown = shown | (distance.remainder(parts.stride) == 0);
  if (parts.segment > 0)
    shown = shown | (i_R1.floor_divide(parts.segment) == j_S.floor_divide(parts.segment));
  if (parts.columns > 0)
    shown = shown | (j_S.remainder(parts.period) >= parts.period - parts.columns);
  if (parts.global > 0) shown = shown | (j_S - first < parts.global);
  if (rule.list.given()) {
    const std::int64_t columns = j_S.size(0) / kListBlock + 1;
    const torch::Tensor pairs = listed_pairs(rule.list, columns).to(j_S.device());
    shown = shown | pairs.index({i_R1.floor_divide(kListBlock), j_S.floor_divide(kListBlock)});
  }
  return shown;
}

}  // namespace

KeyRules::KeyRules(const std::vector<KeyParts>& parts, std::vector<ListedBlocks> lists)
    : lists_(std::move(lists)) {
  ensure(lists_.empty() || lists_.size() == parts.size(), "a list for each rule");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    KeyRule rule{parts[i], {}};
    rule.parts.random = 0;
    if (!lists_.empty() && !lists_[i].begin.empty()) {
      check_list(lists_[i]);
      rule.list = {lists_[i].begin.data(), lists_[i].blocks.data(),
                   std::ssize(lists_[i].begin) - 1};
    }
    ensure(rule.shows_all() || parts[i].window + parts[i].segment > 0 || rule.list.given(),
           "a query sees itself");
    rules_.push_back(rule);
  }
}

bool KeyRules::reaches(std::int64_t keys) const {
  return std::ranges::all_of(rules_, [&](const KeyRule& rule) {
    return !rule.list.given() || rule.list.rows * kListBlock >= keys;
  });
}

bool KeyRules::ask_for_documents() const {
  return std::ranges::any_of(rules_, [](const KeyRule& rule) { return rule.parts.global > 0; });
}

bool same_rules(const ModelConfig& model, std::int64_t layer, std::int64_t other) {
  for (std::int64_t head = 0; head < model.heads; ++head) {
    const KeyParts parts = key_parts(model, layer, head);
    if (parts != key_parts(model, other, head) || parts.random > 0) return false;
  }
  return true;
}

std::shared_ptr<const KeyRules> key_rules(const ModelConfig& model, std::int64_t layer,
                                          std::int64_t keys) {
  if (shows_all_keys(model) || hashes_keys(model, layer)) return nullptr;
  std::vector<KeyParts> parts;
  for (std::int64_t head = 0; head < model.heads; ++head)
    parts.push_back(key_parts(model, layer, head));
  const auto draws = [](const KeyParts& some) { return some.random > 0; };
  const bool drawn = std::ranges::any_of(parts, draws);
  if (!drawn && std::ranges::count(parts, parts.front()) == std::ssize(parts)) parts.resize(1);
  if (!drawn) return std::make_shared<const KeyRules>(parts);
  std::vector<ListedBlocks> lists;
  const RandomKey key = RandomKey{}.with("pattern").with(static_cast<std::uint64_t>(layer));
  for (std::size_t head = 0; head < parts.size(); ++head) {
    lists.emplace_back();
    if (draws(parts[head]))
      lists.back() =
          drawn_blocks(key.with(head), parts[head].random, (keys + kListBlock - 1) / kListBlock);
  }
  return std::make_shared<const KeyRules>(parts, std::move(lists));
}

void VisibleKeys::hash(const torch::Tensor& k_BHSD) {
  if (hashed != nullptr) groups = hashed->groups(k_BHSD, first_BT);
}

torch::Tensor VisibleKeys::hidden(const Part& part, torch::Device device) const {
  const auto whole = torch::TensorOptions().dtype(torch::kLong).device(device);
  const std::int64_t position = part.keys - part.queries + part.first;
  const torch::Tensor i_R1 = torch::arange(position, position + part.count, whole).unsqueeze(1);
  const torch::Tensor j_S = torch::arange(part.seen, whole);
  torch::Tensor first = torch::zeros({1, 1, 1}, whole);
  if (first_BT.defined())
    first = first_BT.narrow(1, part.first, part.count).unsqueeze(2).to(device);
  torch::Tensor hidden = ((j_S > i_R1).unsqueeze(0) | (j_S < first)).unsqueeze(1);
  for (std::int64_t r = 0; left_out_RBS.defined() && r < left_out_RBS.size(0); ++r) {
    const torch::Tensor left_out_BS = left_out_RBS[r].to(device);
    const torch::Tensor apart = left_out_BS.narrow(1, position, part.count).unsqueeze(2) -
                                left_out_BS.narrow(1, 0, part.seen).unsqueeze(1);
    hidden = hidden | ((apart >= 0) & (apart <= 1) & (j_S < i_R1)).unsqueeze(1);
  }
  if (groups.of_RBHS.defined())
    return hidden |
           shown_by_groups(groups, position, part.count, part.seen).logical_not().to(device);
  if (!rules) return hidden;
  std::vector<torch::Tensor> hidden_by_rule;
  for (const KeyRule& rule : rules->rules()) {
    if (rule.shows_all())
      hidden_by_rule.push_back(hidden);
    else
      hidden_by_rule.push_back(hidden |
                               shown_keys(rule, i_R1, j_S, first).logical_not().unsqueeze(1));
  }
  return torch::cat(hidden_by_rule, 1);
}

}  // namespace alibi
