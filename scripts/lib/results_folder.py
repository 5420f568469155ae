"""The README.md of a folder in data/results: its pictures and perplexities."""
import json
import os
import pathlib
import statistics

from curves import usable_as_measured, usable_as_printed  # of configs/reproduce, which callers have on their path
from paired import from_reference, ranged
from whole_file import write_whole

OWN_README = ("books", "train-short", "slopes", "one-pass", "retrofit", "complexity", "optimizers", "against-pytorch", "figure1-full", "tasks")  # written by hand, or by their scripts

ABOUT_SPEED = "cost"  # an experiment
COMMANDS = {"quickstart": "scripts/quickstart"}  # of experiments that scripts/reproduce does not know


def table(head, rows):
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ["---"] * len(head), *rows))


def verdict(found):
    """Who is ahead at the trained length and at the longest, from the reference's perplexity, in one sentence each."""
    text = ""
    variants = [variant for variant in found["variants"] if variant["parameters"]]
    reference = next((variant for variant in variants if variant["name"] == found["reference"]), None)
    if not reference or len(variants) < 2 or found["name"] == ABOUT_SPEED:
        return text
    for point in dict.fromkeys((reference["trained_length"], reference["points"][-1]["length"])):
        said = []
        for variant in variants:
            mine = next((one for one in variant["points"] if one["length"] == point), None)
            if variant is not reference and mine and mine["difference"] is not None:
                said.append((mine["difference"], f"{variant['name']} {from_reference(found, variant['name'], point)}"))
        if said:
            text += f"- At {point:,}, perplexity from that of {found['reference']}: {', '.join(one for _, one in sorted(said))}.\n"
    return text + "\n" if text else ""


def split_section(found):
    """What of the gain at the longest length is longer context, where it was measured."""
    rows = []
    for variant in found["variants"]:
        last = variant["points"][-1]
        if last["length"] > variant["trained_length"] and last.get("context_gain") is not None and last.get("early_gain") is not None:
            rows.append([variant["name"], *(ranged(*(last[key + end] for end in ("", "_low", "_high")), lambda nats: f"{nats:+.4f}") for key in ("early_gain", "context_gain"))])
    return (f"\nOf the gain at {found['variants'][0]['points'][-1]['length']:,} over the trained length, nats (longer context: of targets in the second half of their window of both lengths; "
            "fewer early tokens: the rest):\n\n") + table(["", "fewer early tokens", "longer context"], rows) if rows else ""


def context_reach(words):
    """"32", or "at least 64", of "at least 64 tokens"."""
    return words.removesuffix("s").removesuffix(" token")


def reach_section(found):
    """How far back context was shown to help, by seed."""
    rows = {}
    for run in found["runs"]:
        if run.get("useful_context"):
            rows.setdefault(run["variant"], []).append(context_reach(run["useful_context"]))
    return "\nUseful context (how far back context was shown to help), tokens, by seed:\n\n" + table(["", "tokens"], [[name, ", ".join(far)] for name, far in rows.items()]) if rows else ""


def speed_section(found):
    """Elsewhere runs lie hours apart."""
    if found["name"] != ABOUT_SPEED:
        return ""
    rows = []
    for variant in found["variants"]:
        speeds = [run["train_tokens_per_second"] for run in found["runs"] if run["variant"] == variant["name"] and not run["failure"]]
        if speeds:
            rows.append([variant["name"], ranged(statistics.median(speeds), min(speeds), max(speeds), lambda speed: f"{speed:,.0f}"), f"{variant['peak_memory_bytes'] / 2**20:.0f} MiB"])
    return "\nTraining, one run after another, not in turns:\n\n" + table(["", "tokens/s: median (least .. most)", "peak memory"], rows)


def sizes(variants):
    """Parameters and tokens, where all have about the same."""
    trained = [variant for variant in variants if variant["parameters"]]
    if not trained or max(variant["train_targets"] for variant in trained) > 1.01 * min(variant["train_targets"] for variant in trained):
        return ""
    first = trained[0]
    each = first["train_targets"] / first["parameters"]
    return f"{first['parameters'] / 1e6:.2g}M parameters ({first['name']}), {first['train_targets'] / 1e6:.2g}M tokens, {each:.{1 if each < 10 else 0}f} a parameter.\n\n"


def usable_of_text(curve):
    """With its interval over the text, by the rule that curves have now."""
    usable = usable_as_printed(curve)
    return ranged(*(usable[key] for key in ("tokens", "low", "high")), lambda tokens: f"{tokens:,}") if usable else "-"


def curves_section(folder, file, found):
    """Pictures of a comparison or a curve, and its perplexities by length."""
    compared = "variants" in found
    curves = found["variants"] if compared else found["curves"]
    place = os.path.dirname(file)
    pictures = sorted(name for name in os.listdir(os.path.join(folder, place)) if name.endswith(".svg"))[::-1]
    text = sizes(curves) + verdict(found) if compared else ""
    text += "".join(f"![{name[:-4]} against length]({os.path.join(place, name)})\n\n" for name in pictures)
    lengths = sorted({point["length"] for curve in curves for point in curve["points"]})
    measure = "bits_per_byte" if found.get("measure") == "bits_per_byte" else "perplexity"
    rows = []
    for curve in curves:
        values = {point["length"]: point[measure] for point in curve["points"] if point[measure] is not None}
        cells = [f"{values[length]:{'.1f' if values[length] >= 100 else '.2f'}}" if length in values else "-" for length in lengths]
        rows.append([curve["name"] or curve["position"], f"{curve['trained_length']:,}", *cells])
    usable = [usable_as_measured(found, curve["name"]) if compared else usable_of_text(curve) for curve in curves]
    heads = [f"{length:,}" for length in lengths]
    if any(length != "-" for length in usable):
        rows, heads = [[*row, length] for row, length in zip(rows, usable)], [*heads, f"usable length{' of the seeds: median (least .. most)' if compared else ''}"]
    seeds = len(found.get("seeds", [0]))
    means = f", means over {seeds} seeds" if seeds > 1 else ", one seed" if compared else ""
    text += table([f"{measure.replace('_', ' ')} at", "trained at", *heads], rows)
    text += f"\nColumns: tokens of context{means}. Intervals, losses, speed and memory: [{file}]({file}).\n"
    if compared:
        text += split_section(found) + reach_section(found) + speed_section(found) + costs_section(os.path.join(folder, place), found)
    return text


