"""Figure 1 at 20 tokens a parameter: answers first, then the figures, in Markdown.

usage: page.py FOLDER      holds CASE/runs/comparison.json and CASE/train_tokens (of the text) for each case
"""
import json
import math
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "scripts" / "lib")]
from budgets import tried_rates  # noqa: E402
from curves import HOLDS, LEAST_GAIN, LEVEL, TITLES, USABLE, beyond, by_budget, holds_up_to, kept_curve, lowest_by_budget, only_measured_otherwise, usable_lengths, usable_step_by_step  # noqa: E402
from paired import apart, by_seed, differences_of, losses, percent, ranged  # noqa: E402
from results_folder import split_section  # noqa: E402


def of_estimate(mean, low, high, text):
    return "-" if mean is None else ranged(mean, low, high, text) + (" (one seed)" if low is None else "")


def at_1x(variant):
    return next(point for point in variant["points"] if point["length"] == variant["trained_length"])


def was_run(variant):
    return variant["parameters"] > 0


def source_of(variant):
    """The arm from whose runs it goes on, or None."""
    start = variant["changes"].get("initialize", {}).get("from", "")
    return start.removeprefix("variants/") if start.startswith("variants/") else None


def count_from_reference(comparison):
    """1x is the reference's trained length for all: an arm that goes on from another is trained on longer sequences in the end."""
    length = next(v for v in comparison["variants"] if v["name"] == comparison["reference"])["trained_length"]
    for variant in comparison["variants"]:
        if variant["trained_length"] == length or not source_of(variant):
            continue
        variant["last_trained_length"], variant["trained_length"] = variant["trained_length"], length
        start = at_1x(variant)["loss"]
        for point in variant["points"]:
            point["change"] = None if point["loss"] is None else math.expm1(point["loss"] - start)
            for of in (point, point.get("key", {})):
                of.update({key: None for key in ("context_gain", "context_gain_low", "context_gain_high")})


def sources_line(comparison):
    for variant in filter(lambda one: source_of(one) and was_run(one), comparison["variants"]):
        print(f"{variant['name']} goes on from the runs of {source_of(variant)}: {variant['train_targets'] / 1e6:.1f}M tokens more, in windows of "
              f"{variant.get('last_trained_length', variant['trained_length']):,}, at one rate, not the best of several; its figures at 1x are at {variant['trained_length']:,}.\n")


def holds_until(variant):
    last, end = holds_up_to(variant)
    if end is None:
        return f"{last:,}, all that was measured"
    return f"{last:,}" + (f" ({end['note']})" if end["change"] is None else "")


def losses_at_1x(comparison, name):
    """{seed: loss} of the runs that did not fail; none of an arm that the comparison lacks."""
    trained = next((variant["trained_length"] for variant in comparison["variants"] if variant["name"] == name), None)
    return losses(comparison, name, trained)


def from_reference(comparison, variant):
    """Perplexity at 1x, paired by seed."""
    each = by_seed(comparison, variant["name"], comparison["reference"], variant["trained_length"])
    return apart(each) + (" (one seed)" if len(each) == 1 else "")


def arm(comparison, name, beside=False):
    """Which seeds there are, where some are missing, and what the reference has with the same: its own row is of all of its."""
    mine, its = (losses_at_1x(comparison, one) for one in (name, comparison["reference"]))
    if not mine or mine.keys() >= its.keys():
        return name
    both = mine.keys() & its.keys()
    same = "the same" if both == mine.keys() else numbered(both)
    with_same = f"; {comparison['reference']} with {same}: {math.exp(statistics.mean(its[seed] for seed in both)):.2f} at 1x" if beside and both else ""
    return f"{name} ({numbered(mine)}{with_same})"


def numbered(seeds):
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, sorted(seeds)))}"


