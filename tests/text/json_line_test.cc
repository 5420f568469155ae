// The fast reader of lines against the reference.
#include "text/json_line.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "base/strings.h"
#include "support/error_text.h"

namespace alibi {
namespace {

constexpr const char* kPlace = "a.jsonl:7";

std::optional<LineDocument> by_reference(const std::string& line) {
  try {
    return read_any_line(line, kPlace);
  } catch (const Error&) {
    return {};
  }
}

// Whether the fast reader took the line, and as the reference does.
bool is_fast(const std::string& line) {
  const auto fast = read_text_line(line, kPlace);
  if (!fast) return false;
  const auto reference = by_reference(line);
  EXPECT_TRUE(reference) << "refused by the reference: " << line;
  if (!reference) return true;
  EXPECT_EQ(fast->text, reference->text) << line;
  EXPECT_EQ(fast->id, reference->id) << line;
  EXPECT_TRUE(reference->turns.empty()) << line;
  return true;
}

const std::vector<std::string> kTextLines = {
    R"({"text": "one"})",
    " {\"id\":\"first\",\t\"text\":\"\\n\\t\\\"\\\\\\/\\u00e9\\u0000 "
    "caf\xc3\xa9\"}\r",
    R"({"text": ""})",
    R"({"text": "a", "id": 12})",
    R"({"text": "a", "id": -12})",
    R"({"text": "a", "id": 18446744073709551615})",
    R"({"text": "a", "id": "x", "id": null, "id": [1], "id": {"id": "no"}, "id": true})",
    R"({"text": "a", "id": "x", "id": ""})",
    R"({"meta": {"text": 5, "list": [1, 2.5e3, {"text": []}]}, "text": "a"})",
    R"({"prompt": 3, "prompt": "twice", "messages": 1, "text": "a"})",
    R"({"te\u0078t": "a"})",
};

const std::vector<std::string> kOtherLines = {
    R"({"text": "a", "text": "b"})",
    R"({"text": 5})",
    R"({"prompt": "a", "completion": "b"})",
    R"({"messages": [{"role": "assistant", "content": "hi"}]})",
    R"(["text"])",
    R"("text")",
    R"({"text": "a"} x)",
    R"({"text": "a",})",
    R"({"text": "a", "id": 1.50})",
    R"({"text": "a", "n": 01})",
    R"({"text": "a", "n": 1e999})",
    R"({"text": "a", "n": NaN})",
    R"({"text": "\ud83d"})",
    R"({"text": "\ud83d x"})",
    R"({"text": "\ude00"})",
    R"({"text": "\ud83d\ud83d"})",
    R"({"text": "\x"})",
    "{\"text\": \"\xff\"}",
    "{\"text\": \"a\tb\"}",
    "{\"text\": \"a",
    std::string("{\"text\": \"a\"}\0{\"text\": \"b\"}", 27),
    "",
};

TEST(JsonLine, TheFastReaderTakesTextAsTheReferenceDoes) {
  for (const std::string& line : kTextLines) EXPECT_TRUE(is_fast(line)) << line;
  is_fast(R"({"text": "\ud83d\ude00"})");  // either way: older releases are not trusted with it
}

TEST(JsonLine, OtherLinesAndFaultsAreTheReferences) {
  for (const std::string& line : kOtherLines) EXPECT_FALSE(is_fast(line)) << line;
  const std::string deep(100000, '[');
  EXPECT_FALSE(is_fast(R"({"text": "a", "deep": )" + deep + "}"));
  EXPECT_FALSE(is_fast(R"({"text": ")" + std::string(std::size_t{5} << 20, 'a') + R"("})"));
}

// A writer that crashed leaves runs of them. Seen failing: what stands behind was lost.
TEST(JsonLine, AZeroByteIsRefused) {
  const std::string line("{\"text\": \"a\"}\0{\"text\": \"b\"}", 27);
  EXPECT_ERROR_AT(error_text([&] { read_line(line, "file: line 3"); }), "file: line 3", 13);
}

// Seen failing with a fast reader that takes the first of two keys.
TEST(JsonLine, ChangedBytesAreReadAlike) {
  const std::string bytes = "\"\\u{}[]:,0d8e-.tf \t\xc3\x01\xff";
  std::uint64_t counter = 0;
  const auto below = [&](std::size_t limit) { return philox(RandomKey{3}, counter++)[0] % limit; };
  int taken = 0;
  for (int round = 0; round < 20000; ++round) {
    const auto& lines = below(3) == 0 ? kOtherLines : kTextLines;
    std::string line = lines[below(lines.size())];
    for (std::size_t change = below(3); change > 0 && !line.empty(); --change) {
      const std::size_t at = below(line.size());
      if (below(2) == 0)
        line[at] = bytes[below(bytes.size())];
      else
        line.insert(at, line.substr(below(line.size()), below(12)));
    }
    taken += is_fast(line);
  }
  EXPECT_GT(taken, 4000);
}

}  // namespace
}  // namespace alibi
