#include "base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/strings.h"
#include "base/system_calls.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail(const fs::path& path, const char* action, int number) {
  std::string way_out;
  if (number == ENOSPC || number == EDQUOT)
    way_out = "free some space, then run again (a run with --resume)";
  if (number == EFBIG)
    way_out = "raise the limit on file sizes (ulimit -f), or choose a folder on another disk";
  if (number == EACCES || number == EROFS || number == EPERM)
    way_out = "choose a folder you may write";
  if (number == ENOENT && path.is_relative()) {
    std::error_code ignored;
    way_out = cat("names are relative to ", fs::current_path(ignored).string());
  }
  throw Error(path.string(), cat("cannot ", action, ": ", std::strerror(number)), way_out);
}

// Makes a system call again for as long as a signal interrupts it.
auto uninterrupted(const auto& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// The same error with `target` wherever its text names `path`.
Error naming(const fs::path& target, const fs::path& path, const Error& error) {
  std::string text = error.what();
  for (std::size_t at = 0; (at = text.find(path.string(), at)) != std::string::npos;) {
    text.replace(at, path.string().size(), target.string());
    at += target.string().size();
  }
  return Error({Fault{"", std::move(text), ""}}, error.exit_code());
}

}  // namespace

OutputFile::OutputFile(fs::path path, Mode mode) : path_(std::move(path)) {
  const int how = mode == Mode::kCreate   ? O_CREAT | O_TRUNC
                  : mode == Mode::kAppend ? O_CREAT | O_APPEND
                                          : 0;
  // Not through a link, which may lead out of the folder, and not waiting for a pipe's reader.
  const int flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | how;
  descriptor_ = uninterrupted([&] { return system_calls::open(path_, flags); });
  if (descriptor_ < 0) fail(path_, mode == Mode::kUpdate ? "open" : "create", errno);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = uninterrupted(
        [&] { return system_calls::write(descriptor_, path_, bytes.data(), bytes.size()); });
    if (written < 0) fail(path_, "write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void OutputFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text.data(), text.size())));
}

void OutputFile::overwrite(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = uninterrupted([&] {
      return system_calls::write_at(descriptor_, path_, bytes.data(), bytes.size(),
                                    static_cast<off_t>(offset));
    });
    if (written < 0) fail(path_, "write", errno);
    offset += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void OutputFile::sync() {
  if (system_calls::sync(descriptor_, path_) != 0) fail(path_, "fsync", errno);
}

void OutputFile::close() {
  // Interrupted is closed: Linux has given the descriptor back by then.
  if (system_calls::close(std::exchange(descriptor_, -1), path_) != 0 && errno != EINTR)
    fail(path_, "close", errno);
}

void fill_standard_descriptors() {
  int descriptor = ::open("/dev/null", O_RDWR);
  while (descriptor >= 0 && descriptor <= STDERR_FILENO) descriptor = ::open("/dev/null", O_RDWR);
  if (descriptor > STDERR_FILENO) ::close(descriptor);
}

std::string read_file(const fs::path& path, std::uint64_t limit) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) fail(path, "open", errno);
  // Opening must not wait for a pipe's writer; reading from one that is there must.
  ::fcntl(descriptor, F_SETFL, 0);
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = uninterrupted([&] { return ::read(descriptor, buffer, sizeof buffer); });
    if (got <= 0 || text.size() > limit) {
      const int number = errno;
      ::close(descriptor);
      if (got < 0) fail(path, "read", number);
      break;
    }
    text.append(buffer, static_cast<std::size_t>(got));
  }
  if (text.size() > limit)
    throw Error(path.string(), cat("is larger than ", human_bytes(double(limit))));
  return text;
}

bool is_there(const fs::path& path) {
  std::error_code code;
  const fs::file_type type = fs::symlink_status(path, code).type();
  if (type == fs::file_type::none) fail(path, "open", code.value());
  return type != fs::file_type::not_found;
}

fs::path name_beside(const fs::path& path, const std::string& what) {
  return path.parent_path() / cat(".", path.filename().string(), ".alibi-", what);
}

StagedPath::StagedPath(fs::path target)
    : target_(std::move(target)), path_(name_beside(target_, "tmp")) {}

StagedPath::StagedPath(fs::path target, fs::path path)
    : target_(std::move(target)), path_(std::move(path)), remove_recursively_(true) {}

StagedPath::~StagedPath() {
  if (path_.empty()) return;
  std::error_code ignored;
  if (remove_recursively_)
    fs::remove_all(path_, ignored);
  else
    fs::remove(path_, ignored);  // no folder that somebody named so and filled
}

void StagedPath::commit() {
  rename_durably(path_, target_);
  path_.clear();
}

void StagedPath::make(const std::function<void(const fs::path&)>& write, bool durable) {
  try {
    write(path_);
    if (durable) return commit();
    fs::rename(path_, target_);
    path_.clear();
  } catch (const Error& error) {
    throw naming(target_, path_, error);
  }
}

void write_file_synced(const fs::path& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.sync();
  file.close();
}

void write_file_atomic(const fs::path& path, std::string_view text) {
  StagedPath(path).make([&](const fs::path& beside) { write_file_synced(beside, text); });
}

