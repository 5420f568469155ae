"""Runs the program that is recorded or checked, apart from the user's settings."""
import dataclasses
import os
import pathlib
import re
import subprocess

TIMEOUT_SECONDS = 300
# What would choose other threads or another width of a terminal.
FOREIGN_VARIABLES = ("OMP_", "GOMP_", "COLUMNS", "ALIBI_")


class CommandFailed(Exception):
    """A command that must work ended otherwise; the text names it and its last line on stderr."""


@dataclasses.dataclass(frozen=True)
class Result:
    code: int  # of the exit; minus the signal where one ended it
    out: bytes
    err: str


class Program:
    def __init__(self, binary):
        self.binary = pathlib.Path(binary).resolve()

    def run(self, folder, *arguments, threads=1):
        """Runs the program in `folder`, which also holds its home and its cache. No threads: as many as it takes itself."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN_VARIABLES)}
        environment.update(HOME=str(folder), XDG_CACHE_HOME=str(folder), LC_ALL="C", TZ="UTC")
        if threads:  # without the spin count a second one waits a hundred times longer on cores that are busy
            environment.update(OMP_NUM_THREADS=str(threads), GOMP_SPINCOUNT="1000")
        done = subprocess.run([str(self.binary), *map(str, arguments)], cwd=folder, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_SECONDS)
        return Result(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))

    def works(self, folder, *arguments, threads=1):
        """As run, for a command that must end with 0; throws CommandFailed."""
        result = self.run(folder, *arguments, threads=threads)
        if result.code != 0:
            last = (result.err.strip().splitlines() or ["nothing on stderr"])[-1]
            raise CommandFailed(f"alibi {' '.join(map(str, arguments))} ended with {result.code}: {last}")
        return result


def places(errors):
    """The places that the lines on stderr name ("bad.json: /model/heads"), without their prose.

    A line is "place: problem (way out)"; a place is made of file names, pointers and options. Lines that only tell
    something are left out.
    """
    found = [re.match(r"(?:--set )?(?:[^ ]+: )*", line).group().removesuffix(": ") for line in errors.splitlines()]
    return [place for place in found if place not in ("", "note", "warning")]