def costs_section(folder, found):
    """Key blocks that attention visited, and times of steps, where they were measured."""
    text, variants = "", found["variants"]
    lengths = sorted({point["length"] for variant in variants for point in variant["points"]})
    shares = [{point["length"]: point.get("visited_share") for point in variant["points"]} for variant in variants]
    if any(share is not None for one in shares for share in one.values()):
        cells = [[variant["name"], *("-" if one.get(length) is None else f"{100 * one[length]:.1f} %" for length in lengths)]
                 for variant, one in zip(variants, shares)]
        text += "\nOf the blocks of 64 keys up to a query's own, those that attention visited:\n\n"
        text += table(["blocks visited at", *(f"{length:,}" for length in lengths)], cells)
    steps = os.path.join(folder, "steps.json")
    if os.path.exists(steps):
        with open(steps, encoding="utf-8") as content:
            measured = json.load(content)
        seconds = measured["seconds"]
        base = seconds[found["reference"]]
        rows = [[name, ranged(statistics.median(rounds), min(rounds), max(rounds), lambda seconds: f"{seconds:.3f}"),
                 f"{statistics.median(mine / other for mine, other in zip(rounds, base)):.2f}"]
                for name, rounds in ((variant["name"], seconds[variant["name"]]) for variant in variants)]
        text += f"\nA training step on {measured['processor']}, {len(base)} rounds in turns:\n\n"
        text += table(["variant", "seconds: median (least .. most)", f"of {found['reference']}'s, by round"], rows)
    return text


def answers_section(_folder, file, found):
    """Shares of answers that are right, over all depths."""
    rows = []
    lengths = sorted({cell["length"] for result in found["results"] for cell in result["cells"]})
    for result in found["results"]:
        shares = {}
        for cell in result["cells"]:
            if not cell["note"]:
                shares.setdefault(cell["length"], []).append(cell["share"])
        cells = [cell for cell in result["cells"] if not cell["note"] and cell.get("gain_low") is not None]
        above = f"{sum(cell['gain_low'] > 0 for cell in cells)} of {len(cells)}" if cells else "-"
        rows.append([result["name"], above, *(f"{100 * sum(shares[length]) / len(shares[length]):.0f} %" if length in shares else "-" for length in lengths)])
    text = table([f"{found['task']}: answers that are right at", "cells where it tells the right answer from another", *(f"{length:,}" for length in lengths)], rows)
    return text + f"\nTokens of context; over all depths; a cell is a length and a depth. All cells ask for the same keys, so they do not count as so many trials. By depth, gains and intervals: [{file}]({file}).\n"


SECTIONS = {"comparison.json": curves_section, "curve.json": curves_section, "answers.json": answers_section}


def folder_page(results, name, what):
    """Pictures and figures of all that an experiment measured."""
    folder = os.path.join(results, name)
    text = f"# {what[0].upper() + what[1:]}\n\n`{COMMANDS.get(name, f'scripts/reproduce {name}')}` measures this again and writes a page with all figures.\n"
    if name != ABOUT_SPEED and os.path.exists(os.path.join(folder, "comparison.json")):
        text += "All variants train at one learning rate; no other was tried, and it may suit some variants better than others.\n"
    for place, below, names in os.walk(folder):
        below[:] = sorted(set(below) - {"measured"})  # single runs, from which a comparison goes on
        for name_of_file in sorted(SECTIONS.keys() & names):
            path = os.path.join(place, name_of_file)
            file = os.path.relpath(path, folder)
            with open(path, encoding="utf-8") as content:
                section = SECTIONS[name_of_file](folder, file, json.load(content))
            heading = f"## {os.path.dirname(file)}\n\n" if "/" in file else ""
            text += f"\n{heading}{section}"
    return text


def finished(results, name):
    """Whether an experiment has its results there: a page of its own comes last."""
    folder = os.path.join(results, name)
    return os.path.exists(os.path.join(folder, "README.md")) if name in OWN_README else os.path.isdir(folder)


def folder_pages(results, folders):
    for name, what in folders:
        if name not in OWN_README and finished(results, name):
            yield os.path.join(name, "README.md"), folder_page(results, name, what)


def put(results, pages, only_check, no_longer=()):
    """Writes each (name, text) and removes the files that are drawn no longer, or says which file is not what it would be; the exit code."""
    stale = 0
    for file in no_longer:
        if not only_check:
            os.remove(file)
        else:
            print(f"results-page: {file} is drawn no longer: run scripts/results-page")
            stale = 1
    for name, text in pages:
        file = os.path.join(results, name)
        if not only_check:
            os.makedirs(os.path.dirname(file), exist_ok=True)
            write_whole(file, text)
        elif not os.path.exists(file) or pathlib.Path(file).read_text(encoding="utf-8") != text:
            print(f"results-page: {file} is out of date: run scripts/results-page")
            stale = 1
    if not stale:
        print("results-page:", "as they would be written" if only_check else f"wrote the pages of {results}")
    return stale
