// SVG 1.1 by hand: shapes with light colours as attributes and a class beside them.
//
// Attributes suit printing and plain rasterisers; a page may override the classes for a dark screen
// (templates/page.css): paper, ink, muted, grid, axis, and stroke0 .. stroke6, fill0 .. fill6
// (series). No ids and no style element, so that many pictures fit into one page.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace alibi {

// Okabe and Ito's colour-blind-safe palette without its yellow, which white paper swallows.
inline constexpr std::array<const char*, 7> kSeriesColours = {
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"};

struct Xy {
  double x = 0;
  double y = 0;
};

// For element text and quoted attributes of SVG and HTML: & < > " ' escaped; what XML 1.0 forbids
// (control characters, invalid UTF-8) becomes U+FFFD.
std::string escape_markup(std::string_view text);
std::string coordinate(double value);  // at most two decimals, no trailing zeros
// A width that the text does not exceed in any usual sans-serif font, in px at `size` px.
double text_width(std::string_view text, double size);
// The text, or its start and "..." when it would be wider than `width`.
std::string shorten(std::string_view text, double size, double width);
// The text broken at blanks into lines of at most that width; longer words are shortened.
std::vector<std::string> wrapped(std::string_view text, double size, double width);

// Styles: attribute strings handed to the shapes below.
inline constexpr std::string_view kGridStyle = R"(class="grid" stroke="#dfe3e8" stroke-width="1")";
inline constexpr std::string_view kAxisStyle = R"(class="axis" stroke="#57606a" stroke-width="1")";
inline constexpr std::string_view kMarkStyle =
    R"(class="axis" stroke="#57606a" stroke-width="1.2" stroke-dasharray="5 4")";

struct TextStyle {
  double size = 12;
  const char* anchor = "start";  // start, middle, end
  bool bold = false;
  bool muted = false;
};

class Svg {
 public:
  // `title` is what a screen reader says; the paper is white, or what the page makes of it.
  Svg(double width, double height, std::string_view title);
  void line(Xy from, Xy to, std::string_view style);
  void polyline(const std::vector<Xy>& points, std::string_view style);
  void polygon(const std::vector<Xy>& points, std::string_view style);
  void rect(Xy corner, Xy size, std::string_view style);
  void text(Xy at, std::string_view text, const TextStyle& style);
  void text_upwards(Xy at, std::string_view text,
                    const TextStyle& style);  // turned left by 90 degrees
  void raw(std::string_view markup);          // already escaped
  std::string finish();                       // the document; call once

 private:
  std::string markup_;
};

}  // namespace alibi
