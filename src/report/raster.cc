#include "report/raster.h"

#include "base/files.h"
#include "base/process.h"

namespace alibi {

bool write_png(const std::filesystem::path& svg, const std::filesystem::path& png) {
  constexpr double kPatience = 60;  // seconds
  const std::filesystem::path aside = png.string() + ".tmp";
  ChildProcess process(
      {"/usr/bin/env", "rsvg-convert", "--zoom", "2", "--output", aside.string(), svg.string()},
      "/dev/null");
  const bool made = process.ended(kPatience) && process.result().code == 0;
  if (made) {
    rename_durably(aside, png);
  } else {
    remove_tree(aside);
  }
  return made;
}

}  // namespace alibi
