# SPDX-License-Identifier: Apache-2.0
"""Draws the blocks that reads take over the size of the block cache, from 1 % of all filters' bytes on, and writes tables of
blocks and bytes into docs/results/cache_sizes.md: absent keys, bounded and unbounded seeks, with RocksDB's Bloom filters,
whole and partitioned, and with Proteus. Absent keys are measured twice: with filters that have learned from such Gets alone,
and from all three kinds of reads. All figures are in cache_sizes.txt, in the build folder. Runs protean_bench, which must be
built: about 5 minutes on 2 cores, most of it for whole filters.
"""

import argparse
import os
import shlex
import sys

from charts import lines
from figures import add_report_options, machine, markdown, positive, run_rows, save_report, save_tables, table

LABELS = {"no filter": "none+partitioned", "Bloom, whole": "bloom:12", "Bloom, partitioned": "bloom:12+partitioned",
          "Proteus": "proteus:12"}
PARTITIONED_BLOOM, PROTEUS = list(LABELS.values())[2:]
PERCENTS = (1, 5, 10, 25, 50, 100, 150)
ALL = "point,closed_seek,open_seek"
# What is measured: the kinds of queries that are asked, and taught, and the one that is shown.
PANELS = {"Get, absent key; filters taught by Gets": ("point", "point"), "Get, absent key": (ALL, "point"),
          "Seek with a bound, 99 % empty": (ALL, "closed_seek"), "Seek, no bound": (ALL, "open_seek")}
DRAWN = ("Get, absent key", "Seek with a bound, 99 % empty", "Seek, no bound")
DISTRIBUTIONS = {"zipf": "Zipf .99", "uniform": "uniform"}
FIELDS = {"block_reads_per_op": ("blocks read", 1), "bytes_read_per_op": ("KB read", 1 / 1024)}
PARTS = ("filter_reads_per_op", "index_reads_per_op", "data_reads_per_op")


class Report:
    """The rows of protean_bench, by the kinds of queries that were asked."""

    def __init__(self, rows):
        self.rows = {(asked, r["filter"], r["query"], r["distribution"], r["cache_percent"]): r
                     for asked, found in rows.items() for r in found}
        self.filters = list(dict.fromkeys(key[1] for key in self.rows))
        self.percents = list(dict.fromkeys(key[4] for key in self.rows))
        self.shards = {r["cache_percent"]: (r["cache_bytes"], r["cache_shards"]) for r in self.rows.values()}

    def line(self, name, panel, distribution):
        """A row for each size of the cache."""
        asked, query = PANELS[panel]
        return [self.rows[asked, name, query, distribution, percent] for percent in self.percents]


def picture(report):
    panels = {title: {label: [row["block_reads_per_op"] for row in report.line(name, title, "zipf")]
                      for label, name in LABELS.items()} for title in DRAWN}
    return lines("Blocks read where the block cache is smaller than all filters",
                 "Data, filters and indexes, per operation over three sorted runs, with filters of 12 bits per key. Lower is better.",
                 panels, "block cache, % of all filters", report.percents, LABELS)


def figures_table(report, title, panel, distribution, cell):
    header = [title, *(f"{percent} %" for percent in report.percents)]
    return table("", header, [[name, *map(cell, report.line(name, panel, distribution))]
                              for name in report.filters]).lstrip("\n")


def panel_tables(report, panel, distribution):
    cells = {label: lambda row, field=field, scale=scale: f"{scale * row[field]:.3f}"
             for field, (label, scale) in FIELDS.items()}
    cells["of filters+indexes+data"] = lambda row: "+".join(f"{row[field]:.2f}" for field in PARTS)
    return "\n".join([f"---- {panel}, {DISTRIBUTIONS[distribution]} ----\n",
                      *(figures_table(report, title, panel, distribution, cell) for title, cell in cells.items())])


def shares(report):
    """What Proteus reads, divided by what partitioned Bloom filters read: a header and rows."""
    def ratios(panel, distribution, field):
        ours, blooms = (report.line(name, panel, distribution) for name in (PROTEUS, PARTITIONED_BLOOM))
        return [f"{a[field] / b[field]:.2f}" if b[field] > 0 else None for a, b in zip(ours, blooms)]

    return (["", *(f"{percent} %" for percent in report.percents)],
            [[f"{panel}, {drawn}: {label}", *ratios(panel, distribution, field)]
             for panel in PANELS for distribution, drawn in DISTRIBUTIONS.items() for field, (label, _) in FIELDS.items()])


def blocks(report, panel):
    """The blocks that each filter reads in a panel, for the page."""
    return markdown([panel, *(f"{percent} %" for percent in report.percents)],
                    [[label, *(f"{row['block_reads_per_op']:.3f}" for row in report.line(name, panel, "zipf"))]
                     for label, name in LABELS.items()])


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_report_options(options)
    options.add_argument("--num", type=positive, default=1_000_000, help="records of 100 bytes (default: 1000000)")
    options.add_argument("--queries", type=positive, default=10_000,
                         help="queries that warm a cache, and as many that are measured (default: 10000)")
    options.add_argument("--percents", default=",".join(map(str, PERCENTS)),
                         help="sizes of the block cache, in percent of 12 bits per record")
    options.add_argument("--db", default="", help="folder for the databases, on a file system that allows direct reads")
    options.add_argument("--quick", action="store_true", help="a trial run in seconds; the numbers mean little")
    args = options.parse_args()
    if args.quick:
        args.num, args.queries, args.percents = 100_000, 200, "2,25,150"

    beginning = machine()
    report = Report({asked: run_rows(args.build_dir, "protean_bench", workload="cache_sizes", cache_queries=asked,
                                     filters=",".join(LABELS.values()), num=args.num, queries=args.queries, value_bytes=92,
                                     cache_percents=args.percents, direct_reads="true", db=args.db)
                     for asked in ("point", ALL)})
    sizes = [["MB", *(f"{size / (1 << 20):.2f}" for size, _ in report.shards.values())],
             ["shards", *(shards for _, shards in report.shards.values())]]
    flags = [flag for flag in sys.argv[1:] if not flag.startswith(("--out", "--build-dir", "--db"))]
    command = shlex.join(["python3", "scripts/cache_figures.py", *flags])
    header, rows = shares(report)
    save_report(f"{args.build_dir}/cache_sizes.txt", "\n".join([
        command, beginning, "", table("the block cache", header, sizes),
        table(f"{PROTEUS}, as a share of {PARTITIONED_BLOOM}", header, rows),
        *(panel_tables(report, panel, distribution) for panel in PANELS for distribution in DISTRIBUTIONS)]))
    os.makedirs(args.out, exist_ok=True)
    save_report(f"{args.out}/cache_sizes.svg", picture(report))
    save_tables(f"{args.out}/cache_sizes.md", {
        "made by": f"`{command}`: {args.num:,} records of 8-byte keys and 92-byte values; {args.queries:,} queries warm each "
                   f"cache, and {args.queries:,} more are measured.",
        "caches": markdown(header, sizes), "shares": markdown(header, rows),
        "blocks": "\n\n".join(blocks(report, panel) for panel in PANELS)})


if __name__ == "__main__":
    main()
