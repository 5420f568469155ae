// The JSON reader under every file format: strict types, bounded nesting, nothing hidden. Seen
// failing with names allowed twice, with zero bytes let through, and with the bound on depth left
// out.
#include "formats/strict_json.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_text.h"

namespace alibi {
namespace {

std::string fault_of(std::string_view text, JsonLimits limits = {}) {
  try {
    parse_strict_json(text, "file", limits);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(StrictJson, ReadsEachType) {
  const StrictObject root = parse_strict_json(
      R"( {"a": null, "b": true, "c": -3, "d": 18446744073709551615, "e": 1.5, "f": "xé",
          "g": [1, [2]], "h": {"i": {}}})" +
          1,
      "file");
  ASSERT_EQ(root.size(), 8u);
  EXPECT_TRUE(as_bool(root.at("b"), ""));
  EXPECT_EQ(std::get<std::int64_t>(root.at("c").value), -3);
  EXPECT_EQ(std::get<std::uint64_t>(root.at("d").value), ~0ull);
  EXPECT_EQ(as_number(root.at("e"), ""), 1.5);
  EXPECT_EQ(as_string(root.at("f"), ""), "xé");
  EXPECT_EQ(as_count(as_array(as_array(root.at("g"), "")[1], "")[0], ""), 2);
  EXPECT_TRUE(as_object(as_object(root.at("h"), "").at("i"), "").empty());
}

TEST(StrictJson, RefusesWhatIsNoPlainObject) {
  const std::string zero_tail("{}\0{}", 5);
  for (const std::string& text :
       {std::string(), std::string("["), std::string("[]"), std::string("1"), std::string("null"),
        std::string(" {}"), std::string("\xEF\xBB\xBF{}"), std::string("{} {}"), std::string("{}x"),
        zero_tail, std::string("{\"a\":1,}"), std::string("{\"a\":NaN}"),
        std::string("{\"a\":1e400}"), std::string("{\"a\":01}"), std::string("{/**/}"),
        std::string("{\"a\":\"\xff\"}"), std::string("{\"a\":\"\\ud800\"}"),
        std::string("{\"a\":Infinity}"), std::string("{'a':1}")}) {
    EXPECT_NE(fault_of(text), "") << text;
  }
}

TEST(StrictJson, RefusesDuplicateNamesAtAnyDepth) {
  EXPECT_NAMES(fault_of(R"({"twin": 1, "twin": 1})"), "twin");
  EXPECT_NAMES(fault_of(R"({"b": [{"twin": 1, "\u0074win": 1}]})"), "twin");
}

TEST(StrictJson, BoundsDepthAndValues) {
  EXPECT_EQ(fault_of(R"({"a": [[1]]})", {.depth = 3}), "");
  EXPECT_NE(fault_of(R"({"a": [[1]]})", {.depth = 2}), "");
  const std::string deep = "{\"a\":" + std::string(512'000, '[');
  EXPECT_NAMES(fault_of(deep), JsonLimits().depth);
  EXPECT_EQ(fault_of(R"({"a": [1, 2]})", {.values = 4}), "");
  EXPECT_NE(fault_of(R"({"a": [1, 2, 3]})", {.values = 4}), "");
}

TEST(StrictJson, TakesNoTypeForAnother) {
  const StrictObject root = parse_strict_json(
      R"({"real": 1.0, "truth": true, "minus": -1, "large": 9223372036854775808})", "file");
  for (const char* name : {"real", "truth", "minus", "large"}) {
    EXPECT_THROW(as_count(root.at(name), "file"), Error) << name;
  }
  EXPECT_THROW(as_number(root.at("truth"), "file"), Error);
  EXPECT_THROW(as_bool(root.at("minus"), "file"), Error);
  EXPECT_THROW(required(root, "absent", "file"), Error);
  EXPECT_THROW(refuse_unknown(root, {"real", "truth"}, "file"), Error);
}

TEST(StrictJson, ShowsHostileNamesOnOneShortLine) {
  EXPECT_EQ(shown(std::string("a\nb\0", 4)), "\"a?b?\"");
  EXPECT_LT(shown(std::string(5000, 'x')).size(), 90u);
}

}  // namespace
}  // namespace alibi
