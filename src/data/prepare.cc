#include "data/prepare.h"

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "data/corpus.h"
#include "data/make_prepared.h"
#include "data/named_text.h"
#include "data/recipe.h"
#include "data/tokenise.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

// Which file it is, however it is named; nothing where that cannot be seen.
using FileId = std::pair<dev_t, ino_t>;
std::optional<FileId> id_of(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return std::nullopt;
  return FileId(status.st_dev, status.st_ino);
}

void note_files(const std::vector<fs::path>& files, const char* fault,
                const PrepareProgress& progress) {
  if (files.empty()) return;
  const std::string more =
      files.size() > 1 ? cat(" and ", files.size() - 1, " more are ") : std::string(" is ");
  progress.say(cat("note: ", files.front().string(), more, fault));
}

void note_repeated_files(const NamedText& text, const PrepareProgress& progress) {
  std::set<FileId> train;
  std::vector<fs::path> twice, shared;
  for (const fs::path& file : text.train.files)
    if (const auto id = id_of(file); id && !train.insert(*id).second) twice.push_back(file);
  for (const fs::path& file : text.valid.files)
    if (const auto id = id_of(file); id && train.contains(*id)) shared.push_back(file);
  note_files(twice, "named more than once in data.train, and read each time", progress);
  note_files(shared, "in data.train and in data.valid", progress);
}

PreparedText open_as_configured(const fs::path& folder, const TokenizerConfig& tokenizer) {
  PreparedText prepared = open_prepared(folder);
  check_choice(tokenizer, prepared.tokenizer, folder.string());
  return prepared;
}

// Each stage makes the next one's input; the last writes `folder`, which is empty.
void prepare(const Recipe& recipe, int threads, const PrepareProgress& progress,
             const fs::path& folder) {
  const TextFiles &train = recipe.text.train, &valid = recipe.text.valid;
  const std::int64_t files = std::ssize(train.files) + std::ssize(valid.files);
  progress.say(cat("reading ", files, " files of ",
                   recipe.text.kind() == TextKind::kTokens ? "tokens" : "text"));
  const Corpus corpus = divide(recipe.text, recipe.valid_fraction, recipe.tokenizer.given);
  const Tokenizer tokenizer = make_tokenizer(recipe.tokenizer, corpus, progress.note);
  TokenisedText text = tokenise(corpus, tokenizer, threads, progress, folder);
  text.statistics.files = files;
  text.statistics.other_files = train.other_files + valid.other_files;
  write_prepared(folder, tokenizer, text.train, text.valid, text.statistics);
}

Recipe recipe_for(const NamedText& text, const DataConfig& data, const TokenizerConfig& tokenizer,
                  const PrepareProgress& progress) {
  note_repeated_files(text, progress);
  return {text, data.valid_fraction, choose_tokenizer(tokenizer, text.kind())};
}

// Of the text that had the name `name` in the cache: files are read several times.
FillFolder filled_with(const Recipe& recipe, const std::string& name, int threads,
                       const PrepareProgress& progress) {
  return [=, &progress](const fs::path& path) {
    prepare(recipe, threads, progress, path);
    if (cache_name(recipe) != name)
      throw Error(cat("text of ", path.string()), "changed while it was read", "run it again");
  };
}

}  // namespace

PreparedText prepare_text(const DataConfig& data, const TokenizerConfig& tokenizer, int threads,
                          const PrepareProgress& progress) {
  const NamedText text = find_named_text(data.train, data.valid);
  if (text.kind() == TextKind::kPrepared)
    return open_as_configured(text.train.files.front(), tokenizer);
  const Recipe recipe = recipe_for(text, data, tokenizer, progress);
  const fs::path root =
      data.cache_folder.empty() ? cache_folder() / "prepared" : fs::path(data.cache_folder);
  const std::string name = cache_name(recipe);
  return open_or_make(root / name, filled_with(recipe, name, threads, progress), progress);
}

PreparedText prepare_text_into(const fs::path& named, const DataConfig& data,
                               const TokenizerConfig& tokenizer, int threads,
                               const PrepareProgress& progress) {
  const fs::path folder = without_slash(named);
  if (is_there(folder)) throw Error(folder.string(), "exists already", "choose a new folder");
  const NamedText text = find_named_text(data.train, data.valid);
  if (text.kind() == TextKind::kPrepared)
    throw usage_error("data.train", text.train.files.front().string() + " is prepared already",
                      "name the text it was made from");
  const Recipe recipe = recipe_for(text, data, tokenizer, progress);
  return make_prepared(folder, filled_with(recipe, cache_name(recipe), threads, progress));
}

}  // namespace alibi
