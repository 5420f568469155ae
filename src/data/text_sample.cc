#include "data/text_sample.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <span>

#include "base/checksums.h"
#include "base/error.h"
#include "base/stop.h"
#include "base/strings.h"
#include "data/corpus.h"
#include "data/named_text.h"

namespace alibi {
namespace {

// A reader to whom the text's size is unknown keeps every m-th group, m a power of two, at most
// this many times as many as are wanted: parts then lie within a quarter of a spacing of an even
// grid.
constexpr std::int64_t kSpare = 4;

std::int64_t wanted_groups(const SampleRule& rule) {
  return std::max<std::int64_t>(1, rule.most / rule.window / rule.group);
}

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Appends tokens first - run.context ... first + run.count - 1 of the text to a vector.
using ReadTokens =
    std::function<void(std::int64_t first, const SampleRun& run, std::vector<std::int32_t>& ids)>;

void take_off_marks(TextSample& sample) {
  if (std::ranges::none_of(sample.ids, is_marked)) return;
  for (std::int32_t& id : sample.ids) {
    sample.target_mask.push_back(!is_marked(id));
    id = static_cast<std::int32_t>(unmarked(id));
  }
}

void fill(TextSample& sample, const ReadTokens& read) {
  const std::int64_t window = sample.rule.window;
  sample.windows = sample.available / window;
  for (const WindowRange& range : spread_windows(sample.windows, sample.rule)) {
    const std::int64_t first = range.first * window;
    const std::int64_t context = std::min(first, sample.rule.context);
    sample.runs.push_back({std::ssize(sample.ids) + context, range.count * window, context});
    read(first, sample.runs.back(), sample.ids);
  }
  take_off_marks(sample);
}

// Takes a text of unknown size token by token and keeps what spread_windows may ask for.
class Collector {
 public:
  explicit Collector(const SampleRule& rule) : rule_(rule) {}

  void add(std::span<const std::int32_t> ids) {
    const std::int64_t group_tokens = rule_.group * rule_.window;
    while (!ids.empty()) {
      const auto room = static_cast<std::size_t>(group_tokens - size_ % group_tokens);
      const auto part = ids.first(std::min(room, ids.size()));
      recent_.insert(recent_.end(), part.begin(), part.end());
      size_ += std::ssize(part);
      ids = ids.subspan(part.size());
      if (size_ % group_tokens == 0) end_group();
    }
  }

  std::int64_t size() const { return size_; }

  TextSample finish() {
    keep_recent();  // the begun group: it counts when all windows are taken
    TextSample sample{.ids = {}, .runs = {}, .rule = rule_, .available = size_, .windows = 0};
    fill(sample, [this](std::int64_t first, const SampleRun& run, std::vector<std::int32_t>& ids) {
      copy(first, run, ids);
    });
    return sample;
  }

 private:
  void end_group() {
    keep_recent();
    thin_out();
    const std::int64_t tail = std::min<std::int64_t>(rule_.context, std::ssize(recent_));
    recent_.erase(recent_.begin(), recent_.end() - tail);
    ++group_;
  }

  void keep_recent() {
    if (group_ % every_ == 0) kept_[group_] = recent_;
  }

  void thin_out() {
    if (std::ssize(kept_) <= kSpare * wanted_groups(rule_)) return;
    every_ *= 2;
    std::int64_t index = 0;
    std::erase_if(kept_, [&](const auto&) { return index++ % 2 == 1; });
  }

  // From kept groups side by side; the first one's context comes before it.
  void copy(std::int64_t first, const SampleRun& run, std::vector<std::int32_t>& ids) const {
    const std::int64_t group_tokens = rule_.group * rule_.window;
    const std::int64_t end = first + run.count;
    for (std::int64_t start = first; start < end; start += group_tokens) {
      const auto found = kept_.find(start / group_tokens);
      ensure(found != kept_.end(), "a wanted part of a text is kept");
      const std::vector<std::int32_t>& piece = found->second;
      const std::int64_t context = std::min(start, rule_.context);
      const std::int64_t here = std::min(end - start, group_tokens);
      ids.insert(ids.end(), piece.begin() + (start == first ? 0 : context),
                 piece.begin() + context + here);
    }
  }

