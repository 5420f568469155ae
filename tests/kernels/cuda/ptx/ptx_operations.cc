#include "kernels/cuda/ptx/ptx_operations.h"

#include <bit>
#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>
#include <unordered_map>

#include "base/strings.h"
#include "kernels/cuda/ptx/ptx_machine.h"

namespace alibi {
namespace {

using Table = std::unordered_map<std::string, std::vector<PtxOperation>>;

template <class T>
using Lanes = std::array<T, kPtxLanes>;

template <class T>
constexpr char kLetter = sizeof(T) == 2   ? 'h'
                         : sizeof(T) == 4 ? 'w'
                                          : 'd';
template <class T>
constexpr char kWritten = static_cast<char>(kLetter<T> - 'a' + 'A');

// All lanes are computed, those that take part are stored.
template <class F, class To, class... From>
void compute(PtxWarp& warp, const PtxInstruction& instruction, LaneMask lanes) {
  const auto from = [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::tuple(warp.read<From>(instruction.operands[kIndex + 1])...);
  }
  (std::index_sequence_for<From...>());
  Lanes<To> result;
  for (std::size_t lane = 0; lane < kPtxLanes; ++lane)
    result[lane] = std::apply([&](const auto&... one) { return F()(one[lane]...); }, from);
  warp.write(instruction.operands[0], result, lanes);
}

template <class F, class To, class... From>
PtxOperation operation() {
  return {compute<F, To, From...>, std::string{kWritten<To>, kLetter<From>...}};
}

template <class F, class T>
void compare(PtxWarp& warp, const PtxInstruction& instruction, LaneMask lanes) {
  const auto a = warp.read<T>(instruction.operands[1]), b = warp.read<T>(instruction.operands[2]);
  LaneMask holds = 0;
  for (std::size_t lane = 0; lane < kPtxLanes; ++lane)
    holds |= static_cast<LaneMask>(F()(a[lane], b[lane]) ? 1 : 0) << lane;
  warp.write_predicate(instruction.operands[0], holds, lanes);
}

template <class T>
void select(PtxWarp& warp, const PtxInstruction& instruction, LaneMask lanes) {
  const auto a = warp.read<T>(instruction.operands[1]), b = warp.read<T>(instruction.operands[2]);
  const LaneMask first = warp.predicate(instruction.operands[3]);
  Lanes<T> result;
  for (std::size_t lane = 0; lane < kPtxLanes; ++lane)
    result[lane] = (first >> lane & 1) != 0 ? a[lane] : b[lane];
  warp.write(instruction.operands[0], result, lanes);
}

template <class F>
void logic(PtxWarp& warp, const PtxInstruction& instruction, LaneMask lanes) {
  const LaneMask a = warp.predicate(instruction.operands[1]);
  const LaneMask b = warp.predicate(instruction.operands.back());
  warp.write_predicate(instruction.operands[0], F()(a, b), lanes);
}

// Whole numbers, as unsigned ones: theirs wrap around.
template <class T>
using Bits = std::make_unsigned_t<T>;
struct Add {
  auto operator()(auto a, auto b) const { return static_cast<decltype(a)>(a + b); }
};
struct Subtract {
  auto operator()(auto a, auto b) const { return static_cast<decltype(a)>(a - b); }
};
struct Multiply {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return a * b; }
  std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return a * b; }
  std::uint16_t operator()(std::uint16_t a, std::uint16_t b) const {
    return static_cast<std::uint16_t>(std::uint32_t{a} * b);
  }
  float operator()(float a, float b) const { return a * b; }
};
struct MultiplyAdd {
  auto operator()(auto a, auto b, auto c) const {
    return static_cast<decltype(a)>(Multiply()(a, b) + c);
  }
};
template <class Wide>
struct MultiplyWide {
  Wide operator()(auto a, auto b) const { return Wide{a} * Wide{b}; }
  Wide operator()(auto a, auto b, auto c) const {
    return Add()(Bits<Wide>(Wide{a} * b), Bits<Wide>(c));
  }
};
template <class Wide>
struct MultiplyHigh {
  auto operator()(auto a, auto b) const {
    return static_cast<decltype(a)>(Wide{a} * Wide{b} >> 8 * sizeof a);
  }
};
struct Divide {
  auto operator()(auto a, auto b) const {  // a lane that takes no part may hold anything
    if (b == 0) return static_cast<decltype(a)>(-1);
    if constexpr (std::is_signed_v<decltype(a)>)
      if (b == -1) return static_cast<decltype(a)>(0 - Bits<decltype(a)>(a));
    return static_cast<decltype(a)>(a / b);
  }
};
struct Minimum {
  auto operator()(auto a, auto b) const { return a < b ? a : b; }
};
struct Maximum {
  auto operator()(auto a, auto b) const { return a > b ? a : b; }
};
struct Negate {
  auto operator()(auto a) const { return static_cast<decltype(a)>(0 - Bits<decltype(a)>(a)); }
};
struct And {
  auto operator()(auto a, auto b) const { return static_cast<decltype(a)>(a & b); }
};
struct Or {
  auto operator()(auto a, auto b) const { return static_cast<decltype(a)>(a | b); }
};
struct Xor {
  auto operator()(auto a, auto b) const { return static_cast<decltype(a)>(a ^ b); }
};
struct Not {
  auto operator()(auto a) const { return static_cast<decltype(a)>(~a); }
  LaneMask operator()(LaneMask, LaneMask b) const { return ~b; }
};
struct ShiftLeft {
  auto operator()(auto a, std::uint32_t by) const {
    return by >= 8 * sizeof a ? decltype(a){0} : static_cast<decltype(a)>(a << by);
  }
};
struct ShiftRight {
  auto operator()(auto a, std::uint32_t by) const {
    const std::uint32_t most = 8 * sizeof a - 1;
    if (by > most && a >= 0) return decltype(a){0};
    return static_cast<decltype(a)>(a >> std::min(by, most));
  }
};
struct InsertBits {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t at,
                           std::uint32_t count) const {
    const std::uint64_t field = ((std::uint64_t{1} << std::min(count & 0xff, 32U)) - 1)
                                << std::min(at & 0xff, 32U);
    const std::uint64_t moved = std::uint64_t{a} << std::min(at & 0xff, 32U);
    return static_cast<std::uint32_t>((b & ~field) | (moved & field));
  }
};
struct Same {
  auto operator()(auto a) const { return a; }
};
template <class To>
struct Convert {
  To operator()(auto a) const { return static_cast<To>(a); }
};

