// Raw text: a .txt file is one document, a .jsonl file has one per line, as {"text": "...", "id":
// "..."} with "id" optional and other keys ignored; without "text", {"prompt": "...", "completion":
// "..."} (or "response") is their text side by side, of which only the completion is learned; and
// without these {"messages": [{"role": "user", "content": "..."}, ...]} are their contents side by
// side, of which only the assistant's are learned. All text is UTF-8. Either may be packed:
// .txt.gz, .jsonl.zst (text/packed_text.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace alibi {

struct DocumentView {
  std::string id;         // the key "id", else the file's name (and line)
  std::string_view text;  // not empty; valid during the call only
  // Bytes where it turns from read to learned, back, and so on; it begins with read. Empty: all of
  // it is learned.
  std::vector<std::size_t> turns = {};

  bool has_prompts() const { return !turns.empty() && (turns[0] > 0 || turns.size() > 1); }
};

// The turns of a text's first `before` bytes, and of what follows them; `size` is the text's.
struct CutTurns {
  std::vector<std::size_t> first, rest;
};
CutTurns cut_turns(const std::vector<std::size_t>& turns, std::size_t before, std::size_t size);

// Takes one document; returns false to stop reading.
using DocumentCall = std::function<bool(const DocumentView&)>;

// By its name: .txt or .jsonl, packed or not.
bool is_text_file(const std::filesystem::path& file);

// Calls for each document in order and returns how many were skipped because their text is empty.
// Errors name file and line: invalid UTF-8 (with its byte), invalid JSON, a text missing or no
// string, a prompt without completion.
std::int64_t for_each_document(const std::filesystem::path& file, const DocumentCall& call);
// The same over the lines of a .jsonl file that is in memory; `name` is the file's, for messages.
std::int64_t for_each_line(std::string_view lines, const std::string& name,
                           const DocumentCall& call);
// The same over lines that come in parts: `more` appends the next part, and returns false at the
// end.
using NextPart = std::function<bool(std::string& text)>;
std::int64_t for_each_line(const NextPart& more, const std::string& name, const DocumentCall& call);
// The same over several files.
std::int64_t for_each_document(const std::vector<std::filesystem::path>& files,
                               const DocumentCall& call);

}  // namespace alibi
