#!/usr/bin/env python3
"""What a training step and attention should take on one H200 or H100: a model on paper. Nothing was measured on a device.

usage: scripts/device_model.py [--check]     --check: only says whether tests/bench/RESULTS.md has these tables, exit 1 if not

A step takes what its parts take one after another: matrix products at a share of the peak, attention by its instructions,
other operators by the bytes they move, the start and end of each kernel, one wait. Operators are those that the program
runs today with the `cuda` kernel of attention (src/model/layers.cc, src/model/loss, src/train/optimizer).
"""
import math
import pathlib
import sys

from check_device_code import TILES

RESULTS = pathlib.Path(__file__).resolve().parent.parent / "tests/bench/RESULTS.md"
# Bytes a second and peak of dense bf16 products as NVIDIA states them; multiprocessors of four schedulers, clock under load.
DEVICES = {"H200": (4.8e12, 989e12, 132, 1.755e9), "H100": (3.35e12, 989e12, 132, 1.755e9), "A100": (2.04e12, 312e12, 108, 1.41e9)}
# Assumed, pessimistic and expected; RESULTS.md says from where.
ASSUMED = {
    "products": (0.45, 0.55),       # of the peak, whatever the shape
    "bytes": (0.75, 0.85),          # of the memory's rate
    "kernel": (3e-6, 1.5e-6),       # seconds between the work of one kernel and of the next
    "host": (15e-6, 7e-6),          # seconds to launch an operator
    "wait": (300e-6, 50e-6),        # seconds without work where loss and gradient norm are read
    "attention": (0.35, 0.50),      # of the bound by instructions: FlashAttention-2 reaches 0.47 and 0.55, third table
    "nats": (60, 40),               # distance in the bias, in nats, from which on blocks are left out
}
MMA_SYNC = 0.63  # of the peak that mma.sync reaches on Hopper (arXiv 2402.13499, not looked up again)
# Instructions of a warp for a whole tile, tensor-core products among them, sm_90a: (forward, queries, keys) by head width.
COUNTED = {64: ((781, 128), (484, 96), (631, 128)), 128: ((642, 128), (720, 192), (599, 128))}
# Warps of a forward block of 128 rows; key tiles of 64 x 64 that the keys' kernel cuts in two at width 128.
WARPS, CUTS = {64: 4, 128: 8}, {64: 1, 128: 2}
# Kernels of a layer, of its forward pass alone, of 1024 rows of the loss, of all else but clipping; counted on the meta device.
LAYER_LAUNCHES, FORWARD_LAUNCHES, CHUNK_LAUNCHES, STEP_LAUNCHES = 44, 19, 9, 50
CLIPPED_AT_ONCE = 320 * 65536  # numbers that one kernel over a list of tensors takes (LibTorch's MultiTensorApply.cuh)
LOGIT_BYTES = 6  # read twice, written once: src/kernels/cuda/cross_entropy.h
# The reference of attention (src/model/attention_reference.cc), by reading: bytes of memory that operators move for each score, in fp32,
# and products of it with a row of a head, forward and backward; operators of a forward; bytes of a cast key's or value's number.
FP32_PEAK = 67e12  # NVIDIA's data sheets, without tensor cores
REFERENCE_BYTES, REFERENCE_PRODUCTS, REFERENCE_LAUNCHES, CAST_BYTES = (48, 72), (2, 5), 24, 10
CHUNK, VOCABULARY = 1024, 50304
MODELS = {"124M": (12, 768, 12), "1.3B": (24, 2048, 16)}  # layers, width, heads
STEPS = [("124M", 1024, 32768, False), ("124M", 16384, 65536, False), ("124M", 65536, 65536, False),
         ("1.3B", 1024, 16384, False), ("1.3B", 16384, 16384, False), ("1.3B", 65536, 65536, True)]  # ..., tokens, recompute