// A source may be wider than its type, which is then its lower part.
template <class To, class From>
struct ConvertLow {
  To operator()(std::uint64_t a) const { return static_cast<To>(static_cast<From>(a)); }
};

// Floats. nvcc lets ptxas join a product and a sum into one fma; here they are rounded apart.
struct FloatMinimum {
  float operator()(float a, float b) const { return std::fmin(a, b); }
};
struct FloatMaximum {
  float operator()(float a, float b) const { return std::fmax(a, b); }
};
struct FloatNegate {
  float operator()(float a) const { return -a; }
};
struct FloatDivide {
  float operator()(float a, float b) const { return a / b; }
};
struct FusedMultiplyAdd {
  float operator()(float a, float b, float c) const { return std::fma(a, b, c); }
};
struct FloatReciprocal {
  float operator()(float a) const { return 1 / a; }
};
struct SquareRoot {
  float operator()(float a) const { return std::sqrt(a); }
};
struct BfloatPair {
  static std::uint32_t rounded(float x) {
    if (std::isnan(x)) return 0x7fff;
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  }
  std::uint32_t operator()(float high, float low) const {
    return rounded(high) << 16 | rounded(low);
  }
};

// A device's approximations are within two units in the last place, 2^-22. Here each argument has
// an error of its own up to that, so that a test's tolerance holds on a device too.
double error_of(float x) {
  std::uint32_t bits = std::bit_cast<std::uint32_t>(x) * 2654435761U;
  bits ^= bits >> 15;
  bits *= 2246822519U;
  return (static_cast<double>(bits >> 8) * 0x1p-23 - 1) * 0x1p-22;
}
template <bool kFlush>
float flushed(float x) {
  return kFlush && std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0F, x) : x;
}
template <bool kFlush>
struct Exponential {
  float operator()(float x) const {
    x = flushed<kFlush>(x);
    const double exact = std::exp2(double{x});
    return flushed<kFlush>(
        static_cast<float>(x == std::floor(x) ? exact : exact * (1 + error_of(x))));
  }
};
template <bool kFlush>
struct Logarithm {
  float operator()(float x) const {
    const double exact = std::log2(double{flushed<kFlush>(x)});
    const double error = x > 0.5F && x < 2 ? error_of(x) : error_of(x) * exact;
    return static_cast<float>(std::isfinite(exact) && exact != 0 ? exact + error : exact);
  }
};

