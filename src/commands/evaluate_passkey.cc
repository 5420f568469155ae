#include "commands/evaluate_passkey.h"

#include <cstdio>

#include "base/clock.h"
#include "base/files.h"
#include "base/json/write.h"
#include "base/strings.h"
#include "base/version.h"
#include "commands/evaluation_text.h"
#include "commands/measuring_line.h"
#include "evaluate/passkey.h"

namespace alibi {
namespace {

PasskeyResult measure(LoadedModel& loaded, const EvaluationCase& one, const TextSample& filler,
                      World& world) {
  MeasuringLine line("evaluate", one.name, "cells", world.is_first());
  PasskeyResult result = measure_passkeys(loaded, filler,
                                          {.lengths = one.lengths,
                                           .rules = one.plan.config.evaluate,
                                           .progress = line.hook(),
                                           .share = share_of(world)});
  line.finish();
  result.name = one.name;
  return result;
}

// Every text with its answer, as lines that a model can also be trained on.
std::string shown_texts(const PasskeyResult& result, const EvaluationCase& one,
                        const Tokenizer& tokenizer, const TextSample& filler) {
  std::string lines;
  for (const PasskeyCell& cell : result.cells) {
    if (!cell.note.empty()) continue;
    for (std::int64_t trial = 0; trial < cell.trials; ++trial) {
      const PasskeyText text = passkey_text(
          tokenizer, filler,
          {cell.length, cell.depth, trial, one.plan.config.evaluate.passkey.documents});
      lines += write_json({{"length", cell.length},
                           {"depth", cell.depth},
                           {"key", text.key},
                           {"text", tokenizer.decode(text.ids)}},
                          kLogLine) +
               "\n";
    }
  }
  return lines;
}

}  // namespace

void evaluate_passkeys(const std::vector<EvaluationCase>& cases, const PasskeyRequest& request,
                       World& world, const CommandLine& command_line) {
  PasskeySet set;
  set.program_version = kVersion;
  set.command_line = command_line.text();
  set.created = utc_timestamp();
  set.documents = cases.front().plan.config.evaluate.passkey.documents;
  set.protocol = cases.front().protocol;
  const SampleRule rule = shared_rule(cases);
  std::string texts;
  for (const EvaluationCase& one : cases) {
    EvaluationText filler;
    LoadedModel loaded = load_for_evaluation(one, world, request.text, rule, &filler);
    if (set.results.empty()) set.text = describe_text(filler, loaded.tokenizer);
    set.results.push_back(measure(loaded, one, filler.sample, world));
    if (texts.empty())
      texts = shown_texts(set.results.back(), one, loaded.tokenizer, filler.sample);
  }
  if (!world.is_first()) return;
  std::fputs(passkey_table(set).c_str(), stdout);
  if (request.output.empty()) return;
  const std::filesystem::path folder = request.output;
  make_folders(folder);
  write_file_atomic(folder / "passkey.json", passkey_json(set));
  write_file_atomic(folder / "passkey.csv", passkey_csv(set));
  write_file_atomic(folder / "passkey.jsonl", texts);
  write_file_atomic(folder / "index.html", passkey_page(set, request.title));
  std::printf("\nwritten: %s\n", (folder / "index.html").c_str());
}

}  // namespace alibi
