// GGUF written and read: the published layout byte for byte, and files that lie. Seen failing with
// the cursor's bound, the check of a tensor's end (it dies) or of a shape's product left out.
#include "formats/gguf.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "support/error_text.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

std::string written(const GgufKeys& keys, const std::vector<GgufTensor>& tensors) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.gguf";
  write_gguf(path, keys, tensors, [&](const std::string& name) {
    for (const GgufTensor& tensor : tensors) {
      if (tensor.name == name) return tensor.bytes;
    }
    return std::span<const std::byte>();
  });
  return read_file(path);
}

GgufContent parsed(const std::string& bytes) {
  return parse_gguf(std::as_bytes(std::span(bytes)), "file");
}

std::string fault_of(const std::string& bytes) {
  try {
    parsed(bytes);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

struct Example {
  std::vector<std::byte> row = std::vector<std::byte>(34, std::byte{3});
  std::vector<std::byte> four = std::vector<std::byte>(16, std::byte{5});
  GgufKeys keys = {{"general.architecture", "mpt"},
                   {"a.flag", true},
                   {"a.count", std::uint32_t{7}},
                   {"a.signed", std::int32_t{-7}},
                   {"a.number", 0.5F},
                   {"a.words", std::vector<std::string>{"x", "", "zz"}},
                   {"a.numbers", std::vector<float>{1, -2}},
                   {"a.ids", std::vector<std::int32_t>{3, 4}}};
  std::vector<GgufTensor> tensors = {{"q", {1, 32}, GgufElement::kQ8, row},
                                     {"v", {2, 2}, GgufElement::kF32, four}};
  std::string bytes() const { return written(keys, tensors); }
};

TEST(Gguf, ReadsBackWhatItWrote) {
  const Example example;
  const std::string bytes = example.bytes();
  const GgufContent content = parsed(bytes);
  ASSERT_EQ(content.keys.size(), example.keys.size());
  for (const auto& [name, value] : example.keys)
    EXPECT_TRUE(content.keys.at(name) == value) << name;
  ASSERT_EQ(content.tensors.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(content.tensors[i].name, example.tensors[i].name);
    EXPECT_EQ(content.tensors[i].shape, example.tensors[i].shape);
    EXPECT_TRUE(std::ranges::equal(content.tensors[i].bytes, example.tensors[i].bytes));
  }
  EXPECT_EQ(bytes.size() % 32, 0U);
}

// The example of llama.cpp's own description: magic, version, counts, then one key.
TEST(Gguf, LiesByteForByteAsPublished) {
  const std::string bytes = written({{"k", std::uint32_t{9}}}, {});
  const std::string expected(
      "GGUF\3\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0k\4\0\0\0\11\0\0\0", 41);
  EXPECT_EQ(bytes.substr(0, expected.size()), expected);
  EXPECT_EQ(bytes.size(), 64U);
}

TEST(Gguf, RefusesEveryFileThatIsCutShort) {
  const std::string bytes = Example().bytes();
  // The padding behind the last tensor may go, nothing else.
  for (std::size_t size = 0; size < bytes.size() - 16; ++size)
    ASSERT_NE(fault_of(bytes.substr(0, size)), "") << size;
}

TEST(Gguf, RefusesWhatLies) {
  const std::string good = Example().bytes();
  const auto changed = [&](std::size_t at, std::uint64_t value, std::size_t width) {
    std::string bytes = good;
    std::memcpy(bytes.data() + at, &value, width);
    return fault_of(bytes);
  };
  EXPECT_ERROR_AT(changed(0, 'g', 1), "file", "GGUF");
  EXPECT_ERROR_AT(changed(4, 2, 4), "file", 2, 3);
  EXPECT_ERROR_AT(changed(8, ~0ull, 8), "file", ~0ull, 8);
  EXPECT_ERROR_AT(changed(16, 1ull << 40, 8), "file", 2, 1ull << 40);
  EXPECT_ERROR_AT(changed(24, ~0ull, 8), "file", ~0ull - (good.size() - 32));
  const std::size_t array = good.find("a.ids") + 5;  // u32 array, u32 its type, u64 count
  EXPECT_ERROR_AT(changed(array + 8, 1ull << 40, 8), "file", 1ull << 40);
  const std::size_t q = good.find("q", good.find("a.ids") + 5);
  EXPECT_ERROR_AT(changed(q + 1, 5, 4), "file", 5);
  EXPECT_KEYWORD(changed(q + 5, 1ull << 62, 8), "overflow");
  {
    std::string bytes = good;
    const std::size_t v = q + 41;
    ASSERT_EQ(bytes[v], 'v');
    const std::uint64_t rows = 1ull << 22, columns = 1ull << 40;
    std::memcpy(bytes.data() + v + 5, &rows, 8);
    std::memcpy(bytes.data() + v + 13, &columns, 8);
    EXPECT_KEYWORD(fault_of(bytes), "overflow");
  }
  EXPECT_NAMES(changed(q + 5, 31, 8), "\"q\"", "blocks");
  EXPECT_NAMES(changed(q + 21, 2, 4), "\"q\"", 2);
  EXPECT_NAMES(changed(q + 25, 1, 8), "\"q\"", "outside");
  EXPECT_NAMES(changed(q + 25, 1ull << 60, 8), "\"q\"", "outside");
  Example twice;
  twice.tensors[1] = twice.tensors[0];
  EXPECT_NAMES(fault_of(twice.bytes()), "duplicate", "\"q\"");
  twice = Example();
  twice.keys[2].first = "a.flag";
  EXPECT_NAMES(fault_of(twice.bytes()), "\"a.flag\"");
}

// Seen failing: tensors of such a file lie elsewhere than where they were read.
TEST(Gguf, RefusesAnotherAlignmentThanItReads) {
  Example example;
  example.keys.emplace_back("general.alignment", std::uint32_t{32});
  EXPECT_EQ(fault_of(example.bytes()), "");
  example.keys.back().second = std::uint32_t{64};
  EXPECT_NAMES(fault_of(example.bytes()), "file", "general.alignment", 32);
}

}  // namespace
}  // namespace alibi
