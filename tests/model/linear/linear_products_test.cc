// Every kind of product against the formula in fp64, over tails of rows, inputs and outputs.
#include "device/libtorch.h"
#include "model/linear/linear_layers.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "device/cuda_library.h"
#include "kernels/processor.h"
#include "model/layers.h"

namespace alibi {
namespace {

using Kind = LinearProducts::Kind;

struct Example {
  torch::Tensor w_OI, b_O, x_NI, dy_NO;  // w and b in fp32, x and dy in bf16

  Example(std::int64_t rows, std::int64_t inputs, std::int64_t outputs) {
    torch::manual_seed(static_cast<std::uint64_t>(rows * 7 + inputs * 3 + outputs));
    w_OI = torch::randn({outputs, inputs});
    b_O = torch::randn({outputs});
    x_NI = torch::randn({rows, inputs}).to(torch::kBFloat16);
    dy_NO = torch::randn({rows, outputs}).to(torch::kBFloat16);
  }
  torch::Tensor exact(const torch::Tensor& x) const { return x.to(torch::kDouble); }
  torch::Tensor exact_w() const { return exact(w_OI.to(torch::kBFloat16)); }
};

// Largest difference in units of what the formula's own terms could lose: rounding the result to
// bf16 (2^-9 of it) and summing in fp32.
double in_roundings(const torch::Tensor& found, const torch::Tensor& expected, double terms) {
  const double epsilon = found.scalar_type() == torch::kBFloat16 ? 0x1p-8 : 0x1p-22;
  const torch::Tensor allowed = expected.abs() * epsilon + std::sqrt(terms) * 1e-5;
  return ((found.to(torch::kDouble) - expected).abs() / allowed).max().item<double>();
}

std::vector<Kind> kinds() {
  if (has_avx512_bf16()) return {Kind::kPacked, Kind::kLibtorch};
  return {Kind::kLibtorch};
}

void expect_products(std::int64_t rows, std::int64_t inputs, std::int64_t outputs) {
  const Example e(rows, inputs, outputs);
  for (const Kind kind : kinds()) {
    const std::string shape = cat(rows, " x ", inputs, " x ", outputs, " kind ", int(kind));
    LinearProducts products(e.w_OI, torch::kBFloat16, kind);
    const torch::Tensor y = e.exact(e.x_NI).mm(e.exact_w().t());
    EXPECT_LT(in_roundings(products.forward(e.x_NI, {}), y, double(inputs)), 1) << shape;
    if (kind == Kind::kPacked) {
      const torch::Tensor biased = products.forward(e.x_NI, e.b_O);
      EXPECT_LT(in_roundings(biased, y + e.exact(e.b_O), double(inputs)), 1) << shape;
    }
    // One rounding where the sum is stored; LibTorch rounds the product before it adds.
    const torch::Tensor sum = products.forward(e.x_NI, {}, e.dy_NO), base = e.exact(e.dy_NO);
    if (kind == Kind::kPacked) {
      EXPECT_LT(in_roundings(sum, y + base, double(inputs)), 1) << shape;
    } else {
      const torch::Tensor off = (e.exact(sum) - y - base).abs() / (y.abs() + base.abs() + 1e-3);
      EXPECT_LT(off.max().item<double>(), 0x1p-7) << shape;
    }
    EXPECT_LT(in_roundings(products.input_gradient(e.dy_NO), e.exact(e.dy_NO).mm(e.exact_w()),
                           double(outputs)),
              1)
        << shape;
    const torch::Tensor dw = e.exact(e.dy_NO).t().mm(e.exact(e.x_NI));
    torch::Tensor found = torch::full_like(e.w_OI, NAN);  // must be overwritten
    products.weight_gradient(e.dy_NO, e.x_NI, found, false);
    const double slack = kind == Kind::kPacked ? 1 : 0x1p14;  // LibTorch's comes back in bf16
    EXPECT_LT(in_roundings(found, dw, double(rows)), slack) << shape;
    products.weight_gradient(e.dy_NO, e.x_NI, found, true);
    EXPECT_LT(in_roundings(found, 2 * dw, double(rows)), slack) << shape;
  }
}

TEST(LinearProducts, EqualTheFormulaForTailsOfRows) {
  for (const std::int64_t rows : {1, 2, 15, 16, 17, 31, 33, 64, 127, 129, 257, 1000})
    expect_products(rows, 64, 130);
}

TEST(LinearProducts, EqualTheFormulaForOtherShapes) {
  for (const std::int64_t inputs : {128, 576, 1088})
    for (const std::int64_t outputs : {2, 64, 66, 514}) expect_products(70, inputs, outputs);
  expect_products(1100, 512, 1024);
}

TEST(LinearProducts, AreTheSameBitsForAnyThreadCountAndPlaceOfARow) {
  if (!has_avx512_bf16()) GTEST_SKIP() << "no bf16 instructions here";
  const Example e(1000, 576, 514);
  std::vector<torch::Tensor> first;
  for (const int threads : {1, 2, 5}) {
    torch::set_num_threads(threads);
    LinearProducts products(e.w_OI, torch::kBFloat16, Kind::kPacked);
    torch::Tensor dw = torch::empty_like(e.w_OI);
    products.weight_gradient(e.dy_NO, e.x_NI, dw, false);
    const std::vector<torch::Tensor> found{products.forward(e.x_NI, {}),
                                           products.input_gradient(e.dy_NO), dw};
    if (first.empty()) first = found;
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(torch::equal(first[i], found[i])) << threads;
    for (const std::int64_t row : {0, 255, 256, 999}) {
      const torch::Tensor alone = products.forward(e.x_NI.narrow(0, row, 1), {});
      EXPECT_TRUE(torch::equal(alone, first[0].narrow(0, row, 1))) << row;
    }
  }
  torch::set_num_threads(1);
}

TEST(LinearProducts, StandForTheWeightAsItIs) {
  Example e(4, 64, 64);
  const LinearProducts products(e.w_OI, torch::kBFloat16,
                                LinearProducts::best_kind(e.w_OI, torch::kBFloat16));
  EXPECT_TRUE(products.matches(e.w_OI, torch::kBFloat16));
  EXPECT_FALSE(products.matches(e.w_OI, torch::kFloat));
  EXPECT_FALSE(products.matches(e.w_OI.clone(), torch::kBFloat16));
  e.w_OI.add_(1);
  EXPECT_FALSE(products.matches(e.w_OI, torch::kBFloat16));
}

TEST(LinearProducts, ArePackedOnlyWhereTheShapeAllowsIt) {
  const auto kind = [](std::int64_t outputs, std::int64_t inputs, torch::ScalarType type) {
    return LinearProducts::best_kind(torch::zeros({outputs, inputs}), type);
  };
  EXPECT_EQ(kind(64, 60, torch::kBFloat16), Kind::kLibtorch);
  EXPECT_EQ(kind(63, 64, torch::kBFloat16), Kind::kLibtorch);
  EXPECT_EQ(kind(64, 64, torch::kFloat), Kind::kLibtorch);
  EXPECT_EQ(kind(2, 64, torch::kBFloat16), has_avx512_bf16() ? Kind::kPacked : Kind::kLibtorch);
}

SharedProducts packed(const torch::Tensor& weight_OI) {
  return c10::make_intrusive<LinearProducts>(weight_OI, torch::kBFloat16, Kind::kPacked);
}

TEST(LinearLayer, HasTheGradientsOfLibTorchs) {
  if (!has_avx512_bf16()) GTEST_SKIP() << "no bf16 instructions here";
  const Example e(130, 128, 192);
  const auto gradients = [&](bool ours, bool biased) {
    std::vector<torch::Tensor> of{e.x_NI.view({2, 65, 128}).clone(), e.w_OI.clone()};
    // What biases are added to, base is too.
    if (biased) of.insert(of.end(), {e.b_O.clone(), e.dy_NO.view({2, 65, 192}) / 2});
    for (torch::Tensor& x : of) x.requires_grad_(true);
    const torch::Tensor b_O = biased ? of[2] : torch::Tensor();
    const torch::Tensor base = biased ? of[3] : torch::Tensor();
    torch::Tensor y;
    if (ours) {
      y = linear_layer(base, of[0], {of[1], b_O, packed(of[1])});
    } else {
      const torch::Tensor x = of[0].to(torch::kDouble), w = of[1].to(torch::kBFloat16);
      y = at::linear(x, w.to(torch::kDouble), biased ? b_O.to(torch::kDouble) : b_O);
      if (biased) y = y + base.to(torch::kDouble);
    }
    const torch::Tensor dy = e.dy_NO.view({2, 65, 192}).to(y.scalar_type());
    return torch::autograd::grad({y}, of, {dy});
  };
  for (const bool biased : {false, true}) {
    const auto found = gradients(true, biased), expected = gradients(false, biased);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].sizes(), expected[i].sizes());
      const double error = (found[i] - expected[i]).to(torch::kDouble).norm().item<double>() /
                           expected[i].to(torch::kDouble).norm().item<double>();
      EXPECT_LT(error, 4e-3) << i;  // bf16
    }
  }
}

