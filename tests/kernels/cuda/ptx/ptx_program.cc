#include "kernels/cuda/ptx/ptx_program.h"

#include <bit>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/strings.h"
#include "kernels/cuda/ptx/ptx_operations.h"

namespace alibi {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text = trimmed(text.substr(prefix.size()));
  return true;
}

std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find_first_of(" \t"));
  text = trimmed(text.substr(word.size()));
  return word;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  const bool negative = text.starts_with("-");
  if (negative) text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return {};
  return static_cast<std::int64_t>(negative ? 0 - value : value);
}

// The bits of a literal: a whole number, or a float written as 0f and 8 digits.
std::optional<std::uint64_t> literal(std::string_view text) {
  if (text.starts_with("0f") || text.starts_with("0F")) {
    std::uint64_t bits = 0;
    const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return bits;
  }
  const auto value = whole_number(text);
  if (!value) return {};
  return static_cast<std::uint64_t>(*value);
}

// Operands between commas, those of {...} and of d|p one by one; [...] stays whole.
std::vector<std::string_view> operands_of(std::string_view text) {
  std::vector<std::string_view> found;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text.find_first_of(",{}|", i) != i) continue;
    const std::string_view part = trimmed(text.substr(start, i - start));
    if (!part.empty()) found.push_back(part);
    start = i + 1;
  }
  return found;
}

class Decoder {
 public:
  PtxKernel decode(std::string_view text) {
    for (std::size_t start = 0; start < text.size();) {
      const std::size_t end = std::min(text.find('\n', start), text.size());
      ++line_;
      std::string_view line = text.substr(start, end - start);
      line = trimmed(line.substr(0, line.find("//")));
      if (!line.empty()) read(line);
      start = end + 1;
    }
    for (const auto& [instruction, label] : branches_) {
      const auto found = labels_.find(label);
      line_ = kernel_.code[instruction].line;
      if (found == labels_.end()) fail(cat("no label ", label));
      kernel_.code[instruction].target = found->second;
    }
    if (kernel_.name.empty() || kernel_.code.empty()) fail("no kernel");
    return std::move(kernel_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw PtxError(PtxFault::kSyntax, cat("line ", line_, ": ", what));
  }

  void read(std::string_view line) {
    if (take(line, "{")) {
      scopes_.emplace_back();
    } else if (take(line, "}")) {
      if (scopes_.empty()) fail("a scope ends that did not begin");
      scopes_.pop_back();
    } else if (line.starts_with(".")) {
      directive(line);
      return;
    } else if (line.ends_with(":")) {
      labels_[std::string(line.substr(0, line.size() - 1))] = static_cast<int>(kernel_.code.size());
      return;
    } else if (!scopes_.empty()) {
      instruction(line);
      return;
    } else if (!take(line, ")")) {
      fail(cat("cannot read '", line, "'"));
    }
    if (!line.empty()) fail(cat("cannot read '", line, "' behind a bracket"));
  }

  void directive(std::string_view line) {
    for (const std::string_view known : {".version", ".target", ".address_size", ".minnctapersm"})
      if (line.starts_with(known)) return;
    take(line, ".visible");
    if (take(line, ".entry")) {
      if (!kernel_.name.empty()) fail("a second kernel");
      kernel_.name = line.substr(0, line.find('('));
    } else if (take(line, ".maxntid")) {
      kernel_.most_threads =
          static_cast<int>(whole_number(line.substr(0, line.find(','))).value_or(0));
    } else if (take(line, ".param")) {
      parameter(line);
    } else if (take(line, ".extern") || line.starts_with(".shared")) {
      shared(line);
    } else if (take(line, ".reg")) {
      registers(line);
    } else if (take(line, ".pragma")) {
      if (take(line, "\"used_bytes_mask"))
        used_bytes_ = static_cast<std::uint32_t>(
            whole_number(line.substr(0, line.find('"'))).value_or(kAllLanes));
    } else {
      fail(cat("directive '", line, "' is not known"));
    }
  }

  int bytes_of(std::string_view type) const {
    if (type == "pred") return 0;
    if (type.ends_with("64")) return 8;
    if (type.ends_with("32")) return 4;
    if (type.ends_with("16")) return 2;
    if (type.ends_with("b8") || type.ends_with("u8") || type.ends_with("s8")) return 1;
    fail(cat("type .", type, " is not known"));
  }

  // .align N .TYPE NAME[COUNT]: name and size.
  struct Variable {
    std::string name;
    int align, bytes;
  };
  Variable variable(std::string_view line) const {
    int align = 0;
    if (take(line, ".align")) align = static_cast<int>(whole_number(take_word(line)).value_or(0));
    const int size = bytes_of(take_word(line).substr(1));
    line = line.substr(0, line.find_first_of(",;"));
    const std::size_t bracket = line.find('[');
    std::int64_t count = 1;
    if (bracket != std::string_view::npos)
      count = whole_number(line.substr(bracket + 1, line.find(']') - bracket - 1)).value_or(0);
    return {std::string(trimmed(line.substr(0, bracket))), align == 0 ? size : align,
            size * static_cast<int>(count)};
  }

  static int rounded_up(int value, int unit) { return (value + unit - 1) / unit * unit; }

  void parameter(std::string_view line) {
    const Variable found = variable(line);
    const int at = rounded_up(kernel_.parameter_bytes, found.align);
    symbols_[found.name] = static_cast<std::uint64_t>(at);
    kernel_.parameter_bytes = at + found.bytes;
  }

  // Static arrays lie in their order, what the launch adds begins behind them.
  void shared(std::string_view line) {
    if (!take(line, ".shared")) fail(cat("'", line, "' is not known behind .extern"));
    const Variable found = variable(line);
    if (found.bytes == 0) {
      dynamic_ = found.name;
      return;
    }
    const int at = rounded_up(kernel_.static_shared_bytes, found.align);
    symbols_[found.name] = kSharedStart + static_cast<std::uint64_t>(at);
    kernel_.static_shared_bytes = at + found.bytes;
  }

  void registers(std::string_view line) {
    const int bytes = bytes_of(take_word(line).substr(1));
    line = line.substr(0, line.find(';'));
    const std::size_t bracket = line.find('<');
    const std::string name(line.substr(0, bracket));
    if (bracket == std::string_view::npos) {
      scopes_.back()[name] = fresh(bytes);
      return;
    }
    const auto count = whole_number(line.substr(bracket + 1, line.find('>') - bracket - 1));
    for (std::int64_t i = 0; i < count.value_or(0); ++i)
      scopes_.back()[cat(name, i)] = fresh(bytes);
  }

  PtxOperand fresh(int bytes) {
    const auto size = static_cast<std::uint32_t>(bytes == 0 ? 4 : bytes * kPtxLanes);
    const std::uint32_t at = (kernel_.file_bytes + 7) / 8 * 8;
    kernel_.file_bytes = at + size;
    return {.index = kernel_.registers++, .at = at, .bytes = bytes};
  }

  PtxOperand constant(std::uint64_t value, int bytes) {
    const auto key = std::pair(value, bytes);
    if (const auto found = constants_.find(key); found != constants_.end()) return found->second;
    PtxOperand place = fresh(bytes);
    place.constant = true;
    kernel_.constants.push_back({place, value});
    return constants_[key] = place;
  }

  std::optional<PtxOperand> special(std::string_view name) {
    static constexpr std::pair<std::string_view, PtxSpecial> kKnown[] = {
        {"%tid.x", PtxSpecial::kThread},
        {"%ctaid.x", PtxSpecial::kBlockX},
        {"%ctaid.y", PtxSpecial::kBlockY},
        {"%ctaid.z", PtxSpecial::kBlockZ}};
    for (const auto& [known, which] : kKnown) {
      if (name != known) continue;
      for (const PtxKernel::Special& there : kernel_.specials)
        if (there.which == which) return there.place;
      PtxOperand place = fresh(4);
      place.constant = true;
      kernel_.specials.push_back({place, which});
      return place;
    }
    return {};
  }

  std::optional<PtxOperand> named_register(std::string_view name) const {
    const std::string key(name);
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto found = scope->find(key); found != scope->end()) return found->second;
    return {};
  }

