// The whole road through the real program: prepare, train, stop, resume, evaluate, generate,
// inspect.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "base/strings.h"
#include "commands/cli_fixture.h"
#include "support/error_text.h"
#include "support/log_lines.h"

namespace alibi {
namespace {

namespace fs = std::filesystem;

std::string last_checkpoint(const CliFixture& place, const std::string& run) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(place.path("runs/" + run + "/checkpoints")))
    names.push_back(entry.path().filename().string());
  return "runs/" + run + "/checkpoints/" + *std::max_element(names.begin(), names.end());
}

void expect_same_run(const CliFixture& place, const std::string& a, const std::string& b) {
  const std::string x = last_checkpoint(place, a), y = last_checkpoint(place, b);
  EXPECT_EQ(fs::path(x).filename(), fs::path(y).filename());
  for (const char* file : {"/weights.safetensors", "/optimizer.safetensors"})
    EXPECT_TRUE(place.read(x + file) == place.read(y + file)) << file;
  EXPECT_EQ(place.json(x + "/progress.json"), place.json(y + "/progress.json"));
  EXPECT_EQ(log_lines(place.path("runs/" + a)), log_lines(place.path("runs/" + b)));
}

TEST(EndToEnd, TwoProcessesWriteWhatOneWrites) {
  const CliFixture place;
  for (const std::string precision : {"fp32", "bf16"}) {
    const auto train = [&](const std::string& run, const std::string& processes) {
      return place.run({"train", "tiny.json", "--processes", processes, "--set", "batch.lanes=2",
                        "--set", "runtime.threads=1", "--set", "runtime.precision=" + precision,
                        "--set", "run.name=" + run + precision});
    };
    EXPECT_EQ(train("one", "1").code, 0);
    EXPECT_EQ(train("two", "2").code, 0);
    expect_same_run(place, "one" + precision, "two" + precision);
    EXPECT_EQ(train("three", "3").code, 2);
    EXPECT_FALSE(place.has("runs/three" + precision));
  }
}

// Seen failing with the estimate of a run alone shown for any number of ranks.
TEST(EndToEnd, TheMemoryEstimateIsThatOfARank) {
  const CliFixture place;
  const auto estimate = [&](const std::string& processes) {
    const std::string err = place
                                .works({"train", "tiny.json", "--processes", processes, "--set",
                                        "batch.lanes=2", "--set", "runtime.threads=1", "--set",
                                        "run.train_tokens=256", "--set", "model.width=256", "--set",
                                        "model.layers=4", "--set", "run.name=ranks-" + processes})
                                .err;
    const std::size_t at = err.find("memory");
    return err.substr(at, err.find('\n', at) - at);
  };
  const std::string one = estimate("1");
  EXPECT_NAMES(one, "estimated");
  EXPECT_NE(estimate("2"), one);
}

// What a shell does with `script`, in which $alibi is the program.
ProgramResult shell(const CliFixture& place, const std::string& script) {
  ProgramOptions options = place.options();
  options.program = "/bin/sh";
  return run_program({"-c", "alibi='" + tested_program() + "'; " + script}, options);
}

