#include "kernels/cuda/ptx/ptx_attention.h"

#include "base/strings.h"

namespace alibi {
namespace {

// What of a kernel's name says its width and its kind of bias.
std::vector<std::string> shape_in_name(int width, BiasKind kind) {
  const int taken = with_shapes<HostBlock>(
      width, kind, [](auto shapes) -> int { return decltype(shapes)::kHeadWidth; });
  return {cat("DeviceBlockELi", taken, "E"), cat("BiasKindE", static_cast<int>(kind), "E")};
}

// A decoded kernel is kept: decoding takes longer than a small launch.
const PtxKernel& decoded(AttentionKernel kernel, int width, BiasKind kind) {
  static std::map<std::pair<AttentionKernel, std::vector<std::string>>, PtxKernel> kept;
  const std::pair key(kernel, shape_in_name(width, kind));
  const auto found = kept.find(key);
  if (found != kept.end()) return found->second;
  return kept[key] = decode_ptx(ptx_of(kernel, width, kind));
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

std::string ptx_of(AttentionKernel kernel, int width, BiasKind kind) {
  const PtxText& text = compiled_attention().text.value();
  const auto of_shape = [&](const std::string& name) {
    std::vector<std::string> parts = shape_in_name(width, kind);
    parts.push_back(name);
    return text.kernel(parts);
  };
  switch (kernel) {
    case AttentionKernel::kNorms:
      return text.kernel({"KeyNorms"});
    case AttentionKernel::kReach:
      return text.kernel({"KeyReach"});
    case AttentionKernel::kDelta:
      return text.kernel({"run_delta"});
    case AttentionKernel::kForward:
      return of_shape("AttentionForward");
    case AttentionKernel::kQueryGradient:
      return of_shape("AttentionQueryGradient");
    case AttentionKernel::kKeyGradient:
      return of_shape("AttentionKeyGradient");
    case AttentionKernel::kDistanceGradient:
      return of_shape("AttentionDistanceGradient");
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
  put_biases();
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
  a_.first_rows = forward_rows<HostBlock>(s.width, a_.bias_kind());
  const int blocks = (s.queries + a_.first_rows - 1) / a_.first_rows;
  first_.resize(DeviceExample::at(s.sequences * s.heads * blocks));
  a_.first_BHM = put_results<std::int32_t>("first blocks", first_.size());
}

void PtxAttention::put_biases() {
  const auto put = [&](const std::string& name, const auto*& numbers, int count) {
    using T = std::remove_cvref_t<decltype(*numbers)>;
    numbers = put_numbers(name, std::vector<T>(numbers, numbers + count));
  };
  const int heads = a_.sequences * a_.heads;
  if (a_.table_HP != nullptr) {
    put("table", a_.table_HP, a_.heads * a_.table_length());
    put("table's reach", a_.table_reach_HP, a_.heads * a_.table_length());
    a_.distance_gradient_BHXU =
        put_results<float>("table's gradient", example_.distance_gradient.size());
  }
  if (a_.shown_RMN != nullptr) {
    const int tiles = a_.rules * a_.query_blocks() * a_.key_blocks();
    put("tiles shown until", a_.shown_until_RMN, tiles);
    put("tiles shown from", a_.shown_from_RNM, tiles);
    put("tiles shown", a_.shown_RMN, tiles);
    put("masks of tiles", a_.shown_masks, example_.masks() * 2 * kKeyBlock);
  }
  if (a_.terms_BHS == nullptr) return;
  put("terms", a_.terms_BHS, heads * a_.keys);
  put("terms in blocks", a_.near_BHS, heads * a_.key_blocks() * kKeyBlock);
  put("least terms", a_.least_BHN, heads * a_.key_blocks());
  a_.query_term_gradient_BHT =
      put_results<float>("queries' terms' gradient", example_.query_term_gradient.size());
  a_.key_term_gradient_BHS =
      put_results<float>("keys' terms' gradient", example_.key_term_gradient.size());
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
  counts_[kernel] = changed
                        ? launch_ptx(decode_ptx(options_.instead), memory_, launch)
                        : launch_ptx(decoded(kernel, a_.width, a_.bias_kind()), memory_, launch);
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
  with_shapes<HostBlock>(a_.width, a_.bias_kind(), [&](auto shapes) {
    using Body = typename decltype(shapes)::Forward;
    launch(AttentionKernel::kForward, query_grid(a_, Body::kRows), decltype(shapes)::kForwardWarps,
           Body::kSharedBytes);
  });
  get(a_.output, example_.output, a_.heads, a_.queries);
  get(a_.lse_BHT, example_.lse);
  if (a_.first_BHM != nullptr) get(a_.first_BHM, first_);
}

void PtxAttention::run_backward() {
  launch(AttentionKernel::kDelta, query_grid(a_, AttentionDelta<HostBlock>::kRows), 1, 0);
  with_shapes<HostBlock>(a_.width, a_.bias_kind(), [&](auto shapes) {
    using Shapes = decltype(shapes);
    using Queries = typename Shapes::QueryGradient;
    using Keys = typename Shapes::KeyGradient;
    launch(AttentionKernel::kQueryGradient, query_grid(a_, Queries::kRows), Shapes::kQueryWarps,
           Queries::kSharedBytes);
    launch(AttentionKernel::kKeyGradient, key_grid(a_, Shapes::kParts), Keys::kWarps,
           Keys::kSharedBytes);
    using Distances = typename Shapes::DistanceGradient;
    if (is_table(Shapes::kBias))
      launch(AttentionKernel::kDistanceGradient, distance_grid(a_), Distances::kWarps,
             Distances::kSharedBytes);
  });
  if (a_.table_HP != nullptr) get(a_.distance_gradient_BHXU, example_.distance_gradient);
  if (a_.terms_BHS != nullptr) {
    get(a_.query_term_gradient_BHT, example_.query_term_gradient);
    get(a_.key_term_gradient_BHS, example_.key_term_gradient);
  }
  get(a_.delta_BHT, example_.delta);
  get(a_.q_gradient, example_.q_gradient, a_.heads, a_.queries);
  get(a_.k_gradient, example_.k_gradient, a_.key_value_heads, a_.keys);
  get(a_.v_gradient, example_.v_gradient, a_.key_value_heads, a_.keys);
}

}  // namespace alibi
