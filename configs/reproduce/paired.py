"""Differences of two variants of a comparison over the seeds that both have, and how they are written."""
import math
import statistics

# Two-sided 95 % points of Student's t by degrees of freedom.
STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228, 11: 2.201, 12: 2.179, 13: 2.160, 14: 2.145, 15: 2.131, 16: 2.120, 17: 2.110, 18: 2.101,
           19: 2.093, 20: 2.086}  # with more the last, which is wider than theirs


def interval(each):
    """Mean of the differences by seed, and the ends of its interval of 95 %; of one seed, only the first."""
    if len(each) < 2:
        return (each[0] if each else None), None, None
    mean, half = statistics.mean(each), STUDENT[min(len(each) - 1, max(STUDENT))] * statistics.stdev(each) / math.sqrt(len(each))
    return mean, mean - half, mean + half


def losses(comparison, variant, length):
    """{seed: loss at that length} of the runs that did not fail."""
    return {run["seed"]: point["loss"] for run in comparison["runs"] if run["variant"] == variant and not run["failure"]
            for point in run["losses"] if point["length"] == length and point["loss"] is not None}


def differences_of(mine, its):
    """Of two {seed: value}, by the seeds that both have."""
    return [mine[seed] - its[seed] for seed in sorted(mine.keys() & its.keys())]


def by_seed(comparison, variant, other, length):
    """Differences of loss."""
    return differences_of(*(losses(comparison, name, length) for name in (variant, other)))


def percent(nats):
    """Of perplexity; without a minus before 0.0."""
    return f"{round(100 * math.expm1(nats), 1) + 0.0:+.1f} %"


def ranged(value, low, high, written, before="", after=""):
    """A figure with the ends of its interval, or the least and the most of several; low is None where there is one alone."""
    return written(value) + ("" if low is None else f" ({before}{written(low)} .. {written(high)}{after})")


def apart(each):
    """Perplexity, of differences of loss by seed: with both of two seeds, of which an interval would say less, and the interval of more."""
    if len(each) == 2:
        return ranged(statistics.mean(each), min(each), max(each), percent, before="by seed ")
    return ranged(*interval(each), percent)


def from_reference(comparison, variant, length):
    return apart(by_seed(comparison, variant, comparison["reference"], length))
