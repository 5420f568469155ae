"""Attention's time and memory by length, and the exponents of the powers of the length that fit them best.

usage: measure.py PROGRAM FOLDER      writes FOLDER/complexity.json and FOLDER/README.md

Each row and length is a process of its own (alibi bench attention, one sequence, 8 heads of 32, bf16, hashing included): the median
of its calls, and its peak memory less that of a process at the shortest length with the least to do, which is mostly the program.
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts/lib"))
import processor  # noqa: E402
from whole_file import write_whole  # noqa: E402

LENGTHS = (1024, 4096, 16384, 65536)
LONGEST_WHOLE = 16384  # scores of all pairs at 65,536 tokens are 64 GiB
ROWS = (  # pattern (R: the root of the length; none: all keys), further options, longest length
    ("all scores kept (LibTorch with a mask)", "", ["runtime.attention.skip=off"], LONGEST_WHOLE),
    ("all keys", "", ["runtime.attention.skip=off"], LENGTHS[-1]),
    ("all keys, ALiBi's far blocks skipped", "", [], LENGTHS[-1]),
    *((pattern.replace("{R}", "root of length"), pattern, ["runtime.attention.skip=off"], LENGTHS[-1])
      for pattern in ("strided({R})", "fixed({R}, 8)", "window(256)", "dilated(256, 4)", "blockwise(256)", "global(64) + window(1)",
                      "random(3)", "window(192) + global(64) + random(3)")),
    ("window(64), (128), (256) and all keys, two heads each, as hard-ALiBi has them",
     'heads 0-1: window(64)", "heads 2-3: window(128)", "heads 4-5: window(256)', ["runtime.attention.skip=off"], LENGTHS[-1]),
    ("lsh(64, 64, 1)", "lsh(64, 64, 1)", [], LENGTHS[-1]),
)


def measure(program, pattern, options, length, libtorch):
    if pattern:
        options = [*options, f'model.attention_pattern=["{pattern.replace("{R}", str(math.isqrt(length)))}"]']
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder, "attention.json")
        command = [program, "bench", "attention", "--lengths", str(length), "--tokens", str(length), "--seconds", "1", "--output", output]
        for option in ["model.width=256", "model.heads=8", *options]:
            command += ["--set", option]
        if not libtorch:
            command += ["--without-libtorch"]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        if status != 0:
            sys.exit(f"complexity: error: alibi bench attention ended with {os.waitstatus_to_exitcode(status)}")
        rows = json.loads(output.read_text(encoding="utf-8"))["rows"]
        row = next(row for row in rows if row["kernel"].startswith("libtorch") == libtorch)
        return {"length": length, "forward_seconds": row["forward_seconds"], "both_seconds": row["both_seconds"],
                "visited_share": row.get("visited_share"), "peak_memory_bytes": usage.ru_maxrss * 1024}


def exponent(points):
    """Slope of the least-squares line through (log length, log value)."""
    points = [(math.log(length), math.log(value)) for length, value in points if value > 0]
    middle_x, middle_y = (sum(each) / len(points) for each in zip(*points))
    return sum((x - middle_x) * (y - middle_y) for x, y in points) / sum((x - middle_x) ** 2 for x, _ in points)


def visited_blocks(point):
    blocks = point["length"] // 64
    return point["visited_share"] * blocks * (blocks + 1) / 2


def page(rows, base, device):
    lines = ["# What attention costs by length", "",
             f"Forward and backward in ms, and the peak memory of the process less that of the smallest one; one sequence, 8 heads of 32, "
             f"bf16; {device}. Exponents are those of a power of the length, fitted to the logarithms; memory's from 4,096 on. Linear biases "
             "everywhere; blocks that they make too small to matter are left out in the one row that says so. In theory time grows by 2 for all "
             "keys, 1.5 for strided and fixed keys whose stride is the root of the length, 1 for windows, blocks, drawn blocks, global and hashed "
             "keys; memory by 2 where all scores are kept, else by 1. `scripts/reproduce complexity` wrote this.", "",
             "| keys | " + " | ".join(f"{length:,}" for length in LENGTHS) + " | exponent | memory, MiB | exponent |",
             "|---" * (len(LENGTHS) + 4) + "|"]
    for row in rows:
        cells = [f"{1e3 * p['both_seconds']:,.1f}" for p in row["points"]]
        cells += ["-"] * (len(LENGTHS) - len(cells))
        memory = [(p["length"], p["peak_memory_bytes"] - base) for p in row["points"]]
        lines.append(f"| {row['name']} | {' | '.join(cells)} | {exponent([(p['length'], p['both_seconds']) for p in row['points']]):.2f} "
                     f"| {', '.join(f'{value / 2**20:,.0f}' for _, value in memory)} | {exponent(memory[1:]):.2f} |")
    lines += ["", "Key blocks (64 keys for 64 queries of a head) that were visited, and the time of one, forward and backward, in microseconds:", "",
              "| keys | " + " | ".join(f"{length:,}" for length in LENGTHS) + " |", "|---" * (len(LENGTHS) + 1) + "|"]
    for row in rows:
        if all(p["visited_share"] is not None for p in row["points"]) and row["points"][-1]["length"] == LENGTHS[-1]:
            cells = [f"{visited_blocks(p):,.0f}: {1e6 * p['both_seconds'] / visited_blocks(p) / 8:.2f}" for p in row["points"]]
            lines.append(f"| {row['name']} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main(program, folder):
    base = measure(program, "", [], 64, False)["peak_memory_bytes"]
    rows = []
    for number, (name, pattern, options, longest) in enumerate(ROWS):
        points = [measure(program, pattern, options, length, libtorch=number == 0) for length in LENGTHS if length <= longest]
        rows.append({"name": name, "pattern": pattern, "options": options, "points": points})
        print(f"{name}: " + ", ".join(f"{1e3 * p['both_seconds']:.1f} ms" for p in points), flush=True)
    device = f"{processor.model_name()}, {os.cpu_count()} threads"
    folder = pathlib.Path(folder)
    text = json.dumps({"device": device, "base_memory_bytes": base, "rows": rows}, indent=1)
    write_whole(folder / "complexity.json", text + "\n")
    write_whole(folder / "README.md", page(rows, base, device))


main(*sys.argv[1:])
