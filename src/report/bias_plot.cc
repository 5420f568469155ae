// bias_svg: attention biases as heat maps. A bias depends on the distance alone, so a head is drawn
// as nested staircases, one path per colour: "all cells at least d tokens back", later ones on top.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/strings.h"
#include "report/plot.h"
#include "report/svg.h"
#include "report/table.h"

namespace alibi {
namespace {

constexpr double kWidth = 760, kLeft = 46, kBarRoom = 96, kGap = 16, kCaption = 20;
constexpr int kLevels = 64;          // colours of one scale: keeps the paths few
constexpr double kLinearPart = 300;  // biases below 1/300 of the largest are on the linear foot
constexpr const char* kFrame = R"(class="axis" fill="none" stroke="#57606a" stroke-width="0.8")";

using Colour = std::array<double, 3>;
// Viridis (Smith and van der Walt, 2015) from no bias to the largest penalty, in nine stops.
constexpr Colour kPenalty[] = {{253, 231, 37}, {170, 220, 50}, {94, 201, 98},
                               {40, 174, 128}, {33, 145, 140}, {44, 114, 142},
                               {59, 82, 139},  {71, 45, 123},  {68, 1, 84}};

// Of the scale: 0 at no bias, 1 at the largest size, logarithmic in between.
double share(double size, double largest) {
  return largest > 0 ? std::log1p(size * kLinearPart / largest) / std::log1p(kLinearPart) : 0;
}

std::string colour_at(double share) {
  const double level = std::round(share * kLevels) / kLevels;
  constexpr std::size_t kLast = std::size(kPenalty) - 1;
  const double at = level * static_cast<double>(kLast);
  const std::size_t stop = std::min(static_cast<std::size_t>(at), kLast - 1);
  const double part = at - static_cast<double>(stop);
  std::array<unsigned char, 3> bytes{};
  for (std::size_t i = 0; i < 3; ++i) {
    bytes[i] = static_cast<unsigned char>(
        std::lround(kPenalty[stop][i] * (1 - part) + kPenalty[stop + 1][i] * part));
  }
  return cat("#", lower_hex(bytes));
}

struct Grid {
  std::size_t columns = 1, rows = 1;
  double panel = 0;           // side in px
  std::int64_t length = 0;    // tokens along a side
  std::int64_t cells = 0;     // along a side
  std::int64_t per_cell = 1;  // tokens
  double largest = 0;         // size of a bias

