#include "commands/generate_prompts.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <optional>

#include "base/checksums.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json/parse.h"
#include "base/json/reader.h"
#include "base/json/write.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/strings.h"
#include "evaluate/generate/batch.h"
#include "model/paged_cache.h"
#include "report/table.h"

namespace alibi {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRowStart = "{\"line\":";
constexpr std::size_t kDepth = 100;  // of keys that are ignored

std::string digest(const std::string& text) { return sha256_hex(text).substr(0, 16); }

struct Row {
  std::int64_t line = 0;  // of the file, from 1
  std::optional<Json> id;
  std::string prompt;
  std::string error;                        // of a bad row: no request
  std::string text_digest, request_digest;  // of the line, and of what it asks for
  Request request;
};

// Numbers that differ are written differently.
std::string exact(double number) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

// Changes with whatever changes the texts, beside the rows themselves: kernels, types and what is
// skipped round differently.
std::string job_of(const LoadedModel& loaded, const GenerateOptions& options) {
  const SampleOptions& s = options.sample;
  const std::string all = cat(
      read_file(loaded.folder / "manifest.json"), " ", options.tokens, " ", exact(s.temperature),
      " ", s.top_k, " ", exact(s.top_p), " ", s.seed, " ",
      options.stop_at_end ? "stops" : "goes on", " ", name_of(loaded.config.runtime.precision), " ",
      loaded.model->attention_kernel({}, loaded.device), " ",
      name_of(loaded.config.runtime.attention.skip), " ", loaded.device.is_cuda() ? "cuda" : "cpu");
  return sha256_hex(all).substr(0, 8);
}

// Keeps other processes from writing the file, which it makes where it is missing.
std::unique_ptr<FileLock> lock_output(const std::string& name) {
  try {
    return std::make_unique<FileLock>(name, "it");
  } catch (const LockHeld&) {
    throw usage_error(name, "another process writes it, expected one that nobody writes",
                      "wait for its end, or name another --output");
  }
}

// Lines of a file, of which the last may lack its end. Throws where it cannot be read.
class Lines {
 public:
  explicit Lines(const std::string& name) : name_(name), file_(name, std::ios::binary) {
    // Throws with the system's reason.
    if (!file_.is_open() || fs::is_directory(name)) read_file(name);
  }
  bool next(std::string& line) {
    if (std::getline(file_, line)) {
      ++number_;
      is_whole_ = !file_.eof();
      return true;
    }
    if (file_.bad()) throw Error(name_, cat("cannot be read beyond line ", number_));
    return false;
  }
  std::int64_t number() const { return number_; }  // from 1
  bool is_whole() const { return is_whole_; }

 private:
  std::string name_;
  std::ifstream file_;
  std::int64_t number_ = 0;
  bool is_whole_ = true;
};

// Reads rows one by one. Requests are numbered by line.
class PromptFile {
 public:
  PromptFile(const PromptsOptions& prompts, const GenerateOptions& options,
             const LoadedModel& loaded)
      : name_(prompts.file), options_(options), loaded_(loaded), lines_(prompts.file) {}

  std::optional<Row> next() {
    for (std::string text; lines_.next(text);) {
      constexpr const char* kByteOrderMark = "\xef\xbb\xbf";
      if (lines_.number() == 1 && text.starts_with(kByteOrderMark)) text.erase(0, 3);
      const std::size_t begin = text.find_first_not_of(" \t\r");
      if (begin == std::string::npos) continue;
      Row row;
      row.line = lines_.number();
      row.text_digest = digest(text);
      try_on(row, [&] { read(row, text.substr(begin)); });
      return row;
    }
    return std::nullopt;
  }

  // Makes its tokens.
  void encode(Row& row) const {
    if (!row.error.empty()) return;
    try_on(row, [&] {
      row.request.prompt = prompt_tokens(loaded_.tokenizer, row.prompt);
      row.request.tokens = tokens_that_fit(loaded_.config.model, std::ssize(row.request.prompt),
                                           row.request.tokens, place_of(row));
    });
  }