TEST(EndToEnd, TextFromAPipeIsPreparedAsFromAFile) {
  const CliFixture place;
  std::string lines;
  for (int i = 0; i < 300; ++i)
    lines += R"({"text": ")" + cat("document ", i, " of the pipe") + "\"}\n";
  place.put("lines.jsonl", lines);
  place.works({"prepare", "tiny.json", "--output", "made/file", "--set",
               "data.train=[\"lines.jsonl\"]", "--set", "data.valid=[]"});
  // Somebody's, beside what is made. Seen failing with names such as these for files of its own.
  const std::vector<std::string> others = {"made/pipe.tmp/kept", "made/pipe.lock",
                                           "made/pipe.input.jsonl"};
  fs::create_directories(place.path("made/pipe.tmp"));
  for (const std::string& other : others) place.put(other, "kept");
  const std::string prepare = "$alibi prepare tiny.json - --set data.valid=[] ";
  const ProgramResult piped = shell(place, "cat lines.jsonl | " + prepare + "--output made/pipe");
  EXPECT_EQ(piped.code, 0) << piped.err;
  const auto content = [&](const std::string& made) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(place.path("made/" + made)))
      files[entry.path().filename().string()] = read_file(entry.path());
    return files;
  };
  EXPECT_EQ(content("pipe"), content("file"));
  for (const std::string& other : others) EXPECT_EQ(place.read(other), "kept") << other;

  const ProgramResult broken =
      shell(place, "(cat lines.jsonl; echo '{\"txt\": 1}') | " + prepare + "--output other/broken");
  EXPECT_EQ(broken.code, 1);
  EXPECT_ERROR_AT(broken.err, "standard input:301", "text");
  const ProgramResult nameless = shell(place, "cat lines.jsonl | " + prepare);
  EXPECT_EQ(nameless.code, 2);
  EXPECT_ERROR_AT(nameless.err, "-", "--output");
  EXPECT_EQ(shell(place, "cat lines.jsonl | " + prepare + "--output made/file").code, 2);
  EXPECT_EQ(std::distance(fs::directory_iterator(place.path("made")), {}), 5)
      << "nothing else is left";
  EXPECT_FALSE(place.has("other"));
}

TEST(EndToEnd, ProgressIsAnObjectALineForProgramsThatWatch) {
  const CliFixture place;
  place.put("one.json", R"({"base": "tiny.json", "folder": "all", "seeds": [1],
    "config": {"run": {"train_tokens": 640}}, "variants": {"a": {}}})");
  const std::pair<std::string, std::vector<std::string>> commands[] = {
      {"training", {"train", "tiny.json"}},
      {"tokenising", {"prepare", "tiny.json", "--output", "made"}},
      {"tiny", {"evaluate", "runs/tiny"}},
      {"[1/1] a, seed 1: training", {"compare", "one.json"}}};
  for (const auto& [task, words] : commands) {
    std::vector<std::string> arguments = words;
    arguments.insert(arguments.end(), {"--progress", "json"});
    std::istringstream lines(place.works(arguments).err);
    bool told = false;
    for (std::string line; std::getline(lines, line);) {
      const auto object = nlohmann::json::parse(line, nullptr, false);
      ASSERT_TRUE(object.is_object()) << line;
      EXPECT_TRUE(object.contains("task") || object.contains("message")) << line;
      if (object.value("task", "") != task) continue;
      told = true;
      EXPECT_TRUE(object.contains("step") ? object["loss"].is_number() : object["done"].is_number())
          << line;
    }
    EXPECT_TRUE(told || words[0] == "compare") << task;  // which may be done before a line is due
  }
}

TEST(EndToEnd, AResumedRunKeepsItsNumberOfThreads) {
  const CliFixture place;
  place.works({"train", "tiny.json", "--set", "runtime.threads=2"});
  const ProgramResult kept = place.works({"train", "tiny.json", "--resume"});
  EXPECT_NAMES(kept.err, "device:", "2 threads");
  EXPECT_NAMES(kept.err, "note:", "2 threads", "runtime.threads=1");
  const ProgramResult changed =
      place.works({"train", "tiny.json", "--resume", "--set", "runtime.threads=1"});
  EXPECT_NAMES(changed.err, "warning:", "2 threads", 1);
}

// Seen failing without the comparison on resume.
TEST(EndToEnd, AnotherKernelIsReported) {
  const CliFixture place;
  const auto train = [&](const std::string& tokens, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"train", "tiny.json",
                                      "--set", "schedule.kind=constant",
                                      "--set", "run.train_tokens=" + tokens};
    words.insert(words.end(), more.begin(), more.end());
    return place.works(words).err;
  };
  train("5120", {});
  EXPECT_EQ(train("6400", {"--resume"}).find("attention reference"), std::string::npos);
  const std::string other =
      train("7680", {"--resume", "--set", "runtime.attention.kernel=reference"});
  EXPECT_NAMES(other, "note:", "step 26", "cpu", "attention reference");
}

