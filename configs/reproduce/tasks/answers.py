"""What the comparisons of tasks found."""
import json
import math
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from paired import differences_of, interval  # noqa: E402

LEARNED = 0.1  # of the way from guessing to all right: a method that is there knows a task
# Share of right answers without finding what is asked for, where it is not nearly 0: by the bit seen last (simulated), and of five depths all at the
# last, where the answer is the last letter or number.
GUESSED = {"flip_flop": 0.61, "flip_flop_rare": 0.52, "flip_flop_dense": 0.95, "lookup": 1 / 5 + 4 / 5 / 26, "needles": 1 / 5}
GUESSED_LOSS = {"copy": math.log(26) / 2, "lookup": math.log(26) / 2}  # nats a token of an answer whose letters, each of two tokens, may be any
FAR = 4        # methods are told apart at this multiple of the trained length
TIMES = (1, 2, 4, 8, 16)  # what is asked


def planned():
    import tomllib  # of Python 3.11
    return tomllib.loads((HERE / "tasks.toml").read_text(encoding="utf-8"))


def planned_arms():
    return list(planned()["arms"])


def read_tasks(folder):
    """{task: its comparison}, and the tasks of tasks.toml that FOLDER/TASK/comparison.json is missing of."""
    tasks = planned()["tasks"]
    files = {name: pathlib.Path(folder) / name / "comparison.json" for name in tasks}
    found = {name: json.loads(file.read_text(encoding="utf-8")) for name, file in files.items() if file.exists()}
    return found, [name for name in tasks if name not in found]


def seeds_of(comparison):
    return len({run["seed"] for run in comparison["runs"] if not run["failure"]})


def arms_of(comparison):
    """Those of which a run did not fail."""
    done = {run["variant"] for run in comparison["runs"] if not run["failure"]}
    return [variant["name"] for variant in comparison["variants"] if variant["name"] in done]


def by_seed(comparison, task, arm, length, what):
    """{seed: mean over depths} of "share" or "loss"; `task` counts as in comparison["tasks"]."""
    found = {}
    for run in comparison["runs"]:
        if run["variant"] == arm and not run["failure"]:
            cells = [cell[what] for cell in run["answers"][task]["cells"] if cell["length"] == length and cell[what] is not None]
            if cells:
                found[run["seed"]] = statistics.mean(cells)
    return found


def by_depth(comparison, task, arm, length):
    """{depth: share of right answers, mean over seeds}; 0 is farthest from the question. Empty where a task asks at none."""
    shares = {}
    for run in comparison["runs"]:
        if run["variant"] == arm and not run["failure"]:
            for cell in run["answers"][task]["cells"]:
                if cell["length"] == length and cell["depth"] is not None and cell["share"] is not None:
                    shares.setdefault(cell["depth"], []).append(cell["share"])
    return {depth: statistics.mean(values) for depth, values in sorted(shares.items())}


def guessed(comparison, task, length):
    """Share of right answers without finding what is asked for. Recall asks every key once: one of the values that were not named yet is right, in the mean, H(n) / n times of n pairs."""
    name = comparison["tasks"][task]["name"]
    if name.startswith("recall"):
        pairs = next((round(point["size"]) for point in comparison["tasks"][task]["variants"][0]["points"] if point["length"] == length and point["size"]), None)
        return sum(1 / k for k in range(1, pairs + 1)) / pairs if pairs else 0
    return GUESSED.get(name, 0)


def share_of(way, guesses):
    return guesses + way * (1 - guesses)


def measured_by(comparison, task, arms, length):
    """What tells methods apart: right answers, or their loss where no method has more of them than by guessing."""
    most = max((statistics.mean(shares.values()) for arm in arms if (shares := by_seed(comparison, task, arm, length, "share"))), default=0)
    return "share" if most >= share_of(LEARNED, guessed(comparison, task, length)) else "loss"