 private:
  static void try_on(Row& row, const auto& work) {
    try {
      work();
    } catch (const Error& error) {
      row.error = error.what();
    }
  }

  std::string place_of(const Row& row) const { return cat(name_, ":", row.line); }

  void read(Row& row, const std::string& text) const {
    const std::string place = place_of(row);
    const Json json = parse_json(text, place, {.depth = kDepth});
    const JsonReader reader(json, place);
    if (const auto id = reader.find("id")) {
      if (!id->json().is_string() && !id->json().is_integer())
        id->expected("a text or a whole number of 64 bits");
      row.id = id->json();
    }
    row.prompt = reader.at("prompt").text();
    Request& request = row.request;
    request.number = row.line;
    request.sample = options_.sample;
    request.sample.seed += static_cast<std::uint64_t>(row.line - 1);
    request.tokens = options_.tokens;
    if (const auto tokens = reader.find("tokens")) {
      request.tokens = tokens->json().as_integer().value_or(0);
      if (request.tokens < 1 || request.tokens > kMostNewTokens)
        tokens->expected(cat("a whole number from 1 to ", kMostNewTokens));
    }
    if (const auto seed = reader.find("seed"))
      request.sample.seed = static_cast<std::uint64_t>(seed->count());
    if (const auto temperature = reader.find("temperature")) {
      request.sample.temperature = temperature->number();
      if (!(request.sample.temperature >= 0 && request.sample.temperature <= kHighestTemperature))
        temperature->expected(cat("0 to ", kHighestTemperature));
    }
    row.request_digest =
        digest(cat(row.id ? write_json(*row.id) : "", " ", request.tokens, " ",
                   exact(request.sample.temperature), " ", request.sample.seed, " ", row.prompt));
  }

  std::string name_;
  const GenerateOptions& options_;
  const LoadedModel& loaded_;
  Lines lines_;
};

// Results in the order of the rows, which end in any order.
class ResultFile {
 public:
  ResultFile(const PromptsOptions& prompts, std::string job)
      : name_(prompts.output), job_(std::move(job)) {
    if (name_.empty()) return;
    std::error_code ignored;
    if (fs::equivalent(name_, prompts.file, ignored))
      throw usage_error("--output", "names the file of prompts", "name another one");
    check_file_name(name_, "--output");
    lock_ = lock_output(name_);
    read_done();
    file_.emplace(name_, OutputFile::Mode::kAppend);
  }

  std::int64_t rows() const { return std::ssize(done_); }  // that an earlier call has written
  std::int64_t bad_rows() const { return bad_; }           // of these, and not made again
  std::int64_t written() const { return written_; }        // by this call
  // Whether an earlier call has answered the line that comes after all that were asked for: a bad
  // one that has changed is made again. Throws where it answered another one.
  bool has(const Row& row) {
    if (next_ == done_.size()) return false;
    const Done& done = done_[next_++];
    if (done.line == row.line && done.is_bad && done.digest != row.text_digest) {
      --bad_;
      return false;
    }
    if (done.line != row.line || (!done.is_bad && done.digest != row.request_digest))
      refuse(cat("answers line ", done.line, " of other prompts than those of line ", row.line));
    return true;
  }
  // No row is left: all that was written must have been met.
  void check_end() const {
    if (next_ < done_.size())
      refuse(cat("answers line ", done_[next_].line, ", which the prompts do not have"));
  }

