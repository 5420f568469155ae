"""Two binaries in turns: how much longer the second one takes."""
import contextlib
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from .jobs import PROJECT, Place
from .program import Program
from .texts import write_texts

LIMIT = 1.02
BUSY_LIMIT = 3  # where a fair share of the cores would be 2
STARTS = 10
LARGE = ("model.layers=8", "model.width=512", "model.heads=8", "tokenizer.vocabulary=8192")
# 4 layers of 256, on bytes.
CONFIG = {
    "model": {"layers": 4, "width": 256, "heads": 8},
    "batch": {"sequence_length": 512, "sequences": 16, "train_sequence_length_scaling": 0.25},
    "data": {"train": ["text.txt"], "valid": ["held.txt"], "cache_folder": "cache"},
    "tokenizer": {"kind": "bytes"},
    "run": {"name": "speed", "train_tokens": 16 * 512 * 12, "evaluate_every_tokens": 1_000_000, "validation_tokens": 1024},
    "runtime": {"device": "cpu"},
}


def seconds_of(place, *arguments):
    start = time.monotonic()
    place.works(*arguments, threads=None)
    return time.monotonic() - start


def start_seconds(place):
    return statistics.mean(seconds_of(place, "--version") for _ in range(STARTS))


def step_seconds(place):
    place.works("bench", "step", PROJECT / "configs/quickstart.json", "--lengths", 128, "--tokens", 8192, "--seconds", 6,
                "--output", "step.json", threads=None)
    return json.loads(place.path("step.json").read_text())["rows"][0]["step_seconds"]


def large_step_seconds(place):  # 29.4M parameters, as scripts/compare-speed trains them
    place.works("bench", "step", "--lengths", 256, "--tokens", 4096, "--seconds", 8, "--output", "large.json",
                *(word for setting in LARGE for word in ("--set", setting)), threads=None)
    return json.loads(place.path("large.json").read_text())["rows"][0]["step_seconds"]


def training_seconds(place):
    place.path("speed.json").write_text(json.dumps(CONFIG))
    return seconds_of(place, "train", "speed.json")


def attention_seconds(place):
    place.works("bench", "attention", "--without-libtorch", "--lengths", 128, 2048, "--output", "attention.json", threads=None)
    return sum(row["both_seconds"] for row in json.loads(place.path("attention.json").read_text())["rows"])


def evaluation_seconds(place):
    place.works("evaluate", "runs/speed", "--text", "text.txt", "--lengths", "1x,4x,16x", "--output", "curve", threads=None)
    points = json.loads(place.path("curve/curve.json").read_text())["curves"][0]["points"]
    return sum(point["seconds"] for point in points)


def generation_seconds(place):
    return seconds_of(place, "generate", "runs/speed", "--prompt", "kalo", "--tokens", 400, "--ignore-end")


MEASURES = {"start": start_seconds, "step": step_seconds, "large step": large_step_seconds, "attention": attention_seconds,
            "training": training_seconds, "evaluation": evaluation_seconds,
            "generation": generation_seconds}  # the last two need what training wrote


@contextlib.contextmanager
def neighbours(count):
    """That many processes that compute without end, as a compiler does on each core."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for each in busy:
            each.kill()
            each.wait()


def measured(program):
    """Seconds by measure, in a fresh folder."""
    with tempfile.TemporaryDirectory(prefix="alibi-record-") as scratch:
        place = Place(program, pathlib.Path(scratch), None)
        write_texts(place.folder)
        return {name: seconds(place) for name, seconds in MEASURES.items()}


def speed(options):
    programs = {"base": Program(options.base), "new": Program(options.new)}
    rounds = []
    for number in range(options.rounds):
        order = list(programs) if number % 2 == 0 else list(reversed(programs))
        rounds.append({})
        for name in order:
            with neighbours(options.busy if name == "new" else 0):
                rounds[-1][name] = measured(programs[name])
        print(f"record: round {number + 1} of {options.rounds} done", file=sys.stderr)
    print(f"{'':12} {'base s':>9} {'new s':>9}  new / base, median (least .. most)")
    limit, slower = BUSY_LIMIT if options.busy else LIMIT, False
    for name in MEASURES:
        ratios = [each["new"][name] / each["base"][name] for each in rounds]
        medians = [statistics.median(each[program][name] for each in rounds) for program in programs]
        above = statistics.median(ratios) > limit
        slower |= above
        print(f"{name:12} {medians[0]:9.4f} {medians[1]:9.4f}  {statistics.median(ratios):.3f} ({min(ratios):.3f} .. "
              f"{max(ratios):.3f}){f'  above {limit}' if above else ''}")
    sys.exit(1 if slower else 0)