def was_learned(comparison):
    """Whether a method has right answers to the task itself at the trained length."""
    return measured_by(comparison, 0, arms_of(comparison), trained_length(comparison)) == "share"


def trained_length(comparison):
    return comparison["tasks"][0]["variants"][0]["points"][0]["length"]


def learned_by(comparison, arm):
    """(How many seeds have more right answers to the task itself, at the trained length, than halfway from guessing to all, how many there are)."""
    least = share_of(1 / 2, guessed(comparison, 0, trained_length(comparison)))
    shares = by_seed(comparison, 0, arm, trained_length(comparison), "share").values()
    return sum(share >= least for share in shares), len(shares)


def learned_by_all(comparison, arm):
    learned, seeds = learned_by(comparison, arm)
    return 0 < seeds == learned


def knows(comparison, arm, times=1):
    """Whether more answers to the task itself are right at that multiple of the trained length than by guessing, by LEARNED."""
    length = times * trained_length(comparison)
    shares = by_seed(comparison, 0, arm, length, "share")
    return bool(shares) and statistics.mean(shares.values()) >= share_of(LEARNED, guessed(comparison, 0, length))


def differences(comparison, task, arms, length, what=None):
    """(better, worse, mean, low, high) of two arms each, by the seeds that both have, the largest first; low and high are None of one seed. Two arms of
    which neither knows the task are not compared; by its loss the better one must know it, and lose less than by guessing."""
    what, found = what or measured_by(comparison, task, arms, length), []
    for i, first in enumerate(arms):
        for second in arms[i + 1:]:
            if what == "share" and not knows(comparison, first) and not knows(comparison, second):
                continue
            values = [by_seed(comparison, task, arm, length, what) for arm in (first, second)]
            better, worse = (first, second) if what == "share" else (second, first)
            mean, low, high = interval(differences_of(*values))
            if mean is not None and mean < 0:
                better, worse = worse, better
                mean, low, high = interval(differences_of(*reversed(values)))
            if mean is not None and not (what == "loss" and only_guesses(comparison, task, better, length)):
                found.append((better, worse, mean, low, high))
    return sorted(found, key=lambda one: -one[2])


def only_guesses(comparison, task, arm, length):
    """Whether it does not know the task at the trained length, or the answer's loss is not below that of guessing, where that is known."""
    if not knows(comparison, arm):
        return True
    loss = statistics.mean(by_seed(comparison, task, arm, length, "loss").values())
    return loss >= GUESSED_LOSS.get(comparison["tasks"][task]["name"], math.inf)


def shown(differences_found):
    """Those of which the interval is above 0."""
    return [one for one in differences_found if one[3] is not None and one[3] > 0]


def told_apart(comparison, task, arms, length):
    """(What tells methods apart, its differences): right answers of methods that know the task there, or the loss of answers where these show nothing."""
    what = measured_by(comparison, task, arms, length)
    found = differences(comparison, task, arms, length)
    if what == "share":
        found = [each for each in found if knows(comparison, each[0], length // trained_length(comparison))]
        if not shown(found) and shown(by_loss := differences(comparison, task, arms, length, "loss")):
            return "loss", by_loss
    return what, found


def leaders(comparison, arms, times=FAR):
    """Of the task itself at that multiple of the trained length: the arms that know it and that no other is ahead of beyond noise; none where hardly an answer is
    right, where no arm has learned it with every seed, or where fewer than two seeds of an arm were run."""
    length = times * trained_length(comparison)
    if not any(learned_by_all(comparison, arm) for arm in arms) or measured_by(comparison, 0, arms, length) != "share" or any(len(by_seed(comparison, 0, arm, length, "share")) < 2 for arm in arms):
        return []
    behind = {worse for _, worse, _, low, _ in differences(comparison, 0, arms, length) if low is not None and low > 0}
    return [arm for arm in arms if arm not in behind and knows(comparison, arm)]
