"""One case of the record: a few commands in a folder of their own, and the values that come of them."""
import concurrent.futures
import dataclasses
import os
import pathlib
import shutil
import tempfile
import typing

from .program import CommandFailed, Program
from .texts import write_texts


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a job works: the program, a folder with the texts, the project and the record."""
    program: Program
    folder: pathlib.Path
    project: pathlib.Path
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


def run_job(job, program, project, record, texts, keep):
    with tempfile.TemporaryDirectory(prefix="alibi-record-") as scratch:
        folder = pathlib.Path(scratch, "work")
        shutil.copytree(texts, folder)
        try:
            return job.values(Place(program, folder, project, record))
        except (CommandFailed, OSError, ValueError, KeyError, IndexError) as error:
            return {"failed": f"{type(error).__name__}: {error}"}
        finally:
            if keep:
                shutil.copytree(folder, keep / job.key, symlinks=True, dirs_exist_ok=True)


def run_jobs(jobs, program, project, record, keep=None):
    """Key -> values of every job, two at a time."""
    with tempfile.TemporaryDirectory(prefix="alibi-record-") as scratch:
        texts = pathlib.Path(scratch, "texts")
        write_texts(texts)
        workers = min(4, os.cpu_count() or 1)
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            results = pool.map(lambda job: run_job(job, program, project, record, texts, keep), jobs)
            return {job.key: values for job, values in zip(jobs, results)}
