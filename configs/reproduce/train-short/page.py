"""Trained short against trained long: the loss at the long length, and the time until the same loss, in Markdown.

usage: page.py FOLDER      holds CASE/{rates,runs}/comparison.json and CASE/steps.json (steps.py) for each case

The others are to reach the loss of a comparison's reference at the longest length that is measured. Time is tokens by the time of a
step, measured for all arms in turns: runs lie hours apart. The time until a loss lies between two budgets, each with a schedule that
ends there: by the straight line of loss over the logarithm of tokens, seed by seed.
"""
import json
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "scripts" / "lib")]
from budgets import arm_of, losses_of, mean_and_spread, median_and_spread, read_runs, read_steps, relative_steps, time_until, tried_rates, whole_budgets  # noqa: E402
from curves import usable_as_measured  # noqa: E402
from paired import apart, differences_of, from_reference  # noqa: E402
from results_folder import split_section  # noqa: E402


def from_to(values, text):
    return " to ".join(dict.fromkeys((text(values[0]), text(values[-1]))))


class Case:
    def __init__(self, folder):
        self.name = folder.name
        self.comparison = json.loads((folder / "runs" / "comparison.json").read_text(encoding="utf-8"))
        self.reference = self.comparison["reference"]
        self.length = max(point["length"] for point in self.comparison["variants"][0]["points"])
        _, self.runs = read_runs(folder / "runs" / "comparison.json", self.length)
        self.trials, _ = read_runs(folder / "rates" / "comparison.json")
        self.processor, self.steps = read_steps(folder / "steps.json")
        # Arms of which nothing was trained to the end of any budget are left out.
        self.arms = {arm: variant for arm, variant in whole_budgets(self.comparison).items() if self.runs[variant["name"]]}
        self.whole = self.arms.get(self.reference)  # None where every run of it failed

    def point(self, arm, length):
        return next(point for point in self.arms[arm]["points"] if point["length"] == length)

    def from_reference(self, arm):
        return from_reference(self.comparison, self.arms[arm]["name"], self.length)

    def until(self, arm):
        return time_until(self.runs, self.steps, arm, self.whole["name"])

    def budgets(self, arm):
        return sum(arm_of(variant) == arm and bool(seeds) for variant, seeds in self.runs.items())

    def time_text(self, arm):
        if self.budgets(arm) == 1:
            return "-"
        until = self.until(arm)
        return "not reached" if until is None else f"{'at most ' if until[2] else ''}{median_and_spread(until[1])}"

    def verdicts(self):
        if self.whole:
            yield self.verdict_of_lengths()
        for arm in (arm for arm in self.arms if self.whole and self.budgets(arm) > 1):
            step, until = statistics.median(relative_steps(self.steps, arm, self.reference)), self.until(arm)
            reached = ("does not reach" if until is None else f"{'before' if until[2] else 'after'} {statistics.median(until[1]):.2f} of {self.reference}'s training time reaches")
            yield (f"- **{arm}**, trained on {self.arms[arm]['trained_length']} tokens, {reached} the loss with which {self.reference} ends; after as many "
                   f"tokens, {step:.2f} of the time, its perplexity at {self.length} is {self.from_reference(arm)} from {self.reference}'s.")

    def figures(self):
        lengths = [point["length"] for point in self.whole["points"]]
        yield (f"| | trained at | {' | '.join(f'perplexity at {length:,}' for length in lengths)} | from {self.reference}'s at {self.length:,} "
               f"| a step's time, of {self.reference}'s (of the timing rounds) | time until its loss (of seeds and timing rounds) | peak memory | usable length of the seeds |")
        yield "|---|---|" + "---|" * (len(lengths) + 5)
        for arm, variant in self.arms.items():
            only_timed = variant["train_targets"] < self.whole["train_targets"]
            perplexities = " | ".join("-" if only_timed else f"{self.point(arm, length)['perplexity']:.2f}" for length in lengths)
            yield (f"| {arm} | {variant['trained_length']:,} | {perplexities} | {'-' if only_timed or arm == self.reference else self.from_reference(arm)} "
                   f"| {median_and_spread(relative_steps(self.steps, arm, self.reference))} | {self.time_text(arm)} | {variant['peak_memory_bytes'] / 2**20:.0f} MiB "
                   f"| {'-' if only_timed else usable_as_measured(self.comparison, variant['name'])} |")

    def long_alibi(self):
        """The ALiBi arm trained on the longest sequences."""
        arms = [arm for arm in self.arms if arm.startswith("alibi") and "unfused" not in arm]
        return max(arms, key=lambda arm: self.arms[arm]["trained_length"])

    def lengths_of_training(self):
        """ALiBi trained short from ALiBi trained long, and how many windows a step draws."""
        long = self.long_alibi()
        base = self.runs[self.arms[long]["name"]]
        for arm, variant in self.arms.items():
            runs = self.runs[variant["name"]]
            if arm == long or not arm.startswith("alibi") or variant["train_targets"] < self.whole["train_targets"]:
                continue
            yield f"{variant['trained_length']} {apart(differences_of(losses_of(runs), losses_of(base)))}"

    def verdict_of_lengths(self):
        how = ("reshaped: all cut the same long sequences of a step" if any(self.arms[arm]["changes"].get("batch", {}).get("train_sequence_length_scaling", 1) != 1 for arm in self.arms) else "a step draws each window by itself, so more of them the shorter they are")
        return (f"- Perplexity of ALiBi at {self.length:,}, from that of ALiBi trained at {self.arms[self.long_alibi()]['trained_length']:,}: trained at "
                f"{', '.join(self.lengths_of_training())} ({how}).")

    def smaller_budgets(self):
        yield f"| | tokens | loss at {self.length:,} (mean, least and most of the seeds) |\n|---|---|---|"
        for variant, seeds in self.runs.items():
            if seeds and self.budgets(arm_of(variant)) > 1 or variant == self.reference:
                tokens = next(iter(seeds.values()))[1]
                yield f"| {arm_of(variant)} | {tokens / 1e6:.2f}M | {mean_and_spread([loss for loss, _ in seeds.values()], 3)} |"

    def rates(self):
        yield "| | loss by rate at the trained length (one seed, first half) |\n|---|---|"
        for arm, losses in tried_rates(self.trials).items():
            best = min(losses, key=losses.get)
            edge = " (at the edge of what was tried)" if best in (min(losses), max(losses)) else ""
            yield f"| {arm} | {', '.join(f'{rate:g}: {loss:.3f}' for rate, loss in losses.items())}; taken {best:g}{edge} |"

    def text(self):
        sizes = sorted({variant["parameters"] for variant in self.arms.values()})
        yield f"\n## {self.comparison['title']}\n"
        if not self.whole:
            yield f"Every run of {self.reference} failed: there is nothing to hold the others against."
            return
        tokens = self.whole["train_targets"]
        yield (f"{from_to(sizes, lambda size: f'{size / 1e6:.2f}M')} parameters, {tokens / 1e6:.2g}M tokens "
               f"({from_to(sizes[::-1], lambda size: f'{tokens / size:.0f}')} a parameter), {len(self.comparison['seeds'])} seeds; steps timed on {self.processor}, {len(next(iter(self.steps.values())))} rounds.\n")
        yield f"![perplexity against length]({self.name}/perplexity.svg)\n"
        yield from self.figures()
        trained = [{**variant, "name": arm} for arm, variant in self.arms.items() if variant["train_targets"] >= self.whole["train_targets"]]
        yield split_section({"variants": trained}).rstrip("\n")
        yield "\nBudgets, each with a schedule that decays to its end:\n"
        yield from self.smaller_budgets()
        yield ""
        yield from self.rates()


