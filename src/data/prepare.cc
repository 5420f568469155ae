#include "data/prepare.h"

#include <algorithm>
#include <cstdint>
#include <system_error>

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

void note_shared_files(const NamedText& text, const PrepareProgress& progress) {
  for (const fs::path& file : text.valid.files) {
    const auto same = [&](const fs::path& other) {
      std::error_code ignored;
      return fs::equivalent(file, other, ignored);
    };
    if (std::ranges::any_of(text.train.files, same))
      progress.say(cat("note: ", file.string(), " is in data.train and in data.valid"));
  }
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

}  // namespace

PreparedText prepare_text(const DataConfig& data, const TokenizerConfig& tokenizer, int threads,
                          const PrepareProgress& progress) {
  const NamedText text = find_named_text(data.train, data.valid);
  if (text.kind() == TextKind::kPrepared)
    return open_as_configured(text.train.files.front(), tokenizer);
  note_shared_files(text, progress);
  const Recipe recipe{text, data.valid_fraction, choose_tokenizer(tokenizer, text.kind())};
  const fs::path root =
      data.cache_folder.empty() ? cache_folder() / "prepared" : fs::path(data.cache_folder);
  const std::string name = cache_name(recipe);
  const fs::path folder = root / name;
  const auto fill = [&](const fs::path& path) {
    prepare(recipe, threads, progress, path);
    // Files are read several times, and the name stands for what was read first.
    if (cache_name(recipe) != name)
      throw Error(cat("text of ", folder.string()), "changed while it was read", "run it again");
  };
  return open_or_make(folder, fill, progress);
}

PreparedText prepare_text_into(const fs::path& named, const DataConfig& data,
                               const TokenizerConfig& tokenizer, int threads,
                               const PrepareProgress& progress) {
  const fs::path folder = without_slash(named);
  std::error_code code;
  if (fs::exists(folder, code))
    throw Error(folder.string(), "exists already", "choose a new folder");
  const NamedText text = find_named_text(data.train, data.valid);
  if (text.kind() == TextKind::kPrepared)
    throw usage_error("data.train", text.train.files.front().string() + " is prepared already",
                      "name the text it was made from");
  note_shared_files(text, progress);
  const Recipe recipe{text, data.valid_fraction, choose_tokenizer(tokenizer, text.kind())};
  const auto fill = [&](const fs::path& path) { prepare(recipe, threads, progress, path); };
  return make_prepared(folder, fill);
}

}  // namespace alibi
