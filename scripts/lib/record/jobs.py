"""One case of the record: a few commands in a folder of their own, and the values that come of them."""
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import typing

from .program import CommandFailed, Program
from .texts import write_texts


PROJECT = pathlib.Path(__file__).resolve().parents[3]


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a job works: the program, a folder with the texts, and the record."""
    program: Program
    folder: pathlib.Path
    record: pathlib.Path

    def run(self, *arguments, threads=1):
        return self.program.run(self.folder, *arguments, threads=threads)

    def works(self, *arguments, threads=1):
        return self.program.works(self.folder, *arguments, threads=threads)

    def path(self, *parts):
        return self.folder.joinpath(*parts)


@dataclasses.dataclass(frozen=True)
class Job:
    key: str  # "training/rotary-bf16"
    values: typing.Callable  # of a Place; gives a tree of values (see values.py)
    needs: str = ""  # a flag of the processor
    tolerance: float = 1e-3  # of a loss on another kind of machine
    same_kind_only: bool = False  # nothing of it can be compared on another kind
    original: typing.Callable | None = None  # in place of `values` where the record is made


def run_job(key, values, place, texts, keep):
    """The values, or {"failed": why} where the program did not what the job takes for granted."""
    shutil.copytree(texts, place.folder)
    try:
        return values(place)
    except (CommandFailed, subprocess.TimeoutExpired, OSError, ValueError, KeyError, IndexError, struct.error) as error:
        return {"failed": f"{type(error).__name__}: {error}"}
    finally:
        if keep:
            shutil.copytree(place.folder, keep / re.sub(r"[^\w/.-]", "_", key), dirs_exist_ok=True)
        shutil.rmtree(place.folder)


def run_jobs(named_values, program, record, keep=None):
    """Key -> values of every (key, function of a Place), as many at a time as there are cores for us."""
    with tempfile.TemporaryDirectory(prefix="alibi-record-") as scratch:
        texts = pathlib.Path(scratch, "texts")
        write_texts(texts)

        def run(item):
            number, (key, values) = item
            return key, run_job(key, values, Place(program, pathlib.Path(scratch, str(number), "work"), record), texts, keep)

        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            return dict(pool.map(run, enumerate(named_values)))
