"""What /proc/cpuinfo says of this machine's processor."""
import os
import pathlib


def fields():
    found = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        found.setdefault(name.strip(), value.strip())
    return found


def flags():
    return set(fields().get("flags", "").split())


def model_name():
    return fields().get("model name", "?")


def describe():
    """As it stands beside a speed."""
    products = [name for name in ("avx512_bf16", "amx_bf16") if name in flags()]
    # Virtual machines may call every generation by one name.
    kind = f"family {fields().get('cpu family', '?')}, model {fields().get('model', '?')}"
    return f"{model_name()} ({kind}), {os.cpu_count()} cores, {' '.join(products) or 'no bf16 products'}"
