"""Short trainings: weights, moments, log and state after ten steps."""
import json

from .jobs import Job
from .values import digest, log_lines, steady, tensor_bits

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
KERNELS = {"avx512": "avx512f", "avx2": "avx2", "plain": "", "flash": "", "standard": "", "reference": "", "check": ""}
LONG = ("batch.sequence_length=320", "batch.sequences=2", "batch.train_sequence_length_scaling=1",
        "run.train_tokens=3840")  # several blocks of keys, the last one not whole
DOCUMENTS = ('data.train=["documents.jsonl"]', 'data.valid=["held.jsonl"]', "data.separate_documents=true")
BYTE_LEVEL = ("tokenizer.kind=bpe", "tokenizer.file=tokenizer.json", "tokenizer.vocabulary=265")
BIASES = ("model.attention_bias=true", "model.mlp_bias=true", "model.norm_bias=true")

STEEP = ("batch.sequence_length=1024", "batch.sequences=1", "batch.train_sequence_length_scaling=1",
         "run.train_tokens=4096", "model.slopes=[8,4,1,0.1]")  # blocks of keys that may be left out
# So large a rate that losses jump: rounding grows with each step, and another machine soon has other losses.
SPIKES = ("guard.spike_window=8", "guard.spike_deviations=1", "optimizer.clip_norm=0", "optimizer.learning_rate=1")
SAME_KIND_ONLY = {
    "spikes-skip": (*SPIKES, "guard.spikes=skip"),
    "spikes-roll-back": (*SPIKES, "guard.spikes=roll_back", "run.train_tokens=7680"),
}

# Each in both precisions.
OPTIONS = {
    "documents": DOCUMENTS,
    "documents-long": (*LONG, *DOCUMENTS),
    "micro-batch": ("batch.micro_batch_tokens=96",),
    "scaling-quarter": ("batch.train_sequence_length_scaling=0.25",),
    "mixture": ("batch.length_mixture=[0.25,0.5]",),
    "embedding-dropout": ("model.embedding_dropout=0.1",),
    "attention-dropout": ("model.attention_dropout=0.1",),
    "residual-dropout": ("model.residual_dropout=0.1", "batch.micro_batch_tokens=96"),
    "mlp-dropout": ("model.mlp_dropout=0.1",),
    "recompute": ("runtime.recompute=blocks", "model.residual_dropout=0.1"),
    "recompute-t5": ("runtime.recompute=blocks", "model.position=t5"),
    "learned-slopes": ("model.learned_slopes=true",),
    "learned-slopes-long": (*LONG, "model.learned_slopes=true"),
    "slopes-geometric": ("model.width=48", "model.heads=6", "model.slope_rule=geometric", "model.slope_bias_max=6"),
    "slopes-press-6": ("model.width=48", "model.heads=6"),
    "slopes-equal": ("model.slope_rule=equal",),
    "slopes-exponential": ("model.slope_rule=exponential", "model.slope_seed=7"),
    "slopes-given": ("model.slopes=[0.5,0.3,0.1,0.01]",),
    "slopes-biased-heads": ("model.biased_heads=2",),
    "key-value-heads": ("model.key_value_heads=2",),
    "key-value-heads-long": (*LONG, "model.key_value_heads=1"),
    "key-value-heads-rotary": ("model.key_value_heads=2", "model.position=rotary"),
    "biases": BIASES,
    "bloom": (*BIASES, "model.embedding_norm=true", "model.activation=gelu_tanh"),
    "untied-head": ("model.tied_head=false",),
    "mlp-width": ("model.mlp_width=96", "model.attention_scale=0.5", "model.norm_epsilon=0.001"),
    "rotary-base": ("model.position=rotary", "model.rotary_base=500"),
    "t5-buckets": ("model.position=t5", "model.t5_buckets=8", "model.t5_max_distance=32", "model.t5_shared=false"),
    "t5-long": (*LONG, "model.position=t5"),
    "learned-table": ("model.position=learned", "model.max_sequence_length=128"),
    "rotary-long": (*LONG, "model.position=rotary"),
    "adamw": ("optimizer.learning_rate=0.003", "optimizer.beta1=0.8", "optimizer.beta2=0.99", "optimizer.epsilon=1e-6",
              "optimizer.weight_decay=0.3", "optimizer.clip_norm=0.5"),
    "no-clipping": ("optimizer.clip_norm=0", "optimizer.weight_decay=0"),
    "schedule-linear": ("schedule.kind=linear", "schedule.warmup_tokens=1000", "schedule.final_fraction=0"),
    "schedule-constant": ("schedule.kind=constant", "schedule.warmup_tokens=1000"),
    "schedule-wsd": ("schedule.kind=wsd", "schedule.warmup_tokens=500", "schedule.decay_tokens=1500"),
    "z-loss": ("guard.z_loss=0.01",),
    "loss-chunks": ("runtime.loss_chunk_rows=50",),
    "seed": ("run.seed=12345678901", "initialize.standard_deviation=0.05"),
    "prompts": ('data.train=["chat.jsonl"]', 'data.valid=["held-chat.jsonl"]'),
    "prompts-documents": ('data.train=["chat.jsonl"]', 'data.valid=["held-chat.jsonl"]', "data.separate_documents=true"),
}

