// Threads of OpenMP that wait for each other spin before they sleep. By default they spin for
// milliseconds: beside other programs, which hold the cores that the awaited threads need, each
// wait then costs time slices of the scheduler. So the spinning is bounded, unless the user has
// chosen.
//
// The runtime reads its setting once, when it is loaded, before main(): the program starts itself
// again with the setting in its environment. This happens in the program's preinit functions, which
// run before the constructors of every library, and so costs the mapping of the libraries only.
#include <sys/auxv.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace {

// Iterations of libgomp's wait loop, a pause instruction each.
char kSetting[] = "GOMP_SPINCOUNT=2000";

bool names(const char* setting, std::string_view variable) {
  return std::string_view(setting).starts_with(variable) && setting[variable.size()] == '=';
}

// No library has been initialised yet: system calls and plain memory only.
void limit_spinning(int, char** arguments, char** environment) {
  std::size_t count = 0;
  for (; environment[count] != nullptr; ++count) {
    if (names(environment[count], "GOMP_SPINCOUNT") || names(environment[count], "OMP_WAIT_POLICY"))
      return;
  }
  if (getauxval(AT_BASE) == 0) return;  // started through the loader, which /proc/self/exe names
  constexpr std::size_t kMostVariables = 4096;
  static std::array<char*, kMostVariables + 2> extended;
  static std::array<char, PATH_MAX> program;
  const ssize_t length = readlink("/proc/self/exe", program.data(), program.size() - 1);
  if (count > kMostVariables || length <= 0) return;
  std::memcpy(extended.data(), environment, count * sizeof(char*));
  extended[count] = kSetting;
  execve(program.data(), arguments, extended.data());  // on failure this start goes on as it is
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const preinit)(int, char**,
                                                                    char**) = limit_spinning;

}  // namespace
