"""What optimizers reach, and how soon they reach AdamW's loss: a page in Markdown.

usage: page.py FOLDER      holds CASE/{rates,runs}/comparison.json and CASE/steps.json for each case

Time is tokens by the time of a step on the CPU, which steps.py measures for all optimizers in turns: runs lie hours apart.
The time until AdamW's loss lies between two budgets, each with a schedule that ends there: by the straight line of loss over
the logarithm of tokens, seed by seed.
"""
import json
import math
import pathlib
import statistics
import sys

KINDS = {"adamw": "AdamW", "muon": "Muon", "normuon": "NorMuon", "mud": "MUD"}


def kind_of(variant):
    return variant.split("-")[0]


def read_runs(file):
    """{variant: {seed: (loss, tokens)}}"""
    comparison = json.loads(file.read_text(encoding="utf-8"))
    tokens = {variant["name"]: variant["train_targets"] for variant in comparison["variants"]}
    runs = {variant["name"]: {} for variant in comparison["variants"]}
    for run in comparison["runs"]:
        if not run["failure"]:
            runs[run["variant"]][run["seed"]] = (run["losses"][0]["loss"], tokens[run["variant"]])
    return comparison, runs


def mean_and_spread(values, digits):
    spread = f" ({min(values):.{digits}f} .. {max(values):.{digits}f})" if len(values) > 1 else ""
    return f"{statistics.mean(values):.{digits}f}{spread}"


def crossing(points, target):
    """Tokens at which a line through (tokens, loss) reaches the target; None where no budget does; marked where the least does."""
    points = sorted(points)
    if points[0][1] <= target:
        return points[0][0], True
    for (few, high), (many, low) in zip(points, points[1:]):
        if low <= target < high:
            share = (high - target) / (high - low)
            return math.exp(math.log(few) + share * (math.log(many) - math.log(few))), False
    return None, False


def rates_table(runs):
    print("| optimizer | loss by rate (one seed, on the first half of the held-out documents) | chosen |\n|---|---|---|")
    for kind, name in KINDS.items():
        mine = {variant.split("-")[1]: values[0][0] for variant, values in runs.items() if kind_of(variant) == kind and values}  # seed 0
        if not mine:
            continue
        best = min(mine, key=mine.get)
        rates = sorted(mine, key=float)
        edge = " (at the edge of what was tried)" if best in (rates[0], rates[-1]) else ""
        print(f"| {name} | {', '.join(f'{rate}: {mine[rate]:.3f}' for rate in rates)} | {best}{edge} |")


def relative_steps(steps, kind):
    """Time of a step by AdamW's, round by round."""
    return [mine / adamw for mine, adamw in zip(steps[kind], steps["adamw"])]


def budgets_table(runs, steps):
    tokens = next(iter(runs["adamw-1"].values()))[1]
    print("\n| optimizer | tokens | loss (second half; mean, least and most of the seeds) | time, of AdamW's |\n|---|---|---|---|")
    for variant, values in runs.items():
        if values:
            of_variant = next(iter(values.values()))[1]
            time = statistics.median(relative_steps(steps, kind_of(variant))) * of_variant / tokens
            print(f"| {KINDS[kind_of(variant)]} | {of_variant / 1e6:.2f}M | {mean_and_spread([loss for loss, _ in values.values()], 3)} | {time:.2f} |")


def crossings_table(runs, steps):
    base = runs["adamw-1"]
    print("\n| optimizer | a step's time, of AdamW's (median, least and most of the rounds) | tokens until AdamW's loss (of the seeds) | time until AdamW's loss, of AdamW's (of the rounds) |")
    print("|---|---|---|---|")
    for kind in steps:
        budgets = [values for variant, values in runs.items() if kind_of(variant) == kind and values]
        seeds = sorted(set(base).intersection(*budgets))  # a failed run's seed is left out
        if kind == "adamw":
            continue
        relative = relative_steps(steps, kind)
        step = f"{statistics.median(relative):.2f} ({min(relative):.2f} .. {max(relative):.2f})"
        found = [crossing([(values[seed][1], values[seed][0]) for values in budgets], base[seed][0]) for seed in seeds]
        if any(tokens is None for tokens, _ in found):
            print(f"| {KINDS[kind]} | {step} | not reached | |")
            continue
        shares = [tokens / base[seed][1] for seed, (tokens, _) in zip(seeds, found)]
        mark = "at most " if any(at_most for _, at_most in found) else ""
        mean = statistics.mean(shares)
        time = f"{mean * statistics.median(relative):.2f} ({mean * min(relative):.2f} .. {mean * max(relative):.2f})"
        print(f"| {KINDS[kind]}{'' if len(seeds) == len(base) else f' ({len(seeds)} seeds)'} | {step} | {mark}{mean_and_spread(shares, 2)} | {mark}{time} |")


def main(folder):
    print("""# Less time to the same loss

The same model, data, tokens and batch; the rate of each optimizer is the best of three tried with one seed on one half of the
held-out documents, and losses (nats per token, at the trained length) are reported on the other half. Muon's kin take the rate
under trial for the matrices of the blocks, AdamW and the config's rate for all else. Each budget has a schedule of its own, which
decays to its end. `scripts/reproduce optimizers` wrote this; how times are found is in the head of
[page.py](../../../configs/reproduce/optimizers/page.py).""")
    for case in sorted(path.parent for path in pathlib.Path(folder).glob("*/steps.json")):
        comparison, runs = read_runs(case / "runs" / "comparison.json")
        parameters = comparison["variants"][0]["parameters"]
        device = comparison["protocol"]["device"]
        where = device if device.startswith("cpu") else f"trained on {device}, steps timed on a CPU"
        print(f"\n## {comparison['title']}\n\n{parameters / 1e6:.1f}M parameters; {where}.\n")
        rates_table(read_runs(case / "rates" / "comparison.json")[1])
        steps = json.loads((case / "steps.json").read_text(encoding="utf-8"))
        budgets_table(runs, steps)
        crossings_table(runs, steps)


if __name__ == "__main__":
    main(sys.argv[1])
