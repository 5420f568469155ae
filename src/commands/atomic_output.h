// What a command writes for its user: whole under its name, or not there.
#pragma once

#include <filesystem>
#include <functional>

namespace alibi {

// Refuses a `target` that exists (a usage error).
void refuse_existing(const std::filesystem::path& target);

// `write` gets a path beside `target` that does not exist; what it leaves there is renamed to
// `target`, durably, when it returns, and removed when it throws, with the folders made for it.
// What a killed process left there is removed, too. Errors name `target`.
void write_atomically(const std::filesystem::path& target,
                      const std::function<void(const std::filesystem::path&)>& write);

}  // namespace alibi