void check_file_name(const std::filesystem::path& name, const std::string& option) {
  const std::filesystem::path folder = name.has_parent_path() ? name.parent_path() : ".";
  std::error_code ignored;
  if (std::filesystem::is_directory(name, ignored))
    throw usage_error(option, cat(name.string(), " is a folder, expected the name of a file"),
                      "name a file in it");
  const fs::file_type found = fs::symlink_status(name, ignored).type();
  if (found != fs::file_type::regular && found != fs::file_type::not_found) {
    const char* const kind = found == fs::file_type::symlink ? "a link"
                             : found == fs::file_type::fifo  ? "a pipe"
                                                             : "no file";
    throw usage_error(option, cat(name.string(), " is ", kind, ", expected a file or a free name"),
                      "name another one, or leave it out to write to standard output");
  }
  if (!std::filesystem::is_directory(folder, ignored))
    throw usage_error(option, cat(name.string(), ": found no folder ", folder.string()),
                      "make it, or name another file");
  if (::access(folder.c_str(), W_OK) != 0 && errno != ENOENT)
    throw usage_error(
        option,
        cat(name.string(), ": cannot write into ", folder.string(), ": ", std::strerror(errno)),
        "choose a folder you may write");
}

fs::path without_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

fs::path make_folders(const fs::path& path) {
  std::error_code ignored;
  std::vector<fs::path> missing;  // the deepest one first
  fs::path folder = without_slash(path);
  for (; !folder.empty() && !fs::is_directory(folder, ignored); folder = folder.parent_path())
    missing.push_back(folder);
  for (auto next = missing.rbegin(); next != missing.rend(); ++next) {
    if (uninterrupted([&] { return system_calls::make_folder(*next); }) == 0) {
      sync_folder(next->parent_path());
      continue;
    }
    const int number = errno;
    const bool another_was_first = number == EEXIST && fs::is_directory(*next, ignored);
    if (!another_was_first) fail(path, "make folder", number == EEXIST ? ENOTDIR : number);
  }
  return missing.empty() ? fs::path() : missing.back();
}

void remove_empty_folders(const fs::path& path, const fs::path& topmost) {
  std::error_code ignored;
  fs::path folder = without_slash(path);
  while (!topmost.empty() && !folder.empty() && fs::remove(folder, ignored) && folder != topmost)
    folder = folder.parent_path();
}

FoldersAbove::FoldersAbove(const fs::path& output)
    : path_(output.parent_path()), made_(path_.empty() ? fs::path() : make_folders(path_)) {}

void check_can_make_folder(const fs::path& path) {
  std::error_code code;
  fs::path there = fs::absolute(path), missing;
  while (there.has_relative_path() && !fs::exists(there, code)) {
    missing = there;
    there = there.parent_path();
  }
  if (!fs::is_directory(there, code)) fail(path, "make folder", ENOTDIR);
  if (::access(there.c_str(), W_OK | X_OK) != 0) fail(path, "make folder", errno);
  if (missing.empty()) return;
  const bool made = fs::create_directory(missing, code);
  if (code) fail(path, "make folder", code.value());
  if (made) fs::remove(missing, code);
}

void sync_folder(const fs::path& path) {
  const fs::path folder = path.empty() ? fs::path(".") : path;
  const int descriptor = uninterrupted([&] { return system_calls::open_folder(folder); });
  if (descriptor < 0) fail(folder, "open folder", errno);
  const int result = system_calls::sync(descriptor, folder);
  const int number = errno;
  ::close(descriptor);
  if (result != 0) fail(folder, "fsync folder", number);
}

void rename_durably(const fs::path& from, const fs::path& to) {
  if (uninterrupted([&] { return system_calls::rename(from, to); }) != 0)
    fail(to, "rename into place", errno);
  sync_folder(to.parent_path());
}

void remove_tree(const fs::path& path) {
  std::error_code code;
  if (fs::is_directory(fs::symlink_status(path, code))) {
    std::vector<fs::path> inside;
    for (fs::directory_iterator entry(path, code); !code && entry != fs::directory_iterator();
         entry.increment(code))
      inside.push_back(entry->path());
    if (code) fail(path, "list", code.value());
    for (const fs::path& entry : inside) remove_tree(entry);
  }
  if (uninterrupted([&] { return system_calls::remove(path); }) != 0 && errno != ENOENT)
    fail(path, "remove", errno);
}

FileLock::FileLock(const fs::path& path, const std::string& who) : path_(path), who_(who) {
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (descriptor_ < 0) fail(path, "open lock", errno);
  if (uninterrupted([&] { return ::flock(descriptor_, LOCK_EX | LOCK_NB); }) != 0) {
    const int number = errno;
    ::close(descriptor_);
    if (number != EWOULDBLOCK) fail(path, "lock", number);
    throw LockHeld(path.string(), who + " is in use by another process",
                   "wait for it to end or choose another folder");
  }
  if (is_named()) return;
  ::close(descriptor_);  // its former holder removed the file: another process may hold a new one
  throw LockHeld(path.string(), who + " was removed by another process just now", "run it again");
}

bool FileLock::is_named() const {
  struct stat held {
  }, named{};
  return ::fstat(descriptor_, &held) == 0 && ::stat(path_.c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

void FileLock::check() const {
  if (is_named()) return;
  throw Error(
      path_.string(),
      cat("the lock was removed while this process held it: another one may be using ", who_),
      "see that one process uses it, then run this again (a run with --resume)");
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

fs::path cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != 0) {
    return fs::path(cache) / "alibi";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != 0) {
    return fs::path(home) / ".cache" / "alibi";
  }
  return fs::path(".cache") / "alibi";
}

}  // namespace alibi
