#include "data/prepare.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/checksums.h"
#include "base/error.h"
#include "base/files.h"
#include "base/stop.h"
#include "base/strings.h"
#include "data/hold_out.h"
#include "data/token_text.h"
#include "text/documents.h"
#include "text/encode_parallel.h"
#include "text/train_tokenizer.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

struct Job {
  const DataConfig& data;
  const TokenizerConfig& tokenizer;
  int threads;
  const PrepareProgress& progress;
  bool tokens = false;  // all files hold token ids, not text
  TextFiles train_files;
  TextFiles valid_files;

  void note(const std::string& line) const {
    if (progress.note) progress.note(line);
  }
};

// Of a file of tokens, what it depends on: its index, too.
std::vector<fs::path> parts_of(const Job& job, const fs::path& file) {
  return job.tokens ? TokenFile(file).files() : std::vector<fs::path>{file};
}

// What the result depends on, in words; its hash names the cache folder.
std::string cache_key(const Job& job, const std::optional<Tokenizer>& given) {
  std::string key = cat("alibi prepared text ", kPreparedFormatVersion, "\n");
  const auto add = [&](const char* split, const TextFiles& files) {
    for (const fs::path& file : files.files) {
      for (const fs::path& part : parts_of(job, file)) {
        leave_if_stopped("prepare");
        key += cat(split, " ", text_kind(part), " ", sha256_file(part), "\n");
      }
    }
  };
  add("train", job.train_files);
  add("valid", job.valid_files);
  if (job.data.valid.empty())
    key += cat("valid_fraction ", significant(job.data.valid_fraction, 17), "\n");
  if (given) {
    key += cat("tokenizer ", given->hash(), "\n");
  } else {
    key += cat("bpe 1 ", job.tokenizer.vocabulary, " ", job.tokenizer.sample_bytes, "\n");
  }
  return sha256_hex(key);
}

// The tokenizer when it does not depend on the text.
std::optional<Tokenizer> given_tokenizer(const TokenizerConfig& config) {
  if (config.kind == TokenizerKind::kBytes) return Tokenizer::bytes();
  if (config.file.empty()) return std::nullopt;
  Tokenizer tokenizer = Tokenizer::from_file(config.file);
  if (tokenizer.vocabulary() != config.vocabulary) {
    throw usage_error(
        "tokenizer.vocabulary",
        cat(config.vocabulary, ", but ", config.file, " has ", tokenizer.vocabulary(), " tokens"),
        cat("set tokenizer.vocabulary to ", tokenizer.vocabulary()));
  }
  return tokenizer;
}

Tokenizer make_tokenizer(const Job& job, const CorpusPlan& plan) {
  TextSource source;
  source.bytes = plan.train_bytes;
  source.for_each = [&](const std::function<void(std::string_view)>& take) {
    for_each_part(plan, true, [&](const DocumentView& part, Split) {
      leave_if_stopped("prepare");
      take(part.text);
      return true;
    });
  };
  TokenizerTraining training;
  training.vocabulary = job.tokenizer.vocabulary;
  training.sample_bytes = job.tokenizer.sample_bytes;
  training.progress = job.progress.note;
  return Tokenizer::from_model(train_tokenizer(source, training, "tokenizer"),
                               "the tokenizer just trained");
}

// Takes encoded parts in order: writes them, counts them, reports progress.
class Collector {
 public:
  // total: bytes of text, for progress; marks: some ids are marked.
  Collector(const fs::path& folder, const Tokenizer& tokenizer, std::int64_t total, bool marks,
            PrepareProgress progress)
      : train_(folder, "train", {tokenizer.vocabulary(), marks}),
        valid_(folder, "valid", {tokenizer.vocabulary(), marks}),
        total_(total),
        progress_(std::move(progress)) {}

