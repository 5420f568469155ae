// Modules that need LibTorch's CUDA library, against one. Needs scripts/setup --verify; no device.
#include <cstdlib>
#include <filesystem>

#include "base/strings.h"
#include "commands/cli_fixture.h"

namespace alibi {
namespace {

// Every name that the module leaves open is in LibTorch's CUDA library, and its function gives its
// version: a table of an int and a text.
void expect_all_names(const std::string& file, const std::string& function) {
  const char* const python = std::getenv("ALIBI_VERIFY_PYTHON");
  if (python == nullptr) GTEST_SKIP() << "ALIBI_VERIFY_PYTHON is not set";
  const std::filesystem::path module = std::filesystem::path(ALIBI_BINARY).parent_path() / file;
  if (!std::filesystem::exists(module)) GTEST_SKIP() << module << " was not built";
  const CliFixture place;
  const std::string script =
      cat("import ctypes, os, torch\n"
          "library = os.path.join(os.path.dirname(torch.__file__), 'lib', 'libtorch_cuda.so')\n"
          "ctypes.CDLL(library, mode=os.RTLD_NOW | os.RTLD_GLOBAL)\n"
          "module = ctypes.CDLL('",
          module.string(),
          "', mode=os.RTLD_NOW)\n"
          "class Table(ctypes.Structure):\n"
          "    _fields_ = [('version', ctypes.c_int), ('torch', ctypes.c_char_p)]\n"
          "function = module.",
          function,
          "\n"
          "function.restype = ctypes.POINTER(Table)\n"
          "table = function().contents\n"
          "print(table.version, table.torch.decode())\n");
  write_file_atomic(place.path() / "look.py", script);
  const std::string command =
      cat("cd '", place.path().string(), "' && '", python, "' look.py > told.txt");
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(place.read("told.txt"), "1 2.11.0\n");
}

TEST(ModulesInterop, NcclFindsAllNames) {
  expect_all_names("libalibi_nccl.so", "alibi_device_group_module");
}

TEST(ModulesInterop, GraphsFindAllNames) {
  expect_all_names("libalibi_graphs.so", "alibi_device_graph_module");
}

}  // namespace
}  // namespace alibi
