// A scratch folder with a text and a tiny byte-level config, and the program run in it.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/strings.h"
#include "support/run_program.h"
#include "support/small_text.h"
#include "support/temporary_folder.h"

namespace alibi {

class CliFixture {
 public:
  CliFixture() {
    put("text.txt", small_text(40'000));
    put("held.txt", small_text(4'000, 1));
    put("tiny.json", R"({
      "model": {"layers": 1, "width": 16, "heads": 2},
      "batch": {"sequence_length": 64, "sequences": 4, "train_sequence_length_scaling": 0.25},
      "data": {"train": ["text.txt"], "valid": ["held.txt"]},
      "tokenizer": {"kind": "bytes"},
      "run": {"name": "tiny", "train_tokens": 5120, "save_every_tokens": 1280,
              "evaluate_every_tokens": 2560, "validation_tokens": 512},
      "evaluate": {"lengths": ["1x", "2x", "4x"], "max_tokens": 2000},
      "runtime": {"device": "cpu", "precision": "fp32"}
    })");
  }

  std::filesystem::path path(const std::string& name = "") const { return folder_.path() / name; }
  void put(const std::string& name, std::string_view text) const {
    OutputFile file(path(name));
    file.write(text);
    file.close();
  }
  ProgramOptions options() const {
    ProgramOptions options;
    options.folder = folder_.path();
    return options;
  }
  ProgramResult run(const std::vector<std::string>& arguments) const {
    return run_program(arguments, options());
  }
  // Runs what must work.
  ProgramResult works(const std::vector<std::string>& arguments) const {
    ProgramResult result = run(arguments);
    EXPECT_EQ(result.code, 0) << arguments.front() << ": " << result.err;
    return result;
  }
  bool has(const std::string& name) const { return std::filesystem::exists(path(name)); }
  std::string read(const std::string& name) const { return read_file(path(name)); }
  nlohmann::json json(const std::string& name) const { return nlohmann::json::parse(read(name)); }

 private:
  TemporaryFolder folder_;
};

// As tables show the perplexity of a loss in nats: four digits.
inline std::string shown_perplexity(double loss) {
  const double perplexity = std::exp(loss);
  return fixed(perplexity, perplexity < 10 ? 3 : perplexity < 100 ? 2 : 1);
}

}  // namespace alibi
