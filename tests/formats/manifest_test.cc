// The manifest: round trip, hostile names, and every change of a byte found. Seen failing with its
// own checksum, names that leave the folder, or links let through.
#include "formats/manifest.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/checksums.h"
#include "base/files.h"
#include "base/strings.h"
#include "formats/safetensors.h"
#include "support/error_text.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

const std::string kDigest(64, 'a');

std::string fault_of(std::string_view text) {
  try {
    parse_manifest(text, "file");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

Manifest example() {
  return {{{"a.json", 12, kDigest}, {"w.safetensors", 0, kDigest}},
          {{"w.safetensors", "h.0 \"é\"", kDigest}}};
}

TEST(Manifest, ReadsWhatItWrites) {
  EXPECT_EQ(parse_manifest(manifest_text(example()), "file"), example());
  EXPECT_EQ(parse_manifest(manifest_text({}), "file"), Manifest());
}

TEST(Manifest, FindsEveryFlipAndTruncation) {
  const std::string good = manifest_text(example());
  for (std::size_t i = 0; i < good.size(); ++i) {
    EXPECT_NE(fault_of(good.substr(0, i)), "") << i;
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      EXPECT_NE(fault_of(bad), "") << "byte " << i << " bit " << bit;
    }
  }
  EXPECT_NE(fault_of(good + " "), "");
  EXPECT_NE(fault_of(good + good), "");
}

TEST(Manifest, RefusesNamesThatLeaveTheFolder) {
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("../x"),
        std::string("/etc/passwd"), std::string("a/../../x"), std::string("a/b"),
        std::string("a\\b"), std::string("a\0b", 3), std::string("a\nb"), std::string(".hidden"),
        std::string("manifest.json"), std::string(5000, 'a')}) {
    const std::string fault = fault_of(manifest_text({{{name, 1, kDigest}}, {}}));
    EXPECT_ERROR_AT(fault, "file: /files/0/name") << name;
    EXPECT_LT(fault.size(), 200u);
  }
}

TEST(Manifest, RefusesWrongContent) {
  const ManifestFile file{"a", 1, kDigest};
  const std::vector<Manifest> wrong = {
      {{file, file}, {}},                                    // listed twice
      {{file}, {{"b", "t", kDigest}}},                       // tensor of another file
      {{file}, {{"a", "t", kDigest}, {"a", "t", kDigest}}},  // tensor listed twice
      {{{"a", 1, "abc"}}, {}},                               // short digest
      {{{"a", 1, std::string(64, 'A')}}, {}},                // upper case
      {{{"a", 1ull << 63, kDigest}}, {}},                    // size beyond any file
  };
  for (const Manifest& manifest : wrong) EXPECT_NE(fault_of(manifest_text(manifest)), "");
  for (const char* text :
       {"", "{}", "[]", R"({"format_version": 2})", R"({"format_version": 1})",
        R"({"format_version": 1, "files": {}, "tensors": [], "checksum": ""})",
        R"({"format_version": 1, "files": [1], "tensors": [], "checksum": ""})",
        R"({"format_version": true, "files": [], "tensors": [], "checksum": ""})",
        R"({"format_version": 1, "files": [], "tensors": [], "checksum": "", "more": 1})"}) {
    EXPECT_EQ(fault_of(text).rfind("file", 0), 0u) << text;
  }
}

class ManifestFolder : public testing::Test {
 protected:
  void SetUp() override {
    const std::string data = "01234567";
    const auto bytes = std::as_bytes(std::span(data));
    const auto digests = write_safetensors(
        path("w.safetensors"),
        {{"first", {"U8", {4}, bytes.first(4)}}, {"second", {"U8", {4}, bytes.last(4)}}});
    write_file_atomic(path("a.json"), "{}");
    manifest_.files = {{"a.json", 2, sha256_hex(std::string_view("{}"))},
                       {"w.safetensors", digests.bytes, digests.file}};
    for (const auto& [name, digest] : digests.tensors) {
      manifest_.tensors.push_back({"w.safetensors", name, digest});
    }
  }
  std::filesystem::path path(const char* name) const { return folder_.path() / name; }
  std::string faults() const {
    std::string text;
    for (const Fault& fault : manifest_faults(manifest_, folder_.path()))
      text += fault.line() + "\n";
    return text;
  }
  TemporaryFolder folder_;
  Manifest manifest_;
};

TEST_F(ManifestFolder, IsWholeAsWritten) {
  EXPECT_EQ(faults(), "");
  write_file_atomic(path("unlisted"), "x");
  EXPECT_EQ(faults(), "");
}

TEST_F(ManifestFolder, NamesTheTensorThatChanged) {
  std::string bytes = read_file(path("w.safetensors"));
  bytes.back() ^= 1;
  write_file_atomic(path("w.safetensors"), bytes);
  EXPECT_ERROR_AT(faults(), "w.safetensors: tensor \"second\"", "SHA-256");
  bytes.back() ^= 1;
  bytes[bytes.find("second")] = 'S';
  write_file_atomic(path("w.safetensors"), bytes);
  EXPECT_ERROR_AT(faults(), "w.safetensors: tensor \"second\"");
}

TEST_F(ManifestFolder, NamesEveryFileThatDiffers) {
  write_file_atomic(path("a.json"), "{]");
  std::filesystem::resize_file(path("w.safetensors"), 3);
  EXPECT_ERROR_AT(faults(), "a.json", "SHA-256");
  EXPECT_ERROR_AT(faults(), "w.safetensors", 3);
  std::filesystem::remove(path("a.json"));
  EXPECT_ERROR_AT(faults(), "a.json", "missing");
}

TEST_F(ManifestFolder, OpensNeitherLinksNorPipes) {
  std::filesystem::rename(path("a.json"), path("b.json"));
  std::filesystem::create_symlink("b.json", path("a.json"));
  EXPECT_ERROR_AT(faults(), "a.json", "regular file");
  std::filesystem::remove(path("a.json"));
  ASSERT_EQ(::mkfifo(path("a.json").c_str(), 0600), 0);
  EXPECT_ERROR_AT(faults(), "a.json", "regular file");
  ASSERT_EQ(::mkfifo(path("manifest.json").c_str(), 0600), 0);
  EXPECT_THROW(read_manifest(folder_.path()), Error);
}

TEST_F(ManifestFolder, IsReadFromItsFolder) {
  EXPECT_THROW(read_manifest(folder_.path()), Error);
  write_file_atomic(path("manifest.json"), manifest_text(manifest_));
  EXPECT_EQ(read_manifest(folder_.path()), manifest_);
}

}  // namespace
}  // namespace alibi
