#include "kernels/cuda/ptx/ptx_attention.h"

#include "base/strings.h"

namespace alibi {
namespace {

int kernel_width(int width) {
  return with_kernel_width(width, [](auto kernel) -> int { return kernel(); });
}

// A decoded kernel is kept: decoding takes longer than a small launch.
const PtxKernel& decoded(AttentionKernel kernel, int width) {
  static std::map<std::pair<AttentionKernel, int>, PtxKernel> kept;
  const std::pair key(kernel, kernel_width(width));
  const auto found = kept.find(key);
  if (found != kept.end()) return found->second;
  return kept[key] = decode_ptx(ptx_of(kernel, width));
}

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& numbers) {
  return std::as_bytes(std::span(numbers));
}

template <class T>
T* pointer(std::uint64_t address) {
  return reinterpret_cast<T*>(address);
}
std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

}  // namespace

const CompiledPtx& compiled_attention() {
  static const CompiledPtx compiled = read_compiled_ptx(ALIBI_ATTENTION_PTX);
  return compiled;
}

std::string ptx_of(AttentionKernel kernel, int width) {
  const PtxText& text = compiled_attention().text.value();
  const std::string of_width = cat("DeviceBlockELi", kernel_width(width), "E");
  switch (kernel) {
    case AttentionKernel::kNorms:
      return text.kernel({"KeyNorms"});
    case AttentionKernel::kReach:
      return text.kernel({"KeyReach"});
    case AttentionKernel::kDelta:
      return text.kernel({"run_delta"});
    case AttentionKernel::kForward:
      return text.kernel({"AttentionForward", of_width});
    case AttentionKernel::kQueryGradient:
      return text.kernel({"AttentionQueryGradient", of_width});
    case AttentionKernel::kKeyGradient:
      return text.kernel({"AttentionKeyGradient", of_width});
  }
  return {};
}

PtxAttention::PtxAttention(DeviceExample& example, const Options& options)
    : example_(example), options_(options), a_(example.work()) {
  const DeviceSizes& s = example.sizes;
  const auto rows = DeviceExample::at(s.sequences * s.heads * s.queries);
  a_.threshold = options.threshold;
  if (!example.slopes.empty()) {
    const std::vector<float> slopes(a_.slopes_H, a_.slopes_H + s.heads);
    a_.slopes_H = put_numbers("slopes", slopes);
  }
  if (!example.start.empty()) a_.start_BT = put_numbers("starts", example.start);
  a_.q = put_input("q", example.q, s.heads, s.queries);
  a_.k = put_input("k", example.k, s.key_value_heads, s.keys);
  a_.v = put_input("v", example.v, s.key_value_heads, s.keys);
  a_.output_gradient = put_input("output's gradient", example.output_gradient, s.heads, s.queries);
  a_.output = put_result("output", s.heads, s.queries);
  a_.q_gradient = put_result("q's gradient", s.heads, s.queries);
  a_.k_gradient = put_result("k's gradient", s.key_value_heads, s.keys);
  a_.v_gradient = put_result("v's gradient", s.key_value_heads, s.keys);
  a_.lse_BHT = put_results<float>("lse", rows);
  a_.delta_BHT = put_results<float>("delta", rows);
  if (options.threshold < 0) return;
  reach_ = put_results<float>("reach",
                              DeviceExample::at(s.sequences * s.key_value_heads * a_.key_blocks()));
  a_.reach_BGN = reach_;
  a_.first_rows = forward_rows<HostBlock>(s.width);
  const int blocks = (s.queries + a_.first_rows - 1) / a_.first_rows;
  first_.resize(DeviceExample::at(s.sequences * s.heads * blocks));
  a_.first_BHM = put_results<std::int32_t>("first blocks", first_.size());
}

template <class T>
T* PtxAttention::put_numbers(const std::string& name, const std::vector<T>& numbers) {
  return pointer<T>(memory_.put_input(name, bytes_of(numbers)));
}

template <class T>
T* PtxAttention::put_results(const std::string& name, std::size_t count) {
  return pointer<T>(memory_.put_result(name, count * sizeof(T)));
}

DeviceRows PtxAttention::put_input(const std::string& name, DeviceTensor& tensor, int heads,
                                   int length) {
  const DeviceSizes& s = example_.sizes;
  std::vector<std::uint16_t> numbers;
  for (int b = 0; b < s.sequences; ++b) {
    for (int i = 0; i < length; ++i) {
      for (int h = 0; h < heads; ++h) {
        const std::uint16_t* row = tensor.rows().at(b, h, i);
        numbers.insert(numbers.end(), row, row + s.width);
      }
    }
  }
  DeviceRows rows = tensor.rows();
  rows.data = put_numbers(name, numbers);
  rows.sequence = std::int64_t{1} * length * heads * s.width;
  rows.head = s.width;
  rows.row = std::int64_t{1} * heads * s.width;
  return rows;
}