def first_lines(comparison):
    """What a reader wants to know, in sentences."""
    variants = {variant["name"]: variant for variant in comparison["variants"]}
    reference = variants[comparison["reference"]]
    rivals = [v for v in variants.values() if v is not reference and at_1x(v)["difference"] is not None and not only_measured_otherwise(v)]
    if rivals:
        print("At the trained length, from ALiBi's perplexity: " + ", ".join(
            f"{v['name']} {from_reference(comparison, v)}"
            for v in sorted(rivals, key=lambda v: at_1x(v)["difference"])) + ".\n")
    print(f"Holds up to (perplexity at most {100 * HOLDS:.0f} % above that at 1x, tokens): " +
          "; ".join(f"{v['name']} {holds_until(v)}" for v in variants.values() if was_run(v)) + ".\n")
    lowest = {v["name"]: min((p for p in beyond(v) if p["loss"] is not None), key=lambda p: p["loss"])["length"] for v in variants.values() if was_run(v)}
    print("Perplexity is lowest at (of the lengths measured, tokens): " + "; ".join(f"{name} {length:,}" for name, length in lowest.items()) + ".\n")
    if reference["trained_length"] == PAPER_LENGTH:
        beside_papers_breaks(variants, lowest)


PAPER_LENGTH = 512
PAPER_BREAKS = {"sinusoidal": "20 to 50", "rotary": "100 to 200", "t5": "600 to 800", "alibi": "never"}  # tokens beyond that length up to which perplexity does not rise


def beside_papers_breaks(variants, lowest):
    """Where perplexity begins to rise, beside the paper's figures."""
    said = []
    for name, theirs in PAPER_BREAKS.items():
        if name not in variants or not was_run(variants[name]):
            continue
        later = [point["length"] for point in beyond(variants[name]) if point["length"] > lowest[name]]
        mine = f"between {lowest[name] - PAPER_LENGTH:,} and {later[0] - PAPER_LENGTH:,}" if later else f"never, up to {lowest[name] - PAPER_LENGTH:,}"
        said.append(f"{name} {mine} ({theirs})")
    print(f"Tokens beyond {PAPER_LENGTH} where perplexity begins to rise, between two of the lengths measured (in brackets: in Press et al. 2021, with models of 247M parameters): {'; '.join(said)}. "
          "Where a method breaks sooner here than there, these runs do not show why.\n")


def curves_table(case, comparison):
    lengths = [point["length"] for point in comparison["variants"][0]["points"]]
    print("| perplexity at | " + " | ".join(f"{length:,}" for length in lengths) + " | usable length (over 1x) |\n|---" + "|---" * (len(lengths) + 1) + "|")
    for variant in filter(was_run, comparison["variants"]):
        cells = [f"{point['perplexity']:.2f}" if point["perplexity"] is not None else "-" for point in variant["points"]]
        print(f"| {arm(comparison, variant['name'], beside=True)} | " + " | ".join(cells) + f" | {'-' if 'last_trained_length' in variant else usable_lengths(case / 'measured', comparison, variant['name'])} |")
    stepwise = {variant["name"]: usable_step_by_step(case / "measured", comparison, variant["name"]) for variant in filter(was_run, comparison["variants"]) if "last_trained_length" not in variant}
    if any(length != "-" for length in stepwise.values()):
        print("\nUsable length by the stricter rule of `alibi evaluate` (curves of other methods are older than it): " + "; ".join(f"{name} {length}" for name, length in stepwise.items() if length != "-") + ".")


def other_judge(case):
    """Where another section of the same text has key tokens by another judge: how many they share."""
    first, mine = case.parent / "default" / "key_tokens.json", case / "key_tokens.json"
    if not first.exists() or not mine.exists():
        return ""
    of, other = (json.loads(file.read_text(encoding="utf-8")) for file in (mine, first))
    if of["text_sha256"] != other["text_sha256"] or of["rule"]["evaluator_sha256"] == other["rule"]["evaluator_sha256"]:
        return ""
    both = len(set(of["positions"]) & set(other["positions"]))
    return (f" Another training of the judge chose those of the first section: {both:,} are in both ({100 * both / len(of['positions']):.0f} % of these), so perplexities of key "
            "tokens cannot be compared between the two.")


