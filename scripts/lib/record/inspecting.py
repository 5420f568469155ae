"""What inspect, --print-config and completion print, with the shipped configs."""
import json

from . import pages
from .jobs import PROJECT, Job
from .training import settings
from .values import digest, numbers

# A comparison and a schema are no configs.
NO_CONFIG_KEYS = ("variants", "$defs", "properties")
SAME_EVERYWHERE = ("runtime.device=cpu", "runtime.precision=bf16", "runtime.threads=1", "runtime.memory_limit_bytes=64000000000")
SLOPES = {
    "press-8": ("model.heads=8",), "press-12": ("model.width=240", "model.heads=12"),
    "geometric-12": ("model.width=240", "model.heads=12", "model.slope_rule=geometric"),
    "bias-max": ("model.heads=8", "model.slope_bias_max=4"), "equal": ("model.slope_rule=equal",),
    "exponential": ("model.slope_rule=exponential", "model.slope_seed=3"), "biased-heads": ("model.biased_heads=3",),
    "given": ("model.heads=2", "model.slopes=[0.7,0.01]"), "t5": ("model.position=t5",), "none": ("model.position=none",),
}
MODELS = {**{name: (f"model.position={name}",) for name in ("alibi", "sinusoidal", "rotary", "t5", "learned", "none")},
          "key-value-heads": ("model.key_value_heads=2",), "untied": ("model.tied_head=false",),
          "biases": ("model.attention_bias=true", "model.mlp_bias=true", "model.norm_bias=true"),
          "recompute": ("runtime.recompute=blocks",), "fp32": ("runtime.precision=fp32",)}


def schema(*options):
    """The schema's keys apart from its sentences, which may be worded otherwise."""
    def values(place):
        sentences = []

        def keys(node, path):
            if not isinstance(node, dict):
                return node
            kept = {name: keys(part, f"{path}.{name}") for name, part in node.items() if name != "description"}
            sentences.append(node.get("description", ""))
            return kept

        printed = place.works("inspect", "schema", *options).out
        found = keys(json.loads(printed), "")
        sections = {name: {key: json.dumps(about, sort_keys=True) for key, about in part.get("properties", {}).items()}
                    for name, part in found["properties"].items()}
        return {"bytes": digest(printed), "sentences": digest(json.dumps(sentences)), "keys": sections}
    return values


def printed(*arguments):
    return lambda place: {"bytes": digest(place.works(*arguments).out)}


def shown(*arguments):
    """The numbers of a printed table."""
    return lambda place: {"numbers": numbers(place.works(*arguments).out.decode())}


def bias(changes):
    def values(place):
        result = place.run("inspect", "bias", *settings(changes), "--length", 24, "--out", "bias.svg")
        picture = place.path("bias.svg")
        return {"exit": result.code, "numbers": numbers(result.out.decode()),
                "picture": pages.picture(picture.read_text(encoding="utf-8")) if picture.exists() else None}
    return values


def shipped(name):
    """The resolved config, a digest for each section."""
    def values(place):
        result = place.works("train", PROJECT / name, "--print-config", *settings(SAME_EVERYWHERE))
        return {section: digest(json.dumps(keys)) for section, keys in json.loads(result.out).items()}
    return values


def shipped_configs():
    for path in sorted((PROJECT / "configs").rglob("*.json")):
        text = path.read_text(encoding="utf-8")
        if not any(f'"{key}"' in text for key in NO_CONFIG_KEYS):
            yield str(path.relative_to(PROJECT))


def jobs(_record):
    configs = [Job(f"inspect/{name}", shipped(name)) for name in shipped_configs()]
    biases = [Job(f"inspect/bias-{name}", bias(changes)) for name, changes in SLOPES.items()]
    models = [Job(f"inspect/model-{name}", shown("inspect", "model", *settings(changes))) for name, changes in MODELS.items()
              if name not in ("recompute", "fp32")]
    memory = [Job(f"inspect/memory-{name}", shown("inspect", "memory", "--limit", "12GiB", "--lengths", 64, 1024,
                                                   *settings((*SAME_EVERYWHERE[:1], *SAME_EVERYWHERE[2:3], *changes))),
                  same_kind_only=True)  # layers packed for AVX-512 take more
              for name, changes in MODELS.items()]
    completion = [Job(f"inspect/completion-{shell}", printed("completion", shell)) for shell in ("bash", "zsh", "fish")]
    return [Job("inspect/schema", schema()), Job("inspect/comparison-schema", schema("--comparison")),
            Job("inspect/schema-markdown", printed("inspect", "schema", "--markdown")),
            *configs, *biases, *models, *memory, *completion]
