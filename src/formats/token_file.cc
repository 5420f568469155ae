#include "formats/token_file.h"

#include <array>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "base/strings.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kLlmCHeader = 1024;
constexpr std::int32_t kLlmC16 = 20240520, kLlmC32 = 20240801;
constexpr std::int32_t kLlmCEvaluation = 20240522, kLlmCModel = 20240326;
constexpr std::string_view kMegatron = "MMIDIDX\0\0"sv;
constexpr std::size_t kMegatronHead = 9 + 8 + 1 + 8 + 8;

struct IdType {
  int bytes;
  bool is_signed;
};
// By Megatron's codes 1 to 8; 6 and 7 are floating point.
constexpr std::array<IdType, 9> kTypes{{{0, false},
                                        {1, false},
                                        {1, true},
                                        {2, true},
                                        {4, true},
                                        {8, true},
                                        {0, false},
                                        {0, false},
                                        {2, false}}};

template <class Number>
Number load(std::span<const std::byte> bytes, std::size_t offset) {
  Number value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// What remains of an index file, taken from the front with every size checked.
struct Reader {
  std::span<const std::byte> rest;
  std::string place;

  template <class Number>
  std::vector<Number> take(std::uint64_t count, const char* what) {
    if (count > rest.size() / sizeof(Number)) {
      throw Error(place, cat("is too short for ", count, " ", what),
                  "the file is damaged or cut short");
    }
    std::vector<Number> numbers(count);
    if (count > 0) std::memcpy(numbers.data(), rest.data(), count * sizeof(Number));
    rest = rest.subspan(count * sizeof(Number));
    return numbers;
  }
};

}  // namespace

bool is_token_file(const fs::path& file) { return file.extension() == ".bin"; }

TokenFile::TokenFile(const fs::path& file) : name_(file.string()), files_({file}), file_(file) {
  ids_ = file_.bytes();
  const fs::path index = fs::path(file).replace_extension(".idx");
  std::error_code ignored;
  if (fs::exists(index, ignored)) {
    const MappedFile mapped(index);
    read_megatron(mapped.bytes(), index.string());
    files_.push_back(index);
  } else {
    read_llm_c();
  }
  if (ids_.size() % static_cast<std::size_t>(id_bytes_) != 0) {
    throw Error(
        name_, cat("holds ", ids_.size(), " bytes of ids, no multiple of ", id_bytes_),
        "expected uint16 ids (nanoGPT), llm.c's header, or a .idx file beside it (Megatron)");
  }
  tokens_ = static_cast<std::int64_t>(ids_.size()) / id_bytes_;
  if (format_ == kNanoGpt && looks_wide()) {
    throw Error(name_, "looks like uint32 ids: every second uint16 is 0",
                "expected uint16 ids (nanoGPT), or llm.c's header before uint32 ids");
  }
  if (tokens_ == 0) throw Error(name_, "holds no token");
  if (documents_ && documents_->back() != tokens_) {
    throw Error(index.string(),
                cat("counts ", documents_->back(), " tokens, ", name_, " holds ", tokens_));
  }
}

std::int64_t TokenFile::operator[](std::int64_t index) const {
  ensure(index >= 0 && index < tokens_, "a token's index is inside its file");
  const auto offset = static_cast<std::size_t>(index) * static_cast<std::size_t>(id_bytes_);
  switch (id_bytes_) {
    case 1:
      return is_signed_ ? load<std::int8_t>(ids_, offset) : load<std::uint8_t>(ids_, offset);
    case 2:
      return is_signed_ ? load<std::int16_t>(ids_, offset) : load<std::uint16_t>(ids_, offset);
    case 4:  // not as one expression, whose type would be unsigned
      if (is_signed_) return load<std::int32_t>(ids_, offset);
      return load<std::uint32_t>(ids_, offset);
    default:
      return load<std::int64_t>(ids_, offset);
  }
}

bool TokenFile::looks_wide() const {
  constexpr std::int64_t kEnough = 16;
  if (tokens_ < kEnough || tokens_ % 2 != 0) return false;
  for (std::int64_t i = 1; i < tokens_; i += 2) {
    if ((*this)[i] != 0) return false;
  }
  return true;
}

void TokenFile::read_llm_c() {
  if (ids_.size() < kLlmCHeader) return;
  const auto magic = load<std::int32_t>(ids_, 0), version = load<std::int32_t>(ids_, 4);
  if (magic == kLlmCEvaluation || magic == kLlmCModel) {
    throw Error(name_,
                magic == kLlmCModel ? "is a model of llm.c" : "is an evaluation file of llm.c",
                "name a file of tokens");
  }
  if (magic != kLlmC16 && magic != kLlmC32) return;
  const bool wide = magic == kLlmC32;
  if (version != (wide ? 7 : 1))
    throw Error(name_, cat("has llm.c's version ", version, ", expected ", wide ? 7 : 1));
  format_ = "llm.c";
  id_bytes_ = wide ? 4 : 2;
  ids_ = ids_.subspan(kLlmCHeader);
  const auto said = load<std::int32_t>(file_.bytes(), 8);
  const std::size_t found = ids_.size() / static_cast<std::size_t>(id_bytes_);
  if (said < 0 || found != static_cast<std::size_t>(said)) {
    throw Error(name_, cat("its header counts ", said, " tokens, ", found, " follow it"),
                "the file is damaged or cut short");
  }
}

void TokenFile::read_megatron(std::span<const std::byte> index, const std::string& place) {
  format_ = "Megatron";
  if (index.size() < kMegatronHead ||
      std::memcmp(index.data(), kMegatron.data(), kMegatron.size()) != 0)
    throw Error(place, "does not begin with MMIDIDX", "expected the index of Megatron's " + name_);
  const auto version = load<std::uint64_t>(index, 9);
  const auto code = load<std::uint8_t>(index, 17);
  if (version != 1) throw Error(place, cat("has version ", version, ", expected 1"));
  if (code >= kTypes.size() || kTypes[code].bytes == 0)
    throw Error(place, cat("has ids of type ", int{code}, ", expected integers (1 to 5, or 8)"));
  id_bytes_ = kTypes[code].bytes;
  is_signed_ = kTypes[code].is_signed;
  const auto sequences = load<std::uint64_t>(index, 18), entries = load<std::uint64_t>(index, 26);
  Reader reader{index.subspan(kMegatronHead), place};
  const auto lengths = reader.take<std::int32_t>(sequences, "lengths");
  const auto offsets = reader.take<std::int64_t>(sequences, "offsets");
  const auto documents = reader.take<std::int64_t>(entries, "documents");
  std::vector<std::int64_t> starts = {0};  // of the sequences, in tokens
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0 || offsets[i] != starts.back() * id_bytes_) {
      throw Error(place, cat("sequence ", i, " has ", lengths[i], " tokens from byte ", offsets[i],
                             ", expected it at byte ", starts.back() * id_bytes_));
    }
    starts.push_back(starts.back() + lengths[i]);
  }
  documents_.emplace();
  for (const std::int64_t first : documents) {
    const bool inside = first >= 0 && static_cast<std::uint64_t>(first) < starts.size();
    const std::int64_t start = inside ? starts[static_cast<std::size_t>(first)] : -1;
    if (!inside || (documents_->empty() ? start != 0 : start < documents_->back()))
      throw Error(place, cat("document ", documents_->size(), " begins at sequence ", first, " of ",
                             sequences));
    documents_->push_back(start);
  }
  if (documents_->empty()) documents_->push_back(0);
  if (documents_->back() != starts.back()) documents_->push_back(starts.back());
}

}  // namespace alibi
