// Pages are filled by name, and no text of a value becomes markup.
#include "report/template.h"

#include <gtest/gtest.h>

#include <cmath>

namespace alibi {
namespace {

TEST(Template, EscapesUnlessToldNotTo) {
  const Json values = {{"name", "<b>&\"'"}, {"svg", "<svg/>"}, {"nothing", nullptr}};
  EXPECT_EQ(fill("a {{name}} {{{svg}}}{{nothing}} {c}", values),
            "a &lt;b&gt;&amp;&quot;&#39; <svg/> {c}");
}

TEST(Template, WritesFiguresByTheirFormat) {
  const Json values = {{"n", 12345}, {"x", -0.0234}, {"x_low", -0.03}, {"x_high", 0.5},
                       {"y", NAN},   {"y_low", NAN}, {"y_high", 1.0},  {"z", nullptr}};
  EXPECT_EQ(fill("{{n:commas}} {{n:count}} {{x:percent}} {{x:percent ..}} {{x:signed}}", values),
            "12,345 12.3k -2.3 % -3.0 % to +50.0 % -0.0234");
  EXPECT_EQ(fill("{{y:four}} {{y:four ..}} {{z:bytes}}", values), "- - -");
}

TEST(Template, RepeatsItemsAndLooksOutwards) {
  const Json values = {{"unit", "x"},
                       {"rows", Json::list({{{"n", 1}}, {{"n", 2}, {"unit", "y"}}})},
                       {"none", Json::list()},
                       {"grid", Json::list({Json::list({1, 2}), Json::list({3})})}};
  EXPECT_EQ(
      fill("{{#rows}}{{n}}{{unit}} {{/rows}}{{#none}}no{{/none}}{{^none}}none{{/none}}", values),
      "1x 2y none");
  EXPECT_EQ(fill("{{#grid}}[{{#.}}{{.}};{{/.}}]{{/grid}}", values), "[1;2;][3;]");
}

TEST(Template, ShowsWhatHolds) {
  const Json values = {{"yes", true},     {"no", false}, {"zero", 0},      {"one", 1},
                       {"text", "words"}, {"empty", ""}, {"nan", NAN},     {"object", {{"in", 5}}},
                       {"five", 5.0},     {"other", 6},  {"null", nullptr}};
  for (const std::string name : {"yes", "one", "text", "object"})
    EXPECT_EQ(fill("{{#" + name + "}}+{{/" + name + "}}{{^" + name + "}}-{{/}}", values), "+")
        << name;
  for (const std::string name : {"no", "zero", "empty", "nan", "null"})
    EXPECT_EQ(fill("{{#" + name + "}}+{{/" + name + "}}{{^" + name + "}}-{{/}}", values), "-")
        << name;
  EXPECT_EQ(fill("{{#object}}{{#in==five}}same{{/}}{{^in==other}} not{{/}}{{/object}}", values),
            "same not");
}

TEST(Template, IncludesFilesAndLeavesOutTheLineEndsOfSections) {
  const Json table = {{"columns", Json::list({"a<"})}, {"rows", Json::list({Json::list({"1"})})}};
  const std::string html = fill("{{#table}}\n{{>table.html}}{{/table}}\n", {{"table", table}});
  EXPECT_EQ(html,
            "<div class=\"wide\"><table>\n<thead><tr><th>a&lt;</th></tr></thead>\n<tbody>\n"
            "<tr><td>1</td></tr>\n</tbody></table></div>\n");
  EXPECT_NE(page_file("page.css").find("--accent"), std::string_view::npos);
}

TEST(Template, AFaultyPageIsOurOwnFault) {
  for (const char* text :
       {"{{missing}}", "{{#a}}", "{{/a}}", "{{a", "{{a:nonsense}}", "{{>no.html}}"})
    EXPECT_DEATH(fill(text, {{"a", 1}}), "") << text;
}

}  // namespace
}  // namespace alibi
