#include "data/named_text.h"

#include <glob.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <system_error>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/strings.h"
#include "data/prepared.h"
#include "formats/token_file.h"
#include "text/documents.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

using Names = std::vector<std::string>;

Names matches(const std::string& pattern) {
  glob_t found{};
  const int code = glob(pattern.c_str(), GLOB_ERR | GLOB_NOSORT, nullptr, &found);
  Names paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (code != 0)
    throw Error(pattern, code == GLOB_NOMATCH ? "matches no file" : "cannot be matched",
                "name files, folders or a pattern of them");
  std::ranges::sort(paths);
  return paths;
}

Names expand(const Names& names) {
  Names expanded;
  for (const std::string& name : names) {
    std::error_code ignored;
    if (name.find_first_of("*?[") == std::string::npos || fs::exists(name, ignored)) {
      expanded.push_back(name);
    } else {
      std::ranges::move(matches(name), std::back_inserter(expanded));
    }
  }
  return expanded;
}

// A missing text is the first fault that a newcomer meets: the message has the key that names it
// and what makes it.
void check_there(const Names& names, const std::string& key) {
  if (const auto missing = find_missing(names))
    throw Error(missing->name, cat(missing->reason, "; ", key, " names it"), missing->way_out);
}

// Nothing where token ids are mixed with text: only text has bytes to hold out by.
std::optional<TextKind> kind_of(const Names& names) {
  const auto tokens = std::ranges::count_if(names, [](const auto& n) { return is_token_file(n); });
  if (tokens == 0) return TextKind::kText;
  return tokens == std::ssize(names) ? std::optional(TextKind::kTokens) : std::nullopt;
}

constexpr const char* kMixed = "names files of token ids (.bin) beside text";

void add_folder(const fs::path& folder, TextFiles& found) {
  std::error_code code;
  std::vector<fs::path> inside;
  fs::recursive_directory_iterator at(folder, code);
  for (; !code && at != fs::recursive_directory_iterator(); at.increment(code)) {
    if (at->path().filename().string().starts_with('.')) {  // what other programs keep there
      if (at->is_directory(code)) at.disable_recursion_pending();
      continue;
    }
    if (!at->is_regular_file(code)) {
      std::error_code broken;  // of a link that leads nowhere; others of folders may lead back here
      if (at->is_symlink(broken) && (at->is_directory(broken) || !at->exists(broken)))
        ++found.other_files;
      continue;
    }
    if (!is_text_file(at->path())) {
      ++found.other_files;
    } else if (at->file_size(code) > 0) {
      inside.push_back(at->path());
    }
    if (code) break;
  }
  if (code) throw Error(folder.string(), "cannot walk the folder: " + code.message());
  if (inside.empty() && is_prepared(folder.string())) {
    throw Error(folder.string(), "holds text that was prepared for training, not text",
                "data.train takes it; name the text that it was made of");
  }
  if (inside.empty()) {
    throw Error(folder.string(), "no text in this folder",
                "expected files that end in .txt or .jsonl, also with .gz, .xz or .zst behind it; "
                "files of token ids are named by a pattern, FOLDER/train*.bin");
  }
  std::ranges::sort(inside);
  found.files.insert(found.files.end(), inside.begin(), inside.end());
}

void add_file(const fs::path& file, TextFiles& found) {
  if (!is_text_file(file)) {
    throw Error(file.string(), cat("has the unknown extension \"", file.extension().string(), "\""),
                "expected .txt or .jsonl (also .gz, .xz, .zst), .bin of token ids, or a folder");
  }
  if (MappedFile(file).bytes().empty()) throw Error(file.string(), "is empty");
  found.files.push_back(file);
}

TextFiles text_files(const Names& expanded) {
  TextFiles found;
  for (const std::string& name : expanded) {
    std::error_code code;
    const fs::file_status status = fs::status(name, code);
    if (!fs::exists(status))
      throw Error(name, code ? code.message() : "is missing",
                  "names are relative to the folder that the program runs in");
    if (fs::is_directory(status)) {
      add_folder(name, found);
    } else {
      add_file(name, found);
    }
  }
  return found;
}

TextFiles files_of(TextKind kind, const Names& expanded) {
  if (kind == TextKind::kText) return text_files(expanded);
  return {kind, {expanded.begin(), expanded.end()}};
}

}  // namespace

NamedText find_named_text(const Names& train_names, const Names& valid_names) {
  if (train_names.empty()) throw usage_error("data.train", "names no text");
  const Names train = expand(train_names);
  if (train.size() == 1 && is_prepared(train[0])) {
    if (valid_names.empty()) return {files_of(TextKind::kPrepared, train), {}};
    throw usage_error("data.valid", "has no effect: " + train[0] + " holds its own validation text",
                      "leave data.valid out");
  }
  const Names valid = expand(valid_names);
  check_there(train, "data.train");
  check_there(valid, "data.valid");
  if (const auto at = std::ranges::find_if(train, is_prepared); at != train.end()) {
    throw usage_error("data.train", *at + " is a prepared folder beside other text",
                      "name it alone, or name the text it was made from");
  }
  Names all = train;
  all.insert(all.end(), valid.begin(), valid.end());
  const auto kind = kind_of(all);
  if (!kind)
    throw usage_error("data.train", kMixed, "name files of one kind in data.train and data.valid");
  return {files_of(*kind, train), files_of(*kind, valid)};
}

std::optional<MissingName> find_missing(const Names& names) {
  for (const std::string& name : expand(names)) {
    std::error_code code;
    if (fs::exists(fs::status(name, code))) continue;
    std::string way_out = "see data/README.md for sources of text";
    if (name.starts_with("data/books/")) way_out = "scripts/unpack-books FOLDER makes data/books";
    if (name.starts_with("data/default/")) way_out = "scripts/default-corpus makes data/default";
    return MissingName{name, code ? code.message() : "is missing", way_out};
  }
  return std::nullopt;
}

TextFiles find_text(const Names& names) {
  const Names expanded = expand(names);
  const auto kind = kind_of(expanded);
  if (!kind) throw Error(join(expanded, ", "), kMixed, "name files of one kind");
  return files_of(*kind, expanded);
}

TextFiles find_text_files(const Names& names) { return text_files(expand(names)); }

}  // namespace alibi
