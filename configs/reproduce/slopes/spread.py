"""How far drawn slopes spread, beside seeds, and what learning slopes costs: a page in Markdown.

usage: spread.py COMPARISON.json
"""
import json
import math
import statistics
import sys


def losses(comparison, variant, length):
    """Of each seed, in their order."""
    return [point["loss"] for run in comparison["runs"] if run["variant"] == variant
            for point in run["losses"] if point["length"] == length and point["loss"] is not None]


def mean_spread(groups):
    """Mean standard deviation of the groups that have one; NaN where none has."""
    spreads = [statistics.stdev(values) for values in groups if len(values) > 1]
    return statistics.mean(spreads) if spreads else math.nan


def perplexity(values):
    return math.exp(statistics.mean(values))


comparison = json.load(open(sys.argv[1], encoding="utf-8"))
draws = [variant["name"] for variant in comparison["variants"] if variant["name"].startswith("drawn-")]
print(f"""# Drawn and learned slopes

Perplexity, means over {len(comparison["seeds"])} seeds. The spreads are standard deviations of the loss in nats per token: over the
{len(draws)} draws within a seed (mean of the seeds' spreads), and over seeds with one set of slopes (mean of all variants' spreads).
`scripts/reproduce slopes` wrote this; every variant and the final slopes are in [index.html](index.html).

| length | published slopes | learned | drawn, least to most | spread over draws | spread over seeds |
|---|---|---|---|---|---|""")
for length in [point["length"] for point in comparison["variants"][0]["points"]]:
    drawn = [losses(comparison, name, length) for name in draws]
    over_draws = mean_spread(zip(*drawn))
    over_seeds = mean_spread(losses(comparison, variant["name"], length) for variant in comparison["variants"])
    means = [perplexity(values) for values in drawn]
    print(f"| {length} | {perplexity(losses(comparison, 'press', length)):.2f} "
          f"| {perplexity(losses(comparison, 'learned', length)):.2f} | {min(means):.2f} to {max(means):.2f} "
          f"| {over_draws:.4f} | {over_seeds:.4f} |")

speed = {name: [run["train_tokens_per_second"] for run in comparison["runs"] if run["variant"] == name]
         for name in ("press", "learned")}
ratio = statistics.mean(speed["press"]) / statistics.mean(speed["learned"])
print(f"\nTraining with learned slopes ran at {statistics.mean(speed['learned']):.0f} tokens/s, with fixed ones at "
      f"{statistics.mean(speed['press']):.0f}: {abs(100 * (ratio - 1)):.1f} % {'slower' if ratio > 1 else 'faster'}. Runs of the same slopes differ by up to "
      f"{100 * (max(speed['press']) / min(speed['press']) - 1):.0f} % in speed here.")
