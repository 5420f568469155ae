"""Curves of each protocol, keys found in long texts, generated texts, and pages about attention."""
import json

from . import pages
from .jobs import Job
from .training import DOCUMENTS, POSITIONS, TOLERANCE, settings, train
from .values import bits, digest, steady

TEXT = ("--text", "text.txt")
# Name of a curve -> (lengths, changes); what each position method is measured by.
PROTOCOLS = {
    "non-overlapping": ("1x,2x,4x", ()),
    "sliding": ("1x,2x", ("evaluate.protocol=sliding", "evaluate.stride=16")),
    "streaming": ("1x,2x", ("evaluate.protocol=streaming",)),
    "one-pass": ("1x,2x,4x", ("evaluate.protocol=one_pass",)),
}
ALIBI_PROTOCOLS = {
    "sliding-default": ("1x,4x", ("evaluate.protocol=sliding",)),
    "sinks": ("1x,2x", ("evaluate.protocol=streaming", "evaluate.sinks=4")),
    "split": ("1x,2x,4x", ("evaluate.split_stride=12",)),
    "far-context": ("1x,4x", ("evaluate.far_context_tokens=4000", "evaluate.max_tokens=10000")),
    "stretch-linear": ("1x,4x", ("evaluate.stretch=linear",)),
    "stretch-ntk": ("1x,4x", ("evaluate.stretch=ntk",)),
    "stretch-factor": ("1x,4x", ("evaluate.stretch=linear", "evaluate.stretch_factor=3")),
    "all-of-the-text": ("1x,300", ("evaluate.max_tokens=1000000", "evaluate.batch_tokens=1000")),
    "reference": ("1x,4x", ("runtime.attention.kernel=reference",)),
    "very-long": ("17000", ("evaluate.max_tokens=17000",)),
}
ROTARY_PROTOCOLS = {f"stretch-{rule}": ("1x,4x", (f"evaluate.stretch={rule}",)) for rule in ("linear", "ntk", "yarn")}
PASSKEY = ("evaluate.task=passkey", "evaluate.answers.trials=3", "evaluate.answers.depths=[0,0.5,1]")


def machine_bits(curve):
    """A curve's JSON value with what depends on the machine marked, and long lists as one hash."""
    curve["protocol"].pop("device")
    curve["protocol"]["kernel"] = "bits:" + curve["protocol"]["kernel"]
    for one in curve["curves"]:
        one["loss_by_position"] = bits(json.dumps(one["loss_by_position"]))
    return curve


def marked(value):
    """Digests of what was made from figures of this machine."""
    if isinstance(value, dict):
        return {key: marked(part) for key, part in value.items()}
    return [marked(part) for part in value] if isinstance(value, list) else f"bits:{value}"


def curve_files(folder):
    curve = machine_bits(steady(json.loads((folder / "curve.json").read_text())))
    return {**curve, "csv": marked(pages.table(folder / "curve.csv")), "page": marked(pages.page(folder / "index.html")),
            "picture": marked(pages.picture((folder / "curve.svg").read_text(encoding="utf-8")))}


def curve(place, name, lengths, changes, *runs):
    place.works("evaluate", *(runs or ("runs/small",)), *TEXT, "--lengths", lengths, "--output", name, *settings(changes))
    return curve_files(place.path(name))


def measure(changes, protocols):
    """Trains once, then a curve by each protocol; gives name -> curve."""
    def values(place):
        train(place, changes)
        return {name: curve(place, name, lengths, more) for name, (lengths, more) in protocols.items()}
    return values


def passkeys(documents):
    def values(place):
        train(place)
        place.works("evaluate", "runs/small", *TEXT, "--lengths", "200,400", "--output", "keys",
                    *settings((*PASSKEY, f"evaluate.answers.documents={documents}")))
        found = steady(json.loads(place.path("keys/answers.json").read_text()))
        found.pop("device")
        cells = marked([json.dumps(cell) for result in found.pop("results") for cell in result["cells"]])
        return {"asked": digest(place.path("keys/answers.jsonl").read_bytes()), **found, "cells": cells,
                "csv": marked(pages.table(place.path("keys/answers.csv"))),
                "page": marked(pages.page(place.path("keys/index.html")))}
    return values


def generated(place, *options):
    words = ("--prompt", "kalo mite", "--tokens", 38, "--ignore-end", *options)  # no more than a learned table takes
    return bits(place.works("generate", "runs/small", *words).out)


def generation(position):
    def values(place):
        train(place, (f"model.position={position}",))
        return {"likeliest": generated(place, "--temperature", 0),
                "drawn": generated(place, "--temperature", 0.8, "--top-k", 20, "--top-p", 0.9, "--seed", 5)}
    return values


def two_runs(place):
    """Two models on one page, one of them at its best checkpoint."""
    train(place)
    train(place, ("run.name=other", "model.position=sinusoidal"))
    return curve(place, "both", "1x,2x", (), "runs/small", "runs/other/best", "--name", "first", "--title", "Two of them")


def attention_pages(place):
    train(place)
    place.works("inspect", "attention", "runs/small", *TEXT, "--lengths", "1x", "--out", "attention.html")
    place.works("inspect", "lesson", "runs/small", *TEXT, "--out", "lesson.html")
    return {name: marked(pages.page(place.path(f"{name}.html"))) for name in ("attention", "lesson")}


def protocols_of(position):
    protocols = {**PROTOCOLS, **{"alibi": ALIBI_PROTOCOLS, "rotary": ROTARY_PROTOCOLS}.get(position, {})}
    if position != "learned":
        return protocols
    return {name: ("1x,2x", changes) for name, (_, changes) in protocols.items() if name != "streaming"}


def jobs(_record):
    curves = [Job(f"evaluation/{position}", measure((f"model.position={position}",), protocols_of(position)))
              for position in POSITIONS]
    keys = [Job(f"evaluation/passkey-{count}", passkeys(count)) for count in (1, 3)]
    texts = [Job(f"evaluation/generate-{position}", generation(position)) for position in POSITIONS]
    bf16 = measure(("runtime.precision=bf16",), PROTOCOLS)
    return [*curves, *keys, *texts, Job("evaluation/bf16", bf16, tolerance=TOLERANCE["bf16"]),
            Job("evaluation/documents", measure(DOCUMENTS, {"non-overlapping": PROTOCOLS["non-overlapping"]})),
            Job("evaluation/two-runs", two_runs), Job("evaluation/attention", attention_pages)]