struct Equal {
  bool operator()(auto a, auto b) const { return a == b; }
};
struct Less {
  bool operator()(auto a, auto b) const { return a < b; }
};
struct LessOrEqual {
  bool operator()(auto a, auto b) const { return a <= b; }
};
struct Greater {
  bool operator()(auto a, auto b) const { return a > b; }
};
struct GreaterOrEqual {
  bool operator()(auto a, auto b) const { return a >= b; }
};
struct NotEqual {
  bool operator()(float a, float b) const { return a < b || a > b; }  // not of NaN
  bool operator()(auto a, auto b) const { return a != b; }
};
struct Numbers {
  bool operator()(float a, float b) const { return !std::isnan(a) && !std::isnan(b); }
};
struct NotNumbers {
  bool operator()(float a, float b) const { return std::isnan(a) || std::isnan(b); }
};
template <class F>
struct OrNotNumbers {
  bool operator()(float a, float b) const { return F()(a, b) || NotNumbers()(a, b); }
};

void whole_warp(LaneMask lanes) {
  if (lanes != kAllLanes) throw PtxError(PtxFault::kDiverged, "not all lanes of the warp are here");
}

// f(lane) for those that take part; an error says which.
void each_lane(LaneMask lanes, const auto& f) {
  for (int lane = 0; lane < kPtxLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    try {
      f(lane);
    } catch (const PtxError& error) {
      throw PtxError(error.fault(), error.what(), lane);
    }
  }
}

// Memory.
enum class Space { kGlobal, kShared, kParameter };

void read_parameters(const std::vector<std::byte>& from, std::uint64_t address,
                     std::span<std::byte> to) {
  if (address > from.size() || address + to.size() > from.size())
    throw PtxError(PtxFault::kOutOfBounds,
                   cat("byte ", static_cast<std::int64_t>(address), " of the parameters"));
  if (address % to.size() != 0)
    throw PtxError(PtxFault::kMisaligned, cat("byte ", address, " of the parameters"));
  std::memcpy(to.data(), &from[address], to.size());
}

template <Space kSpace>
void read_bytes(PtxWarp& warp, std::uint64_t address, std::span<std::byte> to, int lane,
                std::uint32_t used) {
  PtxBlock& block = warp.block();
  const std::uint32_t thread = warp.thread(lane);
  if constexpr (kSpace == Space::kGlobal)
    block.memory().read(address, to, block.thread_of_grid(thread), used);
  else if constexpr (kSpace == Space::kShared)
    block.shared().read(static_cast<std::uint32_t>(address), to, thread, used);
  else
    read_parameters(block.parameters(), address, to);
}

