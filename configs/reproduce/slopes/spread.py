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


def pooled_spread(groups):
    """Root of the groups' mean variance, which small groups do not bias; NaN where none has one."""
    variances = [statistics.variance(values) for values in groups if len(values) > 1]
    return math.sqrt(statistics.mean(variances)) if variances else math.nan


def perplexity(values):
    return math.exp(statistics.mean(values))


comparison = json.load(open(sys.argv[1], encoding="utf-8"))
draws = [variant["name"] for variant in comparison["variants"] if variant["name"].startswith("drawn-")]
print(f"""# Drawn and learned slopes

Perplexity, means over {len(comparison["seeds"])} seeds. The spreads are standard deviations of the loss in nats per token: over the
{len(draws)} draws within a seed, and over seeds with one set of slopes (each pooled: the root of the mean variance).
`scripts/reproduce slopes` wrote this; every variant and the final slopes are in [comparison.json](comparison.json).

![perplexity against length](perplexity.svg)

| length | published slopes | learned | drawn, least to most | spread over draws | spread over seeds |
|---|---|---|---|---|---|""")
for length in [point["length"] for point in comparison["variants"][0]["points"]]:
    drawn = [losses(comparison, name, length) for name in draws]
    over_draws = pooled_spread(zip(*drawn))
    over_seeds = pooled_spread(losses(comparison, variant["name"], length) for variant in comparison["variants"])
    means = [perplexity(values) for values in drawn]
    print(f"| {length} | {perplexity(losses(comparison, 'press', length)):.2f} "
          f"| {perplexity(losses(comparison, 'learned', length)):.2f} | {min(means):.2f} to {max(means):.2f} "
          f"| {over_draws:.4f} | {over_seeds:.4f} |")

speed = {variant["name"]: [run["train_tokens_per_second"] for run in comparison["runs"] if run["variant"] == variant["name"] and not run["failure"]]
         for variant in comparison["variants"]}
ratio = statistics.mean(speed["press"]) / statistics.mean(speed["learned"])
noise = max(max(values) / min(values) - 1 for values in speed.values() if values)
print(f"\nTraining with learned slopes ran at {statistics.mean(speed['learned']):.0f} tokens/s, with fixed ones at "
      f"{statistics.mean(speed['press']):.0f}: {abs(100 * (ratio - 1)):.1f} % {'slower' if ratio > 1 else 'faster'}. Runs of one variant "
      f"differ by up to {100 * noise:.0f} % in speed here.")