def key_table(case, comparison):
    rule = comparison.get("key_tokens")
    if not rule:
        return
    print(f"\nKey tokens, {rule['tokens']:,} of {comparison['text']['tokens_scored']:,}: those whose loss under the judge falls by more than {rule['least_gain']:g} nats, to less than {rule['most_loss']:g}, when it reads windows of "
          f"{rule['long_length']:,} tokens instead of {rule['short_length']:,}.{other_judge(case)}\n")
    if rule["tokens"] == 0:
        return
    print("| method | perplexity of key tokens at 1x | from alibi's | at the longest length | from alibi's | what longer context brings them there, nats |\n|---|---|---|---|---|---|")
    for variant in comparison["variants"]:
        points = [point for point in beyond(variant) if "key" in point]
        if not points:
            continue
        last = points[-1]
        gain = "-"  # at the trained length no context is longer
        if last["length"] > variant["trained_length"]:
            gain = of_estimate(*(last["key"][key] for key in ("context_gain", "context_gain_low", "context_gain_high")), lambda nats: f"{nats:+.3f}")
        print(f"| {arm(comparison, variant['name'])} | {math.exp(points[0]['key']['loss']):.2f} | {key_difference(points[0])} | {math.exp(last['key']['loss']):.2f} ({last['length']:,}) | {key_difference(last)} | {gain} |")


def key_difference(point):
    """Perplexity of key tokens from the reference's at that length, paired by seed, as the comparison has it."""
    key = point["key"]
    return "-" if key.get("difference") is None else of_estimate(*(key[name] for name in ("difference", "difference_low", "difference_high")), percent)


def patterns_line(comparison):
    """What arms with patterns of keys attend to."""
    models = {variant["name"]: variant["changes"].get("model", {}) for variant in filter(was_run, comparison["variants"])}
    said = [f"{name} is {'ALiBi' if model.get('position', 'alibi') == 'alibi' else 'no positions'} with `{', '.join(model['attention_pattern'])}`" for name, model in models.items()
            if "attention_pattern" in model]
    if said:
        print(f"\nPatterns of keys: {'; '.join(said)} (other heads: all keys).")


def gains_table(comparison):
    """Of each method at the longest length."""
    if table := split_section(comparison):
        print(table.rstrip("\n") + f"\n\n{targets_line(comparison)}")


def targets_line(comparison):
    """Of how many targets longer context is the mean: the later half of windows of both lengths, a quarter of what is scored."""
    scored, longest = comparison["text"]["tokens_scored"], comparison["variants"][0]["points"][-1]["length"]
    taken, _, there = comparison["text"]["selection"].split()[:3]
    return f"Longer context is the mean gain of {scored // 4:,} targets, measured on {taken} of {there} windows of the half that is reported; all would give {int(there) * longest // 4:,}."


def seeds_line(comparison):
    """Arms of which some seeds were not run."""
    if len(comparison["seeds"]) == 1:
        waiting = [variant["name"] for variant in comparison["variants"] if not was_run(variant)]
        return f" ({', '.join(waiting)} not run yet)" if waiting else ""
    runs = {variant["name"]: len(losses_at_1x(comparison, variant["name"])) for variant in comparison["variants"]}
    fewer = [f"{name} {count}" for name, count in runs.items() if count < len(comparison["seeds"])]
    return f"; fewer so far: {', '.join(fewer)}" if fewer else ""


def devices_line(case, comparison):
    """The device of most runs, and which runs others made."""
    runs = {}
    for run in comparison["runs"]:
        if run["failure"]:
            continue
        if kept := kept_curve(case / "measured", run):
            device = kept[0]["device"]
            runs.setdefault("a CPU" if device.startswith("cpu") else device, []).append(f"{run['variant']} seed {run['seed']}")
    if not runs:
        return "devices not kept"
    most, *others = sorted(runs, key=lambda device: -len(runs[device]))
    return most + "".join(f"; {', '.join(runs[device])}: {device}" for device in others)


def best_rates(case):
    """{method: rate chosen}, {method: {rate: loss}} and the trials; the rates of the runs alone where no other was tried."""
    file = case / "rates" / "comparison.json"
    if not file.exists():
        runs = json.loads((case / "runs" / "comparison.json").read_text(encoding="utf-8"))
        return {variant["name"]: variant["changes"]["optimizer"]["learning_rate"] for variant in runs["variants"]}, {}, None
    trials = json.loads(file.read_text(encoding="utf-8"))
    losses = tried_rates(trials)
    return {method: min(rates, key=rates.get) for method, rates in losses.items()}, losses, trials


