"""The record's files, and how what was found differs from them."""
import dataclasses
import fnmatch
import json

NOT_THERE = "(not there)"


@dataclasses.dataclass(frozen=True)
class Difference:
    key: str  # "training/t5-fp32/log/3/loss"
    expected: object
    found: object
    reason: str = ""  # why it is intended

    def line(self):
        text = f"{self.key}: expected {json.dumps(self.expected)}, found {json.dumps(self.found)}"
        return text + (f" (intended: {self.reason})" if self.reason else "")


def leaves(value, key):
    """Key -> leaf of a tree of values."""
    if isinstance(value, dict) and value:
        parts = value.items()
    elif isinstance(value, list) and value:
        parts = enumerate(value)
    else:
        return {key: value}
    return {inner: leaf for name, part in parts for inner, leaf in leaves(part, f"{key}/{name}").items()}


def is_bits(leaf):
    return isinstance(leaf, str) and leaf.startswith("bits:")


def is_same(expected, found):
    return expected == found and isinstance(expected, bool) == isinstance(found, bool)


def is_near(key, expected, found, tolerance):
    """On another kind of machine, or by an arithmetic that is meant to round otherwise: figures within the tolerance; bits may
    be others."""
    if is_bits(expected) and is_bits(found):
        return True
    if isinstance(expected, float) and isinstance(found, float):
        return abs(expected - found) <= tolerance * max(1.0, abs(expected))
    return is_same(expected, found)


class Comparison:
    """Compares cases with the record, on the same kind of machine or on another."""

    def __init__(self, same_kind, intended):
        self.same_kind = same_kind
        self.intended = intended

    def differences(self, job, expected, found):
        """A Difference for each leaf of a case's values that is another one."""
        if "failed" in found:
            return [self.judged(job, job.key, "a command that works", found["failed"])]
        expected, found = leaves(expected, job.key), leaves(found, job.key)
        pairs = [(key, expected.get(key, NOT_THERE), found.get(key, NOT_THERE)) for key in {**expected, **found}]
        return [self.judged(job, *pair) for pair in pairs if not self.agrees(job, *pair)]

    def gone(self, key):
        """The Difference of a recorded case that is asked no more."""
        reasons = [entry["reason"] for entry in self.intended if entry.get("values", {}).get(key) == NOT_THERE]
        return Difference(key, "a case", NOT_THERE, *reasons[:1])

    def agrees(self, job, key, expected, found):
        return is_same(expected, found) if self.same_kind else is_near(key, expected, found, job.tolerance)

    def judged(self, job, key, expected, found):
        for entry in self.intended:
            values = entry.get("values", {})
            named = key in values or not values and fnmatch.fnmatchcase(key, entry["keys"])
            agrees = self.agrees(job, key, values.get(key, found), found)
            if entry.get("near"):
                agrees = is_near(key, values.get(key, expected), found, job.tolerance)
            if named and agrees:
                return Difference(key, expected, found, entry["reason"])
        return Difference(key, expected, found)


def section_text(cases):
    """JSON with a line for each part of a case, so that a difference of the file can be read."""
    texts = []
    for key, values in sorted(cases.items()):
        parts = [f"  {json.dumps(name)}: {json.dumps(part, ensure_ascii=False)}" for name, part in values.items()]
        texts.append(f"{json.dumps(key)}: {{\n" + ",\n".join(parts) + "\n}")
    return "{\n" + ",\n".join(texts) + "\n}\n"


def write_record(folder, results):
    """A file for each section, which is the first part of a key."""
    sections = {}
    for key, values in results.items():
        sections.setdefault(key.split("/")[0], {})[key] = values
    for name, cases in sections.items():
        (folder / f"{name}.json").write_text(section_text(cases), encoding="utf-8")


def read_record(folder, sections):
    """Key -> values of all cases of the sections that are there."""
    paths = [folder / f"{name}.json" for name in sections]
    return {key: values for path in paths if path.exists()
            for key, values in json.loads(path.read_text(encoding="utf-8")).items()}
