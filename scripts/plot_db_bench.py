# SPDX-License-Identifier: Apache-2.0
"""Prints a table of the outputs of db_bench in a run of scripts/db_bench.sh, and draws a picture of it."""

import argparse
import os
import re
import sys

from charts import bars
from figures import cpu_name, read_rows, save_report

FILTERS = {"bloom12": "Bloom", "bloom12_first_key": "Bloom, first-key index", "surf04": "SuRF",
           "proteus12": "Proteus", "proteus12_taught": "Proteus, taught"}
# What the picture shows, each with the filter whose color it has.
DRAWN = {"bloom12": "bloom:12", "bloom12_first_key": "bloom:12+first_key", "surf04": "surf:0:4", "proteus12": "proteus:12"}

WORKLOADS = {"get": "Get, 99.9 % absent", "closed10": "seek, bound, 99 % empty", "closed1000": "seek, bound, 37 % empty",
             "open": "seek, no bound", "scan10": "seek and 10 Next", "window10": "sensor's window, 99 % empty",
             "next": "sensor's next record", "timeseries": "timeseries, while writing"}


def number(pattern, text, path):
    found = re.search(pattern, text)
    if not found:
        sys.exit(f"{path} has no line with {pattern}")
    return float(found.group(1))


def ticker(name, text, path):
    return number(rf"(?m)^rocksdb\.{re.escape(name)} COUNT : (\d+)$", text, path)


def read(folder, name, workload):
    """The results of a run, or None if the workload was not run with the filter."""
    path = os.path.join(folder, f"{name}.{workload}.txt")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as report:
        text = report.read()
    # The reader's line is the last one: the writer of the time series reports before it.
    line = re.findall(r"(?m)^\w+ +: +[\d.]+ micros/op.*$", text)[-1]
    seconds = number(r"([\d.]+) seconds", line, path)
    found = int(number(r"\((\d+) of \d+ found", text, path))
    reads = int(number(r"\(\d+ of (\d+) found", text, path))
    if workload == "timeseries":
        # Flushes and compactions go on meanwhile, so the reading thread's own counters are read.
        missed = number(r"\bblock_read_count = (\d+)", text, path)
        for other in ("index", "filter"):
            missed -= number(rf"\b{other}_block_read_count = (\d+)", text, path)
        used = missed + number(r"\bblock_cache_hit_count = (\d+)", text, path)
        seconds = None  # its reads are paced
    else:
        missed = ticker("block.cache.data.miss", text, path)
        used = missed + ticker("block.cache.data.hit", text, path)
    filtered = (ticker("last.level.seek.filtered", text, path) + ticker("non.last.level.seek.filtered", text, path) +
                ticker("bloom.filter.useful", text, path))
    return {"ops": seconds and reads / seconds, "used": used / reads, "missed": missed / reads, "filtered": filtered / reads,
            "found": found}


def bits_per_key(folder, name, workload):
    """Bits per key over all filters, from the sums of `protean inspect` for each level."""
    kind = "series" if workload in ("window10", "next") else "numbers"
    levels = read_rows(os.path.join(folder, f"{name}.{kind}.inspect.txt"))
    return 8 * sum(level["filter_bytes"] for level in levels) / sum(level["keys"] for level in levels)


def check(results):
    """Checks that the number of keys found does not depend on the filter, since the seed does not either."""
    for workload in WORKLOADS:
        found = {name: row["found"] for (name, key), row in results.items() if key == workload and row}
        if workload != "timeseries" and len(set(found.values())) > 1:
            sys.exit(f"{workload}: the filters disagree on how many keys there are: {found}")


def table(results, bits):
    lines = ["| | filter | bits per key | operations per second | blocks used | blocks read | files spared |",
             "|---|---|---:|---:|---:|---:|---:|"]
    for workload, title in WORKLOADS.items():
        for name, label in FILTERS.items():
            row = results[name, workload]
            if row:
                size = "–" if workload == "timeseries" else f"{bits[name, workload]:.1f}"
                ops = f"{row['ops']:,.0f}" if row["ops"] else "–"
                lines.append(f"| {title} | {label} | {size} | {ops} | {row['used']:.3f} | {row['missed']:.3f} | "
                             f"{row['filtered']:.2f} |")
                title = ""
    return "\n".join(lines)


def draw(results):
    groups = {title: [results[name, workload] and results[name, workload]["used"] for name in DRAWN]
              for workload, title in WORKLOADS.items()}
    return bars("Data blocks used by an operation of db_bench", "A million records in three sorted runs. Lower is better.",
                groups, {FILTERS[name]: color for name, color in DRAWN.items()})


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", metavar="FOLDER", help="the folder of the run")
    folder = options.parse_args().folder
    results = {(name, workload): read(folder, name, workload) for name in FILTERS for workload in WORKLOADS}
    check(results)
    bits = {key: bits_per_key(folder, *key) for key, row in results.items() if row and key[1] != "timeseries"}
    text = table(results, bits)
    print(text)
    save_report(os.path.join(folder, "db_bench.md"), f"{cpu_name()}, {os.cpu_count()} cores\n\n{text}\n")
    save_report(os.path.join(folder, "db_bench.svg"), draw(results))


if __name__ == "__main__":
    main()
