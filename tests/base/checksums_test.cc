#include "base/checksums.h"

#include <gtest/gtest.h>

namespace alibi {
namespace {

TEST(Sha256, MatchesPublishedVectors) {  // FIPS 180-4 examples
  EXPECT_EQ(sha256_hex(std::string_view("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex(std::string_view("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, PiecesEqualWhole) {
  Sha256 digest;
  digest.update(std::string_view("a"));
  digest.update(std::string_view("bc"));
  EXPECT_EQ(digest.hex(), sha256_hex(std::string_view("abc")));
}

}  // namespace
}  // namespace alibi
