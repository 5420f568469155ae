// What each rank says when it leaves, on a group of its own that carries nothing else. A failed
// exchange does not tell who failed, and a rank that is busy for long does not exchange: so each
// rank listens to all others all the time. A connection that ends without a farewell is a lost
// rank.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "distributed/gloo.h"

namespace alibi {

class Farewells {
 public:
  enum class Kind : char {
    kNone = 0,     // the peer is there
    kEnds = 'e',   // it is done
    kFails = 'f',  // by an Error of its own, which `text` tells
    kGivesUp = 'g',
    kClosed = 'c',  // never said: the connection ended
  };
  struct Farewell {
    Kind kind = Kind::kNone;
    std::string text;  // as it came
  };

  // `on_loss` is called once, on another thread, when a peer's connection ended or it has failed.
  Farewells(GlooGroupPointer group, std::function<void(Farewells&)> on_loss);
  ~Farewells();
  Farewells(const Farewells&) = delete;
  Farewells& operator=(const Farewells&) = delete;

  // Only the first counts; false for others. A text is cut off at some hundred bytes.
  bool say(Kind kind, const std::string& text = {});

  // By rank, the own entry empty: waits until every peer has said something, or one is lost or has
  // failed and the others had a moment to, or for `limit`.
  std::vector<Farewell> hear(std::chrono::milliseconds limit);

 private:
  void listen(std::size_t peer);

  const GlooGroupPointer group_;
  const std::function<void(Farewells&)> on_loss_;
  std::vector<torch::Tensor> messages_;  // by peer, as received
  std::vector<GlooWork> receives_;
  std::mutex mutex_;  // of all below
  std::condition_variable heard_;
  bool has_said_ = false, has_lost_ = false, ends_ = false;
  std::vector<Farewell> farewells_;
  std::vector<std::thread> threads_;
};

}  // namespace alibi