  std::optional<std::uint64_t> symbol(std::string_view name) const {
    const std::string key(name);
    if (const auto found = symbols_.find(key); found != symbols_.end()) return found->second;
    if (!dynamic_.empty() && name == dynamic_)
      return kSharedStart +
             static_cast<std::uint64_t>(rounded_up(kernel_.static_shared_bytes, 128));
    return {};
  }

  // A register, or what stands for one: a special register, a literal, a symbol's address.
  PtxOperand value(std::string_view text, int bytes) {
    if (const auto found = named_register(text)) return *found;
    if (const auto found = special(text)) return *found;
    const auto bits = symbol(text);
    if (bits) return constant(*bits, bytes == 0 ? 8 : bytes);
    const auto number = literal(text);
    if (!number) fail(cat("operand '", text, "' is not known"));
    return constant(*number, bytes);
  }

  // [register], [register+4], [symbol], [symbol+4]
  PtxOperand address(std::string_view text) {
    if (!text.starts_with("[") || !text.ends_with("]")) fail(cat("'", text, "' is no address"));
    text = text.substr(1, text.size() - 2);
    const std::size_t plus = text.find('+');
    PtxOperand base = value(trimmed(text.substr(0, plus)), 8);
    if (plus != std::string_view::npos) {
      const auto offset = whole_number(trimmed(text.substr(plus + 1)));
      if (!offset) fail(cat("offset in '", text, "' is not known"));
      base.offset = *offset;
    }
    return base;
  }

