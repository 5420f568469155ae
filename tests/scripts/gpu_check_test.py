"""Tests of scripts/gpu-check with programs that only print what the real ones do: which parts run, what is kept, how much.

usage: python3 tests/scripts/gpu_check_test.py
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]

ALIBI = '''#!/usr/bin/env python3
import json, os, pathlib, sys
words = sys.argv[1:]
with open("started", "a") as file:
    print(*words[:2], file=file)
if "runtime.device=cuda" in words:
    sys.exit("/runtime/device: found cuda, but no NVIDIA driver on this machine")
if os.path.exists("wait") and words[0] == "train":
    print(os.getpid(), file=open("waits", "w"), flush=True)
    import time
    time.sleep(60)
rows = [{"length": length, "sequences": 2, "kernel": "plain", "forward_seconds": 1e-3, "both_seconds": 3e-3, "both_least": 2e-3,
         "both_most": 4e-3} for length in (256, 512)]
if words[:2] == ["bench", "step"]:
    rows = [{"tokens_per_second": 1000.0, "peak_memory_bytes": 1 << 30, "share_of_gemm_rate": 0.5, "gemm_operations_per_second": 7e14,
             "copy_bytes_per_second": 4e12}]
if "--output" in words:
    output = pathlib.Path(words[words.index("--output") + 1])
    if words[0] == "bench":
        output.write_text(json.dumps({"rows": rows}))
    if words[0] == "evaluate":
        output.mkdir()
        (output / "curve.json").write_text(json.dumps({"curves": [{"points": [{"length": 128, "perplexity": 12.5}]}]}))
    if words[0] == "evaluate" and os.path.exists("large"):
        (output / "curve.json").write_text(json.dumps({"curves": ["a figure" * 200000]}))
print("alibi 0 (LibTorch 0)" if words == ["--version"] else f"{' '.join(words)}")
sys.exit(7 if os.path.exists("fails") and words[0] == open("fails").read() else 0)
'''

TESTS = '''#!/usr/bin/env python3
import os, sys
print(*sys.argv[1:], file=open(os.path.basename(sys.argv[0]) + ".words", "a"))
print("the first line\\n" + "a line that says nothing\\n" * 100000 + "[  PASSED  ] 5 tests.")
'''

TWIN = '''import json, sys
if "attention" in sys.argv[0]:
    print(json.dumps({"ceiling": "copy", "by": "a copy of 16 MiB", "unit": "TB/s", "per_second": 4.25e12}))
    print(json.dumps({"kernel": "PyTorch mask", "length": 256, "sequences": 2, "forward_seconds": 1e-3, "both_seconds": 6e-3,
                      "both_least": 5e-3, "both_most": 7e-3}))
else:
    print(json.dumps({"tokens": 500, "step_seconds": 1.0, "peak_memory_bytes": 1}))
'''

# Says what it was asked, and of racecheck that it found something.
TOOL = '''#!/usr/bin/env python3
import sys
print(" ".join(sys.argv), "\\n========= ERROR SUMMARY: 0 errors")
sys.exit(1 if "racecheck" in sys.argv else 0)
'''


class GpuCheck(unittest.TestCase):
    def setUp(self):
        self.kept = tempfile.TemporaryDirectory()
        self.addCleanup(self.kept.cleanup)
        self.root = pathlib.Path(self.kept.name).resolve()
        for name in ("gpu-check", "lib/sitting.py"):
            self.put(f"scripts/{name}", (PROJECT / "scripts" / name).read_text())
        for name in ("attention_twin.py", "speed_twin.py"):
            self.put(f"scripts/{name}", TWIN)
        self.put("build/release/bin/alibi", ALIBI)
        for folder in ("model", "checkpoint", "train", "commands"):
            self.put(f"build/release/tests/{folder}/tests_{folder}", TESTS)
        self.put("build/release/commit", "abc1234\n")
        (self.root / "out").mkdir()
        # Neither PyTorch nor a toolkit of this machine is met.
        self.variables = {**os.environ, "XDG_CACHE_HOME": str(self.root / "cache"), "CUDA_HOME": str(self.root / "cuda"),
                          "PATH": f"{pathlib.Path(sys.executable).parent}:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}

    def put(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def command(self, *words, device="cpu"):
        return [sys.executable, str(self.root / "scripts/gpu-check"), "--device", device, "--output", str(self.root / "out/check"), *words]

    def check(self, *words, code=0, **more):
        (self.root / "started").unlink(missing_ok=True)
        found = subprocess.run(self.command(*words, **more), env=self.variables, capture_output=True, text=True)
        self.assertEqual(found.returncode, code, found.stdout + found.stderr)
        return found.stdout + found.stderr

    def read(self, name):
        return (self.root / "out/check" / name).read_text()

    def started(self):
        """What alibi was asked for, but for the two calls at the start."""
        return (self.root / "started").read_text().splitlines()[2:]

    def test_all_parts_are_on_one_page_with_their_ceilings(self):
        self.check()
        page = self.read("README.md")
        for words in ("## tests", "## attention", "## steps", "| quickstart.json | - | 64 | 128 | 1,000 | 50 % | 1.00 |", "## short-run", "## sanitizer", "- copy: 4.250 TB/s (a copy of 16 MiB)",
                      "700.000 TFLOP/s, 4.000 TB/s", "2.00x (plain against PyTorch mask)", "nothing failed", "commit abc1234",
                      "compute-sanitizer is not installed here: not run", "ncu is not installed here: not run", "Not begun: nothing."):
            self.assertIn(words, page)
        self.assertEqual(json.loads(self.read("results.json"))["parts"]["short-run"]["figures"]["curve"][0]["points"][0]["length"], 128)

    # Seen failing with every program's output kept whole, and with all figures.
    def test_what_is_kept_is_few_small_files_in_an_archive(self):
        self.put("large", "")
        self.check()
        files = [path for path in (self.root / "out").rglob("*") if path.is_file()]
        self.assertLessEqual(len(files), 8, files)
        self.assertLess(sum(path.stat().st_size for path in files), 1 << 20)
        log = self.read("tests.txt")
        self.assertLessEqual(len(log), 100_000)
        for words in ("the first line", "bytes left out", "[  PASSED  ] 5 tests."):
            self.assertIn(words, log)
        for path in files:
            if path.suffix != ".gz":
                self.assertNotIn(str(self.root / "build"), path.read_text(), path)
        with tarfile.open(self.root / "out/check.tar.gz") as archive:
            self.assertEqual({name for name in archive.getnames() if "." in name},
                             {f"check/{path.name}" for path in files if path.suffix != ".gz"})

    def test_a_program_of_tests_is_one_process(self):
        self.check("--only", "tests")
        for folder in ("model", "checkpoint", "train", "commands"):
            self.assertEqual((self.root / f"tests_{folder}.words").read_text(), "--gtest_filter=*Cuda.*\n")

    # Seen failing with is_done() that looks at neither.
    def test_a_second_call_does_what_is_missing(self):
        self.check("--only", "steps,short-run")
        self.assertIn("Not begun: tests, attention, sanitizer.", self.read("README.md"))
        self.assertIn("steps is done", self.check("--only", "steps", "--only", "attention"))
        self.assertNotIn("bench step", self.started())
        self.assertIn("bench attention", self.started())
        self.check("--only", "steps", "--again")
        self.assertIn("bench step", self.started())
        self.put("build/release/commit", "def5678\n")
        self.check("--only", "steps")
        self.assertIn("bench step", self.started())
        page = self.read("README.md")
        self.assertIn("commit def5678", page)
        self.assertIn("commit abc1234", page)  # of the parts that were not asked for

    def test_a_part_that_failed_is_done_again_and_leaves_the_others(self):
        self.put("fails", "train")
        self.assertIn("failed: short-run", self.check("--only", "short-run,steps", code=1))
        self.assertIn("**train failed** (7): train configs/quickstart.json", self.read("README.md"))  # no folder of this machine
        (self.root / "fails").unlink()
        self.check("--only", "short-run,steps")
        self.assertEqual([line.split()[0] for line in self.started()], ["train", "evaluate", "generate", "export"])
        self.assertNotIn("**", self.read("README.md"))

    # Seen failing with every program of the part run anew, and with what was kept forgotten at the second end.
    def test_what_a_part_measured_before_it_failed_is_kept(self):
        self.put("scripts/speed_twin.py", TWIN + "sys.exit('compiled' if '--compile' in sys.argv else 0)\n")
        self.assertIn("failed: steps", self.check("--only", "steps", code=1))
        page = self.read("README.md")
        self.put("scripts/speed_twin.py", "import os, time\nprint(os.getpid(), file=open('waits', 'w'), flush=True)\ntime.sleep(60)\n")
        self.end_where_it_waits("--only", "steps")
        self.put("scripts/speed_twin.py", TWIN)
        self.check("--only", "steps")
        self.assertNotIn("bench step", self.started())
        log = self.read("steps.txt")
        self.assertEqual(log.count("speed_twin.py"), log.count("--compile"), log)
        self.assertIn("| quickstart.json | - | 64 | 128 | 1,000 |", page)
        self.assertIn("| quickstart.json | - | 64 | 128 | 1,000 |", self.read("README.md"))

    # A format of figures that is not the expected one ends its part alone.
    def test_a_part_that_breaks_leaves_the_others(self):
        self.put("scripts/attention_twin.py", "print('{}')")
        self.assertIn("failed: attention", self.check("--only", "attention,short-run", code=1))
        self.assertIn("**attention failed** (KeyError)", self.read("README.md"))
        self.assertIn("train", self.started()[-4])

    def test_what_the_minutes_are_too_few_for_is_named(self):
        self.check("--only", "steps", "--minutes", "0.2", code=1)
        self.assertIn("**shape-quickstart-64 failed** (left out)", self.read("README.md"))
        shutil.rmtree(self.root / "out/check")
        text = self.check("--only", "steps,short-run", "--minutes", "1", code=1)
        self.assertIn("not begun for time, call again: short-run", text)
        self.assertIn("not begun for time, call again: nothing", self.check("--only", "steps,short-run", "--minutes", "1"))

    def end_where_it_waits(self, *words):
        process = subprocess.Popen(self.command(*words), env=self.variables, stdout=subprocess.DEVNULL)
        for _ in range(600):
            if (self.root / "waits").exists() and (self.root / "waits").read_text().strip():
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 128 + signal.SIGTERM)

    # As `timeout` ends it: what was done is in the archive, and no program runs on.
    def test_an_end_in_the_middle_keeps_what_was_done(self):
        self.put("wait", "")
        self.end_where_it_waits("--only", "steps,short-run")
        with self.assertRaises(ProcessLookupError):
            os.kill(int((self.root / "waits").read_text()), 0)
        with tarfile.open(self.root / "out/check.tar.gz") as archive:
            parts = json.load(archive.extractfile("check/results.json"))["parts"]
        self.assertEqual({name: part["ended"] for name, part in parts.items()}, {"steps": True, "short-run": False})
        self.assertIn("cut off before its end", self.read("README.md"))
        (self.root / "wait").unlink()
        self.check("--only", "steps,short-run")
        self.assertNotIn("bench step", self.started())

    def test_tools_are_used_where_they_are(self):
        self.put("cuda/bin/compute-sanitizer", TOOL)
        self.put("cuda/bin/ncu", TOOL)
        self.check("--only", "sanitizer", code=1)
        page = self.read("README.md")
        for words in ("memcheck, widths of attention: ERROR SUMMARY: 0 errors", "synccheck, rows: ERROR SUMMARY: 0 errors",
                      "**racecheck, rows failed** (1)", "- ncu: see the log"):
            self.assertIn(words, page)
        for words in ("--tool memcheck", "DropoutMaskCuda.*"):
            self.assertIn(words, self.read("sanitizer.txt"))
        self.check("--only", "sanitizer", code=1)  # what succeeded is kept, what failed is done again
        self.assertNotIn("--tool memcheck", self.read("sanitizer.txt"))
        self.assertIn("--tool racecheck", self.read("sanitizer.txt"))
        self.assertIn("memcheck, rows: ERROR SUMMARY: 0 errors", self.read("README.md"))
        self.check("--only", "sanitizer", "--again", code=1)
        self.assertIn("--tool memcheck", self.read("sanitizer.txt"))

    def test_what_is_missing_or_wrong_is_said_before_anything_runs(self):
        self.assertIn("found 'speed', expected some of tests, attention, steps, short-run, sanitizer",
                      self.check("--only", "tests,speed", code=2))
        self.assertFalse((self.root / "started").exists())
        self.put("out/check/results.json", "{")
        self.assertIn("results.json: found no results of an earlier call", self.check(code=1))
        self.assertIn("found no build/release/bin/libalibi_cuda.so", self.check(device="cuda", code=1))
        for name in ("libalibi_cuda.so", "libalibi_cudnn.so", "libalibi_graphs.so"):
            self.put(f"build/release/bin/{name}", "")
        self.assertIn("found no libtorch_cuda.so", self.check(device="cuda", code=1))
        self.put("cache/alibi/torch-2.11.0/torch/lib/libtorch_cuda.so", "")
        self.assertIn("no NVIDIA driver on this machine", self.check(device="cuda", code=1))


if __name__ == "__main__":
    unittest.main()
