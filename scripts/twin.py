#!/usr/bin/env python3
"""A PyTorch twin of the trainer, written from the papers and from data/README.md, not from its code.

usage: twin.py RUN_FOLDER...

Each folder is a run in fp32 without dropout, with one file more, twin.safetensors (tests/interop/twin_test.cc makes it):

  initial.NAME            weights before the first step
  inputs.N, targets.N     the batch of step N, (rows, length)
  tokens.K, logits.K      what the trained weights say of a text of K times the trained length

Builds the same model from the folder's config.json in plain PyTorch and compares
  logits   from the newest checkpoint's weights, at most 1e-4 apart
  losses   of the run's log.jsonl against its own training from the initial weights, at most 1e-5 apart
One line per disagreement and exit code 1; for a folder without one, a line with the largest differences.
"""
import itertools
import json
import math
import pathlib
import re
import sys
import unittest.mock

import torch
import torch.nn.functional as F
from safetensors import safe_open

END = 2  # the end-of-document token


def load_tensors(path):
    with safe_open(str(path), framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}


def slopes_of(model):
    """Press et al. 2021: the authors' own recursion, or one geometric sequence; base 2^(-bias_max/heads)."""
    if model.get("slopes"):
        return model["slopes"]
    bias_max = model["slope_bias_max"]

    def power(n):
        return [2 ** (-bias_max * (i + 1) / n) for i in range(n)]

    def press(n):
        if math.log2(n).is_integer():
            return power(n)
        closest = 2 ** math.floor(math.log2(n))
        return power(closest) + press(2 * closest)[0::2][: n - closest]

    return press(model["heads"]) if model["slope_rule"] == "press" else power(model["heads"])


def t5_bucket(distance, buckets, max_distance):
    exact = buckets // 2
    if distance < exact:
        return distance
    far = math.log(distance / exact) / math.log(max_distance / exact) * (buckets - exact)
    return min(buckets - 1, exact + math.floor(far + 1e-9))


