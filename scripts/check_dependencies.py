"""Holds scripts/dependencies.md against what is installed; one line for each fault, exit 1.

usage: python3 scripts/check_dependencies.py

System packages are asked of dpkg where it is there (what is not installed is left out: setup installs it); pinned ones
must be named with the same version by the scripts that fetch them.
"""
import os
import re
import shutil
import subprocess
import sys

TABLE = "scripts/dependencies.md"


def rows():
    with open(TABLE, encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) == 6 and cells[0] not in ("name", "---"):
                yield cells[0], cells[1], cells[5]


def numbers(version):
    return [int(part) for part in re.findall(r"\d+", version)[:3]]


def installed(package):
    if not shutil.which("dpkg-query"):
        return None
    found = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=False)
    version = re.sub(r"^\d+:", "", found.stdout.strip())
    return version if found.returncode == 0 and version else None


def scripts_text():
    text = ""
    for entry in sorted(os.scandir("scripts/lib"), key=lambda entry: entry.name):
        if entry.is_file():  # Python keeps a folder of its own there
            with open(entry.path, encoding="utf-8") as file:
                text += file.read()
    return text


def main():
    faults, seen = [], 0
    fetched = scripts_text()
    for name, version, least in rows():
        seen += 1
        if version.endswith("pinned"):
            pinned = version.split()[0]
            if not re.search(rf"{name.upper()}_VERSION={re.escape(pinned)}\b|{name}(?:-|==| ){re.escape(pinned)}\b", fetched):
                faults.append(f"{name}: {TABLE} pins {pinned}, scripts/lib fetches another version")
            found = pinned
        else:
            found = installed(name)
        if found and numbers(found) < numbers(least):
            faults.append(f"{name}: found {found}, expected at least {least}")
    if seen < 7:
        faults.append(f"{TABLE}: found {seen} rows, expected every dependency")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