# In fp32 only: what is done before or around the arithmetic of a step.
FP32_OPTIONS = {
    "patience": ("run.patience=1", "run.evaluate_every_tokens=384", "optimizer.learning_rate=0.5"),
    "cadence": ("run.log_every_tokens=1000", "run.save_every_tokens=500", "run.evaluate_every_tokens=700",
                "run.keep_checkpoints=1", "run.save_in_background=false"),
    "held-out-share": ('data.train=["documents.jsonl"]', "data.valid=[]", "data.valid_fraction=0.2"),
    "bpe": ("tokenizer.kind=bpe", "tokenizer.vocabulary=300"),
    "byte-level": BYTE_LEVEL,
    "packed-text": ('data.train=["packed.txt.gz"]',),
    "token-files": ('data.train=["train.bin"]', 'data.valid=["valid.bin"]', *BYTE_LEVEL),
    "many-files": ('data.train=["documents.jsonl", "text.txt", "held.jsonl"]',),
}


def write_config(place):
    place.path("small.json").write_text(json.dumps(CONFIG))


def settings(changes):
    """The words of a command line that change some keys."""
    return [word for change in changes for word in ("--set", change)]


def train(place, changes=(), threads=1, resume=False):
    """Trains the small model with some keys changed ("model.heads=2"); the run is in runs/small."""
    write_config(place)
    more = ["--resume"] if resume else []
    place.works("train", "small.json", *settings((*changes, f"runtime.threads={threads}")), *more, threads=threads)


def newest_checkpoint(run):
    return max((run / "checkpoints").iterdir())


def progress_of(checkpoint):
    """progress.json without the run's identity."""
    progress = steady(json.loads((checkpoint / "progress.json").read_text()))
    return {**progress, "arithmetic": "bits:" + progress["arithmetic"]}


def state_of(run):
    """What a run has come to."""
    folder = newest_checkpoint(run)
    progress = progress_of(folder)
    counts = {name: progress[name] for name in ("step", "best_step", "skipped_steps", "rollbacks", "finished")}
    return {"checkpoints": sorted(path.name for path in (run / "checkpoints").iterdir()),
            "weights": tensor_bits(folder / "weights.safetensors"), "moments": tensor_bits(folder / "optimizer.safetensors"),
            "arithmetic": progress["arithmetic"], "progress": counts, "log": log_lines(run / "log.jsonl")}


def train_and_look(changes, threads):
    def values(place):
        train(place, changes, threads)
        return state_of(place.path("runs/small"))
    return values


def case(name, *changes, precision="fp32", threads=1, **options):
    """A case of the record; its key ends in the precision."""
    changes = (*changes, f"runtime.precision={precision}")
    return Job(f"training/{name}-{precision}", train_and_look(changes, threads), tolerance=TOLERANCE[precision], **options)


def both(name, *changes, **options):
    return [case(name, *changes, precision=precision, **options) for precision in TOLERANCE]


def kernel_cases():
    for kernel, needs in KERNELS.items():
        chosen = f"runtime.attention.kernel={kernel}"
        yield from both(f"kernel-{kernel}", *LONG, chosen, needs=needs)
        yield from both(f"kernel-{kernel}-documents", *LONG, *DOCUMENTS, chosen, needs=needs)
    for skip in ("exact", "epsilon", "off"):
        yield from both(f"skip-{skip}", *STEEP, f"runtime.attention.skip={skip}")


def files(place):
    """The files of a run and a checkpoint, and what they say of the run."""
    train(place, FP32_OPTIONS["byte-level"])
    run = place.path("runs/small")
    checkpoint = newest_checkpoint(run)
    manifest = json.loads((checkpoint / "manifest.json").read_text())
    names = sorted(path.name for folder in (run, checkpoint) for path in folder.iterdir() if "tfevents" not in path.name)
    return {"files": names, "config": json.loads((checkpoint / "config.json").read_text()),
            "same-config": (run / "config.json").read_bytes() == (checkpoint / "config.json").read_bytes(),
            "progress": progress_of(checkpoint), "manifest": [each["name"] for each in manifest["files"]],
            "manifest-keys": sorted(manifest), "tokenizer": digest((checkpoint / "tokenizer.json").read_bytes())}


def initialized_from(place):
    """Another model's weights as a start, and the slopes of this one."""
    train(place, ("run.name=first", "run.train_tokens=1920"))
    train(place, ("initialize.from=runs/first", "run.seed=3"))
    return state_of(place.path("runs/small"))


def jobs(_record):
    positions = [job for name in POSITIONS for job in both(name, f"model.position={name}")]
    options = [job for name, changes in OPTIONS.items() for job in both(name, *changes)]
    plain = [case(name, *changes) for name, changes in FP32_OPTIONS.items()]
    spikes = [case(name, *changes, same_kind_only=True) for name, changes in SAME_KIND_ONLY.items()]
    threads = [*both("two-threads", *LONG, threads=2), *both("two-threads-t5", "model.position=t5", threads=2)]
    return [*positions, *kernel_cases(), *options, *plain, *spikes, *threads,
            Job("training/initialized-from", initialized_from), Job("training/files", files)]
