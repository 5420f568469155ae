// manifest.json: what a folder of ours holds, with the SHA-256 of every file and tensor.
//
//   {
//   "format_version": 1,
//   "files": [
//   {"name": "weights.safetensors", "size": 1234, "sha256": "64 hex digits"},
//   ...],
//   "tensors": [
//   {"file": "weights.safetensors", "name": "head.weight", "sha256": "64 hex digits"},
//   ...],
//   "checksum": "SHA-256 of every byte before the quote that opens \"checksum\""
//   }
//
// One content has one spelling: a manifest that differs from it in any byte is refused. File names
// stay in the folder: no '/', no "..", nothing hidden, at most 255 bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace alibi {

inline constexpr const char* kManifestName = "manifest.json";

struct ManifestFile {
  std::string name;
  std::uint64_t size = 0;
  std::string sha256;
  bool operator==(const ManifestFile&) const = default;
};

struct ManifestTensor {
  std::string file;  // one of the files
  std::string name;
  std::string sha256;
  bool operator==(const ManifestTensor&) const = default;
};

struct Manifest {
  std::vector<ManifestFile> files;
  std::vector<ManifestTensor> tensors;
  const ManifestFile* find(std::string_view name) const;  // nullptr when it is not listed
  bool operator==(const Manifest&) const = default;
};

std::string manifest_text(const Manifest& manifest);

// Throws Error headed by `place`. read_manifest wants FOLDER/manifest.json, a regular file of at
// most 64 MiB and not a link.
Manifest parse_manifest(std::string_view text, const std::string& place);
Manifest read_manifest(const std::filesystem::path& folder);

// Reads every listed file: one fault for each that is missing, no regular file, of another size or
// of other content. Where tensors are listed, the fault names the first that changed. Empty means
// all is as it was written. Files that are not listed are not looked at.
std::vector<Fault> manifest_faults(const Manifest& manifest, const std::filesystem::path& folder);

}  // namespace alibi
