#include "formats/manifest.h"

#include <set>
#include <system_error>
#include <utility>

#include "base/checksums.h"
#include "base/files.h"
#include "base/mapped_file.h"
#include "base/strings.h"
#include "formats/safetensors.h"
#include "formats/strict_json.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kFormatVersion = 1;
constexpr std::uint64_t kLargestManifest = 64ull << 20;
constexpr JsonLimits kManifestLimits{.depth = 3, .values = 1'000'000};

bool stays_in_folder(std::string_view name) {
  if (name.empty() || name.size() > 255 || name.front() == '.' || name == kManifestName)
    return false;
  for (const char c : name) {
    if (c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return true;
}

const std::string& parse_digest(const StrictObject& entry, const std::string& place) {
  const std::string& text = as_string(required(entry, "sha256", place), place + ": sha256");
  if (text.size() != 64 || text.find_first_not_of("0123456789abcdef") != text.npos) {
    throw Error(place + ": sha256", "is not 64 lower-case hexadecimal digits");
  }
  return text;
}

std::vector<ManifestFile> parse_files(const StrictArray& list, const std::string& place) {
  std::vector<ManifestFile> files;
  std::set<std::string> names;
  for (const StrictJson& json : list) {
    const std::string here = cat(place, "/files/", files.size());
    const StrictObject& entry = as_object(json, here);
    refuse_unknown(entry, {"name", "size", "sha256"}, here);
    ManifestFile file;
    file.name = as_string(required(entry, "name", here), here + "/name");
    if (!stays_in_folder(file.name)) {
      throw Error(here + "/name", shown(file.name) + " is not a plain file name");
    }
    if (!names.insert(file.name).second) throw Error(here, shown(file.name) + " is listed twice");
    file.size = static_cast<std::uint64_t>(as_count(required(entry, "size", here), here + "/size"));
    file.sha256 = parse_digest(entry, here);
    files.push_back(std::move(file));
  }
  return files;
}

std::vector<ManifestTensor> parse_tensors(const StrictArray& list, const Manifest& manifest,
                                          const std::string& place) {
  std::set<std::string_view> files;
  for (const ManifestFile& file : manifest.files) files.insert(file.name);
  std::vector<ManifestTensor> tensors;
  std::set<std::pair<std::string, std::string>> names;
  for (const StrictJson& json : list) {
    const std::string here = cat(place, "/tensors/", tensors.size());
    const StrictObject& entry = as_object(json, here);
    refuse_unknown(entry, {"file", "name", "sha256"}, here);
    ManifestTensor tensor;
    tensor.file = as_string(required(entry, "file", here), here + "/file");
    tensor.name = as_string(required(entry, "name", here), here + "/name");
    tensor.sha256 = parse_digest(entry, here);
    if (!files.contains(tensor.file)) {
      throw Error(here + "/file", shown(tensor.file) + " is not one of the files");
    }
    if (!names.emplace(tensor.file, tensor.name).second) {
      throw Error(here, shown(tensor.name) + " is listed twice");
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

bool is_plain_file(const fs::path& path) {
  std::error_code code;
  return fs::is_regular_file(fs::symlink_status(path, code));
}

// Which tensor of a changed file is another; a header that cannot be read is a fault of its own.
Fault changed_file(const Manifest& manifest, const ManifestFile& entry, const fs::path& path) {
  Fault whole{path.string(), "its content changed since it was written (SHA-256 differs)", ""};
  bool has_tensors = false;
  for (const ManifestTensor& tensor : manifest.tensors) has_tensors |= tensor.file == entry.name;
  if (!has_tensors) return whole;
  try {
    const SafetensorsFile file(path);
    for (const ManifestTensor& tensor : manifest.tensors) {
      if (tensor.file != entry.name) continue;
      const std::string place = cat(path.string(), ": tensor ", shown(tensor.name));
      const TensorView* view = file.find(tensor.name);
      if (view == nullptr) return {place, "is no longer there", ""};
      if (sha256_hex(view->bytes) != tensor.sha256) {
        return {place, "its values changed since they were written (SHA-256 differs)", ""};
      }
    }
  } catch (const Error& error) {
    return {"", error.what(), ""};
  }
  return {path.string(), "its header changed since it was written (SHA-256 differs)", ""};
}

std::vector<Fault> file_faults(const Manifest& manifest, const ManifestFile& entry,
                               const fs::path& path) {
  std::error_code code;
  if (!fs::exists(fs::symlink_status(path, code))) return {{path.string(), "is missing", ""}};
  if (!is_plain_file(path)) return {{path.string(), "is not a regular file", ""}};
  try {
    const MappedFile file(path);
    if (file.bytes().size() != entry.size) {
      return {{path.string(),
               cat("is ", file.bytes().size(), " bytes long, written were ", entry.size), ""}};
    }
    if (sha256_hex(file.bytes()) == entry.sha256) return {};
  } catch (const Error& error) {
    return {{"", error.what(), ""}};
  }
  return {changed_file(manifest, entry, path)};
}

}  // namespace

const ManifestFile* Manifest::find(std::string_view name) const {
  for (const ManifestFile& file : files) {
    if (file.name == name) return &file;
  }
  return nullptr;
}

std::string manifest_text(const Manifest& manifest) {
  std::string text = cat("{\n\"format_version\": ", kFormatVersion, ",\n\"files\": [");
  const char* separator = "\n";
  for (const ManifestFile& file : manifest.files) {
    text += cat(separator, "{\"name\": ", json_quoted(file.name), ", \"size\": ", file.size,
                ", \"sha256\": \"", file.sha256, "\"}");
    separator = ",\n";
  }
  text += "],\n\"tensors\": [";
  separator = "\n";
  for (const ManifestTensor& tensor : manifest.tensors) {
    text += cat(separator, "{\"file\": ", json_quoted(tensor.file),
                ", \"name\": ", json_quoted(tensor.name), ", \"sha256\": \"", tensor.sha256, "\"}");
    separator = ",\n";
  }
  text += "],\n";
  return text + "\"checksum\": \"" + sha256_hex(text) + "\"\n}\n";
}

Manifest parse_manifest(std::string_view text, const std::string& place) {
  const StrictObject root = parse_strict_json(text, place, kManifestLimits);
  const auto version =
      as_count(required(root, "format_version", place), place + ": /format_version");
  if (version != kFormatVersion) {
    throw Error(place, cat("has format_version ", version, ", this program reads ", kFormatVersion),
                "use the program version that wrote it");
  }
  refuse_unknown(root, {"format_version", "files", "tensors", "checksum"}, place);
  Manifest manifest;
  manifest.files =
      parse_files(as_array(required(root, "files", place), place + ": /files"), place + ": ");
  manifest.tensors = parse_tensors(as_array(required(root, "tensors", place), place + ": /tensors"),
                                   manifest, place + ": ");
  as_string(required(root, "checksum", place), place + ": /checksum");
  if (manifest_text(manifest) != text) {
    throw Error(place, "changed since it was written (its own checksum or spelling differs)");
  }
  return manifest;
}

Manifest read_manifest(const fs::path& folder) {
  const fs::path path = folder / kManifestName;
  std::error_code code;
  if (!fs::exists(fs::symlink_status(path, code))) throw Error(path.string(), "is missing");
  if (!is_plain_file(path)) throw Error(path.string(), "is not a regular file");
  return parse_manifest(read_file(path, kLargestManifest), path.string());
}

std::vector<Fault> manifest_faults(const Manifest& manifest, const fs::path& folder) {
  std::vector<Fault> faults;
  for (const ManifestFile& entry : manifest.files) {
    for (Fault& fault : file_faults(manifest, entry, folder / entry.name)) {
      faults.push_back(std::move(fault));
    }
  }
  return faults;
}

}  // namespace alibi
