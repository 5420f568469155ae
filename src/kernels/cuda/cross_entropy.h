// Cross-entropy of rows of bf16 logits and its gradient in their place, a block of 1024 threads a
// row. Two passes: the largest logit and the sum of exponentials at once (the online softmax of
// Milakov and Gimelshein 2018), then the gradient. A row is read twice and written once; the second
// pass goes from its end to its start, since what was read last is the likeliest to be in a cache.
// Two blocks fit on a multiprocessor: of V = 50,304 then 26 MB are under way on 132 of them, about
// half of an H100's second cache.
//
// Every logit belongs to one thread, which alone reads and writes it. Rows begin anywhere: whole
// chunks are what lies between the first and the last boundary of 16 bytes, and the at most 7
// logits before and behind belong to one thread each.
#pragma once

#include "kernels/cuda/kernel_block.h"
#include "kernels/device_row_ops.h"

namespace alibi {

template <class Block>
class CrossEntropyRow {
 public:
  static constexpr int kWarps = 32;  // as many as a warp has lanes: each lane joins one's sums
  static constexpr int kSharedBytes = kWarps * 2 * 4;

  ALIBI_KERNEL CrossEntropyRow(const DeviceCrossEntropy& a, Block& block) : a_(a), block_(block) {
    row_ = a.logits_RV + block.x() * a.pitch;
    const int past = static_cast<int>(reinterpret_cast<std::uintptr_t>(row_) / 2 % kChunk);
    before_ = (kChunk - past) % kChunk;
    if (before_ > a.vocabulary) before_ = a.vocabulary;
    chunks_ = (a.vocabulary - before_) / kChunk;
    behind_ = a.vocabulary - before_ - chunks_ * kChunk;
  }

  ALIBI_KERNEL void run() {
    if (a_.targets_R[block_.x()] < 0) return leave_out();
    const auto target = static_cast<int>(a_.targets_R[block_.x()]);
    Floats references, sums;
    block_.each_lane([&](int lane) {
      const Sum own = sum_of(thread(lane));
      references[lane] = own.reference;
      sums[lane] = own.sum;
    });
    join(references, sums);
    block_.each_lane([&](int lane) {
      if (lane != 0) return;
      shared(block_.warp()) = references[lane];
      shared(kWarps + block_.warp()) = sums[lane];
    });
    block_.sync();
    block_.each_lane([&](int lane) {
      references[lane] = shared(lane);
      sums[lane] = shared(kWarps + lane);
    });
    join(references, sums);
    block_.each_lane([&](int lane) {
      finish(thread(lane), target, Sum{references[lane], sums[lane]});
    });
  }

 private:
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kChunk = 8;  // logits in 16 bytes
  static constexpr float kNever = -1e30F, kLog2OfE = 1.4426950408889634F,
                         kLn2 = 0.6931471805599453F;

  using Floats = typename Block::template Lanes<float>;

  // Of 2^(x log2(e) - reference). The reference is the largest logit times log2(e), rounded: it is
  // the same number wherever it is used, so that its rounding is nobody's error.
  struct Sum {
    float reference, sum;
  };

  ALIBI_KERNEL int thread(int lane) const { return 32 * block_.warp() + lane; }
  ALIBI_KERNEL float& shared(int i) {
    return block_.template at<float>(static_cast<std::uint32_t>(4 * i));
  }
  ALIBI_KERNEL std::uint16_t* chunk(int i) const { return row_ + before_ + kChunk * i; }
  ALIBI_KERNEL static float number(const Words4& words, int i) {
    return Block::widened(static_cast<std::uint16_t>(words.v[i / 2] >> (16 * (i % 2))));
  }
  ALIBI_KERNEL static float power(float x, float reference) {
    return Block::exp2(Block::fused(x, kLog2OfE, -reference));
  }

  // The one logit outside whole chunks that a thread has, -1: none.
  ALIBI_KERNEL int single(int thread) const {
    if (thread < before_) return thread;
    if (thread < before_ + behind_) return a_.vocabulary - behind_ + thread - before_;
    return -1;
  }
  ALIBI_KERNEL int thread_of(int column) const {
    const int inside = column - before_;
    if (inside < 0) return column;
    if (inside < kChunk * chunks_) return inside / kChunk % kThreads;
    return column - (a_.vocabulary - behind_) + before_;
  }

  // Of each lane's sums over the whole warp, in every lane.
  ALIBI_KERNEL void join(Floats& references, Floats& sums) {
    Floats own = references;
    block_.warp_max(references);
    block_.each_lane([&](int lane) { sums[lane] *= Block::exp2(own[lane] - references[lane]); });
    block_.warp_sum(sums);
  }

