"""Bytes of what is exported and imported.

Weights of imported models are the same on every machine, and so are the files made of them.
"""
from .foreign import write_foreign
from .jobs import Job
from .training import BIASES, newest_checkpoint, progress_of, train
from .values import digest, tensors

FORMS = {
    "hf": ("--to", "hf"),
    "hf-bf16": ("--to", "hf", "--type", "bf16"),
    "hf-f16": ("--to", "hf", "--type", "f16"),
    "hf-shards": ("--to", "hf", "--shard-size", "50KB"),
    "custom-code": ("--to", "hf", "--custom-code"),
    **{f"gguf-{kind}": ("--to", "gguf", "--type", kind) for kind in ("f32", "f16", "bf16", "q8_0")},
    **{f"safetensors-{kind}": ("--to", "safetensors", "--type", kind) for kind in ("f32", "f16", "bf16")},
}
# What each imported model can be written as; "gpt2-alibi" has linear biases in place of its table.
IMPORTED = {
    "mpt": FORMS,
    "bloom": {name: FORMS[name] for name in ("hf", "hf-bf16", "custom-code")},
    "gpt2": {name: FORMS[name] for name in ("custom-code", "gguf-f32", "gguf-q8_0", "safetensors-f32")},
}
ENDINGS = {"gguf": ".gguf", "safetensors": ".safetensors"}
TRAINED = {
    "rotary": ("model.position=rotary",),
    "t5": ("model.position=t5",),
    "t5-by-layer": ("model.position=t5", "model.t5_shared=false", "model.key_value_heads=2"),
    "sinusoidal": ("model.position=sinusoidal",),
    "none": ("model.position=none", *BIASES),
    "learned-slopes": ("model.learned_slopes=true", "model.tied_head=false"),
}


def file_digests(path, weights="sha:"):
    """Digests of a file or of all files of a folder; `weights` heads those of files that hold weights."""
    def of(file):
        return (weights if file.suffix in (".safetensors", ".gguf") else "sha:") + digest(file.read_bytes())

    if path.is_file():
        return of(path)
    return {str(file.relative_to(path)): of(file) for file in sorted(path.rglob("*")) if file.is_file()}


def tensor_digests(path):
    """A digest for each tensor, as imported numbers are the same everywhere."""
    return {name: f"{dtype} {shape} {digest(content)}" for name, (dtype, shape, content) in tensors(path).items()}


def exported(place, checkpoint, name, form, weights="sha:", more=()):
    name += ENDINGS.get(form[1], "")
    place.works("export", checkpoint, *form, "--output", name, *more)
    return file_digests(place.path(name), weights)


def imported(place, folder, name):
    """An import: the weights by name, and what else is in its folder."""
    place.works("import", folder, "--output", name)
    checkpoint = newest_checkpoint(place.path(name))
    files = {file: found for file, found in file_digests(place.path(name)).items()
             if not file.endswith(("manifest.json", "progress.json"))}  # hold the run's identity
    return {"weights": tensor_digests(checkpoint / "weights.safetensors"), "files": files, "progress": progress_of(checkpoint)}


def import_and_export(dialect, forms, kind="F32"):
    def values(place):
        write_foreign(place.path("theirs"), dialect, kind)
        found = {"imported": imported(place, "theirs", "ours")}
        found.update({name: exported(place, "ours", name, form) for name, form in forms.items()})
        folder = "hf" if "hf" in forms else "custom-code"
        found["imported-again"] = imported(place, folder, "again")["weights"] if folder in forms else {}
        return found
    return values


def custom_code(changes):
    """A trained model that needs a modelling file of its own."""
    def values(place):
        train(place, changes)
        found = exported(place, "runs/small", "custom-code", FORMS["custom-code"], "bits:")
        place.works("import", "custom-code", "--output", "again")
        return found
    return values


def with_tokenizer_and_curve(place):
    """A sentencepiece tokenizer in each target, and a measured curve in the model card."""
    train(place, ("tokenizer.kind=bpe", "tokenizer.vocabulary=300"))
    place.works("evaluate", "runs/small", "--lengths", "1x,4x", "--output", "curve")
    found = {name: exported(place, "runs/small", name, FORMS[name], "bits:", ("--curve", "curve"))
             for name in ("hf", "gguf-f32")}
    found["hf"]["README.md"] = found["hf"]["README.md"].replace("sha:", "bits:")  # holds figures of this machine
    same = place.path("hf/curve.svg").read_bytes() == place.path("curve/curve.svg").read_bytes()
    return {**found, "hf": {**found["hf"], "curve.svg": same}}


def jobs(_record):
    imports = [Job(f"exports/{dialect}", import_and_export(dialect, forms)) for dialect, forms in IMPORTED.items()]
    halves = [Job(f"exports/mpt-of-{kind.lower()}", import_and_export("mpt", {"hf": FORMS["hf"]}, kind))
              for kind in ("F16", "BF16")]
    trained = [Job(f"exports/{name}", custom_code(changes)) for name, changes in TRAINED.items()]
    return [*imports, *halves, *trained, Job("exports/sentencepiece", with_tokenizer_and_curve)]
