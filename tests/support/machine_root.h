// A folder with proc/ and sys/ as another machine would show them.
#pragma once

#include <filesystem>
#include <string>

#include "base/files.h"
#include "support/temporary_folder.h"

namespace alibi {

class MachineRoot {
 public:
  void put(const std::string& name, const std::string& text) const {
    make_folders((path() / name).parent_path());
    write_file_atomic(path() / name, text);
  }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

}  // namespace alibi
