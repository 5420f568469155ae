#include "kernels/cuda/ptx/ptx_machine.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/strings.h"

namespace alibi {
namespace {

constexpr std::int64_t kMostSteps = 200'000;  // of a warp in a block: ten times a test's
constexpr int kNowhere = std::numeric_limits<int>::max();

int shared_bytes(const PtxKernel& kernel, const PtxLaunch& launch) {
  if (launch.shared_bytes == 0) return kernel.static_shared_bytes;
  return (kernel.static_shared_bytes + 127) / 128 * 128 + launch.shared_bytes;
}

}  // namespace

PtxWarp::PtxWarp(const PtxKernel& kernel, PtxBlock& block, int number)
    : kernel_(kernel),
      block_(block),
      number_(number),
      file_((kernel.file_bytes + 7) / 8),
      written_(kernel.registers) {
  for (const PtxKernel::Constant& constant : kernel.constants) fill(constant.place, constant.value);
}

void PtxWarp::fill(const PtxOperand& operand, std::uint64_t value) {
  if (operand.bytes == 0) return write_predicate(operand, value == 0 ? 0 : kAllLanes, kAllLanes);
  for (int lane = 0; lane < kPtxLanes; ++lane) write_number(operand, lane, value);
}

void PtxWarp::begin(const KernelGrid& place) {
  std::fill(written_.begin(), written_.end(), 0);
  for (const PtxKernel::Special& special : kernel_.specials) {
    for (int lane = 0; lane < kPtxLanes; ++lane) {
      std::uint64_t value = thread(lane);
      if (special.which == PtxSpecial::kBlockX) value = static_cast<std::uint64_t>(place.x);
      if (special.which == PtxSpecial::kBlockY) value = static_cast<std::uint64_t>(place.y);
      if (special.which == PtxSpecial::kBlockZ) value = static_cast<std::uint64_t>(place.z);
      write_number(special.place, lane, value);
    }
  }
  place_ = 0;
  lanes_ = alive_ = kAllLanes;
  others_.clear();
  next_other_ = kNowhere;
  waits_ = false;
  steps_ = 0;
}

LaneMask PtxWarp::predicate(const PtxOperand& from) const {
  LaneMask value = 0;
  std::memcpy(&value, bytes(from), sizeof value);
  return value;
}

void PtxWarp::write_predicate(const PtxOperand& to, LaneMask value, LaneMask lanes) {
  const LaneMask joined = (predicate(to) & ~lanes) | (value & lanes);
  std::memcpy(bytes(to), &joined, sizeof joined);
}

std::uint64_t PtxWarp::number(const PtxOperand& from, int lane) const {
  const auto size = static_cast<std::size_t>(from.bytes);
  std::uint64_t value = 0;
  std::memcpy(&value, bytes(from) + static_cast<std::size_t>(lane) * size, size);
  return value;
}

void PtxWarp::write_number(const PtxOperand& to, int lane, std::uint64_t value) {
  const auto size = static_cast<std::size_t>(to.bytes);
  std::memcpy(bytes(to) + static_cast<std::size_t>(lane) * size, &value, size);
}

std::uint64_t PtxWarp::address(const PtxOperand& from, int lane) const {
  const std::uint64_t sum = number(from, lane) + static_cast<std::uint64_t>(from.offset);
  return from.bytes == 4 ? sum & 0xffffffff : sum;
}

void PtxWarp::run(std::int64_t most) {
  for (; most > 0 && !waits_ && !ended(); --most) step();
}

void PtxWarp::step() {
  if (place_ >= next_other_) choose();
  if (static_cast<std::size_t>(place_) >= kernel_.code.size())
    throw PtxError(PtxFault::kSyntax, cat(kernel_.name, ": runs past its end"));
  const PtxInstruction& instruction = kernel_.code[static_cast<std::size_t>(place_)];
  LaneMask lanes = lanes_;
  try {
    if (++steps_ > kMostSteps) throw PtxError(PtxFault::kEndless, "a warp does not end");
    if (instruction.guarded) {
      must_be_written(instruction.guard.index, lanes);
      const LaneMask value = predicate(instruction.guard);
      lanes &= instruction.guard_negated ? ~value : value;
    }
    for (const std::uint32_t one : instruction.reads) must_be_written(one, lanes);
    ++place_;
    if (lanes == 0) return;
    block_.count(static_cast<std::size_t>(&instruction - kernel_.code.data()));
    instruction.run(*this, instruction, lanes);
    for (const std::uint32_t one : instruction.writes) written_[one] |= lanes;
  } catch (const PtxError& error) {
    fail(error, instruction);
  }
}

void PtxWarp::must_be_written(std::uint32_t one, LaneMask lanes) const {
  const LaneMask missing = lanes & ~written_[one];
  if (missing != 0)
    throw PtxError(PtxFault::kUndefined, "reads a register that was not written",
                   std::countr_zero(missing));
}

void PtxWarp::fail(const PtxError& error, const PtxInstruction& instruction) const {
  const KernelGrid& at = block_.place();
  const std::string lane = error.lane() < 0 ? "" : cat(", lane ", error.lane());
  throw PtxError(error.fault(),
                 cat(kernel_.name, ": block (", at.x, ", ", at.y, ", ", at.z, "), warp ", number_,
                     lane, ": line ", instruction.line, ": ", instruction.text, "\n", error.what()),
                 error.lane());
}

// The smallest place, and all lanes that are there.
void PtxWarp::choose() {
  if (lanes_ != 0) others_.push_back({place_, lanes_});
  place_ = kNowhere;
  for (const Group& group : others_) place_ = std::min(place_, group.place);
  lanes_ = 0;
  next_other_ = kNowhere;
  std::erase_if(others_, [&](const Group& group) {
    if (group.place != place_) next_other_ = std::min(next_other_, group.place);
    if (group.place == place_) lanes_ |= group.lanes;
    return group.place == place_;
  });
}

void PtxWarp::branch(int target, LaneMask lanes) {
  if (lanes == lanes_) {
    place_ = target;
    return;
  }
  lanes_ &= ~lanes;
  others_.push_back({target, lanes});
  next_other_ = std::min(next_other_, target);
}

void PtxWarp::end(LaneMask lanes) {
  alive_ &= ~lanes;
  lanes_ &= ~lanes;
  if (lanes_ == 0 && alive_ != 0) choose();
}

void PtxWarp::wait_at_barrier(LaneMask lanes, bool vote) {
  if (lanes != kAllLanes) throw PtxError(PtxFault::kDiverged, "a part of a warp at a barrier");
  --place_;
  waits_ = true;
  vote_ = vote;
}

void PtxWarp::go_on(bool all) {
  const PtxInstruction& barrier = kernel_.code[static_cast<std::size_t>(place_)];
  if (!barrier.writes.empty()) {
    write_predicate(barrier.operands.front(), all ? kAllLanes : 0, kAllLanes);
    written_[barrier.writes.front()] = kAllLanes;
  }
  ++place_;
  waits_ = false;
}

PtxBlock::PtxBlock(const PtxKernel& kernel, GlobalMemory& memory, const PtxLaunch& launch)
    : kernel_(kernel),
      memory_(memory),
      launch_(launch),
      shared_(kSharedStart, shared_bytes(kernel, launch)),
      counts_(kernel.code.size()),
      generator_(launch.seed) {
  for (int warp = 0; warp * kPtxLanes < launch.threads; ++warp)
    warps_.emplace_back(kernel, *this, warp);
}

std::uint32_t PtxBlock::thread_of_grid(std::uint32_t thread) const {
  const KernelGrid& grid = launch_.grid;
  const int block = (place_.z * grid.y + place_.y) * grid.x + place_.x;
  return static_cast<std::uint32_t>(block * launch_.threads) + thread;
}

void PtxBlock::run(const KernelGrid& place) {
  place_ = place;
  shared_.clear();
  for (PtxWarp& warp : warps_) warp.begin(place);
  const auto ended = [](const PtxWarp& warp) { return warp.ended(); };
  while (true) {
    launch_.seed == 0 ? run_in_order() : run_interleaved();
    if (std::all_of(warps_.begin(), warps_.end(), ended)) return;
    pass_barrier();
  }
}

void PtxBlock::run_in_order() {
  for (PtxWarp& warp : warps_) warp.run(kMostSteps + 1);
}

void PtxBlock::run_interleaved() {
  std::vector<PtxWarp*> running;
  for (PtxWarp& warp : warps_) running.push_back(&warp);
  while (!running.empty()) {
    const std::size_t one = generator_() % running.size();
    running[one]->run(1 + generator_() % 64);
    std::erase_if(running, [](const PtxWarp* warp) { return warp->ended() || warp->waits(); });
  }
}

// A device would not wait for warps that have ended; no kernel of ours should rely on it.
void PtxBlock::pass_barrier() {
  bool all = true;
  for (const PtxWarp& warp : warps_) {
    if (!warp.waits() || warp.place() != warps_.front().place())
      throw PtxError(PtxFault::kBarrier,
                     cat(kernel_.name, ": block (", place_.x, ", ", place_.y, ", ", place_.z,
                         "): a barrier that not all warps reach"));
    all = all && warp.vote();
  }
  shared_.barrier();
  for (PtxWarp& warp : warps_) warp.go_on(all);
}

// Rows of 16 bytes: those whose places differ by a multiple of 128 bytes wait for one another.
void PtxBlock::count_conflicts(std::span<const std::uint32_t, 8> rows) {
  std::array<int, 8> passes{};
  for (const std::uint32_t row : rows) ++passes[row / 16 % 8];
  conflicts_ += *std::max_element(passes.begin(), passes.end()) - 1;
}

PtxCounts PtxBlock::counts() const {
  PtxCounts sums{{}, conflicts_};
  for (std::size_t i = 0; i < counts_.size(); ++i)
    if (counts_[i] > 0) sums.instructions[kernel_.code[i].opcode] += counts_[i];
  return sums;
}

std::string opcode_class(std::string_view opcode) {
  static constexpr std::pair<std::string_view, const char*> kClasses[] = {
      {"mma.", "products"},
      {"ldmatrix.", "matrix loads"},
      {"cp.", "copies"},
      {"ld.shared", "shared memory"},
      {"st.shared", "shared memory"},
      {"ld.", "global memory"},
      {"st.", "global memory"},
      {"ex2.", "exponentials"},
      {"bar.", "barriers"},
      {"shfl.", "barriers"},
      {"bra", "branches"},
      {"setp.", "comparisons"},
      {"ret", "branches"}};
  for (const auto& [beginning, name] : kClasses)
    if (opcode.starts_with(beginning)) return name;
  return opcode.find("f32") == std::string_view::npos ? "whole numbers" : "float arithmetic";
}

PtxCounts launch_ptx(const PtxKernel& kernel, GlobalMemory& memory, const PtxLaunch& launch) {
  if (kernel.most_threads > 0 && launch.threads > kernel.most_threads)
    throw PtxError(PtxFault::kOutOfBounds, cat(kernel.name, ": ", launch.threads, " threads"));
  if (launch.parameters.size() != static_cast<std::size_t>(kernel.parameter_bytes))
    throw PtxError(PtxFault::kOutOfBounds,
                   cat(kernel.name, ": ", launch.parameters.size(), " bytes of parameters, it has ",
                       kernel.parameter_bytes));
  memory.launch();
  PtxBlock block(kernel, memory, launch);
  for (int z = 0; z < launch.grid.z; ++z) {
    for (int y = 0; y < launch.grid.y; ++y) {
      for (int x = 0; x < launch.grid.x; ++x) block.run({x, y, z});
    }
  }
  return block.counts();
}

}  // namespace alibi