HEAD = """# Trained short with ALiBi, trained long with other positions
"""
HOW = """
Models this small are late to learn positions: with sinusoidal and with learned ones they are far behind ALiBi when trained at the same
length, where the papers' larger models are level: how much sooner ALiBi is than the others says more of small models than of lengths. ALiBi's own
lengths differ in more than length in the first comparison: with as many tokens a step, shorter windows are more of them, from more places of the
text. In the second, which reshapes batches as Composer does, all lengths see the same few places in a step, and `learned` has as many tokens for more
parameters, those of its table, so fewer than 20 a parameter. Time until a loss takes arms trained with several budgets: one of ALiBi's lengths in the second.

Intervals are of 95 % over seeds, paired. Learning rates were tried with half of the tokens and chosen on one half of the held-out documents, for
each arm or for one like it (tables at the end); all is reported on the other half. A step's time: median, least and most of rounds in turns. The time until
a loss is the tokens needed (by seed) times a step's time (by timing round), over all pairs; how it is found is in the head of [page.py](../../../configs/reproduce/train-short/page.py). `scripts/reproduce train-short` wrote this."""


def main(folder):
    # Table 5 first.
    cases = [Case(path.parent) for path in sorted(pathlib.Path(folder).glob("*/steps.json"), reverse=True)]
    print(HEAD)
    for line in (line for case in cases for line in case.verdicts()):
        print(line)
    print(HOW)
    for line in (line for case in cases for line in case.text()):
        print(line)


if __name__ == "__main__":
    main(sys.argv[1])
