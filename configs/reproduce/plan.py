"""A comparison in which every arm has its own learning rate: trials on one half of the held-out documents, then runs on the other.

usage: plan.py rates CASE.toml FOLDER OUTPUT [OPTIONS]
                                                writes the two halves, FOLDER/trials.json (what decides trials), and FOLDER/rates.json
                                                unless OUTPUT/rates has every trial by the same; trials that OUTPUT/rates/measured
                                                holds are not made again
       plan.py runs CASE.toml FOLDER OUTPUT     writes FOLDER/runs.json, with the rates chosen by that; runs that OUTPUT/measured
                                                holds are not made again
       plan.py whole CASE.toml FOLDER OUTPUT    writes FOLDER/whole.json, of those the runs of whole budgets
       plan.py judged CASE.toml FOLDER OUTPUT   prints the options of "alibi evaluate" by which an evaluator finds the key tokens of the runs'
                                                text; nothing where OUTPUT/key_tokens.json holds them, or the case asks for none

CASE.toml: title; base (configs); text (held-out documents); seeds; tokens, and trial_tokens where trials are shorter; config (changes
for all); rates; key_tokens, true where OUTPUT/key_tokens.json is to decide them; and [arms.NAME], each with what differs from these:
  config   changes of this arm
  rates    tried, of optimizer.learning_rate, or of the key that `rate` names; a single one is taken without a trial
  budgets  shares of `tokens`, each a run with a schedule of its own, "NAME-SHARE"
  as       it is trained as that arm, and takes its rate
  from     it goes on from that arm's runs, for `tokens` of its own, at `rate_share` of that arm's rate
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts/lib"))
from budgets import tried_rates  # noqa: E402
from whole_file import write_whole  # noqa: E402


def merged(*parts):
    whole = {}
    for part in parts:
        for key, value in part.items():
            whole[key] = merged(whole[key], value) if isinstance(value, dict) and isinstance(whole.get(key), dict) else value
    return whole


def variant(arm, rate, tokens):
    schedule = {"run": {"train_tokens": tokens}, "schedule": {"warmup_tokens": tokens // 10}}
    return merged(arm.get("config", {}), {"optimizer": {arm.get("rate", "learning_rate"): rate}}, schedule)


def comparison(case, folder, name, half, variants, seeds, measured):
    data = {"data": {"valid": [str(folder / half)]}}
    return {"name": f"{case['name']}-{name}", "title": case["title"], "base": case["base"], "config": merged(case.get("config", {}), data),
            "folder": str(folder / name), "measured": str(measured), "any_device": True, "variants": variants, "seeds": seeds}


def split_text(text, folder, most=None):
    """Documents in turn, `most` of them or all: the first to choose by, the second to report on."""
    lines = pathlib.Path(text).read_text(encoding="utf-8").splitlines(keepends=True)[:most]
    for half, first in (("choose.jsonl", 0), ("report.jsonl", 1)):
        chosen = "".join(lines[first::2])
        if not (folder / half).exists() or (folder / half).read_text(encoding="utf-8") != chosen:  # a comparison may be reading it
            write_whole(folder / half, chosen)


def rates_of(case, arm):
    return arm.get("rates", case.get("rates"))


def has_rates(arm):
    return "as" not in arm and "from" not in arm


def plan_trials(case):
    tokens = case.get("trial_tokens", case["tokens"])
    return {f"{name}-{rate}": variant(arm, rate, tokens)
            for name, arm in case["arms"].items() if has_rates(arm) and len(rates_of(case, arm)) > 1 for rate in rates_of(case, arm)}


def plan_rates(case, folder, output):
    only_loss = {"evaluate": {"lengths": ["1x"], "max_tokens": 200000, "far_context_tokens": 0}}
    return comparison({**case, "config": merged(case.get("config", {}), only_loss)}, folder, "rates", "choose.jsonl", plan_trials(case), [0],
                      output / "rates" / "measured")


def has_all_trials(case, measured):
    return {run["variant"] for run in measured["runs"] if not run["failure"]} == set(plan_trials(case))


def what_decides(case, plan, options):
    """Trials; but no folder of this call."""
    kept = {key: value for key, value in plan.items() if key not in ("folder", "measured")}
    data = {"data": {"valid": f"half of {case['text']}"}}
    return json.loads(json.dumps({**kept, "config": merged(kept["config"], data), "options": options}))


def chosen_rates(case, measured):
    """By the loss at the trained length, of the rates that the case still names."""
    losses = tried_rates(measured) if measured else {}

    def best(name, rates):
        return rates[0] if len(rates) == 1 else min((rate for rate in rates if rate in losses[name]), key=losses[name].get)

    return {name: best(name, rates_of(case, arm)) for name, arm in case["arms"].items() if has_rates(arm)}


def plan_runs(case, folder, output, measured):
    chosen = chosen_rates(case, measured)
    variants = {}
    for name, arm in case["arms"].items():
        if "from" in arm:
            source = case["arms"][arm["from"]]
            assert "budgets" not in source and "from" not in source, f"{name} goes on from {arm['from']}, which has several runs or goes on itself"
            started = {"config": {"initialize": {"from": f"variants/{arm['from']}"}}, "rate": source.get("rate", "learning_rate")}
            variants[name] = variant(merged(started, arm), chosen[source.get("as", arm["from"])] * arm["rate_share"], arm["tokens"])
            continue
        rate = chosen[arm.get("as", name)]
        for share in arm.get("budgets", [None]):
            variants[name if share is None else f"{name}-{share}"] = variant(arm, rate, int(case["tokens"] * (share or 1)))
    keys = {"evaluate": {"key_tokens": {"evaluator": str(key_token_list(output))}}} if case.get("key_tokens") else {}
    changed = {**case, "config": merged(case.get("config", {}), keys)}
    return comparison(changed, folder, "runs", "report.jsonl", variants, case["seeds"], output / "measured")


def only_whole_budgets(case):
    arms = {name: {**arm, "budgets": [1]} if "budgets" in arm else arm for name, arm in case["arms"].items() if 1 in arm.get("budgets", [1])}
    return {**case, "arms": arms}


def key_token_list(output):
    return output / "key_tokens.json"


def judging_options(case, folder):
    evaluate = case["config"]["evaluate"]
    return ["--text", str(folder / "report.jsonl"), "--lengths", ",".join(evaluate["lengths"]),
            "--set", f"evaluate.max_tokens={evaluate['max_tokens']}"]


def main(step, case_file, folder, output, *options):
    import tomllib  # of Python 3.11; what others take from here needs none
    case = tomllib.loads(pathlib.Path(case_file).read_text(encoding="utf-8"))
    case["name"] = "-".join(pathlib.Path(case_file).with_suffix("").parts[-2:])
    folder, output = pathlib.Path(folder), pathlib.Path(output)
    split_text(case["text"], folder)
    if step == "judged":
        if case.get("key_tokens") and not key_token_list(output).exists():
            print(*judging_options(case, folder), sep="\n")
        return
    trials = output / "rates" / "comparison.json"
    measured = json.loads(trials.read_text(encoding="utf-8")) if trials.exists() else None
    file = folder / f"{step}.json"
    file.unlink(missing_ok=True)
    if step == "rates" and not plan_trials(case):
        return
    if step == "rates":
        plan = plan_rates(case, folder, output)
    else:
        plan = plan_runs(only_whole_budgets(case) if step == "whole" else case, folder, output, measured)
    if step == "rates":
        rules, known = what_decides(case, plan, options), output / "rates" / "trials.json"
        (folder / "trials.json").write_text(json.dumps(rules, indent=1) + "\n", encoding="utf-8")
        if measured and has_all_trials(case, measured) and known.exists() and json.loads(known.read_text(encoding="utf-8")) == rules:
            return
    file.write_text(json.dumps(plan, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
