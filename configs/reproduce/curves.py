"""What a variant's points in comparison.json, and the curves kept of its runs, say about length."""
import json
import pathlib
import statistics

# Methods as pages call them.
TITLES = {"alibi": "ALiBi", "rotary": "rotary", "rotary-ntk": "rotary with NTK", "rotary-yarn": "rotary with YaRN", "none": "no positions", "forgetting": "forget gates",
          "kerple-log": "KERPLE's log", "kerple_log": "KERPLE's log", "t5": "T5's bias", "fire": "FIRE", "bam": "BAM", "sandwich": "Sandwich", "hard-alibi": "hard ALiBi",
          "window-sinks": "ALiBi in windows of 256 keys with 4 sinks"}
HOLDS = 0.01   # a method holds up to the longest length at which its perplexity is at most this share above that at 1x, as at all before
LEVEL = 0.02   # nats between methods of one seed that are called level: about the standard deviation of such a difference over seeds (rotary from ALiBi, figure1-full)
USABLE = 0.01  # nats above the best loss, at most
LEAST_GAIN = 0.001  # nats that longer context brings


def beyond(variant):
    return [point for point in variant["points"] if point["length"] >= variant["trained_length"]]


def only_measured_otherwise(variant):
    """Whether it is another arm's model, which is the same at 1x."""
    return "stretch" in variant["changes"].get("evaluate", {})


def lowest_by_budget(comparison):
    """[(tokens a parameter, the methods with the lowest loss, at most LEVEL apart)] of the budgets that every method has run."""
    methods = {variant["name"].rsplit("-", 1)[0] for variant in comparison["variants"]}
    budgets = [(tokens, {method: point["loss"] for method, point in points.items()}) for tokens, points in by_budget(comparison) if len(points) == len(methods)]
    return [(tokens, " and ".join(method for method, loss in losses.items() if loss <= min(losses.values()) + LEVEL)) for tokens, losses in budgets]


def by_budget(comparison):
    """[(tokens a parameter, {method: point at 1x})] of variants METHOD-SHARE, least first; those that were not run are left out."""
    budgets = {}
    for variant in comparison["variants"]:
        method, share = variant["name"].rsplit("-", 1)
        if variant["parameters"]:
            tokens = variant["train_targets"] / variant["parameters"]
            points = budgets.setdefault(float(share), (tokens, {}))[1]
            points[method] = next(point for point in variant["points"] if point["length"] == variant["trained_length"])
    return [budgets[share] for share in sorted(budgets)]


def holds_up_to(variant):
    """That length, and the point that ends it: one without a change has not been measured; None where all hold."""
    last = variant["trained_length"]
    for point in beyond(variant):
        if point["change"] is None and point["length"] > variant["trained_length"] or (point["change"] or 0) > HOLDS:
            return last, point
        last = point["length"]
    return last, None


def kept_curve(measured, run):
    """Protocol and curve of a run of a comparison, from the folder of kept figures: the newest, where it was measured in several ways; None where there is none."""
    trained = pathlib.Path(run["folder"]).name.rsplit("-", 1)[1]  # also a name's, where another variant trained it
    files = pathlib.Path(measured).glob(f"{run['variant']}-seed{run['seed']}-{trained}-*/curve.json")
    kept = max((json.loads(file.read_text(encoding="utf-8")) for file in files), key=lambda one: one["created"], default=None)
    return kept and (kept["protocol"], kept["curves"][0])


def usable_length(curve):
    """The longest length at which the loss is at most USABLE above the curve's best, and longer context than that of training gains more than
    LEAST_GAIN, with an interval over the text above 0; at least that of training."""
    points = [point for point in beyond(curve) if point["loss"] is not None]
    best = min((point["loss"] for point in points), default=None)
    return max([curve["trained_length"], *(point["length"] for point in points
                                           if point["loss"] <= best + USABLE and (point["context_gain"] or 0) > LEAST_GAIN and (point["context_gain_low"] or 0) > 0)])


def curves_of(measured, comparison, name):
    """Those that are kept of a variant's runs."""
    runs = [run for run in comparison["runs"] if run["variant"] == name and not run["failure"]]
    return [kept[1] for run in runs if (kept := kept_curve(measured, run))]


def usable_lengths(measured, comparison, name):
    """Of each seed, in words: the median, the least and the most; "-" where no curve of a run is kept."""
    return of_seeds(comparison, name, [(usable_length(curve), curve["points"]) for curve in curves_of(measured, comparison, name)])


def of_seeds(comparison, name, found):
    """`found`: of each seed a variant's usable length and the points it was found among; what reaches the longest of these beyond training may reach farther."""
    trained = next(variant["trained_length"] for variant in comparison["variants"] if variant["name"] == name)
    lengths = [point["length"] for _, points in found for point in points if point["loss"] is not None and point["length"] > trained]
    return median_of([usable for usable, _ in found], max(lengths, default=None))


def usable_as_printed(curve):
    """{tokens, low, high} by the program's own rule; None where the curve is older than that rule, or it was not measured."""
    usable = curve.get("usable_length") or {}
    return usable if usable.get("over_usable") else None


def usable_as_measured(comparison, name):
    """The same by the program's own rule (src/evaluate/figures.cc), by which each length gains over the longest usable one below it; "-" where it measured none."""
    return of_seeds(comparison, name, [(run["usable_length"], run["losses"]) for run in comparison["runs"] if run["variant"] == name and run.get("usable_length")])


def usable_step_by_step(measured, comparison, name):
    """The same of kept curves, of those seeds whose curve is not older than that rule."""
    return of_seeds(comparison, name, [(usable["tokens"], curve["points"]) for curve in curves_of(measured, comparison, name) if (usable := usable_as_printed(curve))])


def median_of(lengths, longest=None):
    """And the least and the most; of two both, for neither is in the middle. `longest` was measured: what reaches it may reach farther."""
    if not lengths:
        return "-"
    if len(lengths) == 2 and lengths[0] != lengths[1]:
        return f"{min(lengths):,} and {'at least ' if max(lengths) == longest else ''}{max(lengths):,} (two seeds)"
    spread = "one seed" if len(lengths) == 1 else f"each of {len(lengths)} seeds" if min(lengths) == max(lengths) else f"{min(lengths):,} .. {max(lengths):,}"
    middle = statistics.median_low(lengths)
    return f"{'at least ' if middle == longest else ''}{middle:,} ({spread})"