template <Space kSpace, class T>
void load(PtxWarp& warp, const PtxInstruction& instruction, LaneMask lanes) {
  const std::size_t count = instruction.operands.size() - 1;
  const PtxOperand& from = instruction.operands.back();
  each_lane(lanes, [&](int lane) {
    std::array<std::byte, 32> memory;
    const std::span<std::byte> found(memory.data(), count * sizeof(T));
    read_bytes<kSpace>(warp, warp.address(from, lane), found, lane, instruction.used_bytes);
    for (std::size_t i = 0; i < count; ++i) {
      const PtxOperand& to = instruction.operands[i];
      if (static_cast<std::size_t>(to.bytes) < sizeof(T))
        throw PtxError(PtxFault::kSyntax, "the register is too narrow");
      T number;
      std::memcpy(&number, &memory[i * sizeof(T)], sizeof number);
      warp.write_number(to, lane, static_cast<std::uint64_t>(number));  // with T's sign
    }
  });
}

template <Space kSpace, class T>
void store(PtxWarp& warp, const PtxInstruction& instruction, LaneMask lanes) {
  const std::size_t count = instruction.operands.size() - 1;
  const PtxOperand& to = instruction.operands.front();
  PtxBlock& block = warp.block();
  each_lane(lanes, [&](int lane) {
    std::array<std::byte, 32> memory;
    const std::span<std::byte> made(memory.data(), count * sizeof(T));
    for (std::size_t i = 0; i < count; ++i) {
      const auto number = static_cast<T>(warp.number(instruction.operands[i + 1], lane));
      std::memcpy(&memory[i * sizeof(T)], &number, sizeof number);
    }
    const std::uint64_t address = warp.address(to, lane);
    const std::uint32_t thread = warp.thread(lane);
    if constexpr (kSpace == Space::kGlobal)
      block.memory().write(address, made, block.thread_of_grid(thread));
    else
      block.shared().write(static_cast<std::uint32_t>(address), made, thread);
  });
}

// 16 bytes, of which the source gives as many as the last operand says: all or none here.
void copy_asynchronously(PtxWarp& warp, const PtxInstruction& instruction, LaneMask lanes) {
  const auto& operands = instruction.operands;
  if (operands[2].offset != 16) throw PtxError(PtxFault::kSyntax, "a copy has 16 bytes");
  PtxBlock& block = warp.block();
  each_lane(lanes, [&](int lane) {
    std::array<std::byte, 16> memory{};
    const std::uint64_t count = warp.number(operands[3], lane);
    const std::uint64_t source = warp.address(operands[1], lane);
    if (count != 0 && count != 16) throw PtxError(PtxFault::kSyntax, "a copy has 16 bytes or none");
    if (source % 16 != 0) throw PtxError(PtxFault::kMisaligned, "the source of a copy");
    const std::uint32_t thread = warp.thread(lane);
    if (count == 16) block.memory().read(source, memory, block.thread_of_grid(thread));
    block.shared().copy(static_cast<std::uint32_t>(warp.address(operands[0], lane)), memory,
                        thread);
  });
}

void wait_for_copies(PtxWarp& warp, const PtxInstruction&, LaneMask lanes) {
  each_lane(lanes, [&](int lane) { warp.block().shared().land(warp.thread(lane)); });
}

// Lane 8 m + r names row r of matrix m; every lane gets a pair of each matrix.
template <bool kTransposed>
void load_matrices(PtxWarp& warp, const PtxInstruction& instruction, LaneMask lanes) {
  whole_warp(lanes);
  std::array<std::array<std::uint16_t, 8>, kPtxLanes> rows;
  std::array<std::uint32_t, kPtxLanes> addresses;
  each_lane(lanes, [&](int lane) {
    auto& row = rows[static_cast<std::size_t>(lane)];
    const auto address = static_cast<std::uint32_t>(warp.address(instruction.operands[4], lane));
    addresses[static_cast<std::size_t>(lane)] = address;
    warp.block().shared().read(address, std::as_writable_bytes(std::span(row)),
                               AccessLog::kSeveral);
  });
  for (std::size_t matrix = 0; matrix < 4; ++matrix) {
    warp.block().count_conflicts(
        std::span<const std::uint32_t, 8>(addresses.begin() + 8 * matrix, 8));
    Lanes<std::uint32_t> pairs;
    for (std::size_t lane = 0; lane < kPtxLanes; ++lane) {
      const std::size_t fixed = lane / 4, pair = 2 * (lane % 4);
      const auto at = [&](std::size_t i) -> std::uint32_t {
        return kTransposed ? rows[8 * matrix + i][fixed] : rows[8 * matrix + fixed][i];
      };
      pairs[lane] = at(pair) | at(pair + 1) << 16;
    }
    warp.write(instruction.operands[matrix], pairs, lanes);
  }
}