GOALS = {1024: 1, 4096: 1.5, 16384: 3, 65536: 10}
# FlexAttention, H100, 16k, width 64, causal, 64 heads in all, forward + backward (pytorch pull request 137036); a bias costs
# 8 % (188644); shorter texts by FlashAttention-2's rates at width 128 (arXiv 2407.08608): 1k, 4k, 16k.
FLEX_SECONDS, FLEX_BIAS, SHORTER = (6.46e-3 + 20.92e-3) / 64, 1.08, {1024: 260 / 335, 4096: 319 / 335, 16384: 1, 65536: 1}


def slopes(heads):
    power = 2 ** int(math.log2(heads))
    first = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    return first + [2 ** (-4 * (2 * i + 1) / power) for i in range(heads - power)]


def visited(length, rows, slope, nats):
    """Key blocks of 64 that each block of query rows visits."""
    return [(first + rows) // 64 - max(0, int(first - nats / slope) // 64) for first in range(0, length, rows)]


def visited_share(length, heads, nats):
    every = sum(range(1, length // 64 + 1))
    return sum(sum(visited(length, 64, slope, nats)) for slope in slopes(heads)) / (heads * every)


def cycles(tile, device):
    """Of a scheduler for one warp's tile: to issue its instructions, or for its products of 4096 operations."""
    _, peak, units, clock = DEVICES[device]
    return max(tile[0], tile[1] * 4096 / (peak * MMA_SYNC / (4 * units * clock)))


def attention(device, case, length, heads, width, sequences):
    """Seconds of forward, and of forward and backward. A block begins and ends in the time of one more tile."""
    _, _, units, clock = DEVICES[device]
    forward, queries, keys = (cycles(tile, device) for tile in COUNTED[width])
    warp_cycles = [0, 0]
    for slope in slopes(heads):
        blocks = visited(length, 128, slope, ASSUMED["nats"][case])
        tiles = sum(2 * n - 1 for n in blocks) + 2 * len(blocks)  # of 64 x 64, backward: from the forward's first block on
        warp_cycles[0] += WARPS[width] * forward * (sum(blocks) + len(blocks))
        warp_cycles[1] += 4 * tiles * (queries + CUTS[width] * keys)
    rate = 4 * units * clock * ASSUMED["attention"][case] / sequences
    return warp_cycles[0] / rate, sum(warp_cycles) / rate


def reference(device, case, length, heads, width, sequences):
    """Seconds of forward and backward: chunks of rows, each over all keys up to its last."""
    rows = min(4096, length, (512 << 20) // (4 * heads * sequences * length))
    scores = heads * sequences * sum(rows * min(first + rows, length) for first in range(0, length, rows))
    rate, products = DEVICES[device][0] * ASSUMED["bytes"][case], FP32_PEAK * ASSUMED["products"][case]
    return scores * (sum(REFERENCE_BYTES) / rate + 2 * width * sum(REFERENCE_PRODUCTS) / products)


def one_query(device, case, keys, heads, width):
    """Seconds of a forward without a bias by the cuda kernel, a block of rows for each head, and by the reference; device or host."""
    rate, _, _, clock = DEVICES[device]
    tile = cycles(COUNTED[width][0], device) * WARPS[width] / 4  # four schedulers
    walk = tile * (keys / 64 + 1) / (clock * ASSUMED["attention"][case])
    memory = 2 * heads * width * keys * CAST_BYTES / (rate * ASSUMED["bytes"][case])
    return (max(walk + ASSUMED["kernel"][case], ASSUMED["host"][case]),
            max(memory + REFERENCE_LAUNCHES * ASSUMED["kernel"][case], REFERENCE_LAUNCHES * ASSUMED["host"][case]))


def step(device, case, model, length, tokens, recompute, summed_head=False):
    """Seconds of the parts of a step, by name; bf16 numbers of 2 bytes. summed_head: the head's gradient is summed by its product."""
    layers, width, heads = MODELS[model]
    rate, peak, _, _ = DEVICES[device]
    rate *= ASSUMED["bytes"][case]
    matrices, head = 12 * layers * width**2, VOCABULARY * width
    chunks = math.ceil(tokens / CHUNK)
    again = 4 / 3 if recompute else 1
    forward, both = attention(device, case, length, heads, width // heads, tokens // length)
    # Norms 4 + 4, sums 6 + 6, GELU 16, keys' norms 2; backward: GELU 24, norms 20, sums of gradients 12, rows' delta 4.
    layer_bytes = (38 * (2 if recompute else 1) + 60) * width * layers * tokens
    # Casts of weights and of their gradients; factor on the head's gradient, its sum with the embedding's; embedding, last norm.
    other_bytes = 12 * matrices + 26 * head + 46 * width * tokens
    loss_bytes = LOGIT_BYTES * VOCABULARY * tokens + (0 if summed_head else 10 * head * chunks)
    update_bytes = (4 + 8 + 28) * (matrices + head)  # norm, clipping, AdamW
    launches = (layers * (LAYER_LAUNCHES + (FORWARD_LAUNCHES if recompute else 0)) + STEP_LAUNCHES
                + math.ceil((matrices + head) / CLIPPED_AT_ONCE) + chunks * (CHUNK_LAUNCHES - summed_head))
    parts = {"products": 6 * tokens * (matrices * again + head) / (peak * ASSUMED["products"][case]),
             "attention": layers * (both + (forward if recompute else 0)),
             "loss": loss_bytes / rate, "layers": layer_bytes / rate, "update, casts": (other_bytes + update_bytes) / rate,
             "kernels": launches * ASSUMED["kernel"][case], "wait": ASSUMED["wait"][case]}
    parts["host"] = max(0, launches * ASSUMED["host"][case] - sum(parts.values()))
    return parts, launches


def ranged(pessimistic, expected, digits=0):
    return f"{pessimistic:,.{digits}f} .. {expected:,.{digits}f}"


def step_rows():
    yield "| model | length | tokens | H200, tokens/s | with the head's gradient summed by its product | H100, tokens/s | launches | " + " | ".join(
        f"{name}, ms" for name in step("H200", 1, *STEPS[0])[0]) + " |"
    yield "|---" * 15 + "|"
    for run in STEPS:
        def speeds(device, *more):
            return ranged(*(run[2] / sum(step(device, case, *run, *more)[0].values()) / 1e3 for case in (0, 1))) + "k"
        parts, launches = step("H200", 1, *run)
        yield (f"| {run[0]} | {run[1]:,} | {run[2]:,}{', recomputed' if run[3] else ''} | {speeds('H200')} | {speeds('H200', True)} | "
               f"{speeds('H100')} | {launches:,} | " + " | ".join(f"{1e3 * part:.1f}" for part in parts.values()) + " |")


def attention_rows():
    yield "| length | blocks visited | forward, ms | forward and backward, ms | FlexAttention, ms | faster by | goal |"
    yield "|---" * 7 + "|"
    for length, goal in GOALS.items():
        ours = [attention("H200", case, length, 12, 64, 65536 // length) for case in (0, 1)]
        flex = FLEX_SECONDS * FLEX_BIAS * 12 * 4 * length / 16384 / SHORTER[length]
        shares = [100 * visited_share(length, 12, ASSUMED["nats"][case]) for case in (0, 1)]
        yield (f"| {length:,} | {ranged(*shares)} % | {ranged(*(1e3 * one[0] for one in ours), 2)} | "
               f"{ranged(*(1e3 * one[1] for one in ours), 2)} | {1e3 * flex:.2f} | {ranged(*(flex / one[1] for one in ours), 1)} | {goal} |")


def published_rows():
    """The same arithmetic on programs that were measured by others."""
    yield "| published | measured | by the model | expected / measured |\n|---|---|---|---|"
    # FlashAttention-2's kernels for sm_90, width 64, as counted in LibTorch 2.11; warps, operations of a 128 x 128 tile.
    for name, tile, warps, operations, measured in (("forward", (1636, 256), 4, 4, 324), ("backward", (1362, 320), 8, 10, 291)):
        bound = operations * 128 * 128 * 64 * 4 * 132 * 1.755e9 / (warps * cycles(tile, "H100")) / 1e12
        found = [bound * share for share in ASSUMED["attention"]]
        yield (f"| FlashAttention-2, {name}, H100, 16k, width 64 | {measured} TFLOP/s, {measured / bound:.2f} of the bound | "
               f"{ranged(*found)} TFLOP/s | {found[1] / measured:.2f} |")
    # llm.c: attention by cuDNN (TFLOP/s assumed), bytes a token and layer in widths, optimizer and exchange left out.
    for name, device, (layers, width), rates, layer, measured in (
            ("124M, A100", "A100", (12, 768), (90, 120), 82, 218e3), ("124M, H100", "H100", (12, 768), (200, 280), 58, 468e3),
            ("1558M, H100", "H100", (48, 1600), (200, 280), 58, 46.8e3)):
        rate, peak, _, _ = DEVICES[device]
        speeds = [1 / (6 * (12 * layers * width**2 + VOCABULARY * width) / (peak * ASSUMED["products"][case])
                       + 7 * 1024 * width * layers / (rates[case] * 1e12)
                       + (layer * width * layers + 4 * VOCABULARY) / (rate * ASSUMED["bytes"][case])) for case in (0, 1)]
        yield f"| llm.c, {name} of 8, 1k | {measured / 1e3:.4g}k tokens/s | {ranged(*(s / 1e3 for s in speeds), 1)}k | {speeds[1] / measured:.2f} |"
    for length, counted in ((1024, 64.8), (4096, 36.8), (16384, 15.9), (65536, 4.7)):
        share = 100 * visited_share(length, 12, ASSUMED["nats"][1])
        yield f"| blocks visited at {length:,}, the processor's kernel | {counted} % | {share:.1f} % | {share / counted:.2f} |"


def choice_rows():
    """What `auto` decides between (src/model/attention.h)."""
    yield "| model, queries of keys | cuda kernel, ms | reference, ms | reference / cuda |\n|---|---|---|---|"
    for length in GOALS:
        both = [(attention("H200", case, length, 12, 64, 65536 // length)[1], reference("H200", case, length, 12, 64, 65536 // length))
                for case in (0, 1)]
        yield (f"| 124M, {length:,} of {length:,}, both passes, 65,536 tokens | {ranged(*(1e3 * ours for ours, _ in both), 2)} | "
               f"{ranged(*(1e3 * other for _, other in both), 1)} | {ranged(both[0][1] / both[0][0], both[1][1] / both[1][0])} |")
    for model, keys in [(model, keys) for model in MODELS for keys in (16384, 32768, 131072)]:
        _, width, heads = MODELS[model]
        both = [one_query("H200", case, keys, heads, width // heads) for case in (0, 1)]
        yield (f"| {model}, 1 of {keys:,}, forward, no bias | {ranged(*(1e3 * ours for ours, _ in both), 2)} | "
               f"{ranged(*(1e3 * other for _, other in both), 2)} | {ranged(both[0][1] / both[0][0], both[1][1] / both[1][0], 1)} |")


def main():
    for width, tiles in COUNTED.items():
        for name, tile in zip(("AttentionForward", "AttentionQueryGradient", "AttentionKeyGradient"), tiles):
            most, products = TILES[name, width, "slopes"]
            if tile[1] != products or not 0.9 * most <= tile[0] <= most:
                sys.exit(f"device_model: {name}, width {width}: {tile} is not what check_device_code.py expects; count again (--counts)")
    text = "\n\n".join("\n".join(rows()) for rows in (step_rows, attention_rows, published_rows, choice_rows))
    if "--check" not in sys.argv[1:]:
        print(text)
    elif text not in RESULTS.read_text(encoding="utf-8"):
        sys.exit(f"device_model: {RESULTS.name} has other tables: paste what scripts/device_model.py prints")


main()
