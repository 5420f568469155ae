"""Writes the comparison of one task of tasks.toml, and has its texts made.

usage: plan.py PROGRAM TASK FOLDER      writes FOLDER/train-N-KEY.jsonl, FOLDER/valid-N-KEY.jsonl and FOLDER/compare.json
       plan.py --list                   prints the tasks
"""
import hashlib
import json
import pathlib
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
VALID_TEXTS = 1000


def main(program, task, folder, rules):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    parts = rules["parts"][task]
    files = {"train": [], "valid": []}
    for seed, (side, texts) in enumerate({"train": rules["texts"], "valid": VALID_TEXTS}.items()):
        for number, options in enumerate(parts):
            made = [*options.split(), "--texts", str(texts // len(parts)), "--seed", str(seed)]
            key = hashlib.sha256(" ".join(made).encode()).hexdigest()[:8]  # other rules make another file
            file = folder / f"{side}-{number}-{key}.jsonl"
            files[side].append(str(file))
            if not file.exists():
                subprocess.run([program, "prepare", "--task", task, *made, "--output", file], check=True)
    tokens = rules["tokens"]
    config = {
        "model": {"layers": 4, "width": 128, "heads": 4},
        "data": {**files, "separate_documents": True},
        "tokenizer": {"kind": "bytes"},
        "batch": {"sequence_length": rules["sequence_length"], "sequences": 16},
        "optimizer": {"learning_rate": 0.004},
        "schedule": {"warmup_tokens": tokens // 10},
        "run": {"train_tokens": tokens, "validation_tokens": 32768},
        "evaluate": {"lengths": ["1x"], "max_tokens": 32768, "far_context_tokens": 0},
    }
    asked = {task: {}, **rules["asked"].get(task, {})}
    comparison = {
        "name": task, "title": f"Task: {task}", "folder": str(folder), "config": config, "seeds": rules["seeds"],
        "variants": {name: {"model": model} if model else {} for name, model in rules["arms"].items()},
        "tasks": {name: {"task": task, "lengths": rules["lengths"], "answers": {"trials": rules["trials"], **answers}}
                  for name, answers in asked.items()},
    }
    (folder / "compare.json").write_text(json.dumps(comparison, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    tasks = tomllib.loads((HERE / "tasks.toml").read_text(encoding="utf-8"))
    if sys.argv[1:] == ["--list"]:
        print(*tasks["parts"])
    else:
        main(*sys.argv[1:], tasks)
