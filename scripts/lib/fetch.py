"""Fetches a pinned file over HTTP, going on where an earlier try stopped. Used by scripts/download-data."""
import fcntl
import hashlib
import http.client
import os
import shutil
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass

BLOCK = 1 << 20
TIMEOUT_SECONDS = 30
TRIES = 4  # per address; a try that brought bytes does not count


@dataclass
class Source:
    name: str
    size: int
    sha256: str
    addresses: list  # all deliver the same bytes; the first that answers is used


def fail(text, code=1):
    print(f"download-data: error: {text}", file=sys.stderr)
    sys.exit(code)


def file_hash(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def show_progress(done, source):
    if sys.stdout.isatty():
        print(f"\rdownload-data: {source.name} {done / 1e6:.0f} of {source.size / 1e6:.0f} MB", end="", flush=True)


def append_rest(address, path, source):
    """One request for what is missing; a server that ignores the range starts the file again."""
    have = os.path.getsize(path) if os.path.exists(path) else 0
    headers = {"User-Agent": "alibi-download-data"}
    if have:
        headers["Range"] = f"bytes={have}-"
    request = urllib.request.Request(address, headers=headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
        mode = "ab" if answer.status == 206 else "wb"
        done = have if mode == "ab" else 0
        with open(path, mode) as file:
            while block := answer.read(BLOCK):
                file.write(block)
                done += len(block)
                show_progress(done, source)
                if done > source.size:
                    return


def fetch_from(address, path, source):
    """True when the file is whole; else the reason as text."""
    reason, tries = "", 0
    while tries < TRIES:
        before = os.path.getsize(path) if os.path.exists(path) else 0
        if before >= source.size:
            break
        try:
            append_rest(address, path, source)
            reason = "the connection closed early"
        except urllib.error.HTTPError as error:
            return f"the server answers {error.code} {error.reason}"
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            reason = str(getattr(error, "reason", error)) or type(error).__name__
        after = os.path.getsize(path) if os.path.exists(path) else 0
        if after <= before:
            tries += 1
            if after == 0 and tries == 2:
                return reason  # nothing at all came: no network
            time.sleep(min(tries, 3))
    found = os.path.getsize(path) if os.path.exists(path) else 0
    return True if found == source.size else f"{found} of {source.size} bytes came: {reason or 'too many bytes'}"


def check(path, source):
    found = file_hash(path)
    if found != source.sha256:
        os.remove(path)
        fail(f"{source.name}: sha256 is {found}, expected {source.sha256}; the file was removed, try again later")


def lock(folder):
    """Waits until no other process works in that folder; held until this one ends."""
    fcntl.flock(os.open(folder, os.O_RDONLY), fcntl.LOCK_EX)


def fetch(source, folder):
    """The path of the whole, checked file in folder."""
    path = os.path.join(folder, source.name)
    if os.path.exists(path):
        return path
    aside = path + ".part"
    free = shutil.disk_usage(folder).free
    if free < 3 * source.size:
        fail(f"{folder}: {free // 10**6} MB free, {source.name} needs {3 * source.size // 10**6} MB to unpack")
    print(f"download-data: {source.name} ({source.size / 1e6:.0f} MB)", flush=True)
    reasons = []
    for address in source.addresses:
        result = fetch_from(address, aside, source)
        if sys.stdout.isatty():
            print()
        if result is True:
            check(aside, source)
            os.replace(aside, path)
            return path
        if os.path.exists(aside) and os.path.getsize(aside) > source.size:
            os.remove(aside)
        reasons.append(f"{address}: {result}")
    fail(f"{source.name} could not be fetched ({'; '.join(reasons)}). Check the network and run the same command again")


def write_lines(path, lines):
    aside = path + ".part"
    count = 0
    with open(aside, "w", encoding="utf-8", newline="\n") as file:
        for line in lines:
            file.write(line)
            count += 1
    if count == 0:
        fail(f"{path}: no document found; the downloaded file is not what was expected")
    os.replace(aside, path)
    print(f"download-data: {path}: {count} lines, {os.path.getsize(path)} bytes", flush=True)
