// A shard of tokens: sound as a whole, or refused.
//
// Nearly every change of a byte is found by the checksum; so that what lies behind it is reached,
// the harness also puts the right checksums in.
#include <openssl/sha.h>

#include <vector>

#include "formats/shard.h"
#include "fuzz/fuzz.h"

namespace {

// data/README.md: a checksum of the ids at byte 64, one of the header before it at byte 96.
constexpr std::size_t kIdDigest = 64, kHeaderDigest = 96;

std::vector<std::uint8_t> sealed(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> bytes(data, data + size);
  constexpr std::size_t kHeader = alibi::kShardHeaderBytes;
  if (size < kHeader) return bytes;
  SHA256(bytes.data() + kHeader, size - kHeader, bytes.data() + kIdDigest);
  SHA256(bytes.data(), kHeaderDigest, bytes.data() + kHeaderDigest);
  return bytes;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  alibi::read_or_refuse([&] { alibi::parse_shard(alibi::as_bytes(data, size), "as it is"); });
  const std::vector<std::uint8_t> right = sealed(data, size);
  return alibi::read_or_refuse([&] {
    const auto header = alibi::parse_shard(alibi::as_bytes(right.data(), right.size()), "sealed");
    alibi::expect(header.tokens >= 0 && header.documents <= header.tokens, "counts do not fit");
  });
}
