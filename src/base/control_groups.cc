#include "base/control_groups.h"

#include <fstream>
#include <iterator>
#include <system_error>

namespace alibi {

namespace fs = std::filesystem;

std::vector<ControlGroup> control_groups(const fs::path& root, const std::string& controller) {
  std::vector<ControlGroup> groups;
  const fs::path mounted = root / "sys/fs/cgroup";
  std::ifstream lines(root / "proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && ("," + controllers + ",").find("," + controller + ",") == std::string::npos)
      continue;
    const fs::path top = unified ? mounted : mounted / controller;
    fs::path group = fs::path(line.substr(second + 1)).relative_path();
    for (;; group = group.parent_path()) {
      groups.push_back({top / group, unified});
      if (group.empty()) break;
    }
  }
  return groups;
}

std::string control_group_names(const fs::path& root) {
  std::error_code none;
  std::ifstream groups(root / "proc/self/cgroup");
  return fs::read_symlink(root / "proc/self/ns/cgroup", none).string() +
         std::string(std::istreambuf_iterator<char>(groups), {});
}

}  // namespace alibi
