#include "formats/manifest.h"

#include <set>
#include <system_error>
#include <utility>

#include "base/checksums.h"
#include "base/files.h"
#include "base/json/parse.h"
#include "base/json/record.h"
#include "base/json/write.h"
#include "base/mapped_file.h"
#include "base/printable.h"
#include "base/strings.h"
#include "formats/safetensors.h"

namespace alibi {
namespace fs = std::filesystem;

template <class Fields>
void fields(Fields& f, ManifestFile& file) {
  f("name", file.name);
  f("size", file.size);
  f("sha256", file.sha256);
}

template <class Fields>
void fields(Fields& f, ManifestTensor& tensor) {
  f("file", tensor.file);
  f("name", tensor.name);
  f("sha256", tensor.sha256);
}

template <class Fields>
void fields(Fields& f, Manifest& manifest) {
  f.format({.newest = 1});
  f("files", manifest.files);
  f("tensors", manifest.tensors);
}

namespace {

constexpr std::uint64_t kLargestManifest = 64ull << 20;
constexpr JsonOptions kManifestLimits{.depth = 3, .values = 1'000'000};

bool stays_in_folder(std::string_view name) {
  if (name.empty() || name.size() > 255 || name.front() == '.' || name == kManifestName)
    return false;
  for (const char c : name) {
    if (c == '/' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return true;
}

void check_digest(const std::string& text, const std::string& place) {
  if (text.size() != 64 || text.find_first_not_of("0123456789abcdef") != text.npos)
    throw Error(place + "/sha256", "is not 64 lower-case hexadecimal digits");
}

void check_files(const Manifest& manifest, const std::string& place) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < manifest.files.size(); ++i) {
    const auto& [name, size, sha256] = manifest.files[i];
    const std::string here = cat(place, ": /files/", i);
    if (!stays_in_folder(name))
      throw Error(here + "/name", shown(name) + " is not a plain file name");
    if (!names.insert(name).second) throw Error(here, shown(name) + " is listed twice");
    check_digest(sha256, here);
  }
}

void check_tensors(const Manifest& manifest, const std::string& place) {
  std::set<std::string_view> files;
  for (const ManifestFile& file : manifest.files) files.insert(file.name);
  std::set<std::pair<std::string_view, std::string_view>> names;
  for (std::size_t i = 0; i < manifest.tensors.size(); ++i) {
    const auto& [file, name, sha256] = manifest.tensors[i];
    const std::string here = cat(place, ": /tensors/", i);
    if (!files.contains(file))
      throw Error(here + "/file", shown(file) + " is not one of the files");
    if (!names.emplace(file, name).second) throw Error(here, shown(name) + " is listed twice");
    check_digest(sha256, here);
  }
}

// A list has a line for each item; an item has one line.
std::string member_text(const Json& value) {
  constexpr JsonStyle kOneLine{.spaced = true};
  if (!value.is_list()) return write_json(value, kOneLine);
  std::string text = "[";
  for (const Json& item : *value.as_list())
    text += (text.size() == 1 ? "\n" : ",\n") + write_json(item, kOneLine);
  return text + "]";
}

bool is_plain_file(const fs::path& path) {
  std::error_code code;
  return fs::is_regular_file(fs::symlink_status(path, code));
}

// Which tensor of a changed file is another; a header that cannot be read is a fault of its own.
Fault changed_file(const Manifest& manifest, const ManifestFile& entry, const fs::path& path) {
  const char* const way_out = "restore it, or name another checkpoint";
  Fault whole{path.string(), "its content changed since it was written (SHA-256 differs)", way_out};
  bool has_tensors = false;
  for (const ManifestTensor& tensor : manifest.tensors) has_tensors |= tensor.file == entry.name;
  if (!has_tensors) return whole;
  try {
    const SafetensorsFile file(path);
    for (const ManifestTensor& tensor : manifest.tensors) {
      if (tensor.file != entry.name) continue;
      const std::string place = cat(path.string(), ": tensor ", shown(tensor.name));
      const TensorView* view = file.find(tensor.name);
      if (view == nullptr) return {place, "is no longer there", way_out};
      if (sha256_hex(view->bytes) != tensor.sha256) {
        return {place, "its values changed since they were written (SHA-256 differs)", way_out};
      }
    }
  } catch (const Error& error) {
    return {"", error.what(), ""};
  }
  return {path.string(), "its header changed since it was written (SHA-256 differs)", way_out};
}

std::vector<Fault> file_faults(const Manifest& manifest, const ManifestFile& entry,
                               const fs::path& path) {
  try {
    if (!is_there(path)) return {{path.string(), "is missing", ""}};
    if (!is_plain_file(path)) return {{path.string(), "is not a regular file", ""}};
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
  const Json json = to_json(manifest);
  std::string text = "{\n";
  for (const auto& [key, value] : *json.as_object())
    text += '"' + key + "\": " + member_text(value) + ",\n";
  return text + "\"checksum\": \"" + sha256_hex(text) + "\"\n}\n";
}

Manifest parse_manifest(std::string_view text, const std::string& place) {
  Json json = parse_json(text, place, kManifestLimits);
  JsonReader(json, place).at("checksum").text();
  json.erase("checksum");
  const auto manifest = read_record<Manifest>(JsonReader(json, place), UnknownKeys::kRefuse);
  check_files(manifest, place);
  check_tensors(manifest, place);
  if (manifest_text(manifest) != text)
    throw Error(place, "changed since it was written (its own checksum or spelling differs)");
  return manifest;
}

Manifest read_manifest(const fs::path& folder) {
  const fs::path path = folder / kManifestName;
  if (!is_there(path)) throw Error(path.string(), "is missing");
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