TEST(LinearProducts, GeluIsTheSameWithAndWithoutWhatItIsTakenOf) {
  if (!has_avx512_bf16()) GTEST_SKIP() << "no bf16 instructions here";
  const Example e(70, 128, 130);
  const LinearProducts products(e.w_OI, torch::kBFloat16, Kind::kPacked);
  const auto both = products.forward_gelu(e.x_NI, e.b_O, true);
  EXPECT_TRUE(torch::equal(both.before, products.forward(e.x_NI, e.b_O)));
  const torch::Tensor exact = at::gelu(e.exact(both.before));
  EXPECT_LT((both.after.to(torch::kDouble) - exact).abs().max().item<double>(),
            0.07);  // bf16 of 20
  const auto alone = products.forward_gelu(e.x_NI, e.b_O, false);
  EXPECT_FALSE(alone.before.defined());
  EXPECT_TRUE(torch::equal(alone.after, both.after));
}

// Against LibTorch's operators on the same weights, part by part.
TEST(PackedMlp, IsItsPartsAndHasTheirGradients) {
  if (!has_avx512_bf16()) GTEST_SKIP() << "no bf16 instructions here";
  for (const bool biased : {false, true}) {
    const Example up(130, 64, 192), down(130, 192, 64);
    const auto results = [&](bool fused) {
      std::vector<torch::Tensor> of{up.x_NI.clone(), up.w_OI / 8, down.w_OI / 8};
      if (biased) of.insert(of.end(), {up.b_O.clone(), down.b_O.clone(), up.x_NI / 2});
      for (torch::Tensor& x : of) x.requires_grad_(true);
      const torch::Tensor up_bias = biased ? of[3] : torch::Tensor();
      const torch::Tensor down_bias = biased ? of[4] : torch::Tensor();
      const torch::Tensor base = biased ? of[5] : torch::Tensor();
      const auto exact = [](const torch::Tensor& x) {
        return x.defined() ? x.to(torch::kDouble) : x;
      };
      const torch::Tensor y =
          fused ? packed_mlp(base, of[0], {of[1], up_bias, packed(of[1])},
                             {of[2], down_bias, packed(of[2])})
                : at::linear(at::gelu(at::linear(exact(of[0]), exact(of[1]), exact(up_bias))),
                             exact(of[2]), exact(down_bias)) +
                      (biased ? exact(base) : torch::zeros({1}, torch::kDouble));
      std::vector<torch::Tensor> all =
          torch::autograd::grad({y}, of, {down.dy_NO.to(y.scalar_type())});
      all.push_back(y);
      return all;
    };
    const auto found = results(true), expected = results(false);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const torch::Tensor exact = expected[i].to(torch::kDouble);
      EXPECT_LT(
          (found[i].to(torch::kDouble) - exact).norm().item<double>() / exact.norm().item<double>(),
          8e-3)
          << i << " biased " << biased;
    }
  }
}

