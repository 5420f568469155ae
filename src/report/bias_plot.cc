// bias_svg: attention biases as heat maps. A bias depends on the distance alone, so a head is drawn
// as nested staircases, one path per colour: "all cells at least d tokens back", later ones on top.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/strings.h"
#include "report/plot.h"
#include "report/svg.h"
#include "report/table.h"

namespace alibi {
namespace {

constexpr double kWidth = 760, kLeft = 46, kBarRoom = 96, kGap = 16, kCaption = 20;
constexpr int kLevels = 64;          // colours of one scale: keeps the paths few
constexpr double kLinearPart = 300;  // biases below 1/300 of the largest are on the linear foot

using Colour = std::array<double, 3>;
// Viridis (Smith and van der Walt, 2015) from no bias to the largest penalty, in nine stops.
constexpr Colour kPenalty[] = {{253, 231, 37}, {170, 220, 50}, {94, 201, 98},
                               {40, 174, 128}, {33, 145, 140}, {44, 114, 142},
                               {59, 82, 139},  {71, 45, 123},  {68, 1, 84}};
// Only where some bias is positive (T5): blue below 0, grey at 0, red above.
constexpr Colour kSigned[] = {
    {178, 24, 43}, {239, 138, 98}, {226, 226, 226}, {103, 169, 207}, {33, 102, 172}};

struct Scale {
  double largest = 0;  // of |bias|
  bool with_sign = false;

  // 0 at no bias, 1 at the largest size, logarithmic in between.
  double share(double size) const {
    return largest > 0 ? std::log1p(size * kLinearPart / largest) / std::log1p(kLinearPart) : 0;
  }
  // Where on the bar, 0 at the top: the most positive value to the most negative one.
  double place(double bias) const {
    const double size = share(std::abs(bias));
    return with_sign ? 0.5 + (bias < 0 ? size : -size) / 2 : size;
  }
};

std::string colour_at(const Scale& scale, double place) {
  const double level = std::round(std::clamp(place, 0.0, 1.0) * kLevels) / kLevels;
  const Colour* stops = scale.with_sign ? kSigned : kPenalty;
  const std::size_t last = (scale.with_sign ? std::size(kSigned) : std::size(kPenalty)) - 1;
  const double at = level * static_cast<double>(last);
  const std::size_t stop = std::min(static_cast<std::size_t>(at), last - 1);
  const double part = at - static_cast<double>(stop);
  std::array<unsigned char, 3> bytes{};
  for (std::size_t i = 0; i < 3; ++i) {
    bytes[i] = static_cast<unsigned char>(
        std::lround(stops[stop][i] * (1 - part) + stops[stop + 1][i] * part));
  }
  return cat("#", lower_hex(bytes));
}

struct Grid {
  std::size_t columns = 1, rows = 1;
  double panel = 0;           // side in px
  double top = 0;             // of the first panel's caption
  std::int64_t cells = 0;     // along a side
  std::int64_t per_cell = 1;  // tokens
  Scale scale;
  double caption_size = 12;
  int caption_form = 0;

