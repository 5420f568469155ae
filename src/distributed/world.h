// The processes of one run, its ranks, and what travels between them. c10d moves the bytes (Gloo on
// the CPU). Nothing here decides, and nothing but all_reduce adds: what arrives otherwise does not
// depend on who sent it when.
//
// A world of one touches no network and starts no thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/tensor.h"
#include "distributed/device_exchange.h"
#include "distributed/place.h"

namespace alibi {

class Links;

struct WorldOptions {
  std::chrono::milliseconds join{120'000};     // until every rank has joined
  std::chrono::milliseconds exchange{60'000};  // longest wait for a peer in one exchange
  // Called some times a second until all have joined; what it throws ends that.
  std::function<void()> while_joining = {};
};

class World {
 public:
  World();  // alone
  // Meets the others. Throws Error where they do not come, naming who asked for this world.
  World(const WorldPlace& place, const WorldOptions& options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  int rank() const { return place_.rank; }
  int size() const { return place_.size; }
  int local_rank() const { return place_.local_rank; }
  int local_size() const { return place_.local_size; }
  bool is_first() const { return place_.rank == 0; }
  bool is_alone() const { return place_.size == 1; }

  // Every rank calls these, in one order, from one thread at a time. They throw Error when a peer
  // is lost, naming its rank, and from then on at every call. One that hangs in spite of its limit
  // (5 s longer) ends the process with one line and exit code 1. Tensors are contiguous and
  // lie on the CPU, or as use_devices says.

  // What each rank gave, by rank: small texts.
  std::vector<std::string> gather(const std::string& mine);
  // The same for numbers, of one count everywhere.
  std::vector<std::vector<double>> gather(std::span<const double> mine);
  void barrier();

  // An equal share of the processors that this thread may run on, for each rank of this machine
  // that may run on the same: launchers may give each rank its own. No more than a share of what a
  // container grants (processor_quota(root)) to its ranks. At least 1.
  std::int64_t share_of_processors(const std::filesystem::path& root = "/");

  // Sends to[r] to rank r and fills from[r] with what rank r sends; own entries are left alone.
  // Sizes may differ, and be 0; both sides know them. In pieces, several on their way at once.
  void exchange(std::span<const torch::Tensor> to, std::span<torch::Tensor> from);
  // pieces[r] is rank r's; fills the others.
  void share(std::span<torch::Tensor> pieces);

  // Every rank calls this once it knows its device. Where each can exchange tensors of its device
  // by `how`, exchange, share and all_reduce take them too, flat ones of one type, until the device
  // is done with them. "", or why they go through the host: "rank 1: libalibi_nccl.so is missing".
  // `identity` tells this rank's device from those of other ranks of its machine.
  std::string use_devices(const torch::Device& device, const std::string& identity,
                          const DeviceExchange& how);
  // Where tensors lie that ranks exchange: use_devices's device, else the CPU.
  const torch::Device& transport() const { return transport_; }
  // c10d's own sum over ranks, in place: its order of additions depends on the number of ranks.
  void all_reduce(torch::Tensor& tensor);

  // Work that may take so long that peers would be given up (preparing text): the ranks tell each
  // other that they live until it is done on every rank. Each does its own, which may be none. What
  // one throws it throws there, and an Error naming that rank on every other, where work goes on to
  // its own end, or to the next leave_if_failed_elsewhere. No other call meanwhile.
  void while_others_wait(const std::function<void()>& work);
  void leave_if_failed_elsewhere() const;  // throws what is no std::exception; lets it pass

  // This rank calls nothing any more: it is done, and peers that are lost from now on are none of
  // its business; or it fails, and the others throw that Error, this rank before it, or leave
  // within two seconds where they are busy. Tells once.
  void leave();
  void leave(const Error& error);

  std::int64_t bytes_sent() const { return bytes_sent_; }  // by this rank, so far

 private:
  void count_neighbours();

  WorldPlace place_;
  std::chrono::milliseconds beat_{0};  // longest silence of while_others_wait
  std::unique_ptr<Links> links_;       // none alone
  std::int64_t bytes_sent_ = 0;
  torch::Device transport_{torch::kCPU};
  std::atomic<bool> failed_elsewhere_ = false;  // in while_others_wait
};

}  // namespace alibi
