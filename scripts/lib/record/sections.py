"""The record's sections: a JSON file each, and what has to be written before its cases can be run."""
import fnmatch

from . import comparing, evaluation, exports, folders, inspecting, prepare, refusals, training

SECTIONS = {"training": training, "evaluation": evaluation, "exports": exports, "prepare": prepare, "folders": folders,
            "compare": comparing, "inspect": inspecting, "refusals": refusals}
PREPARED = {"folders": folders.prepare, "refusals": refusals.prepare}


def jobs(record, pattern):
    """The cases whose key fits the pattern, also those that this processor cannot run."""
    return [job for section in SECTIONS.values() for job in section.jobs(record) if fnmatch.fnmatchcase(job.key, pattern)]


def prepare_sections(program, record, pattern):
    """Writes what the chosen sections keep beside their values."""
    for name, write in PREPARED.items():
        if fnmatch.fnmatchcase(name, pattern.split("/")[0]):
            write(program, record)
