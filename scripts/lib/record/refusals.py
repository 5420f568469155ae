"""What is refused: configs and command lines, with their exit code and the places that the lines on stderr name.

A generated bad config is made from the config schema of the program that the record is of, and kept in
bad_configs.json: another program is asked the same.
"""
import itertools
import json

from .jobs import Job
from .program import places
from .training import settings, train, write_config

NOT_A_CONFIG = ("", "{", "{} x", "[]", "3", "{'model': {}}", '{"model": {"heads": 8,}}', '{"model": {"heads": 08}}',
                '{"optimizer": {"epsilon": 1e999}}', '{"run": {"name": "\udcff"}}', '{"run": {}, "run": {}}',
                '{"model": {"heads": 8, "heads": 8}}', '{"x/y": 1, "x/y": 1}', '{"model": 5}', '{"": 1}',
                '{"model.heads": 8}', '{"heads": 8}', '{"runtime": {"attention": 3}}', '{"data": {"train": ["a", 1]}}',
                '{"model": {"slopes": [0.5, true]}}', '{"$schema": 5}')

# Settings of a config that is fine without them, parted by blanks: a case each line.
BROKEN_RULES = """
model.heads=7
model.heads=0 model.layrs=2
model.width=12 model.heads=4 model.position=rotary
model.width=9 model.heads=3 model.position=sinusoidal
model.key_value_heads=3
model.causal=false
model.slopes=[0.5]
model.slopes=[1,1,1,0]
model.position=t5 model.t5_max_distance=16
model.biased_heads=9
model.position=learned model.max_sequence_length=20
model.max_sequence_length=512
model.position=none model.slopes=[1]
model.t5_shared=true
model.rotary_base=100
model.slope_seed=1
model.position=t5 model.learned_slopes=true
model.learned_slopes=true model.biased_heads=2
model.slopes=[1,1,1,1] model.slope_rule=press
batch.train_sequence_length_scaling=2
batch.train_sequence_length_scaling=0.3
batch.train_sequence_length_scaling=0.015625
batch.micro_batch_tokens=100
batch.micro_batch_tokens=4096
batch.length_mixture=[1]
batch.length_mixture=[0.25,0.125]
batch.length_mixture=[0.5,0.3]
tokenizer.vocabulary=300
tokenizer.file=x
data.valid_fraction=0.1
data.train=[""]
data.train=[]
data.train=["nowhere.txt"]
data.train=["nowhere/*.txt"]
initialize.from=nowhere
initialize.from=x initialize.standard_deviation=0.1
schedule.warmup_tokens=4000
schedule.decay_tokens=10
schedule.kind=wsd schedule.warmup_tokens=2000 schedule.decay_tokens=3000
schedule.kind=constant schedule.final_fraction=0
guard.spike_window=64
guard.most_skips=4
guard.most_rollbacks=4 guard.non_finite=skip
run.name=
run.name=a/b
evaluate.lengths=[]
evaluate.lengths=["1x","x"]
evaluate.lengths=["0x"]
evaluate.stride=8
evaluate.sinks=4
evaluate.protocol=sliding evaluate.split_stride=8
evaluate.protocol=one_pass evaluate.stretch=linear
evaluate.protocol=streaming data.separate_documents=true
evaluate.stretch=yarn
evaluate.stretch_factor=2
model.position=rotary evaluate.protocol=streaming evaluate.sinks=4
evaluate.answers.trials=2
evaluate.task=passkey evaluate.answers.depths=[0,1.5]
evaluate.task=passkey evaluate.stride=8
runtime.precision=tf32
runtime.attention.kernel=nonsense
runtime.memory_limit_bytes=1000000
model.position=t5 runtime.attention.kernel=plain
model.heads=1.5 model.hats=1 run.seed=-1 x=1
nonsense
model=5
model.heads.x=1
=1
tokenizer.kind=bpe tokenizer.file=small.json
tokenizer.kind=bpe tokenizer.vocabulary=100000
""".strip().splitlines()

