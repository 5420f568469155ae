#include "text/tasks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/strings.h"

namespace alibi {
namespace {

using Pieces = std::vector<TaskPiece>;
using Words = std::vector<std::string>;

// Drawn numbers, one after another.
class Draws {
 public:
  explicit Draws(RandomKey key) : key_(key) {}
  double share() { return uniform(key_, next_++); }
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(share() * static_cast<double>(bound));
  }
  char letter() { return static_cast<char>('a' + below(26)); }
  template <class Item>
  void shuffle(std::vector<Item>& items) {
    for (std::int64_t i = std::ssize(items) - 1; i > 0; --i)
      std::swap(items[static_cast<std::size_t>(i)], items[static_cast<std::size_t>(below(i + 1))]);
  }

 private:
  RandomKey key_;
  std::uint64_t next_ = 0;
};

std::string letters(Draws& draws, int count) {
  std::string word;
  for (int i = 0; i < count; ++i) word += draws.letter();
  return word;
}

// Syllables: words that a tokenizer trained on anything cuts into few parts.
std::string spoken(Draws& draws, int syllables) {
  static constexpr std::string_view kConsonants = "bdfgklmnprstvz", kVowels = "aeiou";
  std::string word;
  for (int i = 0; i < syllables; ++i) {
    word += kConsonants[static_cast<std::size_t>(draws.below(std::ssize(kConsonants)))];
    word += kVowels[static_cast<std::size_t>(draws.below(std::ssize(kVowels)))];
  }
  return word;
}

// `count` different ones of make().
template <class Make>
Words different(std::int64_t count, const Make& make) {
  std::set<std::string> known;
  Words all;
  while (std::ssize(all) < count)
    if (std::string one = make(); known.insert(one).second) all.push_back(std::move(one));
  return all;
}

std::string five_digits(Draws& draws) { return cat(10'000 + draws.below(90'000)); }

std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += " " + word;
  return text;
}

Pieces recall(const TaskShape& shape, RandomKey random) {
  Draws draws(random);
  const int width = shape.size <= 200 ? 2 : 3;  // of the 676 keys of two letters, at most a third
  const Words keys = different(shape.size, [&] { return letters(draws, width); });
  std::vector<std::string> pairs;
  std::vector<std::pair<std::string, std::string>> asked;
  for (const std::string& key : keys) {
    asked.emplace_back(" " + key, cat(" ", 10 + draws.below(90)));
    pairs.push_back(asked.back().first + asked.back().second);
  }
  const double words = 2 * static_cast<double>(shape.size);
  for (std::int64_t idle = std::llround(words * shape.idle / (1 - shape.idle)); idle > 0; --idle)
    pairs[static_cast<std::size_t>(draws.below(shape.size))] += " .";
  draws.shuffle(asked);
  Pieces pieces;
  for (const auto& [key, value] : asked) {
    pieces.push_back({pieces.empty() ? join(pairs, "") + " ;" + key : key, false});
    pieces.push_back({value, true});
  }
  return pieces;
}

Words drawn_letters(const TaskShape& shape, Draws& draws) {
  Words all;
  for (std::int64_t i = 0; i < shape.size; ++i) all.push_back(letters(draws, 1));
  return all;
}

Pieces copy(const TaskShape& shape, RandomKey random) {
  Draws draws(random);
  const std::string all = joined(drawn_letters(shape, draws));
  return {{all + " ;", false}, {all, true}};
}

// Asks with as few letters as stand there once.
Pieces lookup(const TaskShape& shape, RandomKey random) {
  Draws draws(random);
  const Words all = drawn_letters(shape, draws);
  const auto count = static_cast<std::int64_t>(all.size());
  const std::int64_t place =
      std::llround(shape.depth * static_cast<double>(count - 2));  // the first
  for (std::int64_t asked = 1;; ++asked) {
    const std::int64_t first = std::clamp<std::int64_t>(place, 0, count - 1 - asked);
    const Words gram(all.begin() + first, all.begin() + first + asked);
    // What follows it must follow from it.
    const auto found = std::search(all.begin(), all.end() - 1, gram.begin(), gram.end());
    const bool once =
        std::search(found + 1, all.end() - 1, gram.begin(), gram.end()) == all.end() - 1;
    if (once || asked == count - 1) {
      return {{joined(all) + " ;" + joined(gram)},
              {" " + all[static_cast<std::size_t>(first + asked)], true}};
    }
  }
}