  static constexpr double kTop = 58;  // of the first panel's caption
  Xy corner(std::size_t head) const {
    return {kLeft + static_cast<double>(head % columns) * (panel + kGap),
            kTop + static_cast<double>(head / columns) * (panel + kCaption + kGap) + kCaption};
  }
  double height() const {
    return kTop + static_cast<double>(rows) * (panel + kCaption + kGap) + 34;
  }
};

std::size_t columns_for(std::size_t heads) {
  if (heads <= 3) return std::max<std::size_t>(heads, 1);
  if (heads == 5 || heads == 6 || heads == 9) return 3;
  return heads <= 16 ? 4 : heads <= 36 ? 6 : 8;
}

Grid lay_out(const std::vector<double>& slopes, std::int64_t length) {
  Grid grid;
  grid.columns = columns_for(slopes.size());
  grid.rows = (slopes.size() + grid.columns - 1) / grid.columns;
  const double columns = static_cast<double>(grid.columns);
  grid.panel = std::min(256.0, std::floor((kWidth - kLeft - kBarRoom - columns * kGap) / columns));
  const std::int64_t most = slopes.size() > 16 ? 64 : 128;
  grid.length = length;
  grid.per_cell = (length + most - 1) / most;
  grid.cells = (length + grid.per_cell - 1) / grid.per_cell;
  // Whole pixels per cell where there is room for them: no moire.
  const auto cells = static_cast<double>(grid.cells);
  if (grid.panel >= cells) grid.panel = std::floor(grid.panel / cells) * cells;
  for (const double slope : slopes)
    grid.largest = std::max(grid.largest, slope * static_cast<double>(length - 1));
  return grid;
}

void draw_cells(double slope, const Grid& grid, Xy corner, Svg& svg) {
  svg.raw(cat("<g transform=\"translate(", coordinate(corner.x), " ", coordinate(corner.y),
              ") scale(", significant(grid.panel / static_cast<double>(grid.cells), 8),
              ")\" shape-rendering=\"crispEdges\">"));
  std::string before;
  for (std::int64_t d = 0; d < grid.cells; ++d) {
    const double size = slope * static_cast<double>(d * grid.per_cell);
    const std::string colour = colour_at(share(size, grid.largest));
    if (colour == before) continue;
    std::string path = cat("M0 ", d);
    for (std::int64_t row = d; row < grid.cells; ++row) path += "h1v1";
    svg.raw(cat("<path fill=\"", colour, "\" d=\"", path, "H0z\"/>"));
    before = colour;
  }
  svg.raw("</g>\n");
}

// "2^-3" or "0.3"
std::string slope_text(double slope) {
  int exponent = 0;
  if (std::frexp(slope, &exponent) != 0.5) return significant(slope, 4);
  return cat("2^", exponent - 1);
}

void draw_panel(const std::vector<double>& slopes, std::size_t index, const Grid& grid, Svg& svg) {
  const Xy corner = grid.corner(index);
  const double far = grid.panel;
  const double size = far < 100 ? 10 : 11.5;
  const std::string slope = slope_text(slopes[index]);
  const std::string label = cat("head ", index + 1, ", slope ", slope);
  const bool fits = text_width(label, size) <= far + kGap - 4;
  svg.text({corner.x, corner.y - 6}, fits ? label : cat(index + 1, ": ", slope), {size});
  draw_cells(slopes[index], grid, corner, svg);
  svg.rect(corner, {far, far}, kFrame);
  const TextStyle right{10, "end", false, true};
  const TextStyle middle{11, "middle"};
  const std::string last = std::to_string(grid.length);
  if (index % grid.columns == 0) {
    svg.text({corner.x - 5, corner.y + 9}, "1", right);
    svg.text({corner.x - 5, corner.y + far}, last, right);
    svg.text_upwards({corner.x - 14, corner.y + far / 2}, "query", middle);
  }
  if (index + grid.columns >= slopes.size()) {
    svg.text({corner.x, corner.y + far + 13}, "1", {10, "start", false, true});
    svg.text({corner.x + far, corner.y + far + 13}, last, right);
    svg.text({corner.x + far / 2, corner.y + far + 14}, "key", middle);
  }
}

// Round sizes over the scale, the largest first.
std::vector<double> bar_sizes(double largest) {
  std::vector<double> sizes = {0};
  if (largest <= 0) return sizes;
  sizes.push_back(largest);
  for (int power = static_cast<int>(std::floor(std::log10(largest))); power >= -12; --power) {
    for (const double mantissa : {3.0, 1.0}) {
      const double size = mantissa * std::pow(10, power);
      if (size < largest && size > largest / kLinearPart) sizes.push_back(size);
    }
  }
  return sizes;
}

void draw_bar(const Grid& grid, Svg& svg) {
  const double x = kLeft + static_cast<double>(grid.columns) * (grid.panel + kGap) + 8;
  const double top = Grid::kTop + kCaption + 6;
  const double height =
      std::clamp(static_cast<double>(grid.rows) * (grid.panel + 36) - 36, 130.0, 260.0);
  svg.text({x, top - 12}, "bias (nats)", {11.5});
  constexpr int kSteps = kLevels + 1;
  for (int i = 0; i < kSteps; ++i) {
    svg.rect({x, top + i * height / kSteps}, {14, height / kSteps + (i + 1 < kSteps ? 0.6 : 0)},
             cat("fill=\"", colour_at(static_cast<double>(i) / kLevels), "\""));
  }
  svg.rect({x, top}, {14, height}, kFrame);
  std::vector<double> taken;
  for (const double size : bar_sizes(grid.largest)) {
    const double y = top + share(size, grid.largest) * height;
    // None closer to one drawn already than a line of text.
    if (std::ranges::any_of(taken, [&](double other) { return std::abs(y - other) < 13; }))
      continue;
    taken.push_back(y);
    svg.line({x + 14, y}, {x + 18, y}, kAxisStyle);
    svg.text({x + 22, y + 4}, significant(size > 0 ? -size : 0, 3), {11});
  }
}

}  // namespace

std::string bias_svg(const std::vector<double>& slopes, std::int64_t length) {
  const Grid grid = lay_out(slopes, length);
  const double used = kLeft + static_cast<double>(grid.columns) * (grid.panel + kGap) + kBarRoom;
  const double width = std::max(used, 640.0);
  const double height = std::max(grid.height(), Grid::kTop + kCaption + 180);
  const std::string title = cat("ALiBi: ", slopes.size(), slopes.size() == 1 ? " head" : " heads",
                                ", length ", with_commas(length));
  Svg svg(width, height, title);
  svg.text({kLeft, 25}, title, {16, "start", true});
  svg.text({kLeft, 44},
           "added to each attention score: -slope x distance to the key; future keys are blank",
           {12, "start", false, true});
  for (std::size_t i = 0; i < slopes.size(); ++i) draw_panel(slopes, i, grid, svg);
  draw_bar(grid, svg);
  std::string foot = "one colour scale, logarithmic in the size of the bias";
  if (grid.per_cell > 1)
    foot += cat("; a cell is ", grid.per_cell, " x ", grid.per_cell, " tokens");
  svg.text({kLeft, height - 9}, foot, {11, "start", false, true});
  return svg.finish();
}

}  // namespace alibi
