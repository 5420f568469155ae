// alibi compare through the real program: what it trains, keeps, refuses and says.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <set>
#include <sstream>
#include <thread>

#include "base/strings.h"
#include "commands/cli_fixture.h"
#include "support/error_text.h"

namespace alibi {
namespace {

constexpr const char* kTwo = R"({
  "base": "tiny.json", "folder": "all", "seeds": [1, 2],
  "config": {"run": {"train_tokens": 2560}},
  "variants": {"alibi": {}, "learned": {"model": {"position": "learned"}}}
})";

int count_of(const std::string& text, const std::string& words) {
  int count = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1))
    ++count;
  return count;
}

// How many runs the program says it trained.
int trained_runs(const ProgramResult& result) { return count_of(result.err, ": trained "); }

// As if a run's kept figures were of that device.
void name_device(const std::filesystem::path& kept, const std::string& device) {
  nlohmann::json curve = nlohmann::json::parse(read_file(kept / "curve.json"));
  curve["protocol"]["device"] = device;
  write_file_atomic(kept / "curve.json", curve.dump(1));
}

TEST(Compare, TrainsWhatIsMissingAndComparesItPaired) {
  const CliFixture place;
  place.put("two.json", kTwo);
  const ProgramResult first = place.works({"compare", "two.json", "--output", "page"});
  EXPECT_EQ(trained_runs(first), 4) << first.err;
  for (const char* file :
       {"comparison.json", "comparison.csv", "perplexity.svg", "loss.svg", "index.html"})
    EXPECT_TRUE(place.has(std::string("page/") + file)) << file;
  const nlohmann::json json = place.json("page/comparison.json");
  EXPECT_EQ(json["kind"], "comparison");
  EXPECT_EQ(json["runs"].size(), 4U);
  EXPECT_EQ(json["reference"], "alibi");
  const nlohmann::json& points = json["variants"][1]["points"];
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0]["verdict"].get<std::string>().empty(), false);
  EXPECT_EQ(points[0]["visited_share"], 1) << "a window of 16 is one block";
  EXPECT_FALSE(points[1]["applicable"]) << "learned positions end at the trained length";
  double difference = 0;
  for (const int seed : {0, 1}) {
    const auto loss = [&](int run) { return json["runs"][run]["losses"][0]["loss"].get<double>(); };
    difference += (loss(2 * seed + 1) - loss(2 * seed)) / 2;
  }
  EXPECT_NEAR(points[0]["difference"].get<double>(), difference, 1e-9);
  EXPECT_NAMES(first.out, "learned", points[0]["verdict"].get<std::string>());
  EXPECT_EQ(place.read("page/index.html").find("<script"), std::string::npos);

  // Seen failing: a report that said nothing new had another time.
  std::string dated = place.read("page/comparison.json");
  const std::string time = json["created"].get<std::string>();
  dated.replace(dated.find(time), time.size(), "2020-02-02T02:02:02Z");
  place.put("page/comparison.json", dated);
  const ProgramResult again = place.works({"compare", "two.json", "--output", "page"});
  EXPECT_EQ(trained_runs(again), 0) << again.err;
  EXPECT_EQ(place.read("page/comparison.json"), dated);
  // A run whose checkpoints are gone, and whose figures were not kept, is said to be so, and the
  // others are still compared.
  std::filesystem::remove_all(
      place.path(json["runs"][1]["folder"].get<std::string>() + "/checkpoints"));
  std::filesystem::remove_all(place.path("all/measured"));
  const ProgramResult lost = place.run({"compare", "two.json"});
  EXPECT_EQ(lost.code, 1);
  EXPECT_NAMES(lost.out, "learned", "seed 1", json["runs"][1]["folder"].get<std::string>());
  std::filesystem::remove_all(place.path(json["runs"][1]["folder"].get<std::string>()));
  EXPECT_EQ(trained_runs(place.works({"compare", "two.json"})), 1);
  // Another seed is one more run of each; what was there stays.
  std::string three = kTwo;
  three.replace(three.find("[1, 2]"), 6, "[1, 2, 3]");
  place.put("two.json", three);
  const auto missing = [&] {
    const std::string plan = place.works({"compare", "two.json", "--plan", "--json"}).out;
    return nlohmann::json::parse(plan)["missing"].size();
  };
  EXPECT_EQ(missing(), 2U);
  EXPECT_EQ(trained_runs(place.works({"compare", "two.json"})), 2);
  EXPECT_EQ(missing(), 0U);
}

// Figures under the names of runs on a device stand for such runs.
TEST(Compare, ShowsWhatADeviceMeasuredWithoutOne) {
  const CliFixture place;
  place.put("one.json", R"({"base": "tiny.json", "folder": "all", "measured": "kept", "seeds": [1],
    "config": {"run": {"train_tokens": 1280}}, "variants": {"alibi": {}}})");
  const std::vector<std::string> on_device = {"compare", "one.json", "--set",
                                              "runtime.device=cuda"};
  const auto name = [&](std::vector<std::string> command, std::size_t run = 1) {
    command.emplace_back("--plan");
    return split(place.works(command).out, '\n').at(run);
  };
  const std::string ours = name({"compare", "one.json"}), theirs = name(on_device);
  const ProgramResult missing = place.run(on_device);
  if (missing.code == 0) GTEST_SKIP() << "there is a device";
  EXPECT_EQ(missing.code, 2);
  EXPECT_ERROR_AT(missing.err, "/runtime/device", "cuda", "auto");
  place.works({"compare", "one.json"});
  const auto kept = std::filesystem::directory_iterator(place.path("kept"))->path();
  name_device(kept, "cuda:0, a card");
  const std::string protocol = kept.filename().string().substr(ours.size());
  std::filesystem::rename(kept, kept.parent_path() / (theirs + protocol));
  std::filesystem::remove_all(place.path("all"));
  EXPECT_EQ(trained_runs(place.works(on_device)), 0);
  // Of a run that is missing there the page says so.
  std::vector<std::string> more = on_device;
  more[1] = "two.json";
  std::string two = place.read("one.json");
  place.put("two.json", two.replace(two.find("[1]"), 3, "[1, 2]"));
  const ProgramResult partly = place.run(more);
  EXPECT_EQ(partly.code, 1);
  EXPECT_NAMES(partly.out, "seed 2");
  EXPECT_EQ(place.json("all/comparison.json")["runs"][0]["failure"], "");
  std::vector<std::string> alone = more;
  alone.insert(alone.end(), {"--run", name(more, 2)});
  EXPECT_EQ(place.run(alone).code, 2);
}

