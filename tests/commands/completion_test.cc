// The completion scripts, asked through the shells themselves.
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "base/strings.h"
#include "commands/cli_fixture.h"

namespace alibi {
namespace {

class Completion : public testing::Test {
 protected:
  // The words offered by `program`, run with `script` behind the completion script of `shell`.
  std::vector<std::string> offered(const std::string& shell, const std::string& script) const {
    ProgramOptions options = place_.options();
    options.program = "/usr/bin/" + shell;
    if (!std::filesystem::exists(options.program)) return {"no " + shell};
    place_.put("complete", place_.works({"completion", shell}).out);
    const ProgramResult result =
        run_program({"-c", cat("alibi() { ", ALIBI_BINARY, " \"$@\"; }; compdef() { :; }\n",
                               ". ./complete\n", script)},
                    options);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.err, "");
    std::istringstream words(result.out);
    return {std::istream_iterator<std::string>(words), std::istream_iterator<std::string>()};
  }
  // As bash asks: the line so far, and its words.
  std::vector<std::string> bash(const std::string& line) const {
    return offered("bash", "compopt() { :; }\nCOMP_LINE='" + line +
                               "' COMP_POINT=" + std::to_string(line.size()) +
                               "\n_alibi\nprintf '%s\\n' \"${COMPREPLY[@]}\"");
  }
  std::vector<std::string> zsh(const std::string& words, const std::string& prefix) const {
    return offered("zsh", "compadd() { print -l -- \"$@\"; }; _files() { print files; }\nwords=(" +
                              words + " '" + prefix + "') CURRENT=${#words} PREFIX='" + prefix +
                              "'\nCURRENT=${#words}\n_alibi");
  }

  CliFixture place_;
};

using Words = std::vector<std::string>;

// Shells that scripts/setup --verify installs: under scripts/test --all they are there.
bool lacks(const std::string& shell) {
  if (std::filesystem::exists("/usr/bin/" + shell)) return false;
  EXPECT_EQ(std::getenv("ALIBI_VERIFY_PYTHON"), nullptr) << "scripts/setup --verify installs it";
  return true;
}

bool holds(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST_F(Completion, BashKnowsCommandsOptionsKeysAndFiles) {
  EXPECT_EQ(bash("alibi tr"), (Words{"train"}));
  EXPECT_EQ(bash("alibi inspect mem"), (Words{"memory"}));
  EXPECT_EQ(bash("alibi train tiny.json --re"), (Words{"--resume"}));
  EXPECT_FALSE(holds(bash("alibi generate runs/tiny --"), "--resume"));
  EXPECT_EQ(bash("alibi train --set model.pos"), (Words{"model.position="}));
  EXPECT_EQ(bash("alibi train --set model.position=ro"), (Words{"rotary"}));
  EXPECT_EQ(bash("alibi train tin"), Words());  // bash's own, which knows quotes
  EXPECT_TRUE(holds(bash("alibi "), "completion"));
  EXPECT_EQ(bash("alibi train --set=model.pos"), (Words{"model.position="}));
  EXPECT_EQ(bash("alibi train --set=model.position=ro"), (Words{"rotary"}));
  EXPECT_EQ(bash("alibi export runs/tiny --to "), (Words{"hf", "gguf", "safetensors"}));
  EXPECT_EQ(bash("alibi export runs/tiny --to=gg"), (Words{"gguf"}));
  EXPECT_EQ(bash("alibi export runs/tiny --type q"), (Words{"q8_0"}));
  EXPECT_EQ(bash("alibi completion f"), (Words{"fish"}));
}

TEST_F(Completion, ZshKnowsThem) {
  if (lacks("zsh")) GTEST_SKIP() << "no zsh";
  EXPECT_TRUE(holds(zsh("alibi", ""), "evaluate"));
  EXPECT_TRUE(holds(zsh("alibi inspect", ""), "memory"));
  EXPECT_TRUE(holds(zsh("alibi train", "--"), "--resume"));
  EXPECT_FALSE(holds(zsh("alibi generate", "--"), "--resume"));
  EXPECT_TRUE(holds(zsh("alibi train --set", "model."), "model.position="));
  EXPECT_TRUE(holds(zsh("alibi train --set", "model.position="), "model.position=rotary"));
  EXPECT_EQ(zsh("alibi train", "tin"), (Words{"files"}));
  EXPECT_TRUE(holds(zsh("alibi export runs/tiny --to", "g"), "gguf"));
  EXPECT_TRUE(holds(zsh("alibi export runs/tiny", "--to=g"), "--to=gguf"));
  EXPECT_TRUE(holds(zsh("alibi train", "--set=model."), "--set=model.position="));
  EXPECT_TRUE(holds(zsh("alibi completion", ""), "fish"));
}

TEST_F(Completion, FishKnowsThem) {
  if (lacks("fish")) GTEST_SKIP() << "no fish";
  const auto fish = [&](const std::string& line) {
    place_.put("complete", place_.works({"completion", "fish"}).out);
    ProgramOptions options = place_.options();
    options.program = "/usr/bin/fish";
    const ProgramResult result =
        run_program({"--no-config", "-c",
                     cat("function alibi; ", ALIBI_BINARY, " $argv; end; source complete; ",
                         "complete -C '", line, "'")},
                    options);
    EXPECT_EQ(result.code, 0) << result.err;
    return result.out;
  };
  EXPECT_NE(fish("alibi tr").find("train\t"), std::string::npos);
  EXPECT_NE(fish("alibi inspect mem").find("memory\t"), std::string::npos);
  EXPECT_NE(fish("alibi train --re").find("--resume"), std::string::npos);
  EXPECT_EQ(fish("alibi generate --re").find("--resume"), std::string::npos);
  EXPECT_NE(fish("alibi train --set model.position=ro").find("model.position=rotary"),
            std::string::npos);
  EXPECT_NE(fish("cat; alibi train tin").find("tiny.json"), std::string::npos);
}

TEST_F(Completion, OtherShellsAreRefused) {
  EXPECT_EQ(place_.run({"completion", "tcsh"}).code, 2);
  EXPECT_EQ(place_.run({"completion"}).code, 2);
}

}  // namespace
}  // namespace alibi