TEST(PackedMlp, IsTheSameBitsForAnyThreadCount) {
  if (!has_avx512_bf16()) GTEST_SKIP() << "no bf16 instructions here";
  const Example up(1000, 64, 192), down(1000, 192, 64);
  std::vector<torch::Tensor> first;
  for (const int threads : {1, 2, 5}) {
    torch::set_num_threads(threads);
    std::vector<torch::Tensor> of{up.x_NI.clone(), up.w_OI.clone(), down.w_OI.clone()};
    for (torch::Tensor& x : of) x.requires_grad_(true);
    const torch::Tensor y =
        packed_mlp(of[0], of[0], {of[1], {}, packed(of[1])}, {of[2], {}, packed(of[2])});
    std::vector<torch::Tensor> found = torch::autograd::grad({y}, of, {down.dy_NO});
    found.push_back(y.detach());
    if (first.empty()) first = found;
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_TRUE(torch::equal(first[i], found[i])) << threads << " threads, result " << i;
  }
  torch::set_num_threads(1);
}

// A vocabulary that is no multiple of anything: rows at boundaries of 128 bytes, numbers behind
// them left alone, and gradients taken from rows that lie apart. Seen failing with a pitch of the
// outputs.
TEST(LinearProducts, OfAlignedRowsAreTheFormula) {
  for (const torch::ScalarType type : {torch::kBFloat16, torch::kFloat, torch::kDouble}) {
    for (const std::int64_t outputs : {1, 64, 130, 257}) {
      const Example e(17, 64, outputs);
      const torch::Tensor rounded_OI = e.w_OI.to(torch::kBFloat16).to(torch::kFloat);
      const torch::Tensor x = e.x_NI.to(type), w = rounded_OI.to(type);
      const torch::Tensor y = aligned_product(x, w);
      EXPECT_EQ(y.sizes(), torch::IntArrayRef({17, outputs}));
      EXPECT_EQ(y.stride(0) * y.element_size() % 128, 0);
      EXPECT_LT(in_roundings(y, e.exact(e.x_NI).mm(e.exact_w().t()), 64), 1);
      LinearProducts products(rounded_OI, type, Kind::kLibtorch);
      const torch::Tensor dy = y.copy_(e.dy_NO);
      EXPECT_LT(in_roundings(products.input_gradient(dy), e.exact(e.dy_NO).mm(e.exact(w)),
                             double(outputs)),
                1);
      torch::Tensor dw = torch::full_like(e.w_OI, NAN);
      products.weight_gradient(dy, x, dw, false);
      EXPECT_LT(in_roundings(dw, e.exact(e.dy_NO).t().mm(e.exact(x)), 17), 0x1p14);
    }
  }
}

