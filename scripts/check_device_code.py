"""Checks what nvcc made of the device's kernels, without a device.

usage: python3 scripts/check_device_code.py [--counts] LIBRARY CUOBJDUMP

--counts prints what is counted as a table. One line for each fault, exit 1. Every attention kernel must be there for sm_80 and
sm_90a, multiply on tensor cores (bf16, sums in fp32), copy global memory to shared memory asynchronously, 16 bytes at once, load
fragments by ldmatrix, and keep what it works on in registers; PTX of compute_80 must be there for later devices. Cross-entropy and
layer norm must be there too, reading and writing 16 bytes at once. What a warp executes for one tile, for 16 logits of each lane, or
for a row of 768 numbers' gradient is counted: a loop that grew, or a kernel of which fewer blocks fit on a multiprocessor, is a fault.
"""
import collections
import re
import subprocess
import sys

TARGETS = ("sm_80", "sm_90a")
TILED = ("AttentionForward", "AttentionQueryGradient", "AttentionKeyGradient")
BIASES = ("slopes", "table", "terms", "shown")  # in the order of BiasKind
KERNELS = [(name, width, "slopes") for name in TILED for width in (64, 96, 128, 192, 256)]
KERNELS += [(name, width, bias) for name in TILED for width in (64, 128, 256) for bias in ("table", "terms", "shown")]
KERNELS += [("AttentionDistanceGradient", width, bias) for width in (64, 128, 256) for bias in ("table", "shown")]
INSTRUCTIONS = {
    "tensor-core products": r"HMMA\.16816\.F32\.BF16",
    "asynchronous copies of 16 bytes": r"LDGSTS\.E\.BYPASS\.128",
    "ldmatrix": r"LDSM\.16\.M88\.4",
    "transposed ldmatrix": r"LDSM\.16\.MT88\.4",
    "exponentials in base 2": r"MUFU\.EX2",
}
CROSS_ENTROPY = ("cross_entropy", 0, "")
ROW_INSTRUCTIONS = {
    "reads of 16 bytes": r"LDG\.E\.128",
    "writes of 16 bytes": r"STG\.E\.128",
    "exponentials in base 2": r"MUFU\.EX2",
}
# Kernels by the warps of a row and the chunks of eight numbers that each of their lanes has.
NORMS = {(1, 2): 512, (1, 3): 768, (1, 4): 1024, (8, 1): 2048, (8, 2): 4096, (8, 4): 8192}  # the largest width
NORM_KERNELS = [(name, width, "norm") for name in ("norm", "norm_gradient") for width in NORMS.values()]
NORM_INSTRUCTIONS = {
    "reads of 16 bytes": r"LDG\.E\.128 ",
    "reads of 16 constant bytes": r"LDG\.E\.128\.CONSTANT",
    "writes of 16 bytes": r"STG\.E\.128",
}
# Instructions of a warp for the gradient of a row of 768, about 3 % more than when last looked at.
NORM_GRADIENT = ("norm_gradient", 768, "norm")
NORM_GRADIENT_LOOP = 590
# Instructions of a warp for two chunks of eight logits a lane, by chunks written and exponentials: about 3 % more than when last
# looked at.
ROW_LOOPS = {(0, 17): ("sum", 100), (2, 16): ("gradient", 88)}
# Bytes a thread; else none.
MOST_STACK = {
    ("AttentionDistanceGradient", 128, "shown"): 16,
    ("AttentionForward", 64, "shown"): 24,
    ("AttentionForward", 256, "shown"): 136,
    ("AttentionKeyGradient", 64, "shown"): 8,
    ("AttentionKeyGradient", 64, "table"): 8,
    ("AttentionQueryGradient", 256, "shown"): 40,
    ("AttentionQueryGradient", 192, "slopes"): 8,
    ("AttentionQueryGradient", 256, "table"): 24,
    ("AttentionQueryGradient", 256, "terms"): 64,
}
# Registers a thread; else 255, what an instruction can name. 168 let three blocks of four warps share a multiprocessor's 65536,
# 32 two of 32.
MOST_REGISTERS = {
    ("AttentionForward", 96, "slopes"): 168,
    ("AttentionQueryGradient", 64, "slopes"): 168,
    ("AttentionQueryGradient", 96, "slopes"): 168,
    CROSS_ENTROPY: 32,
    # Of eight warps: four blocks of the forward kernels, but for the widest; of the gradients' two, where chunks are few four.
    **{("norm", width, "norm"): 128 if chunks == 4 else 64 for (_, chunks), width in NORMS.items()},
    **{("norm_gradient", width, "norm"): {1: 64, 4: 255}.get(chunks, 128) for (_, chunks), width in NORMS.items()},
}
# Instructions of a warp for a tile that is seen whole, and products among them: about 3 % more than when last looked at.
TILES = {
    ("AttentionForward", 64, "slopes"): (810, 128),
    ("AttentionForward", 64, "table"): (820, 128),
    ("AttentionForward", 64, "terms"): (830, 128),
    ("AttentionForward", 64, "shown"): (842, 128),
    ("AttentionForward", 128, "slopes"): (662, 128),
    ("AttentionForward", 128, "table"): (675, 128),
    ("AttentionForward", 128, "terms"): (683, 128),
    ("AttentionForward", 128, "shown"): (688, 128),
    ("AttentionQueryGradient", 64, "slopes"): (511, 96),
    ("AttentionQueryGradient", 64, "table"): (523, 96),
    ("AttentionQueryGradient", 64, "terms"): (582, 96),
    ("AttentionQueryGradient", 64, "shown"): (551, 96),
    ("AttentionQueryGradient", 128, "slopes"): (755, 192),
    ("AttentionQueryGradient", 128, "table"): (773, 192),
    ("AttentionQueryGradient", 128, "terms"): (822, 192),
    ("AttentionQueryGradient", 128, "shown"): (797, 192),
    ("AttentionKeyGradient", 64, "slopes"): (650, 128),
    ("AttentionKeyGradient", 64, "table"): (694, 128),
    ("AttentionKeyGradient", 64, "terms"): (731, 128),
    ("AttentionKeyGradient", 64, "shown"): (732, 128),
    ("AttentionKeyGradient", 128, "slopes"): (617, 128),
    ("AttentionKeyGradient", 128, "table"): (641, 128),
    ("AttentionKeyGradient", 128, "terms"): (654, 128),
    ("AttentionKeyGradient", 128, "shown"): (664, 128),
    ("AttentionDistanceGradient", 64, "table"): (660, 64),
    ("AttentionDistanceGradient", 64, "shown"): (675, 64),
    ("AttentionDistanceGradient", 128, "table"): (877, 128),
    ("AttentionDistanceGradient", 128, "shown"): (892, 128),
}
# A tile's work, which no way around the loop may leave out: products, copies and exponentials.
WORK = re.compile(r"HMMA|LDGSTS|MUFU\.EX2")