  void instruction(std::string_view line) {
    PtxInstruction made;
    made.line = line_;
    made.text = std::string(line);
    made.used_bytes = std::exchange(used_bytes_, kAllLanes);
    if (!line.ends_with(";")) fail(cat("'", line, "' does not end with ';'"));
    line = trimmed(line.substr(0, line.size() - 1));
    if (take(line, "@")) {
      made.guarded = true;
      made.guard_negated = take(line, "!");
      made.guard = value(take_word(line), 0);
      if (made.guard.bytes != 0) fail("a guard is a predicate");
    }
    made.opcode = take_word(line);
    fill(made, operands_of(line));
    kernel_.code.push_back(std::move(made));
  }

  // As every register that is given.
  bool is_as_wide(const PtxOperation& form, const std::vector<std::string_view>& operands) {
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (operands[i].starts_with('%') &&
          value(operands[i], 4).bytes != bytes_of_shape(form.shape[i]))
        return false;
    return true;
  }

  void fill(PtxInstruction& made, const std::vector<std::string_view>& operands) {
    const std::vector<PtxOperation> forms = ptx_operations(made.opcode);
    if (forms.empty()) fail(cat("opcode ", made.opcode, " is not known"));
    for (const PtxOperation& form : forms) {
      if (form.shape.size() != operands.size()) continue;
      if (forms.size() > 1 && !is_as_wide(form, operands)) continue;
      made.run = form.run;
      for (std::size_t i = 0; i < operands.size(); ++i) add(made, form.shape[i], operands[i]);
      return;
    }
    fail(cat(made.opcode, " does not take ", operands.size(), " operands"));
  }

  static bool is_written(char shape) { return shape < 'a'; }
  static int bytes_of_shape(char shape) {
    const char kind = is_written(shape) ? static_cast<char>(shape - 'A' + 'a') : shape;
    return kind == 'p' ? 0 : kind == 'h' ? 2 : kind == 'd' ? 8 : 4;
  }

  static void read_by(PtxInstruction& made, const PtxOperand& operand) {
    if (!operand.constant) made.reads.push_back(operand.index);
  }

  void add(PtxInstruction& made, char shape, std::string_view text) {
    if (shape == 'l') {
      branches_.emplace_back(kernel_.code.size(), std::string(text));
    } else if (shape == 'i') {
      const auto number = whole_number(text);
      if (!number) fail(cat("'", text, "' is not a number"));
      made.operands.push_back({.offset = *number, .constant = true});
    } else if (shape == 'a') {
      made.operands.push_back(address(text));
      read_by(made, made.operands.back());
    } else {
      add_register(made, shape, text);
    }
  }

  void add_register(PtxInstruction& made, char shape, std::string_view text) {
    const bool written = is_written(shape);
    const int bytes = bytes_of_shape(shape);
    const PtxOperand operand = value(text, bytes);
    if (shape != 'x' && shape != 'X' && operand.bytes != bytes)
      fail(cat(made.opcode, ": operand '", text, "' is ", 8 * operand.bytes, " bits wide"));
    if (written && operand.constant) fail(cat("'", text, "' cannot be written"));
    if (written)
      made.writes.push_back(operand.index);
    else
      read_by(made, operand);
    made.operands.push_back(operand);
  }

  using Scope = std::unordered_map<std::string, PtxOperand>;
  PtxKernel kernel_;
  int line_ = 0;
  std::vector<Scope> scopes_;
  std::map<std::string, std::uint64_t> symbols_;
  std::string dynamic_;  // what a launch adds in shared memory
  std::map<std::string, int> labels_;
  std::vector<std::pair<std::size_t, std::string>> branches_;
  std::map<std::pair<std::uint64_t, int>, PtxOperand> constants_;
  std::uint32_t used_bytes_ = kAllLanes;
};

}  // namespace

PtxText::PtxText(std::string text) : text_(std::move(text)) {
  for (std::size_t line = 0; line < text_.size();) {
    const std::string_view rest = std::string_view(text_).substr(line);
    if (rest.starts_with(".entry") || rest.starts_with(".visible .entry")) starts_.push_back(line);
    const std::size_t end = text_.find('\n', line);
    line = end == std::string::npos ? text_.size() : end + 1;
  }
}

std::string PtxText::kernel(const std::vector<std::string>& parts) const {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < starts_.size(); ++i) {
    const std::size_t end = i + 1 < starts_.size() ? starts_[i + 1] : text_.size();
    const std::string name = text_.substr(starts_[i], text_.find('(', starts_[i]) - starts_[i]);
    bool all = true;
    for (const std::string& part : parts) all = all && name.find(part) != std::string::npos;
    if (!all) continue;
    std::string alone = text_.substr(0, starts_.front());
    for (std::size_t at = starts_.front(); at < starts_[i]; ++at)
      if (text_[at] == '\n') alone += '\n';
    found.push_back(alone + text_.substr(starts_[i], end - starts_[i]));
  }
  if (found.size() != 1)
    throw PtxError(PtxFault::kSyntax,
                   cat(found.size(), " kernels have names with ", join(parts, ", ")));
  return found.front();
}

PtxKernel decode_ptx(std::string_view text) { return Decoder().decode(text); }

}  // namespace alibi
