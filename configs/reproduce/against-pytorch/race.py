"""How soon the program reaches the loss that a PyTorch twin ends with.

usage: race.py PROGRAM FOLDER "LENGTHS" "SEEDS" [--trial]     writes FOLDER/against-pytorch.json and FOLDER/README.md

The same text, tokenizer, model (4.2M parameters), tokens, batch and spread of the first weights (but for the twin that starts from larger
ones). Each contestant's rate is the best of three, with one seed, on half of the held-out documents; then all run in turns, one round
for each seed, and are measured on the other half. The program is given several budgets, each with a schedule that ends there: its time
until a loss lies between two of them. Its seconds are those of the whole process, the twin's those of its steps alone. What is done is
kept in runs/reproduce/; the rates, chosen by loss, serve another machine too. What FOLDER holds of other machines stays there.
"""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "scripts/lib")]
import processor  # noqa: E402
from budgets import crossing, mean_and_spread  # noqa: E402
from plan import split_text  # noqa: E402
from whole_file import write_whole  # noqa: E402

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "alibi"
PYTHON = os.environ.get("ALIBI_VERIFY_PYTHON", CACHE / "verify-1/bin/python")
TOKENS, BATCH = 1000000, 8192
MODEL = {"model.width": 256, "model.heads": 8}
SHARES = (0.2, 0.3, 0.4, 0.6, 0.8, 1)
OURS = "alibi"  # as the quickstart trains: NorMuon, first weights of 0.02 as the twin has them
START, LARGER_START = 0.02, 1 / MODEL["model.width"] ** 0.5  # standard deviations of the first weights
CONTESTANTS = {  # optimizer; rates, AdamW's of all weights, else of the blocks' matrices; first weights
    "PyTorch, AdamW": ("adamw", [0.00075, 0.0015, 0.003], START),
    "PyTorch, AdamW, larger first weights": ("adamw", [0.0015, 0.003, 0.006], LARGER_START),
    "PyTorch, Muon": ("muon", [0.006, 0.012, 0.024], START),
    OURS: ("normuon", [0.006, 0.012, 0.024], START),
}