  SampleRule rule_;
  std::int64_t size_ = 0, group_ = 0, every_ = 1;
  std::vector<std::int32_t> recent_;                        // context and the group so far
  std::map<std::int64_t, std::vector<std::int32_t>> kept_;  // by group
};

}  // namespace

std::vector<WindowRange> spread_windows(std::int64_t windows, const SampleRule& rule) {
  ensure(rule.window > 0 && rule.group > 0 && rule.context >= 0, "a sample has windows");
  if (windows <= 0) return {};
  const std::int64_t wanted = wanted_groups(rule), groups = windows / rule.group;
  if (windows * rule.window <= std::max(rule.most, rule.window) || groups == 0)
    return {{0, windows}};
  std::int64_t every = 1;
  while (divided_up(groups, every) > kSpare * wanted) every *= 2;
  const std::int64_t kept = divided_up(groups, every), taken = std::min(wanted, kept);
  std::vector<WindowRange> ranges;
  for (std::int64_t i = 0; i < taken; ++i) {
    const std::int64_t first = every * (i * kept / taken) * rule.group;
    if (!ranges.empty() && ranges.back().first + ranges.back().count == first) {
      ranges.back().count += rule.group;
    } else {
      ranges.push_back({first, rule.group});
    }
  }
  return ranges;
}

std::int64_t TextSample::targets() const {
  std::int64_t sum = 0;
  for (const SampleRun& run : runs) sum += run.count;
  return sum;
}

std::vector<std::int32_t> TextSample::scored() const {
  std::vector<std::int32_t> all;
  for (const SampleRun& run : runs) {
    for (std::int64_t i = run.first; i < run.first + run.count; ++i)
      if (is_target(i)) all.push_back(ids[static_cast<std::size_t>(i)]);
  }
  return all;
}

bool TextSample::scores_anything() const { return !scored().empty(); }

bool TextSample::is_target(std::int64_t index) const {
  return target_mask.empty() || target_mask[static_cast<std::size_t>(index)];
}

std::string TextSample::hash() const {
  static_assert(std::endian::native == std::endian::little, "the hash is over little-endian ids");
  const std::vector<std::int32_t> all = scored();
  return sha256_hex(std::as_bytes(std::span(all)));
}

std::string TextSample::prompts_hash() const {
  if (target_mask.empty()) return {};
  std::vector<std::int32_t> all = ids;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!target_mask[i]) all[i] = ~all[i];  // as a target it would be another text
  return sha256_hex(std::as_bytes(std::span(all)));
}

std::string TextSample::describe() const {
  const std::int64_t taken = targets() / rule.window;
  const std::int64_t prompts = targets() - std::ssize(scored());
  const std::string left_out = prompts > 0 ? cat(", less ", prompts, " tokens of prompts") : "";
  if (taken == windows)
    return cat("all ", windows, " whole windows of ", rule.window, " tokens", left_out);
  const std::string together = rule.group > 1 ? cat(", ", rule.group, " at a time") : "";
  return cat(taken, " of ", windows, " windows of ", rule.window,
             " tokens, spread evenly over the text", together, left_out);
}

TextSample sample_tokens(const TokenShards& tokens, const SampleRule& rule) {
  TextSample sample{.ids = {}, .runs = {}, .rule = rule, .available = tokens.size(), .windows = 0};
  fill(sample, [&](std::int64_t first, const SampleRun& run, std::vector<std::int32_t>& ids) {
    std::vector<std::int64_t> wide(static_cast<std::size_t>(run.context + run.count));
    tokens.read(first - run.context, wide);
    ids.insert(ids.end(), wide.begin(), wide.end());
  });
  return sample;
}

TextSample sample_files(const std::vector<std::string>& names, const Tokenizer& tokenizer,
                        int threads, const SampleRule& rule) {
  Collector collector(rule);
  encode(find_text(names), tokenizer, threads, [&](const EncodedPart& part) {
    leave_if_stopped("tokenising");
    collector.add(part.ids);
    return true;
  });
  if (collector.size() == 0) throw Error(join(names, ", "), "holds no text");
  return collector.finish();
}

}  // namespace alibi
