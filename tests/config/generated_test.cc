// Hundreds of bad configs, made from the list of keys (R11): each is refused in one line that names
// the key by JSON pointer, what was found and what was expected, or the nearest key. Seen failing
// with the range check left out of config/assign.cc.
#include <gtest/gtest.h>

#include <algorithm>

#include "config/generated_bad_configs.h"
#include "config/load.h"
#include "support/error_text.h"

namespace alibi {
namespace {

TEST(GeneratedBadConfigs, EachIsOneLineWithItsPointer) {
  const auto all = generated_bad_configs();
  EXPECT_GE(all.size(), 400U);
  for (const GeneratedBadConfig& bad : all) {
    const std::string message = error_text([&] { parse_config(bad.text, "file"); });
    EXPECT_ERROR_AT(message, "file: " + bad.pointer) << bad.text;
    for (const std::string& value : bad.values) EXPECT_NAMES(message, value) << bad.text;
  }
}

}  // namespace
}  // namespace alibi
