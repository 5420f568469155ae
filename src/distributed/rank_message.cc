#include "distributed/rank_message.h"

#include <vector>

#include "base/printable.h"
#include "base/strings.h"

namespace alibi {
namespace {

constexpr std::size_t kLongestLine = 400;

}  // namespace

// The code is one letter: 'A' is 0.
std::string rank_message(const Error& error) {
  return static_cast<char>('A' + static_cast<int>(error.exit_code()) % 26) +
         std::string(error.what());
}

std::string rank_message(const std::string& text) { return rank_message(Error("", text)); }

Error error_of_rank(int rank, const std::string& message) {
  std::vector<Fault> faults;
  for (const std::string& line : split(message.empty() ? "" : message.substr(1), '\n'))
    faults.push_back({cat("rank ", rank), printable(line, kLongestLine), ""});
  const bool is_usage =
      message.starts_with(static_cast<char>('A' + static_cast<int>(ExitCode::kUsage)));
  return Error(faults, is_usage ? ExitCode::kUsage : ExitCode::kFailure);
}

}  // namespace alibi
