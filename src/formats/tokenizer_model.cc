// Why not sentencepiece's own ModelProto: no package of the library installs its header, nor that
// of the protobuf-lite inside it; and what is checked here would have to be checked behind it.
#include "formats/tokenizer_model.h"

#include <cmath>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/strings.h"

namespace alibi {
namespace {

constexpr std::size_t kMostPieces = 1 << 24;

[[noreturn]] void refuse(const std::string& place, const std::string& problem) {
  throw Error(place, problem, "expected a model file written by sentencepiece");
}

struct Field {
  std::uint32_t number = 0;
  std::uint32_t wire = 0;  // 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes
  std::uint64_t value = 0;
  std::string_view bytes;
};

// The fields of one message, in order. The format nests by length, so nothing here recurses.
class Message {
 public:
  Message(std::string_view bytes, const std::string& place) : rest_(bytes), place_(place) {}

  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    const std::uint64_t key = varint();
    Field field;
    field.number = static_cast<std::uint32_t>(key >> 3);
    field.wire = static_cast<std::uint32_t>(key & 7);
    if (key >> 32 != 0 || field.number == 0) bad("a field without a number");
    switch (field.wire) {
      case 0:
        field.value = varint();
        break;
      case 1:
        field.bytes = take(8);
        break;
      case 2:
        field.bytes = take(varint());
        break;
      case 5:
        field.bytes = take(4);
        break;
      default:
        bad(cat("field ", field.number, " of unknown kind ", field.wire));
    }
    return field;
  }

  [[noreturn]] void bad(const std::string& what) const {
    refuse(place_, "is no sentencepiece model: " + what);
  }
  void expect(const Field& field, std::uint32_t wire) const {
    if (field.wire != wire)
      bad(cat("field ", field.number, " has kind ", field.wire, ", expected ", wire));
  }
  bool flag(const Field& field) const {
    expect(field, 0);
    return field.value != 0;
  }

 private:
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    bad("a number longer than 64 bits");
  }
  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) bad(cat("it ends ", size - rest_.size(), " bytes early"));
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_;
  const std::string& place_;
};

TokenizerPiece parse_piece(std::string_view bytes, const std::string& place) {
  TokenizerPiece piece;
  Message message(bytes, place);
  while (const auto field = message.next()) {
    if (field->number == 1) {
      message.expect(*field, 2);
      piece.text = field->bytes;
    } else if (field->number == 2) {
      message.expect(*field, 5);
      std::memcpy(&piece.score, field->bytes.data(), sizeof piece.score);
    } else if (field->number == 3) {
      message.expect(*field, 0);
      if (field->value < 1 || field->value > 6) message.bad(cat("piece type ", field->value));
      piece.type = static_cast<PieceType>(field->value);
    }
  }
  if (piece.text.empty()) message.bad("an empty piece");
  if (first_invalid_utf8(piece.text) != std::string::npos) message.bad("a piece that is not UTF-8");
  if (!std::isfinite(piece.score)) message.bad("a score that is not finite");
  return piece;
}

void parse_trainer(std::string_view bytes, const std::string& place, TokenizerModel& model) {
  Message message(bytes, place);
  while (const auto field = message.next()) {
    if (field->number == 3) {
      message.expect(*field, 0);
      if (field->value < 1 || field->value > 4) message.bad(cat("model type ", field->value));
      model.kind = static_cast<PieceModel>(field->value);
    } else if (field->number == 24) {
      model.whitespace_as_suffix = message.flag(*field);
    } else if (field->number == 35) {
      model.byte_fallback = message.flag(*field);
    }
  }
}

void parse_normalizer(std::string_view bytes, const std::string& place, TokenizerModel& model) {
  Message message(bytes, place);
  while (const auto field = message.next()) {
    if (field->number == 1) model.normalizer = field->bytes;
    if (field->number == 2 || field->number == 6) model.changes_characters |= !field->bytes.empty();
    if (field->number == 3) model.add_dummy_prefix = message.flag(*field);
    if (field->number == 4) model.remove_extra_whitespaces = message.flag(*field);
    if (field->number == 5) model.escape_whitespaces = message.flag(*field);
  }
}

void parse_denormalizer(std::string_view bytes, const std::string& place, TokenizerModel& model) {
  Message message(bytes, place);
  while (const auto field = message.next()) {
    if (field->number == 2 || field->number == 6) model.changes_characters |= !field->bytes.empty();
  }
}

}  // namespace

TokenizerModel parse_tokenizer_model(std::string_view serialized, const std::string& place) {
  if (serialized.empty()) refuse(place, "is empty");
  TokenizerModel model;
  Message message(serialized, place);
  while (const auto field = message.next()) {
    if (field->number == 0 || field->number > 5) continue;
    message.expect(*field, 2);
    switch (field->number) {
      case 1:
        model.pieces.push_back(parse_piece(field->bytes, place));
        break;
      case 2:
        parse_trainer(field->bytes, place, model);
        break;
      case 3:
        parse_normalizer(field->bytes, place, model);
        break;
      case 5:
        parse_denormalizer(field->bytes, place, model);
        break;
      default:
        break;
    }
    if (model.pieces.size() > kMostPieces) message.bad(cat("more than ", kMostPieces, " pieces"));
  }
  if (model.pieces.empty()) message.bad("no pieces");
  return model;
}

}  // namespace alibi
