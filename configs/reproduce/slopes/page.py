"""Which slopes: answers, then figures, how far drawn ones spread beside seeds, and what learning them costs, in Markdown.

usage: page.py FOLDER      holds runs/comparison.json and steps.json (steps.py)
"""
import json
import math
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "scripts" / "lib")]
from budgets import median_and_spread, of_whole_budgets, read_runs, read_steps, relative_steps, time_until, tried_rates  # noqa: E402
from curves import usable_as_measured  # noqa: E402
from paired import apart, by_seed, differences_of, from_reference, interval, losses  # noqa: E402
from results_folder import split_section  # noqa: E402


def pooled_spread(groups):
    """Root of the groups' mean variance, which small groups do not bias; NaN where none has one."""
    variances = [statistics.variance(values) for values in groups if len(values) > 1]
    return math.sqrt(statistics.mean(variances)) if variances else math.nan


def verdicts(comparison, variants, length):
    trained = comparison["variants"][0]["trained_length"]
    for verdict, title in (("better", "Better than the published slopes"), ("worse", "Worse"), ("within noise", "No difference shown")):
        named = [f"{name} {from_reference(comparison, name, length)} (at {trained:,} {from_reference(comparison, name, trained).split(' (')[0]})" for name, points in variants.items()
                 for point in points if point["length"] == length and point.get("verdict") == verdict]
        if named:
            yield f"- {title} at {length:,} tokens: {', '.join(named)}."


def changes_shown(comparison, names, length):
    """Of the change from the trained length on, in nats, against the published slopes' own."""
    trained = comparison["variants"][0]["trained_length"]
    each = {name: differences_of(dict(enumerate(by_seed(comparison, name, "press", length))), dict(enumerate(by_seed(comparison, name, "press", trained)))) for name in names if name != "press"}
    return {name: apart(nats) for name, nats in each.items() if len(nats) > 2 and interval(nats)[1] * interval(nats)[2] > 0}


def rates(folder):
    """Of the trials, and the loss of each."""
    (tried,) = tried_rates(json.loads((folder / "rates" / "comparison.json").read_text(encoding="utf-8"))).values()
    best = min(tried, key=tried.get)
    return ", ".join(f"{rate:g}: {loss:.3f}" for rate, loss in sorted(tried.items())) + f"; taken {best:g}" + (", the highest tried" if best == max(tried) else "")


def main(folder):
    folder = pathlib.Path(folder)
    found, runs = read_runs(folder / "runs" / "comparison.json")
    comparison = of_whole_budgets(found)
    processor, steps = read_steps(folder / "steps.json")
    variants = {variant["name"]: variant["points"] for variant in comparison["variants"]}
    draws = [name for name in variants if name.startswith("drawn")]
    lengths = [point["length"] for point in variants["press"]]
    whole = comparison["variants"][0]
    print("# Which slopes\n\n`press` is the rule of Press et al. 2021, 2^(-8 h / H) with what it takes from the next power of two, here called the published slopes; all others are compared with it. "
          "`geometric`: 2^(-8 h / H) for any\nnumber of heads; `learned`: trained from the published ones; `drawnN`: drawn at random, draw N; `equal`: one slope for all heads; `bias-max-N`: the flattest slope is 2^-N; "
          "`half-biased`: half of the heads have none.\n")
    print("\n".join(verdicts(comparison, variants, lengths[-1])))
    shown = ", ".join(f"{name} {by}" for name, by in changes_shown(comparison, variants, lengths[-1]).items())
    print(f"- Differences are there at {lengths[0]:,} already: from the published slopes' change from {lengths[0]:,} to {lengths[-1]:,} tokens only these are shown to differ: {shown or 'none'}.")
    learning = relative_steps(steps, "learned", "press")
    print(f"- A step with learned slopes takes {median_and_spread(learning)} of one with fixed slopes (median, least and most of {len(learning)} rounds in turns, "
          f"on {processor}).")
    until = time_until(runs, steps, "learned", "press")
    if until is None:
        print("- Learned slopes did not reach the loss of the published ones, or were not run.")
    else:
        print(f"- Learned slopes have the loss at {lengths[0]:,} with which the published ones end {'before' if until[2] else 'after'} {median_and_spread(until[1])} of their time (of seeds and rounds).")
    print(f"""
{whole['parameters'] / 1e6:.2f}M parameters, six heads, trained on {whole['trained_length']} tokens, {whole['train_targets'] / 1e6:.1f}M in all \
({whole['train_targets'] / whole['parameters']:.0f} a parameter), {len(comparison['seeds'])} seeds;
intervals of 95 % over seeds, paired; all at the learning rate that suits `press`, the published rule, best ({rates(folder)}).
`scripts/reproduce slopes` wrote this.

![perplexity against length](runs/perplexity.svg)

| perplexity at | {' | '.join(f'{length:,}' for length in lengths)} | usable length of the seeds: median (least .. most) |
|---|{'---|' * (len(lengths) + 1)}""")
    for name, points in variants.items():
        print(f"| {name} | {' | '.join('-' if point['perplexity'] is None else format(point['perplexity'], '.2f') for point in points)} | {usable_as_measured(comparison, name)} |")
    print(split_section(comparison).rstrip("\n"))
    print(f"""
Standard deviations of the loss, in nats a token: over the {len(draws)} draws within a seed, and over seeds with one set of slopes (each
pooled: the root of the mean variance).

| length | over draws | over seeds |
|---|---|---|""")
    for length in lengths:
        drawn = [losses(comparison, name, length) for name in draws]
        over_draws = pooled_spread([of_seed[seed] for of_seed in drawn if seed in of_seed] for seed in comparison["seeds"])
        over_seeds = pooled_spread(list(losses(comparison, name, length).values()) for name in variants)
        print(f"| {length:,} | {over_draws:.4f} | {over_seeds:.4f} |")


if __name__ == "__main__":
    main(sys.argv[1])
