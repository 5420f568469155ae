"""The two comparisons of a case of optimizers: rates of each on one text, then budgets and seeds on another.

usage: plan.py rates CASE.toml FOLDER                       writes FOLDER/rates.json and two halves of the held-out text
       plan.py budgets CASE.toml FOLDER COMPARISON.json     writes FOLDER/budgets.json, with the rates chosen there
"""
import json
import pathlib
import sys
import tomllib


def rate_keys(kind, rate):
    """The rate under trial: of all weights for AdamW, of the blocks' matrices for others."""
    return {"learning_rate": rate} if kind == "adamw" else {"kind": kind, "matrix_learning_rate": rate}


def variant(kind, rate, tokens, case):
    return {"optimizer": {**case.get("optimizer", {}), **rate_keys(kind, rate)},
            "run": {"train_tokens": tokens}, "schedule": {"warmup_tokens": tokens // 10}}


def comparison(case, folder, name, half, variants, seeds):
    common = {**case.get("config", {}), "data": {**case.get("config", {}).get("data", {}), "valid": [str(folder / half)]},
              "evaluate": {"lengths": ["1x"], "max_tokens": 200000}}
    return {"name": f"optimizers-{case['name']}-{name}", "title": case["title"], "base": case["base"], "config": common,
            "folder": str(folder / name), "variants": variants, "seeds": seeds}


def split_text(case, folder):
    """Documents in turn: the first to choose by, the second to report on."""
    lines = pathlib.Path(case["text"]).read_text(encoding="utf-8").splitlines(keepends=True)
    for half, first in (("choose.jsonl", 0), ("report.jsonl", 1)):
        (folder / half).write_text("".join(lines[first::2]), encoding="utf-8")


def chosen_rates(case, measured):
    losses = {run["variant"]: run["losses"][0]["loss"] for run in measured["runs"] if not run["failure"]}
    return {kind: min((rate for rate in rates if f"{kind}-{rate}" in losses), key=lambda rate: losses[f"{kind}-{rate}"])
            for kind, rates in case["rates"].items()}


def main(step, case_file, folder, measured=None):
    case = tomllib.loads(pathlib.Path(case_file).read_text(encoding="utf-8"))
    case["name"] = pathlib.Path(case_file).stem
    folder = pathlib.Path(folder)
    if step == "rates":
        split_text(case, folder)
        variants = {f"{kind}-{rate}": variant(kind, rate, case["tokens"], case)
                    for kind, rates in case["rates"].items() for rate in rates}
        plan = comparison(case, folder, "rates", "choose.jsonl", variants, [0])
    else:
        chosen = chosen_rates(case, json.loads(pathlib.Path(measured).read_text(encoding="utf-8")))
        variants = {f"{kind}-{share}": variant(kind, chosen[kind], int(case["tokens"] * share), case)
                    for kind, shares in case["budgets"].items() for share in shares}
        plan = comparison(case, folder, "budgets", "report.jsonl", variants, case["seeds"])
    (folder / f"{step}.json").write_text(json.dumps(plan, indent=1) + "\n", encoding="utf-8")


main(*sys.argv[1:])