// m16n8k16, bf16 with sums in fp32 (PTX ISA, "Matrix Fragments for mma.m16n8k16"). Products are
// exact in fp32 and summed in the order of k; a device's order is its own.
void multiply_matrices(PtxWarp& warp, const PtxInstruction& instruction, LaneMask lanes) {
  whole_warp(lanes);
  const auto& operands = instruction.operands;
  const auto low = [](std::uint32_t word) { return std::bit_cast<float>(word << 16); };
  const auto high = [](std::uint32_t word) { return std::bit_cast<float>(word & 0xffff0000); };
  float left[16][16], right[16][8], sums[16][8];
  for (std::size_t i = 0; i < 4; ++i) {
    const auto a = warp.read<std::uint32_t>(operands[4 + i]);
    const auto c = warp.read<float>(operands[10 + i]);
    for (std::size_t lane = 0; lane < kPtxLanes; ++lane) {
      const std::size_t row = lane / 4, column = 2 * (lane % 4);
      left[row + 8 * (i % 2)][column + 8 * (i / 2)] = low(a[lane]);
      left[row + 8 * (i % 2)][column + 8 * (i / 2) + 1] = high(a[lane]);
      sums[row + 8 * (i / 2)][column + i % 2] = c[lane];
    }
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const auto b = warp.read<std::uint32_t>(operands[8 + i]);
    for (std::size_t lane = 0; lane < kPtxLanes; ++lane) {
      right[2 * (lane % 4) + 8 * i][lane / 4] = low(b[lane]);
      right[2 * (lane % 4) + 8 * i + 1][lane / 4] = high(b[lane]);
    }
  }
  for (std::size_t row = 0; row < 16; ++row)
    for (std::size_t k = 0; k < 16; ++k)
      for (std::size_t column = 0; column < 8; ++column)
        sums[row][column] += left[row][k] * right[k][column];
  for (std::size_t i = 0; i < 4; ++i) {
    Lanes<float> d;
    for (std::size_t lane = 0; lane < kPtxLanes; ++lane)
      d[lane] = sums[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2];
    warp.write(operands[i], d, lanes);
  }
}

// d|there, a, distance, 31, all lanes
void shuffle_butterfly(PtxWarp& warp, const PtxInstruction& instruction, LaneMask lanes) {
  whole_warp(lanes);
  const auto& operands = instruction.operands;
  const auto from = warp.read<std::uint32_t>(operands[2]);
  const auto distance = warp.read<std::uint32_t>(operands[3]);
  const auto clamp = warp.read<std::uint32_t>(operands[4]);
  const auto members = warp.read<LaneMask>(operands[5]);
  Lanes<std::uint32_t> result;
  for (std::size_t lane = 0; lane < kPtxLanes; ++lane) {
    if (members[lane] != kAllLanes || clamp[lane] != 31 || distance[lane] > 31)
      throw PtxError(PtxFault::kSyntax, "a shuffle is of the whole warp");
    result[lane] = from[lane ^ distance[lane]];
  }
  warp.write(operands[0], result, lanes);
  warp.write_predicate(operands[1], kAllLanes, lanes);
}

void open_pair(PtxWarp& warp, const PtxInstruction& instruction, LaneMask lanes) {
  const auto from = warp.read<std::uint32_t>(instruction.operands[2]);
  Lanes<std::uint16_t> low, high;
  for (std::size_t lane = 0; lane < kPtxLanes; ++lane) {
    low[lane] = static_cast<std::uint16_t>(from[lane]);
    high[lane] = static_cast<std::uint16_t>(from[lane] >> 16);
  }
  warp.write(instruction.operands[0], low, lanes);
  warp.write(instruction.operands[1], high, lanes);
}

