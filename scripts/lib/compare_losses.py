"""Holds the losses of two runs against each other: compare_losses.py RUN RUN TOLERANCE

Of each step and validation (log.jsonl), and of each length (curve/curve.json); the tolerance is of the value. Says the largest
difference; exit 1 where it is larger, or where a loss is in one run alone.
"""
import json
import os
import sys


def losses(run):
    found = {}
    with open(os.path.join(run, "log.jsonl"), encoding="utf-8") as file:
        for record in map(json.loads, file):
            for kind in ("loss", "validation_loss"):
                if kind in record:
                    found[f"step {record['step']}, {kind}"] = record[kind]
    with open(os.path.join(run, "curve", "curve.json"), encoding="utf-8") as file:
        for point in json.load(file)["curves"][0]["points"]:
            found[f"length {point['length']}"] = point["loss"]
    return found


def main():
    runs, tolerance = sys.argv[1:3], float(sys.argv[3])
    one, other = map(losses, runs)
    if one.keys() != other.keys() or not one:
        sys.exit(f"error: {runs[0]} and {runs[1]}: found {len(one)} and {len(other)} losses, expected the same steps and lengths")
    apart = {place: abs(one[place] - other[place]) / abs(other[place]) for place in one}
    worst = max(apart, key=apart.get)
    print(f"{len(one)} losses: the largest difference is {apart[worst]:.1e} of the value ({worst}: {one[worst]:.9g}, {other[worst]:.9g})")
    if not apart[worst] <= tolerance:
        sys.exit(f"error: found {apart[worst]:.1e} at {worst}, expected at most {tolerance:g}. Compare what both programs write to log.jsonl")


main()
