// Runs a harness over files and folders of inputs, without libFuzzer: how every build's tests
// replay the corpus.
//
// usage: replay_NAME FILE|FOLDER...
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/fuzz.h"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    const std::size_t before = files.size();
    if (!fs::is_directory(argv[i])) files.emplace_back(argv[i]);
    for (const auto& entry :
         fs::is_directory(argv[i]) ? fs::directory_iterator(argv[i]) : fs::directory_iterator())
      files.push_back(entry.path());
    if (files.size() == before) {
      std::fprintf(stderr, "%s: found an empty folder, expected inputs in it\n", argv[i]);
      return 1;
    }
  }
  for (const fs::path& file : files) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream.is_open() || fs::is_directory(file)) {
      std::fprintf(stderr, "%s: found no file that can be read, expected an input\n", file.c_str());
      return 1;
    }
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("%zu inputs\n", files.size());
  return files.empty() ? 1 : 0;
}
