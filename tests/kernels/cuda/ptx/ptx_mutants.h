// Faults put into a kernel's PTX, to see that they are found.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace alibi {

// Changes a line, or leaves it and says so; `behind` is the text behind it.
using PtxChange = std::function<bool(std::string& line, std::string_view behind)>;

PtxChange replaced(const std::string& part, const std::string& by);
// In lines of this opcode.
PtxChange in_opcode(const std::string& opcode, const std::string& part, const std::string& by);
// The destination of `opcode` becomes a copy of its first or its second source.
PtxChange only_operand(const std::string& opcode, std::size_t kept);

// Calls f(text) with the kernel's text, changed in one place, for each place that it can be changed
// in, until f returns true. Whether it did. A test fails where there is no such place.
bool any_ptx_mutant(const std::string& text, const PtxChange& change,
                    const std::function<bool(const std::string& text)>& f);

}  // namespace alibi
