"""Files that are written whole or not at all."""
import os
import pathlib


def write_whole(file, text):
    """By an atomic rename: a stop leaves what was there."""
    file = pathlib.Path(file)
    part = file.with_name(f"{file.name}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, file)
