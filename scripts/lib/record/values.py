"""What is recorded of a file or a figure.

A recorded value is a tree of dicts and lists. Its leaves are numbers, truths, null and strings. A string that begins
with "bits:" depends on the processor and is compared on the same kind of machine only.
"""
import hashlib
import json
import re
import struct

# Of a log line or a curve: what differs from run to run, or is prose.
UNSTEADY = {"seconds", "tokens_per_second", "train_seconds", "train_tokens_per_second", "peak_memory_bytes", "created",
            "command_line", "program_version", "description", "document_borders", "treatment", "updated",
            "identity", "checkpoint_sha256"}  # the last two hold a number of the program's own
PROSE = {"selection", "note"}  # recorded by the numbers in it


def digest(content):
    """A short SHA-256, of bytes or text; 64 bits are enough where nobody means harm."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()[:16]


def bits(content):
    return "bits:" + digest(content)


def numbers(text):
    """The numbers in a sentence or a printed table, which may be worded otherwise some day."""
    return " ".join(re.findall(r"-?\d[\d.,]*(?:e[+-]?\d+)?", text))


def steady(value):
    """A JSON value without what differs from run to run."""
    if isinstance(value, dict):
        return {key: numbers(part) if key in PROSE else steady(part) for key, part in value.items() if key not in UNSTEADY}
    return [steady(part) for part in value] if isinstance(value, list) else value


def log_lines(path):
    """The lines of a log.jsonl; of a skipped step the fact, not the sentence. Without those that say that a run goes on
    with another arithmetic: that is so on each kind of machine but the one of its folder."""
    lines = [steady(json.loads(line)) for line in path.read_text().splitlines()]
    lines = [line for line in lines if not str(line.get("changed", "")).startswith("arithmetic: ")]
    return [{**line, "skipped": True} if "skipped" in line else line for line in lines]


def tensors(path):
    """Name -> (dtype, shape, bytes) of a safetensors file."""
    content = path.read_bytes()
    size, = struct.unpack_from("<Q", content)
    head = json.loads(content[8:8 + size])
    head.pop("__metadata__", None)
    return {name: (about["dtype"], about["shape"], content[8 + size + about["data_offsets"][0]:
                                                           8 + size + about["data_offsets"][1]])
            for name, about in sorted(head.items())}


def tensor_bits(path):
    """Names, types and shapes of a safetensors file, and its numbers, whatever their order in the file."""
    found = tensors(path)
    return {"shapes": digest(json.dumps({name: (dtype, shape) for name, (dtype, shape, _) in found.items()})),
            "numbers": bits(b"".join(content for _, _, content in found.values()))}
