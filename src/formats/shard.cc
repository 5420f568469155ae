#include "formats/shard.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/strings.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

static_assert(std::endian::native == std::endian::little, "ids are mapped as they lie on the disk");

constexpr std::string_view kMagic = "ALIBITOK";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kPayloadDigest = 64;
constexpr std::size_t kHeaderDigest = 96;
constexpr std::int64_t kLargestVocabulary = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kWriteBytes = 1 << 20;

using RawHeader = std::array<std::byte, kShardHeaderBytes>;

template <class Number>
Number load(const std::byte* from) {
  Number value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class Number>
void store(std::byte* to, Number value) {
  std::memcpy(to, &value, sizeof value);
}

int id_bytes_for(std::int64_t vocabulary) { return vocabulary <= 65536 ? 2 : 4; }

std::string hex(std::span<const std::byte> bytes) {
  return lower_hex({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()});
}

int nibble(char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; }

void store_digest(std::byte* to, const std::string& digest) {
  for (std::size_t i = 0; i < 32; ++i) {
    to[i] = static_cast<std::byte>(nibble(digest[2 * i]) * 16 + nibble(digest[2 * i + 1]));
  }
}

RawHeader encode_header(const ShardHeader& header) {
  RawHeader raw{};
  std::memcpy(raw.data(), kMagic.data(), kMagic.size());
  store(raw.data() + 8, kVersion);
  store(raw.data() + 12, static_cast<std::uint32_t>(header.id_bytes));
  store(raw.data() + 16, static_cast<std::uint64_t>(header.vocabulary));
  store(raw.data() + 24, static_cast<std::uint64_t>(header.tokens));
  store(raw.data() + 32, static_cast<std::uint64_t>(header.documents));
  store_digest(raw.data() + kPayloadDigest, header.payload_sha256);
  store_digest(raw.data() + kHeaderDigest, sha256_hex(std::span(raw).first(kHeaderDigest)));
  return raw;
}

// One file under check; each refusal names the file, what was found and what was expected.
struct Check {
  std::string place;
  std::span<const std::byte> bytes;

  [[noreturn]] void refuse(const std::string& problem) const {
    throw Error(place, problem, "the file is damaged or no token file: prepare the text again");
  }
  void need(bool holds, const std::string& problem) const {
    if (!holds) refuse(problem);
  }
  std::uint64_t number(std::size_t offset) const {
    return load<std::uint64_t>(bytes.data() + offset);
  }
};

void check_start(const Check& check) {
  check.need(
      check.bytes.size() >= kShardHeaderBytes,
      cat("is ", check.bytes.size(), " bytes long, shorter than a header of ", kShardHeaderBytes));
  check.need(std::memcmp(check.bytes.data(), kMagic.data(), kMagic.size()) == 0,
             "does not begin with ALIBITOK");
  const auto version = load<std::uint32_t>(check.bytes.data() + 8);
  check.need(version == kVersion, cat("has format version ", version, ", expected ", kVersion));
  const std::string found = hex(check.bytes.subspan(kHeaderDigest, 32));
  const std::string expected = sha256_hex(check.bytes.first(kHeaderDigest));
  check.need(found == expected, cat("header checksum is ", found, ", expected ", expected));
}

ShardHeader check_header(const Check& check) {
  check_start(check);
  const std::uint64_t vocabulary = check.number(16);
  check.need(vocabulary > 0 && vocabulary <= static_cast<std::uint64_t>(kLargestVocabulary),
             cat("vocabulary is ", vocabulary, ", expected 1 to ", kLargestVocabulary));
  ShardHeader header;
  header.vocabulary = static_cast<std::int64_t>(vocabulary);
  header.id_bytes = id_bytes_for(header.vocabulary);
  const auto id_bytes = load<std::uint32_t>(check.bytes.data() + 12);
  check.need(id_bytes == static_cast<std::uint32_t>(header.id_bytes),
             cat("stores ids in ", id_bytes, " bytes, expected ", header.id_bytes,
                 " for vocabulary ", vocabulary));
  const std::uint64_t payload = check.bytes.size() - kShardHeaderBytes;
  const std::uint64_t tokens = check.number(24);
  check.need(payload % id_bytes == 0 && tokens == payload / id_bytes,
             cat("header says ", tokens, " tokens of ", id_bytes, " bytes, but ", payload,
                 " bytes follow it"));
  const std::uint64_t documents = check.number(32);
  check.need(documents <= tokens,
             cat("header says ", documents, " documents in ", tokens, " tokens"));
  const auto zeros = check.bytes.subspan(40, kPayloadDigest - 40);
  check.need(std::ranges::all_of(zeros, [](std::byte byte) { return byte == std::byte{0}; }),
             "bytes 40 to 63 are not zero");
  header.tokens = static_cast<std::int64_t>(tokens);
  header.documents = static_cast<std::int64_t>(documents);
  header.payload_sha256 = hex(check.bytes.subspan(kPayloadDigest, 32));
  return header;
}

template <class Id>
void check_ids(const Check& check, const ShardHeader& header) {
  const std::byte* ids = check.bytes.data() + kShardHeaderBytes;
  const auto id = [&](std::int64_t i) {
    return load<Id>(ids + static_cast<std::size_t>(i) * sizeof(Id));
  };
  Id largest = 0;
  for (std::int64_t i = 0; i < header.tokens; ++i) largest = std::max(largest, id(i));
  if (static_cast<std::int64_t>(largest) < header.vocabulary) return;
  std::int64_t at = 0;
  while (static_cast<std::int64_t>(id(at)) < header.vocabulary) ++at;
  check.refuse(
      cat("token ", at, " is id ", id(at), ", expected below vocabulary ", header.vocabulary));
}

}  // namespace