// Rounded to bf16 on their way they would be off by 2^-9.
TEST(LinearProductsCuda, AlignedRowsAreTheFormulaAndWeightGradientsKeepTheirSums) {
  if (!open_cuda_library().usable) GTEST_SKIP() << open_cuda_library().reason;
  const Example odd(300, 64, 1'257);
  LinearProducts head(odd.w_OI.cuda(), torch::kBFloat16, Kind::kLibtorch);
  torch::Tensor logits = head.forward_aligned(odd.x_NI.cuda());
  EXPECT_EQ(logits.stride(0), 1'280);
  EXPECT_LT(in_roundings(logits.cpu(), odd.exact(odd.x_NI).mm(odd.exact_w().t()), 64), 1);
  logits.copy_(odd.dy_NO);
  const torch::Tensor dhead = torch::full_like(odd.w_OI, NAN).cuda();
  head.weight_gradient(logits, odd.x_NI.cuda(), dhead, false);
  EXPECT_LT(in_roundings(dhead.cpu(), odd.exact(odd.dy_NO).t().mm(odd.exact(odd.x_NI)), 300), 1);

  const Example e(1100, 72, 136);
  const torch::Tensor weight = e.w_OI.cuda(), x = e.x_NI.cuda(), dy = e.dy_NO.cuda();
  const torch::Tensor dw = e.exact(e.dy_NO).t().mm(e.exact(e.x_NI));
  LinearProducts products(weight, torch::kBFloat16, Kind::kLibtorch);
  const torch::Tensor found = torch::full_like(weight, NAN);
  products.weight_gradient(dy, x, found, false);
  EXPECT_LT(in_roundings(found.cpu(), dw, 1100), 1);
  products.weight_gradient(dy, x, found, true);
  EXPECT_LT(in_roundings(found.cpu(), 2 * dw, 1100), 1);

  // A layer's, too, of rows in two dimensions, and with a weight that changes.
  AffineImpl layer(weight.clone().requires_grad_(), e.b_O.cuda().requires_grad_());
  for (int i = 0; i < 2; ++i) {
    layer.weight_OI.mutable_grad() = layer.bias_O.mutable_grad() = torch::Tensor();
    const torch::Tensor x_BTI = x.view({11, 100, 72}).detach().requires_grad_();
    const torch::Tensor dy_BTO = dy.view({11, 100, 136}),
                        base_BTO = dy_BTO.detach().clone().requires_grad_();
    const torch::Tensor w = e.exact(layer.weight_OI.detach().cpu().to(torch::kBFloat16));
    const torch::Tensor y = layer.add_to(base_BTO, x_BTI);
    const auto near = [&](const torch::Tensor& one, const torch::Tensor& exact) {
      const torch::Tensor off = (e.exact(one.cpu()).view(exact.sizes()) - exact).abs();
      EXPECT_LT((off / (exact.abs() + 1)).max().item<double>(), 0x1p-5);
    };
    near(y, e.exact(e.x_NI).mm(w.t()) + e.exact(e.b_O) + e.exact(e.dy_NO));
    torch::autograd::backward({y}, {dy_BTO});
    near(x_BTI.grad(), e.exact(e.dy_NO).mm(w));
    EXPECT_TRUE(torch::equal(base_BTO.grad(), dy_BTO));
    EXPECT_LT(in_roundings(layer.weight_OI.grad().cpu(), dw, 1100), 1);
    EXPECT_LT(in_roundings(layer.bias_O.grad().cpu(), e.exact(e.dy_NO).sum(0), 1100), 1);
    const torch::NoGradGuard guard;
    layer.weight_OI.mul_(-2);
    near(layer.forward(x), -2 * e.exact(e.x_NI).mm(w.t()) + e.exact(e.b_O));
  }
}

}  // namespace
}  // namespace alibi
