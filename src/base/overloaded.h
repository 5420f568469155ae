// Several lambdas as one visitor: std::visit(Overloaded{[](int) {...}, [](double) {...}}, value).
#pragma once

namespace alibi {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;  // C++20 deduces it; clang 14 must be told

}  // namespace alibi
