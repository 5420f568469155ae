// What the host finds wrong with a kernel's PTX or with what it does.
#pragma once

#include <stdexcept>
#include <string>

namespace alibi {

enum class PtxFault {
  kSyntax,       // a text or an instruction that this machine does not know
  kOutOfBounds,  // an access outside all tensors, shared memory or parameters
  kMisaligned,
  kReadOnly,    // a write to an input
  kUndefined,   // a read of what nobody wrote, or of a copy not waited for
  kRace,        // two threads' accesses, one of them a write, and no barrier between them
  kDiverged,    // an instruction of a whole warp, run by a part of it
  kBarrier,     // warps at different barriers, or at one that others never reach
  kUnfinished,  // a thread that ends before its copies
  kEndless
};

class PtxError : public std::runtime_error {
 public:
  PtxError(PtxFault fault, const std::string& text, int lane = -1)
      : std::runtime_error(text), fault_(fault), lane_(lane) {}
  PtxFault fault() const { return fault_; }
  int lane() const { return lane_; }  // -1: not of one lane

 private:
  PtxFault fault_;
  int lane_;
};

}  // namespace alibi
