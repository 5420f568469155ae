// A prepared folder is made once: filled under another name, which one rename makes its own. A lock
// keeps two processes from making the same one. What fails or is killed leaves nothing that counts.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "data/prepared.h"

namespace alibi {

// Writes prepared text into a folder, which is there and empty.
using FillFolder = std::function<void(const std::filesystem::path& folder)>;

// Opens `folder` where it is sound, else makes it, with the folders above it; waits while another
// process does. Throws what `fill` throws, and Error where the folder cannot be made; what stood
// there unsound then stands there still.
PreparedText open_or_make(const std::filesystem::path& folder, const FillFolder& fill,
                          const PrepareProgress& progress);

// Makes `folder`, which is not there. Throws as above, and LockHeld when another process makes it.
PreparedText make_prepared(const std::filesystem::path& folder, const FillFolder& fill);

}  // namespace alibi
