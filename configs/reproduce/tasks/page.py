"""Which method solves which task, at the trained length and beyond it: a page in Markdown.

usage: page.py FOLDER      holds TASK/comparison.json for each task that was run
"""
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from answers import (FAR, GUESSED, GUESSED_LOSS, LEARNED, TIMES, arms_of, guessed, by_depth, by_seed, differences, knows, leaders, learned_by_all, learned_by, measured_by, planned, planned_arms, read_tasks, shown, told_apart,  # noqa: E402
                     trained_length, was_learned)
from curves import TITLES  # noqa: E402
from paired import ranged  # noqa: E402


def over_seeds(values, text):
    values = list(values.values())
    if not values:
        return "-"
    least, most = min(values), max(values)
    return ranged(statistics.mean(values), least if text(least) != text(most) else None, most, text)


def percent(share):
    return f"{100 * share:.0f} %"


def nats(loss):
    return f"{loss:.3f}" if loss < 0.1 else f"{loss:.2f}"


def of_differences(found, what):
    text = (lambda share: f"{100 * share:.0f}") if what == "share" else nats
    ahead = {}
    for better, worse, mean, low, high in found:
        if low is not None and low > 0:
            ahead.setdefault(better, []).append(f"{TITLES[worse]} {ranged(mean, low, high, text)}")
    return "; ".join(f"{TITLES[better]} ahead of {', '.join(others)}" for better, others in ahead.items()) or "no difference beyond noise"


def task_rows(folder, comparison, task, arms):
    """One task: `folder` is its comparison's."""
    points = comparison["tasks"][task]["variants"][0]["points"]
    first = points[0]["length"]
    unit = comparison["tasks"][task]["unit"]
    sizes = ", ".join(f"{point['length'] // first}x {point['size']:,.0f}" for point in points if point["size"] is not None)
    name = comparison["tasks"][task]["name"]
    asked = "Other sentences fill each length." if unit == "documents" else f"{unit.capitalize()}: {sizes}."
    print(f"\n### {name}\n\n![right answers of {name} against length]({folder.name}/task-{name}.svg)\n\n{asked}{trained_note(folder.name, first)}{keys_note(name, points)}\n")
    print("| method | " + " | ".join(f"{point['length'] // first}x" for point in points) + " |\n|---|" + "---|" * len(points))
    for arm in arms:
        cells = [f"{over_seeds(by_seed(comparison, task, arm, point['length'], 'share'), percent)}; "
                 f"{over_seeds(by_seed(comparison, task, arm, point['length'], 'loss'), nats)}" for point in points]
        print(f"| {TITLES[arm]} | " + " | ".join(cells) + " |")
    if by_depth(comparison, task, arms[0], first):
        depth_rows(comparison, task, arms, [point["length"] for point in points])


def largest_trained(task):
    return max(int(part["options"].split()[1].split(",")[1]) for part in planned()["tasks"][task]["parts"])


def beyond_training(found):
    """Tasks of which 1x asks larger texts than training had."""
    for name, one in found.items():
        first = one["tasks"][0]["variants"][0]["points"][0]
        unit = one["tasks"][0]["unit"]
        if unit != "documents" and first["size"] is not None and planned()["tasks"][name]["sequence_length"] == trained_length(one) and first["size"] > largest_trained(name):
            yield f"{name} {first['size']:.0f} {unit} (training up to {largest_trained(name)})"


def trained_note(task, length):
    """The largest size of training, which the sizes asked at 1x may exceed: they fill the trained length."""
    rules = planned()["tasks"][task]
    if rules["sequence_length"] != length:
        return " Of earlier rules than those of tasks.toml."
    return f" In training up to {largest_trained(task)}."


