"""Trains models with a table of positions, exchanges it for linear biases, and measures both beside models that had biases from the start.

usage: retrofit.py PROGRAM FOLDER OUTPUT [--set PATH=VALUE ...]      writes OUTPUT/trials.json and OUTPUT/seed-N/curve.json

Learning rates, and the batch after the exchange, are the best of those tried by the loss at the trained length, with the first seed, on one
half of the held-out documents; the other half is reported on. What FOLDER holds already is not trained again.
"""
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from plan import merged, split_text  # noqa: E402


def measuring(options):
    """Those that say how to measure a trained model; training's own are left out."""
    pairs = zip(options[::2], options[1::2])
    return [part for pair in pairs if pair[1].startswith(("evaluate.", "runtime.")) for part in pair]


class Retrofit:
    def __init__(self, program, folder, rules, options):
        self.program, self.folder, self.rules, self.options = program, folder, rules, options

    def train(self, name, tokens, rate, seed, changes):
        """The folder of a run that has come to its end."""
        run, file = self.folder / name, self.folder / f"{name}.json"
        config = merged(self.rules["config"], changes, {
            "optimizer": {"learning_rate": rate}, "schedule": {"warmup_tokens": tokens // 10}, "data": {"valid": [str(self.folder / "choose.jsonl")]},
            "run": {"folder": str(run), "name": name, "seed": seed, "train_tokens": tokens}})
        file.write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
        subprocess.run([self.program, "train", self.rules["base"], file, "--resume", *self.options], check=True)
        return run

    def from_the_start(self, position, seed, tokens, rate):
        return self.train(f"{position}-{seed}-{rate:g}", tokens, rate, seed, {"model": {"position": position}})

    def exchanged(self, table, seed, rate, sequences):
        changes = {"model": {"position": "alibi"}, "initialize": {"from": str(table)}, "batch": {"sequences": sequences}}
        return self.train(f"exchanged-{seed}-{rate:g}-{sequences}", self.rules["more_tokens"], rate, seed, changes)

    def curves(self, runs, half, lengths, output):
        names = [part for name in runs for part in ("--name", name)]
        subprocess.run([self.program, "evaluate", *runs.values(), *names, "--text", self.folder / half, "--lengths", ",".join(lengths),
                        "--output", output, "--overwrite", *measuring(self.options)], check=True)
        return json.loads((output / "curve.json").read_text(encoding="utf-8"))["curves"]

    def tried(self, what, runs):
        """[{...keys, loss}] of runs by their keys, and the keys of the best."""
        curves = self.curves({str(number): run for number, (_, run) in enumerate(runs)}, "choose.jsonl", ["1x"], self.folder / f"trials-{what}")
        trials = [{"what": what, **keys, "loss": curve["points"][0]["loss"]} for (keys, _), curve in zip(runs, curves)]
        best = min(range(len(trials)), key=lambda number: trials[number]["loss"])
        return trials, runs[best][0]


def main(program, folder, output, *options):
    import tomllib  # of Python 3.11
    rules = tomllib.loads((HERE / "retrofit.toml").read_text(encoding="utf-8"))
    folder, output = pathlib.Path(folder), pathlib.Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    split_text(rules["text"], folder)
    retrofit, seeds, trials, whole = Retrofit(program, folder, rules, options), rules["seeds"], [], {}
    for position, tokens in (("learned", rules["tokens"]), ("alibi", rules["tokens"] + rules["more_tokens"])):
        found, best = retrofit.tried(position, [({"rate": rate}, retrofit.from_the_start(position, seeds[0], tokens, rate)) for rate in rules["first_rates"]])
        trials += found
        whole[position] = {seed: retrofit.from_the_start(position, seed, tokens, **best) for seed in seeds}
    pairs = [{"rate": rate, "sequences": sequences} for rate in rules["rates"] for sequences in rules["sequences"]]
    found, best = retrofit.tried("exchanged", [(pair, retrofit.exchanged(whole["learned"][seeds[0]], seeds[0], **pair)) for pair in pairs])
    output.mkdir(parents=True, exist_ok=True)
    (output / "trials.json").write_text(json.dumps(trials + found, indent=1) + "\n", encoding="utf-8")
    for seed in seeds:
        table = whole["learned"][seed]
        runs = {"learned": table, "exchanged": retrofit.exchanged(table, seed, **best), "alibi": whole["alibi"][seed]}
        retrofit.curves(runs, "report.jsonl", rules["lengths"], output / f"seed-{seed}")


if __name__ == "__main__":
    main(*sys.argv[1:])