def output_of(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"race: error: {command[:2]} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done.stdout


class Race:
    """With `trial` everything runs once and short: its figures say nothing."""

    def __init__(self, program, work, trial):
        self.program, self.work, self.trial = program, work, trial
        self.tokens = BATCH if trial else TOKENS
        self.shares = (1,) if trial else SHARES
        self.rates = {name: tried[:1] if trial else tried for name, (_, tried, _) in CONTESTANTS.items()}

    def config(self, half, changes):
        values = {**MODEL, "data.train": json.dumps([str(self.work / f"text-{half}")]), "data.valid": "[]", **changes}
        return ["configs/quickstart.json", *(part for key, value in values.items() for part in ("--set", f"{key}={value}"))]

    def prepare(self):
        self.work.mkdir(parents=True, exist_ok=True)
        split_text("data/default/valid.jsonl", self.work, 12 if self.trial else None)
        for half in ("choose", "report"):
            folder = self.work / f"text-{half}"
            if not folder.exists():
                output_of([self.program, "prepare", "configs/quickstart.json", "--set", f'data.valid=["{self.work / half}.jsonl"]', "--output", folder])

    def run_twin(self, half, length, kind, rate, deviation, seed, tokens):
        return json.loads(output_of([PYTHON, HERE / "train_twin.py", self.work / f"text-{half}", "--length", length, "--tokens", tokens, "--optimizer", kind,
                                     "--rate", rate, "--standard-deviation", deviation, "--seed", seed, "--batch", BATCH,
                                     *(["--trial"] if self.trial else [])]).splitlines()[-1])

    def run_ours(self, half, length, kind, rate, deviation, seed, tokens):
        folder = self.work / "run"
        config = self.config(half, {
            "run.folder": folder, "run.train_tokens": tokens, "run.seed": seed, "run.evaluate_every_tokens": tokens,
            "run.save_every_tokens": tokens, "schedule.warmup_tokens": tokens // 10, "optimizer.kind": kind,
            "optimizer.matrix_learning_rate": rate, "initialize.standard_deviation": deviation, "batch.sequence_length": length, "batch.sequences": BATCH // length,
            "batch.train_sequence_length_scaling": 1, "evaluate.max_tokens": 100000000})
        shutil.rmtree(folder, ignore_errors=True)
        start = time.perf_counter()
        output_of([self.program, "train", *config])
        seconds = time.perf_counter() - start
        curve = self.work / "curve"
        output_of([self.program, "evaluate", folder, "--lengths", "1x", "--output", curve, "--overwrite"])
        return {"seconds": seconds, "tokens": -(-tokens // BATCH) * BATCH,
                "loss": json.loads((curve / "curve.json").read_text())["curves"][0]["points"][0]["loss"]}

    def measured(self, name, half, length, rate, seed, share=1):
        """A contestant's {loss, seconds, tokens}, from its file where it has run before: for its seconds, on such a processor."""
        (kind, _, deviation), tokens = CONTESTANTS[name], int(self.tokens * share)
        what = [name, half, length, rate, seed, tokens, *([processor.describe()] if half == "report" else [])]
        file = self.work / f"{hashlib.sha256(json.dumps(what).encode()).hexdigest()[:12]}.json"
        if not file.exists():
            run = self.run_ours if name == OURS else self.run_twin
            done = {"what": what, "machine": processor.describe(), **run(half, length, kind, rate, deviation, seed, tokens)}
            write_whole(file, json.dumps(done))
            print(f"{name}, length {length}, {half}, rate {rate}, seed {seed}, {tokens} tokens: {done}", flush=True)
        return json.loads(file.read_text())

    def length(self, length, seeds):
        trials = {name: {rate: self.measured(name, "choose", length, rate, 0) for rate in tried} for name, tried in self.rates.items()}
        rates = {name: {rate: one["loss"] for rate, one in tried.items()} for name, tried in trials.items()}
        best = {name: min(losses, key=losses.get) for name, losses in rates.items()}
        rounds = []
        for seed in seeds:
            theirs = {name: self.measured(name, "report", length, best[name], seed) for name in CONTESTANTS if name != OURS}
            rounds.append({**theirs, OURS: [self.measured(OURS, "report", length, best[OURS], seed, share) for share in self.shares]})
        return {"length": length, "rates": rates, "rates_by": sorted({one["machine"] for tried in trials.values() for one in tried.values()}),
                "best": best, "rounds": rounds}


def time_to(points, loss):
    """Seconds until the loss, between those of the two budgets whose line meets it; None where none does."""
    tokens, at_most = crossing([(one["tokens"], one["loss"]) for one in points], loss)
    if tokens is None:
        return None, False
    points = sorted(points, key=lambda one: one["tokens"])
    for one, more in zip(points, points[1:]):
        if tokens <= more["tokens"]:
            share = (tokens - one["tokens"]) / (more["tokens"] - one["tokens"])
            return one["seconds"] + share * (more["seconds"] - one["seconds"]), at_most
    return points[-1]["seconds"], at_most


def section(found):
    best = found["best"]
    lines = [f"\n### Trained on {found['length']} tokens\n",
             "| | loss by rate (one seed, the first half) |", "|---|---|"]
    for name, losses in found["rates"].items():
        losses = {float(rate): loss for rate, loss in losses.items()}  # JSON's keys are strings
        edge = " (at the edge of what was tried)" if best[name] in (min(losses), max(losses)) else ""
        lines.append(f"| {name} | {', '.join(f'{rate}: {loss:.3f}' for rate, loss in losses.items())}; taken {best[name]}{edge} |")
    lines += ["", "| | tokens | loss (second half) | seconds | alibi reaches that loss in | sooner by |", "|---|---|---|---|---|---|"]
    for name in beaten(found):
        theirs = [one[name] for one in found["rounds"]]
        times = [time_to(one[OURS], one[name]["loss"]) for one in found["rounds"]]
        cells = ["not reached", "-"]
        if all(seconds is not None for seconds, _ in times):
            mark = "at most " if any(at_most for _, at_most in times) else ""
            cells = [f"{mark}{mean_and_spread([seconds for seconds, _ in times], 1)} s",
                     ("at least " if mark else "") + mean_and_spread([one["seconds"] / seconds for one, (seconds, _) in zip(theirs, times)], 2)]
        lines.append(f"| {name} | {theirs[0]['tokens'] / 1e6:.2f}M | {mean_and_spread([one['loss'] for one in theirs], 3)} "
                     f"| {mean_and_spread([one['seconds'] for one in theirs], 0)} | {cells[0]} | {cells[1]} |")
    for place in range(len(found["rounds"][0][OURS])):
        mine = [one[OURS][place] for one in found["rounds"]]
        lines.append(f"| {OURS} | {mine[0]['tokens'] / 1e6:.2f}M | {mean_and_spread([one['loss'] for one in mine], 3)} "
                     f"| {mean_and_spread([one['seconds'] for one in mine], 1)} | | |")
    return "\n".join(lines)


def main(program, out, lengths, seeds, *trial):
    out = pathlib.Path(out)
    if "ALIBI_VERIFY_PYTHON" not in os.environ and not (CACHE / "verify-1/.complete").exists():
        sys.exit(f"race: error: {CACHE / 'verify-1'}: found no complete PyTorch there; run scripts/setup --verify")
    race = Race(program, out / "work" if trial else pathlib.Path("runs/reproduce/against-pytorch"), bool(trial))
    race.prepare()
    found = [race.length(int(length), [int(seed) for seed in seeds.split()]) for length in lengths.split()]
    file = out / "against-pytorch.json"
    before = json.loads(file.read_text())["machines"] if file.exists() else []
    mine = {"machine": processor.describe(), "lengths": found}
    measured = {"machines": [mine, *(one for one in before if one["machine"] != mine["machine"])]}
    write_whole(file, json.dumps(measured, indent=1) + "\n")
    write_whole(out / "README.md", page(measured))


def beaten(found):
    """The contestants beside the program, in order; an older run may have fewer."""
    return [name for name in CONTESTANTS if name != OURS and name in found["rates"]]


def sooner(found, name):
    """By which factor the program reaches that contestant's loss before it, of the rounds; empty where one does not."""
    times = [time_to(one[OURS], one[name]["loss"])[0] for one in found["rounds"]]
    return [] if None in times else [one[name]["seconds"] / seconds for one, seconds in zip(found["rounds"], times)]


def sooner_text(found, name):
    factors = sooner(found, name)
    return mean_and_spread(factors, 2) if factors else "not reached by every seed"


def heading(one):
    """Of a machine: its name, seeds and where the rates were chosen."""
    count = len(one["lengths"][0]["rounds"])
    spread = "One seed: each ran once." if count == 1 else f"Means of {count} seeds, least and most."
    elsewhere = sorted({by for found in one["lengths"] for by in found["rates_by"]} - {one["machine"]})
    return f"\n## {one['machine']}\n\n{spread}{f' Some rates were chosen on another machine: ' + '; '.join(elsewhere) + '.' if elsewhere else ''}"


def page(measured):
    """In Markdown, of what against-pytorch.json holds."""
    lines = []
    for one in measured["machines"]:
        for found in one["lengths"]:
            of = ", ".join(f"{name.removeprefix('PyTorch, ')} {sooner_text(found, name)}" for name in beaten(found))
            lines.append(f"- {one['machine']}: trained on {found['length']:,} tokens, `alibi` reaches the loss that PyTorch ends with sooner, by a factor of: {of}.")
    text = f"""# Time to the same loss, beside PyTorch

{chr(10).join(lines)}

The quickstart's text, first weights with a standard deviation of {START} (but where larger ones are named: {LARGER_START:g}, 1 / sqrt(width)),
a model of 4.2M parameters, {BATCH:,} tokens a step, bf16; `alibi` trains with NorMuon, as the quickstart does; the PyTorch twin is compiled, its
attention has ALiBi as a mask. Losses are nats per token of held-out text at the trained length. On a machine all ran in turns, a round for each
seed. Seconds of `alibi` are those of the whole process; PyTorch's are those of its steps, without its start and compilation. `torch.optim.Muon` takes
the matrix of queries, keys and values of a layer as one, `alibi` as three. How rates are chosen and times are found is in the head of
[race.py](../../../configs/reproduce/against-pytorch/race.py); `scripts/reproduce against-pytorch` wrote this.
"""
    return text + "\n".join("\n".join([heading(one), *(section(found) for found in one["lengths"])]) for one in measured["machines"]) + "\n"


if __name__ == "__main__":
    main(*sys.argv[1:])
