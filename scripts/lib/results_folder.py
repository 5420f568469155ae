"""The README.md of a folder in data/results: its pictures and perplexities."""
import json
import os
import statistics

OWN_README = ("books", "figure1", "train-short", "slopes", "one-pass", "retrofit", "complexity", "optimizers", "against-pytorch", "figure1-full", "tasks")  # written by hand, or by their scripts


def table(head, rows):
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ["---"] * len(head), *rows))


def curves_section(folder, file, found):
    """Pictures of a comparison or a curve, and its perplexities by length."""
    compared = "variants" in found
    curves = found["variants"] if compared else found["curves"]
    place = os.path.dirname(file)
    pictures = sorted(name for name in os.listdir(os.path.join(folder, place)) if name.endswith(".svg"))[::-1]
    text = "".join(f"![{name[:-4]} against length]({os.path.join(place, name)})\n\n" for name in pictures)
    lengths = sorted({point["length"] for curve in curves for point in curve["points"]})
    measure = "bits_per_byte" if found.get("measure") == "bits_per_byte" else "perplexity"
    rows = []
    for curve in curves:
        values = {point["length"]: point[measure] for point in curve["points"] if point[measure] is not None}
        cells = [f"{values[length]:{'.1f' if values[length] >= 100 else '.2f'}}" if length in values else "-" for length in lengths]
        rows.append([curve["name"] or curve["position"], f"{curve['trained_length']:,}", *cells])
    seeds = len(found.get("seeds", [0]))
    means = f", means over {seeds} seeds" if seeds > 1 else ", one seed" if compared else ""
    text += table([f"{measure.replace('_', ' ')} at", "trained at", *(f"{length:,}" for length in lengths)], rows)
    text += f"\nTokens of context{means}. Intervals, losses, speed and memory: [{file}]({file}).\n"
    return text + (costs_section(os.path.join(folder, place), found) if compared else "")


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
        rows = [[name, f"{statistics.median(rounds):.3f} ({min(rounds):.3f} .. {max(rounds):.3f})",
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
        rows.append([result["name"], *(f"{100 * sum(shares[length]) / len(shares[length]):.0f} %" if length in shares else "-" for length in lengths)])
    text = table([f"{found['task']}: answers that are right at", *(f"{length:,}" for length in lengths)], rows)
    return text + f"\nTokens of context; over all depths. By depth, gains and intervals: [{file}]({file}).\n"


SECTIONS = {"comparison.json": curves_section, "curve.json": curves_section, "answers.json": answers_section}


def folder_page(results, name, what):
    """Pictures and figures of all that an experiment measured."""
    folder = os.path.join(results, name)
    text = f"# {what[0].upper() + what[1:]}\n\n`scripts/reproduce {name}` measures this again and writes a page with all figures.\n"
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


def put(results, pages, only_check):
    """Writes each (name, text), or says which file is not what would be written; the exit code."""
    stale = 0
    for name, text in pages:
        file = os.path.join(results, name)
        if not only_check:
            with open(file, "w", encoding="utf-8") as out:
                out.write(text)
        elif not os.path.exists(file) or open(file, encoding="utf-8").read() != text:
            print(f"results-page: {file} is out of date: run scripts/results-page")
            stale = 1
    if not stale:
        print("results-page:", "as they would be written" if only_check else f"wrote the pages of {results}")
    return stale
