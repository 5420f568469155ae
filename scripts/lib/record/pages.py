"""What is recorded of pages, pictures and tables: parts apart, without times and memory."""
import csv
import html
import io
import re
import struct

from .values import UNSTEADY, digest

UNSTEADY_COLUMNS = ("tokens/s", "memory", "time")  # ends of their names
CLOCK = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
VERSION = re.compile(r"alibi \d+\.\d+\.\d+")
SHA256 = re.compile(r"\b[0-9a-f]{64}\b")  # recorded beside the page, where it does not hold the program's version


def without_columns(table):
    """An HTML table's text without the columns of time and memory."""
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in re.findall(r"<tr.*?</tr>", table, re.S)]
    left_out = {i for i, cell in enumerate(rows[0]) if cell.endswith(UNSTEADY_COLUMNS)} if rows else set()
    return "\n".join("|".join(cell for i, cell in enumerate(row) if i not in left_out) for row in rows)


def page(path):
    """Digests of the parts of a page: its style and scripts, its pictures in order, its words."""
    text = path.read_text(encoding="utf-8")
    for pattern in (CLOCK, VERSION, SHA256):
        text = pattern.sub("", text)
    style = re.findall(r"<style.*?</style>", text, re.S)
    scripts = re.findall(r"<script.*?</script>", text, re.S)
    pictures = re.findall(r"<svg.*?</svg>", text, re.S)
    words = re.sub(r"<(svg|style|script).*?</\1>", "", text, flags=re.S)
    words = re.sub(r"<table.*?</table>", lambda found: without_columns(found.group()), words, flags=re.S)
    words = html.unescape(re.sub(r"<[^>]*>", "", words))
    return {"style": digest("".join(style)), "scripts": [digest(each) for each in scripts],
            "pictures": [picture(each) for each in pictures], "words": digest(words)}


def picture(svg):
    """A picture's lines and its words apart."""
    labels = re.compile(r"(?<=>)[^<>]*(?=</text>)|(?<=aria-label=\")[^\"]*|<title>.*?</title>", re.S)
    return {"shapes": digest(labels.sub("", svg)), "labels": digest("\n".join(labels.findall(svg)))}


def table(path):
    """A digest of each line of a CSV file, without the columns of time and memory and those of the protocol."""
    rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))
    kept = [i for i, name in enumerate(rows[0]) if not name.endswith(tuple(UNSTEADY)) and not name.startswith("protocol_")]
    return [digest(",".join(row[i] for i in kept)) for row in rows]


def fields(message):
    """(number, value) of each field of a protocol buffer; values of length are bytes, others ints or floats."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(key & 7) or varint()
        part = message[at:at + size]
        at += size
        yield key >> 3, struct.unpack({1: "<d", 5: "<f"}[key & 7], part)[0] if key & 7 in (1, 5) else part


def events(path):
    """[step, tag, value] of each figure in a TensorBoard file, and [step, text] of its other entries, by step and tag."""
    content, at, found = path.read_bytes(), 0, []
    while at < len(content):
        size, = struct.unpack_from("<Q", content, at)
        event = dict(fields(content[at + 12:at + 12 + size]))  # behind a size and its checksum
        at += 12 + size + 4
        for number, part in fields(event.get(5, b"")):
            value = dict(fields(part)) if number == 1 else {}
            found.append([event.get(2, 0), value.get(1, b"").decode(), value.get(2)])
        if 3 in event:
            found.append([event.get(2, 0), event[3].decode()])
    return sorted(found, key=lambda entry: entry[:2])
