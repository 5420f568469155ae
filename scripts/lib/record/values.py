"""What is recorded of a file or a figure.

A recorded value is a tree of dicts and lists. Its leaves are numbers, truths, null and strings. A string that begins
with "bits:" depends on the processor and is compared on the same kind of machine only.
"""
import hashlib
import json
import struct

# Of a log line or a curve: what differs from run to run, or is prose.
UNSTEADY = {"seconds", "tokens_per_second", "peak_memory_bytes", "created", "command_line", "program_version",
            "description", "document_borders", "treatment", "updated"}


def digest(content):
    """A short SHA-256, of bytes or text; 64 bits are enough where nobody means harm."""
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()[:16]


def bits(content):
    return "bits:" + digest(content)


def steady(value):
    """A JSON value without what differs from run to run."""
    if isinstance(value, dict):
        return {key: steady(part) for key, part in value.items() if key not in UNSTEADY}
    return [steady(part) for part in value] if isinstance(value, list) else value


def log_lines(path):
    return [steady(json.loads(line)) for line in path.read_text().splitlines()]


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
    """A hash for each tensor of a safetensors file, of its type, shape and bytes."""
    return {name: bits(f"{dtype} {shape} ".encode() + content) for name, (dtype, shape, content) in tensors(path).items()}


def all_bits(path):
    """One hash over all tensors of a safetensors file, whatever their order in it."""
    return bits(json.dumps(tensor_bits(path), sort_keys=True))
