// Where an Error lies and what exit code it gives, for tests that leave its prose open.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace alibi {

// "data.train 2": place and exit code of the Error that `call` throws; fails the test when it
// throws none.
template <class Call>
std::string error_place(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    const std::string text = error.what();
    const int code = static_cast<int>(error.exit_code());
    return text.substr(0, text.find(": ")) + " " + std::to_string(code);
  }
  ADD_FAILURE() << "expected an Error";
  return "";
}

}  // namespace alibi