TEST(Compare, TakesWhatAnyDeviceMeasuredWhereTheFileAllowsIt) {
  const CliFixture place;
  const auto file = [](const char* more) {
    return cat(R"({"base": "tiny.json", "folder": "all", "measured": "kept", "seeds": [1],)", more,
               R"("config": {"run": {"train_tokens": 1280}}, "variants": {"alibi": {}}})");
  };
  const std::vector<std::string> on_device = {"--set", "runtime.device=cuda"};
  const auto plan = [&](const std::string& name, std::vector<std::string> options) {
    options.insert(options.begin(), {"compare", name, "--plan"});
    return place.works(options).out;
  };
  place.put("any.json", file(R"("any_device": true, )"));
  place.put("own.json", file(""));
  EXPECT_EQ(plan("any.json", on_device), plan("any.json", {}));
  EXPECT_EQ(plan("any.json", {}), plan("own.json", {})) << "figures of before stay";
  EXPECT_NE(plan("own.json", on_device), plan("own.json", {}));
  place.works({"compare", "own.json"});
  EXPECT_EQ(trained_runs(place.works({"compare", "any.json", "--set", "runtime.device=cuda"})), 0);
  // Without it figures of another kind of device are no figures of this one.
  name_device(std::filesystem::directory_iterator(place.path("kept"))->path(), "cuda:0, a card");
  place.works({"compare", "any.json"});
  const ProgramResult other = place.run({"compare", "own.json"});
  EXPECT_EQ(other.code, 1);
  EXPECT_NAMES(other.out + other.err, "cuda:0, a card", "any_device");
  place.put("any.json", file(R"("any_device": 1, )"));
  const ProgramResult wrong = place.run({"compare", "any.json"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_ERROR_AT(wrong.err, "/any_device", "1", "true or false");
}

// A name stands for a text, weights to start from and an end of training: others must not be kept
// under it.
TEST(Compare, RefusesWhatWasNotPlanned) {
  const CliFixture place;
  place.put("one.json", R"({"base": "tiny.json", "folder": "all", "seeds": [1],
    "config": {"run": {"train_tokens": 1280, "save_every_tokens": 512}}, "variants": {"a": {}}})");
  const std::string name = split(place.works({"compare", "one.json", "--plan"}).out, '\n').at(1);
  place.works({"compare", "one.json"});
  const auto checkpoints = place.path("all/runs/" + name + "/checkpoints");
  std::filesystem::remove_all(place.path("all/measured"));
  // The end of training is lost.
  std::filesystem::path last;
  for (const auto& one : std::filesystem::directory_iterator(checkpoints))
    last = std::max(last, one.path());
  std::filesystem::resize_file(last / "config.json", 10);
  const ProgramResult early = place.run({"compare", "one.json"});
  EXPECT_EQ(early.code, 1);
  EXPECT_NAMES(early.out + early.err, "all/runs/" + name, "before the end");
  EXPECT_FALSE(place.has("all/measured"));
  // A run on another text lies where this one's belongs.
  std::filesystem::remove_all(place.path("all"));
  const auto other = [&](const char* training_text) {
    return std::vector<std::string>{"compare", "one.json", "--set",
                                    cat("data.train=[\"", training_text, "\"]")};
  };
  place.put("other.txt", place.read("text.txt").substr(100));
  place.works(other("other.txt"));
  std::vector<std::string> plan = other("other.txt");
  plan.emplace_back("--plan");
  const std::string theirs = split(place.works(plan).out, '\n').at(1);
  ASSERT_NE(theirs, name);
  std::filesystem::rename(place.path("all/runs/" + theirs), place.path("all/runs/" + name));
  const ProgramResult mixed = place.run({"compare", "one.json"});
  EXPECT_EQ(mixed.code, 1);
  EXPECT_NAMES(mixed.out + mixed.err, "text changed", "all/runs/" + name);
}

TEST(Compare, KnowsTheWeightsThatTrainingStartsFrom) {
  const CliFixture place;
  place.put("from.json", R"({"base": "tiny.json", "folder": "all", "seeds": [1],
    "config": {"run": {"train_tokens": 1280}, "initialize": {"from": "source"}}, "variants": {"a": {}}})");
  const auto name = [&](const char* seed) {
    std::filesystem::remove_all(place.path("source"));
    place.works({"train", "tiny.json", "--set", "run.folder=source", "--set",
                 "run.train_tokens=1280", "--set", cat("run.seed=", seed)});
    return place.works({"compare", "from.json", "--plan"}).out;
  };
  const std::string first = name("1");
  EXPECT_NE(name("2"), first);
  EXPECT_EQ(name("1"), first);
}

