"""What optimizers reach, and how soon they reach AdamW's loss: a page in Markdown.

usage: page.py FOLDER      holds CASE/{rates,runs}/comparison.json and CASE/steps.json for each case

Time is tokens by the time of a step on the CPU, which steps.py measures for all optimizers in turns: runs lie hours apart.
The time until AdamW's loss lies between two budgets, each with a schedule that ends there: by the straight line of loss over
the logarithm of tokens, seed by seed.
"""
import json
import pathlib
import re
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from budgets import arm_of, losses_of, mean_and_spread, median_and_spread, read_runs, read_steps, relative_steps, time_until  # noqa: E402
from paired import differences_of, interval, ranged  # noqa: E402

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
KINDS = {"adamw": "AdamW", "muon": "Muon", "normuon": "NorMuon", "mud": "MUD"}


def rates_table(runs):
    print("| optimizer | loss by rate (one seed, on the first half of the held-out documents) | chosen |\n|---|---|---|")
    for kind, name in KINDS.items():
        mine = {variant.split("-")[1]: values[0][0] for variant, values in runs.items() if variant.split("-")[0] == kind and values}  # seed 0
        if not mine:
            continue
        best = min(mine, key=mine.get)
        rates = sorted(mine, key=float)
        edge = " (at the edge of what was tried)" if best in (rates[0], rates[-1]) else ""
        print(f"| {name} | {', '.join(f'{rate}: {mine[rate]:.3f}' for rate in rates)} | {best}{edge} |")


def budgets_table(runs, steps):
    whole = next((tokens for _, tokens in runs["adamw-1"].values()), None)  # None where every run of it failed
    print("\n| optimizer | tokens | loss (second half; mean, least and most of the seeds) | time, of AdamW's |\n|---|---|---|---|")
    for variant, values in runs.items():
        if values:
            of_variant = next(iter(values.values()))[1]
            time = f"{statistics.median(relative_steps(steps, arm_of(variant), 'adamw')) * of_variant / whole:.2f}" if whole else "-"
            print(f"| {KINDS[arm_of(variant)]} | {of_variant / 1e6:.2f}M | {mean_and_spread([loss for loss, _ in values.values()], 3)} | {time} |")


def budgets_of(runs, kind):
    return [variant for variant, values in runs.items() if arm_of(variant) == kind and values]


def says_nothing(runs, kind, until):
    """An upper bound of one budget alone: no shorter run says how much sooner."""
    return until[2] and len(budgets_of(runs, kind)) == 1


def crossings_table(runs, steps):
    print("\n| optimizer | a step's time, of AdamW's (median, least and most of the rounds) | tokens until AdamW's loss (of the seeds) | time until AdamW's loss, of AdamW's (of seeds and rounds) |")
    print("|---|---|---|---|")
    for kind in steps:
        if kind == "adamw":
            continue
        step, until = median_and_spread(relative_steps(steps, kind, "adamw")), time_until(runs, steps, kind, "adamw-1")
        if not runs["adamw-1"] or not budgets_of(runs, kind):
            print(f"| {KINDS[kind]} | {step} | every run of it or of AdamW failed | |")
            continue
        if until is None:
            print(f"| {KINDS[kind]} | {step} | not reached | |")
            continue
        shares, times, at_most = until
        mark, all_seeds = "at most " if at_most else "", len(runs["adamw-1"])
        if says_nothing(runs, kind, until):
            print(f"| {KINDS[kind]} | {step} | not measured: one budget alone, with lower loss than AdamW's at its end | - |")
            continue
        print(f"| {KINDS[kind]}{'' if len(shares) == all_seeds else f' ({len(shares)} seeds)'} | {step} | {mark}{mean_and_spread(shares, 2)} | {mark}{median_and_spread(times)} |")


def verdict(runs, steps):
    """One line: who reaches AdamW's loss soonest."""
    found = {kind: time_until(runs, steps, kind, "adamw-1") for kind in steps if kind != "adamw"}
    found = {kind: until for kind, until in found.items() if until and not says_nothing(runs, kind, until)}
    if not found:
        return "no optimizer reaches AdamW's loss"
    kind = min(found, key=lambda kind: statistics.median(found[kind][1]))
    _, times, at_most = found[kind]
    return (f"{KINDS[kind]} has AdamW's loss after {'at most ' if at_most else ''}{median_and_spread(times)} of its time")


