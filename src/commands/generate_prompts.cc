#include "commands/generate_prompts.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <optional>

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

struct Row {
  std::int64_t line = 0;  // of the file, from 1
  std::optional<Json> id;
  std::string prompt;
  std::string error;  // of a bad row: no request
  Request request;
};

Json head_of(const Row& row) {
  Json head = {{"line", row.line}};
  if (row.id) head["id"] = *row.id;
  return head;
}

// Reads rows one by one. Requests are numbered by line.
class PromptFile {
 public:
  PromptFile(const PromptsOptions& prompts, const GenerateOptions& options,
             const LoadedModel& loaded)
      : name_(prompts.file), options_(options), loaded_(loaded), file_(prompts.file) {
    // Throws with the system's reason.
    if (!file_.is_open() || fs::is_directory(name_)) read_file(name_);
  }

  std::optional<Row> next() {
    for (std::string text; std::getline(file_, text);) {
      ++line_;
      if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
      Row row;
      row.line = line_;
      try {
        fill(row, text);
      } catch (const Error& error) {
        row.error = error.what();
      }
      return row;
    }
    return std::nullopt;
  }

 private:
  void fill(Row& row, const std::string& text) const {
    const std::string place = cat(name_, ":", row.line);
    const Json json = parse_json(text, place);
    const JsonReader reader(json, place);
    if (const auto id = reader.find("id")) row.id = id->json();
    row.prompt = reader.at("prompt").text();
    Request& request = row.request;
    request.number = row.line;
    request.sample = options_.sample;
    request.sample.seed += static_cast<std::uint64_t>(row.line - 1);
    request.tokens = options_.tokens;
    if (const auto tokens = reader.find("tokens")) {
      request.tokens = tokens->count();
      if (request.tokens < 1) tokens->expected("at least 1");
    }
    if (const auto seed = reader.find("seed"))
      request.sample.seed = static_cast<std::uint64_t>(seed->count());
    if (const auto temperature = reader.find("temperature")) {
      request.sample.temperature = temperature->number();
      if (!(request.sample.temperature >= 0)) temperature->expected("0 or more");
    }
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
  std::ifstream file_;
  std::int64_t line_ = 0;
};

// Results in the order of the rows, which end in any order.
class ResultFile {
 public:
  explicit ResultFile(const std::string& name) : name_(name) {
    if (name.empty()) return;
    if (fs::exists(name)) read_done();
    file_.emplace(name, OutputFile::Mode::kAppend);
  }

  // What an earlier call has written, by its last row.
  std::int64_t last_line() const { return last_line_; }
  std::int64_t rows() const { return rows_; }

  // Throws where that last row has another prompt now.
  void check(const Row& row) const {
    if (row.line == last_line_ && row.prompt != last_prompt_)
      throw usage_error(name_,
                        cat("holds another prompt of line ", row.line,
                            ", expected what an earlier call wrote for this file"),
                        "name a new --output");
  }

  void expect(std::int64_t line) { waiting_.emplace(line, std::nullopt); }
  void put(std::int64_t line, const Json& row) {
    waiting_.at(line) = write_json(row, {.invalid_utf8 = JsonStyle::InvalidUtf8::kReplace}) + "\n";
    while (!waiting_.empty() && waiting_.begin()->second) {
      write(*waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
    }
  }

 private:
  // A line that a kill cut short is cut off.
  void read_done() {
    const std::string text = read_file(name_);
    const std::size_t whole = text.rfind('\n') + 1;  // 0 where there is none
    if (whole < text.size()) fs::resize_file(name_, whole);
    for (const std::string& line : split(text.substr(0, whole), '\n')) {
      if (line.empty()) continue;
      const std::string place = cat(name_, ":", ++rows_);
      const Json json = parse_json(line, place);
      const JsonReader reader(json, place);
      last_line_ = reader.at("line").count();
      last_prompt_ = reader.text("prompt", "");
    }
  }

  void write(const std::string& line) {
    if (file_) {
      file_->write(line);
    } else {
      std::fputs(line.c_str(), stdout);
      std::fflush(stdout);
    }
  }

  std::string name_;
  std::optional<OutputFile> file_;
  std::int64_t rows_ = 0, last_line_ = 0;
  std::string last_prompt_;
  std::map<std::int64_t, std::optional<std::string>> waiting_;  // by line; nothing: in work
};

}  // namespace

std::vector<std::int32_t> prompt_tokens(const Tokenizer& tokenizer, const std::string& text) {
  std::vector<std::int32_t> tokens = {tokenizer.end()};
  for (const std::int32_t id : tokenizer.encode(text)) tokens.push_back(id);
  return tokens;
}

int generate_prompts(LoadedModel& loaded, const PromptsOptions& prompts,
                     const GenerateOptions& options) {
  PromptFile file(prompts, options, loaded);
  ResultFile results(prompts.output);
  if (results.rows() > 0)
    log_info(cat(prompts.output, " holds ", with_commas(results.rows()),
                 " rows: going on after line ", with_commas(results.last_line())));
  std::map<std::int64_t, Row> in_work;
  std::int64_t rows = 0, bad = 0;
  const auto next = [&]() -> std::optional<Request> {
    while (std::optional<Row> row = file.next()) {
      if (row->line <= results.last_line()) {
        if (row->error.empty()) results.check(*row);
        continue;
      }
      ++rows;
      results.expect(row->line);
      if (row->error.empty())
        return in_work.emplace(row->line, std::move(*row)).first->second.request;
      ++bad;
      log_warning(row->error);
      Json result = head_of(*row);
      result["error"] = row->error;
      results.put(row->line, result);
    }
    return std::nullopt;
  };
  const auto done = [&](const Completion& completion) {
    const Row& row = in_work.at(completion.number);
    Json result = head_of(row);
    result["prompt"] = row.prompt;
    result["text"] = loaded.tokenizer.decode(completion.tokens, row.prompt.empty());
    result["tokens"] = std::ssize(completion.tokens);
    result["finish_reason"] = completion.ended ? "stop" : "length";
    results.put(row.line, result);
    in_work.erase(completion.number);
  };
  const double start = seconds_now();
  const BatchUse use = generate_batch(loaded.model, options, prompts.parallel, loaded.device, next,
                                      done, [] { return stop_signal() != 0; });
  const double seconds = seconds_now() - start;
  log_info(cat(with_commas(rows), " rows", bad > 0 ? cat(", of them ", bad, " bad") : "", ": ",
               with_commas(use.new_tokens), " tokens written, ",
               fixed(static_cast<double>(use.new_tokens) / seconds, 1), " tokens/s; ",
               with_commas(use.shared_tokens), " of ", with_commas(use.prompt_tokens),
               " prompt tokens shared"));
  log_info(cat("cache: at most ", with_commas(use.most_pages), " pages of ", kPage, " positions, ",
               fixed(100 * use.unused_slots, 1), " % of their places unused"));
  if (stop_signal() != 0) {
    if (!prompts.output.empty()) log_info("stopped; the same command goes on from here");
    return 128 + stop_signal();
  }
  return bad > 0 ? 1 : 0;
}

}  // namespace alibi