Pieces flip_flop(const TaskShape& shape, RandomKey random) {
  Draws draws(random);
  Pieces pieces;
  std::string text;
  char stored = '0';
  for (std::int64_t i = 0; i < shape.size; ++i) {
    const double drawn = draws.share();
    const bool first = i == 0, last = i == shape.size - 1;
    const char bit = static_cast<char>('0' + draws.below(2));
    if (!last && !first && drawn < shape.ignored) {
      text += cat(" i ", bit);
    } else if (last || (!first && drawn < (1 + shape.ignored) / 2)) {
      pieces.push_back({std::exchange(text, "") + " r", false});
      pieces.push_back({cat(" ", stored), true});
    } else {
      stored = bit;
      text += cat(" w ", bit);
    }
  }
  return pieces;
}

// Sentences that say nothing of what is asked for.
std::string filler(Draws& draws) {
  static const std::array kSentences{
      " The road goes on behind the hill.", " It rained a little in the morning.",
      " Somebody had left a window open.",  " The boats come back before noon.",
      " A dog lay in front of the door.",   " They spoke about the price of bread."};
  return kSentences[static_cast<std::size_t>(draws.below(std::ssize(kSentences)))];
}

// `size` sentences of filler with others among them, these at shares of it.
std::string among_filler(const TaskShape& shape, Draws& draws,
                         std::vector<std::pair<double, std::string>> others) {
  std::ranges::stable_sort(others, {}, &std::pair<double, std::string>::first);
  std::string text;
  auto next = others.begin();
  for (std::int64_t i = 0; i <= shape.size; ++i) {
    for (; next != others.end() && std::llround(next->first * static_cast<double>(shape.size)) <= i;
         ++next)
      text += next->second;
    if (i < shape.size) text += filler(draws);
  }
  return text;
}

// The first name's number is asked for.
Pieces find_number(const TaskShape& shape, RandomKey random, std::int64_t names) {
  Draws draws(random);
  const Words all = different(names, [&] { return spoken(draws, 2); });
  const Words numbers = different(names, [&] { return five_digits(draws); });
  std::vector<std::pair<double, std::string>> statements;
  for (std::size_t i = 0; i < all.size(); ++i) {
    statements.emplace_back(i == 0 ? shape.depth : draws.share(),
                            cat(" The number of ", all[i], " is ", numbers[i], "."));
  }
  return {{among_filler(shape, draws, std::move(statements)) +
           cat(" What is the number of ", all[0], "? The number of ", all[0], " is")},
          {" " + numbers[0], true}};
}

Pieces needle(const TaskShape& shape, RandomKey random) { return find_number(shape, random, 1); }
Pieces needles(const TaskShape& shape, RandomKey random) { return find_number(shape, random, 8); }

Pieces passkey(const TaskShape& shape, RandomKey random) {
  Draws draws(random);
  const std::string key = five_digits(draws);
  return {{among_filler(shape, draws, {{shape.depth, passkey_statement("pass key", key)}}) +
           passkey_question("pass key")},
          {" " + key, true}};
}

Pieces variables(const TaskShape& shape, RandomKey random) {
  constexpr std::size_t kChain = 4, kChains = 2;  // the first chain's value is asked for
  Draws draws(random);
  const Words names = different(kChain * kChains, [&] { return spoken(draws, 2); });
  const Words values = different(kChains, [&] { return five_digits(draws); });
  std::vector<std::pair<double, std::string>> statements;
  for (std::size_t chain = 0; chain < kChains; ++chain) {
    std::array<double, kChain> places;
    for (double& place : places) place = draws.share();
    std::ranges::sort(places);
    for (std::size_t i = 0; i < kChain; ++i) {
      const std::string& name = names[chain * kChain + i];
      const std::string& from = i == 0 ? values[chain] : names[chain * kChain + i - 1];
      statements.emplace_back(places[i], cat(" Let ", name, " be ", from, "."));
    }
  }
  const std::string text = among_filler(shape, draws, std::move(statements));
  return {{cat(text, " Which names are ", values[0], "? They are")},
          {joined({names.begin(), names.begin() + kChain}), true}};
}

