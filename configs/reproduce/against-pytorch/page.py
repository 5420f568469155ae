"""The page of a race, in Markdown.

usage: page.py FOLDER      holds against-pytorch.json (race.py)
"""
import json
import pathlib
import sys

from race import page

if __name__ == "__main__":
    print(page(json.loads(pathlib.Path(sys.argv[1], "against-pytorch.json").read_text(encoding="utf-8"))), end="")