def rates_line(case):
    """Which rate each method takes, in runs of which length it was chosen, and where it is the lowest or the highest tried."""
    best, losses, trials = best_rates(case)
    if not trials:
        print(f"Learning rates, of which no other was tried: {', '.join(f'{method} {rate:g}' for method, rate in best.items())}.\n")
        return
    at_edge = [method for method, rate in best.items() if rate in (min(losses[method]), max(losses[method]))]
    print(f"Learning rates (of trials on {trials['variants'][0]['train_targets'] / 1e6:.1f}M tokens): " + ", ".join(f"{method} {rate:g}" for method, rate in best.items())
          + (f"; the lowest or highest that was tried: {', '.join(at_edge)}" if at_edge else "; all lie between others that were tried") + ".\n")


def other_rates(folder):
    """full-length-rates/METHOD-LENGTH-RATE.json: curves of runs as those of the sections, but for the rate."""
    files = sorted((folder / "full-length-rates").glob("*.json"))
    if not files:
        return
    found, lower, at_rate = {}, [], {}
    for file in files:
        method, length, rate = file.stem.rsplit("-", 2)
        points = json.loads(file.read_text(encoding="utf-8"))["curves"][0]["points"]
        found.setdefault((int(length), method), {})[float(rate)] = next(p["loss"] for p in points if p["length"] == int(length))
    print("""
## Other rates, after all of the tokens

Rates are chosen by short trials, which may choose wrongly. Seed 0, Python source, on a CPU; CASE is `default` or `default-128`. The first command trains the case anew, and so writes the
config of each of its runs (those of figures that are kept here are not written):

    CASES=CASE scripts/reproduce figure1-full --output results/mine
    alibi train runs/reproduce/figure1-full/CASE/runs/configs/METHOD-seed0-ID.json --set optimizer.learning_rate=RATE --set run.folder=RUN
    alibi evaluate RUN --text runs/reproduce/figure1-full/CASE/report.jsonl --output CURVE

CURVE/curve.json is kept in `full-length-rates/`. Beside it stands seed 0 at the rate chosen, from the sections above; at 512 on the devices named there.
These runs are measured on the half that is reported, so they choose no rate. Perplexity at 1x:
""")
    print("| trained on | method | rate chosen | other rates |\n|---|---|---|---|")
    for (length, method), losses in sorted(found.items()):
        case = folder / ("default" if length == 512 else f"default-{length}")
        comparison = json.loads((case / "runs" / "comparison.json").read_text(encoding="utf-8"))
        chosen = losses_at_1x(comparison, method)[0]
        rate = best_rates(case)[0][method]
        others = ", ".join(f"{math.exp(loss):.2f} at {other:g}" for other, loss in sorted(losses.items()))
        print(f"| {length} | {method} | {math.exp(chosen):.2f} at {rate:g} | {others} |")
        if min(losses.values()) < chosen:
            lower.append(f"{method} trained on {length} tokens")
        for one in ("alibi", "sinusoidal"):
            at_rate.setdefault(length, {})[one] = {**found.get((length, one), {}), best_rates(case)[0][one]: losses_at_1x(comparison, one)[0]}
    print(f"\nAnother rate than the one chosen is better after all of the tokens for {', '.join(lower) or 'none'}. Only these were tried\nwith all of the tokens.")
    equal = [f"trained on {length} {percent(mine[rate] - of['alibi'][rate])} at {rate:g}" for length, of in at_rate.items()
             for mine in [of["sinusoidal"]] for rate in sorted(mine.keys() & of["alibi"].keys())]
    if equal:
        print(f"Sinusoidal from ALiBi, both at one rate: {', '.join(equal)}.")


def gradient_section(folder):
    """gate-gradient/seed-N.json: curves of forgetting as trained before the gates' gradient in bf16 was that of the formula."""
    runs = folder / "default" / "runs" / "comparison.json"
    files = sorted((folder / "gate-gradient").glob("seed-*.json"))
    if not files or not runs.exists():
        return
    comparison, before = json.loads(runs.read_text(encoding="utf-8")), {}
    for file in files:
        for point in json.loads(file.read_text(encoding="utf-8"))["curves"][0]["points"]:
            before.setdefault(point["length"], {})[int(file.stem.removeprefix("seed-"))] = point["loss"]
    said = []
    for length in (min(before), max(before)):
        now, earlier = losses(comparison, "forgetting", length), before[length]
        each = differences_of(now, earlier)
        if not each:
            return
        of = [", ".join(f"{math.exp(one[seed]):.2f}" for seed in sorted(now.keys() & earlier.keys())) for one in (earlier, now)]
        said.append(f"at {length:,} they had {of[0]} and have {of[1]} (changed by {apart(each)})")
    print(f"\n## The gradient of forget gates\n\nIn bf16 a term of the gates' gradient was once left out. It is 0 in exact arithmetic; without it rounding errors add up over all later tokens: at 512\ntokens the "
          f"gradient was wrong by about half of its norm. These older curves cannot be made again. Runs and trials of forgetting on Python source were made again since then, on a CPU (those before on an H100): {numbered(now)}\n"
          f"{'; '.join(said)}.")


