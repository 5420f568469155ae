#include "base/error.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace alibi {
namespace {

std::string join_lines(const std::vector<Fault>& faults) {
  ensure(!faults.empty(), "an Error carries at least one fault");
  std::string text;
  for (const Fault& fault : faults) {
    if (!text.empty()) text += '\n';
    text += fault.line();
  }
  return text;
}

// A message is one line whatever a file name or a foreign library put into it.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

}  // namespace

std::string Fault::line() const {
  std::string text = place.empty() ? problem : place + ": " + problem;
  if (!way_out.empty()) text += " (" + way_out + ")";
  return one_line(std::move(text));
}

Error::Error(std::string place, std::string problem, std::string way_out, ExitCode code)
    : Error({Fault{std::move(place), std::move(problem), std::move(way_out)}}, code) {}

Error::Error(const std::vector<Fault>& faults, ExitCode code)
    : std::runtime_error(join_lines(faults)), code_(code) {}

Error usage_error(std::string place, std::string problem, std::string way_out) {
  return Error(std::move(place), std::move(problem), std::move(way_out), ExitCode::kUsage);
}

Error stopped_error(std::string place, int signal, std::string way_out) {
  return Error(std::move(place), "stopped by signal " + std::to_string(signal), std::move(way_out),
               static_cast<ExitCode>(128 + signal));
}

void ensure(bool holds, const char* what, const char* file, int line) {
  if (holds) return;
  std::fprintf(stderr,
               "alibi: internal fault at %s:%d: expected that %s. Please report this line.\n", file,
               line, what);
  std::abort();
}

}  // namespace alibi
