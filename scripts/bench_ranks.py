#!/usr/bin/env python3
"""Times training steps on several processes, beside one process, in interleaved rounds.

usage: scripts/bench_ranks.py PROGRAM CONFIG [--ranks 1,2,4] [--reduce exact,fast] [--link MBIT]
                              [--rounds 5] [--steps 12] [--set KEY=VALUE ...] [--json FILE]

All runs have the same lanes (the largest number of ranks), so that they compute the same bits. Each
rank has its share of the cores. With --link every rank lives in a network namespace of its own,
behind a token bucket of that rate (needs root, iproute2): what a step costs more than on the
loopback, beside what its bytes take on such a link, shows how much of the exchange is hidden.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

WARM_UP_STEPS = 2
PORT = 29470


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("config")
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--reduce", default="exact,fast")
    parser.add_argument("--link", type=float, help="Mbit/s")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--set", action="append", default=[], dest="settings")
    parser.add_argument("--json", help="file for every round's median")
    return parser.parse_args()


def quiet(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class Links:
    """One namespace for each rank, all on one bridge."""

    def __init__(self, ranks, megabits):
        self.names = [f"alibi-{os.getpid()}-{rank}" for rank in range(ranks)]
        self.hub = f"alibi-{os.getpid()}-hub"
        try:
            self.connect(megabits)
        except BaseException:
            self.close()
            raise

    def connect(self, megabits):
        for name in [self.hub] + self.names:
            quiet("ip", "netns", "add", name)
        self.within(self.hub, "ip", "link", "add", "bridge", "type", "bridge")
        self.within(self.hub, "ip", "link", "set", "bridge", "up")
        for rank, name in enumerate(self.names):
            port = f"port{rank}"
            quiet("ip", "link", "add", "wire", "netns", name, "type", "veth", "peer", "name", port, "netns", self.hub)
            self.within(self.hub, "ip", "link", "set", port, "master", "bridge", "up")
            self.within(name, "ip", "link", "set", "lo", "up")
            self.within(name, "ip", "addr", "add", f"10.77.0.{rank + 1}/24", "dev", "wire")
            self.within(name, "ip", "link", "set", "wire", "up")
            self.within(name, "tc", "qdisc", "add", "dev", "wire", "root", "tbf", "rate", f"{megabits}mbit",
                        "burst", "256kb", "latency", "50ms")

    def within(self, name, *command):
        quiet("ip", "netns", "exec", name, *command)

    def prefix(self, rank):
        return ["ip", "netns", "exec", self.names[rank]]

    def close(self):
        for name in [self.hub] + self.names:
            subprocess.run(["ip", "netns", "delete", name], check=False, stderr=subprocess.DEVNULL)


def step_seconds(folder):
    steps = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    seconds = [step["seconds"] for step in steps if "loss" in step]
    return statistics.median(seconds[WARM_UP_STEPS:])


def sent_bytes(text):
    found = re.search(r"sent ([0-9.]+) (\w+) a step", text)
    units = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
    return float(found[1]) * units[found[2]] if found else 0.0


def run(options, ranks, reduce, link):
    folder = pathlib.Path(tempfile.mkdtemp()) / "run"
    lanes = max(map(int, options.ranks.split(",")))
    command = [options.program, "train", options.config]
    for setting in options.settings + [f"run.folder={folder}", f"batch.lanes={lanes}", f"distributed.reduce={reduce}",
                                       "run.validation_tokens=1"]:
        command += ["--set", setting]
    links = Links(ranks, link) if link and ranks > 1 else None
    try:
        if links:
            store = ["--world-size", str(ranks), "--store", f"tcp://10.77.0.1:{PORT}"]
            places = [links.prefix(rank) + command + ["--rank", str(rank)] + store for rank in range(ranks)]
        else:
            places = [command + ["--processes", str(ranks)]]
        threads = max(1, os.cpu_count() // ranks)
        started = [subprocess.Popen(place + ["--set", f"runtime.threads={threads}"], stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True) for place in places]
        texts = [one.communicate()[0] for one in started]
        for one, text in zip(started, texts):
            if one.returncode != 0:
                sys.exit(f"{' '.join(one.args)}: exit code {one.returncode}\n{text}")
        return step_seconds(folder), sent_bytes(texts[0])
    finally:
        if links:
            links.close()
        shutil.rmtree(folder.parent)


def tokens_a_step(options):
    settings = [word for setting in options.settings for word in ("--set", setting)]
    text = subprocess.run([options.program, "train", options.config, "--print-config"] + settings, check=True,
                          capture_output=True, text=True).stdout
    batch = json.loads(text)["batch"]
    return batch["sequence_length"] * batch["sequences"]


def main():
    options = arguments()
    tokens = tokens_a_step(options)
    options.settings.append(f"run.train_tokens={tokens * options.steps}")
    cases = [(1, "exact", None)]
    for ranks in map(int, options.ranks.split(",")):
        for reduce in options.reduce.split(","):
            if ranks > 1:
                cases += [(ranks, reduce, None)] + ([(ranks, reduce, options.link)] if options.link else [])
    rounds, sent = [], {}
    for _ in range(options.rounds):
        seconds = {}
        for case in cases:
            seconds[case], sent[case] = run(options, *case)
        rounds.append(seconds)
    print("| processes | reduce | link | ms a step (median, range) | beside one process | sent by rank 0 a step | alone on the link |")
    print("|---|---|---|---|---|---|---|")
    for case in cases:
        times = [seconds[case] for seconds in rounds]
        ratios = [seconds[case] / seconds[cases[0]] for seconds in rounds]
        link = f"{case[2]:g} Mbit/s" if case[2] else "loopback"
        on_link = f"{sent[case] * 8 / case[2] / 1e3:.0f} ms" if case[2] else ""
        print(f"| {case[0]} | {case[1]} | {link if case[0] > 1 else ''} | {statistics.median(times) * 1e3:.0f} "
              f"({min(times) * 1e3:.0f} to {max(times) * 1e3:.0f}) | {statistics.median(ratios):.2f} "
              f"({min(ratios):.2f} to {max(ratios):.2f}) | {sent[case] / 1e6:.1f} MB | {on_link} |")
    if options.json:
        rows = [{"processes": case[0], "reduce": case[1], "link_mbit": case[2], "sent_bytes": sent[case],
                 "seconds": [seconds[case] for seconds in rounds]} for case in cases]
        pathlib.Path(options.json).write_text(json.dumps({"tokens_a_step": tokens, "rows": rows}, indent=1))


main()
