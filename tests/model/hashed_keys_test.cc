// Keys that are hashed: groups by their definition, attention by the formula with that mask, and
// models that have such layers.
#include "model/hashed_keys.h"

#include <gtest/gtest.h>

#include <map>

#include "base/strings.h"

#include "model/plain_attention.h"
#include "model/shapes.h"
#include "support/tiny_model.h"

namespace alibi {
namespace {

constexpr std::int64_t kSequences = 2, kHeads = 3, kWidth = 8;

KeyParts lsh(std::int64_t buckets, std::int64_t chunk, std::int64_t rounds) {
  KeyParts parts;
  parts.buckets = buckets;
  parts.bucket_chunk = chunk;
  parts.rounds = rounds;
  return parts;
}

// Documents of 17 positions.
torch::Tensor document_starts(std::int64_t length) {
  return torch::arange(length).div(17, "floor").mul(17).repeat({kSequences, 1});
}

// Bucket, document and rank among earlier keys, key by key.
TEST(HashedKeys, GroupsAreBucketsCutByRankAmongEarlierKeys) {
  torch::manual_seed(5);
  const std::int64_t length = 90;
  const KeyParts parts = lsh(6, 4, 3);
  const torch::Tensor w = torch::randn({3, kHeads, kWidth, 3}, torch::kDouble);
  const torch::Tensor k = torch::randn({kSequences, kHeads, length, kWidth}, torch::kDouble);
  for (const bool documents : {false, true}) {
    const torch::Tensor first = documents ? document_starts(length) : torch::Tensor();
    const KeyGroups groups = HashedKeys(parts, w).groups(k, first);
    EXPECT_EQ(groups.chunk, 4);
    const auto found = groups.of_RBHS.accessor<std::int64_t, 4>();
    for (std::int64_t r = 0; r < 3; ++r) {
      for (std::int64_t b = 0; b < kSequences; ++b) {
        for (std::int64_t h = 0; h < kHeads; ++h) {
          struct Seen {
            std::int64_t place, bucket, chunk;
          };
          std::vector<Seen> seen;
          std::map<std::int64_t, std::int64_t> members;
          for (std::int64_t i = 0; i < length; ++i) {
            std::vector<double> turned;
            for (const double sign : {1.0, -1.0})
              for (std::int64_t n = 0; n < 3; ++n)
                turned.push_back(sign * k[b][h][i].dot(w[r][h].select(1, n)).item<double>());
            std::int64_t bucket = std::max_element(turned.begin(), turned.end()) - turned.begin();
            if (documents) bucket += 6 * (i / 17);
            const std::int64_t chunk = members[bucket]++ / 4;
            for (const Seen& other : seen) {
              const bool expected =
                  other.bucket == bucket && (other.chunk == chunk || other.chunk == chunk - 1);
              const std::int64_t apart = found[r][b][h][i] - found[r][b][h][other.place];
              EXPECT_EQ(apart == 0 || apart == 1, expected) << r << " " << i << " " << other.place;
            }
            seen.push_back({i, bucket, chunk});
          }
        }
      }
    }
  }
}

AttentionInputs hashed_inputs(std::int64_t length, torch::ScalarType type, const KeyParts& parts,
                              bool documents) {
  const auto some = [&] {
    return torch::randn({kSequences, kHeads, length, kWidth}, torch::kDouble).to(type);
  };
  AttentionInputs inputs{some(), {}, some(), {}};
  inputs.k_BGSD = keys_of_queries(inputs.q_BHTD);
  ScoreOptions& o = inputs.options;
  o.scale = 0.6;
  if (documents) o.visible.first_BT = document_starts(length);
  o.visible.groups =
      HashedKeys(parts, torch::randn({parts.rounds, kHeads, kWidth, parts.buckets / 2}))
          .groups(inputs.k_BGSD, o.visible.first_BT);
  return inputs;
}

double apart(const torch::Tensor& found, const torch::Tensor& expected) {
  return largest_difference(found, expected) /
         std::max(1.0, expected.to(torch::kDouble).abs().max().item<double>());
}

void expect_formula(const AttentionInputs& inputs, const char* name, double most) {
  const torch::Tensor gradient =
      torch::randn(inputs.q_BHTD.sizes(), torch::kDouble).to(inputs.q_BHTD.scalar_type());
  const PlainResult truth = loop_attention(inputs, gradient).value;
  const AttentionKernel& kernel = choose_attention(describe_problem(inputs), torch::kCPU, name);
  ASSERT_STREQ(kernel.name, name);
  const AttentionOutputs out = kernel.forward(inputs);
  EXPECT_LT(apart(out.output_BHTD, truth.output), most);
  EXPECT_LT(apart(out.lse_BHT, truth.lse), most);
  const AttentionGradients found = kernel.backward(inputs, out, gradient);
  EXPECT_LT(apart(found.q_BHTD, truth.q), most);
  EXPECT_LT(apart(found.k_BGSD, truth.k), most);
  EXPECT_LT(apart(found.v_BGSD, truth.v), most);
  const auto expect_bias = [&](const torch::Tensor& of, const torch::Tensor& expected) {
    ASSERT_EQ(of.defined(), expected.defined());
    if (expected.defined()) {
      EXPECT_LT(apart(of, expected), most);
    }
  };
  const bool learned = describe_problem(inputs).bias_gradient;
  expect_bias(found.bias.slopes_H, learned ? truth.slopes : torch::Tensor());
  expect_bias(found.bias.table_HL, truth.table);
  expect_bias(found.bias.terms_BHS, truth.terms);
}

// Seen failing with pairs counted in every round that shows them, and with a lone query left to the
// tiles' backward pass. Lengths below, at and beside a chunk; one and several rounds; a bucket of
// everything, and many.
TEST(HashedAttention, IsTheFormulaWithItsMask) {
  torch::manual_seed(11);
  for (const char* kernel : {"lsh", "reference"}) {
    const bool exact = kernel == std::string("reference");
    for (const std::int64_t length : {1, 2, 7, 8, 9, 100}) {
      for (const KeyParts& parts : {lsh(2, 4, 1), lsh(4, 1, 2), lsh(8, 4, 3), lsh(64, 3, 2)}) {
        for (const bool documents : {false, true}) {
          SCOPED_TRACE(cat(kernel, " length ", length, " buckets ", parts.buckets, " chunk ",
                           parts.bucket_chunk, documents ? " documents" : ""));
          expect_formula(
              hashed_inputs(length, exact ? torch::kDouble : torch::kFloat, parts, documents),
              kernel, exact ? 1e-10 : 1e-5);
        }
      }
    }
  }
}

// Chunks of the recommended size, forward and backward, with whole tiles and tails.
TEST(HashedAttention, IsTheFormulaWithWholeTiles) {
  torch::manual_seed(12);
  for (const std::int64_t length : {300, 384}) {
    SCOPED_TRACE(length);
    expect_formula(hashed_inputs(length, torch::kFloat, lsh(4, 64, 2), length == 300), "lsh", 2e-5);
  }
}

TEST(HashedAttention, IsTheFormulaWithEveryBias) {
  torch::manual_seed(12);
  for (const char* kernel : {"lsh", "reference"}) {
    for (const auto type : {torch::kDouble, torch::kFloat, torch::kBFloat16}) {
      if (type == torch::kDouble && kernel == std::string("lsh")) continue;  // left to the other
      const double most = type == torch::kDouble ? 1e-10 : type == torch::kFloat ? 1e-5 : 4e-2;
      const auto exact = type == torch::kDouble ? torch::kDouble : torch::kFloat;
      const auto learned = [&](const torch::Tensor& x) { return x.to(exact).requires_grad_(); };
      const AttentionInputs plain = hashed_inputs(45, type, lsh(4, 5, 2), true);
      for (int form = 0; form < 3; ++form) {
        if (form == 1 && kernel == std::string("lsh")) continue;  // the same
        SCOPED_TRACE(cat(kernel, " form ", form, " type ", static_cast<int>(type)));
        AttentionInputs inputs = plain;
        ScoreBias& bias = inputs.options.bias;
        if (form == 0) bias.slopes_H = learned(torch::rand({kHeads}, torch::kDouble));
        if (form == 1) bias.table_HL = learned(torch::randn({kHeads, 12}, torch::kDouble));
        if (form == 2)
          bias.terms_BHS = torch::randn({kSequences, kHeads, 45}, torch::kDouble).requires_grad_();
        expect_formula(inputs, kernel, most);
      }
    }
  }
}

// Where one bucket ends and the next begins, a tile has queries from both ends of the text: linear
// biases must not round as that distance does. The first queries see the same in a short text. Seen
// failing with terms as they are.
TEST(HashedAttention, IsAsExactInALongText) {
  torch::manual_seed(13);
  constexpr std::int64_t kFirst = 200;
  AttentionInputs inputs = hashed_inputs(40'000, torch::kFloat, lsh(4, 32, 2), false);
  inputs.options.bias.slopes_H = torch::tensor({0.5F, 0.25F, 0.125F});
  const auto forward = [&](const char* name) {
    return choose_attention(describe_problem(inputs), torch::kCPU, name).forward(inputs);
  };
  const torch::Tensor found = forward("lsh").output_BHTD.narrow(2, 0, kFirst);
  for (torch::Tensor* x : {&inputs.q_BHTD, &inputs.k_BGSD, &inputs.v_BGSD})
    *x = x->narrow(2, 0, kFirst).contiguous();
  torch::Tensor& groups = inputs.options.visible.groups.of_RBHS;
  groups = groups.narrow(3, 0, kFirst);
  EXPECT_LT(apart(found, forward("reference").output_BHTD), 1e-5);
}

ModelConfig hashed_config(Position position) {
  ModelConfig config = tiny_config(position);
  config.attention_pattern = {"layers 0: window(9)", "layers 1: lsh(4, 6, 2)"};
  return config;
}

std::vector<torch::Tensor> gradients(Gpt& model, const torch::Tensor& tokens_BT) {
  for (const torch::Tensor& p : model->parameters()) p.mutable_grad().reset();
  model->logits(model->hidden(tokens_BT)).square().mean().backward();
  std::vector<torch::Tensor> found;
  for (const torch::Tensor& p : model->parameters()) found.push_back(p.grad());
  return found;
}

TEST(HashedLayers, AreTheSameByBothKernelsForEveryPositionMethod) {
  for (const Position position : kAllPositions) {
    SCOPED_TRACE(name_of(position));
    const torch::Tensor tokens_BT = tiny_tokens(2, 70);
    std::vector<std::vector<torch::Tensor>> by_kernel;
    for (const char* kernel : {"auto", "reference"}) {
      auto model = std::make_shared<GptImpl>(hashed_config(position), kTinyVocabulary,
                                             torch::kFloat, AttentionConfig{kernel, {}});
      model->initialize(3, 0.2);
      by_kernel.push_back(gradients(model, tokens_BT));
    }
    for (std::size_t i = 0; i < by_kernel[0].size(); ++i) {
      const torch::Tensor &a = by_kernel[0][i], &b = by_kernel[1][i];
      ASSERT_EQ(a.defined(), b.defined());
      if (a.defined()) {
        EXPECT_TRUE(torch::allclose(a, b, 1e-3, 1e-5)) << i;
      }
    }
  }
}

TEST(HashedLayers, NoLaterTokenChangesAnything) {
  for (const Position position : kAllPositions) {
    Gpt model = tiny_model(hashed_config(position));
    const torch::Tensor tokens_BT = tiny_tokens(2, 60);
    torch::Tensor changed_BT = tokens_BT.clone();
    changed_BT.narrow(1, 40, 20).copy_(tiny_tokens(2, 20).flip({1}));
    EXPECT_LT(largest_difference(tiny_logits(model, tokens_BT).narrow(1, 0, 40),
                                 tiny_logits(model, changed_BT).narrow(1, 0, 40)),
              1e-5)
        << name_of(position);
  }
}

// In bf16 a key that is rounded otherwise may fall into another bucket.
TEST(HashedLayers, GoOnFromACache) {
  for (const Position position : kAllPositions) {
    Gpt model = tiny_model(hashed_config(position));
    const torch::Tensor tokens_BT = tiny_tokens(2, 60);
    const torch::Tensor expected = tiny_logits(model, tokens_BT);
    for (const std::int64_t chunk : {1, 13})
      EXPECT_LT(largest_difference(in_chunks(model, tokens_BT, 23, chunk), expected), 1e-4)
          << name_of(position) << ", chunk " << chunk;
  }
}

TEST(HashedLayers, KeepDocumentsApart) {
  Gpt model = tiny_model(hashed_config(Position::kAlibi));
  const torch::Tensor tokens_BT = tiny_tokens(2, 51);
  ForwardOptions options;
  options.document_start_BT = document_starts(51);
  const torch::Tensor all = tiny_logits(model, tokens_BT, options);
  for (std::int64_t first = 0; first < 51; first += 17)
    EXPECT_LT(largest_difference(all.narrow(1, first, 17),
                                 tiny_logits(model, tokens_BT.narrow(1, first, 17))),
              1e-5);
}

// A projection for queries and keys together.
TEST(HashedLayers, HaveOneProjectionForQueriesAndKeys) {
  Gpt model = tiny_model(hashed_config(Position::kAlibi));
  const auto parameters = model->named_parameters();
  EXPECT_EQ(parameters.find("block_0.qkv.weight")->size(0), 3 * 32);
  EXPECT_EQ(parameters.find("block_1.qv.weight")->size(0), 2 * 32);
  EXPECT_EQ(stacked_rows({"block_1.qv.weight", {2 * 32, 32}}), (std::vector<std::int64_t>{32, 32}));
}

}  // namespace
}  // namespace alibi