  void expect(std::int64_t line) { waiting_.emplace(line, std::nullopt); }
  std::int64_t waiting() const { return std::ssize(waiting_); }  // written when earlier ones are
  void put(const Row& row, const Json& answer) {
    Json result = {{"line", row.line}, {"job", job_}};
    result["digest"] = row.error.empty() ? row.request_digest : row.text_digest;
    if (row.id) result["id"] = *row.id;
    result.update(answer);
    const std::string line =
        write_json(result, {.invalid_utf8 = JsonStyle::InvalidUtf8::kReplace}) + "\n";
    if (!done_.empty() && row.line <= done_.back().line) {
      again_.emplace(row.line, line);
      ++written_;
      waiting_.erase(row.line);
    } else {
      waiting_.at(row.line) = line;
    }
    while (!waiting_.empty() && waiting_.begin()->second) {
      write(*waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
    }
  }
  // What was made again takes its place, all at once: the last change to the file, whose lock is
  // not that of the new one.
  void finish() {
    if (again_.empty()) return;
    StagedPath(name_).make([this](const fs::path& beside) { write_again(beside); });
  }

 private:
  void write_again(const fs::path& beside) {
    OutputFile file(beside);
    fs::permissions(beside, fs::status(name_).permissions());
    Lines lines(name_);
    std::size_t row = 0;
    for (std::string line; lines.next(line); ++row) {
      const auto found = row < done_.size() ? again_.find(done_[row].line) : again_.end();
      file.write(found == again_.end() ? line + "\n" : found->second);
    }
    file.sync();
    file.close();
  }

  struct Done {
    std::int64_t line;
    bool is_bad;
    std::string digest;  // of the request, or of a bad row's line
  };

  [[noreturn]] void refuse(const std::string& problem) const {
    throw usage_error(name_, problem + ", expected what an earlier call of the same command wrote",
                      "name a new --output");
  }

  // Whether a line's beginning is that of this job's rows.
  bool is_ours(std::string_view line) const {
    if (!line.starts_with(kRowStart)) return false;
    line.remove_prefix(
        std::min(line.size(), line.find_first_not_of("0123456789", kRowStart.size())));
    return line.starts_with(cat(",\"job\":\"", job_, "\","));
  }

  // A line that a kill cut short is cut off, but only behind rows of ours or where it is one's
  // beginning.
  void read_done() {
    Lines lines(name_);
    std::uintmax_t whole = 0;
    for (std::string line; lines.next(line);) {
      if (!lines.is_whole()) {
        if (done_.empty() && !is_ours(line)) refuse("is no file of such answers");
        fs::resize_file(name_, whole);
        return;
      }
      whole += line.size() + 1;
      const std::string place = cat(name_, ":", lines.number());
      if (!line.starts_with(kRowStart)) refuse(cat("line ", lines.number(), " is no such answer"));
      const Json json = parse_json(line, place);
      const JsonReader reader(json, place);
      if (reader.at("job").text() != job_)
        refuse(cat("holds answers of another checkpoint or other options or kernels at line ",
                   lines.number()));
      const bool is_bad = reader.has("error");
      bad_ += is_bad;
      done_.push_back({reader.at("line").count(), is_bad, reader.at("digest").text()});
    }
  }

  void write(const std::string& line) {
    ++written_;
    if (file_) {
      file_->write(line);
    } else if (std::fputs(line.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
      throw Error("standard output", "cannot be written", "name a file by --output");
    }
  }

  std::string name_, job_;
  std::unique_ptr<FileLock> lock_;
  std::optional<OutputFile> file_;
  std::vector<Done> done_;
  std::size_t next_ = 0;
  std::int64_t bad_ = 0, written_ = 0;
  std::map<std::int64_t, std::optional<std::string>> waiting_;  // by line; nothing: in work
  std::map<std::int64_t, std::string> again_;                   // of lines that were bad
};

class PromptJob {
 public:
  PromptJob(LoadedModel& loaded, const PromptsOptions& prompts, const GenerateOptions& options)
      : tokenizer_(loaded.tokenizer),
        file_(prompts, options, loaded),
        results_(prompts, job_of(loaded, options)),
        // A long row holds back those behind it: not too many.
        most_waiting_(16 * prompts.parallel) {}

  ResultFile& results() { return results_; }
  std::int64_t bad() const { return bad_; }

  std::optional<Request> next() {
    while (results_.waiting() < most_waiting_) {
      std::optional<Row> row = file_.next();
      if (!row) {
        results_.check_end();
        return std::nullopt;
      }
      if (results_.has(*row)) continue;
      file_.encode(*row);
      results_.expect(row->line);
      if (row->error.empty())
        return in_work_.emplace(row->line, std::move(*row)).first->second.request;
      ++bad_;
      log_warning(row->error);
      results_.put(*row, {{"error", row->error}});
    }
    return std::nullopt;
  }

  void put(const Completion& completion) {
    const Row& row = in_work_.at(completion.number);
    results_.put(row, {{"prompt", row.prompt},
                       {"text", tokenizer_.decode(completion.tokens, row.prompt.empty())},
                       {"tokens", std::ssize(completion.tokens)},
                       {"finish_reason", completion.ended ? "stop" : "length"}});
    in_work_.erase(completion.number);
  }

 private:
  const Tokenizer& tokenizer_;
  PromptFile file_;
  ResultFile results_;
  std::int64_t most_waiting_;
  std::map<std::int64_t, Row> in_work_;
  std::int64_t bad_ = 0;
};

}  // namespace

std::int64_t tokens_that_fit(const ModelConfig& model, std::int64_t prompt, std::int64_t tokens,
                             const std::string& place) {
  const auto limit = position_limit(model);
  if (!limit) return tokens;
  if (prompt > *limit)
    throw Error(place,
                cat("has a prompt of ", prompt,
                    " tokens, expected at most model.max_sequence_length ", *limit),
                "shorten it");
  return std::min(tokens, *limit - prompt + 1);
}

std::vector<std::int32_t> prompt_tokens(const Tokenizer& tokenizer, const std::string& text) {
  std::vector<std::int32_t> tokens = {tokenizer.end()};
  for (const std::int32_t id : tokenizer.encode(text)) tokens.push_back(id);
  return tokens;
}

int generate_prompts(LoadedModel& loaded, const PromptsOptions& prompts,
                     const GenerateOptions& options) {
  if (prompts.file == "-") {
    throw usage_error("--prompts", "found -, expected a file: a call that goes on reads it again",
                      "write the lines to a file");
  }
  PromptJob job(loaded, prompts, options);
  if (job.results().rows() > 0)
    log_info(cat(prompts.output,
                 ": rows that an earlier call has answered: ", with_commas(job.results().rows())));
  const double start = seconds_now();
  const BatchUse use = generate_batch(
      loaded.model, options, prompts.parallel, loaded.device, [&] { return job.next(); },
      [&](const Completion& completion) { job.put(completion); },
      [] { return stop_signal() != 0; });
  job.results().finish();
  const double seconds = seconds_now() - start;
  const std::int64_t bad = job.bad() + job.results().bad_rows();
  log_info(cat("rows written: ", with_commas(job.results().written()),
               "; tokens made: ", with_commas(use.new_tokens), ", ",
               fixed(static_cast<double>(use.new_tokens) / seconds, 1), " tokens/s; ",
               with_commas(use.shared_tokens), " of ", with_commas(use.prompt_tokens),
               " prompt tokens shared"));
  log_info(cat("cache: positions at most ", with_commas(use.positions), ", in pages of ", kPage,
               ": ", with_commas(use.pages), ", ", fixed(100 * use.unused(), 1),
               " % of whose places held nothing"));
  if (job.results().rows() + job.results().written() + bad == 0)
    log_warning(cat(prompts.file, ": holds no prompt"));
  if (bad > 0) log_warning(cat("bad rows, answered by \"error\": ", with_commas(bad)));
  if (stop_signal() != 0) {
    if (!prompts.output.empty()) log_info("stopped; the same command goes on from here");
    return 128 + stop_signal();
  }
  return bad > 0 ? 1 : 0;
}

}  // namespace alibi
