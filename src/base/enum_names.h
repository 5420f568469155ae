// Enumerators by name, as files and the command line spell them: one list per enumeration.
//
// An enumeration with the values 0, 1, 2, ... gives its names in that order, beside its definition:
//   enum class Task { kPerplexity, kPasskey };
//   constexpr auto enum_names(Task) { return std::array{"perplexity", "passkey"}; }
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace alibi {

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E value) {
  enum_names(value);
};

template <NamedEnum E>
constexpr const char* name_of(E value) {
  return enum_names(value)[static_cast<std::size_t>(value)];
}

// Nothing for a name that is none of them.
template <NamedEnum E>
constexpr std::optional<E> find_enum(std::string_view name) {
  const auto names = enum_names(E{});
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (name == names[i]) return static_cast<E>(i);
  }
  return std::nullopt;
}

template <NamedEnum E>
std::vector<std::string> all_names() {
  const auto names = enum_names(E{});
  return {names.begin(), names.end()};
}

}  // namespace alibi
