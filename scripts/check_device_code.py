"""Checks what nvcc made of the device's kernels, without a device.

usage: python3 scripts/check_device_code.py LIBRARY CUOBJDUMP

One line for each fault, exit 1. Every attention kernel must be there for sm_80 and sm_90a, multiply on tensor cores (bf16, sums in
fp32), copy global memory to shared memory asynchronously, 16 bytes at once, load fragments by ldmatrix, and keep what it works on in
registers; PTX of compute_80 must be there for later devices.
"""
import collections
import re
import subprocess
import sys

TARGETS = ("sm_80", "sm_90a")
KERNELS = ("AttentionForward", "AttentionQueryGradient", "AttentionKeyGradient")
WIDTHS = (64, 96, 128, 192, 256)
INSTRUCTIONS = {
    "tensor-core products": r"HMMA\.16816\.F32\.BF16",
    "asynchronous copies of 16 bytes": r"LDGSTS\.E\.BYPASS\.128",
    "ldmatrix": r"LDSM\.16\.M88\.4",
    "transposed ldmatrix": r"LDSM\.16\.MT88\.4",
    "exponentials in base 2": r"MUFU\.EX2",
}
MOST_STACK = {("AttentionQueryGradient", 256): 16}  # bytes a thread; else none


def dump(program, library, *options):
    return subprocess.run([program, *options, library], capture_output=True, text=True, check=True).stdout


def kernel_of(symbol):
    """(name, head width) of a mangled attention kernel, or None."""
    match = re.search(r"(Attention[A-Z][A-Za-z]+)I.*?DeviceBlockELi(\d+)", symbol)
    return (match[1], int(match[2])) if match else None


def by_kernel(text, line_pattern):
    """{(target, kernel): [matches of the lines below its name]}."""
    found, place, target = collections.defaultdict(list), None, None
    for line in text.splitlines():
        if match := re.search(r"arch = (\w+)|\.(sm_\w+)\.cubin", line):
            target = match[1] or match[2]
        elif match := re.search(r"Function :? ?(\S+)", line):
            kernel = kernel_of(match[1])
            place = (target, kernel) if kernel else None
        elif place and (match := re.search(line_pattern, line)):
            found[place].append(match[1])
    return found


def faults_of(code, stacks, ptx):
    for target in TARGETS:
        for name in KERNELS:
            for width in WIDTHS:
                place = (target, (name, width))
                words = f"{name}, heads of {width}, {target}"
                if place not in code:
                    yield f"{words}: not in the library"
                    continue
                for what, pattern in INSTRUCTIONS.items():
                    if not any(re.match(pattern, instruction) for instruction in code[place]):
                        yield f"{words}: found no {what} ({pattern})"
                most = MOST_STACK.get((name, width), 0)
                for stack in stacks.get(place, ["unknown"]):
                    if not stack.isdigit() or int(stack) > most:
                        yield f"{words}: {stack} bytes of stack a thread, expected at most {most}: registers are spilled"
    if "sm_80.ptx" not in ptx:
        yield "PTX of compute_80: not in the library"


def main():
    library, program = sys.argv[1:]
    code = by_kernel(dump(program, library, "-sass"), r"\*/\s+(?:@!?\w+\s+)?([A-Z][A-Z0-9_.]+)")
    stacks = by_kernel(dump(program, library, "-res-usage"), r"STACK:(\d+)")
    faults = list(faults_of(code, stacks, dump(program, library, "-lptx")))
    for fault in faults:
        print(f"{library}: {fault}", file=sys.stderr)
    if not faults:
        print(f"check: device code: {len(code)} kernels")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