DeviceRows PtxAttention::put_result(const std::string& name, int heads, int length) {
  const DeviceSizes& s = example_.sizes;
  const std::int64_t row = std::int64_t{1} * heads * s.width;
  return {put_results<std::uint16_t>(name, static_cast<std::size_t>(s.sequences * length * row)),
          length * row, s.width, row};
}

void PtxAttention::get(const DeviceRows& from, DeviceTensor& to, int heads, int length) const {
  const DeviceSizes& s = example_.sizes;
  std::vector<std::uint16_t> numbers(DeviceExample::at(s.sequences * heads * length * s.width));
  get(from.data, numbers);
  for (int b = 0; b < s.sequences; ++b) {
    for (int h = 0; h < heads; ++h) {
      for (int i = 0; i < length; ++i)
        std::copy_n(numbers.begin() + from.offset(b, h, i), s.width, to.rows().at(b, h, i));
    }
  }
}

template <class T>
void PtxAttention::get(const T* from, std::vector<T>& to) const {
  if (memory_.undefined(address(from)) > 0)
    throw PtxError(PtxFault::kUndefined, "a part of a result was not written");
  const auto bytes = memory_.bytes(address(from));
  std::memcpy(to.data(), bytes.data(), bytes.size());
}

void PtxAttention::launch(AttentionKernel kernel, const KernelGrid& grid, int warps,
                          int shared_bytes, const float* second) {
  PtxLaunch launch{.grid = grid,
                   .threads = warps * kPtxLanes,
                   .shared_bytes = shared_bytes,
                   .parameters = {},
                   .seed = options_.seed};
  const auto problem = std::as_bytes(std::span(&a_, 1));
  launch.parameters.assign(problem.begin(), problem.end());
  if (second != nullptr) {
    const auto bytes = std::as_bytes(std::span(&second, 1));
    launch.parameters.insert(launch.parameters.end(), bytes.begin(), bytes.end());
  }
  const bool changed = kernel == options_.changed && !options_.instead.empty();
  counts_[kernel] = changed ? launch_ptx(decode_ptx(options_.instead), memory_, launch)
                            : launch_ptx(decoded(kernel, a_.width), memory_, launch);
}

std::vector<float> PtxAttention::reach() const {
  std::vector<float> numbers(
      DeviceExample::at(a_.sequences * a_.key_value_heads * a_.key_blocks()));
  get(reach_, numbers);
  return numbers;
}

void PtxAttention::run_forward() {
  if (reach_ != nullptr) {
    launch(AttentionKernel::kNorms, key_grid(a_, 1), 1, 0, reach_);
    launch(AttentionKernel::kReach, reach_grid(a_), 1, 0, reach_);
  }
  with_kernel_width(a_.width, [&](auto width) {
    using Shapes = AttentionShapes<HostBlock, width()>;
    using Body = typename Shapes::Forward;
    launch(AttentionKernel::kForward, query_grid(a_, Body::kRows), Shapes::kForwardWarps,
           Body::kSharedBytes);
  });
  get(a_.output, example_.output, a_.heads, a_.queries);
  get(a_.lse_BHT, example_.lse);
  if (a_.first_BHM != nullptr) get(a_.first_BHM, first_);
}

void PtxAttention::run_backward() {
  launch(AttentionKernel::kDelta, query_grid(a_, AttentionDelta<HostBlock>::kRows), 1, 0);
  with_kernel_width(a_.width, [&](auto width) {
    using Shapes = AttentionShapes<HostBlock, width()>;
    using Queries = typename Shapes::QueryGradient;
    using Keys = typename Shapes::KeyGradient;
    launch(AttentionKernel::kQueryGradient, query_grid(a_, Queries::kRows), Shapes::kQueryWarps,
           Queries::kSharedBytes);
    launch(AttentionKernel::kKeyGradient, key_grid(a_, Shapes::kParts), Keys::kWarps,
           Keys::kSharedBytes);
  });
  get(a_.delta_BHT, example_.delta);
  get(a_.q_gradient, example_.q_gradient, a_.heads, a_.queries);
  get(a_.k_gradient, example_.k_gradient, a_.key_value_heads, a_.keys);
  get(a_.v_gradient, example_.v_gradient, a_.key_value_heads, a_.keys);
}

}  // namespace alibi
