"""What experiments measured, as the page of all experiments reads it."""
import json
import os
import pathlib
import sys
import traceback

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(REPOSITORY, "configs", "reproduce"))
from budgets import median_and_spread, of_whole_budgets, read_runs, relative_steps, time_until  # noqa: E402
from paired import apart, by_seed, ranged  # noqa: E402

RESULTS = os.path.join(REPOSITORY, "data", "results")


class Missing(Exception):
    """An experiment that has not been run."""


def place(*path):
    return pathlib.Path(RESULTS, *path)


def load(*path):
    file = place(*path)
    if not file.exists():
        raise Missing(os.path.dirname(os.path.join(*path)))
    with open(file, encoding="utf-8") as text:
        return json.load(text)


BY_BUDGET = ("train-short", "slopes")  # an arm of several budgets is meant by its whole one


class Comparison:
    def __init__(self, *folder):
        self.all = load(*folder, "comparison.json")
        if folder[0] in BY_BUDGET:
            self.all = of_whole_budgets(self.all)
        self.variants = {variant["name"]: variant for variant in self.all["variants"]}

    def point(self, variant, length):
        return {p["length"]: p for p in self.variants[variant]["points"]}[length]

    def perplexity(self, variant, length):
        return self.point(variant, length)["perplexity"]

    def change(self, variant, length):
        """Perplexity from the same variant's at its trained length."""
        return within(self.point(variant, length), "change", percent)

    def grown(self, variant, length):
        """The same without an interval, of the perplexities that tables show: the mean over seeds of each seed's own differs a little."""
        return self.perplexity(variant, length) / self.perplexity(variant, self.variants[variant]["trained_length"]) - 1

    def apart(self, variant, other, length):
        """Perplexity from another variant's, paired by seed."""
        return apart(by_seed(self.all, variant, other, length))

    def against(self, variant, length):
        return self.apart(variant, self.all["reference"], length)

    def judged(self, verdict, length):
        """Variants of that verdict beside the reference."""
        return [name for name in self.variants if self.point(name, length).get("verdict") == verdict]

    def listed(self, names, length, shown=str):
        """Each with its perplexity from the reference's."""
        return ", ".join(f"{name} {shown(self.against(name, length))}" for name in names)

    def runs(self, variant, key):
        return [run[key] for run in self.all["runs"] if run["variant"] == variant]

    def ratio(self, variant, other, key):
        """Of sums over seeds, with the least and the largest of the seeds' own."""
        done = {name: {run["seed"]: run[key] for run in self.all["runs"] if run["variant"] == name and not run["failure"]} for name in (variant, other)}
        both = sorted(done[variant].keys() & done[other].keys())
        a, b = ([done[name][seed] for seed in both] for name in (variant, other))
        each = [x / y for x, y in zip(a, b)]
        return ranged(sum(a) / sum(b), min(each), max(each), lambda share: f"{share:.2f}", before="by seed ")

    def made(self, variant):
        """How many of its runs there are."""
        return sum(run["variant"] == variant and not run["failure"] for run in self.all["runs"])

    def complete(self):
        return not any(run["failure"] for run in self.all["runs"])

    def tokens_per_parameter(self, variant=None):
        variant = self.variants[variant or self.all["reference"]]
        return variant["train_targets"] / variant["parameters"]

    def size(self, variant=None):
        seeds = self.made(variant or self.all["reference"])
        variant = self.variants[variant or self.all["reference"]]
        return (f"{variant['parameters'] / 1e6:.2g}M parameters, {variant['train_targets'] / 1e6:.2g}M tokens, "
                f"{seeds} seed{'s' if seeds > 1 else ''}")


class TrainShort(Comparison):
    """A case of train-short."""

    def __init__(self, case):
        super().__init__("train-short", case, "runs")
        self.case, self.steps = case, load("train-short", case, "steps.json")["seconds"]

    def step(self, arm, other):
        """Its step's time, of the other's."""
        return by_round(relative_steps(self.steps, arm, other))

    def time(self, arm, length):
        """Until the loss that the reference ends with, of its time."""
        _, runs = read_runs(place("train-short", self.case, "runs", "comparison.json"), length)
        until = time_until(runs, self.steps, arm, self.all["reference"])
        return "not reached" if until is None else f"{'at most ' if until[2] else ''}{by_seed_and_round(until[1])}"


def full(text):
    return Comparison("figure1-full", text, "runs")


def by_seed_and_round(times):
    return median_and_spread(times, of=", by seed and timing round")


def by_round(times):
    return median_and_spread(times, of=", by timing round")


def percent(share):
    return "-" if share is None else f"{round(100 * share, 1) + 0.0:+.1f} %"


def within(point, key, written):
    """A figure with its interval, where there is one that is not a point."""
    low, high = point[key + "_low"], point[key + "_high"]
    return ranged(point[key], None if low == high else low, high, written)


INCOMPLETE = (TypeError, KeyError, IndexError, ValueError, RuntimeError, StopIteration, ZeroDivisionError)  # failed runs leave nulls


def incomplete(what):
    """Failed runs leave nulls; a fault of a script would look the same, so it is told."""
    print(f"results-page: {what.__name__}: incomplete: {traceback.format_exc().splitlines()[-1]}", file=sys.stderr)
    return "incomplete: some runs failed"


def optional(part, *arguments):
    """A sentence of an experiment that may not have been run, or whose runs may have failed; or nothing."""
    try:
        return part(*arguments)
    except Missing:
        return ""
    except INCOMPLETE:
        incomplete(part)
        return ""


def middle(figure):
    """Without its interval."""
    return figure.split(" (")[0]


def nats(value):
    return f"{value:+.4f}"


WITH_FAULT = "in biases trained while a part of the gates' gradient was off in bf16, in figure1-full since then ([what it changed](figure1-full/#the-gradient-of-forget-gates))"
