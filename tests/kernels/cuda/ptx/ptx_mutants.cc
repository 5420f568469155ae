#include "kernels/cuda/ptx/ptx_mutants.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace alibi {

PtxChange replaced(const std::string& part, const std::string& by) {
  return [=](std::string& line, std::string_view) {
    const std::size_t at = line.find(part);
    if (at == std::string::npos) return false;
    line.replace(at, part.size(), by);
    return true;
  };
}

PtxChange in_opcode(const std::string& opcode, const std::string& part, const std::string& by) {
  return [=](std::string& line, std::string_view behind) {
    return line.find("\t" + opcode) != std::string::npos && replaced(part, by)(line, behind);
  };
}

PtxChange only_operand(const std::string& opcode, std::size_t kept) {
  return [=](std::string& line, std::string_view) {
    if (line.find("\t" + opcode) == std::string::npos) return false;
    std::vector<std::string> operands = split(line.substr(line.find('%')), ',');
    operands.back().pop_back();  // ';'
    line =
        "\tmov" + opcode.substr(opcode.find('.')) + " " + operands[0] + "," + operands[kept] + ";";
    return true;
  };
}

bool any_ptx_mutant(const std::string& text, const PtxChange& change,
                    const std::function<bool(const std::string& text)>& f) {
  int places = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string line = text.substr(start, end - start);
    std::string changed = line;
    if (end > start && change(changed, std::string_view(text).substr(end))) {
      EXPECT_NE(changed, line);
      ++places;
      if (f(text.substr(0, start) + changed + text.substr(end))) return true;
    }
    start = end + 1;
  }
  EXPECT_GT(places, 0) << "nothing to change";
  return false;
}

}  // namespace alibi
