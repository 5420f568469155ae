"""Tests of scripts/record: it names what differs, where, and nothing else.

usage: python3 tests/record/record_test.py BINARY
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(sys.argv.pop()).resolve()
sys.path.insert(0, str(PROJECT / "scripts/lib"))
from record.differences import NOT_THERE, Comparison  # noqa: E402
from record.jobs import Job  # noqa: E402
from record.pages import without_columns  # noqa: E402
from record.program import places  # noqa: E402


def found_keys(comparison, expected, found, **about):
    return [each.key for each in comparison.differences(Job("a/b", None, **about), expected, found) if not each.reason]


class Leaves(unittest.TestCase):
    def test_every_leaf_that_differs_is_named(self):
        expected = {"log": [{"loss": 1.5}, {"loss": 2.5}], "weights": "bits:1", "best": True, "gone": 3}
        found = {"log": [{"loss": 1.5}, {"loss": 2.5000001}, {"loss": 3.0}], "weights": "bits:2", "best": 1, "new": None}
        self.assertEqual(sorted(found_keys(Comparison(True, []), expected, found)),
                         ["a/b/best", "a/b/gone", "a/b/log/1/loss", "a/b/log/2/loss", "a/b/new", "a/b/weights"])

    def test_another_kind_of_machine_has_its_own_bits_and_near_losses(self):
        other = Comparison(False, [])
        expected = {"loss": 5.0, "word_perplexity": 1e9, "weights": "bits:1", "shapes": "1", "step": 3}
        near = {"loss": 5.004, "word_perplexity": 1.0009e9, "weights": "bits:2", "shapes": "1", "step": 3}
        far = {"loss": 5.006, "word_perplexity": 2e9, "weights": "bits:2", "shapes": "2", "step": 4}
        differ = ["a/b/loss", "a/b/word_perplexity", "a/b/shapes", "a/b/step"]
        self.assertEqual(found_keys(other, expected, near, tolerance=1e-3), [])
        self.assertEqual(found_keys(other, expected, far, tolerance=1e-3), differ)
        meant = Comparison(True, [{"keys": "a/*", "near": True, "reason": "Why."}])  # an arithmetic that rounds otherwise
        self.assertEqual(found_keys(meant, expected, near, tolerance=1e-3), [])
        self.assertEqual(found_keys(meant, expected, far, tolerance=1e-3), differ)

    def test_a_command_that_fails_is_one_difference(self):
        self.assertEqual(found_keys(Comparison(True, []), {"x": 1, "y": 2}, {"failed": "it ended with 1"}), ["a/b"])


class Intended(unittest.TestCase):
    def test_a_pattern_lets_any_value_pass(self):
        intended = [{"keys": "a/*/x", "reason": "Why."}]
        self.assertEqual(found_keys(Comparison(True, intended), {"x": 1, "y": 1}, {"x": 2, "y": 2}), ["a/b/y"])

    def test_values_let_only_these_pass(self):
        intended = [{"keys": "a/*", "reason": "Why.", "values": {"a/b/x": 2, "a/b/gone": NOT_THERE}}]
        comparison = Comparison(True, intended)
        self.assertEqual(found_keys(comparison, {"x": 1, "gone": 1}, {"x": 2}), [])
        self.assertEqual(found_keys(comparison, {"x": 1, "y": 1}, {"x": 3, "y": 2}), ["a/b/x", "a/b/y"])

    def test_values_may_be_near(self):
        intended = [{"keys": "a/*", "near": True, "reason": "Why.", "values": {"a/b/x": 2.0}}]
        comparison = Comparison(True, intended)
        self.assertEqual(found_keys(comparison, {"x": None}, {"x": 2.0005}, tolerance=1e-3), [])
        self.assertEqual(found_keys(comparison, {"x": None}, {"x": 2.1}, tolerance=1e-3), ["a/b/x"])

    def test_a_case_that_is_asked_no_more_is_a_difference_unless_named(self):
        comparison = Comparison(True, [{"keys": "a/*", "reason": "Why.", "values": {"a/b": NOT_THERE}}])
        self.assertEqual([comparison.gone(key).reason for key in ("a/b", "a/c")], ["Why.", ""])


class Parts(unittest.TestCase):
    def test_places_are_told_from_sentences(self):
        text = ("note: a small model\nbad.json: /model/heads: 7 does not divide 32 (choose: 8)\n"
                "--set x=1: /x: unknown key\nreading 2 files\n")
        self.assertEqual(places(text), ["bad.json: /model/heads", "--set x=1: /x"])

    def test_columns_of_time_are_left_out(self):
        table = "<tr><th>loss</th><th>train tokens/s</th></tr><tr><td>1.5</td><td>9k</td></tr>"
        self.assertEqual(without_columns(table), "loss\n1.5")


class Script(unittest.TestCase):
    """The script against a copy of the record with one value changed in each of some cases."""

    CASES = {"training/rotary-fp32": ("weights", "numbers"), "exports/bloom": ("hf", "model.safetensors"),
             "refusals/set model.heads=7": ("exit",), "inspect/bias-given": ("picture", "labels")}

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="alibi-record-")
        self.record = pathlib.Path(self.folder.name, "record")
        shutil.copytree(PROJECT / "tests/record", self.record)

    def tearDown(self):
        self.folder.cleanup()

    def check(self, key, *more):
        words = [sys.executable, PROJECT / "scripts/record", "check", BINARY, "--record", self.record, "--only", key, *more]
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, cwd=self.folder.name)
        lines = [line for line in done.stdout.splitlines() if not line.startswith("record:") and "(intended: " not in line]
        return done.returncode, [line.split(": ")[0] for line in lines]

    def change(self, key, path):
        file = self.record / f"{key.split('/')[0]}.json"
        record = json.loads(file.read_text())
        part = record[key]
        for name in path[:-1]:
            part = part[name]
        part[path[-1]] = "another"
        file.write_text(json.dumps(record))

    def test_a_changed_value_is_named_until_it_is_accepted(self):
        for key, path in self.CASES.items():
            self.change(key, path)
            self.assertEqual(self.check(key), (1, ["/".join((key, *path))]))
        key, path = next(iter(self.CASES.items()))
        self.assertEqual(self.check(key, "--accept", key + "/*", "--reason", "Another sum.")[0], 0)
        self.assertEqual(self.check(key)[0], 0)
        self.assertEqual(json.loads((self.record / "intended.json").read_text())[-1]["reason"], "Another sum.")

    # Seen failing with a script that accepts them.
    def test_other_bits_of_a_resumed_run_are_not_accepted(self):
        key = "folders/resumed-learned-slopes-fp32"
        self.change(key, ("weights", "numbers"))
        before = (self.record / "intended.json").read_text()
        self.assertEqual(self.check(key, "--accept", key + "/*", "--reason", "Another sum.")[0], 1)
        self.assertEqual((self.record / "intended.json").read_text(), before)

    def test_a_case_that_is_not_run_any_more_is_named(self):
        file = self.record / "training.json"
        record = json.loads(file.read_text())
        record["training/gone"] = {}
        file.write_text(json.dumps(record))
        self.assertEqual(self.check("training/gone"), (1, ["training/gone"]))


if __name__ == "__main__":
    unittest.main()