  bool take(const EncodedPart& part) {
    leave_if_stopped("prepare");
    ShardSetWriter& writer = part.stream == kTrain ? train_ : valid_;
    SplitStatistics& counts = part.stream == kTrain ? statistics.train : statistics.valid;
    writer.append(part.ids);
    counts.bytes += static_cast<std::int64_t>(part.text.size());
    counts.tokens += static_cast<std::int64_t>(part.ids.size());
    counts.unknown += part.unknown;
    counts.byte_fallback += part.byte_fallback;
    changed_ = changed_ || !part.survives;
    if (part.ends_document) {
      writer.end_document();
      ++counts.documents;
      counts.changed_documents += std::exchange(changed_, false);
    }
    done_ += static_cast<std::int64_t>(part.text.size());
    if (progress_.bytes) progress_.bytes(done_, total_);
    return true;
  }

  PreparedStatistics statistics;
  std::vector<fs::path> finish_train() { return train_.finish(); }
  std::vector<fs::path> finish_valid() { return valid_.finish(); }

 private:
  ShardSetWriter train_;
  ShardSetWriter valid_;
  std::int64_t total_;
  std::int64_t done_ = 0;
  bool changed_ = false;
  PrepareProgress progress_;
};

void write_collected(const Job& job, const Tokenizer& tokenizer, const fs::path& aside,
                     Collector& collector) {
  PreparedStatistics& statistics = collector.statistics;
  statistics.files =
      static_cast<std::int64_t>(job.train_files.files.size() + job.valid_files.files.size());
  statistics.other_files = job.train_files.other_files + job.valid_files.other_files;
  const TokenShards train =
      TokenShards::open(collector.finish_train(), tokenizer.vocabulary(), tokenizer.end());
  const TokenShards valid =
      TokenShards::open(collector.finish_valid(), tokenizer.vocabulary(), tokenizer.end());
  write_prepared(aside, tokenizer, train, valid, statistics);
}

void fill_from_text(const Job& job, std::optional<Tokenizer> tokenizer, const fs::path& aside) {
  const CorpusPlan plan =
      plan_corpus(job.train_files.files, job.valid_files.files, job.data.valid_fraction);
  if (!tokenizer) tokenizer = make_tokenizer(job, plan);
  Collector collector(aside, *tokenizer, plan.train_bytes + plan.valid_bytes, plan.prompts,
                      job.progress);
  ParallelEncoder encoder(*tokenizer, job.threads,
                          [&](const EncodedPart& part) { return collector.take(part); });
  for_each_part(plan, false, [&](const DocumentView& part, Split split) {
    return encoder.add(part.text, split, part.prompt);
  });
  encoder.flush();
  collector.statistics.empty_documents = plan.empty_documents;
  collector.statistics.hold_out = rule_text(plan.rule, plan.valid_fraction, "a line end");
  write_collected(job, *tokenizer, aside, collector);
}

void fill_from_tokens(const Job& job, const Tokenizer& tokenizer, const fs::path& aside) {
  const TokenPlan plan =
      plan_tokens(job.train_files.files, job.valid_files.files, tokenizer, job.data.valid_fraction);
  Collector collector(aside, tokenizer, 0, false, {});
  for_each_part(plan, tokenizer, [&](const EncodedPart& part) { return collector.take(part); });
  collector.statistics.empty_documents = plan.empty_documents;
  collector.statistics.hold_out = plan.hold_out;
  write_collected(job, tokenizer, aside, collector);
}

// Fills `aside`, which exists and is empty.
void fill(const Job& job, const std::optional<Tokenizer>& tokenizer, const fs::path& aside) {
  job.note(cat("reading ", job.train_files.files.size() + job.valid_files.files.size(),
               job.tokens ? " files of tokens" : " files of text"));
  if (job.tokens) {
    fill_from_tokens(job, *tokenizer, aside);
  } else {
    fill_from_text(job, tokenizer, aside);
  }
}

fs::path lock_of(const fs::path& folder) { return folder.string() + ".lock"; }

