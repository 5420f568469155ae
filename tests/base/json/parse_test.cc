// The one JSON reader: strict types, bounded nesting, nothing hidden. Seen failing with duplicate
// keys allowed, with zero bytes let through, and with the bound on depth left out.
#include "base/json/parse.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/strings.h"
#include "support/error_text.h"

namespace alibi {
namespace {

std::string fault_of(std::string_view text, const JsonOptions& options = {}) {
  try {
    parse_json(text, "file", options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> pointers_of(std::string_view text, const JsonOptions& options = {}) {
  std::vector<JsonFault> faults;
  const bool parsed = parse_json(text, options, faults).has_value();
  EXPECT_EQ(parsed, faults.empty());
  std::vector<std::string> pointers;
  for (const JsonFault& fault : faults) pointers.push_back(fault.pointer);
  return pointers;
}

using Pointers = std::vector<std::string>;

TEST(JsonParse, ReadsEachType) {
  const Json root = parse_json(
      R"({"a": null, "b": true, "c": -3, "d": 18446744073709551615, "e": 1.5, "f": "xé",
          "g": [1, [2]], "h": {"i": {}}, "j": [], "k": 9223372036854775808})",
      "file");
  EXPECT_EQ(root, Json({{"a", nullptr},
                        {"b", true},
                        {"c", -3},
                        {"d", ~0ull},
                        {"e", 1.5},
                        {"f", "xé"},
                        {"g", Json::list({1, Json::list({2})})},
                        {"h", {{"i", Json::object()}}},
                        {"j", Json::list()},
                        {"k", 1ull << 63}}));
  EXPECT_EQ(root.as_object()->at(5).key, "f");
}

TEST(JsonParse, RefusesWhatIsNoPlainObject) {
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

TEST(JsonParse, TakesAnyValueAndCommentsWhereAsked) {
  const JsonOptions lenient{.comments = true, .any_value = true};
  std::vector<JsonFault> faults;
  EXPECT_EQ(parse_json(" [1] ", lenient, faults), Json::list({1}));
  EXPECT_EQ(parse_json("7", lenient, faults), Json(7));
  EXPECT_EQ(parse_json("{/* why */ \"a\": 1} // end", lenient, faults), Json({{"a", 1}}));
  EXPECT_TRUE(faults.empty());
  EXPECT_NE(fault_of("[1] 2", lenient), "");
  EXPECT_NE(fault_of(std::string("1\0", 2), lenient), "");
}

TEST(JsonParse, NamesLineAndColumnOfWhatIsNoJson) {
  EXPECT_NAMES(fault_of("{\n \"a\": tru\n}"), "line 3", "column 0");
  EXPECT_LT(fault_of("{\"a\": " + std::string(5000, '7') + "x").size(), 400u);
}

TEST(JsonParse, PointsAtEveryDuplicateKey) {
  EXPECT_EQ(pointers_of(R"({"a": 1, "a": 1})"), Pointers{"/a"});
  EXPECT_EQ(pointers_of(R"({"b": [0, {"a": 1, "\u0061": 1}], "b": {"x/y": 1, "x/y": 2}})"),
            (Pointers{"/b/1/a", "/b", "/b/x~1y"}));
  std::string large = "{", twice = "{";  // beyond the search through a few members
  for (int i = 0; i < 100; ++i) large += cat("\"k", i, "\": ", i, ", ");
  EXPECT_EQ(pointers_of(large + "\"k100\": 0}"), Pointers{});
  EXPECT_EQ(pointers_of(large + "\"k3\": 0}"), Pointers{"/k3"});
  EXPECT_EQ(pointers_of(large + "\"k99\": 0}"), Pointers{"/k99"});
  for (int i = 0; i < 100; ++i) twice += "\"k\": 0, ";
  EXPECT_LT(pointers_of(twice + "\"z\": 0}").size(), 30u);
}

TEST(JsonParse, BoundsDepthAndValues) {
  EXPECT_EQ(fault_of(R"({"a": [[1]]})", {.depth = 3}), "");
  EXPECT_EQ(pointers_of(R"({"a": [0, [1]]})", {.depth = 2}), Pointers{"/a/1"});
  EXPECT_NE(fault_of("{\"a\":" + std::string(512'000, '[')), "");
  EXPECT_EQ(fault_of(R"({"a": [1, 2]})", {.values = 4}), "");
  EXPECT_EQ(pointers_of(R"({"a": [1, 2, 3]})", {.values = 4}), Pointers{"/a/2"});
}

}  // namespace
}  // namespace alibi
