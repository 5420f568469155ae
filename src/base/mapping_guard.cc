#include "base/mapping_guard.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "base/log.h"

namespace alibi {
namespace {

// What a signal handler may read: plain memory, made known by an atomic. `end` is 0 while the slot
// is free, 1 while it is being filled.
struct Slot {
  std::atomic<std::uintptr_t> end = 0;
  std::uintptr_t first = 0;
  std::array<char, 240> name{};  // the end of the path, which tells more than its start
};

// A mutable global, as the stop flag is: a handler has no other way.
std::array<Slot, 1024> slots;

void put(const char* text) {
  for (const int descriptor : {STDERR_FILENO, log_file_descriptor()}) {
    const ssize_t written = ::write(descriptor, text, std::strlen(text));
    static_cast<void>(written);
  }
}

void on_bus_error(int signal, siginfo_t* info, void*) {
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (const Slot& slot : slots) {
    const std::uintptr_t end = slot.end.load(std::memory_order_acquire);
    if (end <= 1 || at < slot.first || at >= end) continue;
    put("\nerror: ");
    put(slot.name.data());
    put(": was cut short, or its disk failed, while it was read; expected it to stay as it was "
        "(put it back and run again: what was saved before is whole)\n");
    ::_exit(1);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

void install_mapping_guard() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

WatchedMapping::WatchedMapping(const std::byte* first, std::size_t size,
                               const std::filesystem::path& path) {
  const std::string text = path.string();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    std::uintptr_t free = 0;
    if (!slots[i].end.compare_exchange_strong(free, 1)) continue;
    slots[i].first = reinterpret_cast<std::uintptr_t>(first);
    const std::size_t kept = std::min(text.size(), slots[i].name.size() - 1);
    std::copy_n(text.end() - static_cast<std::ptrdiff_t>(kept), kept, slots[i].name.begin());
    slots[i].name[kept] = 0;
    slots[i].end.store(slots[i].first + size, std::memory_order_release);
    slot_ = static_cast<int>(i);
    return;
  }
}

WatchedMapping::~WatchedMapping() {
  if (slot_ >= 0) slots[static_cast<std::size_t>(slot_)].end.store(0, std::memory_order_release);
}

WatchedMapping::WatchedMapping(WatchedMapping&& other) noexcept
    : slot_(std::exchange(other.slot_, -1)) {}

WatchedMapping& WatchedMapping::operator=(WatchedMapping&& other) noexcept {
  std::swap(slot_, other.slot_);
  return *this;
}

}  // namespace alibi
