// That what these tests run, PTX of compute_80, is what a Hopper device runs: nvcc makes the
// library's code for sm_90a from PTX of compute_90a.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace alibi {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Without what differs by name alone: the target, and hashes of eight digits on both sides of a
// file's name.
std::string without_names(std::string text, const std::string& file) {
  const std::size_t target = text.find(".target sm_");
  text.erase(target, text.find('\n', target) - target);
  for (std::size_t at = text.find(file); at != std::string::npos; at = text.find(file, at + 1)) {
    text.replace(at - 8, 8, 8, '-');
    text.replace(at + file.size(), 8, 8, '-');
  }
  return text;
}

void expect_same(const std::string& path, const std::string& file) {
  if (path.empty()) GTEST_SKIP() << "no nvcc (scripts/setup --nvcc)";
  const std::string ampere = text_of(path), hopper = text_of(path + ".90a");
  if (ampere.find(".target sm_80") == std::string::npos) GTEST_SKIP() << ampere;
  ASSERT_NE(hopper.find(".target sm_90a"), std::string::npos);
  EXPECT_TRUE(without_names(ampere, file) == without_names(hopper, file))
      << "the kernels of both targets are to be interpreted now";
}

TEST(PtxTargets, AttentionIsTheSameTextForBoth) {
  expect_same(ALIBI_ATTENTION_PTX, "_12_attention_cu_");
}

TEST(PtxTargets, RowsAreTheSameTextForBoth) { expect_same(ALIBI_ROW_OPS_PTX, "_10_row_ops_cu_"); }

}  // namespace
}  // namespace alibi