// With no standard descriptors the files of the run take their numbers, unless /dev/null does: what
// is printed would go into the log and the checkpoints. Seen failing without.
TEST(EndToEnd, ClosedStandardDescriptorsHarmNothing) {
  const CliFixture place;
  ProgramOptions options = place.options();
  options.program = "/bin/sh";
  for (const char* closed : {"<&- >&- 2>&-", ">&- 2>&-", "2>&-"}) {
    const ProgramResult result = run_program(
        {"-c", cat(ALIBI_BINARY, " train tiny.json --set run.save_every_tokens=256 ", closed)},
        options);
    EXPECT_EQ(result.code, 0) << closed;
    EXPECT_EQ(place.read("runs/tiny/log.jsonl").find("{\"format_version\""), 0U) << closed;
    EXPECT_GT(log_lines(place.path("runs/tiny")).size(), 5U);
    const ProgramResult resumed = place.works({"train", "tiny.json", "--resume"});
    EXPECT_EQ(resumed.err.find("warning"), std::string::npos) << resumed.err;
    fs::remove_all(place.path("runs"));
  }
}

TEST(EndToEnd, ADamagedConfigOfTheRunFolderIsWrittenAgain) {
  const CliFixture place;
  place.works({"train", "tiny.json", "--set", "runtime.precision=auto"});
  const std::string config = place.read("runs/tiny/config.json");
  place.put("runs/tiny/config.json", config.substr(0, config.size() / 2));
  const ProgramResult again =
      place.works({"train", "tiny.json", "--resume", "--set", "runtime.precision=auto"});
  EXPECT_NAMES(again.err, "warning:", "runs/tiny/config.json:");
  EXPECT_EQ(place.read("runs/tiny/config.json"), config);
  // What auto meant is the checkpoints' to say: this run is of the other precision.
  place.works({"train", "tiny.json", "--set", "run.name=fp32"});
  place.put("runs/fp32/config.json", "{");
  place.works({"train", "tiny.json", "--resume", "--set", "run.name=fp32", "--set",
               "runtime.precision=auto"});
}

// Seen failing with either warning left out, and with log_every_tokens not asked.
TEST(EndToEnd, ALostOrDamagedLogIsReported) {
  const CliFixture place;
  place.works({"train", "tiny.json"});
  const std::string log = place.read("runs/tiny/log.jsonl");
  const auto printed = [&](const std::string& text) {
    place.put("runs/tiny/log.jsonl", text);
    return place.works({"train", "tiny.json", "--resume"}).err;
  };
  EXPECT_EQ(printed(log).find("log.jsonl:"), std::string::npos);
  EXPECT_NAMES(printed(""), "warning:", "log.jsonl:", "step 0", "step 20");
  const std::size_t half = log.find("{\"step\":9");
  EXPECT_NAMES(printed(log.substr(0, half)), "warning:", "log.jsonl:", "step 8", "step 20");
  std::string broken = log;
  broken.replace(half, 9, std::string(9, '\0'));
  EXPECT_NAMES(printed(broken), "warning:", "log.jsonl:", 1, "damaged");
  const std::vector<std::string> seldom = {
      "train", "tiny.json", "--set", "run.name=seldom", "--set", "run.log_every_tokens=1536"};
  place.works(seldom);
  fs::remove_all(place.path("runs/seldom/checkpoints/step-00000020"));
  auto resumed = seldom;
  resumed.push_back("--resume");
  const std::string err = place.works(resumed).err;
  EXPECT_EQ(err.find("log.jsonl:"), std::string::npos) << err;
}

