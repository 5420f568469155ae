#!/usr/bin/env python3
"""What a step would take on many GPUs: a model on paper, fitted to steps measured by bench_ranks.py.

usage: scripts/scaling_model.py MEASURED.json [MEASURED.json ...] [--rate 50] [--flops 400] [--latency 10]

A step of P parameters on N ranks takes

  compute + max(0, gradients / rate - hidden * compute) + parameters / rate + messages * latency

where gradients and parameters are 4 P (N - 1) / N bytes each: gradients travel while backward goes on,
parameters after the update. `hidden` and the share of a link's rate that is reached are fitted to the
measured steps; --rate (GB/s a GPU, each way), --flops (TFLOP/s a GPU reaches) and --latency
(microseconds a message) are assumed.
"""
import argparse
import json

MODELS = [("124M", 124e6, 0.5e6), ("1.3B", 1.3e9, 1e6), ("7B", 7e9, 4e6)]  # name, parameters, tokens a step
LENGTH = 1024  # trained: a rank needs at least one sequence
GPUS = [8, 64, 256, 1024]
BUCKET = 4 << 20  # bytes, as src/train/shards.h
PIECE = 1 << 20  # bytes, as src/distributed/links.cc


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", nargs="+")
    parser.add_argument("--rate", type=float, default=50)
    parser.add_argument("--flops", type=float, default=400)
    parser.add_argument("--latency", type=float, default=10)
    return parser.parse_args()


def median(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def measured_links(files):
    """Of each row on a link: compute (the same on the loopback), bytes of each half, rate, seconds."""
    links = []
    for file in files:
        with open(file) as text:
            rows = json.load(text)["rows"]
        loopback = {row["processes"]: median(row["seconds"]) for row in rows
                    if row["reduce"] == "exact" and not row["link_mbit"]}
        for row in rows:
            if row["link_mbit"] and row["reduce"] == "exact":
                links.append((loopback[row["processes"]], row["sent_bytes"] / 2, row["link_mbit"] / 8 * 1e6,
                              median(row["seconds"])))
    return links


def step(compute, half, rate, hidden):
    return compute + max(0, half / rate - hidden * compute) + half / rate


def fit(links):
    def error(hidden, reached):
        return sum((step(c, b, r * reached, hidden) / t - 1) ** 2 for c, b, r, t in links)
    grid = [(hidden / 50, reached / 50) for hidden in range(51) for reached in range(25, 51)]
    return min(grid, key=lambda point: error(*point))


def messages(parameters, ranks):
    """That a rank sends in both halves of a step."""
    bucket = max(BUCKET, ranks << 18)
    share = bucket / ranks
    return 2 * max(1, 4 * parameters / bucket) * (ranks - 1) * max(1, share / PIECE)


def main():
    options = arguments()
    links = measured_links(options.measured)
    hidden, reached = fit(links)
    print(f"fitted: {hidden:.2f} of the compute hides gradients, {reached:.2f} of a link's rate is reached\n")
    print("| measured: compute | bytes a half | link | step | by the model |\n|---|---|---|---|---|")
    for compute, half, rate, seconds in links:
        print(f"| {compute * 1e3:.0f} ms | {half / 1e6:.1f} MB | {rate * 8 / 1e6:g} Mbit/s | {seconds * 1e3:.0f} ms | "
              f"{step(compute, half, rate * reached, hidden) * 1e3:.0f} ms |")
    print(f"\n{options.rate:g} GB/s and {options.flops:g} TFLOP/s a GPU, {options.latency:g} us a message:\n")
    print("| model, tokens a step | GPUs | compute | bytes, unhidden | messages | step | of ideal | sequences a GPU |")
    print("|---|---|---|---|---|---|---|---|")
    for name, parameters, tokens in MODELS:
        for gpus in GPUS:
            compute = 6 * parameters * tokens / (gpus * options.flops * 1e12)
            half = 4 * parameters * (gpus - 1) / gpus
            seconds = step(compute, half, options.rate * 1e9 * reached, hidden)
            latency = messages(parameters, gpus) * options.latency * 1e-6
            print(f"| {name}, {tokens / 1e6:g}M | {gpus} | {compute * 1e3:.1f} ms | {(seconds - compute) * 1e3:.1f} ms | "
                  f"{latency * 1e3:.1f} ms | {(seconds + latency) * 1e3:.1f} ms | "
                  f"{100 * compute / (seconds + latency):.0f} % | {tokens / LENGTH / gpus:.3g} |")


main()