// Seen failing with the first seed's run as the source of every seed.
TEST(Compare, AVariantGoesOnFromAnotherOnesRunOfTheSameSeed) {
  const CliFixture place;
  const auto file = [](const char* of_rotary) {
    return cat(R"({"base": "tiny.json", "folder": "all", "seeds": [1, 2],
      "config": {"model": {"position": "rotary"}, "run": {"train_tokens": 10240},
        "optimizer": {"learning_rate": 0.01}},
      "variants": {"more": {"initialize": {"from": "variants/rotary"}, "run": {"train_tokens": 256},
        "model": {"rotary_scaling": "yarn", "rotary_original_length": 16, "rotary_scaling_factor": 2}},
        "rotary": {)",
               of_rotary, "}}}");
  };
  place.put("on.json", file(""));
  const std::vector<std::string> jobs =
      split(place.works({"compare", "on.json", "--plan"}).out, '\n');
  // Alone it trains what it starts from.
  EXPECT_EQ(trained_runs(place.works({"compare", "on.json", "--run", jobs.at(1)})), 2);
  EXPECT_EQ(trained_runs(place.works({"compare", "on.json"})), 2);
  const nlohmann::json runs = place.json("all/comparison.json")["runs"];
  ASSERT_EQ(runs.size(), 4U);
  for (const int seed : {0, 1}) {
    const std::string folder = runs[2 * seed]["folder"], source = runs[2 * seed + 1]["folder"];
    const nlohmann::json config = place.json(folder + "/config.json");
    EXPECT_EQ(config["initialize"]["from"], source);
    EXPECT_EQ(config["run"]["seed"], runs[2 * seed + 1]["seed"]);
    const double before = runs[2 * seed + 1]["losses"][0]["loss"],
                 after = runs[2 * seed]["losses"][0]["loss"];
    ASSERT_LT(before, 4.5) << "which 256 tokens do not reach from nothing";
    EXPECT_LT(after, before + 0.2);
  }
  // Another source is another run; figures that are kept need none.
  std::filesystem::remove_all(place.path("all/runs"));
  EXPECT_EQ(trained_runs(place.works({"compare", "on.json"})), 0);
  place.put("on.json", file(R"("optimizer": {"weight_decay": 0.5})"));
  const std::vector<std::string> others =
      split(place.works({"compare", "on.json", "--plan"}).out, '\n');
  EXPECT_NE(others.at(1), jobs.at(1));
}

// Seen failing without the wait, where the second job ended with 1; and without the look at the
// source's newest checkpoint, where the variant started from an earlier one.
TEST(Compare, AVariantWaitsForAWholeSource) {
  const CliFixture place;
  place.put("on.json", R"({"base": "tiny.json", "folder": "all", "seeds": [1],
    "config": {"run": {"train_tokens": 51200}},
    "variants": {"more": {"initialize": {"from": "variants/first"}, "run": {"train_tokens": 256}},
      "first": {"run": {"save_every_tokens": 5120, "keep_checkpoints": 9}}}})");
  const std::vector<std::string> lines =
      split(place.works({"compare", "on.json", "--jobs"}).out, '\n');
  EXPECT_NAMES(lines.at(0), "--run first-seed1");
  EXPECT_NAMES(lines.at(1), "--run more-seed1");
  const std::string first = lines.at(0).substr(lines.at(0).find("first-seed1"));
  const std::string more = lines.at(1).substr(lines.at(1).find("more-seed1"));
  ProgramResult on_its_own;
  std::jthread other([&] { on_its_own = place.run({"compare", "on.json", "--run", first}); });
  while (!place.has("all/runs/" + first))
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(trained_runs(place.works({"compare", "on.json", "--run", more})), 1);
  other.join();
  EXPECT_EQ(on_its_own.code, 0) << on_its_own.err;
  const std::filesystem::path source = place.path("all/runs/" + first);
  std::filesystem::remove_all(place.path("all/runs/" + more));
  std::filesystem::remove_all(place.path("all/measured"));
  std::filesystem::remove_all(source / "checkpoints/step-00000200");
  const ProgramResult lost = place.run({"compare", "on.json", "--run", more});
  EXPECT_EQ(lost.code, 1);
  EXPECT_NAMES(lost.out + lost.err, first, "before the end");
}

// Seen failing: the job of the source ended with 1 while the other one trained it.
TEST(Compare, AJobWaitsForOneThatTrainsItAsASource) {
  const CliFixture place;
  place.put("on.json", R"({"base": "tiny.json", "folder": "all", "seeds": [1],
    "config": {"run": {"train_tokens": 51200}},
    "variants": {"more": {"initialize": {"from": "variants/first"}, "run": {"train_tokens": 256}},
      "first": {}}})");
  const std::vector<std::string> names =
      split(place.works({"compare", "on.json", "--plan"}).out, '\n');
  const std::string& more = names.at(1);
  const std::string& first = names.at(2);
  ProgramResult with_its_source;
  std::jthread other([&] { with_its_source = place.run({"compare", "on.json", "--run", more}); });
  while (!place.has("all/runs/" + first))
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(trained_runs(place.works({"compare", "on.json", "--run", first})), 0);
  other.join();
  EXPECT_EQ(with_its_source.code, 0) << with_its_source.err;
}

// What was trained is found again, whatever the variant is called since. Seen failing with the
// first variant's name.
TEST(Compare, ARunOutlivesTheNameOfItsVariant) {
  const CliFixture place;
  const auto file = [](const char* variants) {
    return cat(R"({"base": "tiny.json", "folder": "all", "seeds": [1],
      "config": {"run": {"train_tokens": 1280}}, "variants": {)",
               variants, "}}");
  };
  place.put("one.json", file(R"("one": {})"));
  EXPECT_EQ(trained_runs(place.works({"compare", "one.json"})), 1);
  place.put("one.json", file(R"("renamed": {}, "other": {"model": {"heads": 1}})"));
  EXPECT_EQ(trained_runs(place.works({"compare", "one.json"})), 1);
}

// How often a run is validated decides how many tokens fit into seconds. Seen failing with one name
// for both.
TEST(Compare, ABudgetOfSecondsCountsTheValidations) {
  const CliFixture place;
  place.put("one.json", R"({"base": "tiny.json", "folder": "all", "seeds": [1],
    "config": {"run": {"train_seconds": 5, "train_tokens": null}}, "variants": {
      "seldom": {}, "often": {"run": {"evaluate_every_tokens": 128}},
      "longer": {"run": {"validation_tokens": 4096}}}})");
  EXPECT_EQ(place.run({"compare", "one.json", "--plan"}).code, 0);
}

TEST(Compare, LeavesTheReportOfAnotherComparison) {
  const CliFixture place;
  place.put("two.json", kTwo);
  std::filesystem::create_directory(place.path("page"));
  place.put("page/comparison.json", R"({"name": "mine"})");
  const ProgramResult result = place.run({"compare", "two.json", "--output", "page"});
  EXPECT_EQ(result.code, 2);
  EXPECT_ERROR_AT(result.err, "page", "mine", "two");
  EXPECT_FALSE(place.has("all/runs")) << "nothing is trained before";
}

TEST(Compare, RefusesKeysThatItSetsItself) {
  const CliFixture place;
  place.put("two.json", kTwo);
  for (const char* set : {"run.seed=7", "run={\"seed\": 7}"}) {  // seen failing with the second
    const ProgramResult result = place.run({"compare", "two.json", "--set", set});
    EXPECT_EQ(result.code, 2) << set;
    EXPECT_ERROR_AT(result.err, "--set run.seed", "seeds");
  }
}

