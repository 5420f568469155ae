"""Checks a built program: hardened as asked for, and without any reader of pickled files.

usage: python3 scripts/check_binary.py PROGRAM

Hardened: position independent, all relocations read-only at start (full RELRO), no executable stack, calls of the
checked string functions (fortify), stack protectors. No pickle: torch::load, torch::jit::load, import_ir_module,
pickle_load, Unpickler and the members of torch's InputArchive are not asked for (nn::Module's table of virtual
functions names that class as an argument, which reads nothing). One line for each fault, exit 1. Needs readelf and nm (binutils, which compiling needs too).
"""
import re
import subprocess
import sys

FORBIDDEN = [
    r"torch::load\b",
    r"torch::jit::load\b",
    r"torch::jit::_?import_ir_module",
    r"pickle_load",
    r"Unpickler",
    r"^torch::serialize::InputArchive::",
]


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def hardening_faults(program):
    header = output("readelf", "-hW", program)
    segments = output("readelf", "-lW", program)
    dynamic = output("readelf", "-dW", program)
    symbols = output("nm", "-D", "--undefined-only", program)
    stack = re.search(r"GNU_STACK.*", segments)
    tests = [
        (re.search(r"Type:\s+DYN", header) and re.search(r"FLAGS_1.*\bPIE\b", dynamic), "is not position independent (-pie)"),
        ("GNU_RELRO" in segments, "has no read-only relocations (-z relro)"),
        (re.search(r"BIND_NOW|\bNOW\b", dynamic), "binds symbols late (-z now)"),
        (stack and "RWE" not in stack.group(0), "has an executable stack (-z noexecstack)"),
        (re.search(r"__\w+_chk\b", symbols), "calls no checked function (-D_FORTIFY_SOURCE)"),
        ("__stack_chk_fail" in symbols, "has no stack protectors (-fstack-protector-strong)"),
    ]
    return [text for holds, text in tests if not holds]


def pickle_faults(program):
    faults = []
    for line in output("nm", "-D", "--undefined-only", "-C", program).splitlines():
        name = line.split(" U ", 1)[-1].strip()
        if any(re.search(pattern, name) for pattern in FORBIDDEN):
            faults.append(f"asks for {name}, which reads pickled files")
    return faults


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0 if len(sys.argv) == 2 else 2
    program = sys.argv[1]
    faults = hardening_faults(program) + pickle_faults(program)
    for fault in faults:
        print(f"{program}: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