  Xy corner(std::size_t head) const {
    return {kLeft + static_cast<double>(head % columns) * (panel + kGap),
            top + static_cast<double>(head / columns) * (panel + kCaption + kGap) + kCaption};
  }
  double height() const { return top + static_cast<double>(rows) * (panel + kCaption + kGap) + 34; }
};

std::size_t columns_for(std::size_t heads) {
  if (heads <= 3) return std::max<std::size_t>(heads, 1);
  if (heads == 5 || heads == 6 || heads == 9) return 3;
  return heads <= 16 ? 4 : heads <= 36 ? 6 : 8;
}

void find_scale(const BiasPlot& plot, Scale& scale) {
  for (const BiasHead& head : plot.heads) {
    ensure(static_cast<std::int64_t>(head.by_distance.size()) >= plot.length,
           "a bias for every distance");
    for (std::int64_t d = 0; d < plot.length; ++d) {
      const double bias = head.by_distance[static_cast<std::size_t>(d)];
      if (!std::isfinite(bias)) continue;
      scale.largest = std::max(scale.largest, std::abs(bias));
      scale.with_sign = scale.with_sign || bias > 0;
    }
  }
}

Grid lay_out(const BiasPlot& plot) {
  Grid grid;
  const std::size_t heads = plot.heads.size();
  grid.columns = columns_for(heads);
  grid.rows = (heads + grid.columns - 1) / grid.columns;
  const double columns = static_cast<double>(grid.columns);
  grid.panel = std::min(256.0, std::floor((kWidth - kLeft - kBarRoom - columns * kGap) / columns));
  grid.top = plot.subtitle.empty() ? 40 : 58;
  const std::int64_t most = heads > 16 ? 64 : 128;
  grid.per_cell = (plot.length + most - 1) / most;
  grid.cells = grid.per_cell > 0 ? (plot.length + grid.per_cell - 1) / grid.per_cell : 0;
  // Whole pixels per cell where there is room for them: no moire.
  const auto cells = static_cast<double>(std::max<std::int64_t>(grid.cells, 1));
  if (grid.panel >= cells) grid.panel = std::floor(grid.panel / cells) * cells;
  find_scale(plot, grid.scale);
  return grid;
}

void draw_cells(const BiasHead& head, const Grid& grid, Xy corner, Svg& svg) {
  const double side = grid.panel / static_cast<double>(std::max<std::int64_t>(grid.cells, 1));
  svg.raw(cat("<g transform=\"translate(", coordinate(corner.x), " ", coordinate(corner.y),
              ") scale(", significant(side, 8), ")\" shape-rendering=\"crispEdges\">"));
  std::string before;
  for (std::int64_t d = 0; d < grid.cells; ++d) {
    const double bias = head.by_distance[static_cast<std::size_t>(d * grid.per_cell)];
    const std::string colour = colour_at(grid.scale, grid.scale.place(bias));
    if (colour == before) continue;
    std::string path = cat("M0 ", d);
    for (std::int64_t row = d; row < grid.cells; ++row) path += "h1v1";
    svg.raw(cat("<path fill=\"", colour, "\" d=\"", path, "H0z\"/>"));
    before = colour;
  }
  svg.raw("</g>\n");
}

// Forms of a caption from long to short: "head 3, slope 2^-3 = 0.125", "head 3, slope 2^-3", "3:
// 2^-3".
constexpr int kForms = 3;

struct Caption {
  std::string before, exponent, after;  // exponent: drawn raised after a 2, or empty
  double width(double size) const { return text_width(before + exponent + after, size); }
};

Caption caption(const BiasHead& head, std::size_t number, int form) {
  const std::string start = form == 2 ? cat(number, "") : cat("head ", number);
  if (!std::isfinite(head.slope)) return {start, "", ""};
  const std::string named = start + (form == 2 ? ": " : ", slope ");
  int exponent = 0;
  if (std::frexp(head.slope, &exponent) != 0.5)
    return {named + significant(head.slope, form == 0 ? 4 : 3), "", ""};
  return {named + "2", std::to_string(exponent - 1),
          form == 0 ? " = " + significant(head.slope, 7) : ""};
}

// The longest form that fits every head, so that all captions look alike.
int caption_form(const BiasPlot& plot, double width, double size) {
  for (int form = 0; form + 1 < kForms; ++form) {
    std::size_t fitting = 0;
    for (std::size_t i = 0; i < plot.heads.size(); ++i) {
      fitting += caption(plot.heads[i], i + 1, form).width(size) <= width;
    }
    if (fitting == plot.heads.size()) return form;
  }
  return kForms - 1;
}

void draw_caption(const Caption& caption, double size, Xy at, Svg& svg) {
  svg.raw(cat("<text x=\"", coordinate(at.x), "\" y=\"", coordinate(at.y), "\" font-size=\"", size,
              "\" class=\"ink\" fill=\"#1f2328\">", escape_markup(caption.before)));
  if (!caption.exponent.empty()) {
    svg.raw(cat("<tspan dy=\"-4\" font-size=\"", size - 2.5, "\">", caption.exponent,
                "</tspan><tspan dy=\"4\">", caption.after, "</tspan>"));
  }
  svg.raw("</text>\n");
}

void draw_panel(const BiasPlot& plot, std::size_t index, const Grid& grid, Svg& svg) {
  const Xy corner = grid.corner(index);
  const double far = grid.panel;
  draw_caption(caption(plot.heads[index], index + 1, grid.caption_form), grid.caption_size,
               {corner.x, corner.y - 6}, svg);
  draw_cells(plot.heads[index], grid, corner, svg);
  svg.rect(corner, {far, far}, R"(class="axis" fill="none" stroke="#57606a" stroke-width="0.8")");
  const TextStyle right{10, "end", false, true};
  const TextStyle middle{11, "middle"};
  if (index % grid.columns == 0) {
    svg.text({corner.x - 5, corner.y + 9}, "1", right);
    svg.text({corner.x - 5, corner.y + far}, std::to_string(plot.length), right);
    svg.text_upwards({corner.x - 14, corner.y + far / 2}, "query", middle);
  }
  if (index + grid.columns >= plot.heads.size()) {
    svg.text({corner.x, corner.y + far + 13}, "1", {10, "start", false, true});
    svg.text({corner.x + far, corner.y + far + 13}, std::to_string(plot.length), right);
    svg.text({corner.x + far / 2, corner.y + far + 14}, "key", middle);
  }
}

// Round values over the scale; none closer to the last one drawn than a line of text.
std::vector<double> bar_values(const Scale& scale) {
  std::vector<double> values = {0};
  if (scale.largest <= 0) return values;
  const auto add = [&](double size) {
    values.push_back(-size);
    if (scale.with_sign) values.push_back(size);
  };
  add(scale.largest);
  for (int power = static_cast<int>(std::floor(std::log10(scale.largest))); power >= -12; --power) {
    for (const double mantissa : {3.0, 1.0}) {
      const double size = mantissa * std::pow(10, power);
      if (size < scale.largest && size > scale.largest / kLinearPart) add(size);
    }
  }
  return values;
}

void draw_bar(const Grid& grid, Svg& svg) {
  const double x = kLeft + static_cast<double>(grid.columns) * (grid.panel + kGap) + 8;
  const double top = grid.top + kCaption + 6;
  const double height =
      std::max(130.0, std::min(260.0, static_cast<double>(grid.rows) * (grid.panel + 36) - 36));
  svg.text({x, top - 12}, "bias (nats)", {11.5});
  constexpr int kSteps = kLevels + 1;
  for (int i = 0; i < kSteps; ++i) {
    const double share = static_cast<double>(i) / kLevels;
    const std::string colour = colour_at(grid.scale, share);
    svg.rect({x, top + i * height / kSteps}, {14, height / kSteps + (i + 1 < kSteps ? 0.6 : 0)},
             cat("fill=\"", colour, "\""));
  }
  svg.rect({x, top}, {14, height},
           R"(class="axis" fill="none" stroke="#57606a" stroke-width="0.8")");
  std::vector<double> taken;
  for (const double value : bar_values(grid.scale)) {
    const double y = top + grid.scale.place(value) * height;
    if (std::any_of(taken.begin(), taken.end(),
                    [&](double other) { return std::abs(y - other) < 13; }))
      continue;
    taken.push_back(y);
    svg.line({x + 14, y}, {x + 18, y}, kAxisStyle);
    svg.text({x + 22, y + 4}, significant(value, 3), {11});
  }
}

}  // namespace

BiasPlot alibi_bias_plot(const std::vector<double>& slopes, std::int64_t length) {
  BiasPlot plot;
  plot.title = cat("ALiBi: ", slopes.size(), slopes.size() == 1 ? " head" : " heads", ", length ",
                   with_commas(length));
  plot.subtitle =
      "added to each attention score: -slope x distance to the key; future keys are blank";
  plot.length = length;
  for (const double slope : slopes) {
    BiasHead head{slope, {}};
    for (std::int64_t d = 0; d < length; ++d)
      head.by_distance.push_back(-slope * static_cast<double>(d));
    plot.heads.push_back(std::move(head));
  }
  return plot;
}

std::string bias_svg(const BiasPlot& plot) {
  Grid grid = lay_out(plot);
  grid.caption_size = grid.panel < 100 ? 10 : 11.5;
  grid.caption_form = caption_form(plot, grid.panel + kGap - 4, grid.caption_size);
  const double used = kLeft + static_cast<double>(grid.columns) * (grid.panel + kGap) + kBarRoom;
  const double width = std::max(used, 640.0);
  const double height = std::max(grid.height(), grid.top + kCaption + 180);
  Svg svg(width, height, plot.title);
  svg.text({kLeft, 25}, shorten(plot.title, 16, width - kLeft - 8), {16, "start", true});
  svg.text({kLeft, 44}, shorten(plot.subtitle, 12, width - kLeft - 8), {12, "start", false, true});
  for (std::size_t i = 0; i < plot.heads.size(); ++i) draw_panel(plot, i, grid, svg);
  if (!plot.heads.empty()) draw_bar(grid, svg);
  std::string foot = "one colour scale, logarithmic in the size of the bias";
  if (grid.per_cell > 1)
    foot += cat("; a cell is ", grid.per_cell, " x ", grid.per_cell, " tokens");
  svg.text({kLeft, height - 9}, foot, {11, "start", false, true});
  return svg.finish();
}

}  // namespace alibi
