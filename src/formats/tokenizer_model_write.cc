#include <cstring>

#include "formats/tokenizer_model.h"

namespace alibi {
namespace {

// The lowest seven bits first, each byte but the last with its highest bit set.
std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
  return bytes;
}

std::string number(std::uint32_t field, std::uint64_t value) {
  return varint(std::uint64_t{field} << 3) + varint(value);
}

std::string bytes(std::uint32_t field, std::string_view content) {
  std::string all = varint((std::uint64_t{field} << 3) | 2) + varint(content.size());
  return all.append(content);
}

std::string score(std::uint32_t field, float value) {
  std::string four(sizeof value, '\0');
  std::memcpy(four.data(), &value, sizeof value);
  return varint((std::uint64_t{field} << 3) | 5) + four;
}

}  // namespace

std::string write_tokenizer_model(const TokenizerModel& model) {
  std::string all;
  for (const TokenizerPiece& piece : model.pieces)
    all += bytes(1, bytes(1, piece.text) + score(2, piece.score) +
                        number(3, static_cast<std::uint64_t>(piece.type)));
  all += bytes(2, number(3, static_cast<std::uint64_t>(model.kind)) +
                      number(24, model.whitespace_as_suffix ? 1 : 0) +
                      number(35, model.byte_fallback ? 1 : 0));
  all += bytes(3, bytes(1, model.normalizer) + number(3, model.add_dummy_prefix ? 1 : 0) +
                      number(4, model.remove_extra_whitespaces ? 1 : 0) +
                      number(5, model.escape_whitespaces ? 1 : 0));
  return all;
}

}  // namespace alibi