def sinusoid(length, width):
    table = torch.zeros(length, width)
    for position in range(length):
        for c in range(width // 2):
            angle = position / 10000 ** (2 * c / width)
            table[position, c], table[position, c + width // 2] = math.sin(angle), math.cos(angle)
    return table


def sandwich_rows(length, width):
    """Chi et al. 2023: sines and cosines of every position."""
    angle = torch.arange(length).double()[:, None] / 10000 ** (2 * torch.arange(width // 2).double() / width)
    return torch.cat([angle.sin(), angle.cos()], -1)


def scaled_turns(m, width):
    """Radians a position of each pair, and the length of what is turned: Su et al. 2021; PI (Chen et al. 2023), NTK-aware, YaRN."""
    kind, factor = m.get("rotary_scaling", "none"), m.get("rotary_scaling_factor") or 1.0
    base, pairs = m["rotary_base"], [2 * pair / width for pair in range(width // 2)]
    if kind == "ntk" and width > 2:
        base *= factor ** (width / (width - 2))
    turns = [base ** -pair for pair in pairs]
    if kind == "linear" or kind == "ntk" and width == 2:
        turns = [turn / factor for turn in turns]
    if kind != "yarn":
        return turns, 1.0
    wavelengths = [2 * math.pi / turn for turn in turns]
    as_they_were = [min(1, max(0, (m["rotary_original_length"] / wavelength - 1) / (32 - 1))) for wavelength in wavelengths]
    return [(1 - ramp) * turn / factor + ramp * turn for ramp, turn in zip(as_they_were, turns)], 0.1 * math.log(factor) + 1


def turn(x, m):
    """Su et al. 2021: column c and c + D/2 as a complex number, multiplied by e^(i position angle)."""
    length, width = x.shape[-2:]
    turns, size = scaled_turns(m, width)
    angle = torch.outer(torch.arange(length, dtype=torch.float64), torch.tensor(turns, dtype=torch.float64))
    angle[:, math.floor(m.get("rotary_share", 1.0) * (width // 2) + 0.5):] = 0  # Barbero et al. 2025
    turned = torch.complex(x[..., : width // 2].double(), x[..., width // 2 :].double()) * torch.polar(
        torch.full_like(angle, size), angle)
    return torch.cat([turned.real, turned.imag], -1).float()


class Twin:
    def __init__(self, model, weights):
        self.m = model
        self.w = {name: tensor.clone().requires_grad_() for name, tensor in weights.items()}

    def norm(self, name, x):
        return F.layer_norm(x, x.shape[-1:], self.w[name + ".weight"], self.w.get(name + ".bias"),
                            self.m["norm_epsilon"])

    def linear(self, name, x):
        return F.linear(x, self.w[name + ".weight"], self.w.get(name + ".bias"))

    def bias(self, layer, length):
        """(heads, T, T) added to scores, -inf where a query may not look."""
        distance = torch.arange(length)[:, None] - torch.arange(length)[None, :]
        bias = torch.zeros(self.m["heads"], length, length)
        if self.m["position"] == "alibi":
            slopes = self.w["slopes"] if "slopes" in self.w else torch.tensor(slopes_of(self.m))
            bias = -slopes[:, None, None] * distance
        if self.m["position"] == "t5":
            table = self.w["buckets_0" if self.m["t5_shared"] else f"buckets_{layer}"]
            bucket = [t5_bucket(d, self.m["t5_buckets"], self.m["t5_max_distance"]) for d in range(length)]
            bias = table[torch.tensor(bucket)[distance.clamp(min=0)]].permute(2, 0, 1)
        if self.m["position"] == "bam":
            past = distance.clamp(min=0).double() + 1e-5
            bias = -self.w["bam_scale"].double().exp()[:, None, None] * past ** self.w["bam_shape"].double()[:, None, None]
        if self.m["position"] == "sandwich":
            rows, width = sandwich_rows(length, self.m["sandwich_width"]), self.m["heads"]
            bias = (rows @ rows.T) / (torch.arange(1, width + 1) * 8 / width)[:, None, None]
        if self.m["position"] == "fire":
            inner, inner_bias, outer, outer_bias, rate, threshold = (self.w[f"fire_{name}_{layer}"] for name in (
                "in", "in_bias", "out", "out_bias", "rate", "threshold"))
            place = torch.arange(length).float()
            spread = torch.maximum(place, (threshold * self.m["fire_threshold"]).abs())
            share = ((rate * distance).abs() + 1).log() / (((rate * spread).abs() + 1).log() + 1e-6)[:, None]
            hidden_units = F.relu(share[..., None] * inner + inner_bias)
            bias = F.linear(hidden_units, outer, outer_bias).permute(2, 0, 1)
        if self.m["position"] == "kerple":
            past = distance.clamp(min=0).float()
            r1, r2 = (self.w[f"kerple_{name}"][:, None, None] for name in ("r1", "r2"))
            if self.m["kerple_kernel"] == "log":
                bias = -r1.exp() * torch.log1p(r2.exp() * past)
            else:  # 0 at distance 0, whose gradient would be no number
                bias = -r1.exp() * torch.where(past > 0, past.clamp(min=1) ** (2 * r2.sigmoid()), past)
        hidden = torch.stack([~self.shown(layer, head, distance) for head in range(self.m["heads"])])
        return bias.float().masked_fill((distance < 0) | hidden, -math.inf)

    def faded(self, layer, x):
        """(B, heads, T, T): Lin et al. 2025, the log of the product of the forget gates after j up to i."""
        gates = F.logsigmoid(F.linear(x, self.w[f"forget_{layer}"], self.w[f"forget_bias_{layer}"])).transpose(1, 2)
        length = x.shape[1]
        later = torch.ones(length, length).tril()  # sums over j < l <= i, as products with ones and zeros
        between = later[:, None, :] * (1 - later[None, :, :])
        return torch.einsum("ijl,bhl->bhij", between, gates)

    def shown(self, layer, head, distance):
        """(T, T): which keys model.attention_pattern shows; parts of distance and place, none that are drawn."""
        place = torch.arange(distance.shape[0])
        i, j = place[:, None], place[None, :]
        shown = torch.ones_like(distance, dtype=torch.bool)
        for entry in self.m.get("attention_pattern", []):
            where, _, parts = entry.rpartition(":")
            chosen = {"layers": [layer], "heads": [head]}
            for kind, numbers in re.findall(r"(layers|heads) ([0-9,-]+)", where):
                ranges = [part.split("-") for part in numbers.split(",")]
                chosen[kind] = [n for ends in ranges for n in range(int(ends[0]), int(ends[-1]) + 1)]
            if layer not in chosen["layers"] or head not in chosen["heads"]:
                continue
            shown = torch.zeros_like(shown)
            for name, numbers in re.findall(r"(\w+)\(([^)]*)\)", parts):
                n = [int(number) for number in numbers.split(",")]
                shown = shown | {
                    "window": lambda: distance < n[0],
                    "dilated": lambda: (distance < n[0] * n[1]) & (distance % n[1] == 0),
                    "strided": lambda: (distance < n[0]) | (distance % n[0] == 0),
                    "fixed": lambda: (i // n[0] == j // n[0]) | (j % n[0] >= n[0] - n[1]),
                    "blockwise": lambda: i // n[0] == j // n[0],
                    "global": lambda: j < n[0],
                }[name]()
        return shown

    def attention(self, layer, x, seen):
        m, (batch, length, width) = self.m, x.shape
        heads, groups = m["heads"], m["key_value_heads"]
        size = width // heads
        q, k, v = self.linear(f"block_{layer}.qkv", x).split([width, groups * size, groups * size], -1)
        q, k, v = (part.reshape(batch, length, -1, size).transpose(1, 2) for part in (q, k, v))
        if m["position"] == "position_infused":
            with_places = x + sinusoid(length, width)
            q, k, _ = self.linear(f"block_{layer}.qkv", with_places).split([width, groups * size, groups * size], -1)
            q, k = (part.reshape(batch, length, -1, size).transpose(1, 2) for part in (q, k))
        if m["position"] == "rotary":
            q, k = turn(q, m), turn(k, m)
        if m.get("scalable_softmax"):
            first = torch.zeros(batch, length) if seen is None else seen.long().argmax(-1)
            q = q * self.w[f"softmax_scale_{layer}"][:, None, None] * (torch.arange(1, length + 1) - first).log()[:, None, :, None]
        k, v = (part.repeat_interleave(heads // groups, 1) for part in (k, v))
        scores = q @ k.transpose(2, 3) * m["attention_scale"] + self.bias(layer, length)
        if m["position"] == "forgetting":
            scores = scores + self.faded(layer, x)
        if seen is not None:
            scores = scores.masked_fill(~seen[:, None], -math.inf)
        mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width)
        return self.linear(f"block_{layer}.out", mixed)

    def logits(self, tokens, seen=None):
        m = self.m
        x = self.w["embedding"][tokens]
        length, width = tokens.shape[1], m["width"]
        if m["position"] == "sinusoidal":
            x = x * math.sqrt(width) + sinusoid(length, width)
        if m["position"] == "learned":
            x = x + self.w["positions"][:length]
        if m["embedding_norm"]:
            x = self.norm("embedding_norm", x)
        approximate = "tanh" if m["activation"] == "gelu_tanh" else "none"
        for layer in range(m["layers"]):
            block = f"block_{layer}"
            x = x + self.attention(layer, self.norm(block + ".norm_1", x), seen)
            h = F.gelu(self.linear(block + ".up", self.norm(block + ".norm_2", x)), approximate=approximate)
            x = x + self.linear(block + ".down", h)
        return F.linear(self.norm("norm", x), self.w["head" if "head" in self.w else "embedding"])


def same_document(inputs):
    """(B, T, T): query and key belong to one document; a document begins at the end token before it."""
    number = (inputs == END).cumsum(1)
    return number[:, :, None] == number[:, None, :]


def learning_rate(config, tokens):
    s, peak, total = config["schedule"], config["optimizer"]["learning_rate"], config["run"]["train_tokens"]
    if tokens < s["warmup_tokens"]:
        return peak * tokens / s["warmup_tokens"]
    if s["kind"] == "constant":
        return peak
    start = total - s["decay_tokens"] if s["kind"] == "wsd" else s["warmup_tokens"]
    done = min(1.0, max(0.0, (tokens - start) / (total - start)))
    left = (1 + math.cos(math.pi * done)) / 2 if s["kind"] == "cosine" else 1 - done
    return peak * (s["final_fraction"] + (1 - s["final_fraction"]) * left)


def made_orthogonal(matrix, kind):
    """MUD's map, or Muon's and NorMuon's as PyTorch has it."""
    if kind != "mud":
        return torch.optim._muon._zeropower_via_newtonschulz(matrix, (3.4445, -4.7750, 2.0315), 5, 1e-7)
    tall = matrix.shape[0] > matrix.shape[1]
    rows = F.normalize(matrix.T if tall else matrix, dim=1)
    found = F.normalize(torch.linalg.solve((rows @ rows.T).tril(), rows), dim=1)
    return found.T if tall else found


class ByFormula:
    """NorMuon (Li et al. 2025, algorithm 1) and MUD (Southworth and Thomas 2026), which PyTorch does not have."""

    def __init__(self, matrices, o):
        self.o = o
        self.state = [(matrix, torch.zeros_like(matrix), torch.zeros(matrix.shape[0], dtype=matrix.dtype)) for matrix in matrices]
        self.param_groups = [{"lr": 0.0}]

    @torch.no_grad()
    def step(self):
        rate, o = self.param_groups[0]["lr"], self.o
        for matrix, momentum, row_moment in self.state:
            momentum.mul_(o["momentum"]).add_(matrix.grad * (1 - o["momentum"]))
            direction = made_orthogonal(matrix.grad * (1 - o["momentum"]) + momentum * o["momentum"], o["kind"])
            if o["kind"] == "normuon":
                row_moment.mul_(o["beta2"]).add_(direction.pow(2).mean(1) * (1 - o["beta2"]))
                direction = direction / (row_moment.sqrt() + o["epsilon"])[:, None]
                direction = direction * math.sqrt(min(matrix.shape)) / direction.norm()
            decay = o.get("matrix_weight_decay", o["weight_decay"])
            matrix.mul_(1 - rate * decay).sub_(direction * (0.2 * rate * math.sqrt(max(matrix.shape))))


class BlockMatrices:
    """Muon and its kin on the blocks' matrices: queries, keys and values by themselves, which share their weight's memory."""

    def __init__(self, weights, o):
        self.parts = []
        for name, w in weights.items():
            width = w.shape[1]
            sizes = [width, (w.shape[0] - width) // 2, (w.shape[0] - width) // 2] if ".qkv." in name else [w.shape[0]]
            self.parts += [(w, first, torch.nn.Parameter(part)) for first, part in
                           zip(itertools.accumulate([0, *sizes]), w.data.split(sizes))]
        self.rate_factor = o.get("matrix_learning_rate", o["learning_rate"]) / o["learning_rate"]
        matrices = [part for _, _, part in self.parts]
        self.muon = ByFormula(matrices, o) if o["kind"] != "muon" else torch.optim.Muon(matrices, momentum=o["momentum"],
                                     weight_decay=o.get("matrix_weight_decay", o["weight_decay"]),
                                     adjust_lr_fn="match_rms_adamw")

    def step(self, rate):
        for w, first, part in self.parts:
            part.grad = w.grad[first:first + part.shape[0]]
        self.muon.param_groups[0]["lr"] = rate * self.rate_factor
        # It rounds to bf16 before its products; a run in fp32 does not.
        with unittest.mock.patch.object(torch.Tensor, "bfloat16", torch.Tensor.clone):
            self.muon.step()


def train(config, numbers):
    """Losses of all steps, from the initial weights."""
    twin = Twin(config["model"], {name[8:]: t for name, t in numbers.items() if name.startswith("initial.")})
    o = config["optimizer"]
    in_blocks = {name: w for name, w in twin.w.items()
                 if o["kind"] != "adamw" and name.startswith("block_") and w.dim() == 2}
    blocks = BlockMatrices(in_blocks, o) if in_blocks else None
    matrices = [w for name, w in twin.w.items() if w.dim() >= 2 and name not in in_blocks]
    others = [w for w in twin.w.values() if w.dim() < 2]
    groups = [{"params": matrices, "weight_decay": o["weight_decay"]}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, betas=(o["beta1"], o["beta2"]), eps=o["epsilon"])
    losses, tokens = [], 0
    while f"inputs.{len(losses)}" in numbers:
        inputs, targets = numbers[f"inputs.{len(losses)}"], numbers[f"targets.{len(losses)}"]
        tokens += inputs.numel()
        seen = same_document(inputs) if config["data"]["separate_documents"] else None
        loss = F.cross_entropy(twin.logits(inputs, seen).flatten(0, 1), targets.flatten())
        for w in twin.w.values():
            w.grad = None
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(twin.w.values()), o["clip_norm"])
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(config, tokens)
        optimizer.step()
        if blocks:
            blocks.step(learning_rate(config, tokens))
        losses.append(loss.item())
    return losses


def compare(folder):
    config = json.loads((folder / "config.json").read_text())
    numbers = load_tensors(folder / "twin.safetensors")
    newest = max((folder / "checkpoints").iterdir(), key=lambda path: path.name)
    faults, worst = [], {"logits": 0.0, "losses": 0.0}

    trained = Twin(config["model"], load_tensors(newest / "weights.safetensors"))
    lengths = [name[7:] for name in numbers if name.startswith("tokens.")]
    for times in lengths:
        with torch.no_grad():
            found = trained.logits(numbers[f"tokens.{times}"])
        difference = (found - numbers[f"logits.{times}"]).abs().max().item()
        worst["logits"] = max(worst["logits"], difference)
        if not difference <= 1e-4:
            faults.append(f"logits at {times} times the trained length differ by {difference:.3g}")

    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    expected = [line["loss"] for line in log if "loss" in line]
    found = train(config, numbers)
    if len(found) != len(expected) or not found or not lengths:
        faults.append(f"{len(found)} batches, {len(expected)} losses, {len(lengths)} texts")
    for step, (mine, theirs) in enumerate(zip(found, expected), 1):
        worst["losses"] = max(worst["losses"], abs(mine - theirs))
        if not abs(mine - theirs) <= 1e-5:
            faults.append(f"loss of step {step}: twin {mine:.7f}, run {theirs:.7f}")
    return faults, worst, (found[0], found[-1]) if found else (0, 0)


def main():
    torch.set_num_threads(1)
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    failed = False
    for folder in map(pathlib.Path, sys.argv[1:]):
        faults, worst, (first, last) = compare(folder)
        for fault in faults:
            print(f"{folder.name}: {fault}")
        failed = failed or bool(faults)
        if not faults:
            print(f"{folder.name}: logits within {worst['logits']:.2g}, losses within {worst['losses']:.2g}, "
                  f"{first:.3f} to {last:.3f}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
