// What connects the ranks of a world of two or more: c10d's store, where they meet, and two groups
// of Gloo, one for data and one for farewells. links.cc and farewells.cc alone see c10d.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "device/tensor.h"
#include "distributed/device_exchange.h"
#include "distributed/place.h"
#include "distributed/watchdog.h"
#include "distributed/world.h"

namespace alibi {

class Links {
 public:
  // Returns when every rank has joined and all are connected. Throws Error where that takes longer
  // than `options.join`, naming the ranks that are missing as far as the store knows them.
  Links(const WorldPlace& place, const WorldOptions& options);
  ~Links();  // says farewell
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;

  // As World's; they return the bytes that this rank sent.
  std::int64_t exchange(std::span<const torch::Tensor> to, std::span<torch::Tensor> from);
  std::int64_t all_reduce(torch::Tensor& tensor);
  // For World::use_devices. Where this rank, the first, lets the ranks' devices meet: a port on
  // loopback, or "" for the store where the ranks met.
  std::string offer_device_store();
  // "", or why it cannot. Connects nothing yet.
  std::string open_device_group(const DeviceGroupModule& module, const std::string& offered);
  // "", or why a sum of all ranks over it fails, for which it connects.
  std::string try_device_group(const torch::Device& device);
  // All ranks have one: it moves tensors of this type from now on. Without a type it goes.
  void use_device_group(std::optional<torch::DeviceType> type);
  void leave(const std::optional<Error>& error);
  void notice();  // the owner knows who is lost, or that it is done

 private:
  struct Groups;
  struct Transfer;

  bool on_device(std::span<const torch::Tensor> tensors) const;  // one that has a group
  void exchange_in_pieces(std::span<const torch::Tensor> to, std::span<torch::Tensor> from);
  void exchange_on_device(std::span<const torch::Tensor> to, std::span<torch::Tensor> from);
  void join();
  // Called where `error` is being handled: throws it as an Error that says who is missing.
  [[noreturn]] void explain_join(const std::exception& error, const std::string& expected);
  void forget_own_seat();
  void connect();
  void check_unbroken() const;
  void wait_for_first();
  void watch(const char* what, std::chrono::milliseconds limit);
  void arm_busy(const Error& lost);
  // Tells the others that a device of this rank failed, and throws; returns where another rank did.
  void fail_alone(const std::string& reason);
  // Finds out who is lost, after a call that failed with `reason`, and throws.
  [[noreturn]] void give_up(const std::string& reason);

  const WorldPlace place_;
  const std::chrono::milliseconds join_limit_, exchange_limit_;
  const std::function<void()> while_joining_;
  Watchdog watchdog_;  // before the groups: it watches how they end
  Watchdog busy_;      // ends a process that is too busy to notice a lost peer
  std::atomic<bool> noticed_ = false;
  const std::thread::id owner_ = std::this_thread::get_id();
  std::unique_ptr<Groups> groups_;
  std::optional<Error> broken_;  // nothing works after it
};

}  // namespace alibi
