// Text in files that gzip, xz or zstd made, unpacked from start to end without a copy on the disk.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace alibi {

// By its name: ends in .gz, .xz or .zst.
bool is_packed(const std::filesystem::path& file);

// "a.jsonl.gz" without ".gz"; other names as they are.
std::filesystem::path unpacked_name(const std::filesystem::path& file);

class PackedText {
 public:
  // Throws Error naming the file: unreadable, or not what its name says.
  explicit PackedText(const std::filesystem::path& file);
  ~PackedText();
  PackedText(const PackedText&) = delete;
  PackedText& operator=(const PackedText&) = delete;

  // Appends what comes next, up to 1 MiB; false at the end. Throws Error where the file is damaged
  // or ends too early.
  bool read(std::string& text);

  class Reader;  // of one kind of packing

 private:
  std::unique_ptr<Reader> reader_;
};

}  // namespace alibi
