"""How soon a loss is reached, from runs of several budgets, each with a schedule that decays to its end."""
import json
import math
import re
import statistics

from paired import ranged


def arm_of(variant):
    """A variant's name without its budget, which plan.py writes behind it."""
    return re.sub(r"-(0\.\d+|1)$", "", variant)


def tried_rates(trials):
    """{arm: {rate: loss at its trained length}} of a comparison of trials, which plan.py names by arm and rate; failed ones are left out."""
    found, trained = {}, {variant["name"]: variant["trained_length"] for variant in trials["variants"]}
    for run in trials["runs"]:
        if not run["failure"]:
            arm, rate = re.fullmatch(r"(.*?)-([0-9.]+(?:e-?[0-9]+)?)", run["variant"]).groups()
            found.setdefault(arm, {})[float(rate)] = next(point["loss"] for point in run["losses"] if point["length"] == trained[run["variant"]])
    return found


def whole_budgets(comparison):
    """{arm: the variant of its largest budget}, as planned; runs of it may have failed."""
    def tokens(variant):
        return variant["changes"].get("run", {}).get("train_tokens", 0)

    arms = {}
    for variant in comparison["variants"]:
        arm = arm_of(variant["name"])
        if arm not in arms or tokens(variant) > tokens(arms[arm]):
            arms[arm] = variant
    return arms


def of_whole_budgets(comparison):
    """The same, of the largest budgets alone, each by its arm's name."""
    whole = whole_budgets(comparison)
    arms = {variant["name"]: arm for arm, variant in whole.items()}
    return {**comparison, "variants": [{**variant, "name": arm} for arm, variant in whole.items()],
            "runs": [{**run, "variant": arms[run["variant"]]} for run in comparison["runs"] if run["variant"] in arms]}


def read_runs(file, length=None):
    """The comparison, and {variant: {seed: (loss at that length or the first, tokens)}} of the runs that did not fail."""
    comparison = json.loads(file.read_text(encoding="utf-8"))
    tokens = {variant["name"]: variant["train_targets"] for variant in comparison["variants"]}
    runs = {variant["name"]: {} for variant in comparison["variants"]}
    for run in comparison["runs"]:
        if not run["failure"]:
            loss = next(point["loss"] for point in run["losses"] if length in (None, point["length"]))
            runs[run["variant"]][run["seed"]] = (loss, tokens[run["variant"]])
    return comparison, runs


def losses_of(values):
    """{seed: loss} of a variant of read_runs()."""
    return {seed: loss for seed, (loss, _) in values.items()}


def mean_and_spread(values, digits):
    return with_spread(statistics.mean(values), values, digits)


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


def read_steps(file):
    """(Processor, {arm: [seconds of a step, by round]}) of what steps.py wrote."""
    steps = json.loads(file.read_text(encoding="utf-8"))
    return steps["processor"], steps["seconds"]


def relative_steps(steps, arm, reference):
    """Time of a step by the reference's, round by round."""
    return [mine / other for mine, other in zip(steps[arm], steps[reference])]


def time_until(runs, steps, arm, reference):
    """Until the loss of `reference`, a variant of one budget: ([share of its tokens, by seed], [of its time, each seed's share by each round's step], whether these are
    upper bounds), or None where a seed does not reach it. A failed run's seed is left out."""
    base = runs[reference]
    budgets = [values for variant, values in runs.items() if arm_of(variant) == arm and values]
    seeds = sorted(set(base).intersection(*budgets)) if budgets else []
    found = [crossing([(values[seed][1], values[seed][0]) for values in budgets], base[seed][0]) for seed in seeds]
    if not found or any(tokens is None for tokens, _ in found):
        return None
    shares = [tokens / base[seed][1] for seed, (tokens, _) in zip(seeds, found)]
    times = [share * step for share in shares for step in relative_steps(steps, arm, arm_of(reference))]
    return shares, times, any(at_most for _, at_most in found)


def median_and_spread(values, digits=2, of=""):
    return with_spread(statistics.median(values), values, digits, of)


def with_spread(value, values, digits, of=""):
    least, most = (min(values), max(values)) if len(values) > 1 else (None, None)
    return ranged(value, least, most, lambda number: f"{number:.{digits}f}", after=of)
