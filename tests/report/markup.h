// A strict little reader of XML, enough to prove that our SVG and HTML are well formed and to look
// into them. Fails the test (ADD_FAILURE) at the first fault.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "base/strings.h"

namespace alibi::test {

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;  // of this element alone, entities resolved
  double number(const std::string& key) const {
    return std::strtod(attributes.at(key).c_str(), nullptr);
  }
};

inline std::string resolve(std::string text) {
  const std::pair<const char*, const char*> names[] = {
      {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}};
  for (std::size_t at = 0; (at = text.find('&', at)) != std::string::npos; ++at) {
    bool known = false;
    for (const auto& [name, value] : names) {
      if (text.compare(at, std::string(name).size(), name) != 0) continue;
      text.replace(at, std::string(name).size(), value);
      known = true;
      break;
    }
    if (!known) ADD_FAILURE() << "a bare & at " << text.substr(at, 20);
  }
  return text;
}

// Reads `name="value"` pairs; leaves the rest ("" or "/").
inline std::map<std::string, std::string> read_attributes(std::string& tag) {
  std::map<std::string, std::string> attributes;
  while (true) {
    tag.erase(0, tag.find_first_not_of(" \n"));
    const std::size_t equals = tag.find("=\"");
    if (equals == std::string::npos) return attributes;
    const std::size_t end = tag.find('"', equals + 2);
    if (end == std::string::npos) return attributes;
    const std::string value = tag.substr(equals + 2, end - equals - 2);
    EXPECT_EQ(value.find('<'), std::string::npos) << value;
    EXPECT_TRUE(attributes.emplace(tag.substr(0, equals), resolve(value)).second)
        << "twice: " << tag;
    tag.erase(0, end + 1);
  }
}

inline std::vector<Element> read_markup(const std::string& markup) {
  EXPECT_EQ(first_invalid_utf8(markup), std::string::npos);
  for (const char c : markup) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t')
      ADD_FAILURE() << "control character";
  }
  std::vector<Element> elements;
  std::vector<std::size_t> open;
  std::size_t at = 0;
  while (at < markup.size()) {
    const std::size_t start = std::min(markup.find('<', at), markup.size());
    const std::string text = resolve(markup.substr(at, start - at));
    if (!open.empty()) elements[open.back()].text += text;
    if (start == markup.size()) break;
    const std::size_t end = markup.find('>', start);
    if (end == std::string::npos) {
      ADD_FAILURE() << "a tag without its end";
      break;
    }
    std::string tag = markup.substr(start + 1, end - start - 1);
    at = end + 1;
    if (tag.starts_with("!DOCTYPE")) continue;
    if (tag.starts_with("/")) {
      if (open.empty() || elements[open.back()].name != tag.substr(1)) {
        ADD_FAILURE() << "unexpected end tag " << tag;
        break;
      }
      open.pop_back();
      continue;
    }
    Element element;
    element.name = tag.substr(0, tag.find_first_of(" /\n"));
    tag.erase(0, element.name.size());
    element.attributes = read_attributes(tag);
    EXPECT_TRUE(tag.empty() || tag == "/") << "rest of a tag: " << tag;
    elements.push_back(element);
    if (tag.empty() && element.name != "meta") open.push_back(elements.size() - 1);
  }
  EXPECT_TRUE(open.empty()) << "not closed: " << elements[open.back()].name;
  return elements;
}

inline std::vector<Element> named(const std::vector<Element>& elements, const std::string& name) {
  std::vector<Element> found;
  for (const Element& element : elements) {
    if (element.name == name) found.push_back(element);
  }
  return found;
}

// The attributes of text boxes of the same size class: whether any element's text equals `text`.
inline bool has_text(const std::vector<Element>& elements, const std::string& text) {
  for (const Element& element : elements) {
    if (element.text == text) return true;
  }
  return false;
}

// The texts of all elements, one a line.
inline std::string text_lines(const std::vector<Element>& elements) {
  std::string lines;
  for (const Element& element : elements) lines += element.text + "\n";
  return lines;
}

}  // namespace alibi::test
