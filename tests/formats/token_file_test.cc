// Files of token ids of other trainers, and what is no such file. Seen failing with
// signed ids read as unsigned ones.
#include "formats/token_file.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "support/error_text.h"
#include "support/temporary_folder.h"
#include "support/token_files.h"

namespace alibi {
namespace {

using Numbers = std::vector<std::int64_t>;

class TokenFiles : public testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& bytes) const {
    write_file_atomic(folder_.path() / name, bytes);
    return (folder_.path() / name).string();
  }
  static Numbers ids(const TokenFile& file) {
    Numbers all;
    for (std::int64_t i = 0; i < file.size(); ++i) all.push_back(file[i]);
    return all;
  }
  template <class... Values>
  void refused(const std::string& name, const Values&... values) const {
    EXPECT_ERROR_AT(error_text([&] { TokenFile(folder_.path() / name); }), name, values...);
  }
  const TemporaryFolder folder_;
};

TEST_F(TokenFiles, OfNanoGpt) {
  const Numbers all = {0, 1, 50256, 65535};
  const TokenFile file(put("train.bin", raw<std::uint16_t>(all)));
  EXPECT_EQ(file.format(), std::string("nanoGPT"));
  EXPECT_EQ(ids(file), all);
  EXPECT_FALSE(file.documents());
  put("odd.bin", "abc");
  refused("odd.bin", 3, 2);
  Numbers wide(20);
  for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = static_cast<std::int64_t>(i * 7 + 1);
  put("wide.bin", raw<std::uint32_t>(wide));
  refused("wide.bin", "uint32");
  put("none.bin", "");
  refused("none.bin", "no token");
  refused("missing.bin", std::strerror(ENOENT));
}

TEST_F(TokenFiles, OfLlmC) {
  const Numbers all = {50256, 7, 8, 65535};
  const TokenFile narrow(put("a.bin", llm_c(20240520, 1, 4) + raw<std::uint16_t>(all)));
  EXPECT_EQ(narrow.format(), std::string("llm.c"));
  EXPECT_EQ(ids(narrow), all);
  const Numbers large = {128000, 5};
  EXPECT_EQ(ids(TokenFile(put("b.bin", llm_c(20240801, 7, 2) + raw<std::uint32_t>(large)))), large);
  for (const std::int64_t said : {3, 5, -1}) {
    put("c.bin", llm_c(20240520, 1, said) + raw<std::uint16_t>(all));
    refused("c.bin", said, 4);
  }
  put("d.bin", llm_c(20240326, 5, 0));
  refused("d.bin", "llm.c", "model");
  put("f.bin", llm_c(20240520, 2, 0));
  refused("f.bin", 2, 1);
  put("e.bin", llm_c(20240522, 1, 0));
  refused("e.bin", "llm.c", "evaluation");
}

TEST_F(TokenFiles, OfMegatron) {
  const Numbers all = {1, 2, 3, 4, 5};
  const std::string index16 = megatron_index(8, 2, {2, 1, 2}, {0, 1, 3});
  put("a.idx", index16);
  const TokenFile file(put("a.bin", raw<std::uint16_t>(all)));
  EXPECT_EQ(file.format(), std::string("Megatron"));
  EXPECT_EQ(ids(file), all);
  EXPECT_EQ(file.documents(), (Numbers{0, 2, 5}));
  EXPECT_EQ(file.files().size(), 2U);
  put("b.idx", megatron_index(4, 4, {5}, {0, 1}));
  EXPECT_EQ(ids(TokenFile(put("b.bin", raw<std::int32_t>({-1, 70000, 3, 4, 5})))),
            (Numbers{-1, 70000, 3, 4, 5}));
  put("c.idx", megatron_index(1, 1, {3}, {0, 1}));
  EXPECT_EQ(ids(TokenFile(put("c.bin", std::string("\x01\xff\x03", 3)))), (Numbers{1, 255, 3}));
}

TEST_F(TokenFiles, IndexesThatLieAreRefused) {
  put("a.bin", raw<std::uint16_t>({1, 2, 3, 4, 5}));
  const std::string good = megatron_index(8, 2, {2, 1, 2}, {0, 1, 3});
  for (std::size_t size = 0; size < good.size(); ++size) {
    put("a.idx", good.substr(0, size));
    refused("a.idx");
  }
  const auto with = [&](std::size_t at, std::int64_t value, auto... values) {
    std::string bad = good;
    bad.replace(at, 8, raw<std::int64_t>({value}));
    put("a.idx", bad);
    refused("a.idx", values...);
  };
  with(9, 2, 2, 1);
  with(18, 1ll << 62, 1ll << 62);
  with(26, 1ll << 61, 1ll << 61);
  with(34 + 12, 2, "sequence 0", 2, "byte 0");
  with(34 + 12 + 8, -4, "sequence 1", 1, -4);
  with(34 + 12 + 24, 1, "document 0", 1, 3);
  with(34 + 12 + 32, 4, "document 1", 4, 3);
  with(34 + 12 + 40, 0, "document 2", 0, 3);
  std::string bad = good;
  bad.replace(34, 4, raw<std::int32_t>({-2}));
  put("a.idx", bad);
  refused("a.idx", "sequence 0", -2);
  bad = good;
  bad[17] = 7;
  put("a.idx", bad);
  refused("a.idx", 7);
  put("a.idx", megatron_index(8, 2, {2, 1}, {0, 1, 2}));
  refused("a.idx", 3);
}

}  // namespace
}  // namespace alibi
