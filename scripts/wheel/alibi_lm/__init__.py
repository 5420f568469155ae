"""The program `alibi` from Python: training and measuring, each in a process of its own.

    import alibi_lm
    run = alibi_lm.train("quickstart.json", {"run.train_tokens": 500000})
    curve = alibi_lm.evaluate(run, lengths=["1x", "4x"])
    print(curve["curves"][0]["points"][-1]["perplexity"])

Nothing is computed here: what the program prints with --json is returned. Progress goes to standard error.
"""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, Union

__all__ = ["AlibiError", "evaluate", "program", "run", "train"]
__version__ = "@VERSION@"

Path = Union[str, "os.PathLike[str]"]


class AlibiError(RuntimeError):
    """The program failed; `code` is its exit code, the message its last line."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def program() -> pathlib.Path:
    """The program's file."""
    return pathlib.Path(__file__).parent / "bin" / "alibi"


def run(*words: Path) -> str:
    """Runs `alibi WORDS...`, shows its progress, and returns its standard output. Raises AlibiError where it fails."""
    command = [os.fspath(program()), *map(os.fspath, words)]
    with tempfile.TemporaryFile() as out:
        with subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, encoding="utf-8", errors="replace") as process:
            last = ""
            for line in process.stderr or ():
                last = line.strip() or last
                sys.stderr.write(line)
        if process.returncode != 0:
            raise AlibiError(last or f"alibi ended with {process.returncode}", process.returncode)
        out.seek(0)
        return out.read().decode("utf-8")


def _sets(changes: Mapping[str, Any] | None) -> list[str]:
    return [word for key, value in (changes or {}).items() for word in ("--set", f"{key}={json.dumps(value, default=os.fspath)}")]


def train(config: Path | Mapping[str, Any], changes: Mapping[str, Any] | None = None, *, resume: bool = False) -> pathlib.Path:
    """Trains by a config, a file or what one holds, with changes such as {"run.seed": 1}; returns the run's folder."""
    with tempfile.TemporaryDirectory() as folder:
        file = config
        if isinstance(config, Mapping):
            file = pathlib.Path(folder, "config.json")
            file.write_text(json.dumps(config, default=os.fspath), encoding="utf-8")
        words = ["train", file, *_sets(changes)]
        resolved = json.loads(run(*words, "--print-config"))["run"]
        run(*words, *(["--resume"] if resume else []))
    return pathlib.Path(resolved.get("folder") or pathlib.Path("runs", resolved["name"]))


def evaluate(runs: Path | Sequence[Path], *, lengths: str | Sequence[str] | None = None, text: Path | Sequence[Path] = (),
             changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Measures a run, or several on the same text; returns what curve.json holds (answers.json of a task)."""
    folders = [runs] if isinstance(runs, (str, os.PathLike)) else list(runs)
    words: list[Path] = ["evaluate", *folders, "--json", *_sets(changes)]
    if lengths:
        words += ["--lengths", lengths if isinstance(lengths, str) else ",".join(lengths)]
    for file in [text] if isinstance(text, (str, os.PathLike)) else text:
        words += ["--text", file]
    found: dict[str, Any] = json.loads(run(*words))
    return found
