"""Parts of work in one folder of a few small files: run under limits, kept as they go, not done twice. For scripts/gpu-check.

FOLDER/README.md     what people read, one section a part
FOLDER/results.json  the same for programs, with every figure; from it a later call knows what is done
FOLDER/PART.txt      what a part's programs printed
FOLDER.tar.gz        all of it, written after each part
"""
import contextlib
import datetime
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

LEAST_SECONDS = 15  # a program with less left is not started
PROGRAM_BYTES = 30_000  # of a program's output that are kept
LOG_BYTES = 100_000  # of a part's
FIGURES_BYTES = 50_000  # of a program's figures: more are not what they should be


def cut(text, most):
    """At most that many bytes: the middle is left out, as the first fault and the summary stand at the ends."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most:
        return text
    half = (most - 100) // 2
    words = f"\n[... {len(data) - 2 * half} bytes left out ...]\n"
    return data[:half].decode("utf-8", "ignore") + words + data[-half:].decode("utf-8", "ignore")


def last_line(text):
    return ([line for line in text.splitlines() if line.strip()] or [""])[-1][:300]


def limited(command, seconds, folder, variables):
    """What it printed and its exit code; after the limit, and when we are ended ourselves, it and all it started are killed."""
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", cwd=folder,
                                   env=variables, start_new_session=True)
    except OSError as error:
        return str(error), "not started"
    try:
        return process.communicate(timeout=seconds)[0], process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0], f"cut off after {seconds:.0f} s"
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):  # a driver may hold it
            process.wait(5)  # what is dead is gone when we are
        raise


class Sitting:
    def __init__(self, folder, names, about, root):
        """`names`: of all parts, in the page's order. `about`: what a result holds for; with another one a part is done anew.
        `root`: where programs are started."""
        self.folder, self.names, self.about, self.root = folder, names, about, root
        self.end = time.monotonic()  # of all programs of this call
        folder.mkdir(parents=True, exist_ok=True)
        self.results = folder / "results.json"
        try:
            self.parts = json.loads(self.results.read_text())["parts"] if self.results.exists() else {}
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{self.results}: found no results of an earlier call ({error}); remove it, or name another folder") from error

    def is_done(self, name):
        part = self.parts.get(name)
        return bool(part and part["ended"] and not part["failed"] and part["about"] == self.about)

    def do(self, name, work, again=False):
        """`earlier`: figures that the part kept before it failed or was cut off, unless all is done anew."""
        before = self.parts.get(name)
        self.earlier = before["figures"] if before and before["about"] == self.about and not again else {}
        now = datetime.datetime.now(datetime.timezone.utc)
        self.name, self.start, self.log = name, time.monotonic(), ""
        self.part = self.parts[name] = {"about": self.about, "time": now.strftime("%Y-%m-%d %H:%M UTC"), "seconds": 0, "ended": False,
                                        "failed": [], "page": [], "figures": dict(self.earlier)}
        try:
            try:
                work()
            except Exception as error:  # the parts behind it are still to be done
                self.fails(name, type(error).__name__, str(error))
            self.part["ended"] = True
        finally:
            self.write()
            shutil.make_archive(str(self.folder), "gztar", self.folder.parent, self.folder.name)

    def say(self, text=""):
        print(text, flush=True)
        self.part["page"].append(text)
        self.write()

    def fails(self, name, code, line):
        self.part["failed"].append(name)
        self.say(f"- **{name} failed** ({code}): {line[:300]}")

    def keep(self, name, rows):
        """Figures of a program, for results.json."""
        size = len(json.dumps(rows))
        self.part["figures"][name] = rows if size <= FIGURES_BYTES else f"{size} bytes left out"
        self.write()
        return rows

    def portable(self, text):
        """Without the folders of one machine."""
        text, home = text.replace(f"{self.root}/", ""), str(pathlib.Path.home())
        return text if home == "/" else text.replace(home, "~")

    def run(self, name, command, seconds, variables=None, counts=True):
        """Runs it with a limit. Returns whether it succeeded, and what it printed. `counts`: its failure is the part's."""
        limit = min(seconds, self.end - time.monotonic())
        if limit < LEAST_SECONDS:
            self.fails(name, "left out", "no time was left")
            return False, ""
        start = time.monotonic()
        text, code = limited([str(word) for word in command], limit, self.root, variables)
        text, words = self.portable(text), self.portable(" ".join(map(str, command)))
        took = f"{time.monotonic() - start:.0f} s, exit {code}"
        self.log += f"\n$ {words}\n{cut(text, PROGRAM_BYTES)}\n{name}: {took}\n"
        print(f"  {name}: {took}", flush=True)
        if code != 0 and counts:
            self.fails(name, code, last_line(text))
        self.write()
        return code == 0, text

    def write(self):
        self.part["seconds"] = round(time.monotonic() - self.start)
        new = self.folder / ".new"  # a later call never finds half a file
        new.write_text(json.dumps({"parts": self.parts}, indent=1))
        new.replace(self.results)
        (self.folder / f"{self.name}.txt").write_text(cut(self.log, LOG_BYTES), encoding="utf-8")
        (self.folder / "README.md").write_text(self.page(), encoding="utf-8")

    def page(self):
        lines = ["# scripts/gpu-check"]
        for name in filter(self.parts.get, self.names):
            part = self.parts[name]
            state = f"failed: {', '.join(part['failed'])}" if part["failed"] else "nothing failed"
            lines += [f"\n## {name}\n", f"{part['time']}, {part['seconds']} s; {'; '.join(part['about'].values())}; "
                      f"{state if part['ended'] else 'cut off before its end'}.\n", *part["page"]]
        missing = [name for name in self.names if name not in self.parts]
        return "\n".join(lines) + f"\n\nNot begun: {', '.join(missing) or 'nothing'}.\n"
