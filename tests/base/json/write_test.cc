// Spellings of the writer: the compact one, indented ones, what JSON has no word for.
#include "base/json/write.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"

namespace alibi {
namespace {

const Json kJson = {{"b", 1},
                    {"a", Json::list({1.0, 2.5, "x\"\n"})},
                    {"o", {{"p", nullptr}}},
                    {"e", Json::list()},
                    {"f", Json::object()}};

TEST(JsonWrite, Spells) {
  EXPECT_EQ(write_json(kJson), R"({"b":1,"a":[1.0,2.5,"x\"\n"],"o":{"p":null},"e":[],"f":{}})");
  EXPECT_EQ(write_json(kJson, {.spaced = true}),
            R"({"b": 1, "a": [1.0, 2.5, "x\"\n"], "o": {"p": null}, "e": [], "f": {}})");
  EXPECT_EQ(write_json(kJson, {.sorted = true}),
            R"({"a":[1.0,2.5,"x\"\n"],"b":1,"e":[],"f":{},"o":{"p":null}})");
  EXPECT_EQ(write_json({{"a", Json::list({1, {{"b", 2}}})}, {"c", Json::list()}}, {.indent = 2}),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": 2\n    }\n  ],\n  \"c\": []\n}");
  EXPECT_EQ(write_json({{"a", Json::list({1, 2})}, {"c", {{"d", 2}}}},
                       {.indent = 0, .levels = 1, .spaced = true}),
            "{\n\"a\": [1, 2],\n\"c\": {\"d\": 2}\n}");
}

TEST(JsonWrite, SpellsNumbersAsTheShortestThatReadBack) {
  EXPECT_EQ(write_json(Json::list({0.1, 1e-5, 3.0, 1e20, -0.0, 1ull << 63, -7})),
            "[0.1,1e-05,3.0,1e+20,-0.0,9223372036854775808,-7]");
}

TEST(JsonWrite, SpellsWhatIsNotFiniteAsAsked) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Json odd = Json::list({infinity, -infinity, std::numeric_limits<double>::quiet_NaN()});
  EXPECT_EQ(write_json(odd), "[null,null,null]");
  EXPECT_EQ(write_json(odd, {.not_finite = JsonStyle::NotFinite::kWord}),
            R"(["inf","-inf","nan"])");
}

TEST(JsonWrite, RefusesOrReplacesInvalidUtf8) {
  EXPECT_THROW(write_json("a\xff"), Error);
  EXPECT_THROW(write_json({{"a\xff", 1}}), Error);
  EXPECT_EQ(write_json("a\xff", {.invalid_utf8 = JsonStyle::InvalidUtf8::kReplace}),
            "\"a\xef\xbf\xbd\"");
}

TEST(JsonWrite, DescribesOnOneShortLine) {
  EXPECT_EQ(describe(kJson), "an object");
  EXPECT_EQ(describe(Json::list()), "a list");
  EXPECT_EQ(describe(4.7), "4.7");
  EXPECT_EQ(describe("a\nb"), "\"a?b\"");
  EXPECT_LT(describe(std::string(5000, 'x')).size(), 60u);
}

}  // namespace
}  // namespace alibi
