"""Prints a table of what db_bench has said in a run of scripts/db_bench.sh, and draws a picture of it.

usage: plot_db_bench.py FOLDER
"""

import json
import os
import re
import sys

import figures
from figures import plt

FILTERS = {"bloom12": "Bloom", "bloom12_first_key": "Bloom, first-key index", "surf04": "SuRF",
           "proteus12": "Proteus", "proteus12_taught": "Proteus, taught"}

WORKLOADS = {"get": "Get,\n99.9 % absent", "closed10": "seek, bound,\n99 % empty",
             "closed1000": "seek, bound,\n37 % empty", "open": "seek,\nno bound", "scan10": "seek and\n10 Next",
             "window10": "sensor's window,\n99 % empty", "next": "sensor's\nnext record",
             "timeseries": "timeseries,\nwhile writing"}


def number(pattern, text, path):
    found = re.search(pattern, text)
    if not found:
        sys.exit(f"{path} has no line with {pattern}")
    return float(found.group(1))


def ticker(name, text, path):
    return number(rf"(?m)^rocksdb\.{re.escape(name)} COUNT : (\d+)$", text, path)


def read(folder, name, workload):
    """What the run says, or None if the workload was not run with the filter."""
    path = os.path.join(folder, f"{name}.{workload}.txt")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as report:
        text = report.read()
    # The last one: before it, the writer of the time series has reported.
    line = re.findall(r"(?m)^\w+ +: +[\d.]+ micros/op.*$", text)[-1]
    seconds = number(r"([\d.]+) seconds", line, path)
    found = int(number(r"\((\d+) of \d+ found", text, path))
    reads = int(number(r"\(\d+ of (\d+) found", text, path))
    if workload == "timeseries":
        # Flushes and compactions go on meanwhile, so the reading thread's own counters.
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
    """Of all filters, as `protean inspect` sums them up for each level."""
    kind = "series" if workload in ("window10", "next") else "numbers"
    with open(os.path.join(folder, f"{name}.{kind}.inspect.txt"), encoding="utf-8") as report:
        levels = [json.loads(line) for line in report]
    return 8 * sum(level["filter_bytes"] for level in levels) / sum(level["keys"] for level in levels)


def check(results):
    """The same seed asks for the same: what was found must not depend on the filter."""
    for workload in WORKLOADS:
        found = {name: row["found"] for (name, key), row in results.items() if key == workload and row}
        if workload != "timeseries" and len(set(found.values())) > 1:
            sys.exit(f"{workload}: the filters disagree on how many keys there are: {found}")


def markdown(results, bits):
    lines = ["| | filter | bits per key | operations per second | blocks used | blocks read | files spared |",
             "|---|---|---:|---:|---:|---:|---:|"]
    for workload, title in WORKLOADS.items():
        title = title.replace("\n", " ")
        for name, label in FILTERS.items():
            row = results[name, workload]
            if row:
                size = "–" if workload == "timeseries" else f"{bits[name, workload]:.1f}"
                ops = f"{row['ops']:,.0f}" if row["ops"] else "–"
                lines.append(f"| {title} | {label} | {size} | {ops} | {row['used']:.3f} | {row['missed']:.3f} | "
                             f"{row['filtered']:.2f} |")
                title = ""
    return "\n".join(lines)


def draw(results, folder):
    figure, panels = plt.subplots(2, 1, figsize=(11, 6.5), sharex=True)
    width = 0.84 / len(FILTERS)
    for panel, field, label, form in ((panels[0], "used", "data blocks used by an operation", "%.2f"),
                                      (panels[1], "ops", "operations per second", "%.2g")):
        for n, (name, title) in enumerate(FILTERS.items()):
            shown = [(i, results[name, w][field]) for i, w in enumerate(WORKLOADS)
                     if results[name, w] and results[name, w][field]]
            places = [i + (n - (len(FILTERS) - 1) / 2) * width for i, _ in shown]
            bars = panel.bar(places, [value for _, value in shown], width, label=title)
            if field == "used":
                panel.bar_label(bars, fmt=form, fontsize=6)
        panel.set_ylabel(label)
        panel.spines[["top", "right"]].set_visible(False)
    panels[1].set_yscale("log")
    panels[1].set_xticks(range(len(WORKLOADS)), list(WORKLOADS.values()), fontsize=8)
    panels[0].legend(fontsize=8, frameon=False, ncol=len(FILTERS), loc="lower center", bbox_to_anchor=(0.5, 1))
    figures.save(figure, folder, "db_bench.png", legend=False)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    results = {(name, workload): read(folder, name, workload) for name in FILTERS for workload in WORKLOADS}
    check(results)
    bits = {key: bits_per_key(folder, *key) for key, row in results.items() if row and key[1] != "timeseries"}
    table = markdown(results, bits)
    print(table)
    with open(os.path.join(folder, "db_bench.md"), "w", encoding="utf-8") as page:
        print(f"{figures.cpu_name()}, {os.cpu_count()} cores\n\n{table}", file=page)
    draw(results, folder)


if __name__ == "__main__":
    main()