// Call with the lock held: what an earlier, killed process left aside is removed first. The lock's
// file goes once the folder stands, or cannot: whoever still waits for it looks for the folder
// next. `made`: topmost folder above it that was made for it; it goes, too, when nothing comes into
// it.
PreparedText make(const Job& job, const std::optional<Tokenizer>& given, const fs::path& folder,
                  const fs::path& made) {
  const fs::path aside = folder.string() + ".tmp";
  remove_tree(aside);
  make_folders(aside);
  std::error_code ignored;
  try {
    fill(job, given, aside);
    sync_folder(aside);
    rename_durably(aside, folder);
  } catch (...) {
    fs::remove_all(aside, ignored);
    fs::remove(lock_of(folder), ignored);
    remove_empty_folders(folder.parent_path(), made);
    throw;
  }
  fs::remove(lock_of(folder), ignored);
  PreparedText prepared = open_prepared(folder);
  prepared.from_cache = false;
  const auto all = static_cast<double>(prepared.train.size() + prepared.valid.size());
  const auto held = static_cast<double>(prepared.valid.size());
  if (job.data.valid.empty() && held > 3 * job.data.valid_fraction * all)
    job.note(cat("note: ", fixed(100 * held / all, 0), " % of the tokens are held out, not ",
                 fixed(100 * job.data.valid_fraction, 1),
                 " %: documents are held out whole, and these are few or of unlike length"));
  return prepared;
}

// A missing text is the first thing a newcomer meets: says which key names it and what makes it.
void check_there(const std::vector<std::string>& names, const std::string& key) {
  for (const std::string& name : names) {
    std::error_code code;
    const fs::file_status status = fs::status(name, code);
    if (fs::exists(status)) continue;
    std::string way_out = "data/README.md says where text comes from";
    if (name.starts_with("data/books/")) way_out = "scripts/unpack-books FOLDER makes data/books";
    if (name.starts_with("data/default/")) way_out = "scripts/default-corpus makes data/default";
    throw Error(name, cat(code ? code.message() : "is missing", "; ", key, " names it"), way_out);
  }
}

// Token ids cannot stand beside text: only one of them has bytes to hold out by.
bool holds_tokens(std::vector<std::string> names, const std::vector<std::string>& valid) {
  names.insert(names.end(), valid.begin(), valid.end());
  const auto tokens = count_token_files(names);
  if (tokens > 0 && tokens < std::ssize(names)) {
    throw usage_error("data.train", "names files of token ids (.bin) beside text",
                      "name files of one kind in data.train and data.valid");
  }
  return tokens > 0;
}

TextFiles find_token_files(const std::vector<std::string>& names) {
  TextFiles found;
  found.files.assign(names.begin(), names.end());
  return found;
}

Job find_job(const DataConfig& data, const TokenizerConfig& tokenizer, int threads,
             const PrepareProgress& progress) {
  if (data.train.empty()) throw usage_error("data.train", "names no text");
  const std::vector<std::string> train = match_names(data.train), valid = match_names(data.valid);
  check_there(train, "data.train");
  check_there(valid, "data.valid");
  for (const std::string& name : train) {
    if (is_prepared(name)) {
      throw usage_error("data.train", name + " is a prepared folder and stands beside other text",
                        "name it alone, or name the text it was made from");
    }
  }
  const bool tokens = holds_tokens(train, valid);
  if (tokens && tokenizer.kind == TokenizerKind::kBpe && tokenizer.file.empty()) {
    throw usage_error("tokenizer.file", "is not given, and data.train holds token ids",
                      "name the tokenizer that they were made with");
  }
  const auto find = tokens ? find_token_files : find_text_files;
  Job job{data, tokenizer, threads, progress, tokens, find(train), find(valid)};
  for (const fs::path& file : job.valid_files.files) {
    if (std::ranges::find(job.train_files.files, file) != job.train_files.files.end())
      job.note(cat("note: ", file.string(), " is in data.train and in data.valid"));
  }
  return job;
}

