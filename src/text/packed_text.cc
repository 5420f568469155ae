#include "text/packed_text.h"

#include <archive.h>
#include <archive_entry.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/strings.h"

namespace alibi {
namespace fs = std::filesystem;
namespace {

constexpr unsigned kPart = 1u << 20;
constexpr const char* kWayOut = "the file is damaged, cut short or of another kind";
constexpr const char* kLongWindow =
    "it was packed with --long: unpack it with zstd -d --long=31, and name what comes out or pipe "
    "its lines into alibi prepare -";

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
  [[noreturn]] void refuse(const char* library, const char* way_out = kWayOut) const {
    throw Error(file_.string(),
                cat("cannot be unpacked: ", library != nullptr ? library : "out of memory"),
                way_out);
  }
  void need(bool is_of_its_kind) const {
    if (!is_of_its_kind)
      throw Error(file_.string(),
                  cat("does not begin as a ", file_.extension().string(), " file does"), kWayOut);
  }

  fs::path file_;
};

namespace {

// libarchive and zlib's gzread read this, too, but the one does not compare checksums, and the
// other takes whatever follows the first member for trailing data.
class Gzip final : public PackedText::Reader {
 public:
  explicit Gzip(const fs::path& file) : Reader(file), mapped_(file), rest_(mapped_.bytes()) {
    need(rest_.size() > 1 && rest_[0] == std::byte{0x1f} && rest_[1] == std::byte{0x8b});
    if (inflateInit2(&stream_, 15 + 16) != Z_OK) refuse(stream_.msg);  // 16: a gzip member
  }
  ~Gzip() override { inflateEnd(&stream_); }

  std::size_t read(char* to) override {
    stream_.next_out = reinterpret_cast<Bytef*>(to);
    stream_.avail_out = kPart;
    while (stream_.avail_out > 0 && !ended_) step();
    return kPart - stream_.avail_out;
  }

 private:
  void step() {
    const std::size_t given = std::min<std::size_t>(rest_.size(), 1u << 30);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest_.data()));
    stream_.avail_in = static_cast<uInt>(given);
    const int code = inflate(&stream_, Z_NO_FLUSH);
    rest_ = rest_.subspan(given - stream_.avail_in);
    if (code == Z_STREAM_END) {
      const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
      ended_ = std::all_of(rest_.begin(), rest_.end(), is_zero);  // some writers pad
      if (!ended_) inflateReset(&stream_);
    } else if (code != Z_OK) {
      refuse(rest_.empty() ? "it ends too early" : stream_.msg);
    }
  }

  MappedFile mapped_;
  std::span<const std::byte> rest_;
  z_stream stream_{};
  bool ended_ = false;
};

struct CloseArchive {
  void operator()(archive* reader) const { archive_read_free(reader); }
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
    if (code < ARCHIVE_WARN) refuse_as_told();
    ended_ = code == ARCHIVE_EOF;  // nothing inside
    need(archive_filter_code(reader_.get(), 0) ==
         (is_xz ? ARCHIVE_FILTER_XZ : ARCHIVE_FILTER_ZSTD));
    if (archive_filter_count(reader_.get()) > 2)  // one, and the file itself
      refuse("it is packed twice");
  }

  std::size_t read(char* to) override {
    if (ended_) return 0;
    const la_ssize_t got = archive_read_data(reader_.get(), to, kPart);
    if (got < 0) refuse_as_told();
    ended_ = got == 0;
    return static_cast<std::size_t>(got);
  }

 private:
  // zstd's window may be as large as 2 GiB, of which its library takes 128 MiB. libarchive has no
  // code for it, only zstd's words.
  [[noreturn]] void refuse_as_told() const {
    const char* const words = archive_error_string(reader_.get());
    const bool is_long = words != nullptr && std::strstr(words, "too much memory") != nullptr;
    refuse(words, is_long ? kLongWindow : kWayOut);
  }

  std::unique_ptr<archive, CloseArchive> reader_;
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
