"""Short trainings: weights, moments, log and state after ten steps."""
import json

from .jobs import Job
from .values import all_bits, log_lines, tensor_bits

CONFIG = {
    "model": {"layers": 2, "width": 32, "heads": 4},
    "batch": {"sequence_length": 96, "sequences": 4, "train_sequence_length_scaling": 0.5},
    "data": {"train": ["text.txt"], "valid": ["held.txt"], "cache_folder": "cache"},
    "tokenizer": {"kind": "bytes"},
    "run": {"name": "small", "train_tokens": 3840, "save_every_tokens": 1920, "evaluate_every_tokens": 1920,
            "validation_tokens": 768},
    "evaluate": {"lengths": ["1x", "2x", "4x"], "max_tokens": 2000, "far_context_tokens": 0},
    "runtime": {"device": "cpu", "precision": "fp32", "threads": 1, "memory_limit_bytes": 4_000_000_000},
}
TOLERANCE = {"fp32": 1e-3, "bf16": 2e-2}
POSITIONS = ("alibi", "sinusoidal", "rotary", "t5", "learned", "none")


def train(place, changes=(), threads=1, config="small.json"):
    """Trains the small model with some keys changed ("model.heads=2"); the run is in runs/small."""
    place.path(config).write_text(json.dumps(CONFIG))
    words = [word for change in (*changes, f"runtime.threads={threads}") for word in ("--set", change)]
    return place.works("train", config, *words, threads=threads)


def newest_checkpoint(run):
    return max((run / "checkpoints").iterdir())


def state_of(run):
    """What a run has come to."""
    folder = newest_checkpoint(run)
    progress = json.loads((folder / "progress.json").read_text())
    return {"checkpoints": sorted(path.name for path in (run / "checkpoints").iterdir()),
            "weights": tensor_bits(folder / "weights.safetensors"), "moments": all_bits(folder / "optimizer.safetensors"),
            "arithmetic": "bits:" + progress["arithmetic"], "log": log_lines(run / "log.jsonl")}


def train_and_look(changes, threads):
    def values(place):
        train(place, changes, threads)
        return state_of(place.path("runs/small"))
    return values


def case(name, *changes, precision="fp32", threads=1, needs=""):
    """A case of the record; its key ends in the precision."""
    changes = (*changes, f"runtime.precision={precision}")
    return Job(f"training/{name}-{precision}", train_and_look(changes, threads), needs, TOLERANCE[precision])


def both(name, *changes, **options):
    return [case(name, *changes, precision=precision, **options) for precision in TOLERANCE]


def jobs():
    return [job for position in POSITIONS for job in both(position, f"model.position={position}")]