// What is measured is enough: runs, weights and curves may go, to another machine too.
TEST(Compare, TakesKeptFiguresInPlaceOfRuns) {
  const CliFixture place;
  std::string text = kTwo;
  text.insert(text.find("\"base\""),
              R"("measured": "kept",
                 "tasks": {"flip_flop": {"lengths": ["64"], "answers": {"trials": 3}}}, )");
  place.put("two.json", text);
  place.works({"compare", "two.json", "--output", "page"});
  const nlohmann::json json = place.json("page/comparison.json");
  std::filesystem::remove_all(place.path("all"));
  const ProgramResult again = place.works({"compare", "two.json", "--output", "other"});
  EXPECT_EQ(trained_runs(again), 0) << again.err;
  // Of alibi evaluate, whose page has the same name.
  std::filesystem::create_directory(place.path("curves"));
  place.put("curves/curve.json", "{}");
  const ProgramResult taken = place.run({"compare", "two.json", "--output", "curves"});
  EXPECT_EQ(taken.code, 2);
  EXPECT_ERROR_AT(taken.err, "curves", "curve.json");
  nlohmann::json other = place.json("other/comparison.json");
  for (const char* part : {"variants", "runs", "tasks", "protocol", "text"})
    EXPECT_EQ(other[part], json[part]) << part;
  // Another protocol is another measurement, for which the weights are needed.
  const ProgramResult longer =
      place.works({"compare", "two.json", "--set", "evaluate.max_tokens=64"});
  EXPECT_EQ(trained_runs(longer), 4) << longer.err;
  // A damaged file is one run's, and named.
  const auto kept = std::filesystem::directory_iterator(place.path("kept"))->path();
  write_file_atomic(kept / "curve.json", "{");
  const ProgramResult damaged = place.run({"compare", "two.json"});
  EXPECT_EQ(damaged.code, 1);
  EXPECT_NAMES(damaged.out, (kept.filename() / "curve.json").string(),
               "remove kept/" + kept.filename().string());
}

// The text of the first run's file once it holds `words`; "" after a minute without.
std::string wait_for(const CliFixture& place, const std::string& folder, const std::string& file,
                     const std::string& words) {
  const double end = seconds_now() + 60;
  while (seconds_now() < end) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(place.path(folder), ignored)) {
      const auto path = entry.path() / file;
      if (!std::filesystem::exists(path, ignored)) continue;
      const std::string text = read_file(path);
      if (text.find(words) != std::string::npos) return text;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return "";
}

// Tasks beside the text: asked of every run, kept, and paired by seed.
TEST(Compare, AsksTasksBesideTheText) {
  const CliFixture place;
  const std::string tasks =
      R"("tasks": {"flips": {"task": "flip_flop", "lengths": ["64"], "answers": {"trials": 3}},
                   "needle": {"lengths": ["256"], "answers": {"trials": 2, "depths": [0, 1]}}}, )";
  std::string text = kTwo;
  text.insert(text.find("\"base\""), tasks);
  place.put("two.json", text);
  const ProgramResult first = place.works({"compare", "two.json", "--output", "page"});
  for (const char* words : {"task flips", "instructions", "task needle", "sentences"})
    EXPECT_NAMES(first.out, words);
  const nlohmann::json json = place.json("page/comparison.json");
  ASSERT_EQ(json["tasks"].size(), 2U);
  const nlohmann::json& alibi = json["tasks"][0]["variants"][0]["points"];
  ASSERT_EQ(alibi.size(), 2U) << "16, the trained length, and 64";
  EXPECT_EQ(alibi[1]["verdict"], "reference");
  EXPECT_GT(alibi[1]["loss"], 0);
  const nlohmann::json& learned = json["tasks"][0]["variants"][1]["points"];
  EXPECT_NAMES(learned[1]["note"].get<std::string>(), "learned", 16);
  EXPECT_EQ(json["runs"][0]["answers"][1]["cells"].size(), 4U) << "two lengths by two depths";
  EXPECT_NE(place.read("page/index.html").find("Task: needle"), std::string::npos);
  EXPECT_NE(place.read("page/task-flips.svg").find("right answers (%)"), std::string::npos);
  // What was asked is kept; other rules ask again.
  const auto asked = [](const ProgramResult& result) { return count_of(result.err, ": asking "); };
  EXPECT_EQ(asked(first), 8) << first.err;
  EXPECT_EQ(asked(place.works({"compare", "two.json", "--output", "page"})), 0);
  text.replace(text.find("\"trials\": 3"), 11, "\"trials\": 4");
  place.put("two.json", text);
  EXPECT_EQ(asked(place.works({"compare", "two.json", "--output", "page"})), 4);
}

TEST(Compare, ScoresTheSameKeyTokensOfAllVariants) {
  const CliFixture place;
  place.works({"train", "tiny.json"});
  place.put("key.json", R"({
    "base": "tiny.json", "folder": "all", "seeds": [1, 2],
    "config": {"run": {"train_tokens": 640},
               "evaluate": {"key_tokens": {"evaluator": "runs/tiny", "short_length": 4,
                                           "least_gain": 0.001, "most_loss": 100}}},
    "variants": {"alibi": {}, "none": {"model": {"position": "none"}}}
  })");
  const ProgramResult result = place.works({"compare", "key.json", "--output", "page"});
  const nlohmann::json json = place.json("page/comparison.json");
  EXPECT_GT(json["key_tokens"]["tokens"], 0);
  EXPECT_EQ(json["key_tokens"]["least_gain"], 0.001);
  const auto& alibi = json["variants"][0]["points"][2]["key"];
  const auto& none = json["variants"][1]["points"][2]["key"];
  EXPECT_NEAR(none["difference"].get<double>(),
              none["loss"].get<double>() - alibi["loss"].get<double>(), 1e-9);
  EXPECT_TRUE(alibi["difference"].is_null());
  const std::string perplexity = shown_perplexity(none["loss"].get<double>());
  EXPECT_NAMES(result.out, "key tokens:", "runs/tiny");
  EXPECT_NAMES(result.out, perplexity);
  EXPECT_NAMES(place.read("page/index.html"), perplexity);
  // A file that asks for none needs none. Seen failing with the evaluator of the run's own config.
  nlohmann::json none_asked = place.json("key.json");
  none_asked["config"].erase("evaluate");
  place.put("none.json", none_asked.dump());
  std::filesystem::rename(place.path("runs/tiny"), place.path("runs/moved"));
  place.works({"compare", "none.json", "--output", "none"});
  EXPECT_FALSE(place.json("none/comparison.json").contains("key_tokens"));
  std::filesystem::rename(place.path("runs/moved"), place.path("runs/tiny"));
  // Other weights under the evaluator's name choose other tokens: curves are measured again.
  place.works({"train", "tiny.json", "--set", "run.seed=5", "--set", "run.name=other"});
  std::filesystem::remove_all(place.path("runs/tiny"));
  std::filesystem::rename(place.path("runs/other"), place.path("runs/tiny"));
  place.works({"compare", "key.json", "--output", "page"});
  EXPECT_NE(place.json("page/comparison.json")["key_tokens"]["evaluator_sha256"],
            json["key_tokens"]["evaluator_sha256"]);
}