  template <int kCount>
  ALIBI_KERNEL void add(Sum& to, int first) const {
    Words4 words[kCount];
    ALIBI_UNROLL for (int n = 0; n < kCount; ++n) words[n] =
        Block::chunk(chunk(first + n * kThreads));
    float most = number(words[0], 0);
    ALIBI_UNROLL for (int i = 1; i < kCount * kChunk; ++i) most =
        Block::larger(most, number(words[i / kChunk], i % kChunk));
    const float reference = Block::larger(to.reference, most * kLog2OfE);
    to.sum *= Block::exp2(to.reference - reference);
    to.reference = reference;
    ALIBI_UNROLL for (int i = 0; i < kCount * kChunk; ++i) to.sum +=
        power(number(words[i / kChunk], i % kChunk), reference);
  }

  // Two chunks are on their way at once.
  ALIBI_KERNEL Sum sum_of(int thread) const {
    Sum sum{kNever, 0};
    if (const int column = single(thread); column >= 0) {
      sum.reference = Block::larger(kNever, Block::widened(row_[column]) * kLog2OfE);
      sum.sum = power(Block::widened(row_[column]), sum.reference);
    }
    int i = thread;
    for (; i + kThreads < chunks_; i += 2 * kThreads) add<2>(sum, i);
    if (i < chunks_) add<1>(sum, i);
    return sum;
  }

  template <int kCount>
  ALIBI_KERNEL void overwrite(int first, float reference, float factor) {
    Words4 words[kCount];
    ALIBI_UNROLL for (int n = 0; n < kCount; ++n) words[n] =
        Block::chunk(chunk(first + n * kThreads));
    ALIBI_UNROLL for (int n = 0; n < kCount; ++n) {
      Words4 gradient;
      ALIBI_UNROLL for (int i = 0; i < kChunk; i += 2) gradient.v[i / 2] =
          Block::pair(power(number(words[n], i), reference) * factor,
                      power(number(words[n], i + 1), reference) * factor);
      Block::store_chunk(chunk(first + n * kThreads), gradient);
    }
  }

  // p (1 + 2 z log_sum) times the scale over all of a thread's logits.
  ALIBI_KERNEL void overwrite_own(int thread, float reference, float factor) {
    const int count = (chunks_ - thread + kThreads - 1) / kThreads;
    int last = thread + (count - 1) * kThreads;
    if (count % 2 != 0) {
      overwrite<1>(last, reference, factor);
      last -= kThreads;
    }
    for (; last >= kThreads; last -= 2 * kThreads) overwrite<2>(last - kThreads, reference, factor);
    if (const int column = single(thread); column >= 0)
      row_[column] = Block::rounded(power(Block::widened(row_[column]), reference) * factor);
  }

  ALIBI_KERNEL void finish(int thread, int target, const Sum& all) {
    const float log2_sum = Block::log2(all.sum);
    const float log_sum = (all.reference + log2_sum) * kLn2;
    const bool has_target = thread == thread_of(target);
    float picked = 0;
    if (has_target) {
      picked = Block::widened(row_[target]);
      a_.losses_R[block_.x()] = (Block::fused(-picked, kLog2OfE, all.reference) + log2_sum) * kLn2;
      a_.log_sums_R[block_.x()] = log_sum;
    }
    if (a_.scale.all == 0.0F) return;
    const float pull = 1.0F + 2.0F * a_.scale.z * log_sum;
    overwrite_own(thread, all.reference, a_.scale.all * pull / all.sum);
    if (has_target)
      row_[target] =
          Block::rounded(a_.scale.all * (power(picked, all.reference) / all.sum * pull - 1.0F));
  }

  ALIBI_KERNEL void leave_out() {
    block_.each_lane([&](int lane) {
      const int own = thread(lane);
      if (own == 0) a_.losses_R[block_.x()] = a_.log_sums_R[block_.x()] = 0;
      if (a_.scale.all == 0.0F) return;
      for (int i = own; i < chunks_; i += kThreads)
        Block::store_chunk(chunk(i), Words4{{0, 0, 0, 0}});
      if (const int column = single(own); column >= 0) row_[column] = 0;
    });
  }

  const DeviceCrossEntropy& a_;
  Block& block_;
  std::uint16_t* row_;
  int before_, chunks_, behind_;  // logits, chunks, logits
};

}  // namespace alibi
