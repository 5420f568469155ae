"""Trains the PyTorch model of scripts/speed_twin.py on prepared text, compiled and in bf16, and measures it on the held-out part.

usage: train_twin.py PREPARED --length N --tokens N --optimizer adamw|muon --rate R [--batch 8192] [--seed 0]
                     [--standard-deviation 0.02] [--trial]
       train_twin.py PREPARED --length N --weights FILE      only measures the program's weights.safetensors

Windows of the text without overlap, shuffled; linear warm-up over a tenth of the tokens, then a cosine to a tenth of the rate;
clipping at 1.0, decay of 0.1 on matrices. muon: torch.optim.Muon on the matrices of the blocks, AdamW at 0.003 on all else. Prints one
JSON object; seconds are those of the steps: compiling, reading and measuring are not in them.
"""
import argparse
import json
import math
import pathlib
import sys
import time
import types

import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts"))
from speed_twin import Model, by_mask  # noqa: E402

SHAPE = {"layers": 4, "width": 256, "heads": 8}  # of configs/compare/base.json
END = 2  # the end-of-document token


def read_ids(folder, part):
    """Ids of the token files (data/README.md, Prepared text)."""
    ids = []
    for file in sorted(folder.glob(f"{part}-*.tokens")):
        content = file.read_bytes()
        kind = torch.uint16 if content[12] == 2 else torch.int32
        ids.append(torch.frombuffer(bytearray(content[128:]), dtype=kind).to(torch.int64))
    return torch.cat(ids)


def batches(ids, rows, length, seed):
    """Endless (inputs, targets), each (rows, length)."""
    draw = torch.Generator().manual_seed(seed)
    windows = (len(ids) - 1) // length
    while True:
        order = torch.randperm(windows, generator=draw)
        for chosen in order[: windows // rows * rows].split(rows):
            places = chosen[:, None] * length + torch.arange(length)
            yield ids[places], ids[places + 1]


def held_out_loss(model, ids, length, attend):
    """All whole windows side by side, each target once; the first is predicted from an end token."""
    windows = len(ids) // length
    stream = torch.cat([torch.tensor([END]), ids])
    inputs, targets = (stream[first: first + windows * length].view(windows, length) for first in (0, 1))
    total = 0.0
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        for some, wanted in zip(inputs.split(16), targets.split(16)):
            total += float(model(some, wanted, attend)) * len(some)
    return total / windows


def initialize(model, layers, standard_deviation):
    for layer in model.layers:
        for name in ("out", "down"):  # what a block adds to the residual stream
            nn.init.normal_(layer.project[name].weight, std=0.02 / math.sqrt(2 * layers))
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() == 2:  # drawn with 0.02
                weight.mul_(standard_deviation / 0.02)


def load(model, file):
    from safetensors.torch import load_file
    weights = load_file(file)
    with torch.no_grad():
        model.embed.weight.copy_(weights["embedding"])
        model.last.weight.copy_(weights["norm.weight"])
        for i, layer in enumerate(model.layers):
            layer.before.weight.copy_(weights[f"block_{i}.norm_1.weight"])
            layer.after.weight.copy_(weights[f"block_{i}.norm_2.weight"])
            for name, projection in layer.project.items():
                projection.weight.copy_(weights[f"block_{i}.{name}.weight"])


def optimizers_of(model, kind, rate):
    """Optimizers, each with its peak rate."""
    matrices = [weight for weight in model.layers.parameters() if weight.dim() == 2] if kind == "muon" else []
    mine = {id(weight) for weight in matrices}
    rest = [weight for weight in model.parameters() if id(weight) not in mine]
    groups = [{"params": [w for w in rest if w.dim() == 2], "weight_decay": 0.1}, {"params": [w for w in rest if w.dim() == 1], "weight_decay": 0}]
    adamw_rate = 0.003 if kind == "muon" else rate
    found = [(torch.optim.AdamW(groups, lr=adamw_rate, betas=(0.9, 0.95), fused=True), adamw_rate)]
    if matrices:  # steps with the root mean square of 0.2 times the rate, as the program's
        found.append((torch.optim.Muon(matrices, lr=rate, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"), rate))
    return found


def factor(step, steps):
    warmup = steps // 10
    if step < warmup:
        return (step + 1) / warmup
    return 0.1 + 0.9 * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup))) / 2


def train(model, ids, attend, options):
    compiled = model if options.trial else torch.compile(model)

    def gradients(inputs, targets):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = compiled(inputs, targets, attend)
        loss.backward()

    feed = batches(ids, options.batch // options.length, options.length, options.seed)
    for _ in range(2):  # compiles
        gradients(*next(feed))
        model.zero_grad(set_to_none=True)
    steps = 1 if options.trial else math.ceil(options.tokens / options.batch)
    updates = optimizers_of(model, options.optimizer, options.rate)
    start = time.perf_counter()
    for step in range(steps):
        gradients(*next(feed))
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, rate in updates:
            for group in optimizer.param_groups:
                group["lr"] = rate * factor(step, steps)
            optimizer.step()
        model.zero_grad(set_to_none=True)
    return {"seconds": time.perf_counter() - start, "tokens": steps * options.batch}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("prepared", type=pathlib.Path)
    for name, kind, value in (("length", int, 256), ("tokens", int, 2000000), ("batch", int, 8192), ("seed", int, 0), ("rate", float, 0.003), ("standard-deviation", float, 0.02),
                              ("optimizer", str, "adamw"), ("weights", str, "")):
        parser.add_argument(f"--{name}", type=kind, default=value)
    parser.add_argument("--trial", action="store_true", help="one step, not compiled, measured on little text")
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    vocabulary = json.loads((options.prepared / "prepared.json").read_text())["tokenizer"]["vocabulary"]
    model = Model(types.SimpleNamespace(**SHAPE, vocabulary=vocabulary))
    initialize(model, SHAPE["layers"], options.standard_deviation)
    attend = by_mask(SHAPE["heads"], options.length, torch.bfloat16, "cpu")
    done = {}
    if options.weights:
        load(model, options.weights)
    else:
        done = train(model, read_ids(options.prepared, "train"), attend, options)
    held_out = read_ids(options.prepared, "valid")
    done["loss"] = held_out_loss(model, held_out[:4096] if options.trial else held_out, options.length, attend)
    print(json.dumps(done))


if __name__ == "__main__":
    main()
