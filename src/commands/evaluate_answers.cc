#include "commands/evaluate_answers.h"

#include <cstdio>
#include <span>

#include "base/clock.h"
#include "base/files.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "base/version.h"
#include "commands/evaluation_text.h"
#include "commands/found.h"
#include "commands/measuring_line.h"
#include "evaluate/answers.h"

namespace alibi {
namespace {

AnswersResult measure(LoadedModel& loaded, const EvaluationCase& one, const TextSample& filler,
                      World& world) {
  MeasuringLine line("evaluate", one.name, "cells", world.is_first());
  AnswersResult result = measure_answers(loaded, filler,
                                         {.lengths = one.lengths,
                                          .rules = one.plan.config.evaluate,
                                          .progress = line.hook(),
                                          .share = share_of(world)});
  line.finish();
  result.name = one.name;
  return result;
}

Json shown_text(const Question& text, const Tokenizer& tokenizer) {
  JsonList answers;
  for (const AnswerSpan& answer : text.answers)
    answers.push_back(tokenizer.decode(std::span(text.ids).subspan(
        static_cast<std::size_t>(answer.first), static_cast<std::size_t>(answer.count))));
  return {{"answers", Json::list(std::move(answers))}, {"text", tokenizer.decode(text.ids)}};
}

// Every text with its answers, for whoever wants to see what was asked.
std::string shown_texts(const AnswersResult& result, const Questions& questions,
                        const Tokenizer& tokenizer) {
  std::string lines;
  for (const AnswersCell& cell : result.cells) {
    QuestionPlace place{.length = cell.length};
    if (questions.has_depth) place.depth = cell.depth;
    for (; place.trial < cell.trials; ++place.trial) {
      Json line = {{"length", cell.length}};
      if (questions.has_depth) line.append("depth", cell.depth);
      line.update(shown_text(questions.make(place), tokenizer));
      lines += write_json(line, kLogLine) + "\n";
    }
  }
  return lines;
}

}  // namespace

void evaluate_answers(const std::vector<EvaluationCase>& cases, const AnswersRequest& request,
                      World& world, const CommandLine& command_line) {
  const EvaluateConfig& rules = cases.front().plan.config.evaluate;
  const bool reads = reads_text(rules.task);
  AnswersSet set;
  set.task = name_of(rules.task);
  set.program_version = kVersion;
  set.command_line = command_line.text();
  set.created = utc_timestamp();
  set.documents = rules.answers.documents;
  set.protocol = cases.front().protocol;
  const SampleRule rule = shared_rule(cases);
  const bool writes = world.is_first() && !request.output.empty();
  std::string texts, first;
  for (const EvaluationCase& one : cases) {
    EvaluationText filler;
    LoadedModel loaded =
        load_for_evaluation(one, world, request.text, rule, reads ? &filler : nullptr);
    if (reads) {
      const CurveText described = describe_text(filler, loaded.tokenizer);
      if (set.results.empty()) set.text = described;
      refuse_other_text(one.name, filler.sample, first);
    }
    set.results.push_back(measure(loaded, one, filler.sample, world));
    const Questions questions = questions_of(rules, loaded.tokenizer, filler.sample);
    set.unit = questions.unit;
    if (writes && texts.empty())
      texts = shown_texts(set.results.back(), questions, loaded.tokenizer);
  }
  if (!world.is_first()) return;
  print_found({answers_table(set), answers_value(set)}, request.as_json);
  if (!writes) return;
  const std::filesystem::path folder = request.output;
  make_folders(folder);
  write_file_atomic(folder / "answers.json", answers_json(set));
  write_file_atomic(folder / "answers.csv", answers_csv(set));
  write_file_atomic(folder / "answers.jsonl", texts);
  write_file_atomic(folder / "index.html", answers_page(set, request.title));
  print_written(folder / "index.html", request.as_json);
}

}  // namespace alibi
