// A run of twelve tiny steps that uses everything a resume must carry over.
#pragma once

#include <exception>
#include <thread>

#include "base/clock.h"
#include "base/stop.h"
#include "base/strings.h"
#include "checkpoint/checkpoint.h"
#include "config/load.h"
#include "data/prepare.h"
#include "device/libtorch.h"
#include "support/log_lines.h"
#include "support/small_text.h"
#include "support/temporary_folder.h"
#include "train/log_sink.h"
#include "train/trainer.h"

namespace alibi {

// 4 sequences of 32 trained as 16 of 8, in two micro batches: 128 tokens a step.
inline constexpr std::int64_t kStepTokens = 128;

using OnEvent = std::function<void(const Event&)>;

class Listener final : public Sink {
 public:
  explicit Listener(OnEvent on_event) : on_event_(std::move(on_event)) {}
  void take(const Event& event) override { on_event_(event); }

 private:
  OnEvent on_event_;
};

class TrainExample {
 public:
  TrainExample() {
    torch::set_num_threads(1);
    write("text.txt", small_text(6000));
    write("held.txt", small_text(600, 1));
    base_ = {"model.layers=1",
             "model.width=16",
             "model.heads=2",
             "model.embedding_dropout=0.1",
             "model.attention_dropout=0.1",
             "model.residual_dropout=0.1",
             "model.mlp_dropout=0.1",
             "model.learned_slopes=true",
             "batch.sequence_length=32",
             "batch.sequences=4",
             "batch.train_sequence_length_scaling=0.25",
             "batch.micro_batch_tokens=64",
             "data.train=[\"" + path("text.txt") + "\"]",
             "data.valid=[\"" + path("held.txt") + "\"]",
             "data.cache_folder=" + path("cache"),
             "tokenizer.kind=bytes",
             "run.train_tokens=1536",
             "run.save_every_tokens=768",
             "run.evaluate_every_tokens=512",
             "run.validation_tokens=256",
             "schedule.warmup_tokens=256",
             "runtime.precision=fp32",
             "runtime.device=cpu"};
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  void write(const std::string& name, const std::string& text) const {
    write_file_atomic(path(name), text);
  }

  Config config(const std::string& run, const std::vector<std::string>& changes = {}) const {
    std::vector<std::string> all = base_;
    all.push_back("run.folder=" + path(run));
    all.insert(all.end(), changes.begin(), changes.end());
    return load_config({}, all);
  }

  // Leaves out what the example sets, where it would have no effect.
  void leave_out(const std::string& setting) { std::erase(base_, setting); }

  void add(const std::string& setting) { base_.push_back(setting); }

  using Prepare = std::function<void(Trainer&)>;

  // Trains as the command does; stops after `stop_after` steps when that is above 0. Returns what
  // Trainer::run returned. `prepare` sees the trainer before its first step.
  int train(const Config& config, bool resume, std::int64_t stop_after = 0,
            const Prepare& prepare = {}) {
    World alone;
    RunFolder folder(config, resume);
    return train(config, folder, alone, stop_after, prepare);
  }

  // The same with several ranks, each a thread. Of several that fail the first rank's Error counts.
  int train_ranks(int ranks, const Config& config, bool resume, std::int64_t stop_after = 0) {
    RunFolder folder(config, resume);
    const std::string store = path(cat("store-", worlds_++));
    int signal = 0;
    std::vector<std::exception_ptr> failed(static_cast<std::size_t>(ranks));
    {
      std::vector<std::jthread> threads;
      for (int rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
          torch::set_num_threads(1);
          try {
            WorldPlace place;
            place.rank = place.local_rank = rank;
            place.size = place.local_size = ranks;
            place.store = store;
            World world(place, {});
            RunFolder others = RunFolder::read_only(config);
            const int end = train(config, rank == 0 ? folder : others, world, stop_after, {});
            if (rank == 0) signal = end;
          } catch (...) {
            failed[static_cast<std::size_t>(rank)] = std::current_exception();
          }
        });
      }
    }
    for (const std::exception_ptr& error : failed)
      if (error) std::rethrow_exception(error);
    return signal;
  }

  Checkpoint newest(const std::string& run) const { return load_checkpoint(path(run), Load::kAll); }

  // log.jsonl without its head and the times.
  std::vector<std::string> log(const std::string& run) const {
    std::vector<std::string> lines = log_lines(path(run));
    std::erase_if(lines, [](const std::string& line) {
      return line.find("format_version") != std::string::npos;
    });
    return lines;
  }

  template <class Kind>
  std::vector<Kind> events_of() const {
    std::vector<Kind> found;
    for (const Event& event : events) {
      if (const auto* match = std::get_if<Kind>(&event)) found.push_back(*match);
    }
    return found;
  }

  std::vector<Event> events;                // of the last train()
  OnEvent on_event;                         // sees each event as it happens
  std::optional<double> seconds_left = {};  // until the deadline of a train()
  Pace pace = {};                           // that it has from a probe
  torch::Device device = torch::kCPU;
  std::optional<DeviceGraphs> graphs = {};  // not given: as the config asks

 private:
  int train(const Config& config, RunFolder& folder, World& world, std::int64_t stop_after,
            const Prepare& prepare) {
    clear_stop();
    if (world.is_first()) events.clear();
    const auto point = folder.resume_point(config);
    const PreparedText text = prepare_text(config.data, config.tokenizer, 1);
    if (point) folder.refuse_other_text(*point, text);
    TrainerParts parts{config, text, folder, device, world};
    parts.pace = pace;
    parts.graphs = graphs;
    if (seconds_left) parts.deadline = seconds_now() + *seconds_left;
    Trainer trainer(parts, point);
    if (prepare) prepare(trainer);
    if (!world.is_first()) return trainer.run({});
    LogSink log(config, folder, point);
    Listener listener([&](const Event& event) {
      events.push_back(event);
      if (on_event) on_event(event);
      const auto* step = std::get_if<StepRecord>(&event);
      if (step != nullptr && step->step == stop_after) request_stop(2);
    });
    const int signal = trainer.run({&log, &listener});
    clear_stop();
    return signal;
  }

  TemporaryFolder folder_;
  std::vector<std::string> base_;
  int worlds_ = 0;
};

}  // namespace alibi