# Command lines without the program's name, in a folder with the run runs/small of byte-level tokens.
COMMANDS = """
nonsense
inspect
inspect nonsense
inspect bias --length 1
inspect checkpoint nowhere
inspect memory small.json --limit x
inspect schema --markdown --comparison
train
train nowhere.json
train small.json
train --resume nowhere.json
train small.json --resume --set run.seed=5
train small.json --resume --set model.width=64
train small.json --resume --set data.train=["documents.jsonl"]
train small.json --nonsense
prepare small.json --output runs
evaluate nowhere
evaluate runs/small --lengths x
evaluate runs/small --set evaluate.nonsense=1
evaluate runs/small --set model.heads=2
evaluate runs/small --text nowhere.txt
evaluate runs/small --title x
evaluate runs/small --name a --name b
evaluate runs/small --set evaluate.stretch=yarn
evaluate runs/small --lengths 100000
evaluate runs/small --output text.txt
generate
generate runs/small --prompt x --top-p 2
generate runs/small --prompt-file nowhere
export runs/small
export runs/small --to nonsense
export runs/small --to hf --type q8_0
export runs/small --to gguf --custom-code
export runs/small --to gguf --shard-size 5GB
export runs/small --to hf --shard-size x
export runs/small --to safetensors --curve x
export runs/small --to hf --curve nowhere
export runs/small --to hf --output runs
export runs/small --to hf --set run.seed=4
import nowhere
import runs
compare nowhere.json
compare small.json
completion nonsense
bench nonsense
""".strip().splitlines()

KEPT = "bad_configs.json"
MISSPELLED = "misspelled"
WRONG_TYPES = {"integer": "seven", "number": True, "boolean": 1, "string": 5, "array": "x"}


def refusal(result):
    return {"exit": result.code, "places": places(result.err)}


def bad_file(text):
    def values(place):
        place.path("bad.json").write_bytes(text.encode("utf-8", "surrogateescape"))
        return refusal(place.run("train", "bad.json"))
    return values


def broken_rule(rule):
    def values(place):
        write_config(place)
        return refusal(place.run("train", "small.json", *settings(rule.split())))
    return values


def refused_commands(commands):
    def values(place):
        if any("small" in command for command in commands):
            train(place)
        return {command: refusal(place.run(*command.split())) for command in commands}
    return values


def wrong_values(key, about):
    """Values of a wrong type and outside the range of a key of the schema; MISSPELLED stands for a wrong name."""
    kind = about["type"][0] if isinstance(about["type"], list) else about["type"]
    found = [WRONG_TYPES[kind], MISSPELLED, None, {}]
    if "minimum" in about:
        step = 1 if kind == "integer" else 0.5
        found += [about["minimum"] - step, *([about["maximum"] + step] if about["maximum"] < 1e15 else [])]
        found = [int(value) if kind == "integer" and isinstance(value, float) else value for value in found]
    return found


def bad_configs(schema):
    """A bad config for each key of the schema: one kind of fault after the other."""
    def walk(node, path):
        for name, about in node["properties"].items():
            if "properties" in about:
                yield from walk(about, (*path, name))
            elif path:
                yield (*path, name), about

    for i, (path, about) in enumerate(walk(schema, ())):
        choices = wrong_values(path[-1], about)
        value = choices[i % len(choices)]
        name = path[-1] + "s" if value == MISSPELLED else path[-1]
        config = {name: value}
        for section in reversed(path[:-1]):
            config = {section: config}
        yield json.dumps(config)


def write_kept(program, record):
    """Writes the generated bad configs; `program` is the one that the record is made of."""
    schema = json.loads(program.works("/", "inspect", "schema").out)
    (record / KEPT).write_text(json.dumps(list(bad_configs(schema)), indent=0) + "\n")


def jobs(record):
    generated = json.loads((record / KEPT).read_text())
    files = [Job(f"refusals/file {json.dumps(text)}", bad_file(text)) for text in (*NOT_A_CONFIG, *generated)]
    rules = [Job(f"refusals/set {rule}", broken_rule(rule)) for rule in BROKEN_RULES]
    commands = [Job(f"refusals/command {name}", refused_commands(list(group)))
                for name, group in itertools.groupby(COMMANDS, lambda command: command.split()[0])]
    return [*files, *rules, *commands]