def dump(program, library, *options):
    return subprocess.run([program, *options, library], capture_output=True, text=True, check=True).stdout


def kernel_of(symbol):
    """(name, head width, kind of bias) of a mangled kernel, or None."""
    if "run_cross_entropy" in symbol:
        return CROSS_ENTROPY
    if match := re.search(r"run_(norm|norm_gradient)ILi(\d)ELi(\d)E", symbol):
        return match[1], NORMS[int(match[2]), int(match[3])], "norm"
    match = re.search(r"(Attention[A-Z][A-Za-z]+)I.*?DeviceBlockELi(\d+).*?BiasKindE(\d)", symbol)
    return (match[1], int(match[2]), BIASES[int(match[3])]) if match else None


def words_of(kernel, target):
    if kernel in NORM_KERNELS:
        return f"{kernel[0]}, rows of up to {kernel[1]}, {target}"
    return f"{kernel[0]}, heads of {kernel[1]}, {kernel[2]}, {target}" if kernel[1] else f"{kernel[0]}, {target}"


def instructions_of(kernel):
    if kernel == CROSS_ENTROPY:
        return ROW_INSTRUCTIONS
    if kernel in NORM_KERNELS:
        return NORM_INSTRUCTIONS
    if kernel[0] == "AttentionDistanceGradient":  # sums, and multiplies no more
        return {what: pattern for what, pattern in INSTRUCTIONS.items() if "transposed" not in what}
    return INSTRUCTIONS


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