// Seen failing without the note, and with a note for a text of exactly one window.
TEST(EndToEnd, HeldOutTextTooShortForTheLongestLengthIsNotedAtTheStart) {
  const CliFixture place;
  const auto printed = [&](const std::string& name, const std::string& longest) {
    return place
        .works({"train", "tiny.json", "--set", "run.name=" + name, "--set",
                R"(evaluate.lengths=["1x", ")" + longest + "\"]"})
        .err;
  };
  const std::string note = printed("short", "4002");
  EXPECT_NAMES(note, "note:", "4,001", "evaluate.lengths", "4,002");
  EXPECT_LT(note.find("4,002"), note.find("step 10"));
  const ProgramResult evaluated = place.run({"evaluate", "runs/short"});
  EXPECT_NE(evaluated.code, 0);
  EXPECT_NAMES(evaluated.err, "4001", "4002");
  EXPECT_EQ(printed("enough", "4001").find("evaluate.lengths"), std::string::npos);
}

// Seen failing with a note that spoke of validation losses, and patience that waited for them.
TEST(EndToEnd, HeldOutTextTooShortForOneWindowIsNotValidated) {
  const CliFixture place;
  place.put("held.txt", "too short");
  const auto train = [&](const std::string& patience) {
    return place.run({"train", "tiny.json", "--set", "run.patience=" + patience});
  };
  const ProgramResult refused = train("3");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NAMES(refused.err, "/run/patience", 3, 10, 16, "run.patience=0");
  EXPECT_FALSE(place.has("runs/tiny"));
  const ProgramResult trained = train("0");
  EXPECT_EQ(trained.code, 0);
  EXPECT_NAMES(trained.err, "note:", 10, 16, "too short for one window", "not validated");
  EXPECT_EQ(trained.err.find("validation losses"), std::string::npos) << trained.err;
}

// Seen failing with patience's end laid on the budget.
TEST(EndToEnd, WhatEndedARunEarlyIsNamed) {
  const CliFixture place;
  const std::string err =
      place
          .works({"train", "tiny.json", "--set", "run.patience=1", "--set", "run.train_seconds=600",
                  "--set", "run.evaluate_every_tokens=256", "--set", "optimizer.learning_rate=10",
                  "--set", "optimizer.clip_norm=0"})
          .err;
  EXPECT_NAMES(err, "finished:", "run.patience", 1);
  const std::string ending = err.substr(err.find("finished:"));  // the start names the deadline too
  EXPECT_EQ(ending.find("run.train_seconds"), std::string::npos) << err;
}