TEST(Compare, GoesOnWhereItWasStopped) {
  const CliFixture place;
  const std::vector<std::string> command{"compare", "two.json", "--set", "run.train_tokens=51200"};
  place.put("two.json", kTwo);
  RunningProgram running(command, place.options());
  ASSERT_NE(wait_for(place, "all/runs", "log.jsonl", "\"step\":5,"), "");
  running.signal(SIGTERM);
  const ProgramResult stopped = running.wait();
  EXPECT_EQ(stopped.code, 128 + SIGTERM) << stopped.err;
  EXPECT_ERROR_AT(stopped.err, "compare", SIGTERM);
  const ProgramResult rest = place.works(command);
  EXPECT_EQ(trained_runs(rest), 4) << rest.err;
  int resumed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(place.path("all/logs")))
    resumed += count_of(read_file(entry.path()), "resuming");
  EXPECT_EQ(resumed, 1);
}

// Commands that --jobs printed, without the program's name.
std::vector<std::vector<std::string>> jobs_of(const ProgramResult& result) {
  std::vector<std::vector<std::string>> jobs;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string program;
    words >> program;
    EXPECT_EQ(program, tested_program());
    std::vector<std::string>& job = jobs.emplace_back();
    for (std::string word; words >> word;) job.push_back(word);
  }
  return jobs;
}

// Seen failing with one lock for the whole comparison, and with finished runs listed.
TEST(Compare, JobsRunAtTheSameTimeAndAreGathered) {
  const CliFixture place;
  place.put("two.json", kTwo);
  const std::vector<std::string> list{"compare", "two.json", "--jobs", "--set",
                                      "optimizer.learning_rate=0.002"};
  const auto jobs = jobs_of(place.works(list));
  ASSERT_EQ(jobs.size(), 4U);
  EXPECT_FALSE(place.has("all")) << "printing them makes nothing";
  {
    RunningProgram first(jobs[0], place.options()), second(jobs[3], place.options());
    EXPECT_EQ(first.wait().code, 0);
    EXPECT_EQ(second.wait().code, 0);
  }
  const auto rest = jobs_of(place.works(list));
  EXPECT_EQ(rest, (std::vector<std::vector<std::string>>{jobs[1], jobs[2]}));
  const ProgramResult again = place.works(jobs[0]);
  EXPECT_EQ(trained_runs(again), 0) << again.err;
  const ProgramResult gathered =
      place.works({"compare", "two.json", "--set", "optimizer.learning_rate=0.002"});
  EXPECT_EQ(trained_runs(gathered), 2) << gathered.err;
  EXPECT_TRUE(place.works(list).out.empty());
}

