"""Losses of a model with a table of positions, of the same with linear biases in its place, and of one that had them from the start."""
import json
import math
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from curves import median_of, usable_as_printed  # noqa: E402
from paired import apart  # noqa: E402


class Exchanged:
    """Losses of `learned` (the table), `exchanged` and `alibi` (from the start), by seed and length."""

    def __init__(self, folder):
        import tomllib  # of Python 3.11
        files = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(pathlib.Path(folder).glob("seed-*/curve.json"))]
        self.losses = [{curve["name"]: {point["length"]: point["loss"] for point in curve["points"] if point["loss"] is not None}
                        for curve in file["curves"]} for file in files]
        self.lengths = list(self.losses[0]["exchanged"])
        self.usable = {curve["name"]: median_of([usable["tokens"] for file in files for of in file["curves"] if of["name"] == curve["name"] and (usable := usable_as_printed(of))]) for curve in files[0]["curves"]}
        last = [next(curve["points"][-1] for curve in file["curves"] if curve["name"] == "exchanged") for file in files]
        self.context_gains = [point["context_gain"] for point in last]  # of the exchanged model at the longest length, by seed
        self.parameters = next(curve["parameters"] for curve in files[0]["curves"] if curve["name"] == "exchanged")
        self.tokens = tomllib.loads(pathlib.Path(__file__).with_name("retrofit.toml").read_text(encoding="utf-8"))["tokens"]  # before the exchange

    def apart(self, name, length, other, at):
        return apart([seed[name][length] - seed[other][at] for seed in self.losses])

    def perplexity(self, name, length):
        return math.exp(statistics.mean(seed[name][length] for seed in self.losses))
