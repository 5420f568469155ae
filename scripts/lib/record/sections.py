"""The record's sections: a JSON file each, and what has to be written before its cases can be run."""
import fnmatch

from . import comparing, evaluation, exports, folders, inspecting, prepare, refusals, training

SECTIONS = {"training": training, "evaluation": evaluation, "exports": exports, "prepare": prepare, "folders": folders,
            "compare": comparing, "inspect": inspecting, "refusals": refusals}
KEPT = {folders.KEPT: folders.write_kept, refusals.KEPT: refusals.write_kept}


def jobs(record, pattern):
    """The cases whose key fits the pattern, also those that this processor cannot run."""
    return [job for section in SECTIONS.values() for job in section.jobs(record) if fnmatch.fnmatchcase(job.key, pattern)]


def write_kept(program, record):
    """Writes what the record keeps beside values, where it is not there yet."""
    for name, write in KEPT.items():
        if not (record / name).exists():
            write(program, record)