TEST(EndToEnd, TrainEvaluateGenerateInspect) {
  const CliFixture place;
  const ProgramResult train = place.works({"train", "tiny.json"});
  EXPECT_EQ(train.out, "");
  EXPECT_NAMES(train.err, "note:", 16);
  EXPECT_NAMES(train.err, "text:", "40,001", "4,001");
  EXPECT_NAMES(train.err, "step:", 16, 256);
  EXPECT_NAMES(train.err, "step 20", "GFLOP/s");
  EXPECT_NAMES(train.err, "written:", "runs/tiny");
  EXPECT_EQ(train.err.find("\n\n"), std::string::npos) << "an empty line: " << train.err;
  EXPECT_TRUE(place.has("runs/tiny/config.json"));
  EXPECT_TRUE(place.has("runs/tiny/checkpoints/step-00000020/manifest.json"));
  place.works({"train", "runs/tiny/config.json", "--set", "run.folder=runs/again"});
  const ProgramResult again = place.works({"train", "tiny.json", "--resume"});
  EXPECT_NAMES(again.err, "resuming", "step 20");
  expect_same_run(place, "tiny", "again");

  const ProgramResult curve =
      place.works({"evaluate", "runs/tiny", "runs/again", "--name", "first", "--name", "second",
                   "--output", "curves", "--lengths", "1x,2x,40"});
  for (const char* words : {"first", "second", "1x", "2x", "2.5x", "non_overlapping"})
    EXPECT_NE(curve.out.find(words), std::string::npos) << words << "\n" << curve.out;
  EXPECT_NAMES(curve.err, "second", "100 %");
  for (const char* file : {"curve.json", "curve.csv", "curve.svg", "index.html"})
    EXPECT_TRUE(place.has(std::string("curves/") + file)) << file;
  const nlohmann::json set = place.json("curves/curve.json");
  ASSERT_EQ(set["curves"].size(), 2U);
  ASSERT_EQ(set["curves"][0]["points"].size(), 3U);
  EXPECT_EQ(set["curves"][0]["points"][0]["loss"], set["curves"][1]["points"][0]["loss"]);
  EXPECT_EQ(set["curves"][0]["trained_length"], 16);
  EXPECT_EQ(set["text"]["tokens_scored"].get<int>() % 40, 0);

  const auto generate = [&](const char* seed, const char* tokens) {
    return place
        .works({"generate", "runs/tiny", "--prompt", "ka", "--tokens", tokens, "--seed", seed,
                "--ignore-end"})
        .out;
  };
  const std::string text = generate("1", "100");  // trained at 16, configured at 64
  EXPECT_EQ(text.substr(0, 2), "ka");
  EXPECT_EQ(text.size(), 2U + 100U + 1U);
  EXPECT_EQ(text, generate("1", "100"));
  EXPECT_EQ(text.substr(0, 42), generate("1", "40").substr(0, 42));
  EXPECT_NE(text, generate("2", "100"));

  const std::string checkpoint = place.works({"inspect", "checkpoint", "runs/tiny"}).out;
  EXPECT_NAMES(checkpoint, "folder:", "step-00000020");
  EXPECT_NAMES(checkpoint, "finished:", "yes");
  EXPECT_NAMES(checkpoint, "checksums:", "match");
}

// Runs of different trained lengths are scored on the same targets, spread over the whole text.
TEST(EndToEnd, ModelsOfAllLengthsScoreTheSameTargets) {
  const CliFixture place;
  place.works({"train", "tiny.json"});
  place.works({"train", "tiny.json", "--set", "run.name=longer", "--set",
               "batch.train_sequence_length_scaling=0.5"});
  const ProgramResult result =
      place.works({"evaluate", "runs/tiny", "runs/longer", "--output", "curves"});
  const nlohmann::json set = place.json("curves/curve.json");
  for (const auto& curve : set["curves"]) {
    for (const auto& point : curve["points"]) EXPECT_EQ(point["targets"], 1920) << point;
  }
  // held.txt has 4,000 bytes and an end token: 31 windows of 128, of which 2,000 tokens allow 15.
  EXPECT_NAMES(set["text"]["selection"].get<std::string>(), 15, 31, 128);
  EXPECT_EQ(set["text"]["tokens_cut_off"], 4001 - 1920);
  EXPECT_NAMES(result.out, "1,920", "4,001");
}

TEST(EndToEnd, PreparedFolderGivesTheSameRun) {
  const CliFixture place;
  const ProgramResult prepare = place.works({"prepare", "tiny.json", "--output", "prepared"});
  EXPECT_NE(prepare.out.find("prepared"), std::string::npos);
  const CliFixture& p = place;
  p.works({"train", "tiny.json", "--set", "run.name=a"});
  p.works({"train", "tiny.json", "--set", "run.name=b", "--set", "data.train=[\"prepared\"]",
           "--set", "data.valid=[]"});
  EXPECT_TRUE(p.read(last_checkpoint(p, "a") + "/weights.safetensors") ==
              p.read(last_checkpoint(p, "b") + "/weights.safetensors"));
  const ProgramResult twice = place.run({"prepare", "tiny.json", "--output", "prepared"});
  EXPECT_EQ(twice.code, 2);
  EXPECT_ERROR_AT(twice.err, "prepared");
}

