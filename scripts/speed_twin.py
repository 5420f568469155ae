#!/usr/bin/env python3
"""One training step of a PyTorch model with the program's shapes, timed: what scripts/compare-speed and gpu-check
compare with.

usage: speed_twin.py --length N --tokens N --precision fp32|bf16 [--compile] [--device cpu|cuda] [--attention mask|flex]
                     [--layers N --width N --heads N --vocabulary N]

Pre-norm blocks without biases, exact GELU, tied head, fused AdamW, clipping at 1.0, random tokens; ALiBi as an additive
mask in scaled_dot_product_attention, or as FlexAttention's score_mod. Prints one JSON object: median, least and most seconds a step, peak memory.
"""
import argparse
import json
import resource
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before = nn.LayerNorm(width, bias=False)
        self.after = nn.LayerNorm(width, bias=False)
        self.project = nn.ModuleDict({
            name: nn.Linear(inputs * width, outputs * width, bias=False)
            for name, inputs, outputs in (("qkv", 1, 3), ("out", 1, 1), ("up", 1, 4), ("down", 4, 1))
        })

    def forward(self, x, attend):
        rows, length, width = x.shape
        heads = self.project["qkv"](self.before(x)).view(rows, length, 3, self.heads, -1)
        q, k, v = (part.transpose(1, 2) for part in heads.unbind(2))
        mixed = attend(q, k, v)
        x = x + self.project["out"](mixed.transpose(1, 2).reshape(rows, length, width))
        return x + self.project["down"](F.gelu(self.project["up"](self.after(x))))


class Model(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.embed = nn.Embedding(options.vocabulary, options.width)
        self.layers = nn.ModuleList(Layer(options.width, options.heads) for _ in range(options.layers))
        self.last = nn.LayerNorm(options.width, bias=False)
        for weight in self.parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, std=0.02)

    def forward(self, inputs, targets, attend):
        x = self.embed(inputs)
        for layer in self.layers:
            x = layer(x, attend)
        logits = F.linear(self.last(x), self.embed.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]).float(), targets.view(-1))


def slopes_of(heads, device):
    """Press's rule for a power of two; else the geometric one: speed does not depend on it."""
    return torch.tensor([2 ** (-8 * (h + 1) / heads) for h in range(heads)], device=device)


def alibi_mask(heads, length, dtype, device):
    place = torch.arange(length, device=device)
    distance = place[None, :] - place[:, None]
    mask = torch.empty(1, heads, length, length, dtype=dtype, device=device)
    for head, slope in enumerate(slopes_of(heads, device)):  # all at once would take some times the memory
        mask[0, head] = (slope * distance).masked_fill(distance > 0, float("-inf"))
    return mask


def by_mask(heads, length, dtype, device):
    mask = alibi_mask(heads, length, dtype, device)
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def by_flex(heads, length, device, attend):
    """`attend`: flex_attention, compiled by itself or as part of a model."""
    from torch.nn.attention.flex_attention import create_block_mask
    slopes = slopes_of(heads, device)
    blocks = create_block_mask(lambda b, h, i, j: j <= i, None, None, length, length, device=device)
    return lambda q, k, v: attend(q, k, v, score_mod=lambda s, b, h, i, j: s + slopes[h] * (j - i), block_mask=blocks)


def attention_of(options, dtype):
    if options.attention == "mask":
        return by_mask(options.heads, options.length, dtype, options.device)
    from torch.nn.attention.flex_attention import flex_attention
    return by_flex(options.heads, options.length, options.device, flex_attention)


def main():
    parser = argparse.ArgumentParser()
    for name, value in (("length", 1024), ("tokens", 4096), ("layers", 8), ("width", 512), ("heads", 8),
                        ("vocabulary", 8192), ("steps", 5), ("warmup", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="bf16")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--attention", choices=("mask", "flex"), default="mask")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    options = parser.parse_args()
    torch.manual_seed(0)
    bf16 = options.precision == "bf16"
    model = Model(options).to(options.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    attend = attention_of(options, torch.bfloat16 if bf16 else torch.float32)
    forward = torch.compile(model) if options.compile else model
    shape = (max(1, options.tokens // options.length), options.length)
    seconds = []
    for step in range(options.warmup + options.steps):
        inputs, targets = torch.randint(options.vocabulary, (2, *shape), device=options.device)
        start = time.perf_counter()
        with torch.autocast(options.device, dtype=torch.bfloat16, enabled=bf16):
            loss = forward(inputs, targets, attend)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if options.device == "cuda":
            torch.cuda.synchronize()
        if step >= options.warmup:
            seconds.append(time.perf_counter() - start)
    print(json.dumps({
        "parameters": sum(p.numel() for p in model.parameters()),
        "tokens": shape[0] * shape[1],
        "step_seconds": statistics.median(seconds),
        "step_least": min(seconds),
        "step_most": max(seconds),
        "peak_memory_bytes": torch.cuda.max_memory_allocated() if options.device == "cuda"
        else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }))


if __name__ == "__main__":
    main()
