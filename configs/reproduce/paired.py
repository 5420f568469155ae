"""Differences of two arms over the seeds that both have."""
import math
import statistics

# Two-sided 95 % points of Student's t by degrees of freedom.
STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776}


def interval(each):
    """Mean of the differences by seed, and the ends of its interval of 95 %; of one seed, only the first."""
    if len(each) < 2:
        return (each[0] if each else None), None, None
    mean, half = statistics.mean(each), STUDENT[len(each) - 1] * statistics.stdev(each) / math.sqrt(len(each))
    return mean, mean - half, mean + half
