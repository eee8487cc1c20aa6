"""Draws figures 12 and 13 of the SuRF paper from a report of protean_bench.

usage: plot_timeseries.py REPORT.jsonl FOLDER
"""

import json
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

PANELS = (("ops_per_sec", "Throughput (Kops/s)", 1e-3), ("block_reads_per_op", "Block reads per operation", 1))


def save(figure, path):
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    print("wrote", path)


def figure_12(rows, filters, path):
    """Point and open-seek queries: a bar for each filter."""
    figure, panels = plt.subplots(1, 4, figsize=(14, 3.4))
    for i, (query, name) in enumerate((("point", "Point"), ("open_seek", "Open-Seek"))):
        for j, (field, label, scale) in enumerate(PANELS):
            values = [scale * next(r[field] for r in rows if r["filter"] == f and r["query"] == query) for f in filters]
            panel = panels[2 * i + j]
            panel.bar_label(panel.bar(filters, values, color=[f"C{n}" for n in range(len(filters))]), fmt="%.3g", fontsize=8)
            panel.set_title(f"{name} queries")
            panel.set_ylabel(label)
            panel.margins(y=0.15)
            panel.tick_params(axis="x", labelrotation=30)
    save(figure, path)


def figure_13(rows, filters, path):
    """Closed seeks: a line for each filter over the share of empty results."""
    figure, panels = plt.subplots(1, 2, figsize=(11, 4))
    for panel, (field, label, scale) in zip(panels, PANELS):
        for name in filters:
            points = sorted((100 * r["empty_share"], scale * r[field])
                            for r in rows if r["filter"] == name and r["query"] == "closed_seek")
            panel.plot(*zip(*points), marker="o", label=name)
        panel.set_xlabel("Closed seeks with empty results (%)")
        panel.set_ylabel(label)
        panel.invert_xaxis()
        panel.set_ylim(bottom=0)
        panel.grid(alpha=0.3)
    panels[0].legend()
    save(figure, path)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as report:
        rows = [json.loads(line) for line in report]
    if not rows:
        sys.exit(f"{sys.argv[1]} holds no results")
    filters = list(dict.fromkeys(row["filter"] for row in rows))
    figure_12(rows, filters, os.path.join(sys.argv[2], "figure12.png"))
    if any(row["query"] == "closed_seek" for row in rows):
        figure_13(rows, filters, os.path.join(sys.argv[2], "figure13.png"))


if __name__ == "__main__":
    main()
