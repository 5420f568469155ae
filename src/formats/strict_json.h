// JSON as our own files use it: one object, no duplicate names, no deep nesting, nothing after it.
//
// nlohmann's event parser reads it, which never recurses; values land in our own type, so that no
// JSON library passes through headers. Every fault is an Error headed by `place`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/printable.h"

namespace alibi {

struct StrictJson;
using StrictArray = std::vector<StrictJson>;
using StrictObject = std::map<std::string, StrictJson, std::less<>>;

// monostate is null; std::uint64_t holds only integers above the range of std::int64_t.
struct StrictJson {
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, StrictArray,
               StrictObject>
      value;
};

// What a file may ask of us before it is refused: nesting, and memory (a value takes ~100 bytes).
struct JsonLimits {
  std::size_t depth = 8;
  std::size_t values = 1'000'000;
};

// `text` must begin with '{'; only white space may follow the last '}'.
StrictObject parse_strict_json(std::string_view text, const std::string& place,
                               JsonLimits limits = {});

// A member that must be there; members that may be there, all others being refused.
const StrictJson& required(const StrictObject& object, std::string_view name,
                           const std::string& place);
void refuse_unknown(const StrictObject& object, std::initializer_list<std::string_view> known,
                    const std::string& place);

// The value as that type and no other: 1.0 and true are no integers. as_number takes integers too.
const StrictObject& as_object(const StrictJson& json, const std::string& place);
const StrictArray& as_array(const StrictJson& json, const std::string& place);
const std::string& as_string(const StrictJson& json, const std::string& place);
bool as_bool(const StrictJson& json, const std::string& place);
double as_number(const StrictJson& json, const std::string& place);
std::int64_t as_count(const StrictJson& json, const std::string& place);  // 0 .. 2^63 - 1

// Text as a JSON string with its quotes. Throws Error when it is not UTF-8.
std::string json_quoted(std::string_view text);

}  // namespace alibi
