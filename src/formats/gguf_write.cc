#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "base/overloaded.h"
#include "formats/gguf.h"
#include "formats/gguf_types.h"

namespace alibi {
namespace {

class Head {
 public:
  template <class Number>
  void number(Number value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view value) {
    number<std::uint64_t>(value.size());
    text_ += value;
  }
  void pad() { text_.resize(gguf::padded(text_.size())); }
  std::string take() { return std::move(text_); }
  void raw(std::string_view bytes) { text_ += bytes; }

 private:
  std::string text_;
};

template <class Element, class Put>
void put_array(Head& head, gguf::Type type, const std::vector<Element>& values, const Put& put) {
  head.number<std::uint32_t>(gguf::kArray);
  head.number<std::uint32_t>(type);
  head.number<std::uint64_t>(values.size());
  for (const Element& value : values) put(value);
}

template <class Number>
void put_scalar(Head& head, gguf::Type type, Number value) {
  head.number<std::uint32_t>(type);
  head.number(value);
}

void put_value(Head& head, const GgufValue& value) {
  std::visit(Overloaded{[&](bool v) { put_scalar<std::uint8_t>(head, gguf::kBool, v ? 1 : 0); },
                        [&](std::uint32_t v) { put_scalar(head, gguf::kU32, v); },
                        [&](std::int32_t v) { put_scalar(head, gguf::kI32, v); },
                        [&](float v) { put_scalar(head, gguf::kF32, v); },
                        [&](const std::string& v) {
                          head.number<std::uint32_t>(gguf::kString);
                          head.text(v);
                        },
                        [&](const std::vector<std::string>& v) {
                          put_array(head, gguf::kString, v,
                                    [&](const std::string& s) { head.text(s); });
                        },
                        [&](const std::vector<float>& v) {
                          put_array(head, gguf::kF32, v, [&](float x) { head.number(x); });
                        },
                        [&](const std::vector<std::int32_t>& v) {
                          put_array(head, gguf::kI32, v, [&](std::int32_t x) { head.number(x); });
                        }},
             value);
}

std::string head_of(const GgufKeys& keys, const std::vector<GgufTensor>& tensors) {
  Head head;
  head.raw("GGUF");
  head.number(gguf::kVersion);
  head.number<std::uint64_t>(tensors.size());
  head.number<std::uint64_t>(keys.size());
  for (const auto& [name, value] : keys) {
    head.text(name);
    put_value(head, value);
  }
  std::uint64_t offset = 0;
  for (const GgufTensor& tensor : tensors) {
    ensure(tensor.name.size() <= gguf::kLongestName, "a tensor's name fits GGUF");
    ensure(!tensor.shape.empty() && tensor.shape.size() <= 4, "GGUF has 1 to 4 dimensions");
    head.text(tensor.name);
    head.number<std::uint32_t>(static_cast<std::uint32_t>(tensor.shape.size()));
    for (auto size = tensor.shape.rbegin(); size != tensor.shape.rend(); ++size)
      head.number<std::uint64_t>(static_cast<std::uint64_t>(*size));
    head.number<std::uint32_t>(static_cast<std::uint32_t>(tensor.element));
    head.number(offset);
    offset += gguf::padded(gguf_bytes(tensor));
  }
  head.pad();
  return head.take();
}

}  // namespace

std::uint64_t gguf_bytes(const GgufTensor& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t size : tensor.shape) {
    ensure(size >= 0 && !__builtin_mul_overflow(count, size, &count), "a tensor's size fits");
  }
  switch (tensor.element) {
    case GgufElement::kF32:
      return static_cast<std::uint64_t>(count) * 4;
    case GgufElement::kF16:
    case GgufElement::kBf16:
      return static_cast<std::uint64_t>(count) * 2;
    case GgufElement::kQ8:
      ensure(tensor.shape.back() % gguf::kBlock == 0, "a row of Q8_0 is whole blocks");
      return static_cast<std::uint64_t>(count / gguf::kBlock) * (2 + gguf::kBlock);
  }
  ensure(false, "an element type of ours");
  return 0;
}

void write_gguf(const std::filesystem::path& path, const GgufKeys& keys,
                const std::vector<GgufTensor>& tensors, const GgufSource& source) {
  OutputFile file(path);
  file.write(head_of(keys, tensors));
  for (const GgufTensor& tensor : tensors) {
    const auto bytes = source(tensor.name);
    ensure(bytes.size() == gguf_bytes(tensor), "a tensor's bytes match its shape");
    file.write(bytes);
    file.write(std::string(gguf::padded(bytes.size()) - bytes.size(), '\0'));
  }
  file.sync();
  file.close();
}

}  // namespace alibi