def beside_muon(cases):
    """Muon's loss from NorMuon's after as many tokens, paired by seed, in a sentence for each case that ran both."""
    said = []
    for case in cases:
        comparison, runs = read_runs(case / "runs" / "comparison.json")
        whole = next((tokens for _, tokens in runs["adamw-1"].values()), None)
        parts = []
        for variant in budgets_of(runs, "muon"):
            each = differences_of(losses_of(runs[variant]), losses_of(runs.get(variant.replace("muon", "normuon"), {})))
            if whole and len(each) > 1:
                parts.append(f"{ranged(*interval(each), lambda nats: f'{nats:+.3f}')} after {100 * next(iter(runs[variant].values()))[1] / whole:.0f} % of AdamW's tokens")
        until = time_until(runs, read_steps(case / "steps.json")[1], "muon", "adamw-1")
        if parts and until:
            said.append(f"- {comparison['title'].removeprefix('Optimizers: ')}: Muon has AdamW's loss after {'at most ' if until[2] else ''}{statistics.median(until[1]):.2f} "
                        f"of its time; its loss from NorMuon's, nats: {', '.join(parts)}.")
    return "\n".join(said)


def better_batches(cases):
    """Of the cases of one model those whose AdamW ends with the lowest loss."""
    ends = {}
    for case in cases:
        comparison, runs = read_runs(case / "runs" / "comparison.json")
        if runs["adamw-1"]:
            model = comparison["title"].rsplit(", ", 1)[0]
            ends.setdefault(model, []).append((statistics.mean(loss for loss, _ in runs["adamw-1"].values()), case))
    return {min(of_model)[1] for of_model in ends.values() if len(of_model) > 1}


def other_rate(case):
    """What all but the matrices of the blocks is trained with beside Muon's kin."""
    trials = json.loads((case / "rates" / "trials.json").read_text(encoding="utf-8"))
    rate = trials["config"].get("optimizer", {}).get("learning_rate")
    return rate or float(re.search(r'"learning_rate": ([0-9.]+)', (REPOSITORY / trials["base"][0]).read_text(encoding="utf-8"))[1])


def main(folder):
    cases = sorted(path.parent for path in pathlib.Path(folder).glob("*/steps.json"))
    print("# Less time to the same loss\n")
    better = better_batches(cases)
    for case in cases:
        comparison, runs = read_runs(case / "runs" / "comparison.json")
        batch = " (the batch at which AdamW ends with the lower loss)" if case in better else ""
        print(f"- {comparison['title'].removeprefix('Optimizers: ')}{batch}: {verdict(runs, read_steps(case / 'steps.json')[1])}.")
    print("""
So: NorMuon with a rate of 0.005 to 0.012 for the matrices of the blocks and about 0.003 for all else ([recipe](../../../configs/GUIDE.md#train)).

""" + beside_muon(cases) + """

The same model, data, tokens and batch; the rate of each optimizer is the best of those tried (as many for AdamW as for others, or more), with one seed on one half of the
held-out documents, and losses (nats per token, at the trained length) are reported on the other half. Muon's kin take the rate
under trial for the matrices of the blocks; for all else AdamW at a rate of its own, which each section names and which was not tried. Each budget has a schedule of its own, which
decays to its end. Time is tokens by the time of a step, which was measured for all in turns; starts, validations and saves are not in it. First weights
have a standard deviation of 1 / sqrt(width), and the rows of a step are cut from the same few sequences. All four optimizers ran at 4.2M parameters,
AdamW and NorMuon at 29.4M. NorMuon was ahead of AdamW wherever it was tried, but all of this page is early in training, at most 0.5 tokens a parameter: so the default of
`optimizer.kind` stays `adamw`. One run of the quickstart's own model, 1.3M parameters after 7.5M tokens, is in [RESULTS](../../../tests/bench/RESULTS.md#time-to-adamws-loss).
`CASES="quickstart-8k quickstart-32k books-8k books-32k" scripts/reproduce optimizers` (books: after scripts/unpack-books) wrote this; how times are found is in the head of [page.py](../../../configs/reproduce/optimizers/page.py).""")
    for case in cases:
        comparison, runs = read_runs(case / "runs" / "comparison.json")
        parameters = max(variant["parameters"] for variant in comparison["variants"])
        device = comparison["protocol"]["device"]
        processor, steps = read_steps(case / "steps.json")
        trials = read_runs(case / "rates" / "comparison.json")[1]
        tried = next(tokens for values in trials.values() for _, tokens in values.values())
        trained = "" if device.startswith("cpu") else f"trained on {device}, "
        rounds = len(steps["adamw"])
        print(f"\n## {comparison['title']}\n\n{parameters / 1e6:.1f}M parameters; {trained}steps timed on {processor}, {f'{rounds} rounds in turns' if rounds > 1 else 'once'}. All but the matrices "
              f"of the blocks: AdamW at {other_rate(case):g} beside Muon and its kin. Rates were tried with {tried / 1e6:.1f}M tokens.\n")
        rates_table(trials)
        budgets_table(runs, steps)
        crossings_table(runs, steps)


if __name__ == "__main__":
    main(sys.argv[1])