void close_pair(PtxWarp& warp, const PtxInstruction& instruction, LaneMask lanes) {
  const auto low = warp.read<std::uint16_t>(instruction.operands[1]);
  const auto high = warp.read<std::uint16_t>(instruction.operands[2]);
  Lanes<std::uint32_t> result;
  for (std::size_t lane = 0; lane < kPtxLanes; ++lane)
    result[lane] = low[lane] | std::uint32_t{high[lane]} << 16;
  warp.write(instruction.operands[0], result, lanes);
}

void branch(PtxWarp& warp, const PtxInstruction& instruction, LaneMask lanes) {
  warp.branch(instruction.target, lanes);
}

// What still arrives then would meet the next block's shared memory.
void end(PtxWarp& warp, const PtxInstruction&, LaneMask lanes) {
  each_lane(lanes, [&](int lane) {
    if (warp.block().shared().awaits(warp.thread(lane)))
      throw PtxError(PtxFault::kUnfinished, "a thread ends with a copy not waited for");
  });
  warp.end(lanes);
}

void only_barrier_0(const PtxOperand& barrier) {
  if (barrier.offset != 0) throw PtxError(PtxFault::kSyntax, "barrier 0 is the only one known");
}

void wait_at_barrier(PtxWarp& warp, const PtxInstruction& instruction, LaneMask lanes) {
  only_barrier_0(instruction.operands[0]);
  warp.wait_at_barrier(lanes, true);
}

void vote_at_barrier(PtxWarp& warp, const PtxInstruction& instruction, LaneMask lanes) {
  only_barrier_0(instruction.operands[1]);
  warp.wait_at_barrier(lanes, warp.predicate(instruction.operands[2]) == kAllLanes);
}

template <Space kSpace, class T>
void add_access(Table& table, const std::string& space, const std::string& type) {
  for (const auto& [vector, count] : {std::pair("", 1), {"v2.", 2}, {"v4.", 4}}) {
    const std::string operands(static_cast<std::size_t>(count), 'x');
    const std::string written(static_cast<std::size_t>(count), 'X');
    table["ld." + space + "." + vector + type] = {{load<kSpace, T>, written + "a"}};
    // What no thread writes meanwhile: that it is an input is seen where one does.
    if constexpr (kSpace == Space::kGlobal)
      table["ld.global.nc." + std::string(vector) + type] = {{load<kSpace, T>, written + "a"}};
    if constexpr (kSpace != Space::kParameter)
      table["st." + space + "." + vector + type] = {{store<kSpace, T>, "a" + operands}};
  }
}

template <class T>
void add_accesses(Table& table, const std::string& type) {
  add_access<Space::kGlobal, T>(table, "global", type);
  add_access<Space::kShared, T>(table, "shared", type);
  add_access<Space::kParameter, T>(table, "param", type);
}

template <class F, class T>
void add_comparison(Table& table, const std::string& name) {
  table["setp." + name] = {{compare<F, T>, std::string{'P', kLetter<T>, kLetter<T>}}};
}

