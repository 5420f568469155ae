"""Checks lines per file and function, and parameters per function, of the project's C++ and Python.

usage: python3 scripts/check_sizes.py [FOLDER...]     default: src tests scripts

Faults (one line each, exit 1): a file over 500 lines; fewer than 90 % of files within 300; a function over 80 lines;
fewer than 93 % within 40; more than 1 % of functions with over 6 parameters. Reported only: headers over 100 lines.
"""
import ast
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from cpp_functions import Function, cpp_functions  # noqa: E402

FILE_LIMIT, FILE_USUAL, FILE_SHARE = 500, 300, 0.90
HEADER_USUAL = 100
FUNCTION_LIMIT, FUNCTION_USUAL, FUNCTION_SHARE = 80, 40, 0.93
PARAMETER_USUAL, PARAMETER_SHARE = 6, 0.01
CPP = (".cc", ".h", ".cu", ".cuh")
SKIPPED_FOLDERS = {"__pycache__", "golden", "build"}


def kind_of(path):
    if path.endswith(CPP):
        return "cpp"
    if path.endswith(".py"):
        return "python"
    if path.endswith(".sh"):
        return "shell"
    if "." in os.path.basename(path):
        return None
    with open(path, "rb") as file:
        first = file.readline()
    return "python" if b"python" in first else "shell" if first.startswith(b"#!") else None


def source_files(folders):
    for top in folders:
        for folder, below, names in os.walk(top):
            below[:] = sorted(name for name in below if name not in SKIPPED_FOLDERS)
            for name in sorted(names):
                path = os.path.join(folder, name)
                kind = kind_of(path)
                if kind:
                    yield path, kind


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            names = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
            yield Function(node.name, node.lineno, node.end_lineno - node.lineno + 1, len(names))


def share(part, whole):
    return part / whole if whole else 1.0


def file_faults(files):
    for path, lines in files:
        if lines > FILE_LIMIT:
            yield f"{path}: {lines} lines; a file has at most {FILE_LIMIT}"
    usual = share(sum(lines <= FILE_USUAL for _, lines in files), len(files))
    if usual < FILE_SHARE:
        long = ", ".join(f"{path} ({lines})" for path, lines in files if lines > FILE_USUAL)
        yield f"{100 * usual:.1f} % of files have at most {FILE_USUAL} lines; expected {100 * FILE_SHARE:.0f} %: {long}"


def function_faults(functions):
    for path, function in functions:
        if function.lines > FUNCTION_LIMIT:
            yield f"{path}:{function.line}: {function.name} has {function.lines} lines; at most {FUNCTION_LIMIT}"
    usual = share(sum(function.lines <= FUNCTION_USUAL for _, function in functions), len(functions))
    if usual < FUNCTION_SHARE:
        yield (f"{100 * usual:.1f} % of functions have at most {FUNCTION_USUAL} lines; expected "
               f"{100 * FUNCTION_SHARE:.0f} %")
        for path, function in functions:
            if function.lines > FUNCTION_USUAL:
                yield f"{path}:{function.line}: {function.name} has {function.lines} lines"
    wide = [(path, function) for path, function in functions if function.parameters > PARAMETER_USUAL]
    if functions and len(wide) > PARAMETER_SHARE * len(functions):
        yield f"{len(wide)} of {len(functions)} functions have more than {PARAMETER_USUAL} parameters; expected 1 %"
        for path, function in wide:
            yield f"{path}:{function.line}: {function.name} has {function.parameters} parameters"


def measure(folders):
    files, functions = [], []
    for path, kind in source_files(folders):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        files.append((path, text.count("\n") + (not text.endswith("\n"))))
        if kind == "cpp":
            functions += [(path, function) for function in cpp_functions(text)]
        elif kind == "python":
            functions += [(path, function) for function in python_functions(text)]
    return files, functions


def main():
    files, functions = measure([folder for folder in sys.argv[1:] or ["src", "tests", "scripts"]])
    faults = list(file_faults(files)) + list(function_faults(functions))
    for fault in faults:
        print(fault, file=sys.stderr)
    for path, lines in files:
        if path.endswith((".h", ".cuh")) and lines > HEADER_USUAL:
            print(f"check: sizes: note: {path} has {lines} lines (headers: about {HEADER_USUAL})")
    long = sum(function.lines > FUNCTION_USUAL for _, function in functions)
    print(f"check: sizes: {len(files)} files, {sum(lines for _, lines in files)} lines; {len(functions)} functions, "
          f"{long} over {FUNCTION_USUAL} lines")
    sys.exit(1 if faults else 0)


main()
