"""What the comparisons of tasks found."""
import json
import pathlib
import statistics

HERE = pathlib.Path(__file__).resolve().parent
LEARNED = 0.1  # share of right answers


def read_tasks(folder):
    """{task: its comparison}, and the tasks of tasks.toml that FOLDER/TASK/comparison.json is missing of."""
    import tomllib  # of Python 3.11
    tasks = tomllib.loads((HERE / "tasks.toml").read_text(encoding="utf-8"))["tasks"]
    files = {name: pathlib.Path(folder) / name / "comparison.json" for name in tasks}
    found = {name: json.loads(file.read_text(encoding="utf-8")) for name, file in files.items() if file.exists()}
    return found, [name for name in tasks if name not in found]


def texts_asked():
    """At each length and depth."""
    import tomllib  # of Python 3.11
    return tomllib.loads((HERE / "tasks.toml").read_text(encoding="utf-8"))["trials"]


def seeds_of(comparison):
    return len({run["seed"] for run in comparison["runs"] if not run["failure"]})


def was_run(comparison, arm):
    return any(run["variant"] == arm and not run["failure"] for run in comparison["runs"])


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


def measured_by(comparison, task, arms, length):
    """What tells methods apart: right answers, or their loss where hardly any is right."""
    most = max((statistics.mean(shares.values()) for arm in arms if (shares := by_seed(comparison, task, arm, length, "share"))), default=0)
    return "share" if most >= LEARNED else "loss"


def was_learned(comparison):
    """Whether a method has right answers to the task itself at the trained length."""
    arms = [variant["name"] for variant in comparison["variants"] if was_run(comparison, variant["name"])]
    return measured_by(comparison, 0, arms, comparison["tasks"][0]["variants"][0]["points"][0]["length"]) == "share"
