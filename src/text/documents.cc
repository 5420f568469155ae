#include "text/documents.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/strings.h"
#include "text/json_line.h"
#include "text/packed_text.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kLargestUnpacked = std::size_t{4} << 30;  // of one document

// The lines of one file, a document each.
class Lines {
 public:
  Lines(std::string name, const DocumentCall& call) : name_(std::move(name)), call_(call) {}
  std::int64_t empty() const { return empty_; }  // documents without text so far

  // False where the call wants no more.
  bool take(std::string_view line) {
    ++number_;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return true;
    const LineDocument document = read_line(line, cat(name_, ":", number_));
    if (!document.text.empty()) return call_({document.id, document.text, document.turns});
    ++empty_;
    return true;
  }
  void refuse_long(std::size_t bytes) const {
    check_line_length(bytes, cat(name_, ":", number_ + 1));
  }

 private:
  std::string name_;
  const DocumentCall& call_;
  std::int64_t number_ = 0, empty_ = 0;
};

// Takes the first line from the front of `text`.
std::string_view cut_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::int64_t one_document(std::string_view text, const std::string& name,
                          const DocumentCall& call) {
  if (text.empty()) return 1;
  check_utf8(text, name);
  call({name, text});
  return 0;
}

std::int64_t unpacked_text(const fs::path& file, const DocumentCall& call) {
  PackedText packed(file);
  std::string text;
  while (packed.read(text)) {
    if (text.size() > kLargestUnpacked)
      throw Error(file.string(), "unpacks to more than 4 GiB",
                  "unpack it, and name what comes out");
  }
  return one_document(text, file.string(), call);
}

std::int64_t unpacked_lines(const fs::path& file, const DocumentCall& call) {
  PackedText packed(file);
  return for_each_line([&](std::string& text) { return packed.read(text); }, file.string(), call);
}

}  // namespace

CutTurns cut_turns(const std::vector<std::size_t>& turns, std::size_t before, std::size_t size) {
  if (turns.empty()) return {};
  CutTurns cut;
  for (const std::size_t turn : turns) {
    if (turn < before)
      cut.first.push_back(turn);
    else
      cut.rest.push_back(turn - before);
  }
  const bool learned = cut.first.size() % 2 == 1;  // at the cut
  if (cut.first.empty()) cut.first = {before};     // an empty list would be a text that is learned
  if (learned) cut.rest.insert(cut.rest.begin(), 0);
  if (cut.rest.empty()) cut.rest = {size - before};
  return cut;
}

bool is_text_file(const fs::path& file) {
  const fs::path ending = unpacked_name(file).extension();
  return ending == ".txt" || ending == ".jsonl";
}

std::int64_t for_each_line(std::string_view lines, const std::string& name,
                           const DocumentCall& call) {
  Lines reader(name, call);
  while (!lines.empty() && reader.take(cut_line(lines))) {
  }
  return reader.empty();
}

// What lies in memory is one part and the line that it begins in the middle of.
std::int64_t for_each_line(const NextPart& more, const std::string& name,
                           const DocumentCall& call) {
  Lines reader(name, call);
  std::string text;
  for (std::size_t seen = 0; more(text); seen = text.size()) {
    std::string_view rest = text;
    for (bool ends = text.find('\n', seen) != std::string::npos; ends;
         ends = rest.find('\n') != std::string_view::npos) {
      if (!reader.take(cut_line(rest))) return reader.empty();
    }
    text.erase(0, text.size() - rest.size());
    reader.refuse_long(text.size());
  }
  if (!text.empty()) reader.take(text);
  return reader.empty();
}

std::int64_t for_each_document(const fs::path& file, const DocumentCall& call) {
  const bool is_lines = unpacked_name(file).extension() == ".jsonl";
  if (is_packed(file)) return is_lines ? unpacked_lines(file, call) : unpacked_text(file, call);
  const MappedFile mapped(file);
  if (is_lines) return for_each_line(mapped.text(), file.string(), call);
  return one_document(mapped.text(), file.string(), call);
}

std::int64_t for_each_document(const std::vector<fs::path>& files, const DocumentCall& call) {
  std::int64_t empty = 0;
  bool more = true;
  for (std::size_t i = 0; more && i < files.size(); ++i) {
    empty += for_each_document(files[i], [&](const DocumentView& document) {
      more = call(document);
      return more;
    });
  }
  return empty;
}

}  // namespace alibi
