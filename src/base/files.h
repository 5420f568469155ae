// Writing that survives a crash: data first, then its name. All writing goes through this file.
//
// fsync is final: after a failed one the kernel may have dropped the pages, so nothing retries it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace alibi {

// A file being written. Every failure is an Error with the path and the system's reason.
class OutputFile {
 public:
  enum class Mode { kCreate, kAppend, kUpdate };  // kUpdate: of a file that is there
  explicit OutputFile(std::filesystem::path path, Mode mode = Mode::kCreate);
  ~OutputFile();  // closes without fsync; an unfinished file is left for its owner to remove
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void overwrite(std::uint64_t offset,
                 std::span<const std::byte> bytes);  // kCreate, kUpdate; beyond the end: it grows
  void sync();
  void close();
  int descriptor() const { return descriptor_; }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

// Opens /dev/null for standard descriptors that are closed: the next file would take their numbers
// and with them what is printed.
void fill_standard_descriptors();

// Whole file as text. Throws Error when it cannot be read or is larger than `limit` bytes.
std::string read_file(const std::filesystem::path& path, std::uint64_t limit = 1ull << 30);

// A hidden name of this program's own in the same folder: "out" has ".out.alibi-WHAT".
std::filesystem::path name_beside(const std::filesystem::path& path, const std::string& what);

// Output that is whole under its name, or not there: written beside it, then renamed.
class StagedPath {
 public:
  // A file, written to name_beside(target, "tmp").
  explicit StagedPath(std::filesystem::path target);
  // What is written to `path`, beside it: a file or a folder.
  StagedPath(std::filesystem::path target, std::filesystem::path path);
  ~StagedPath();  // removes what was not committed
  StagedPath(const StagedPath&) = delete;
  StagedPath& operator=(const StagedPath&) = delete;

  const std::filesystem::path& path() const { return path_; }  // where to write
  void commit();  // renames it to the target, durably; what is in it was fsynced before
  // write(path()), then commit(); an Error of either names the target, which alone the user knows.
  // Not `durable`: renamed only, so that a crash may take it.
  void make(const std::function<void(const std::filesystem::path&)>& write, bool durable = true);

 private:
  std::filesystem::path target_, path_;
  bool remove_recursively_ = false;
};

// Writes all of a file and fsyncs it.
void write_file_synced(const std::filesystem::path& path, std::string_view text);
// The same, beside it, then renamed over it: old or new, never half.
void write_file_atomic(const std::filesystem::path& path, std::string_view text);

// Throws a usage error at `option` where no file can stand under this name: a folder, link or
// device does, or its folder is missing. What takes long to make is not made for nothing.
void check_file_name(const std::filesystem::path& name, const std::string& option);

// False where nothing stands under this name, not even a broken link. Throws Error where that
// cannot be seen: a folder above it may not be entered.
bool is_there(const std::filesystem::path& path);

// "out/" names the folder "out".
std::filesystem::path without_slash(const std::filesystem::path& path);

// Each name is durable. Returns the topmost folder that was made; empty where all were there.
std::filesystem::path make_folders(const std::filesystem::path& path);
// Removes `path` and the folders above it up to `topmost`, as far as they are empty; nothing where
// `topmost` is empty.
void remove_empty_folders(const std::filesystem::path& path, const std::filesystem::path& topmost);
// The folders above an output, made where they are missing; those that were made go with this
// object when nothing came into them.
class FoldersAbove {
 public:
  explicit FoldersAbove(const std::filesystem::path& output);
  ~FoldersAbove() { remove_empty_folders(path_, made_); }
  FoldersAbove(const FoldersAbove&) = delete;
  FoldersAbove& operator=(const FoldersAbove&) = delete;

 private:
  std::filesystem::path path_, made_;
};
// Throws the Error that make_folders and writing into `path` would, as far as that can be foreseen.
void check_can_make_folder(const std::filesystem::path& path);
void sync_folder(const std::filesystem::path& path);
// Renames and makes the new name durable by an fsync of its folder.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);
void remove_tree(const std::filesystem::path& path);  // nothing there is fine

// Another process holds a lock, or removed its file just now.
struct LockHeld : Error {
  using Error::Error;
};

// An exclusive advisory lock on `path` (made when missing), held until destruction.
class FileLock {
 public:
  // Throws LockHeld at once when another process holds it, Error where it cannot be locked; `who`
  // names what is locked for the message.
  FileLock(const std::filesystem::path& path, const std::string& who);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  // Throws Error where the file is not the one that is locked any more: somebody removed it, and
  // another process may hold a new one.
  void check() const;

 private:
  bool is_named() const;

  std::filesystem::path path_;
  std::string who_;
  int descriptor_ = -1;
};

// $XDG_CACHE_HOME/alibi, else ~/.cache/alibi.
std::filesystem::path cache_folder();

}  // namespace alibi
