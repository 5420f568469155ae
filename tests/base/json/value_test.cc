// Building, finding and comparing values.
#include "base/json/value.h"

#include <gtest/gtest.h>

namespace alibi {
namespace {

TEST(JsonValue, BuildsObjectsAndListsInOrder) {
  Json json = {{"b", 1}, {"a", {{"x", nullptr}, {"y", true}}}, {"list", Json::list({1, "two"})}};
  json["c"] = std::vector<double>{0.5};
  json["b"] = 2;
  ASSERT_EQ(json.size(), 4u);
  EXPECT_EQ((*json.as_object())[0].key, "b");
  EXPECT_EQ(json.find("b")->as_integer(), 2);
  EXPECT_TRUE(json.find("a")->find("x")->is_null());
  EXPECT_EQ(*json.find("list")->as_list()->at(1).as_string(), "two");
  EXPECT_EQ(json.find("c")->as_list()->front().as_number(), 0.5);
  EXPECT_EQ(json.find("d"), nullptr);
  EXPECT_EQ(Json(1).find("d"), nullptr);
  json.erase("a");
  json.update({{"b", "new"}, {"e", 5}});
  EXPECT_EQ(*json.find("b")->as_string(), "new");
  EXPECT_EQ(json.as_object()->back().key, "e");
  EXPECT_EQ(json.size(), 4u);
}

TEST(JsonValue, TakesNoTypeForAnother) {
  EXPECT_EQ(Json(1.0).as_integer(), std::nullopt);
  EXPECT_EQ(Json(true).as_integer(), std::nullopt);
  EXPECT_EQ(Json(true).as_number(), std::nullopt);
  EXPECT_EQ(Json(1).as_bool(), std::nullopt);
  EXPECT_EQ(Json(~0ull).as_integer(), std::nullopt);
  EXPECT_EQ(Json(~0ull).as_number(), 0x1p64);
  EXPECT_EQ(Json(std::size_t{7}).as_integer(), 7);
  EXPECT_EQ(Json("7").as_number(), std::nullopt);
}

TEST(JsonValue, ComparesObjectsByKeyAndNumbersByValue) {
  const Json a = {{"x", 1}, {"y", Json::list({1, 2})}}, b = {{"y", Json::list({1.0, 2})}, {"x", 1}};
  EXPECT_EQ(a, b);
  EXPECT_FALSE(a == Json({{"x", 1}, {"z", Json::list({1, 2})}}));
  EXPECT_FALSE(Json::list({1, 2}) == Json::list({2, 1}));
  EXPECT_FALSE(Json(1) == Json(true));
  EXPECT_FALSE(Json(nullptr) == Json(0));
}

TEST(JsonValue, EscapesPartsOfPointers) { EXPECT_EQ(pointer_part("a/b~c"), "a~1b~0c"); }

}  // namespace
}  // namespace alibi