def without_predicate(instruction):
    return re.sub(r"^@!?\w+\s+", "", instruction)


def branch_of(instruction, places):
    """(index branched to, whether the next instruction may follow), or None."""
    operation = without_predicate(instruction)
    if not operation.startswith("BRA"):
        return None
    target = places.get(int(re.search(r"0x([0-9a-f]+)$", operation)[1], 16))
    # BRA.DIV is taken by a warp whose lanes are apart.
    return target, operation != instruction or bool(re.search(r"BRA\.DIV|BRA\S* !?U?P\d", operation))


def loops_of(lines):
    """The instructions, the branches among them by index, and (first, last) of every loop."""
    code = [(int(address, 16), text) for address, text in (re.split(r"\*/\s+", line, maxsplit=1) for line in lines)]
    places = {address: i for i, (address, text) in enumerate(code)}
    branches = [branch_of(text, places) for address, text in code]
    # Behind the kernel's end: what a warp whose lanes are apart does, and goes back.
    end = min((branch[0] for branch, (_, text) in zip(branches, code) if branch and branch[0] is not None and "BRA.DIV" in text),
              default=len(code))
    back = [(branch[0], i) for i, branch in enumerate(branches[:end]) if branch and branch[0] is not None and branch[0] <= i]
    return [text for address, text in code], branches, back


def row_loops_of(lines):
    """{(chunks written, exponentials): instructions} of the loops that read two chunks a lane."""
    code, _, loops = loops_of(lines)
    bodies = [code[first : last + 1] for first, last in loops]
    count = lambda body, name: sum(name in text for text in body)
    return {(count(body, "STG.E.128"), count(body, "MUFU.EX2")): len(body) for body in bodies if count(body, "LDG.E.128") == 2}


def norm_loop_of(lines):
    """Instructions of the loop over rows, which is the one that writes them."""
    code, _, loops = loops_of(lines)
    return max((last + 1 - first for first, last in loops if any("STG.E.128" in text for text in code[first : last + 1])), default=0)


def tile_of(lines):
    """The instructions of the main loop's shortest way around that has all its work, [] without a loop of products."""
    code, branches, back = loops_of(lines)
    work = [1 if WORK.match(without_predicate(text)) else 0 for text in code]
    products = [1 if "HMMA" in text else 0 for text in code]
    loops = [(first, last) for first, last in back if any(products[first : last + 1])]
    if not loops:
        return []
    first, last = max(loops, key=lambda loop: (sum(products[loop[0] : loop[1] + 1]), loop[0] - loop[1]))
    best, after = {}, {}  # from an instruction to the loop's end: (work, -instructions); what follows it
    for i in range(last, first - 1, -1):
        following = [i + 1] if not branches[i] or branches[i][1] else []
        following += [branches[i][0]] if branches[i] else []
        ways = [((0, 0), None) if next_one == first else (best[next_one], next_one) for next_one in following
                if next_one == first or (next_one is not None and i < next_one <= last and next_one in best)]
        if ways and not re.match(r"EXIT|RET", code[i]):
            (done, length), after[i] = max(ways, key=lambda way: way[0])
            best[i] = (done + work[i], length - 1)
    tile, i = [], first
    while i is not None:
        tile.append(code[i])
        i = after.get(i)
    return tile


