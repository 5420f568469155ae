// Members by name and type, each fault at its place and pointer.
#include "base/json/reader.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"

namespace alibi {
namespace {

const Json kJson = {{"real", 1.0},
                    {"truth", true},
                    {"minus", -1},
                    {"large", 1ull << 63},
                    {"text", "x"},
                    {"none", nullptr},
                    {"a/b", {{"list", Json::list({1, "two"})}}}};

std::string place_of_fault(const std::function<void(const JsonReader&)>& read) {
  try {
    read(JsonReader(kJson, "file"));
  } catch (const Error& error) {
    const std::string text = error.what();
    const std::size_t end = text.find(": ", text.find(": ") + 2);
    return text.substr(0, end);
  }
  return "";
}

TEST(JsonReader, GivesValuesOfTheirTypes) {
  const JsonReader root(kJson, "file");
  EXPECT_EQ(root.at("real").number(), 1.0);
  EXPECT_EQ(root.at("minus").number(), -1.0);
  EXPECT_TRUE(root.at("truth").flag());
  EXPECT_EQ(root.at("text").text(), "x");
  EXPECT_EQ(root.at("a/b").at("list").items()[0].count(), 1);
  EXPECT_EQ(root.number("absent", 7), 7);
  EXPECT_EQ(root.number("none", 7), 7);
  EXPECT_EQ(root.number("real", 7), 1);
  EXPECT_FALSE(root.has("none"));
  EXPECT_TRUE(root.has("real"));
  EXPECT_TRUE(root.object_or_empty("absent").object().empty());
  EXPECT_NO_THROW(root.expect("text", "x"));
}

TEST(JsonReader, TakesNoTypeForAnother) {
  for (const char* name : {"real", "truth", "minus", "large", "text", "none", "absent"}) {
    EXPECT_EQ(place_of_fault([&](const JsonReader& root) { root.at(name).count(); }),
              std::string("file: /") + name);
  }
  const auto at = [](const char* key) {
    return [key](const JsonReader& r) { r.at(key).number(); };
  };
  EXPECT_EQ(place_of_fault(at("truth")), "file: /truth");
  EXPECT_EQ(place_of_fault([](const JsonReader& r) { r.at("minus").flag(); }), "file: /minus");
  EXPECT_EQ(place_of_fault([](const JsonReader& r) { r.at("real").text(); }), "file: /real");
  EXPECT_EQ(place_of_fault([](const JsonReader& r) { r.at("real").list(); }), "file: /real");
  EXPECT_EQ(place_of_fault([](const JsonReader& r) { r.text("real", "y"); }), "file: /real");
  EXPECT_EQ(place_of_fault([](const JsonReader& r) { r.expect("text", "y"); }), "file: /text");
  EXPECT_EQ(place_of_fault([](const JsonReader& r) { r.expect("real", 1); }), "file: /real");
}

TEST(JsonReader, PointsInsideOfListsAndEscapesKeys) {
  EXPECT_EQ(place_of_fault([](const JsonReader& r) { r.at("a/b").at("list").items()[1].count(); }),
            "file: /a~1b/list/1");
  EXPECT_EQ(place_of_fault([](const JsonReader& r) { r.at("a/b").at("x"); }), "file: /a~1b/x");
  EXPECT_EQ(place_of_fault([](const JsonReader& r) {
              r.refuse_unknown({"real", "truth"});
            }),
            "file: /minus");
}

}  // namespace
}  // namespace alibi
