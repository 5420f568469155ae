// Control groups (cgroups) that hold this process: what a container or a batch system limits.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace alibi {

struct ControlGroup {
  std::filesystem::path folder;  // of its files; need not exist
  bool unified = true;  // of version 2, whose files have other names than those of version 1
};

// Of `controller` ("memory", "cpu"): this process's own group, then those above it up to the root,
// each of which may have a limit. In a container the path that /proc names is often not mounted;
// then the root of the mount is the container's own group. `root` holds proc/ and sys/.
std::vector<ControlGroup> control_groups(const std::filesystem::path& root,
                                         const std::string& controller);

// Equal for two processes of one machine in the same groups, and in no others.
std::string control_group_names(const std::filesystem::path& root);

}  // namespace alibi
