#include "experiment/measured.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/files.h"
#include "report/curve_files.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

CurveSet example() {
  CurveSet set;
  set.protocol = {"sliding", 32,        4,      16,    "a sentence",
                  "another", "a third", "fp32", "cpu", "avx512"};
  set.text = {{"a.txt", "b.txt"}, "all", "0123", 640, 7, 1000, 150};
  Curve curve;
  curve.name = "c";
  curve.position = "learned";
  curve.checkpoint = "runs/c";
  curve.step = 12;
  curve.trained_length = 64;
  curve.sequence_length = 128;
  curve.train_sequence_length_scaling = 0.5;
  curve.parameters = 99;
  CurvePoint good, missing;
  good.length = 64;
  good.loss = 3.25;
  good.bits_per_byte = 1.5;
  good.targets = 640;
  missing.length = 128;
  missing.applicable = false;
  missing.note = "ends at 64";
  good.early_gain = 0.25;
  curve.slopes = {0.5, 0.25};
  curve.points = {good, missing};
  curve.far_context = {128, 640, {{1, 1, 5, {0.5, 0.25, 0.75}, {}, {}}}};
  set.curves = {curve};
  return set;
}

TEST(ReadCurves, GivesBackWhatWasWritten) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "curve.json";
  const CurveSet written = example();
  write_file_atomic(file, curve_json(written));
  const CurveSet found = read_curves(file);
  EXPECT_EQ(curve_json(found), curve_json(written));
  EXPECT_TRUE(std::isnan(found.curves.at(0).points.at(1).loss));
  EXPECT_EQ(found.text.files, written.text.files);
}

TEST(ReadCurves, RefusesOtherFiles) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "curve.json";
  for (const char* text : {"", "{}", "{\"format_version\": 2, \"kind\": \"curve\"}",
                           "{\"format_version\": 1, \"kind\": \"usage\", \"seconds\": 1}"}) {
    write_file_atomic(file, text);
    EXPECT_ANY_THROW(read_curves(file)) << text;
  }
}

TEST(Usage, GivesBackWhatWasWritten) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "usage.json";
  write_file_atomic(file, usage_json({12.5, 1 << 20}));
  EXPECT_DOUBLE_EQ(read_usage(file).seconds, 12.5);
  EXPECT_EQ(read_usage(file).peak_memory_bytes, 1 << 20);
}

TEST(ReadSteps, TakesTheLastStepAndTheMedianTime) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "log.jsonl";
  write_file_atomic(file,
                    "{\"format_version\":1,\"kind\":\"log\"}\n"
                    "{\"step\":1,\"tokens\":100,\"loss\":3.5,\"seconds\":9.0}\n"
                    "{\"step\":2,\"tokens\":200,\"loss\":3.4,\"seconds\":0.5}\n"
                    "{\"step\":2,\"tokens\":200,\"validation_loss\":3.4,\"best\":true,"
                    "\"peak_memory_bytes\":7000}\n"
                    "{\"step\":3,\"tokens\":300,\"loss\":3.3,\"seconds\":0.5}\n"
                    "{\"step\":4,\"tok");  // being written
  EXPECT_EQ(read_steps(file).tokens, 300);
  EXPECT_EQ(read_trained_tokens(file), 300);
  EXPECT_EQ(read_steps(file).peak_memory_bytes, 7000);
  EXPECT_DOUBLE_EQ(read_steps(file).seconds, 10);
  EXPECT_DOUBLE_EQ(read_steps(file).tokens_per_second, 200);
  write_file_atomic(file, "");
  EXPECT_EQ(read_steps(file).tokens, 0);
  EXPECT_EQ(read_trained_tokens(file), 0);
  EXPECT_TRUE(std::isnan(read_steps(file).tokens_per_second));
}

}  // namespace
}  // namespace alibi
