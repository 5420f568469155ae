"""Tests of scripts in a copy of scripts/, beside programs that only stand in for what they call.

usage: python3 tests/scripts/shell_test.py
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(PROJECT / "scripts" / "lib"))
import sitting  # noqa: E402
from record import jobs  # noqa: E402

NOTHING = "#!/bin/sh\n"


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name, "project")
        shutil.copytree(PROJECT / "scripts", self.root / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(PROJECT / "CMakePresets.json", self.root)

    def put(self, name, text=NOTHING):
        """A program that stands in for another."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def run_script(self, *words, **variables):
        environment = {**{name: value for name, value in os.environ.items() if not name.startswith("ALIBI_")}, "PATH": f"{self.root}/bin:{os.environ['PATH']}", "XDG_CACHE_HOME": f"{self.root}/cache",
                       "ALIBI_SKIP_SETUP": "1", **variables}
        return subprocess.run(words, cwd=self.root, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


class AllParts(Scripts):
    def setUp(self):
        super().setUp()
        for name in ("scripts/check", "scripts/check_device_code.py", "scripts/fuzz", "scripts/on-debian"):
            self.put(name)
        self.put("bin/cmake", "#!/bin/sh\necho alibi_cuda: phony\n")
        for folder in ("base", "text", "data", "kernels/cuda"):
            self.put(f"build/threads/tests/{folder}/tests_{folder.split('/')[-1]}")
        self.put("scripts/default-corpus", "#!/bin/sh\nmkdir -p data/default\n")
        self.put("bin/ctest", "#!/bin/sh\ntest -d data/default\n")

    # Seen failing: tests with a cache of their own fetched the corpus, or were skipped.
    def test_find_the_default_corpus(self):
        for words in ([], ["--all"]):
            shutil.rmtree(self.root / "data", ignore_errors=True)
            done = self.run_script("scripts/test", *words)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    # Seen failing: 137 was "left out for time", and the end 0.
    def test_a_part_that_is_killed_has_failed(self):
        self.put("scripts/fuzz", "#!/bin/sh\nkill -KILL $PPID\n")
        for words in ([], ["--minutes", "9"]):
            done = self.run_script("scripts/test", "--all", *words)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn("failed: fuzz", done.stderr)
            self.assertIn("left out for time: nothing", done.stdout)


    # Seen failing: they were left out, and the end was 0.
    def test_the_kernels_of_devices_are_not_left_out(self):
        self.put("bin/cmake")
        done = self.run_script("scripts/test", "--all")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("failed: optimised", done.stderr)
        self.assertIn("nvcc", done.stdout)


class Build(Scripts):
    # Seen failing: numbers had a comma, and translated messages were not understood.
    def test_runs_in_the_locale_whose_output_is_read(self):
        self.put("bin/cmake", "#!/bin/sh\necho locale $LC_ALL\n")
        self.assertIn("locale C.UTF-8\n", self.run_script("scripts/build", "release", LC_ALL="de_DE.UTF-8").stdout)

    # Seen failing: a job for each core, whatever the memory.
    def test_has_no_more_jobs_than_memory_for_them(self):
        self.put("bin/cmake", "#!/bin/sh\necho $*\n")
        for cores in (1, 100000):
            self.put("bin/nproc", f"#!/bin/sh\necho {cores}\n")
            jobs = int(re.search("-j ([0-9]+)", self.run_script("scripts/build", "release").stdout).group(1))
            memory = int(re.search("MemTotal: *([0-9]+)", pathlib.Path("/proc/meminfo").read_text()).group(1))
            self.assertTrue(1 <= jobs <= min(cores, max(1, memory / 1.4e6)), jobs)


class Verify(Scripts):
    # Seen failing: after the system's Python had changed, the packages of the old one were "already there".
    def test_packages_of_another_python_are_not_taken(self):
        self.put("bin/python3", '#!/bin/sh\n[ "$2" != venv ] || { echo "error: no venv" && exit 1; }\necho 3.98\n')
        install = ('LIB=scripts/lib TEMPORARY=$PWD && . scripts/lib/common.sh && . scripts/lib/verify.sh && mkdir -p "$VERIFY_FOLDER/bin" "$VERIFY_FOLDER/lib/$0" && '
                   'cat scripts/lib/verify-requirements.txt scripts/lib/lm-eval-requirements.txt | sha256sum >"$VERIFY_FOLDER/.complete" && '
                   'ln -sf /bin/true "$VERIFY_FOLDER/bin/python" && install_verify')
        self.assertIn("no venv", self.run_script("bash", "-c", install, "python3.97").stderr)
        self.assertIn("already there", self.run_script("bash", "-c", install, "python3.98").stdout)


class ProgramOfACaller(Scripts):
    # Seen failing: a path was looked for in the project's folder, not in the caller's.
    def test_is_found_where_it_is_named_from(self):
        self.put("other/alibi", "#!/bin/sh\necho alibi 1.0\nexit 3\n")

        def errors(words):
            return self.run_script("sh", "-c", f"cd other && ../scripts/{words}", ALIBI_PROGRAM="./alibi", ALIBI_VERIFY_PYTHON="./alibi").stderr

        self.assertNotIn("tells no version", errors("package man"))
        self.assertIn("other/alibi ended with 3", errors("compare-speed --trial"))


class ProjectFiles(Scripts):
    # Seen failing: runs and .git were checked as sources where the project is no clone of its own, and files that are gone packed.
    def test_are_those_of_a_clone_or_of_an_archive(self):
        for name in ("src/a.cc", "src/gone.cc", "data/results/one/README.md"):
            self.put(name)
        for name in ("runs/a/b.json", "data/default/train.jsonl", "build/a.o", "dist/a"):
            self.put(name)
        (self.root / ".gitignore").write_text((PROJECT / ".gitignore").read_text())

        def listed():
            done = self.run_script("bash", "-c", ". scripts/lib/common.sh && mkdir -p ../copy && copy_project ../copy && project_files '*' | sort")
            self.assertEqual(done.stderr, "")
            return [name for name in done.stdout.split() if not name.startswith("scripts/")]

        expected = [".gitignore", "CMakePresets.json", "data/results/one/README.md", "src/a.cc"]
        self.assertEqual(listed(), [*expected, "src/gone.cc"])  # an archive
        self.run_script("git", "init", "-q", "..")
        self.assertEqual(listed(), [*expected, "src/gone.cc"])  # in another's clone
        self.run_script("git", "init", "-q")
        self.run_script("git", "add", "src")
        (self.root / "src/gone.cc").unlink()
        self.assertEqual(listed(), expected)
        self.assertTrue((self.root / "../copy/src/a.cc").exists())


class Options(Scripts):
    def setUp(self):
        super().setUp()
        shutil.copytree(PROJECT / "configs", self.root / "configs", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("scripts/build", "scripts/default-corpus", "bin/python3", "build/release/bin/alibi"):
            self.put(name)

    # Seen failing: --set=KEY=VALUE went past what looks for KEY=VALUE.
    def test_in_one_word_are_those_in_two(self):
        for option in (["--set", "run.name=mine"], ["--set=run.name=mine"]):
            done = self.run_script("scripts/quickstart", *option)
            self.assertEqual(done.returncode, 2, option)
            self.assertIn("found run.name=mine", done.stderr)
        for option in (["--set", "run.folder=mine"], ["--set=run.folder=mine"]):
            done = self.run_script("scripts/reproduce", "drope", "--output=out", *option)
            self.assertEqual(done.returncode, 1, option)
            self.assertIn("leave run.folder out", done.stderr)

    # Seen failing: behind a name they went to its steps, and some ran.
    def test_help_is_given_behind_an_experiment_too(self):
        for words in ([], ["--help"], ["drope", "--help"], ["figure1", "--set", "a.b=1", "-h"]):
            done = self.run_script("scripts/reproduce", *words)
            self.assertEqual(done.returncode, 0, words)
            self.assertIn("usage: scripts/reproduce NAME", done.stdout, words)
        self.assertFalse((self.root / "data/results").exists())


class Setup(Scripts):
    # Seen failing: "mktemp: No such file or directory" after another's scripts/setup --remove.
    def test_makes_the_cache_again_that_was_removed_while_it_waited(self):
        done = self.run_script("bash", "-c", """
          . scripts/lib/common.sh
          (open_cache && touch held && until grep -q waiting said 2>/dev/null; do sleep 0.02; done && rm -rf "$CACHE") &
          until [ -e held ]; do sleep 0.02; done
          open_cache >said && make_temporary && flock --nonblock "$CACHE/lock" true || echo locked""")
        self.assertEqual((done.stdout, done.stderr), ("locked\n", ""))

    # Seen failing: "HOME: unbound variable".
    def test_needs_no_home_for_its_help(self):
        done = self.run_script("env", "-u", "HOME", "-u", "XDG_CACHE_HOME", "scripts/setup", "--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Fuzz(Scripts):
    # Seen failing: no jobs never ended, and a name that is none was a finding.
    def test_refuses_what_it_cannot_search(self):
        self.put("bin/cmake")
        self.put("tests/fuzz/fuzz_json.cc")
        for words, named in ((["--jobs", "0"], "--jobs"), (["--seconds", "x"], "--seconds"), (["jsn"], "expected some of: json")):
            done = self.run_script("timeout", "5", "scripts/fuzz", *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(named, done.stderr)


class Portable(unittest.TestCase):
    # Seen failing: each "/" became "~".
    def test_keeps_slashes_where_the_home_is_the_root(self):
        for home, shown in (("/", "/own/a"), ("/own", "~/a")):
            with unittest.mock.patch.dict(os.environ, HOME=home):
                self.assertEqual(sitting.Sitting.portable(types.SimpleNamespace(root="/project"), "/own/a"), shown)


class Download(Scripts):
    # Seen failing: "already there" after the texts were removed.
    def test_is_made_again_where_its_outputs_are_gone(self):
        fetch = self.root / "scripts/lib/fetch.py"
        fetch.write_text(fetch.read_text() + "\n\ndef fetch(source, folder):\n    sys.exit('would fetch')\n")
        self.put("data/tinyshakespeare/.complete", "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed")
        for name in ("train.txt", "valid.txt"):
            self.assertIn("would fetch", self.run_script("scripts/download-data", "tinyshakespeare").stderr)
            self.put(f"data/tinyshakespeare/{name}", "text")
        self.assertIn("already there", self.run_script("scripts/download-data", "tinyshakespeare").stdout)


class Record(unittest.TestCase):
    # Seen failing: one slow command ended all cases with a traceback.
    def test_a_command_over_its_time_is_a_failed_case(self):
        def slow(_):
            raise subprocess.TimeoutExpired("alibi", 300)

        with tempfile.TemporaryDirectory() as folder:
            texts, place = pathlib.Path(folder, "texts"), jobs.Place(None, pathlib.Path(folder, "work"), None)
            texts.mkdir()
            self.assertIn("timed out", jobs.run_job("slow", slow, place, texts, None)["failed"])


if __name__ == "__main__":
    unittest.main()
