#include "commands/generate_prompts.h"

#include <algorithm>
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

constexpr std::size_t kDepth = 100;  // of keys that are ignored

struct Row {
  std::int64_t line = 0;  // of the file, from 1
  std::optional<Json> id;
  std::string prompt;
  std::string error;  // of a bad row: no request
  Request request;
};

// Changes with whatever changes the texts, beside the rows themselves.
std::string job_of(const LoadedModel& loaded, const GenerateOptions& options) {
  const SampleOptions& s = options.sample;
  const std::string all =
      cat(read_file(loaded.folder / "manifest.json"), " ", options.tokens, " ", s.temperature, " ",
          s.top_k, " ", s.top_p, " ", s.seed, " ", options.stop_at_end ? "stops" : "goes on");
  return sha256_hex(all).substr(0, 8);
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

  // `wanted`: whether its request is.
  std::optional<Row> next(bool wanted) {
    for (std::string text; lines_.next(text);) {
      constexpr const char* kByteOrderMark = "\xef\xbb\xbf";
      if (lines_.number() == 1 && text.starts_with(kByteOrderMark)) text.erase(0, 3);
      const std::size_t begin = text.find_first_not_of(" \t\r");
      if (begin == std::string::npos) continue;
      Row row;
      row.line = lines_.number();
      try {
        read(row, text.substr(begin), wanted);
      } catch (const Error& error) {
        row.error = error.what();
      }
      return row;
    }
    return std::nullopt;
  }

 private:
  void read(Row& row, const std::string& text, bool wanted) const {
    const std::string place = cat(name_, ":", row.line);
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
      request.tokens = tokens->count();
      if (request.tokens < 1 || request.tokens > kMostNewTokens)
        tokens->expected(cat("1 to ", kMostNewTokens));
    }
    if (const auto seed = reader.find("seed"))
      request.sample.seed = static_cast<std::uint64_t>(seed->count());
    if (const auto temperature = reader.find("temperature")) {
      request.sample.temperature = temperature->number();
      if (!(request.sample.temperature >= 0 && request.sample.temperature <= kHighestTemperature))
        temperature->expected(cat("0 to ", kHighestTemperature));
    }
    if (!wanted) return;
    request.prompt = prompt_tokens(loaded_.tokenizer, row.prompt);
    fit(request, place);
  }

  // The last token is chosen, not read.
  void fit(Request& request, const std::string& place) const {
    const auto limit = position_limit(loaded_.config.model);
    if (!limit) return;
    if (std::ssize(request.prompt) > *limit)
      throw Error(place,
                  cat("has a prompt of ", request.prompt.size(),
                      " tokens, expected at most model.max_sequence_length ", *limit),
                  "shorten it");
    request.tokens = std::min(request.tokens, *limit - std::ssize(request.prompt) + 1);
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
    if (fs::exists(name_)) read_done();
    file_.emplace(name_, OutputFile::Mode::kAppend);
  }

  std::int64_t rows() const { return std::ssize(done_); }  // that an earlier call has written
  std::int64_t bad_rows() const { return bad_; }
  // Whether an earlier call has answered the line that comes after all that were asked for. Throws
  // where it answered another one.
  bool has(const Row& row) {
    if (next_ == done_.size()) return false;
    const Done& done = done_[next_++];
    if (done.line != row.line || (!done.prompt.empty() && done.prompt != digest(row.prompt)))
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
  void put(const Row& row, Json result) {
    result["job"] = job_;
    waiting_.at(row.line) =
        write_json(result, {.invalid_utf8 = JsonStyle::InvalidUtf8::kReplace}) + "\n";
    while (!waiting_.empty() && waiting_.begin()->second) {
      write(*waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
    }
  }

 private:
  struct Done {
    std::int64_t line;
    std::string prompt;  // its digest; "" of a bad row
  };

  [[noreturn]] void refuse(const std::string& problem) const {
    throw usage_error(name_, problem + ", expected what an earlier call of the same command wrote",
                      "name a new --output");
  }
  static std::string digest(const std::string& prompt) { return sha256_hex(prompt).substr(0, 16); }

  // A line that a kill cut short is cut off, but only behind rows of ours or where it is one's
  // beginning.
  void read_done() {
    Lines lines(name_);
    std::uintmax_t whole = 0;
    for (std::string line; lines.next(line);) {
      if (!lines.is_whole()) {
        const std::string_view start = "{\"line\":";
        if (done_.empty() && !line.starts_with(start) && !start.starts_with(line))
          refuse("is no file of such answers");
        fs::resize_file(name_, whole);
        return;
      }
      whole += line.size() + 1;
      const std::string place = cat(name_, ":", lines.number());
      const Json json = parse_json(line, place);
      const JsonReader reader(json, place);
      if (reader.at("job").text() != job_)
        refuse(
            cat("holds answers of another checkpoint or other options at line ", lines.number()));
      const bool is_bad = reader.has("error");
      bad_ += is_bad;
      done_.push_back(
          {reader.at("line").count(), is_bad ? "" : digest(reader.at("prompt").text())});
    }
  }

  void write(const std::string& line) {
    if (file_) {
      file_->write(line);
    } else if (std::fputs(line.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
      throw Error("standard output", "cannot be written", "name a file by --output");
    }
  }

  std::string name_, job_;
  std::optional<OutputFile> file_;
  std::vector<Done> done_;
  std::size_t next_ = 0;
  std::int64_t bad_ = 0;
  std::map<std::int64_t, std::optional<std::string>> waiting_;  // by line; nothing: in work
};

class PromptJob {
 public:
  PromptJob(LoadedModel& loaded, const PromptsOptions& prompts, const GenerateOptions& options)
      : tokenizer_(loaded.tokenizer),
        results_(prompts, job_of(loaded, options)),
        file_(prompts, options, loaded),
        // A long row holds back those behind it: not too many.
        most_waiting_(16 * prompts.parallel) {}

  const ResultFile& results() const { return results_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t bad() const { return bad_; }

  std::optional<Request> next() {
    while (results_.waiting() < most_waiting_) {
      std::optional<Row> row = file_.next(skipped_ == results_.rows());
      if (!row) {
        results_.check_end();
        return std::nullopt;
      }
      if (results_.has(*row)) {
        ++skipped_;
        continue;
      }
      ++rows_;
      results_.expect(row->line);
      if (row->error.empty())
        return in_work_.emplace(row->line, std::move(*row)).first->second.request;
      ++bad_;
      log_warning(row->error);
      Json result = head_of(*row);
      result["error"] = row->error;
      results_.put(*row, std::move(result));
    }
    return std::nullopt;
  }

  void put(const Completion& completion) {
    const Row& row = in_work_.at(completion.number);
    Json result = head_of(row);
    result["prompt"] = row.prompt;
    result["text"] = tokenizer_.decode(completion.tokens, row.prompt.empty());
    result["tokens"] = std::ssize(completion.tokens);
    result["finish_reason"] = completion.ended ? "stop" : "length";
    results_.put(row, std::move(result));
    in_work_.erase(completion.number);
  }

 private:
  static Json head_of(const Row& row) {
    Json head = {{"line", row.line}};
    if (row.id) head["id"] = *row.id;
    return head;
  }

  const Tokenizer& tokenizer_;
  ResultFile results_;
  PromptFile file_;
  std::int64_t most_waiting_;
  std::map<std::int64_t, Row> in_work_;
  std::int64_t rows_ = 0, bad_ = 0, skipped_ = 0;
};

}  // namespace

std::vector<std::int32_t> prompt_tokens(const Tokenizer& tokenizer, const std::string& text) {
  std::vector<std::int32_t> tokens = {tokenizer.end()};
  for (const std::int32_t id : tokenizer.encode(text)) tokens.push_back(id);
  return tokens;
}

int generate_prompts(LoadedModel& loaded, const PromptsOptions& prompts,
                     const GenerateOptions& options) {
  PromptJob job(loaded, prompts, options);
  if (job.results().rows() > 0)
    log_info(cat(prompts.output, " holds ", with_commas(job.results().rows()), " rows: going on"));
  const double start = seconds_now();
  const BatchUse use = generate_batch(
      loaded.model, options, prompts.parallel, loaded.device, [&] { return job.next(); },
      [&](const Completion& completion) { job.put(completion); },
      [] { return stop_signal() != 0; });
  const double seconds = seconds_now() - start;
  const std::int64_t bad = job.bad() + job.results().bad_rows();
  log_info(cat(with_commas(job.rows()), " rows, ", with_commas(use.new_tokens), " tokens written, ",
               fixed(static_cast<double>(use.new_tokens) / seconds, 1), " tokens/s; ",
               with_commas(use.shared_tokens), " of ", with_commas(use.prompt_tokens),
               " prompt tokens shared"));
  log_info(cat("cache: at most ", with_commas(use.most_pages), " pages of ", kPage, " positions, ",
               fixed(100 * use.unused_slots, 1), " % of their places unused"));
  if (bad > 0) log_warning(cat(with_commas(bad), " bad rows, answered by \"error\""));
  if (stop_signal() != 0) {
    if (!prompts.output.empty()) log_info("stopped; the same command goes on from here");
    return 128 + stop_signal();
  }
  return bad > 0 ? 1 : 0;
}

}  // namespace alibi