// Of prompts and completions the loss is of the latter alone, which the bytes of all are not of.
// Seen failing with what `alibi evaluate` calls 8.6 bits per byte given as 6.2.
TEST(EndToEnd, BitsPerByteAreOfTargetsAlone) {
  const CliFixture place;
  const auto best_bits = [&](const char* name, const std::string& text) {
    place.put(name, text);
    const std::string out =
        place
            .works({"train", "tiny.json", "--json", "--set", cat("data.valid=[\"", name, "\"]"),
                    "--set", cat("run.name=", name), "--set", "run.train_tokens=640"})
            .out;
    return nlohmann::json::parse(out)["best_bits_per_byte"];
  };
  std::string pairs;
  for (int i = 0; i < 200; ++i)
    pairs += R"({"prompt": "what is asked", "completion": " an answer"})"
             "\n";
  EXPECT_TRUE(best_bits("pairs.jsonl", pairs).is_null());
  EXPECT_TRUE(best_bits("plain.txt", small_text(5'000)).is_number());
}

TEST(EndToEnd, InspectNeedsNoRun) {
  const CliFixture place;
  const std::string model = place.works({"inspect", "model", "tiny.json"}).out;
  EXPECT_NAMES(model, "cache per token:", "64 B", "128 B");
  EXPECT_NAMES(model, "length limit:", "none");
  EXPECT_NAMES(model, "positions:", "alibi");
  const auto state = [&](const char* kind) {
    const std::string out = place
                                .works({"inspect", "model", "tiny.json", "--json", "--set",
                                        cat("optimizer.kind=", kind)})
                                .out;
    return nlohmann::json::parse(out)["training_state_bytes"].get<std::int64_t>();
  };
  EXPECT_LT(state("muon"), state("adamw")) << "one moment of the blocks' matrices, not two";
  const std::string bias = place
                               .works({"inspect", "bias", "--set", "model.heads=8", "--length",
                                       "64", "--out", "bias.svg"})
                               .out;
  EXPECT_NAMES(bias, "head 8", "0.00390625");
  EXPECT_EQ(place.read("bias.svg").find("<svg"), 0U);
  const std::string data = place.works({"inspect", "data", "tiny.json", "--tokens", "5"}).out;
  EXPECT_NAMES(data, "5 tokens");
  // Seen failing with the bytes of a cut character printed as they are.
  place.put("accents.txt", "\u00e9" + small_text(4'000));
  EXPECT_NAMES(place
                   .works({"inspect", "data", "tiny.json", "--tokens", "5", "--set",
                           "data.train=[\"accents.txt\"]"})
                   .out,
               "<0xC3>|<0xA9>|");
  EXPECT_TRUE(nlohmann::json::accept(place.works({"inspect", "schema"}).out));
  EXPECT_EQ(place.works({"inspect", "schema", "--markdown"}).out,
            read_file(fs::path(ALIBI_SOURCE_DIR) / "configs/README.md"));
  EXPECT_EQ(place.works({"train", "tiny.json", "--print-config"}).out.find("{\n"), 0U);
  EXPECT_FALSE(place.has("runs"));
}

// INT, TERM, HUP, USR1: the step is finished and saved, the exit code says which signal, and the
// resumed run is the uninterrupted one, bit for bit.
// nohup, and a script's command in the background: what was ignored on entry stays ignored. Seen
// failing (129) with handlers installed over it.
TEST(EndToEnd, SignalsIgnoredOnEntryStaySo) {
  const CliFixture place;
  ProgramOptions options = place.options();
  options.program = "/bin/bash";
  RunningProgram running({"-c", std::string("trap '' HUP INT; exec ") + ALIBI_BINARY +
                                    " train tiny.json --set run.train_tokens=25600"},
                         options);
  ASSERT_TRUE(running.wait_for_output("  validation loss "));
  running.signal(SIGHUP);
  running.signal(SIGINT);
  const ProgramResult done = running.wait();
  EXPECT_EQ(done.code, 0) << done.err;
}

// A library's loop is not waited for, and nothing is left behind it: no lock, no half of a folder,
// no copy of the pipe. Seen failing (over a minute) with the loop on the caller's thread, and (all
// three left) with the process ended at once.
TEST(EndToEnd, ASignalEndsTheTrainingOfATokenizer) {
  const CliFixture place;
  std::string letters;
  std::uint64_t state = 1;
  for (int i = 0; i < 8'000'000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    letters += i % 9 == 8 ? ' ' : static_cast<char>('a' + (state >> 33) % 26);
  }
  place.put("letters.jsonl", "{\"text\": \"" + letters + "\"}\n");
  auto options = place.options();
  options.program = "/bin/sh";
  RunningProgram running(
      {"-c", std::string("exec ") + ALIBI_BINARY +
                 " prepare - tiny.json --set data.train=[] --set tokenizer.kind=bpe"
                 " --set tokenizer.vocabulary=8000 --output in/made"
                 " < letters.jsonl"},
      options);
  ASSERT_TRUE(running.wait_for_output("tokenizer"));
  const double asked = seconds_now();
  running.signal(SIGTERM);
  const ProgramResult done = running.wait();
  EXPECT_EQ(done.code, 128 + SIGTERM) << done.err;
  EXPECT_LT(seconds_now() - asked, 2);
  EXPECT_ERROR_AT(done.err, "prepare", SIGTERM);
  EXPECT_FALSE(place.has("in"));
}

TEST(EndToEndSlow, AnySignalSavesAndResumes) {
  const CliFixture place;
  const std::vector<std::string> longer = {"--set", "run.train_tokens=256000",
                                           "--set", "run.save_every_tokens=256000",
                                           "--set", "model.residual_dropout=0.1"};
  const auto command = [&](const std::string& name, bool resume) {
    std::vector<std::string> words = {"train", "tiny.json", "--set", "run.name=" + name};
    words.insert(words.end(), longer.begin(), longer.end());
    if (resume) words.push_back("--resume");
    return words;
  };
  place.works(command("whole", false));
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    const std::string name = "stopped-" + std::to_string(number);
    RunningProgram running(command(name, false), place.options());
    ASSERT_TRUE(running.wait_for_output("  validation loss "));
    running.signal(number);
    if (number == SIGHUP) {  // a terminal that closes: by its shell, then by the kernel
      ::usleep(1'000);
      running.signal(number);
    }
    const ProgramResult stopped = running.wait();
    EXPECT_EQ(stopped.code, 128 + number) << stopped.err;
    EXPECT_NAMES(stopped.err, "--resume");
    EXPECT_FALSE(place.json(last_checkpoint(place, name) + "/progress.json")["finished"]);
    place.works(command(name, true));
    expect_same_run(place, "whole", name);
  }
}

TEST(EndToEndSlow, ASignalWhileTextIsPreparedLeavesNothing) {
  const CliFixture place;
  place.put("text.txt", small_text(30'000'000));
  const auto before = everything_in(place.path());
  for (const std::string command : {"train", "prepare"}) {
    RunningProgram running({command, "tiny.json"}, place.options());
    ASSERT_TRUE(running.wait_for_output("reading"));
    running.signal(SIGINT);
    const ProgramResult stopped = running.wait();
    EXPECT_EQ(stopped.code, 130) << stopped.err;
    EXPECT_ERROR_AT(stopped.err, "prepare", SIGINT);
    EXPECT_EQ(everything_in(place.path()), before);
  }
}

TEST(EndToEndSlow, ASignalEndsAnEvaluation) {
  const CliFixture place;
  place.works({"train", "tiny.json"});
  place.put("long.txt", small_text(2'000'000));
  RunningProgram running({"evaluate", "runs/tiny", "--text", "long.txt", "--output", "curves",
                          "--set", "evaluate.max_tokens=2000000", "--set",
                          "evaluate.protocol=sliding", "--set", "evaluate.stride=1"},
                         place.options());
  usleep(1'500'000);
  running.signal(SIGTERM);
  const ProgramResult stopped = running.wait();
  EXPECT_EQ(stopped.code, 143) << stopped.err;
  EXPECT_FALSE(place.has("curves"));
}

// The share of blocks a table's cell says, last on the line of a head.
double last_share(const std::string& table, const std::string& line_start) {
  const std::size_t line = table.find(line_start);
  EXPECT_NE(line, std::string::npos) << table;
  const std::size_t end = table.find(" %\n", line);
  return std::stod(table.substr(table.rfind(' ', end - 1) + 1));
}

TEST(EndToEnd, InspectAttentionCountsTheBlocksOfATrainedModel) {
  const CliFixture place;
  place.works(
      {"train", "tiny.json", "--set", "run.train_tokens=1280", "--set", "model.slopes=[1, 0.001]"});
  const std::vector<std::string> command{"inspect", "attention", "runs/tiny", "--lengths",
                                         "64,2048", "--text",    "text.txt"};
  const std::string table = place.works(command).out;
  EXPECT_LT(last_share(table, "    1     1"), 25) << table;
  EXPECT_EQ(last_share(table, "    1     2"), 100) << table;
  std::vector<std::string> off = command;
  off.insert(off.end(), {"--set", "runtime.attention.skip=off"});
  EXPECT_EQ(last_share(place.works(off).out, "    1     1"), 100);
}

// A pattern goes all the way: training, a stop in the middle, measuring, generation, the share of
// blocks; no export takes it.
TEST(EndToEnd, APatternOfKeysIsTrainedMeasuredAndKept) {
  const CliFixture place;
  const auto train = [&](const std::string& name, const std::string& tokens) {
    return place.run({"train", "tiny.json", "--resume", "--set", "run.name=" + name, "--set",
                      "model.layers=2", "--set", "run.train_tokens=5120", "--set",
                      "model.attention_pattern=[\"layers 0: window(8)\", \"layers 1 heads 1: "
                      "random(1) + window(8)\"]",
                      "--set", tokens});
  };
  EXPECT_EQ(train("sparse", "run.log_every_tokens=256").code, 0);
  EXPECT_EQ(train("all", "model.attention_pattern=[]").code, 0);
  EXPECT_NE(place.read(last_checkpoint(place, "sparse") + "/weights.safetensors"),
            place.read(last_checkpoint(place, "all") + "/weights.safetensors"));
  place.works({"evaluate", "runs/sparse", "runs/all", "--output", "curves", "--lengths", "1x,8x"});
  const auto curves = place.json("curves/curve.json")["curves"];
  EXPECT_NE(curves[0]["points"][1]["loss"], curves[1]["points"][1]["loss"]);
  EXPECT_EQ(place.works({"generate", "runs/sparse", "--prompt", "ka", "--tokens", "80"}).code, 0);
  const std::string shares =
      place
          .works({"inspect", "attention", "runs/sparse", "--lengths", "2048", "--text", "text.txt"})
          .out;
  EXPECT_LT(last_share(shares, "    1     1"), 15) << shares;
  EXPECT_LT(last_share(shares, "    2     2"), 25) << shares;
  EXPECT_GT(last_share(shares, "    2     1"), 40) << shares;
  const ProgramResult refused =
      place.run({"export", "runs/sparse", "--to", "hf", "--output", "out"});
  EXPECT_NE(refused.code, 0);
  EXPECT_NAMES(refused.err, "attention_pattern");
  EXPECT_FALSE(place.has("out"));
}

}  // namespace
}  // namespace alibi