Pieces words_and_question(Words all, Draws& draws, const char* question, const Words& answer) {
  draws.shuffle(all);
  return {{joined(all) + question}, {joined(answer), true}};
}

Pieces common_words(const TaskShape& shape, RandomKey random) {
  constexpr std::int64_t kCommon = 3;
  Draws draws(random);
  const std::int64_t times = std::max<std::int64_t>(3, shape.size / 10);  // of a common word
  // Of another one a share of that, so that a longer text is not an easier one.
  const std::int64_t other_times = std::max<std::int64_t>(1, (times + 2) / 4);
  const std::int64_t others =
      std::max<std::int64_t>(1, (shape.size - kCommon * times) / other_times);
  Words words = different(kCommon + others, [&] { return spoken(draws, 2); }), all;
  for (std::int64_t i = 0; i < kCommon + others; ++i)
    all.insert(all.end(), static_cast<std::size_t>(i < kCommon ? times : other_times),
               words[static_cast<std::size_t>(i)]);
  words.resize(kCommon);
  std::ranges::sort(words);
  return words_and_question(std::move(all), draws, " ; The most common words, sorted, are", words);
}

// The r-th word stands there size / (c r^2) times, c = pi^2 / 6.
Pieces frequent_words(const TaskShape& shape, RandomKey random) {
  constexpr double kAll = 1.6449;
  Draws draws(random);
  std::vector<std::int64_t> times;
  std::int64_t left = shape.size;
  for (std::int64_t rank = 1; left > 0; ++rank) {
    const double square = static_cast<double>(rank * rank);
    std::int64_t count =
        std::max<std::int64_t>(1, std::llround(static_cast<double>(shape.size) / kAll / square));
    count = std::min(count, left);
    times.push_back(count);
    left -= count;
  }
  Words words = different(std::ssize(times), [&] { return spoken(draws, 2); }), all;
  for (std::size_t i = 0; i < words.size(); ++i)
    all.insert(all.end(), static_cast<std::size_t>(times[i]), words[i]);
  words.resize(3);
  return words_and_question(std::move(all), draws,
                            " ; The most frequent words, first the most frequent, are", words);
}

}  // namespace

const std::vector<TextTask>& tasks() {
  constexpr std::int64_t kMost = 1'000'000;
  static const std::vector<TextTask> all{
      {"passkey", "sentences", 0, kMost, true, passkey},
      {"recall", "pairs", 1, 5000, false, recall},
      {"copy", "letters", 1, kMost, false, copy},
      {"lookup", "letters", 3, kMost, true, lookup},
      {"flip_flop", "instructions", 2, kMost, false, flip_flop},
      {"needle", "sentences", 0, kMost, true, needle},
      {"needles", "sentences", 0, kMost, true, needles},
      {"variables", "sentences", 0, kMost, false, variables},
      {"common_words", "words", 16, 4000, false, common_words},
      {"frequent_words", "words", 30, 4000, false, frequent_words},
  };
  return all;
}

std::vector<TaskPiece> task_text(const TextTask& task, const TaskShape& shape, RandomKey random) {
  ensure(task.least <= shape.size && shape.size <= task.most, "a size that the task has");
  std::vector<TaskPiece> pieces = task.make(shape, random);
  pieces.front().text.erase(0, 1);  // a tokenizer may put one in front of a text
  return pieces;
}

std::string passkey_statement(const std::string& name, const std::string& key) {
  return cat("\nThe ", name, " is ", key, "\nRemember it: the ", name, " is ", key, "\n");
}

std::string passkey_question(const std::string& name) {
  return cat("\nWhat is the ", name, "? The ", name, " is");
}

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const TextTask& task : tasks()) names.emplace_back(task.name);
  return names;
}

const TextTask* find_task(const std::string& name) {
  const auto found =
      std::ranges::find_if(tasks(), [&](const TextTask& task) { return name == task.name; });
  return found == tasks().end() ? nullptr : &*found;
}

}  // namespace alibi