TEST(Compare, AJobIsDoneByOneProcess) {
  const CliFixture place;
  place.put("two.json", kTwo);
  const auto jobs = jobs_of(place.works({"compare", "two.json", "--jobs"}));
  ASSERT_EQ(jobs.size(), 4U);
  const std::string name = jobs[0].back();
  std::filesystem::create_directories(place.path("all/locks"));
  {
    const FileLock busy(place.path("all/locks/" + name), "a job");
    const ProgramResult refused = place.run(jobs[0]);
    EXPECT_EQ(refused.code, 1);
    EXPECT_ERROR_AT(refused.err, "all/locks/" + name, name);
    const ProgramResult others = place.run({"compare", "two.json"});
    EXPECT_EQ(others.code, 1);
    EXPECT_EQ(trained_runs(others), 3) << others.err;
    EXPECT_NAMES(others.out, "alibi", "seed 1", "all/locks/" + name);
  }
  EXPECT_EQ(trained_runs(place.works({"compare", "two.json"})), 1);
  const ProgramResult unknown = place.run({"compare", "two.json", "--run", "alibi-seed9-0"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_ERROR_AT(unknown.err, "--run", "alibi-seed9-0", name);
}

TEST(Compare, ReportsARunThatFailsAndGoesOn) {
  const CliFixture place;
  place.put("two.json", R"({"base": "tiny.json", "folder": "all", "seeds": [1],
    "config": {"run": {"train_tokens": 1280}},
    "variants": {"alibi": {}, "lost": {"runtime": {"memory_limit_bytes": 1000}}}})");
  const ProgramResult result = place.run({"compare", "two.json"});
  EXPECT_EQ(result.code, 1);
  EXPECT_NAMES(result.out, "lost", "seed 1", "runtime.memory_limit_bytes") << result.err;
  EXPECT_TRUE(place.has("all/index.html"));
  EXPECT_FALSE(place.json("all/comparison.json")["runs"][0]["losses"].empty());
}

// Seen failing with both files written over.
TEST(Compare, LeavesFilesThatItDidNotWrite) {
  const CliFixture place;
  place.put("two.json", kTwo);
  for (const char* name : {"index.html", "bits-per-byte.png"}) {
    std::filesystem::create_directory(place.path("mine"));
    place.put(std::string("mine/") + name, "mine");
    const ProgramResult result = place.run({"compare", "two.json", "--output", "mine", "--plan"});
    EXPECT_EQ(result.code, 2);
    EXPECT_ERROR_AT(result.err, std::string("mine/") + name);
    EXPECT_EQ(place.read(std::string("mine/") + name), "mine");
    std::filesystem::remove_all(place.path("mine"));
  }
  std::filesystem::create_directory(place.path("mine"));
  place.put("mine/comparison.json", "{}");
  EXPECT_EQ(place.run({"compare", "two.json", "--output", "mine", "--plan"}).code, 2);
}

TEST(Compare, RefusesOptionsThatWouldDoNothing) {
  const CliFixture place;
  place.put("two.json", kTwo);
  for (const auto& options : std::vector<std::vector<std::string>>{{"--jobs", "--output", "x"},
                                                                   {"--run", "x", "--output", "y"},
                                                                   {"--plan", "--run", "x"}}) {
    std::vector<std::string> command = {"compare", "two.json"};
    command.insert(command.end(), options.begin(), options.end());
    const ProgramResult result = place.run(command);
    EXPECT_EQ(result.code, 2) << options.front();
    EXPECT_ERROR_AT(result.err, options.front() == "--plan" ? "--run" : "--output");
    EXPECT_FALSE(place.has("all/runs"));
  }
}

// All of a run's figures, or none. Seen failing with the losses of a run kept whose task failed,
// and with a damaged file that ended the comparison.
TEST(Compare, ARunThatFailsLateHasNoFigures) {
  const CliFixture place;
  std::string text = kTwo;
  text.insert(text.find("\"base\""),
              R"("tasks": {"flip_flop": {"lengths": ["64"], "answers": {"trials": 3}}}, )");
  place.put("two.json", text);
  place.works({"compare", "two.json"});
  std::filesystem::remove_all(place.path("all/measured"));
  int damaged = 0;
  for (const auto& entry : std::filesystem::directory_iterator(place.path("all/answers")))
    if (entry.path().filename().string().starts_with("alibi-seed1")) {
      write_file_atomic(entry.path() / "answers.json", "{");
      ++damaged;
    }
  for (const auto& entry : std::filesystem::directory_iterator(place.path("all/curves")))
    if (entry.path().filename().string().starts_with("alibi-seed2")) {
      nlohmann::json curve = nlohmann::json::parse(read_file(entry.path() / "curve.json"));
      curve["curves"] = nlohmann::json::array();
      write_file_atomic(entry.path() / "curve.json", curve.dump());
      ++damaged;
    }
  ASSERT_EQ(damaged, 2);
  const ProgramResult result = place.run({"compare", "two.json", "--output", "page"});
  EXPECT_EQ(result.code, 1);
  EXPECT_NAMES(result.out, "alibi, seed 1", "answers.json");
  EXPECT_NAMES(result.out, "alibi, seed 2", "curve.json: /curves", "expected one");
  const nlohmann::json json = place.json("page/comparison.json");
  for (const nlohmann::json& run : json["runs"]) {
    const bool failed = run["variant"] == "alibi";
    EXPECT_EQ(run["failure"].get<std::string>().empty(), !failed);
    EXPECT_EQ(run["losses"].empty(), failed) << run;
  }
}

template <class... Values>
void expect_refused(const CliFixture& place, const std::string& file, const Values&... values) {
  place.put("bad.json", file);
  const ProgramResult result = place.run({"compare", "bad.json"});
  EXPECT_EQ(result.code == 1 || result.code == 2, true) << result.err;
  EXPECT_EQ(result.error_lines(), 1) << result.err;
  EXPECT_NAMES(result.err, values...);
  EXPECT_FALSE(place.has("all/runs")) << "before any training";
}

TEST(Compare, RefusesInOneLineBeforeAnyTraining) {
  const CliFixture place;
  const auto with = [](const std::string& members) {
    return "{\"base\": \"tiny.json\", \"folder\": \"all\", " + members + "}";
  };
  expect_refused(place, with("\"variants\": {\"a\": {\"model\": {\"positoin\": \"none\"}}}"),
                 "/variants/a: /model/positoin:", "position");
  expect_refused(place,
                 with("\"variants\": {\"a\": {}, \"b\": {\"run\": {\"keep_checkpoints\": 1}}}"),
                 "/variants/b:", "same run", "a");
  expect_refused(place,
                 with("\"variants\": {\"a\": {}}, \"config\": {\"evaluate\": {\"lengths\": "
                      "[\"1000x\"]}}"),
                 "held.txt:", 16000);
  expect_refused(place,
                 with("\"variants\": {\"a\": {}, \"b\": {\"evaluate\": {\"max_tokens\": 640}}}"),
                 "/variants/b:", "max_tokens");
  expect_refused(place, with("\"variants\": {\"a\": {}}, \"base\": \"tiny.json\""),
                 "bad.json: /base:");
  expect_refused(place, with("\"variants\": {\"a\": {}, \"b\": {\"run\": {\"seed\": 7}}}"),
                 "/variants/b/run/seed:", "\"seeds\"");
  place.put("other.txt", small_text(5'000, 2));
  expect_refused(place,
                 with("\"variants\": {\"a\": {}, \"b\": {\"data\": {\"valid\": "
                      "[\"other.txt\"]}, \"model\": {\"layers\": 2}}}"),
                 "/variants/b:", "\"text\"", "a");
  const std::string pieces = "\"b\": {\"tokenizer\": {\"kind\": \"bpe\", \"vocabulary\": 300}}";
  expect_refused(place, with("\"variants\": {\"a\": {}, " + pieces + "}"), "evaluate.max_tokens");
  expect_refused(place, "{\"variants\": {\"a\": {}}}", "/data/train:");
  expect_refused(place, with("\"variants\": {\"a\": {}}, \"tasks\": {\"recall\": {\"trails\": 1}}"),
                 "/tasks/recall", "trails");
  expect_refused(place,
                 with("\"variants\": {\"a\": {\"initialize\": {\"from\": \"runs/nowhere\"}}}"),
                 "runs/nowhere:");
  const auto from_a = [&](const char* more) {
    return with(cat("\"variants\": {\"a\": {}, \"b\": {\"initialize\": {\"from\": \"variants/a\"}",
                    more, "}, \"c\": {\"initialize\": {\"from\": \"variants/b\"}}}"));
  };
  expect_refused(place, from_a(", \"model\": {\"mlp_width\": 24}"), "/variants/b:", "mlp_width",
                 24);
  expect_refused(place, from_a(", \"model\": {\"position\": \"sinusoidal\"}"),
                 "/variants/b:", "sinusoidal");
  expect_refused(place, from_a(""), "/variants/c:", "starts from b");
  expect_refused(place, with("\"variants\": {\"a\": {\"initialize\": {\"from\": \"variants/b\"}}}"),
                 "/variants/a: /initialize/from", "variants/b", "variants/a");
  expect_refused(
      place,
      with("\"variants\": {\"a\": {\"runtime\": {\"attention\": {\"kernel\": \"nosuch\"}}}}"),
      "/runtime/attention/kernel:", "\"nosuch\"");
  // These were found by the run itself, hours later where others were trained before it.
  expect_refused(place,
                 with("\"variants\": {\"a\": {\"runtime\": {\"device\": \"cpu\", "
                      "\"precision\": \"tf32\"}}}"),
                 "/variants/a: /runtime/precision:");
  expect_refused(place, with("\"variants\": {\"a\": {}}, \"seeds\": [10000000000000000]"), "/seeds",
                 9000000000000000);
  expect_refused(place,
                 with("\"text\": \"held.txt\", \"variants\": {\"a\": {\"run\": {\"patience\": 3}, "
                      "\"data\": {\"valid\": [], \"valid_fraction\": 0}}}"),
                 "/variants/a:", "run.patience");
}

TEST(Compare, RefusesAStartFromAnotherModelBeforeAnyTraining) {
  const CliFixture place;
  place.works({"train", "tiny.json"});
  const auto variant = [](const char* keys) {
    return cat(R"({"base": "tiny.json", "folder": "all", "variants": {"a": {}, "b": {)",
               R"("initialize": {"from": "runs/tiny"}, )", keys, "}}}");
  };
  expect_refused(place, variant(R"("model": {"layers": 2})"), "/variants/b: /model/layers", 2);
  expect_refused(place,
                 cat(R"({"base": "tiny.json", "folder": "all", "variants": {"b": {)",
                     R"("initialize": {"from": "runs/tiny"}, "tokenizer": {"kind": "bpe", )",
                     R"("vocabulary": 300}}}})"),
                 "/variants/b:", "runs/tiny");
}

// Seen failing: six digits were compared, and handed on.
TEST(Compare, AStretchFactorIsTakenWhole) {
  const CliFixture place;
  place.put("two.json", R"({"base": "tiny.json", "folder": "all",
    "config": {"model": {"position": "rotary"}, "evaluate": {"stretch": "linear"}},
    "variants": {"a": {"evaluate": {"stretch_factor": 1.23456789}},
                 "b": {"evaluate": {"stretch_factor": 1.2345678}}}})");
  place.works({"compare", "two.json", "--plan"});
}

TEST(Compare, RefusesAnEvaluatorOfOtherTokensBeforeAnyTraining) {
  const CliFixture place;
  place.works({"train", "tiny.json"});
  expect_refused(place, R"({
    "base": "tiny.json", "folder": "all",
    "config": {"tokenizer": {"kind": "bpe", "vocabulary": 300},
               "evaluate": {"key_tokens": {"evaluator": "runs/tiny"}}},
    "variants": {"a": {}}
  })",
                 "/variants/a:", "runs/tiny");
}

