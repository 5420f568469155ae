#include "report/svg.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"

namespace alibi {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

std::string escaped(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    case '\n':
    case '\t':
      return std::string(1, c);
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f ? std::string(kReplacement) : std::string(1, c);
}

std::string points_attribute(const std::vector<Xy>& points) {
  std::string text = "points=\"";
  for (const Xy& point : points) {
    if (&point != points.data()) text += ' ';
    text += coordinate(point.x) + ',' + coordinate(point.y);
  }
  return text + '"';
}

std::string text_attributes(const TextStyle& style) {
  return cat(style.muted ? R"(class="muted" fill="#57606a")" : R"(class="ink" fill="#1f2328")",
             " font-size=\"", coordinate(style.size), "\" text-anchor=\"", style.anchor, "\"",
             style.bold ? " font-weight=\"600\"" : "");
}

}  // namespace

std::string escape_markup(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t good = std::min(first_invalid_utf8(text), text.size());
    for (const char c : text.substr(0, good)) result += escaped(c);
    if (good == text.size()) break;
    result += kReplacement;
    text.remove_prefix(good + 1);
  }
  // U+FFFE and U+FFFF are valid UTF-8 and forbidden in XML.
  for (const std::string_view forbidden : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) {
    for (std::size_t at; (at = result.find(forbidden)) != std::string::npos;) {
      result.replace(at, forbidden.size(), kReplacement);
    }
  }
  return result;
}

std::string coordinate(double value) {
  if (!std::isfinite(value)) return "0";
  std::string text = fixed(value, 2);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

double text_width(std::string_view text, double size) {
  double units = 0;  // advance widths of DejaVu Sans, the widest of the usual fonts, rounded up
  for (const char c : text) {
    if (inside_character(c)) continue;
    if (static_cast<unsigned char>(c) >= 0x80)
      units += 1;
    else if (std::string_view("iljtfr.,:;|!'()[]/ I-").find(c) != std::string_view::npos)
      units += 0.42;
    else if (std::string_view("mwMW%@").find(c) != std::string_view::npos)
      units += 1;
    else
      units += c >= 'A' && c <= 'Z' ? 0.72 : 0.64;
  }
  return units * size;
}

std::string shorten(std::string_view text, double size, double width) {
  if (text_width(text, size) <= width) return std::string(text);
  std::string kept;
  for (const char c : text) {
    if (!inside_character(c) && text_width(kept + c + "...", size) > width) break;
    kept += c;
  }
  return kept + "...";
}

std::vector<std::string> wrapped(std::string_view text, double size, double width) {
  std::vector<std::string> lines;
  if (text.empty()) return lines;
  for (const std::string& word : split(text, ' ')) {
    const std::string longer = lines.empty() ? word : cat(lines.back(), " ", word);
    if (lines.empty() || text_width(longer, size) > width)
      lines.push_back(shorten(word, size, width));
    else
      lines.back() = longer;
  }
  return lines;
}

Svg::Svg(double width, double height, std::string_view title) {
  const std::string size = cat(coordinate(width), " ", coordinate(height));
  markup_ =
      cat(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 )", size, "\" width=\"",
          coordinate(width), "\" height=\"", coordinate(height), "\" role=\"img\" aria-label=\"",
          escape_markup(title),
          "\" font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\">\n");
  rect({0, 0}, {width, height}, R"(class="paper" fill="#ffffff")");
}

void Svg::line(Xy from, Xy to, std::string_view style) {
  raw(cat("<line x1=\"", coordinate(from.x), "\" y1=\"", coordinate(from.y), "\" x2=\"",
          coordinate(to.x), "\" y2=\"", coordinate(to.y), "\" ", style, "/>\n"));
}

void Svg::polyline(const std::vector<Xy>& points, std::string_view style) {
  raw(cat("<polyline ", points_attribute(points), " ", style, "/>\n"));
}

void Svg::polygon(const std::vector<Xy>& points, std::string_view style) {
  raw(cat("<polygon ", points_attribute(points), " ", style, "/>\n"));
}

void Svg::rect(Xy corner, Xy size, std::string_view style) {
  raw(cat("<rect x=\"", coordinate(corner.x), "\" y=\"", coordinate(corner.y), "\" width=\"",
          coordinate(size.x), "\" height=\"", coordinate(size.y), "\" ", style, "/>\n"));
}

void Svg::text(Xy at, std::string_view text, const TextStyle& style) {
  raw(cat("<text x=\"", coordinate(at.x), "\" y=\"", coordinate(at.y), "\" ",
          text_attributes(style), ">", escape_markup(text), "</text>\n"));
}

void Svg::text_upwards(Xy at, std::string_view text, const TextStyle& style) {
  raw(cat("<text transform=\"translate(", coordinate(at.x), " ", coordinate(at.y),
          ") rotate(-90)\" ", text_attributes(style), ">", escape_markup(text), "</text>\n"));
}

void Svg::raw(std::string_view markup) { markup_ += markup; }

std::string Svg::finish() { return markup_ + "</svg>\n"; }

}  // namespace alibi
