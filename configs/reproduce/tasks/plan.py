"""Writes the comparison of one task of tasks.toml, and has its texts made.

usage: plan.py PROGRAM TASK FOLDER OUTPUT      writes FOLDER/train-N-KEY.jsonl, FOLDER/valid-N-KEY.jsonl and FOLDER/compare.json, of passkey
                                               FOLDER/filler.txt, too; runs that OUTPUT/measured holds are not made again
       plan.py --list                          prints the tasks
"""
import hashlib
import json
import pathlib
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
VALID_TEXTS = 1000


def make_texts(program, task, parts, folder):
    """Files of each split, as the parts say; held-out ones have another seed."""
    files = {"train": [], "valid": []}
    for number, part in enumerate(parts):
        for seed, side in enumerate(files):
            made = [*part["options"].split(), "--texts", str(part["texts"] if side == "train" else VALID_TEXTS // len(parts)), "--seed", str(seed)]
            key = hashlib.sha256(" ".join([part.get("task", task), *made]).encode()).hexdigest()[:8]  # other rules make another file
            file = folder / f"{side}-{number}-{key}.jsonl"
            files[side].append(str(file))
            if not file.exists():
                subprocess.run([program, "prepare", "--task", part.get("task", task), *made, "--output", file], check=True)
    return files


def make_filler(program, folder):
    """The sentences of texts that are not trained on, without the lines that hold their pass keys: what `evaluate.task=passkey` hides others in."""
    made, filler = folder / "filler.jsonl", folder / "filler.txt"
    if not filler.exists():
        made.unlink(missing_ok=True)
        subprocess.run([program, "prepare", "--task", "passkey", "--sizes", "200,200", "--texts", "20", "--seed", "2", "--output", made], check=True)
        lines = [line.strip() for text in made.read_text(encoding="utf-8").splitlines() for line in json.loads(text)["messages"][0]["content"].splitlines()]
        whole = folder / "filler.part"
        whole.write_text(" ".join(line for line in lines if line and "pass key" not in line) + "\n", encoding="utf-8")
        whole.replace(filler)
    return str(filler)


def main(program, task, folder, output, rules):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    of_task = rules["tasks"][task]
    tokens = of_task["tokens"]
    config = {
        **rules["config"],
        "data": {**make_texts(program, task, of_task["parts"], folder), "separate_documents": True},
        "tokenizer": {"vocabulary": of_task["vocabulary"], "sample_bytes": 1000000} if "vocabulary" in of_task else {"kind": "bytes"},
        "batch": {"sequence_length": of_task["sequence_length"], "sequences": rules["step_tokens"] // of_task["sequence_length"]},
        "schedule": {"warmup_tokens": tokens // 10},
        "run": {"train_tokens": tokens, "validation_tokens": 32768},
        "evaluate": {"lengths": ["1x"], "max_tokens": 32768, "far_context_tokens": 0},
    }
    asked = {task: {}, **of_task.get("asked", {})}
    comparison = {
        "name": task, "title": f"Task: {task}", "folder": str(folder), "measured": f"{output}/measured",
        "any_device": True, "config": config, "seeds": rules["seeds"],
        "variants": {name: {"model": model} if model else {} for name, model in rules["arms"].items()},
        "tasks": {name: {"task": task, "lengths": rules["lengths"], "answers": {"trials": rules["trials"], **answers}}
                  for name, answers in asked.items()},
    }
    if task == "passkey":
        comparison["text"] = [make_filler(program, folder)]
    (folder / "compare.json").write_text(json.dumps(comparison, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    tasks = tomllib.loads((HERE / "tasks.toml").read_text(encoding="utf-8"))
    if sys.argv[1:] == ["--list"]:
        print(*tasks["tasks"])
    else:
        main(*sys.argv[1:], tasks)
