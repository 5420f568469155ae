// SVG to PNG by whatever program the machine has for it.
#pragma once

#include <filesystem>

namespace alibi {

// Writes `png` (twice the picture's size) by rsvg-convert. False, and nothing is written, where
// that is not installed or cannot read the picture.
bool write_png(const std::filesystem::path& svg, const std::filesystem::path& png);

}  // namespace alibi
