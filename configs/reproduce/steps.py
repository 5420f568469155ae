"""Times steps of all variants of a comparison in turns, so that what else the machine does weighs on all alike.

usage: steps.py PROGRAM CONFIGS OUTPUT.json [ROUNDS [DEVICE [ARM...]]]

CONFIGS is a folder of VARIANT-seedN-....json, of which the newest is timed for each variant, budgets of one arm counting as one. OUTPUT.json
holds {processor, configs: {arm: hash}, seconds: {arm: [seconds of a step, by round]}}, of all arms or the named ones, of 5 rounds by
default, on the configs' device or DEVICE. Nothing is timed where it holds the same arms of the same configs on this processor (of an
earlier file, without hashes, the configs are taken for the same); nor where CONFIGS lacks one of its arms, for a comparison writes them
where it trains.
"""
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/lib"))
import processor  # noqa: E402
from budgets import arm_of  # noqa: E402
from whole_file import write_whole  # noqa: E402


def hash_of(file):
    """Of what a step depends on: neither of texts and folders, nor of what budgets and seeds of one arm differ in."""
    config = json.loads(file.read_text(encoding="utf-8"))
    parts = {key: config.get(key) for key in ("model", "batch", "optimizer", "guard", "runtime")}
    parts["vocabulary"] = config.get("tokenizer", {}).get("vocabulary")
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:8]


def step_seconds(program, file, device):
    batch = json.loads(file.read_text(encoding="utf-8"))["batch"]
    length = int(batch["sequence_length"] * batch["train_sequence_length_scaling"])
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "step.json"
        subprocess.run([program, "bench", "step", file, "--lengths", str(length), "--tokens", str(batch["sequences"] * batch["sequence_length"]),
                        "--seconds", "4", "--output", output, *(["--set", f"runtime.device={device}"] if device else [])], check=True, stdout=subprocess.DEVNULL)
        return json.loads(output.read_text(encoding="utf-8"))["rows"][0]["step_seconds"]


def main(program, configs, output, rounds=5, device="", *arms):
    newest_last = sorted(pathlib.Path(configs).glob("*.json"), key=lambda file: file.stat().st_mtime)
    file_of = {arm_of(file.name.rsplit("-seed", 1)[0]): file for file in newest_last}
    if arms:
        file_of = {arm: file_of[arm] for arm in arms if arm in file_of}
    output = pathlib.Path(output)
    hashes = {arm: hash_of(file) for arm, file in file_of.items()}
    known = json.loads(output.read_text(encoding="utf-8")) if output.exists() else {}
    if known and (known["seconds"].keys() - file_of.keys() or
                  known["processor"] == processor.describe() and known["seconds"].keys() == file_of.keys() and
                  known.get("configs", hashes) == hashes):
        return
    if not file_of:
        sys.exit(f"steps.py: {configs}: found no config; a comparison writes them where it trains: remove its kept figures to train anew")
    seconds = {arm: [] for arm in file_of}
    for number in range(int(rounds) + 1):
        for arm, file in file_of.items():
            taken = round(step_seconds(program, file, device), 5)
            print(f"{arm}: {taken:.3f} s a step", flush=True)
            if number > 0:  # the first round warms the machine up
                seconds[arm].append(taken)
    write_whole(output, json.dumps({"processor": processor.describe(), "configs": hashes, "seconds": seconds}, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