// T as .TYPE, and its bits as .BITS: .s32 and .b32.
template <class T>
void add_integers(Table& table, const std::string& type, const std::string& bits) {
  using B = Bits<T>;
  const auto add = [&](const std::string& name, PtxOperation one) { table[name + type] = {one}; };
  add("add.", operation<Add, B, B, B>());
  add("sub.", operation<Subtract, B, B, B>());
  add("mul.lo.", operation<Multiply, B, B, B>());
  add("mad.lo.", operation<MultiplyAdd, B, B, B, B>());
  add("div.", operation<Divide, T, T, T>());
  add("min.", operation<Minimum, T, T, T>());
  add("max.", operation<Maximum, T, T, T>());
  add("neg.", operation<Negate, T, T>());
  add("shr.", operation<ShiftRight, T, T, std::uint32_t>());
  add_comparison<Less, T>(table, "lt." + type);
  add_comparison<LessOrEqual, T>(table, "le." + type);
  add_comparison<Greater, T>(table, "gt." + type);
  add_comparison<GreaterOrEqual, T>(table, "ge." + type);
  for (const std::string& name : {type, bits}) {
    add_comparison<Equal, B>(table, "eq." + name);
    add_comparison<NotEqual, B>(table, "ne." + name);
    table["selp." + name] = {{select<B>, std::string{kWritten<B>, kLetter<B>, kLetter<B>, 'p'}}};
    table["mov." + name] = {operation<Same, B, B>()};
  }
  table["and." + bits] = {operation<And, B, B, B>()};
  table["or." + bits] = {operation<Or, B, B, B>()};
  table["xor." + bits] = {operation<Xor, B, B, B>()};
  table["not." + bits] = {operation<Not, B, B>()};
  table["shl." + bits] = {operation<ShiftLeft, B, B, std::uint32_t>()};
  table["shr." + bits] = {operation<ShiftRight, B, B, std::uint32_t>()};
  add_accesses<T>(table, type);
  add_accesses<B>(table, bits);
}

template <class Narrow, class Wide>
void add_wide(Table& table, const std::string& type) {
  table["mul.wide." + type] = {operation<MultiplyWide<Wide>, Wide, Narrow, Narrow>()};
  table["mad.wide." + type] = {operation<MultiplyWide<Wide>, Wide, Narrow, Narrow, Wide>()};
  table["mul.hi." + type] = {operation<MultiplyHigh<Wide>, Narrow, Narrow, Narrow>()};
}

template <class From>
void add_conversions(Table& table, const std::string& from) {
  table["cvt.s16." + from] = {operation<Convert<std::int16_t>, std::int16_t, From>()};
  table["cvt.u16." + from] = {operation<Convert<std::uint16_t>, std::uint16_t, From>()};
  table["cvt.s32." + from] = {operation<Convert<std::int32_t>, std::int32_t, From>()};
  table["cvt.u32." + from] = {operation<Convert<std::uint32_t>, std::uint32_t, From>()};
  table["cvt.s64." + from] = {operation<Convert<std::int64_t>, std::int64_t, From>()};
  table["cvt.u64." + from] = {operation<Convert<std::uint64_t>, std::uint64_t, From>()};
  table["cvt.rn.f32." + from] = {operation<Convert<float>, float, From>()};
  if constexpr (sizeof(From) == 4) {
    table["cvt.s64." + from].push_back(
        operation<ConvertLow<std::int64_t, From>, std::int64_t, std::uint64_t>());
    table["cvt.u64." + from].push_back(
        operation<ConvertLow<std::uint64_t, From>, std::uint64_t, std::uint64_t>());
  }
}

template <class F>
void add_float_comparison(Table& table, const std::string& name) {
  add_comparison<F, float>(table, name + ".f32");
  add_comparison<OrNotNumbers<F>, float>(table, name + "u.f32");
}

