#!/usr/bin/env python3
"""PyTorch's attention with linear biases, timed: what scripts/gpu-check compares with. One JSON object a line.

usage: attention_twin.py --lengths 1024,4096 [--tokens N] [--heads N] [--head-width N] [--device cpu|cuda] [--seconds S]

mask     scaled_dot_product_attention under an additive mask of T x T, as long as one fits (masks above 8 GiB are left out)
efficient, cudnn-mask  the same by the memory-efficient kernel and by cuDNN (CUDA only)
flex     compiled FlexAttention: the bias as score_mod, causal blocks; compiled for each length (CUDA only)
cudnn    scaled_dot_product_attention by cuDNN, causal, without the bias: no contestant, a bound (CUDA only)
flash    the same by FlashAttention (CUDA only)

Its first lines are ceilings of the device: a large product of matrices in bf16, and a copy.
"""
import argparse
import json
import statistics
import time

import torch
import torch.nn.functional as F

import speed_twin

LARGEST_MASK = 8 << 30


def by_mask(heads, length, dtype, device):
    if heads * length * length * dtype.itemsize > LARGEST_MASK:
        return None
    return speed_twin.by_mask(heads, length, dtype, device)


def by_flex(heads, length, dtype, device):
    from torch.nn.attention.flex_attention import flex_attention
    torch._dynamo.reset()  # a second length would be compiled for any length, which is slower
    return speed_twin.by_flex(heads, length, device, torch.compile(flex_attention, dynamic=False))


def without_bias(heads, length, dtype, device):
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)


def by_backend(name, make):
    """What `make` makes, held to one of PyTorch's kernels."""
    def make_for_it(heads, length, dtype, device):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        attend = make(heads, length, dtype, device)

        def attend_by_it(q, k, v):
            with sdpa_kernel(getattr(SDPBackend, name)):
                return attend(q, k, v)
        return attend_by_it if attend else None
    return make_for_it


CONTESTANTS = {"mask": by_mask, "efficient": by_backend("EFFICIENT_ATTENTION", by_mask),
               "cudnn-mask": by_backend("CUDNN_ATTENTION", by_mask), "flex": by_flex,
               "cudnn": by_backend("CUDNN_ATTENTION", without_bias), "flash": by_backend("FLASH_ATTENTION", without_bias)}


def timed(call, device, seconds):
    def once():
        start = time.perf_counter()
        call()
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - start
    for _ in range(3):
        once()
    found, end = [], time.perf_counter() + seconds
    while len(found) < 3 or time.perf_counter() < end:
        found.append(once())
    return statistics.median(found), min(found), max(found)


def ceilings(device, seconds):
    size, copied = (8192, 1 << 30) if device == "cuda" else (256, 1 << 24)
    left, right = (torch.randn(size, size, dtype=torch.bfloat16, device=device) for _ in range(2))
    source = torch.ones(copied, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    yield {"ceiling": "matrix rate", "by": f"PyTorch {torch.__version__}, bf16, {size} x {size} by {size} x {size}, drawn numbers",
           "unit": "TFLOP/s", "per_second": 2 * size ** 3 / timed(lambda: left @ right, device, seconds)[0]}
    yield {"ceiling": "copy", "by": f"PyTorch {torch.__version__}, copy_ of {copied >> 20} MiB, bytes read and written",
           "unit": "TB/s", "per_second": 2 * copied / timed(lambda: target.copy_(source), device, seconds)[0]}


def measure(name, options, length):
    dtype = torch.bfloat16
    shape = (max(1, options.tokens // length), options.heads, length, options.head_width)
    attend = CONTESTANTS[name](options.heads, length, dtype, options.device)
    if attend is None:
        return None
    q, k, v = (torch.randn(shape, dtype=dtype, device=options.device, requires_grad=True) for _ in range(3))
    gradient = torch.randn(shape, dtype=dtype, device=options.device)

    def forward():
        with torch.no_grad():
            attend(q, k, v)

    def both():
        torch.autograd.grad(attend(q, k, v), (q, k, v), gradient)
    row = {"kernel": f"PyTorch {name}", "length": length, "sequences": shape[0]}
    for part, call in (("forward", forward), ("both", both)):
        row[f"{part}_seconds"], row[f"{part}_least"], row[f"{part}_most"] = timed(call, options.device, options.seconds)
    return row


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--lengths", default="1024,4096")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--seconds", type=float, default=0.5)
    for name, value in (("tokens", 16384), ("heads", 12), ("head-width", 64)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    for row in ceilings(options.device, options.seconds):
        print(json.dumps(row), flush=True)
    names = list(CONTESTANTS) if options.device == "cuda" else ["mask"]
    for length in map(int, options.lengths.split(",")):
        for name in names:
            try:
                row = measure(name, options, length)
            except Exception as error:  # one contestant that fails leaves the others
                row = {"kernel": f"PyTorch {name}", "length": length, "failed": str(error).splitlines()[0][:200]}
            if row:
                print(json.dumps(row), flush=True)
            if options.device == "cuda":
                torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
