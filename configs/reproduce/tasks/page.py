"""Which method solves which task, at the trained length and beyond it: a page in Markdown.

usage: page.py FOLDER      holds TASK/comparison.json for each task that was run
"""
import math
import pathlib
import statistics
import sys

from answers import by_seed, measured_by, read_tasks, seeds_of, was_learned, was_run

FAR = 4  # methods are told apart at this multiple of the trained length
# Two-sided 95 % points of Student's t by degrees of freedom.
STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776}


def apart(mine, its):
    """Mean of the differences by seed, and the least and most that it may be; of one seed, only the first."""
    each = [mine[seed] - its[seed] for seed in sorted(mine.keys() & its.keys())]
    if len(each) < 2:
        return (each[0] if each else None), None, None
    mean, half = statistics.mean(each), STUDENT[len(each) - 1] * statistics.stdev(each) / math.sqrt(len(each))
    return mean, mean - half, mean + half


def differences(comparison, task, arms, length):
    """(better, worse, mean, low, high) of two arms each, the largest first."""
    what, found = measured_by(comparison, task, arms, length), []
    for i, first in enumerate(arms):
        for second in arms[i + 1:]:
            values = [by_seed(comparison, task, arm, length, what) for arm in (first, second)]
            better, worse = (first, second) if what == "share" else (second, first)
            mean, low, high = apart(*values)
            if mean is not None and mean < 0:
                better, worse = worse, better
                mean, low, high = apart(*reversed(values))
            if mean is not None:
                found.append((better, worse, mean, low, high))
    return sorted(found, key=lambda one: -one[2])


def over_seeds(values, text):
    values = list(values.values())
    if not values:
        return "-"
    ends = [text(end) for end in (min(values), max(values))]
    return text(statistics.mean(values)) + (f" ({ends[0]} .. {ends[1]})" if ends[0] != ends[1] else "")


def percent(share):
    return f"{100 * share:.0f} %"


def nats(loss):
    return f"{loss:.3f}" if loss < 0.1 else f"{loss:.2f}"


def of_differences(found, what):
    text = (lambda share: f"{100 * share:.0f}") if what == "share" else nats
    several = [one for one in found if one[3] is not None]
    if not several:
        return "; ".join(f"{better} ahead of {worse} by {text(mean)} (one seed)" for better, worse, mean, *_ in found)
    return "; ".join(f"{better} ahead of {worse} by {text(mean)} ({text(low)} .. {text(high)})"
                     for better, worse, mean, low, high in several if low > 0) or "none beyond noise"


def task_rows(folder, comparison, task, arms):
    """One task: `folder` is its comparison's."""
    points = comparison["tasks"][task]["variants"][0]["points"]
    first = points[0]["length"]
    unit = comparison["tasks"][task]["unit"]
    sizes = ", ".join(f"{point['length'] // first}x {point['size']:,.0f}" for point in points if point["size"] is not None)
    name = comparison["tasks"][task]["name"]
    print(f"\n### {name}\n\n![right answers of {name} against length]({folder.name}/task-{name}.svg)\n\n{unit.capitalize()}: {sizes}.\n")
    print("| method | " + " | ".join(f"{point['length'] // first}x" for point in points) + " |\n|---|" + "---|" * len(points))
    for arm in arms:
        cells = [f"{over_seeds(by_seed(comparison, task, arm, point['length'], 'share'), percent)}; "
                 f"{over_seeds(by_seed(comparison, task, arm, point['length'], 'loss'), nats)}" for point in points]
        print(f"| {arm} | " + " | ".join(cells) + " |")


def main(folder):
    found, missing = read_tasks(folder)
    sizes = [variant["parameters"] / 1e6 for one in found.values() for variant in one["variants"] if variant["parameters"]]
    print(f"""# Synthetic tasks that separate methods

Texts that `alibi prepare --task` makes, learned and asked: {min(sizes):.2f}M to {max(sizes):.2f}M parameters (the table of tokens differs), trained
on 8M tokens (flip-flop 4M) of texts that fit into the trained length (128 tokens; recall 256), asked at up to 16 times it. Every method at
the same learning rate, which is the only one that was tried, on the same texts, in the same order: one that is behind at 1x has learned
the task less well in these tokens, and its distance at 4x is not of length alone. `scripts/reproduce tasks` makes this page, and trains
what is missing; `configs/reproduce/tasks/tasks.toml` says what each task is trained on, [data](../../README.md#tasks) what it is. Intervals are of 95 %,
over seeds; losses stand in the table where no method has a tenth of the answers right.

| task | seeds | difference at {FAR}x | by |
|---|---|---|---|""")
    arms = {name: [variant["name"] for variant in one["variants"] if was_run(one, variant["name"])] for name, one in found.items()}
    for name, one in found.items():
        for task, asked in enumerate(one["tasks"]):
            length = FAR * asked["variants"][0]["points"][0]["length"]
            what = measured_by(one, task, arms[name], length)
            print(f"| {asked['name']} | {seeds_of(one)} | {of_differences(differences(one, task, arms[name], length), what)} | "
                  f"{'right answers, %' if what == 'share' else 'loss, nats per token'} |")
    unlearned = [name for name, one in found.items() if not was_learned(one)]
    if unlearned:
        print(f"\nNo method learned these in so few tokens (at 1x none has a tenth of the answers right): {', '.join(unlearned)}.")
    if missing:
        print(f"\nNot run yet: {', '.join(missing)}.")
    print("\n## Right answers and their loss\n\nShare of answers of which every token was the likeliest; loss in nats per token, each after the right ones. "
          "Means over\nseeds (least .. most) and, of needle, needles and lookup, over depths.")
    for name, one in found.items():
        for task in range(len(one["tasks"])):
            task_rows(folder / name, one, task, arms[name])


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