void add_floats(Table& table) {
  const auto binary = [&](const std::string& name, PtxOperation one) { table[name] = {one}; };
  binary("add.f32", operation<Add, float, float, float>());
  binary("sub.f32", operation<Subtract, float, float, float>());
  binary("mul.f32", operation<Multiply, float, float, float>());
  binary("div.rn.f32", operation<FloatDivide, float, float, float>());
  binary("min.f32", operation<FloatMinimum, float, float, float>());
  binary("max.f32", operation<FloatMaximum, float, float, float>());
  table["neg.f32"] = {operation<FloatNegate, float, float>()};
  table["fma.rn.f32"] = {operation<FusedMultiplyAdd, float, float, float, float>()};
  table["rcp.rn.f32"] = {operation<FloatReciprocal, float, float>()};
  table["sqrt.rn.f32"] = {operation<SquareRoot, float, float>()};
  table["ex2.approx.f32"] = {operation<Exponential<false>, float, float>()};
  table["ex2.approx.ftz.f32"] = {operation<Exponential<true>, float, float>()};
  table["lg2.approx.f32"] = {operation<Logarithm<false>, float, float>()};
  table["lg2.approx.ftz.f32"] = {operation<Logarithm<true>, float, float>()};
  table["cvt.rzi.s32.f32"] = {operation<Convert<std::int32_t>, std::int32_t, float>()};
  table["cvt.rn.bf16x2.f32"] = {operation<BfloatPair, std::uint32_t, float, float>()};
  table["mov.f32"] = {operation<Same, std::uint32_t, std::uint32_t>()};
  table["selp.f32"] = table["selp.b32"];
  add_float_comparison<Equal>(table, "eq");
  add_float_comparison<NotEqual>(table, "ne");
  add_float_comparison<Less>(table, "lt");
  add_float_comparison<LessOrEqual>(table, "le");
  add_float_comparison<Greater>(table, "gt");
  add_float_comparison<GreaterOrEqual>(table, "ge");
  add_comparison<Numbers, float>(table, "num.f32");
  add_comparison<NotNumbers, float>(table, "nan.f32");
  add_accesses<std::uint32_t>(table, "f32");
}

void add_of_warps(Table& table) {
  table["mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"] = {
      {multiply_matrices, "WWWWwwwwwwwwww"}};
  table["ldmatrix.sync.aligned.m8n8.x4.shared.b16"] = {{load_matrices<false>, "WWWWa"}};
  table["ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"] = {{load_matrices<true>, "WWWWa"}};
  table["shfl.sync.bfly.b32"] = {{shuffle_butterfly, "WPwwww"}};
  table["cp.async.cg.shared.global"] = {{copy_asynchronously, "aaiw"}};
  table["cp.async.wait_all"] = {{wait_for_copies, ""}};
  table["bar.sync"] = {{wait_at_barrier, "i"}};
  table["bar.red.and.pred"] = {{vote_at_barrier, "Pip"}};
  table["bra"] = table["bra.uni"] = {{branch, "l"}};
  table["ret"] = {{end, ""}};
}

Table all_operations() {
  Table table;
  add_integers<std::int16_t>(table, "s16", "b16");
  add_integers<std::uint16_t>(table, "u16", "b16");
  add_integers<std::int32_t>(table, "s32", "b32");
  add_integers<std::uint32_t>(table, "u32", "b32");
  add_integers<std::int64_t>(table, "s64", "b64");
  add_integers<std::uint64_t>(table, "u64", "b64");
  add_wide<std::int32_t, std::int64_t>(table, "s32");
  add_wide<std::uint32_t, std::uint64_t>(table, "u32");
  add_conversions<std::int16_t>(table, "s16");
  add_conversions<std::uint16_t>(table, "u16");
  add_conversions<std::int32_t>(table, "s32");
  add_conversions<std::uint32_t>(table, "u32");
  add_conversions<std::int64_t>(table, "s64");
  add_conversions<std::uint64_t>(table, "u64");
  add_floats(table);
  table["bfi.b32"] = {operation<InsertBits, std::uint32_t, std::uint32_t, std::uint32_t,
                                std::uint32_t, std::uint32_t>()};
  table["mov.b32"].push_back({open_pair, "HHw"});
  table["mov.b32"].push_back({close_pair, "Whh"});
  table["and.pred"] = {{logic<And>, "Ppp"}};
  table["or.pred"] = {{logic<Or>, "Ppp"}};
  table["xor.pred"] = {{logic<Xor>, "Ppp"}};
  table["not.pred"] = {{logic<Not>, "Pp"}};
  table["mov.pred"] = {{logic<And>, "Pp"}};
  table["cvta.to.global.u64"] = {operation<Same, std::uint64_t, std::uint64_t>()};
  add_of_warps(table);
  return table;
}

}  // namespace

std::vector<PtxOperation> ptx_operations(std::string_view opcode) {
  static const Table table = all_operations();
  const auto found = table.find(std::string(opcode));
  return found == table.end() ? std::vector<PtxOperation>() : found->second;
}

}  // namespace alibi
