"""Folders that an earlier program wrote: runs to go on with, checkpoints to evaluate, prepared texts to open.

They are kept in folders.tar.xz. Each case was recorded from the program that wrote them: a run that was never
interrupted, its curve, its pages.
"""
import io
import json
import pathlib
import shutil
import tarfile
import tempfile

from . import pages
from .evaluation import curve
from .jobs import Job, Place
from .texts import write_texts
from .training import DOCUMENTS, TOLERANCE, newest_checkpoint, settings, state_of, train
from .values import digest

KEPT = "folders.tar.xz"
SMALL = ("model.layers=1", "model.width=16", "model.heads=2")
PREPARED = ('data.train=["prepared"]', "data.valid=[]", "tokenizer.kind=bpe", "tokenizer.vocabulary=300")
# Runs that were stopped at step 7 of 10, after the checkpoint of step 5.
HALFWAY = {
    "learned-slopes-fp32": (*SMALL, "model.learned_slopes=true", "model.residual_dropout=0.1"),
    "documents-bf16": (*SMALL, *DOCUMENTS, "runtime.precision=bf16"),
    "prepared-t5-fp32": (*SMALL, *PREPARED, "model.position=t5", "guard.spikes=skip", "guard.spike_window=8"),
}
# A finished run whose log has steps left out and, from the eleventh on, another learning rate.
FINISHED = (*SMALL, "schedule.kind=constant", "guard.spikes=skip", "guard.spike_window=8", "guard.spike_deviations=1",
            "optimizer.clip_norm=0")
FINISHED_PARTS = (("optimizer.learning_rate=1",), ("optimizer.learning_rate=0.001", "run.train_tokens=7680"))


def named(name, changes):
    return (f"run.name={name}", *changes)


def stop_halfway(run):
    """Leaves of a finished run what a crash in its eighth step would have left."""
    for name in ("report.html", "log.csv"):
        (run / name).unlink()
    for path in run.glob("events.*"):
        path.unlink()
    shutil.rmtree(newest_checkpoint(run))
    lines = (run / "log.jsonl").read_text().splitlines(keepends=True)
    (run / "log.jsonl").write_text("".join(line for line in lines if json.loads(line).get("step", 0) <= 7))


def write_folders(place):
    place.path("prepared-config.json").write_text('{"data": {"train": ["text.txt"], "valid": ["held.txt"]}}')
    place.works("prepare", "prepared-config.json", *settings(PREPARED[2:]), "--output", "prepared")
    for name, changes in HALFWAY.items():
        train(place, named(name, changes))
        stop_halfway(place.path("runs", name))
    train(place, named("finished", (*FINISHED, *FINISHED_PARTS[0])))
    train(place, named("finished", (*FINISHED, *FINISHED_PARTS[1])), resume=True)
    run = place.path("runs/finished")
    shutil.rmtree(min((run / "checkpoints").iterdir()))
    for path in (*run.glob("events.*"), run / "report.html", run / "log.csv"):
        path.unlink()


def packed(folder, names):
    """A tar of some folders, the same bytes for the same files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(path for name in names for path in (folder / name).rglob("*") if path.is_file()):
            about = tarfile.TarInfo(str(path.relative_to(folder)))
            about.size, about.mode = path.stat().st_size, 0o644
            archive.addfile(about, io.BytesIO(path.read_bytes()))
    return buffer.getvalue()


def write_kept(program, record):
    """Writes the folders; `program` is the one that the record is made of."""
    with tempfile.TemporaryDirectory(prefix="alibi-record-") as scratch:
        folder = pathlib.Path(scratch, "work")
        write_texts(folder)
        write_folders(Place(program, folder, record))
        (record / KEPT).write_bytes(packed(folder, ("prepared", "runs")))


def open_folders(place):
    with tarfile.open(place.record / KEPT) as archive:
        archive.extractall(place.folder)


def uninterrupted(name):
    def values(place):
        open_folders(place)
        shutil.rmtree(place.path("runs", name))
        train(place, named(name, HALFWAY[name]))
        return state_of(place.path("runs", name))
    return values


def resumed(name):
    def values(place):
        open_folders(place)
        train(place, named(name, HALFWAY[name]), resume=True)
        return state_of(place.path("runs", name))
    return values


def evaluated(name):
    def values(place):
        open_folders(place)
        return {"checksums": place.run("inspect", "checkpoint", f"runs/{name}").code,
                **curve(place, "curve", "1x,2x", (), f"runs/{name}")}
    return values


def opened(place):
    """Prepared text of an earlier program, trained on."""
    open_folders(place)
    train(place, PREPARED)
    return state_of(place.path("runs/small"))


def pages_of_a_log(place):
    """The pages that a start of a finished run makes of its log."""
    open_folders(place)
    train(place, named("finished", (*FINISHED, *FINISHED_PARTS[1])), resume=True)
    run = place.path("runs/finished")
    found, = run.glob("events.*")
    return {"log": digest((run / "log.jsonl").read_bytes()), "csv": (run / "log.csv").read_text().splitlines(),
            "events": pages.events(found), "page": pages.page(run / "report.html")}


def jobs(_record):
    halfway = [Job(f"folders/resumed-{name}", resumed(name), original=uninterrupted(name), tolerance=TOLERANCE[name[-4:]])
               for name in HALFWAY]
    curves = [Job(f"folders/evaluated-{name}", evaluated(name), tolerance=TOLERANCE.get(name[-4:], 1e-3))
              for name in (*HALFWAY, "finished")]
    return [*halfway, *curves, Job("folders/prepared", opened), Job("folders/pages", pages_of_a_log)]
