"""Times steps of all variants of a comparison in turns, so that what else the machine does weighs on all alike.

usage: steps.py PROGRAM CONFIGS OUTPUT.json [ROUNDS [DEVICE]]

CONFIGS is a folder of VARIANT-....json, of which the newest is timed for each variant. OUTPUT.json holds {variant: [seconds of a step, by
round]}, of 5 rounds by default, on the configs' device or DEVICE; where it is there already, nothing is timed.
"""
import json
import pathlib
import subprocess
import sys
import tempfile


def step_seconds(program, file, device):
    batch = json.loads(file.read_text(encoding="utf-8"))["batch"]
    length = int(batch["sequence_length"] * batch["train_sequence_length_scaling"])
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "step.json"
        subprocess.run([program, "bench", "step", file, "--lengths", str(length), "--tokens", str(batch["sequences"] * batch["sequence_length"]),
                        "--seconds", "4", "--output", output, *(["--set", f"runtime.device={device}"] if device else [])], check=True, stdout=subprocess.DEVNULL)
        return json.loads(output.read_text(encoding="utf-8"))["rows"][0]["step_seconds"]


def main(program, configs, output, rounds=5, device=""):
    if not any(pathlib.Path(configs).glob("*.json")):
        sys.exit(f"steps.py: {configs}: found no config; a comparison writes them where it trains: remove its kept figures to train anew")
    newest_last = sorted(pathlib.Path(configs).glob("*.json"), key=lambda file: file.stat().st_mtime)
    file_of = {file.name.split("-")[0]: file for file in newest_last}
    seconds = {variant: [] for variant in file_of}
    for _ in range(int(rounds)):
        for variant, file in file_of.items():
            seconds[variant].append(round(step_seconds(program, file, device), 5))
            print(f"{variant}: {seconds[variant][-1]:.3f} s a step", flush=True)
    pathlib.Path(output).write_text(json.dumps(seconds, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__" and not pathlib.Path(sys.argv[3]).exists():
    main(*sys.argv[1:])
