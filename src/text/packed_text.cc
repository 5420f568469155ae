#include "text/packed_text.h"

#include <archive.h>
#include <archive_entry.h>
#include <zlib.h>

#include <utility>

#include "base/error.h"
#include "base/strings.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

constexpr unsigned kPart = 1u << 20;
constexpr const char* kWayOut = "the file is damaged, cut short or of another kind";

}  // namespace

bool is_packed(const fs::path& file) {
  const std::string ending = file.extension().string();
  return ending == ".gz" || ending == ".xz" || ending == ".zst";
}

fs::path unpacked_name(const fs::path& file) {
  return is_packed(file) ? file.parent_path() / file.stem() : file;
}

class PackedText::Reader {
 public:
  explicit Reader(fs::path file) : file_(std::move(file)) {}
  virtual ~Reader() = default;
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  virtual std::size_t read(char* to) = 0;  // at most kPart bytes; 0 at the end

 protected:
  [[noreturn]] void refuse(const char* library) const {
    throw Error(file_.string(),
                cat("cannot be unpacked: ", library != nullptr ? library : "out of memory"),
                kWayOut);
  }
  void need(bool is_of_its_kind) const {
    if (!is_of_its_kind)
      throw Error(file_.string(),
                  cat("does not begin as a ", file_.extension().string(), " file does"), kWayOut);
  }

  fs::path file_;
};

namespace {

template <class Handle, int (*close)(Handle*)>
struct Close {
  void operator()(Handle* handle) const { close(handle); }
};

// libarchive reads this, too, but does not compare checksums.
class Gzip final : public PackedText::Reader {
 public:
  explicit Gzip(const fs::path& file) : Reader(file), stream_(gzopen(file.c_str(), "rb")) {
    if (!stream_) refuse("cannot be opened");
    gzbuffer(stream_.get(), kPart);
    need(gzdirect(stream_.get()) == 0);
  }

  std::size_t read(char* to) override {
    const int got = gzread(stream_.get(), to, kPart);
    int code = Z_OK;
    const char* said = gzerror(stream_.get(), &code);
    if (got < 0 || code != Z_OK) refuse(said);
    return static_cast<std::size_t>(got);
  }

 private:
  std::unique_ptr<gzFile_s, Close<gzFile_s, gzclose_r>> stream_;
};

class Archive final : public PackedText::Reader {
 public:
  explicit Archive(const fs::path& file) : Reader(file), reader_(archive_read_new()) {
    const bool is_xz = file.extension() == ".xz";
    if (is_xz) archive_read_support_filter_xz(reader_.get());
    if (!is_xz) archive_read_support_filter_zstd(reader_.get());
    archive_read_support_format_raw(reader_.get());
    archive_read_support_format_empty(reader_.get());
    archive_entry* entry = nullptr;
    int code = archive_read_open_filename(reader_.get(), file.c_str(), kPart);
    if (code >= ARCHIVE_WARN) code = archive_read_next_header(reader_.get(), &entry);
    if (code < ARCHIVE_WARN) refuse(archive_error_string(reader_.get()));
    ended_ = code == ARCHIVE_EOF;  // nothing inside
    need(archive_filter_code(reader_.get(), 0) ==
         (is_xz ? ARCHIVE_FILTER_XZ : ARCHIVE_FILTER_ZSTD));
  }

  std::size_t read(char* to) override {
    if (ended_) return 0;
    const la_ssize_t got = archive_read_data(reader_.get(), to, kPart);
    if (got < 0) refuse(archive_error_string(reader_.get()));
    ended_ = got == 0;
    return static_cast<std::size_t>(got);
  }

 private:
  std::unique_ptr<archive, Close<archive, archive_read_free>> reader_;
  bool ended_ = false;
};

}  // namespace

PackedText::PackedText(const fs::path& file) {
  if (file.extension() == ".gz") {
    reader_ = std::make_unique<Gzip>(file);
  } else {
    reader_ = std::make_unique<Archive>(file);
  }
}

PackedText::~PackedText() = default;

bool PackedText::read(std::string& text) {
  const std::size_t before = text.size();
  text.resize(before + kPart);
  const std::size_t got = reader_->read(text.data() + before);
  text.resize(before + got);
  return got > 0;
}

}  // namespace alibi
