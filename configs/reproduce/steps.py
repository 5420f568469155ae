"""Times steps of all variants of a comparison in turns, so that what else the machine does weighs on all alike.

usage: steps.py PROGRAM CONFIGS OUTPUT.json [PAGE.md]

CONFIGS is a folder of VARIANT-....json, of which the newest is timed for each variant. OUTPUT.json holds {variant: [seconds of a step, by
round]}; where it is there already, it is read. PAGE.md gets a table of it at its end.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/lib"))
import processor  # noqa: E402

ROUNDS = 5


def step_seconds(program, file):
    batch = json.loads(file.read_text(encoding="utf-8"))["batch"]
    length = int(batch["sequence_length"] * batch["train_sequence_length_scaling"])
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "step.json"
        subprocess.run([program, "bench", "step", file, "--lengths", str(length), "--tokens", str(batch["sequences"] * batch["sequence_length"]),
                        "--seconds", "6", "--output", output], check=True, stdout=subprocess.DEVNULL)
        return json.loads(output.read_text(encoding="utf-8"))["rows"][0]["step_seconds"]


def measure(program, configs):
    newest_last = sorted(pathlib.Path(configs).glob("*.json"), key=lambda file: file.stat().st_mtime)
    file_of = {file.name.split("-")[0]: file for file in newest_last}
    seconds = {variant: [] for variant in file_of}
    for _ in range(ROUNDS):
        for variant, file in file_of.items():
            seconds[variant].append(round(step_seconds(program, file), 5))
            print(f"{variant}: {seconds[variant][-1]:.3f} s a step", flush=True)
    return seconds


def table(seconds, reference):
    lines = ["", f"Seconds of a training step, {ROUNDS} rounds in turns: median (least .. most); {processor.model_name()}, {os.cpu_count()} threads.", "",
             "| variant | s a step | of " + reference + " |", "|---|---|---|"]
    for variant, rounds in seconds.items():
        share = statistics.median(a / b for a, b in zip(rounds, seconds[reference]))
        lines.append(f"| {variant} | {statistics.median(rounds):.3f} ({min(rounds):.3f} .. {max(rounds):.3f}) | {share:.2f} |")
    return "\n".join(lines) + "\n"


def main(program, configs, output, page=None):
    output = pathlib.Path(output)
    if not output.exists():
        output.write_text(json.dumps(measure(program, configs), indent=1) + "\n", encoding="utf-8")
    if page:
        seconds = json.loads(output.read_text(encoding="utf-8"))
        comparison = json.loads(output.with_name("comparison.json").read_text(encoding="utf-8"))
        order = [variant["name"] for variant in comparison["variants"]]
        with open(page, "a", encoding="utf-8") as file:
            file.write(table({name: seconds[name] for name in order}, comparison["reference"]))


if __name__ == "__main__":
    main(*sys.argv[1:])
