// What an Error says, for tests that look for the place, the finding and the way out in it.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace alibi {

// The message of the Error that `call` throws; fails the test when it throws none.
template <class Call>
std::string error_text(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "expected an Error";
  return "";
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

}  // namespace alibi
