"""Prepared folders: how each kind of text becomes token ids."""
import json

from .jobs import Job
from .training import BYTE_LEVEL, DOCUMENTS, FP32_OPTIONS, OPTIONS, settings, write_config
from .values import digest, numbers

TEXTS = {
    "bytes": (),
    "bpe": ("tokenizer.kind=bpe", "tokenizer.vocabulary=300"),
    "bpe-sample": ("tokenizer.kind=bpe", "tokenizer.vocabulary=290", "tokenizer.sample_bytes=5000"),
    "byte-level": BYTE_LEVEL,
    "documents": DOCUMENTS,
    "prompts": OPTIONS["prompts"],
    "prompts-bpe": (*OPTIONS["prompts"], "tokenizer.kind=bpe", "tokenizer.vocabulary=300"),
    "held-out-share": FP32_OPTIONS["held-out-share"],
    "token-files": FP32_OPTIONS["token-files"],
    "many-files": FP32_OPTIONS["many-files"],
}


def prepared(changes):
    def values(place):
        write_config(place)
        table = place.works("prepare", "small.json", *settings(changes), "--output", "prepared").out.decode()
        found = {path.name: digest(path.read_bytes()) for path in sorted(place.path("prepared").iterdir())}
        found["prepared.json"] = json.loads(place.path("prepared/prepared.json").read_text())
        of_tokenizer = [change for change in changes if change.startswith("tokenizer.")]
        shown = place.works("inspect", "data", "small.json",
                            *settings((*of_tokenizer, 'data.train=["prepared"]', "data.valid=[]")))
        return {**found, "statistics": numbers(table), "shown": digest(shown.out.split(b"\n\n", 1)[-1])}
    return values


def jobs(_record):
    return [Job(f"prepare/{name}", prepared(changes)) for name, changes in TEXTS.items()]
