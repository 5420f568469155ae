#include "model/hashed_keys.h"

#include "base/error.h"
#include "base/random.h"
#include "device/exact_type.h"
#include "device/libtorch.h"
#include "model/layers.h"

namespace alibi {
namespace {

// Of keys in order of (bucket, place): a bucket's first key adds 2 to the number of the group
// before, a chunk's first key 1, so that groups of two buckets are never next to each other.
torch::Tensor numbers_in_order(const torch::Tensor& sorted_BHS, std::int64_t chunk) {
  const std::int64_t keys = sorted_BHS.size(2);
  torch::Tensor new_bucket = torch::ones_like(sorted_BHS, torch::kBool);
  new_bucket.narrow(2, 1, keys - 1)
      .copy_(sorted_BHS.narrow(2, 1, keys - 1) != sorted_BHS.narrow(2, 0, keys - 1));
  const torch::Tensor place_S = torch::arange(keys, sorted_BHS.options());
  const torch::Tensor start_BHS = std::get<0>((new_bucket * place_S).cummax(2));
  const torch::Tensor new_chunk = (place_S - start_BHS).remainder(chunk) == 0;
  return (new_bucket.to(torch::kLong) + new_chunk.to(torch::kLong)).cumsum(2);
}

}  // namespace

HashedKeys::HashedKeys(const KeyParts& parts, const torch::Tensor& rotations_RHDW)
    : parts_(parts), rotations_RHDW_(rotations_RHDW.to(torch::kDouble)) {
  ensure(rotations_RHDW.size(0) == parts.rounds && rotations_RHDW.size(3) == parts.buckets / 2,
         "rotations of every round, to half of the buckets");
}

std::unique_ptr<const HashedKeys> hashed_keys(const ModelConfig& model, std::int64_t layer) {
  const KeyParts parts = key_parts(model, layer, 0);
  if (parts.buckets == 0) return nullptr;
  torch::Tensor drawn =
      torch::empty({parts.rounds, model.heads, head_width(model), parts.buckets / 2});
  fill_normal(RandomKey{}.with("lsh").with(static_cast<std::uint64_t>(layer)), 1.0,
              {drawn.data_ptr<float>(), static_cast<std::size_t>(drawn.numel())});
  return std::make_unique<const HashedKeys>(parts, drawn);
}

// Some positions at a time: together they would take a number for each half of the buckets.
torch::Tensor HashedKeys::buckets(const torch::Tensor& k_BHSD, std::int64_t round) const {
  const std::int64_t half = parts_.buckets / 2, keys = k_BHSD.size(2);
  const torch::Tensor rotation_HDW = rotations_RHDW_.on(k_BHSD.device())[round];
  const std::int64_t some =
      std::max<std::int64_t>(1, kMostNumbers / (half * k_BHSD.size(0) * k_BHSD.size(1)));
  std::vector<torch::Tensor> found;
  for (std::int64_t first = 0; first < keys; first += some) {
    const torch::Tensor k = k_BHSD.narrow(2, first, std::min(some, keys - first));
    const torch::Tensor turned_BHSW = torch::matmul(k.to(torch::kDouble), rotation_HDW);
    const auto [most, most_at] = turned_BHSW.max(3);
    const auto [least, least_at] = turned_BHSW.min(3);
    found.push_back(torch::where(most >= -least, most_at, least_at + half));
  }
  return torch::cat(found, 2);
}

KeyGroups HashedKeys::groups(const torch::Tensor& k_BHSD, const torch::Tensor& first_BS) const {
  const torch::NoGradGuard guard;
  std::vector<torch::Tensor> rounds;
  for (std::int64_t round = 0; round < parts_.rounds; ++round) {
    torch::Tensor bucket_BHS = buckets(k_BHSD, round);
    if (first_BS.defined())
      bucket_BHS = bucket_BHS + first_BS.to(torch::kLong).unsqueeze(1) * parts_.buckets;
    const auto [sorted_BHS, order_BHS] = bucket_BHS.sort(std::optional(true), 2);
    rounds.push_back(
        torch::empty_like(bucket_BHS)
            .scatter_(2, order_BHS, numbers_in_order(sorted_BHS, parts_.bucket_chunk)));
  }
  return {torch::stack(rounds), parts_.bucket_chunk};
}

torch::Tensor keys_of_queries(const torch::Tensor& q_BHTD) {
  const auto exact = exact_type(q_BHTD);
  const torch::Tensor q = q_BHTD.to(exact);
  constexpr double kLeast = 1e-6;  // a query of zeros is a key of zeros
  return (q * (q.square().mean(3, true) + kLeast).rsqrt()).to(q_BHTD.scalar_type());
}

torch::Tensor shown_by_groups(const KeyGroups& groups, std::int64_t first, std::int64_t queries,
                              std::int64_t keys) {
  torch::Tensor shown;
  for (const torch::Tensor& group_BHS : groups.of_RBHS.unbind(0)) {
    const torch::Tensor apart = group_BHS.narrow(2, first, queries).unsqueeze(3) -
                                group_BHS.narrow(2, 0, keys).unsqueeze(2);
    const torch::Tensor near = (apart >= 0) & (apart <= 1);
    shown = shown.defined() ? shown | near : near;
  }
  const auto whole = groups.of_RBHS.options();
  const torch::Tensor before_TS =
      torch::arange(first, first + queries, whole).unsqueeze(1) - torch::arange(keys, whole);
  shown = shown & (before_TS > 0);
  return shown | (shown.any(3, true).logical_not() & (before_TS == 0));
}

}  // namespace alibi