def heads_table(folder):
    """heads/METHOD-LENGTH-RATE.json: `alibi inspect attention RUN --lengths 1x --text REPORT --json` of those runs."""
    files = sorted((folder / "heads").glob("*.json"), key=lambda file: (int(file.stem.rsplit("-", 2)[1]), file.stem))
    if not files:
        return
    print("\n## How near heads attend\n\nMean distance in tokens from a query to the keys it attends to, one mean for each head. The runs are those of \"Other rates\". Measured by `alibi\n"
          "inspect attention RUN --lengths 1x --text REPORT --json`, kept in `heads/`.\n")
    print("| trained on | method | rate | first layer | nearest head of layers 2, 3, 4 |\n|---|---|---|---|---|")
    nearest = {}
    for file in files:
        method, length, rate = file.stem.rsplit("-", 2)
        (measured,) = json.loads(file.read_text(encoding="utf-8"))["lengths"]
        first, *others = [sorted(head["mean_distance"] for head in layer) for layer in measured["layers"]]
        print(f"| {length} | {method} | {rate} | {', '.join(f'{distance:.1f}' for distance in first)} | {', '.join(f'{heads[0]:.1f}' for heads in others)} |")
        nearest[method, int(length)] = first[0]
    if (short := nearest.get(("sinusoidal", 128))) and (long := nearest.get(("sinusoidal", 512))):
        print(f"\nIn a window 4 times as long the nearest head of sinusoidal's first layer attends {long / short:.1f} times as far back. Whether it is behind at 512 for lack of "
              "heads that\nlook at the last few tokens, which a slope of ALiBi gives from the first step, is not shown: one seed; ALiBi at 512 was not looked at.")


def trained_shorter(folder):
    """The same text, targets and tokens, trained on windows of two lengths: a step draws more windows where they are shorter."""
    files = [folder / case / "runs" / "comparison.json" for case in ("default-128", "default-trend")]
    if not all(file.exists() for file in files):
        return
    short, trend = (json.loads(file.read_text(encoding="utf-8")) for file in files)
    of = {variant["name"]: {point["length"]: point["perplexity"] for point in variant["points"]} for comparison in (short, trend) for variant in comparison["variants"]}
    if short["text"]["sha256"] != trend["text"]["sha256"] or not of.get("alibi") or not of.get("alibi-1"):
        return
    tokens, rates = next(v for v in short["variants"] if v["name"] == "alibi")["train_targets"], [best_rates(folder / case)[0]["alibi"] for case in ("default-128", "default-trend")]
    print(f"\n## Trained on shorter or longer windows\n\nALiBi, seed 0, measured on the same targets after the same {tokens / 1e6:.1f}M tokens: trained on 128 it has {of['alibi'][512]:.2f} at 512 and "
          f"{of['alibi'][2048]:.2f} at 2,048, trained on 512\n{of['alibi-1'][512]:.2f} and {of['alibi-1'][2048]:.2f}. Length is not all that differs: a step's 8,192 tokens are cut from 16 "
          f"places of the text or from 4, the\nrates are {rates[0]:g} and {rates[1]:g}, the devices as in the sections. What the places are worth at one length: [windows](../windows/).{more_places(folder)}{on_1024(folder)}")


