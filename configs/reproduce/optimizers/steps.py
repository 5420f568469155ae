"""Times steps of all optimizers in turns, so that what else the machine does weighs on all alike.

usage: steps.py PROGRAM CONFIGS OUTPUT.json      CONFIGS: a folder of KIND-....json; OUTPUT holds {kind: [seconds of a step, by round]}
"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROUNDS = 5


def step_seconds(program, file):
    batch = json.loads(file.read_text(encoding="utf-8"))["batch"]
    length = int(batch["sequence_length"] * batch["train_sequence_length_scaling"])
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "step.json"
        subprocess.run([program, "bench", "step", file, "--lengths", str(length), "--tokens", str(batch["sequences"] * batch["sequence_length"]),
                        "--seconds", "6", "--output", output], check=True, stdout=subprocess.DEVNULL)
        return json.loads(output.read_text(encoding="utf-8"))["rows"][0]["step_seconds"]


def main(program, configs, output):
    file_of = {file.name.split("-")[0]: file for file in sorted(pathlib.Path(configs).glob("*.json"))}
    seconds = {kind: [] for kind in file_of}
    for _ in range(ROUNDS):
        for kind, file in file_of.items():
            seconds[kind].append(round(step_seconds(program, file), 5))
            print(f"{kind}: {seconds[kind][-1]:.3f} s a step", flush=True)
    pathlib.Path(output).write_text(json.dumps(seconds, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