def keys_note(name, points):
    """Of recall: src/text/tasks.cc."""
    longer = [point["length"] // points[0]["length"] for point in points if point["size"] is not None and point["size"] > 200]
    return f" Above 200 pairs keys have three letters in place of two, which training had not: {', '.join(f'{one}x' for one in longer)}." if name.startswith("recall") and longer else ""


def depth_rows(comparison, task, arms, lengths):
    asked = [length for length in lengths if length // lengths[0] in (FAR, lengths[-1] // lengths[0])]
    depths = list(by_depth(comparison, task, arms[0], lengths[0]))
    heads = [f"{length // lengths[0]}x, depth {depth:g}" if depth == depths[0] else f"{depth:g}" for length in asked for depth in depths]
    print("\nRight answers in %, by depth (0: as far from the question as can be; 1: just before it):\n\n| method | " + " | ".join(heads) + " |\n|---|" + "---|" * len(heads))
    for arm in arms:
        cells = [f"{100 * share:.0f}" for length in asked for share in by_depth(comparison, task, arm, length).values()]
        print(f"| {TITLES[arm]} | " + " | ".join(cells) + " |")


def seeds_text(comparison, arms):
    """How many, and of which arms there are fewer."""
    each = {arm: len(by_seed(comparison, 0, arm, trained_length(comparison), "loss")) for arm in arms}
    most = max(each.values())
    fewer = [f"{TITLES[arm]} {count}" for arm, count in each.items() if count < most]
    return f"{most} seed{'s' if most > 1 else ''}" + (f"; {', '.join(fewer)}" if fewer else "")


def first_table(found, arms):
    """Right answers at FAR times the trained length and at it, of the tasks themselves: not what is asked beside them."""
    methods = planned_arms()
    print(f"| task | seeds | {' | '.join(TITLES[arm] for arm in methods)} |\n|---|---|{'---|' * len(methods)}")
    for name, one in found.items():
        cells = [cell(one, arm, leaders(one, arms[name])) for arm in methods]
        print(f"| {name} | {seeds_text(one, arms[name])} | {' | '.join(cells)} |")


def cell(comparison, arm, first):
    shares = [by_seed(comparison, 0, arm, times * trained_length(comparison), "share") for times in (FAR, 1)]
    if not any(shares):
        return "-"
    far, near = (percent(statistics.mean(each.values())) for each in shares)
    best = max((statistics.mean(by_seed(comparison, 0, other, FAR * trained_length(comparison), "share").values()) for other in first), default=0)
    mark = "" if arm not in first else "**" if far == percent(best) else "_"
    learned, seeds = learned_by(comparison, arm)
    some = "" if learned == seeds else f"; learned by {learned} of {seeds}"
    return f"{mark}{far}{mark} ({near}{some})"


def separations(found, arms):
    """Of each task: whether a method is ahead of another beyond noise, or why none is."""
    lines = []
    for name, one in found.items():
        length = FAR * trained_length(one)
        what, told = told_apart(one, 0, arms[name], length)
        ahead = shown(told)
        if not was_learned(one):
            said = f"no method knows it; {millions(trained_tokens(one))} tokens were tried"
        elif not has_pairs(one, arms[name]):
            said = "not known: no two methods have two seeds in common"
        elif ahead:
            said = how_apart(one, what, ahead)
        else:
            said = (f"no: at {FAR}x no difference is beyond noise, right answers or their loss" + (", or only of methods that lose more than by guessing" if name in GUESSED_LOSS else "")
                    + f"; right at 1x, in %, by seed: {by_seeds(one, arms[name])}; more tokens and other rates were not tried")
        lines.append(f"- {name}: {said}.{farther(one, arms[name])}")
    return "\n".join(lines)


def has_pairs(comparison, arms):
    """Whether two methods have two seeds in common."""
    seeds = [by_seed(comparison, 0, arm, trained_length(comparison), "loss").keys() for arm in arms]
    return any(len(mine & its) > 1 for i, mine in enumerate(seeds) for its in seeds[i + 1:])


def how_apart(comparison, what, ahead):
    """The pairs of methods that are told apart: how many, the widest, and whether every seed has learned the task with both."""
    better, worse, mean, *_ = ahead[0]
    unit = f"{100 * mean:.0f} points" if what == "share" else f"{nats(mean)} nats of the answer's loss"
    said = f"yes{'' if what == 'share' else ', by the loss of answers, not by right ones'}: {len(ahead)} pair{'s' if len(ahead) > 1 else ''} of methods, most {TITLES[better]} from {TITLES[worse]}: by {unit}"
    both = sum(learned_by_all(comparison, each[0]) and learned_by_all(comparison, each[1]) for each in ahead)
    if all(learned_by_all(comparison, each[0]) and not learned_by_all(comparison, each[1]) for each in ahead):
        said += ", but only from methods that not every seed has learned at 1x"
    elif both == 0:
        said += ", none of them between two methods that every seed has learned at 1x"
    elif both < len(ahead):
        said += f"; {both} of them between methods that every seed has learned at 1x"
    return said


def farther(comparison, arms):
    """Pairs of methods that every seed has learned and that only longer texts tell apart."""
    both = [arm for arm in arms if learned_by_all(comparison, arm)]

    def ahead_at(times):
        return {(better, worse): (mean, low, high) for better, worse, mean, low, high in differences(comparison, 0, both, times * trained_length(comparison))
                if low is not None and low > 0 and knows(comparison, better, times)}

    def points(pair, of):
        return f"{TITLES[pair[0]]} from {TITLES[pair[1]]} {ranged(*of, lambda share: f'{100 * share:.0f}')}"

    near, said = ahead_at(FAR), []
    for times in TIMES:
        found = {pair: of for pair, of in ahead_at(times).items() if pair not in near} if times > FAR else {}
        if found and measured_by(comparison, 0, both, times * trained_length(comparison)) == "share":
            said.append(f"at {times}x {', '.join(points(pair, of) for pair, of in found.items())}")
    return f" Only farther off, of those that every seed has learned, in points: {'; '.join(said)}." if said else ""


def by_seeds(comparison, arms):
    return ", ".join(f"{TITLES[arm]} {of_seeds(comparison, arm)}" for arm in arms if knows(comparison, arm)) or "no method more than by guessing"


def of_seeds(comparison, arm):
    return " / ".join(f"{100 * share:.0f}" for share in by_seed(comparison, 0, arm, trained_length(comparison), "share").values())


def by_distance(found, arms):
    """Right answers to what is farthest from the question and to what is nearest, where a task asks at several depths."""
    for name, one in found.items():
        depths = {arm: by_depth(one, 0, arm, FAR * trained_length(one)) for arm in arms[name]}
        if any(depths.values()):
            yield f"{name} " + ", ".join(f"{TITLES[arm]} {100 * of[min(of)]:.0f} / {100 * of[max(of)]:.0f}" for arm, of in depths.items())


def as_many_pairs(comparison, arms):
    """Recall asks more pairs in longer texts; with idle words among them as many in texts twice as long."""
    plain, few = (task["variants"][0]["points"] for task in comparison["tasks"][:2])
    for near, far in ((one, two) for one in plain for two in few if one["size"] and two["size"] and two["length"] == 2 * one["length"] and one["size"] < 200):
        if abs(near["size"] - far["size"]) < 2 and far["length"] == FAR * plain[0]["length"]:
            said = [f"{TITLES[arm]} {percent(statistics.mean(by_seed(comparison, 0, arm, near['length'], 'share').values()))} and "
                    f"{percent(statistics.mean(by_seed(comparison, 1, arm, far['length'], 'share').values()))}" for arm in arms]
            yield (f"{near['size']:.0f} pairs at {near['length'] // plain[0]['length']}x and, among idle words, at {FAR}x, right answers: {', '.join(said)}.")


def list_of(values, text):
    """{name: value} as "8 (flip_flop 4)": the most frequent first, all others by name."""
    usual = statistics.mode(map(text, values.values()))
    others = [f"{name} {text(value)}" for name, value in values.items() if text(value) != usual]
    return usual + (f" ({', '.join(others)})" if others else "")


def trained_tokens(comparison):
    return max(variant["train_targets"] for variant in comparison["variants"])


def millions(tokens):
    return f"{round(tokens / 1e6, 1):g}M"


def main(folder):
    found, missing = read_tasks(folder)
    for name in [name for name, one in found.items() if not arms_of(one)]:
        missing.append(name)
        del found[name]
    if not found:
        print(f"# Synthetic tasks\n\nNot run yet: {', '.join(missing)}.")
        return
    sizes = [variant["parameters"] / 1e6 for one in found.values() for variant in one["variants"] if variant["parameters"]]
    arms = {name: arms_of(one) for name, one in found.items()}
    learned = {name: one for name, one in found.items() if was_learned(one)}
    print(f"# Synthetic tasks\n\nRight answers at {FAR} times the trained length, and in brackets at it (1x). Bold: the best.\n"
          "Italics: not shown to be behind it (with three seeds a difference of 40 points may not be shown). Not marked: methods that do not know the task (at\n"
          f"1x less than {percent(LEARNED)} of the way from guessing to all right), and tasks that no method has learned with every seed or where one has a single seed.\n")
    first_table(learned, arms)
    print(f"""
- recall_few_pairs: half of recall's pairs, idle words between them; flip_flop_rare and flip_flop_dense: 98 % and 10 % of instructions to be ignored, in training and flip_flop 80 %.
- 1x is the trained length, filled with the task: {'; '.join(beyond_training(found)) or 'no more than training had'}.
- Learned: more right at 1x than halfway from guessing to all. The answers of others at {FAR}x say little about length.
- Right without finding what is asked for: {', '.join(f'{percent(share)} of {name}' for name, share in GUESSED.items())}, {percent(guessed(found['recall'], 0, trained_length(found['recall']))) + ' of recall at 1x' if 'recall' in found else 'some of recall'}
  (by the bit seen last; by the last letter or number, which is the answer at the last of five depths; by a value not named yet); of the others hardly any.
- Right answers in % at {FAR}x to what is farthest from the question / nearest to it: {'; '.join(by_distance(learned, arms)) or 'not asked'}.

`alibi prepare --task` writes the texts. Models have {min(sizes):.2f}M to {max(sizes):.2f}M parameters (vocabularies differ). They train on
{list_of({name: trained_tokens(one) for name, one in found.items()}, millions)} tokens, on texts that fit into the trained length of {list_of({name: trained_length(one) for name, one in found.items()}, str)} tokens, and are asked at up to 16 times that length.
All methods train on the same texts in the same order, at one learning rate; no other was tried, nor sinusoidal positions, YaRN or NTK. Where a figure has no interval, brackets
hold the least and the most of the seeds. `scripts/reproduce tasks` trains what is missing and makes this page; `configs/reproduce/tasks/tasks.toml` says what each task trains on, [data](../../README.md#tasks) what it asks.

## Does it separate methods at {FAR}x?

{separations(found, arms)}

## Differences beyond noise

Intervals are of 95 % over the seeds that both have, not cut at 0 and 100 %; of one seed there is none. Right answers are compared where the better
method knows the task at {FAR}x; losses where no method has more right than by guessing, or where right answers show nothing. By its loss a method is ahead only
where it knows the task at 1x and loses less than by guessing (copy, lookup: {GUESSED_LOSS['copy']:.2f} nats). With up to 15 pairs a task,
some of these differences are there by chance: no correction is made for their number.

| task | seeds | difference at {FAR}x | by |
|---|---|---|---|""")
    for name, one in found.items():
        for task, asked in enumerate(one["tasks"]):
            length = FAR * trained_length(one)
            what, found_here = told_apart(one, task, arms[name], length)
            print(f"| {asked['name']}{'' if was_learned(one) else ', not learned'} | {seeds_text(one, arms[name])} | {of_differences(found_here, what) if has_pairs(one, arms[name]) else 'one seed'} | "
                  f"{'right answers, %' if what == 'share' else 'loss, nats per token'} |")
    unlearned = [name for name in found if name not in learned]
    if unlearned:
        print(f"\nNo method knows {', '.join(unlearned)}: at 1x none has more right than by guessing; more tokens were not tried.")
    if "recall" in found and len(found["recall"]["tasks"]) > 1:
        for line in as_many_pairs(found["recall"], arms["recall"]):
            print(f"\nA longer text of recall also holds more pairs. With as many: {line}")
    if missing:
        print(f"\nNot run yet: {', '.join(missing)}.")
    unrun = {name: [arm for arm in planned_arms() if arm not in arms[name]] for name in found}
    for waiting in dict.fromkeys(map(tuple, filter(None, unrun.values()))):
        print(f"\nNot run yet, of {', '.join(name for name, of in unrun.items() if tuple(of) == waiting)}: {', '.join(TITLES[arm] for arm in waiting)}.")
    print("\n## Right answers and their loss\n\nShare of exact answers with greedy decoding; loss of the true answer in nats per token. Means over seeds (least .. most), "
          "of needle,\nneedles, passkey and lookup over depths, too.")
    for name, one in found.items():
        for task in range(len(one["tasks"])):
            task_rows(folder / name, one, task, arms[name])


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
