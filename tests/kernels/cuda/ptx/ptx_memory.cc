#include "kernels/cuda/ptx/ptx_memory.h"

#include <algorithm>

#include "base/strings.h"

namespace alibi {
namespace {

constexpr std::uint64_t kFirstTensor = std::uint64_t{0x7000} << 32;
constexpr std::uint64_t kApart = std::uint64_t{1} << 32;
constexpr std::uint64_t kMiddle = kApart / 2;  // so that an address before a tensor is outside all

std::string hexadecimal(std::uint64_t number) {
  std::string digits;
  do digits.insert(digits.begin(), "0123456789abcdef"[number % 16]);
  while (number /= 16);
  return "0x" + digits;
}

}  // namespace

bool AccessLog::read(std::size_t at, std::size_t bytes, std::uint32_t thread) {
  const std::uint64_t now = access(thread), several = access(kSeveral);
  bool raced = false;
  for (std::size_t i = at; i < at + bytes; ++i) {
    raced |= is_another(writers_[i], now);
    readers_[i] = is_another(readers_[i], now) ? several : now;
  }
  return raced;
}

bool AccessLog::write(std::size_t at, std::size_t bytes, std::uint32_t thread) {
  const std::uint64_t now = access(thread);
  bool raced = false;
  for (std::size_t i = at; i < at + bytes; ++i) {
    raced |= is_another(writers_[i], now) || is_another(readers_[i], now);
    writers_[i] = now;
  }
  return raced;
}

SharedMemory::SharedMemory(std::uint32_t start, int bytes)
    : start_(start),
      bytes_(static_cast<std::size_t>(bytes)),
      states_(bytes_.size(), State::kUndefined),
      log_(bytes_.size()) {}

std::size_t SharedMemory::checked(std::uint32_t address, std::size_t bytes) const {
  if (address < start_ || address - start_ + bytes > bytes_.size())
    throw PtxError(PtxFault::kOutOfBounds, cat(bytes, " bytes at ", std::int64_t{address} - start_,
                                               " of ", bytes_.size(), " bytes of shared memory"));
  if (address % bytes != 0)
    throw PtxError(PtxFault::kMisaligned,
                   cat(bytes, " bytes at ", address - start_, " of shared memory"));
  return address - start_;
}

void SharedMemory::must_not_be_on_the_way(std::size_t at, std::size_t bytes,
                                          const char* what) const {
  for (std::size_t i = at; i < at + bytes; ++i)
    if (states_[i] == State::kOnTheWay)
      throw PtxError(PtxFault::kRace, cat(what, " to byte ", i,
                                          " of shared memory, where a copy is not waited for"));
}

void SharedMemory::read(std::uint32_t address, std::span<std::byte> to, std::uint32_t thread,
                        std::uint32_t used) {
  const std::size_t at = checked(address, to.size());
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (states_[at + i] == State::kDefined || (used >> i & 1) == 0) continue;
    const bool on_the_way = states_[at + i] == State::kOnTheWay;
    throw PtxError(PtxFault::kUndefined,
                   cat("byte ", at + i, " of shared memory is ",
                       on_the_way ? "of a copy not waited for" : "not written"));
  }
  if (log_.read(at, to.size(), thread))
    throw PtxError(PtxFault::kRace,
                   cat("reads ", to.size(), " bytes at ", at,
                       " of shared memory, which another thread wrote since the last barrier"));
  std::memcpy(to.data(), &bytes_[at], to.size());
}

void SharedMemory::write(std::uint32_t address, std::span<const std::byte> from,
                         std::uint32_t thread) {
  const std::size_t at = checked(address, from.size());
  must_not_be_on_the_way(at, from.size(), "a write");
  if (log_.write(at, from.size(), thread))
    throw PtxError(PtxFault::kRace, cat("writes ", from.size(), " bytes at ", at,
                                        " of shared memory, which another thread read or wrote "
                                        "since the last barrier"));
  std::memcpy(&bytes_[at], from.data(), from.size());
  std::fill_n(states_.begin() + static_cast<std::ptrdiff_t>(at), from.size(), State::kDefined);
}

// The device may write at any time until the wait: the copy counts as a write when it is begun and
// when it has ended, and nobody may touch its bytes between.
void SharedMemory::copy(std::uint32_t address, std::span<const std::byte, 16> from,
                        std::uint32_t thread) {
  const std::size_t at = checked(address, from.size());
  must_not_be_on_the_way(at, from.size(), "a copy");
  if (log_.write(at, from.size(), thread))
    throw PtxError(PtxFault::kRace,
                   cat("copies to ", at,
                       " of shared memory, which another thread read or wrote since the last "
                       "barrier"));
  Copy copy{at, {}};
  std::memcpy(copy.bytes.data(), from.data(), from.size());
  copies_[thread].push_back(copy);
  std::fill_n(states_.begin() + static_cast<std::ptrdiff_t>(at), from.size(), State::kOnTheWay);
}