def more_places(folder):
    """Rows of a step drawn one by one, beside the first section."""
    files = [folder / case / "runs" / "comparison.json" for case in ("default-rows", "default")]
    if not all(file.exists() for file in files):
        return ""
    rows, first = (json.loads(file.read_text(encoding="utf-8")) for file in files)
    said = [f"{name} {math.exp(mine[0]):.2f} where it has {math.exp(its[0]):.2f} with 4" for name in ("alibi", "sinusoidal", "rotary")
            if 0 in (mine := losses_at_1x(rows, name)) and 0 in (its := losses_at_1x(first, name))]
    return f"\nTrained on 512 with 16 places a step (\"{rows['title']}\", above), seed 0 at 512: {', '.join(said)}; rates may differ." if said else ""


def on_1024(folder):
    """Models trained on 1,024 tokens beside those trained on 512, where their targets are the same."""
    files = [folder / case / "runs" / "comparison.json" for case in ("default-1024", "default")]
    if not all(file.exists() for file in files):
        return ""
    long, first = (json.loads(file.read_text(encoding="utf-8")) for file in files)
    if long["text"]["sha256"] != first["text"]["sha256"]:
        return ""
    said = [f"{name} {math.exp(mine[0]):.2f} ({math.exp(its[0]):.2f})" for name in ("alibi", "kerple-log", "t5", "sinusoidal")
            if 0 in (mine := losses(long, name, 8192)) and 0 in (its := losses(first, name, 8192))]
    return f"\nTrained on 1,024, with 2 places a step (in brackets: on 512, with 4), seed 0 at 8,192: {', '.join(said)}." if said else ""


def trend_table(comparison):
    """Variants are METHOD-SHARE; "-" stands for one that was not run."""
    lowest = dict(lowest_by_budget(comparison))
    lowest_of = [f"{method} at {round(tokens, 1):g}" for tokens, method in lowest.items()]
    methods = list(dict.fromkeys(variant["name"].rsplit("-", 1)[0] for variant in comparison["variants"]))
    never = [method for method in methods if not any(method in of.split(" and ") for of in lowest.values())]
    print(f"The lowest at 1x, by tokens a parameter (methods at most {LEVEL:g} nats apart are level): {', '.join(lowest_of)}{'; never ' + ', '.join(never) if lowest and never else ''}. One seed each, so a difference of some percent is not shown; one rate, that of the\ntrials, "
          "serves all budgets of a method. Forget gates and KERPLE's log, which lead at 20, were not trained at other budgets.\n\nOther targets than above: windows of 2,048 tokens fill the text where above those of 8,192 do.\n")
    print("| tokens a parameter | " + " | ".join(methods) + " | lowest |\n|---" + "|---" * (len(methods) + 1) + "|")
    for tokens, points in by_budget(comparison):
        cells = [f"{points[method]['perplexity']:.2f}" if method in points else "-" for method in methods]
        print(f"| {round(tokens, 1):g} | " + " | ".join(cells) + f" | {lowest.get(tokens, '-')} |")


def case_section(case):
    comparison = json.loads((case / "runs" / "comparison.json").read_text(encoding="utf-8"))
    variant = next(filter(was_run, comparison["variants"]), None)
    if variant is None:
        print(f"\n## {comparison['title']}\n\nEvery run failed.")
        return
    tokens = max(one["train_targets"] for one in comparison["variants"])
    trained = [one["train_targets"] / one["parameters"] for one in filter(was_run, comparison["variants"])] if case.name.endswith("trend") else [
        variant["train_targets"] / variant["parameters"]]
    text = int((case / "train_tokens").read_text(encoding="utf-8"))
    seeds = len(comparison["seeds"])
    print(f"\n## {comparison['title']}\n\n{variant['parameters'] / 1e6:.2f}M parameters, {'up to ' if len(trained) > 1 else ''}{tokens / 1e6:.1f}M tokens ({max(trained):.0f} a "
          f"parameter, {tokens / text:.1f} times the text), {seeds} seed{'s' if seeds > 1 else ''}{seeds_line(comparison)}; {devices_line(case, comparison)}.\n")
    rates_line(case)
    if case.name.endswith("trend"):
        trend_table(comparison)
        return
    count_from_reference(comparison)
    sources_line(comparison)
    first_lines(comparison)
    print(f"![perplexity against length]({case.name}/runs/perplexity.svg)\n")
    curves_table(case, comparison)
    patterns_line(comparison)
    gains_table(comparison)
    key_table(case, comparison)