PreparedText open_named(const DataConfig& data, const TokenizerConfig& config) {
  const std::string& name = data.train[0];
  if (!data.valid.empty()) {
    throw usage_error("data.valid", "has no effect: " + name + " holds its own validation text",
                      "leave data.valid out");
  }
  PreparedText prepared = open_prepared(name);
  const Tokenizer& tokenizer = prepared.tokenizer;
  const bool bytes = config.kind == TokenizerKind::kBytes;
  if (bytes != tokenizer.is_bytes()) {
    throw usage_error("tokenizer.kind", cat(bytes ? "bytes" : "bpe", ", but ", name,
                                            " was prepared with ", bytes ? "bpe" : "bytes"));
  }
  if (!bytes && tokenizer.vocabulary() != config.vocabulary) {
    throw usage_error("tokenizer.vocabulary", cat(config.vocabulary, ", but ", name,
                                                  " was prepared with ", tokenizer.vocabulary()));
  }
  if (!bytes && !config.file.empty() &&
      Tokenizer::from_file(config.file).hash() != tokenizer.hash()) {
    throw usage_error("tokenizer.file",
                      cat(config.file, " is not the tokenizer that ", name, " was prepared with"));
  }
  return prepared;
}

// Waits while another process holds the lock.
FileLock wait_for_lock(const fs::path& path, const Job& job) {
  bool told = false;
  while (true) {
    try {
      return FileLock(path, "this prepared text");
    } catch (const LockHeld&) {
    } catch (const Error&) {
      if (fs::exists(path.parent_path())) throw;
      make_folders(path.parent_path());  // the other process failed and took its folders with it
    }
    if (!std::exchange(told, true))
      job.note("waiting for another process that prepares the same text");
    leave_if_stopped("prepare");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

// What is in the cache, unless it is damaged: its text is there to make it again.
std::optional<PreparedText> open_kept(const fs::path& folder, const Job& job) {
  if (!is_prepared(folder)) return std::nullopt;
  try {
    return open_prepared(folder);
  } catch (const Error& error) {
    job.note(cat("prepared text in the cache is damaged and made again: ", error.what()));
    return std::nullopt;
  }
}

}  // namespace

PreparedText prepare_text(const DataConfig& data, const TokenizerConfig& tokenizer, int threads,
                          const PrepareProgress& progress) {
  if (data.train.size() == 1 && is_prepared(data.train[0])) return open_named(data, tokenizer);
  const Job job = find_job(data, tokenizer, threads, progress);
  const std::optional<Tokenizer> given = given_tokenizer(tokenizer);
  const fs::path root =
      data.cache_folder.empty() ? cache_folder() / "prepared" : fs::path(data.cache_folder);
  const fs::path folder = root / cache_key(job, given).substr(0, 32);
  if (auto kept = open_kept(folder, job)) return *kept;
  const fs::path made = make_folders(root);
  const FileLock lock = wait_for_lock(lock_of(folder), job);
  if (auto kept = open_kept(folder, job)) {  // the other process made it
    std::error_code ignored;
    fs::remove(lock_of(folder), ignored);
    return *kept;
  }
  remove_tree(folder);  // a damaged one
  return make(job, given, folder, made);
}

PreparedText prepare_text_into(const fs::path& named, const DataConfig& data,
                               const TokenizerConfig& tokenizer, int threads,
                               const PrepareProgress& progress) {
  const fs::path folder = without_slash(named);
  std::error_code code;
  if (fs::exists(folder, code))
    throw Error(folder.string(), "exists already", "choose a new folder");
  const Job job = find_job(data, tokenizer, threads, progress);
  const std::optional<Tokenizer> given = given_tokenizer(tokenizer);
  const fs::path made = folder.has_parent_path() ? make_folders(folder.parent_path()) : fs::path();
  const FileLock lock(lock_of(folder), folder.string());
  return make(job, given, folder, made);
}

}  // namespace alibi