ShardWriter::ShardWriter(fs::path path, std::int64_t vocabulary) : staged_(std::move(path)) {
  ensure(vocabulary > 0 && vocabulary <= kLargestVocabulary, "a vocabulary fits 31 bits");
  header_.vocabulary = vocabulary;
  header_.id_bytes = id_bytes_for(vocabulary);
  file_ = std::make_unique<OutputFile>(staged_.path());
  file_->write(RawHeader{});
}

void ShardWriter::append(std::span<const std::int32_t> ids) {
  ensure(file_ != nullptr, "nothing follows finish()");
  const auto width = static_cast<std::size_t>(header_.id_bytes);
  while (!ids.empty()) {
    const auto part = ids.first(std::min(ids.size(), kWriteBytes / width));
    ids = ids.subspan(part.size());
    buffer_.resize(part.size() * width);
    for (std::size_t i = 0; i < part.size(); ++i) {
      ensure(part[i] >= 0 && part[i] < header_.vocabulary, "an id is below the vocabulary");
      std::memcpy(buffer_.data() + i * width, &part[i], width);  // the low bytes come first
    }
    digest_.update(buffer_);
    file_->write(buffer_);
    header_.tokens += static_cast<std::int64_t>(part.size());
  }
}

ShardHeader ShardWriter::finish() {
  ensure(file_ != nullptr, "a shard is finished once");
  header_.payload_sha256 = digest_.hex();
  file_->overwrite(0, encode_header(header_));
  file_->sync();
  file_->close();
  staged_.commit();
  file_.reset();
  return header_;
}

ShardHeader parse_shard(std::span<const std::byte> bytes, const std::string& place) {
  const Check check{place, bytes};
  ShardHeader header = check_header(check);
  const std::string found = sha256_hex(bytes.subspan(kShardHeaderBytes));
  check.need(found == header.payload_sha256,
             cat("checksum of the ids is ", found, ", header says ", header.payload_sha256));
  if (header.id_bytes == 2) {
    check_ids<std::uint16_t>(check, header);
  } else {
    check_ids<std::uint32_t>(check, header);
  }
  return header;
}

ShardFile::ShardFile(const fs::path& path)
    : file_(path),
      header_(parse_shard(file_.bytes(), path.string())),
      ids_(file_.bytes().data() + kShardHeaderBytes) {}

std::int32_t ShardFile::operator[](std::int64_t index) const {
  ensure(index >= 0 && index < size(), "a token's index is inside its file");
  const std::byte* at = ids_ + index * header_.id_bytes;
  return header_.id_bytes == 2 ? load<std::uint16_t>(at) : load<std::int32_t>(at);
}

void ShardFile::read(std::int64_t first, std::span<std::int64_t> out) const {
  const auto count = static_cast<std::int64_t>(out.size());
  ensure(first >= 0 && count <= size() && first <= size() - count, "tokens lie inside their file");
  const std::byte* at = ids_ + first * header_.id_bytes;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] =
        header_.id_bytes == 2 ? load<std::uint16_t>(at + 2 * i) : load<std::int32_t>(at + 4 * i);
  }
}

std::int64_t ShardFile::count(std::int32_t id) const {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < size(); ++i) found += (*this)[i] == id;
  return found;
}

std::int64_t ShardFile::count_below(std::int64_t id) const {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < size(); ++i) found += (*this)[i] < id;
  return found;
}

}  // namespace alibi
