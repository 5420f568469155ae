#include "commands/text_progress.h"

#include "base/log.h"
#include "base/strings.h"
#include "report/table.h"

namespace alibi {
namespace {

std::string target_count_text(const TokenShards& tokens) {
  return cat(with_commas(tokens.target_count()), " of ", with_commas(tokens.size()),
             " tokens; the others are prompts, read only");
}

Json split_value(const SplitStatistics& s) {
  return {{"documents", s.documents},
          {"bytes", s.bytes},
          {"tokens", s.tokens},
          {"unknown", s.unknown},
          {"byte_fallback", s.byte_fallback},
          {"changed_documents", s.changed_documents}};
}

}  // namespace

PrepareProgress TextProgress::hooks() {
  PrepareProgress progress;
  progress.note = [this](const std::string& text) {
    if (line_) line_->interrupt();
    log_info(text);
  };
  progress.bytes = [this](std::int64_t done, std::int64_t total) {
    if (!line_)
      line_ =
          std::make_unique<TaskProgress>(stderr, "tokenising", static_cast<double>(total), "bytes");
    line_->show(static_cast<double>(done));
  };
  return progress;
}

void TextProgress::finish() {
  if (line_) line_->finish();
  line_.reset();
}

Found describe_text(const PreparedText& text) {
  Table table{{{"split"},
               {"documents", Align::kRight},
               {"bytes", Align::kRight},
               {"tokens", Align::kRight},
               {"bytes/token", Align::kRight},
               {"unknown", Align::kRight},
               {"fallback", Align::kRight},
               {"round trip"}},
              {}};
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return fixed(whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0,
                 3) +
           " %";
  };
  const auto row = [&](const char* name, const SplitStatistics& s) {
    table.rows.push_back(
        {name, with_commas(s.documents), with_commas(s.bytes), with_commas(s.tokens),
         fixed(s.bytes_per_token(), 2), share(s.unknown, s.tokens),
         share(s.byte_fallback, s.tokens),
         s.changed_documents == 0 ? "exact" : cat(s.changed_documents, " documents changed")});
  };
  row("train", text.statistics.train);
  row("valid", text.statistics.valid);
  std::vector<std::pair<std::string, std::string>> pairs = {
      {"vocabulary", with_commas(text.tokenizer.vocabulary())},
      {"held out", text.statistics.hold_out},
      {"folder", text.folder.string()}};
  if (text.statistics.empty_documents > 0)
    pairs.emplace_back("left out", cat(with_commas(text.statistics.empty_documents),
                                       " documents that are empty or have an empty completion"));
  if (text.statistics.other_files > 0)
    pairs.emplace_back("not read", cat(with_commas(text.statistics.other_files),
                                       " files of other endings, linked folders or broken links"));
  if (text.train.target_count() < text.train.size())
    pairs.insert(pairs.begin() + 1, {"learned", target_count_text(text.train)});
  return {format_table(table) + format_pairs(pairs),
          document("text", {{"train", split_value(text.statistics.train)},
                            {"valid", split_value(text.statistics.valid)},
                            {"vocabulary", text.tokenizer.vocabulary()},
                            {"held_out", text.statistics.hold_out},
                            {"learned_tokens", text.train.target_count()},
                            {"empty_documents", text.statistics.empty_documents},
                            {"folder", text.folder.string()}})};
}

}  // namespace alibi
