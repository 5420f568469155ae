// A manifest that is taken is written and read as the same; its names stay inside the folder.
#include "formats/manifest.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return alibi::read_or_refuse([&] {
    const alibi::Manifest manifest = alibi::parse_manifest(alibi::as_text(data, size), "file");
    for (const alibi::ManifestFile& file : manifest.files) {
      alibi::expect(file.name.find('/') == std::string::npos && !file.name.empty() &&
                        file.name != "." && file.name != ".." &&
                        file.name.find('\0') == std::string::npos,
                    "a name leaves the folder");
    }
    const std::string text = alibi::manifest_text(manifest);
    alibi::expect(alibi::manifest_text(alibi::parse_manifest(text, "again")) == text,
                  "a manifest changes when it is written and read");
  });
}
