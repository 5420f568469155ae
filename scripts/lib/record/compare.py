"""The record's files, and how what was found differs from them."""
import fnmatch
import json

LOOSE = ("loss", "gradient_norm", "learning_rate", "bits_per_byte")  # figures that another kind of machine has, nearly


def leaves(value, key):
    """Key -> leaf of a tree of values: "training/t5-fp32/log/3/loss"."""
    if isinstance(value, dict) and value:
        parts = value.items()
    elif isinstance(value, list) and value:
        parts = enumerate(value)
    else:
        return {key: value}
    return {inner: leaf for name, part in parts for inner, leaf in leaves(part, f"{key}/{name}").items()}


def is_bits(leaf):
    return isinstance(leaf, str) and leaf.startswith("bits:")


def is_near(key, expected, found, tolerance):
    """On another kind of machine: losses within the tolerance; bits and figures made of them may be others."""
    if is_bits(expected) and is_bits(found):
        return True
    if isinstance(expected, float) and isinstance(found, float):
        named = key.rsplit("/", 1)[-1]
        return not any(word in named for word in LOOSE) or abs(expected - found) <= tolerance * max(1.0, abs(expected))
    return expected == found


def case_differences(job, expected, found, same_kind):
    """(key, expected, found) of each leaf that differs; a leaf that is not there is None."""
    if "failed" in found and "failed" not in expected:
        return [(job.key, "a command that works", found["failed"])]
    expected, found = leaves(expected, job.key), leaves(found, job.key)
    differences = []
    for key in sorted(expected.keys() | found.keys()):
        one, other = expected.get(key), found.get(key)
        same = one == other and type(one) is type(other)
        if not same and (same_kind or not is_near(key, one, other, job.tolerance)):
            differences.append((key, one, other))
    return differences


def is_intended(key, found, intended):
    """Whether an entry of intended.json names the key; one that gives its new value wants that value."""
    for entry in intended:
        if fnmatch.fnmatchcase(key, entry["keys"]) and entry.get("values", {}).get(key, found) == found:
            return True
    return False


def section_text(cases):
    """JSON with a line for each part of a case, so that a difference of the file can be read."""
    lines = []
    for key, values in sorted(cases.items()):
        parts = [f"  {json.dumps(name)}: {json.dumps(part, ensure_ascii=False)}" for name, part in values.items()]
        lines.append(f"{json.dumps(key)}: {{\n" + ",\n".join(parts) + "\n}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write_record(folder, results):
    """A file for each section: the first part of a key."""
    folder.mkdir(parents=True, exist_ok=True)
    sections = {}
    for key, values in results.items():
        sections.setdefault(key.split("/")[0], {})[key] = values
    for name, cases in sections.items():
        (folder / f"{name}.json").write_text(section_text(cases), encoding="utf-8")


def read_record(folder, sections):
    """Key -> values of the sections that are there."""
    cases = {}
    for name in sections:
        path = folder / f"{name}.json"
        if path.exists():
            cases.update(json.loads(path.read_text(encoding="utf-8")))
    return cases
