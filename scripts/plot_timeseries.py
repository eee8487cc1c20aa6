# SPDX-License-Identifier: Apache-2.0
"""Draws the README's picture from a report of protean_bench: the data blocks that each kind of query reads. Python alone does
it."""

import argparse
import math
import os
import sys
from xml.sax.saxutils import escape

from figures import read_rows, save_report

# The kinds of queries: name in the report, share of empty results, and a label of two lines.
KINDS = (("point", None, ("Get", "absent key")), ("open_seek", None, ("Seek", "no bound")),
         ("closed_seek", 0.5, ("Seek with a bound", "half of them empty")),
         ("closed_seek", 0.99, ("Seek with a bound", "99 % of them empty")))
LABELS = {"none": "no filter", "bloom:14+first_key": "Bloom filter, index of first keys", "surf:0:4": "Protean: SuRF",
          "proteus:12": "Protean: Proteus"}
COLORS = ("#a3a9b1", "#e0a030", "#58a6d6", "#14508c")

WIDTH, HEIGHT = 960, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 110, 60
BAR = 38  # the width of a bar
CHARACTER = 6.9  # the width of a character of the legend, about


def blocks_read(rows, name, query, empty_share):
    """The blocks that a query reads with a filter; None if it was not measured."""
    return next((row["block_reads_per_op"] for row in rows if row["filter"] == name and row["query"] == query
                 and (empty_share is None or abs(row["empty_share"] - empty_share) < 0.005)), None)


def axis_step(largest):
    """The distance between the lines of an axis, which are round numbers."""
    steps = (factor * 10.0 ** exponent for exponent in range(-3, 9) for factor in (1, 2, 5))
    return next(step for step in steps if largest <= 6 * step)


def text(x, y, words, size=13, anchor="middle", style=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" {style}>{escape(words)}</text>'


def draw(rows, names):
    """The picture, as SVG."""
    groups = [[blocks_read(rows, name, query, share) for name in names] for query, share, _ in KINDS]
    largest = max((value for group in groups for value in group if value is not None), default=0)
    step = axis_step(largest)
    top = step * max(1, math.ceil(largest / step))
    bottom = HEIGHT - BOTTOM

    def height(value):
        return (bottom - TOP) * value / top

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif" fill="#1b1f24">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        text(LEFT, 34, "Data blocks read for each query", 20, "start", 'font-weight="bold"'),
        text(LEFT, 56, "Time series in three sorted runs of RocksDB. Lower is better.", 14, "start", 'fill="#5b6470"'),
    ]
    x = LEFT
    for name, color in zip(names, COLORS):
        label = LABELS.get(name, name)
        parts += [f'<rect x="{x:.1f}" y="74" width="14" height="14" rx="2" fill="{color}"/>',
                  text(x + 20, 86, label, 13, "start")]
        x += 20 + CHARACTER * len(label) + 24
    for i in range(round(top / step) + 1):
        y = bottom - height(i * step)
        parts += [f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{"#1b1f24" if i == 0 else "#e3e7eb"}"/>',
                  text(LEFT - 10, y + 4.5, f"{i * step:g}", 13, "end", 'fill="#5b6470"')]
    group_width = (WIDTH - LEFT - RIGHT) / len(KINDS)
    for i, ((_, _, label), group) in enumerate(zip(KINDS, groups)):
        middle = LEFT + (i + 0.5) * group_width
        parts += [text(middle, bottom + 22, label[0], 14), text(middle, bottom + 42, label[1], 13, style='fill="#5b6470"')]
        for j, (value, color) in enumerate(zip(group, COLORS)):
            if value is None:
                continue
            left, upper = middle + (j - len(names) / 2) * (BAR + 4) + 2, bottom - height(value)
            parts += [f'<rect x="{left:.1f}" y="{upper:.1f}" width="{BAR}" height="{bottom - upper:.1f}" fill="{color}"/>',
                      text(left + BAR / 2, upper - 6, f"{value:.2f}", 12)]
    return "\n".join([*parts, "</svg>", ""])


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("report", metavar="REPORT.jsonl", help="what protean_bench --json_file has written")
    options.add_argument("folder", metavar="FOLDER", help="where the picture goes, timeseries.svg")
    args = options.parse_args()
    rows = read_rows(args.report)
    if not rows:
        sys.exit(f"{args.report} holds no results")
    filters = list(dict.fromkeys(row["filter"] for row in rows))
    shown = [name for name in filters if name in LABELS] or filters[:len(COLORS)]
    save_report(os.path.join(args.folder, "timeseries.svg"), draw(rows, shown))


if __name__ == "__main__":
    main()