// The text is no key that identifies a run, but what it holds is.
TEST(Compare, VariantsMayDifferInTheirText) {
  const CliFixture place;
  place.put("other.txt", small_text(40'000, 7));
  place.put("same.txt", small_text(40'000));
  const auto plan = [&](const std::string& file) {
    place.put("two.json",
              "{\"base\": \"tiny.json\", \"folder\": \"all\", \"variants\": {\"a\": {}, \"b\": "
              "{\"data\": {\"train\": [\"" +
                  file + "\"]}}}}");
    return place.run({"compare", "two.json", "--plan"});
  };
  EXPECT_EQ(plan("other.txt").code, 0);
  EXPECT_ERROR_AT(plan("same.txt").err, "/variants/b", "same run", "a");
}

TEST(Compare, ComparesOtherTokenizersByBitsPerByte) {
  const CliFixture place;
  place.put("two.json", R"({"base": "tiny.json", "folder": "all", "seeds": [1],
    "config": {"run": {"train_tokens": 1280}, "evaluate": {"max_tokens": 10000}},
    "tasks": {"recall": {"lengths": ["64"], "answers": {"trials": 2}}},
    "variants": {"bytes": {}, "pieces": {"tokenizer": {"kind": "bpe", "vocabulary": 300}}}})");
  const ProgramResult result = place.works({"compare", "two.json"});
  const nlohmann::json json = place.json("all/comparison.json");
  EXPECT_EQ(json["measure"], "bits_per_byte");
  // Seen failing: bits per byte stood as nats beside perplexities of other tokens, and a task was
  // judged by nats of other tokens.
  EXPECT_NAMES(result.out, "bits per byte from bytes");
  EXPECT_EQ(result.out.find("nats from bytes"), std::string::npos) << result.out;
  EXPECT_NE(place.read("all/comparison.csv").find(",bits_per_byte\n"), std::string::npos);
  EXPECT_TRUE(json["tasks"][0]["variants"][1]["points"].back()["loss_difference"].is_null());
  const nlohmann::json &a = json["runs"][0]["losses"][0], &b = json["runs"][1]["losses"][0];
  EXPECT_NEAR(json["variants"][1]["points"][0]["difference"].get<double>(),
              b["bits_per_byte"].get<double>() - a["bits_per_byte"].get<double>(), 1e-9);
  EXPECT_TRUE(place.has("all/bits-per-byte.svg"));
  EXPECT_FALSE(place.has("all/perplexity.svg")) << "of different tokens";
}

// Seen failing: all runs were trained first, and their curves thrown away when the task failed.
TEST(Compare, TasksArePlannedAsTheyWillBeAsked) {
  const CliFixture place;
  const auto with = [](const std::string& tasks, const std::string& lengths) {
    return R"({"base": "tiny.json", "folder": "all", "seeds": [1],
      "config": {"run": {"train_tokens": 1280}, "evaluate": {"lengths": ["1x", "4x"]}},
      "tasks": {"asked": {"task": )" +
           tasks + R"(, "lengths": [)" + lengths + R"(], "answers": {"trials": 2}}},
      "variants": {"a": {}, "b": {"evaluate": {"stretch": "linear", "stretch_factor": 2}}}})";
  };
  place.put("bad.json", with("\"passkey\"", "\"20000\""));
  const ProgramResult refused = place.run({"compare", "bad.json", "--plan"});
  EXPECT_EQ(refused.code, 1) << refused.out;
  EXPECT_NAMES(refused.err, "held.txt", 20000);
  place.put("two.json", with("\"recall\", \"stretch\": \"none\"", "\"64\""));
  place.works({"compare", "two.json"});
}

// Seen failing: the picture of a task that the file no longer names stayed.
TEST(Compare, PicturesOfFormerTasksGo) {
  const CliFixture place;
  std::string text = kTwo;
  text.insert(text.find("\"base\""),
              R"("tasks": {"flip_flop": {"lengths": ["64"], "answers": {"trials": 3}}}, )");
  place.put("two.json", text);
  place.works({"compare", "two.json", "--output", "page"});
  EXPECT_TRUE(place.has("page/task-flip_flop.svg"));
  place.put("page/task-mine.svg", "mine");
  place.put("two.json", kTwo);
  place.works({"compare", "two.json", "--output", "page"});
  EXPECT_FALSE(place.has("page/task-flip_flop.svg"));
  EXPECT_TRUE(place.has("page/task-mine.svg")) << "of somebody else";
}

// What an evaluation treats otherwise is the same trained run; what trains otherwise is not, though
// its weights may be equal.
TEST(Compare, SharesRunsBetweenEvaluationsAndNotBetweenKernels) {
  const CliFixture place;
  place.put("three.json", R"({"base": "tiny.json", "folder": "all", "seeds": [1],
    "config": {"run": {"train_tokens": 1280}},
    "variants": {"plain": {}, "stretched": {"evaluate": {"stretch": "linear"}},
                 "slow": {"runtime": {"attention": {"kernel": "reference"}}}}})");
  const ProgramResult result = place.works({"compare", "three.json"});
  EXPECT_EQ(trained_runs(result), 2) << result.err;
  const nlohmann::json runs = place.json("all/comparison.json")["runs"];
  EXPECT_EQ(runs[0]["folder"], runs[1]["folder"]);
  EXPECT_NE(runs[0]["folder"], runs[2]["folder"]);
  EXPECT_EQ(runs[0]["losses"][0], runs[1]["losses"][0]) << "at 1x nothing is stretched";
  EXPECT_NE(runs[0]["losses"][2]["loss"], runs[1]["losses"][2]["loss"]);
}

int curves_of(const CliFixture& place) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(place.path("all/curves")))
    count += std::filesystem::exists(entry.path() / "curve.json") ? 1 : 0;
  return count;
}