def count_faults(code, registers):
    for target in TARGETS:
        for kernel, (most, products) in TILES.items():
            tile = tile_of(code.get((target, kernel), []))
            words = words_of(kernel, target)
            found = sum("HMMA" in instruction for instruction in tile)
            if found != products:
                yield f"{words}: {found} products in the main loop, expected {products}"
            if len(tile) > most:
                yield f"{words}: {len(tile)} instructions a tile, expected at most {most}"
        for kernel, most in MOST_REGISTERS.items():
            for count in registers.get((target, kernel), ["unknown"]):
                if not count.isdigit() or int(count) > most:
                    yield f"{words_of(kernel, target)}: {count} registers a thread, expected at most {most}"
        norm_loop = norm_loop_of(code.get((target, NORM_GRADIENT), []))
        if not 0 < norm_loop <= NORM_GRADIENT_LOOP:
            yield f"{words_of(NORM_GRADIENT, target)}: {norm_loop} instructions a row, expected at most {NORM_GRADIENT_LOOP}"
        loops = row_loops_of(code.get((target, CROSS_ENTROPY), []))
        for work, (name, most) in ROW_LOOPS.items():
            if loops.get(work, most + 1) > most:
                yield f"{words_of(CROSS_ENTROPY, target)}: {loops.get(work, 'no')} instructions in the loop of the {name}, expected at most {most}"


def print_counts(code, registers, stacks):
    print("| kernel | width | bias | target | instructions a tile | products | registers | bytes spilled |")
    print("|---|---|---|---|---|---|---|---|")
    for kernel in TILES:
        for target in TARGETS:
            place = (target, kernel)
            tile = tile_of(code[place])
            print(f"| {kernel[0]} | {kernel[1]} | {kernel[2]} | {target} | {len(tile)} | {sum('HMMA' in one for one in tile)} | {registers[place][0]} |"
                  f" {stacks[place][0]} |")
    print("\n| loop of cross-entropy, 16 logits a lane | target | instructions | registers |\n|---|---|---|---|")
    for work, (name, _) in ROW_LOOPS.items():
        for target in TARGETS:
            place = (target, CROSS_ENTROPY)
            print(f"| {name} | {target} | {row_loops_of(code[place]).get(work)} | {registers[place][0]} |")
    print("\n| kernel of layer norm | rows of up to | target | instructions a row | registers |\n|---|---|---|---|---|")
    for kernel in NORM_KERNELS:
        for target in TARGETS:
            place = (target, kernel)
            loop = norm_loop_of(code[place]) if kernel[0] == "norm_gradient" else len(code[place])
            print(f"| {kernel[0]} | {kernel[1]} | {target} | {loop} | {registers[place][0]} |")


def faults_of(code, stacks, ptx):
    for target in TARGETS:
        for kernel in [*KERNELS, CROSS_ENTROPY, *NORM_KERNELS]:
            place, words = (target, kernel), words_of(kernel, target)
            if place not in code:
                yield f"{words}: not in the library"
                continue
            for what, pattern in instructions_of(kernel).items():
                if not any(re.search(rf"\s{pattern}", line) for line in code[place]):
                    yield f"{words}: found no {what} ({pattern})"
            most = MOST_STACK.get(kernel, 0)
            for stack in stacks.get(place, ["unknown"]):
                if not stack.isdigit() or int(stack) > most:
                    yield f"{words}: {stack} bytes of stack a thread, expected at most {most}: registers are spilled"
    if "sm_80.ptx" not in ptx:
        yield "PTX of compute_80: not in the library"


def main():
    options = sys.argv[1:]
    counts = options[0] == "--counts"
    library, program = options[counts:]
    code = by_kernel(dump(program, library, "-sass"), r"/\*([0-9a-f]{4,}\*/\s+[^;]+?)\s*;")
    usage = dump(program, library, "-res-usage")
    stacks, registers = by_kernel(usage, r"STACK:(\d+)"), by_kernel(usage, r"REG:(\d+)")
    faults = list(faults_of(code, stacks, dump(program, library, "-lptx"))) + list(count_faults(code, registers))
    if counts:
        print_counts(code, registers, stacks)
    for fault in faults:
        print(f"{library}: {fault}", file=sys.stderr)
    if not faults:
        print(f"check: device code: {len(code)} kernels")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
