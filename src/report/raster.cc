#include "report/raster.h"

#include "base/files.h"
#include "base/process.h"

namespace alibi {

bool write_png(const std::filesystem::path& svg, const std::filesystem::path& png) {
  constexpr double kPatience = 60;  // seconds
  StagedPath staged(png);
  ChildProcess process({"/usr/bin/env", "rsvg-convert", "--zoom", "2", "--output",
                        staged.path().string(), svg.string()},
                       "/dev/null");
  if (!process.ended(kPatience) || process.result().code != 0) return false;
  staged.commit();
  return true;
}

}  // namespace alibi