// Two files with one folder share what is trained, and each has its own curves.
TEST(Compare, FilesWithOneFolderShareRunsAndKeepTheirCurves) {
  const CliFixture place;
  const auto file = [](const std::string& evaluate) {
    return R"({"base": "tiny.json", "folder": "all", "seeds": [1], "config": {"run":
      {"train_tokens": 1280}, "evaluate": )" +
           evaluate + R"(}, "variants": {"alibi": {}}})";
  };
  place.put("one.json", file(R"({"lengths": ["1x", "2x"]})"));
  place.put("other.json", file(R"({"lengths": ["1x", "2x"], "split_stride": 4})"));
  place.works({"compare", "one.json", "--output", "one"});
  EXPECT_EQ(curves_of(place), 1);
  EXPECT_EQ(trained_runs(place.works({"compare", "other.json", "--output", "other"})), 0);
  EXPECT_EQ(curves_of(place), 2);
  const auto gain_of = [&](const std::string& output) {
    return place.json(output + "/comparison.json")["variants"][0]["points"][1]["context_gain"];
  };
  EXPECT_TRUE(gain_of("one").is_number());
  EXPECT_NE(gain_of("one"), gain_of("other")) << "of other targets";
  place.works({"compare", "one.json", "--output", "again"});
  EXPECT_EQ(curves_of(place), 2) << "nothing is measured twice";
  EXPECT_EQ(place.json("again/comparison.json")["variants"],
            place.json("one/comparison.json")["variants"]);
}

// A length for which memory did not last is shown as such once, and tried again the next time.
TEST(Compare, MeasuresAgainWhatDidNotFitIntoMemory) {
  const CliFixture place;
  place.put("one.json", R"({"base": "tiny.json", "folder": "all", "seeds": [1],
    "config": {"run": {"train_tokens": 1280}}, "variants": {"alibi": {}}})");
  place.works({"compare", "one.json"});
  const auto folder = std::filesystem::directory_iterator(place.path("all/curves"))->path();
  nlohmann::json curve = nlohmann::json::parse(read_file(folder / "curve.json"));
  nlohmann::json& point = curve["curves"][0]["points"][2];
  point["applicable"] = false;
  point["note"] = "out of memory";
  point["out_of_memory"] = true;
  point["loss"] = nullptr;
  write_file_atomic(folder / "curve.json", curve.dump());
  std::filesystem::remove_all(place.path("all/measured"));
  const ProgramResult without = place.works({"compare", "one.json"});
  EXPECT_NAMES(without.out, "out of memory");
  const ProgramResult again = place.works({"compare", "one.json"});
  EXPECT_EQ(again.out.find("out of memory"), std::string::npos) << again.out;
}

// A run's name stands for all that decides its end and its cost, too.
TEST(Compare, NamesRunsByWhatTrainingCosts) {
  const CliFixture place;
  place.put("one.json", R"({"base": "tiny.json", "folder": "all", "seeds": [1],
    "config": {"run": {"train_tokens": 1280}}, "variants": {"alibi": {}}})");
  std::set<std::string> names;
  int asked = 0;
  for (const std::vector<std::string>& sets :
       std::vector<std::vector<std::string>>{{},
                                             {"runtime.threads=1"},
                                             {"runtime.recompute=blocks"},
                                             {"runtime.attention.skip=off"},
                                             {"run.patience=1"},
                                             {"run.patience=1", "run.evaluate_every_tokens=640"},
                                             {"schedule.kind=constant"},
                                             {"schedule.kind=constant", "run.train_tokens=2560"}}) {
    std::vector<std::string> command = {"compare", "one.json", "--plan"};
    for (const std::string& set : sets) command.insert(command.end(), {"--set", set});
    names.insert(split(place.works(command).out, '\n').at(1));
    EXPECT_EQ(std::ssize(names), ++asked) << join(sets, " ");
  }
  // What neither decides a weight nor costs anything leaves the name as it is.
  for (const char* set : {"evaluate.max_tokens=1000", "run.log_every_tokens=640",
                          "run.keep_checkpoints=1", "runtime.device=auto"}) {
    const ProgramResult result = place.works({"compare", "one.json", "--plan", "--set", set});
    EXPECT_TRUE(names.contains(split(result.out, '\n').at(1))) << set;
  }
}

}  // namespace
}  // namespace alibi
