"""Draws the README's picture and figures 12 and 13 of the SuRF paper from a report of protean_bench.

usage: plot_timeseries.py REPORT.jsonl FOLDER
"""

import json
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

PANELS = (("ops_per_sec", "Throughput (Kops/s)", 1e-3), ("block_reads_per_op", "Block reads per operation", 1))

LABELS = {"none": "no filter", "bloom:14+first_key": "Bloom, first-key index", "surf:0:4": "SuRF", "proteus:12": "Proteus",
          "oracle": "exact filter"}


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


def overview(rows, filters, path):
    """Blocks read by each kind of query: a group of bars for each kind, a bar for each filter."""
    kinds = (("point", 1.0, "Get,\nabsent key"), ("open_seek", 0.0, "Seek,\nno bound"),
             ("closed_seek", 0.5, "Seek with a bound,\nhalf of them empty"),
             ("closed_seek", 0.99, "Seek with a bound,\n99 % empty"))
    shown = [f for f in filters if f in ("none", "bloom:14+first_key", "surf:0:4", "proteus:12", "oracle")] or filters
    figure, panel = plt.subplots(figsize=(9, 3.2))
    width = 0.8 / len(shown)
    for n, name in enumerate(shown):
        values = [next((r["block_reads_per_op"] for r in rows if r["filter"] == name and r["query"] == query
                        and (query != "closed_seek" or abs(r["empty_share"] - share) < 0.005)), 0)
                  for query, share, _ in kinds]
        places = [i + (n - (len(shown) - 1) / 2) * width for i in range(len(kinds))]
        bars = panel.bar(places, values, width, label=LABELS.get(name, name))
        panel.bar_label(bars, fmt="%.2f", fontsize=7)
    panel.set_xticks(range(len(kinds)), [label for _, _, label in kinds])
    panel.set_ylabel("data blocks read")
    panel.margins(y=0.12)
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(fontsize=8, frameon=False, ncol=len(shown), loc="lower center", bbox_to_anchor=(0.5, 1))
    save(figure, path)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as report:
        rows = [json.loads(line) for line in report]
    if not rows:
        sys.exit(f"{sys.argv[1]} holds no results")
    filters = list(dict.fromkeys(row["filter"] for row in rows))
    overview(rows, filters, os.path.join(sys.argv[2], "timeseries.png"))
    figure_12(rows, filters, os.path.join(sys.argv[2], "figure12.png"))
    if any(row["query"] == "closed_seek" for row in rows):
        figure_13(rows, filters, os.path.join(sys.argv[2], "figure13.png"))


if __name__ == "__main__":
    main()
