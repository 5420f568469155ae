// The safetensors reader against the Rust reference's negative tests and published attacks. Seen
// failing with each bound left out: header, shape, data, dimensions, holes.
#include "formats/safetensors.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>

#include "base/checksums.h"
#include "base/error.h"
#include "base/files.h"
#include "base/strings.h"
#include "support/error_text.h"
#include "support/temporary_folder.h"

namespace alibi {
namespace {

std::string file_bytes(std::string_view header, std::size_t data) {
  const std::uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  return bytes.append(header).append(data, '\1');
}

std::string fault_of(std::string_view bytes) {
  try {
    parse_safetensors(std::as_bytes(std::span(bytes)), "file");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string tensor(const char* name, const char* rest) {
  return cat("{\"", name, "\":{", rest, "}}");
}

constexpr const char* kGood = R"("dtype":"I32","shape":[2,2],"data_offsets":[0,16])";

TEST(Safetensors, ReadsTheReferenceExample) {
  const std::string bytes = file_bytes(tensor("test", kGood) + "      ", 16);
  const auto content = parse_safetensors(std::as_bytes(std::span(bytes)), "file");
  const TensorView& view = content.tensors.at("test");
  EXPECT_EQ(view.dtype, "I32");
  EXPECT_EQ(view.shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(view.bytes.size(), 16u);
  EXPECT_EQ(fault_of(file_bytes("{}", 0)), "");
  EXPECT_EQ(fault_of(file_bytes(R"({"__metadata__":{"a":"b"}})", 0)), "");
}

struct Hostile {
  const char* what;
  std::string bytes;
  const char* expected;  // a value or key word that the message names
};

std::string with_length(std::uint64_t length, std::string_view rest) {
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  return bytes.append(rest);
}

std::vector<Hostile> hostile_frames() {
  const std::string good = file_bytes(tensor("test", kGood), 16);
  return {
      {"empty file", "", "0"},
      {"seven bytes", std::string("\1\0\0\0\0\0\0", 7), "7"},
      {"header too large", with_length(100'000'001, "{}"), "100000001"},
      {"header length wraps", with_length(~0ull, "{}"), "18446744073709551615"},
      {"header length plus 8 wraps", with_length(~0ull - 7, "{}"), "18446744073709551608"},
      {"header beyond the file", with_length(3, "{}"), "3"},
      {"empty header", file_bytes("", 0), "empty"},
      {"not UTF-8", file_bytes("\xff", 0), "UTF-8"},
      {"not UTF-8 inside", file_bytes("{\"\xc0\x80\":1}", 0), "UTF-8"},
      {"not JSON", file_bytes("{", 0), "JSON"},
      {"a list", file_bytes("[]", 0), "{"},
      {"leading space", file_bytes(" {}", 0), "{"},
      {"zero byte and a second header", file_bytes(std::string_view("{}\0{}", 5), 0), "zero"},
      {"tail of one byte", good + "x", "1"},
      {"two bytes missing", good.substr(0, good.size() - 2), "14"},
      {"data without tensors", file_bytes("{}", 4), "4"},
      {"deep nesting", file_bytes("{\"a\":" + std::string(100'000, '['), 0), "3"},
      {"metadata with a number", file_bytes(R"({"__metadata__":{"a":1}})", 0), "__metadata__"},
      {"metadata as a list", file_bytes(R"({"__metadata__":[]})", 0), "__metadata__"},
  };
}

std::string one(const char* rest, std::size_t data) { return file_bytes(tensor("t", rest), data); }

std::vector<Hostile> hostile_tensors() {
  return {
      {"unknown dtype", one(R"("dtype":"F4","shape":[],"data_offsets":[0,4])", 4), "dtype"},
      {"lower-case dtype", one(R"("dtype":"f32","shape":[],"data_offsets":[0,4])", 4), "dtype"},
      {"no dtype", one(R"("shape":[],"data_offsets":[0,4])", 4), "dtype"},
      {"no shape", one(R"("dtype":"F32","data_offsets":[0,4])", 4), "shape"},
      {"no offsets", one(R"("dtype":"F32","shape":[])", 4), "data_offsets"},
      {"unknown member", one(R"("dtype":"F32","shape":[],"data_offsets":[0,4],"x":1)", 4), "x"},
      {"three offsets", one(R"("dtype":"F32","shape":[],"data_offsets":[0,4,4])", 4), "3"},
      {"offsets backwards", one(R"("dtype":"F32","shape":[],"data_offsets":[4,0])", 4),
       "data_offsets"},
      {"negative offset", one(R"("dtype":"F32","shape":[],"data_offsets":[-4,0])", 4), "-4"},
      {"negative dimension", one(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])", 4), "shape"},
      {"real dimension", one(R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])", 4), "shape"},
      {"text dimension", one(R"("dtype":"F32","shape":["1"],"data_offsets":[0,4])", 4), "shape"},
      {"size too small", one(R"("dtype":"F32","shape":[2,2],"data_offsets":[0,12])", 12), "16"},
      {"size too large", one(R"("dtype":"F32","shape":[2,2],"data_offsets":[0,20])", 20), "16"},
      {"hole before", one(R"("dtype":"F32","shape":[],"data_offsets":[4,8])", 8), "4"},
      {"offsets beyond the file", one(R"("dtype":"U8","shape":[9],"data_offsets":[0,9])", 4), "9"},
      {"overflow 2 x (2^64 - 2)",
       one(R"("dtype":"F32","shape":[2,18446744073709551614],"data_offsets":[0,16])", 16),
       "18446744073709551614"},
      {"overflow 2 x (2^63 - 1)",
       one(R"("dtype":"F32","shape":[2,9223372036854775807],"data_offsets":[0,16])", 16),
       "overflows"},
      {"product is 4 modulo 2^64",
       one(R"("dtype":"U8","shape":[4194305,4194305,211106198978564],"data_offsets":[0,4])", 4),
       "overflows"},
      {"overflow hidden by a zero",
       one(R"("dtype":"U8","shape":[0,4611686018427387904,4],"data_offsets":[0,0])", 0),
       "overflows"},
      {"65 dimensions",
       one(("\"dtype\":\"U8\",\"data_offsets\":[0,1],\"shape\":[1" +
            [] {
              std::string s;
              for (int i = 0; i < 64; ++i) s += ",1";
              return s;
            }() +
            "]")
               .c_str(),
           1),
       "65"},
      {"tensor is no object", file_bytes(R"({"t":[1]})", 0), "\"t\""},
  };
}

std::vector<Hostile> hostile_layouts() {
  const auto two = [](const char* a, const char* b, std::size_t data) {
    return file_bytes(cat("{\"a\":{", a, "},\"t\":{", b, "}}"), data);
  };
  const char* first = R"("dtype":"U8","shape":[4],"data_offsets":[0,4])";
  std::string ten = "{";
  for (int i = 0; i < 10; ++i) ten += cat(i ? "," : "", "\"t", i, "\":{", kGood, "}");
  return {
      {"ten tensors on one range", file_bytes(ten + "}", 16), "0"},
      {"overlap", two(first, R"("dtype":"U8","shape":[4],"data_offsets":[2,6])", 6), "2"},
      {"hole between", two(first, R"("dtype":"U8","shape":[4],"data_offsets":[5,9])", 9), "5"},
      {"empty one inside", two(first, R"("dtype":"U8","shape":[0],"data_offsets":[2,2])", 4), "2"},
      {"empty one beyond", two(first, R"("dtype":"U8","shape":[0],"data_offsets":[9,9])", 4), "9"},
      {"duplicate name",
       file_bytes(R"({"t":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                  R"("t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                  4),
       "/t"},
      {"duplicate member", one(R"("dtype":"U8","dtype":"I8","shape":[4],"data_offsets":[0,4])", 4),
       "dtype"},
  };
}

TEST(Safetensors, RefusesHostileFilesByName) {
  for (const auto& list : {hostile_frames(), hostile_tensors(), hostile_layouts()}) {
    for (const Hostile& hostile : list) {
      const std::string fault = fault_of(hostile.bytes);
      EXPECT_EQ(fault.rfind("file: ", 0), 0u) << hostile.what << " gave: " << fault;
      EXPECT_NAMES(fault, hostile.expected) << hostile.what;
      EXPECT_EQ(fault.find('\n'), std::string::npos) << hostile.what;
    }
  }
  for (const Hostile& hostile : hostile_tensors()) {
    const std::string fault = fault_of(hostile.bytes);
    EXPECT_NAMES(fault, "\"t\"") << hostile.what;
  }
}

TEST(Safetensors, RefusesMoreValuesThanAModelHas) {
  std::string header = "{\"t\":{\"shape\":[0";
  for (int i = 0; i < 1'000'000; ++i) header += ",0";
  EXPECT_NAMES(fault_of(file_bytes(header + "]}}", 0)), 1000000);
}

TEST(Safetensors, SurvivesEveryTruncationAndHeaderFlip) {
  const std::string good =
      file_bytes(cat("{\"__metadata__\":{\"k\":\"v\"},\"a\":{", kGood, "},\"b\":{",
                     R"("dtype":"BF16","shape":[],"data_offsets":[16,18])", "}}"),
                 18);
  ASSERT_EQ(fault_of(good), "");
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_NE(fault_of(good.substr(0, size)), "") << size;
  }
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    fault_of(bad);  // some flips give another valid file; none may crash (run under sanitizers)
  }
}

TEST(Safetensors, WritesWhatItReads) {
  const TemporaryFolder folder;
  std::string data(64, 'x');
  const auto bytes = std::as_bytes(std::span(data));
  const TensorViews tensors = {{"byte", {"U8", {3}, bytes.first(3)}},
                               {"double", {"F64", {2, 1}, bytes.first(16)}},
                               {"empty", {"F32", {4, 0, 2}, {}}},
                               {"half", {"F16", {}, bytes.first(2)}},
                               {"odd \"name\" \n é", {"BOOL", {1}, bytes.first(1)}}};
  const auto path = folder.path() / "x.safetensors";
  const SafetensorsDigests digests = write_safetensors(path, tensors, {{"format", "pt"}});
  EXPECT_EQ(digests.file, sha256_file(path));
  EXPECT_EQ(digests.bytes, std::filesystem::file_size(path));
  EXPECT_EQ(digests.tensors.at("byte"), sha256_hex(std::string_view("xxx")));
  const SafetensorsFile file(path);
  ASSERT_EQ(file.tensors().size(), tensors.size());
  EXPECT_EQ(file.metadata().at("format"), "pt");
  for (const auto& [name, view] : tensors) {
    const TensorView& read = *file.find(name);
    EXPECT_EQ(read.dtype, view.dtype);
    EXPECT_EQ(read.shape, view.shape);
    ASSERT_EQ(read.bytes.size(), view.bytes.size());
    if (!view.bytes.empty()) {
      EXPECT_EQ(std::memcmp(read.bytes.data(), view.bytes.data(), view.bytes.size()), 0);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(read.bytes.data()) % *dtype_width(view.dtype), 0u);
    }
  }
  EXPECT_EQ(file.find("absent"), nullptr);
}

TEST(Safetensors, OpensRegularFilesOnly) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  for (const auto& path : {folder.path() / "absent", folder.path() / "pipe", folder.path(),
                           std::filesystem::path("/dev/zero")}) {
    EXPECT_THROW(SafetensorsFile{path}, Error) << path;
  }
}

}  // namespace
}  // namespace alibi