void SharedMemory::land(std::uint32_t thread) {
  std::vector<Copy>& copies = copies_[thread];
  for (const Copy& copy : copies) {
    std::memcpy(&bytes_[copy.at], copy.bytes.data(), copy.bytes.size());
    std::fill_n(states_.begin() + static_cast<std::ptrdiff_t>(copy.at), copy.bytes.size(),
                State::kDefined);
    log_.write(copy.at, copy.bytes.size(), thread);
  }
  copies.clear();
}

bool SharedMemory::awaits(std::uint32_t thread) const {
  const auto found = copies_.find(thread);
  return found != copies_.end() && !found->second.empty();
}

void SharedMemory::clear() {
  std::fill(states_.begin(), states_.end(), State::kUndefined);
  copies_.clear();
  log_.order();
}

GlobalMemory::Tensor::Tensor(std::string name_, std::size_t bytes_, bool input_)
    : name(std::move(name_)), input(input_), bytes(bytes_), defined(bytes_, input_), log(bytes_) {}

std::uint64_t GlobalMemory::put(std::string name, std::size_t bytes, bool input) {
  tensors_.push_back(std::make_unique<Tensor>(std::move(name), bytes, input));
  return kFirstTensor + (tensors_.size() - 1) * kApart + kMiddle;
}

std::uint64_t GlobalMemory::put_input(const std::string& name, std::span<const std::byte> bytes) {
  const std::uint64_t address = put(name, bytes.size(), true);
  if (!bytes.empty()) std::memcpy(tensors_.back()->bytes.data(), bytes.data(), bytes.size());
  return address;
}

std::uint64_t GlobalMemory::put_changed(const std::string& name, std::span<const std::byte> bytes) {
  const std::uint64_t address = put_input(name, bytes);
  tensors_.back()->input = false;
  return address;
}

std::uint64_t GlobalMemory::put_result(const std::string& name, std::size_t bytes) {
  return put(name, bytes, false);
}

const GlobalMemory::Tensor& GlobalMemory::named_by(std::uint64_t address) const {
  return *tensors_.at((address - kFirstTensor) / kApart);
}

std::span<const std::byte> GlobalMemory::bytes(std::uint64_t address) const {
  return named_by(address).bytes;
}

std::size_t GlobalMemory::undefined(std::uint64_t address) const {
  const std::vector<bool>& defined = named_by(address).defined;
  return static_cast<std::size_t>(std::count(defined.begin(), defined.end(), false));
}

GlobalMemory::Place GlobalMemory::find(std::uint64_t address, std::size_t bytes) {
  const std::uint64_t index = (address - kFirstTensor) / kApart;
  if (address < kFirstTensor || index >= tensors_.size())
    throw PtxError(PtxFault::kOutOfBounds, cat(hexadecimal(address), " is in no tensor"));
  Tensor& tensor = *tensors_[index];
  const std::uint64_t first = kFirstTensor + index * kApart + kMiddle;
  if (address < first || address - first + bytes > tensor.bytes.size())
    throw PtxError(PtxFault::kOutOfBounds,
                   cat(bytes, " bytes at ", static_cast<std::int64_t>(address - first), " of ",
                       tensor.name, ", which has ", tensor.bytes.size()));
  if (address % bytes != 0)
    throw PtxError(PtxFault::kMisaligned,
                   cat(bytes, " bytes at ", address - first, " of ", tensor.name));
  return {tensor, static_cast<std::size_t>(address - first)};
}

void GlobalMemory::read(std::uint64_t address, std::span<std::byte> to, std::uint32_t thread,
                        std::uint32_t used) {
  const auto [tensor, at] = find(address, to.size());
  std::memcpy(to.data(), &tensor.bytes[at], to.size());
  if (tensor.input) return;
  for (std::size_t i = 0; i < to.size(); ++i)
    if (!tensor.defined[at + i] && (used >> i & 1) != 0)
      throw PtxError(PtxFault::kUndefined, cat("byte ", at + i, " of ", tensor.name));
  if (tensor.log.read(at, to.size(), thread))
    throw PtxError(PtxFault::kRace,
                   cat("reads byte ", at, " of ", tensor.name, ", written in the same launch"));
}

void GlobalMemory::write(std::uint64_t address, std::span<const std::byte> from,
                         std::uint32_t thread) {
  const auto [tensor, at] = find(address, from.size());
  if (tensor.input)
    throw PtxError(PtxFault::kReadOnly, cat("writes byte ", at, " of ", tensor.name));
  if (tensor.log.write(at, from.size(), thread))
    throw PtxError(PtxFault::kRace, cat("writes byte ", at, " of ", tensor.name,
                                        ", which another thread read or wrote in the same launch"));
  std::memcpy(&tensor.bytes[at], from.data(), from.size());
  for (std::size_t i = 0; i < from.size(); ++i) tensor.defined[at + i] = true;
}

void GlobalMemory::launch() {
  for (const auto& tensor : tensors_) tensor->log.order();
}

}  // namespace alibi