def main(folder):
    print(f"""# Figure 1 at 20 tokens a parameter

Every method trains on the same tokens, in the same batches, with the same seeds, but not all on the same device: sections name them. A device alone
changed perplexity by 0.2 % (ALiBi) and 1.3 % (sinusoidal) at 512, by 0.3 and 3.9 % at 8,192 ([two runs](../../../tests/bench/RESULTS.md#on-a-cuda-device)). Each takes the best of the three or four learning rates tried: short trials with one seed, chosen on one half of the
held-out documents. All figures are of the other half. Arms that go on from others are exceptions, as their sections say. Intervals are of 95 %, over
the seeds that a section names. With two seeds, differences at 1x show both values; gains show the wide interval of two.

Press et al. 2021, on WikiText-103: trained at 128, ALiBi is 0.7 % behind sinusoidal; trained at 512, 1.6 % ahead. Here, trained at 512, sinusoidal is far behind
with 1.3M parameters and 26M tokens, and near after 84M tokens, both with as many parameters and with 4.2M; rotary is ahead, and with 4.2M level with ALiBi. What was tried
of sinusoidal's distance with 1.3M: more tokens (1.3M parameters, 84M tokens), a lower learning rate ("Other rates"; short trials chose one that is worse after all of the tokens; rotary, T5's bias, KERPLE's log and forget gates were trained on all of the tokens at no other),
other numbers of tokens at the trials' rate ("By tokens a parameter"), and more places of the text in a step ("each row drawn by itself").

`scripts/reproduce figure1-full` trains what is missing of `default`, and of `books` where these are unpacked, on a CPU or a GPU, and makes this page.
`CASES="default-128 default-1024 default-rows default-rows-40 default-trend default-004 default-84 default-larger"` before it takes those; the last sections have commands of their own. `default` alone
takes some ten hours on two cores (`--output results/mine`). Books are a collection of one's own (`scripts/unpack-books FOLDER`): those used here
cannot be downloaded.

To choose a method, read its usable length: "holds" says only that perplexity does not rise, also where longer context brings nothing. Usable length (over 1x): the
longest at which the loss is at most {USABLE:g} nats above its best, and longer context than that of training gains more than {LEAST_GAIN:g} nats, with an interval (over the text)
above 0; never less than the length of training. Median of the seeds (least .. most). "At least": it is the longest length that was measured. So at least 8,192 does
not say that all of 8,192 tokens help: [how far back text does](../README.md#does-alibi-use-the-longer-context). `alibi evaluate` prints a stricter one: each length must gain
that much over the usable length before it. Where gains are hardly above {LEAST_GAIN:g} nats (books), seeds of one method differ by all lengths.

Key tokens are chosen by another model, the judge, by the rule of LongPPL (Fang et al. 2024), which asks for 2 nats: small models gain less. Judges have 1.3M parameters
and rotary positions, and were trained on 2,048 tokens (`configs/reproduce/figure1-full/judge.json`): one for books, two for Python source (that of the first section, and that of the
others). One may favour rotary at 1x, and what another training of it would change is not in the intervals. The judge's short window is shorter than those of training, so not all key tokens need more than 1x; the last column of
these tables counts those in the later half of windows of both lengths. Rows of fewer seeds are compared with alibi of the same seeds.
""")
    print("Names: " + ", ".join(f"{name} is {TITLES[name]}" for name in ("forgetting", "kerple-log", "t5", "none", "window-sinks")) + ".")
    cases = [path.parent.parent for path in pathlib.Path(folder).glob("*/runs/comparison.json")]
    for case in sorted(cases, key=lambda case: (case.name != "default", case.name)):
        case_section(case)
    other_rates(pathlib.Path(folder))
    trained_shorter(pathlib.Path(folder))
    gradient_section(pathlib.Path(folder))
    heads_table(pathlib.Path(folder))
    waiting = [path.parent.parent for path in sorted(pathlib.Path(folder).glob("*/rates/comparison.json"))]
    waiting = [json.loads((case / "rates" / "comparison.json").read_text(encoding="utf-8"))["title"] for case in waiting if case not in cases]
    if waiting:
        print(f"\nOnly trials of learning rates are there yet: {'; '.join(waiting)}.")


if __name__ == "__main__":
    main(sys.argv[1])
