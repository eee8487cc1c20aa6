# SPDX-License-Identifier: Apache-2.0
"""Draws block reads, bytes read and operations per second over the size of the block cache, from 1 % of all filters' bytes
on, and prints them as tables: absent keys, closed seeks and open seeks, with RocksDB's filters and Protean's, whole and
partitioned. Runs protean_bench, which must be built: about 10 minutes on 2 cores, most of it for whole filters.
"""

import os
import shlex
import sys

from figures import add_report_options, machine, parser, plt, positive, read_rows, run_rows, save, save_report, table

STOCK = ("none", "none+partitioned", "bloom:12", "bloom:12+first_key", "bloom:12+partitioned",
         "bloom:12+partitioned+decoupled", "ribbon:12", "ribbon:12+partitioned")
PROTEUS = ("proteus:12", "proteus:12+partitioned", "proteus:12+partitioned+decoupled")
FILTERS = (*STOCK, "surf:0:4", "surf:0:4+partitioned", *PROTEUS)
COLORS = {"none": "grey", "bloom": "C0", "ribbon": "C1", "surf": "C2", "proteus": "C3"}
STYLES = {"": "--", "first_key": ":", "partitioned": "-", "partitioned+decoupled": "-."}

PERCENTS = (1, 5, 10, 25, 50, 100, 150)
QUERIES = {"point": "Get, absent key", "closed_seek": "Seek with a bound, 99 % empty", "open_seek": "Seek, no bound"}
DISTRIBUTIONS = {"zipf": "Zipf .99", "uniform": "uniform"}
PARTS = {"filter_reads_per_op": "filters", "index_reads_per_op": "indexes", "data_reads_per_op": "data"}


class Report:
    """The rows of protean_bench."""

    def __init__(self, rows):
        self.rows = {(r["filter"], r["query"], r["distribution"], r["cache_percent"]): r for r in rows}
        self.filters = list(dict.fromkeys(r["filter"] for r in rows))
        self.percents = list(dict.fromkeys(r["cache_percent"] for r in rows))
        self.shards = {r["cache_percent"]: (r["cache_bytes"], r["cache_shards"]) for r in rows}

    def line(self, name, query, distribution, field):
        """A figure for each size of the cache."""
        return [self.rows[name, query, distribution, percent][field] for percent in self.percents]


# ---- The picture ----


def draw_curves(panel, report, query, distribution, field, label, scale=1.0, log=True):
    for name in report.filters:
        base, _, layout = name.partition("+")
        # A figure of 0 has no place on a logarithmic scale.
        values = [max(scale * value, 0.01 if log else 0) for value in report.line(name, query, distribution, field)]
        panel.plot(report.percents, values, marker=".", color=COLORS.get(base.split(":")[0], "black"),
                   linestyle=STYLES.get(layout, "-"), label=name)
    panel.set_xscale("log")
    panel.set_xticks(report.percents, report.percents, fontsize=7)
    panel.minorticks_off()
    if log:
        panel.set_yscale("log")
    else:
        panel.set_ylim(bottom=0)
    panel.set_xlabel("block cache, % of all filters")
    panel.set_title(f"{QUERIES[query]}: {label}\n{DISTRIBUTIONS[distribution]}", fontsize=9)
    panel.grid(alpha=0.3)


def draw_parts(panel, report, query, percent):
    """Reads of filters, indexes and data: a bar for each filter."""
    left = [0.0] * len(report.filters)
    for field, label in PARTS.items():
        values = [report.rows[name, query, "zipf", percent][field] for name in report.filters]
        panel.barh(report.filters, values, left=left, label=label)
        left = [a + b for a, b in zip(left, values)]
    panel.invert_yaxis()
    panel.tick_params(axis="y", labelsize=7)
    panel.legend(fontsize=8)
    panel.set_title(f"{QUERIES[query]}: blocks read\nZipf .99, cache {percent} % of all filters", fontsize=9)


def picture(report, out):
    figure, panels = plt.subplots(len(QUERIES), 5, figsize=(25, 4.2 * len(QUERIES)))
    quarter = min(report.percents, key=lambda percent: abs(percent - 25))
    for row, query in zip(panels, QUERIES):
        draw_curves(row[0], report, query, "zipf", "block_reads_per_op", "blocks read", log=False)
        draw_curves(row[1], report, query, "uniform", "block_reads_per_op", "blocks read", log=False)
        draw_curves(row[2], report, query, "zipf", "bytes_read_per_op", "KB read", scale=1 / 1024)
        draw_curves(row[3], report, query, "zipf", "ops_per_sec", "operations per second")
        draw_parts(row[4], report, query, quarter)
    save(figure, out, "cache_sizes.png")


# ---- The tables ----


def figures_table(report, title, query, distribution, cell):
    header = [title, *(f"{percent} %" for percent in report.percents)]
    return table("", header, [[name, *(cell(report.rows[name, query, distribution, percent]) for percent in report.percents)]
                              for name in report.filters]).lstrip("\n")


def query_tables(report, query, distribution):
    def number(field, scale, form):
        return lambda row: format(scale * row[field], form)

    cells = {"blocks read": number("block_reads_per_op", 1, ".3f"),
             "of filters+indexes+data": lambda row: "+".join(f"{row[field]:.2f}" for field in PARTS),
             "KB read": number("bytes_read_per_op", 1 / 1024, ".2f"),
             "operations per second": number("ops_per_sec", 1, ",.0f")}
    return "\n".join([f"---- {QUERIES[query]}, {DISTRIBUTIONS[distribution]} ----\n",
                      *(figures_table(report, title, query, distribution, cell) for title, cell in cells.items())])


def ratios(measured, reference):
    """Shares of a reference; None where it has nothing."""
    return [f"{a / b:.2f}" if b > 0 else None for a, b in zip(measured, reference)]


def share_lines(report, ours, bloom):
    """Partitioned Proteus beside partitioned Bloom, and beside the best that stock RocksDB has for seeks."""
    lines = []
    for distribution, drawn in DISTRIBUTIONS.items():
        for field, label in (("block_reads_per_op", "blocks"), ("bytes_read_per_op", "bytes")):
            lines.append([f"absent keys, {drawn}: {label}, to {bloom}",
                          *ratios(report.line(ours, "point", distribution, field),
                                  report.line(bloom, "point", distribution, field))])
        stock = [report.line(name, "closed_seek", distribution, "block_reads_per_op") for name in report.filters
                 if name in STOCK]
        lines.append([f"closed seeks, {drawn}: blocks, to the best of stock RocksDB",
                      *ratios(report.line(ours, "closed_seek", distribution, "block_reads_per_op"),
                              [min(values) for values in zip(*stock)])])
    return lines


def shares(report):
    """A table for each layout of partitioned filters that has been measured with Proteus and with Bloom."""
    header = ["", *(f"{percent} %" for percent in report.percents)]
    return "\n".join(table(f"{ours}, as a share of stock RocksDB", header, share_lines(report, ours, bloom))
                     for ours in PROTEUS[1:] for bloom in [ours.replace("proteus", "bloom")]
                     if {ours, bloom} <= set(report.filters))


def main():
    options = parser(__doc__)
    add_report_options(options)
    options.add_argument("--num", type=positive, default=1_000_000, help="records of 100 bytes (default: 1000000)")
    options.add_argument("--queries", type=positive, default=1500,
                         help="queries that warm a cache, and as many that are measured (default: 1500)")
    options.add_argument("--filters", default=",".join(FILTERS), help="as protean_bench has them")
    options.add_argument("--percents", default=",".join(map(str, PERCENTS)),
                         help="sizes of the block cache, in percent of 12 bits per record")
    options.add_argument("--db", default="", help="folder for the databases, on a file system that allows direct reads")
    options.add_argument("--rows", default="", help="file that keeps protean_bench's rows; if it exists, they are read from it")
    options.add_argument("--quick", action="store_true", help="a trial run in seconds; the numbers mean little")
    args = options.parse_args()
    if args.quick:
        args.num, args.queries, args.percents = 100_000, 200, "2,25,150"

    beginning = machine()
    report = Report(read_rows(args.rows) if os.path.exists(args.rows) else
                    run_rows(args.build_dir, "protean_bench", workload="cache_sizes", filters=args.filters, num=args.num,
                             queries=args.queries, value_bytes=92, cache_percents=args.percents, direct_reads="true",
                             db=args.db, json_file=args.rows))
    sizes = [["MB", *(f"{size / (1 << 20):.2f}" for size, _ in report.shards.values())],
             ["shards", *(shards for _, shards in report.shards.values())]]
    filters = [[name, f"{row['bits_per_key']:.2f}", f"{row['filter_bytes'] / (1 << 20):.2f}"] for name in report.filters
               for row in [report.rows[name, "point", "zipf", report.percents[0]]]]
    flags = [flag for flag in sys.argv[1:] if not flag.startswith(("--rows", "--out", "--build-dir", "--db"))]
    text = "\n".join([
        shlex.join(["python3", "scripts/cache_figures.py", *flags]),
        f"{args.num} records of 8-byte keys and 92-byte values; {args.queries} queries warm each cache, {args.queries} more "
        "are measured", "direct reads; block cache: NewLRUCache with its defaults; all filters: 12 bits per record",
        beginning, "",
        table("the block cache", ["", *(f"{percent} %" for percent in report.percents)], sizes),
        table("the filters", ["", "bits/key", "MB"], filters), shares(report),
        *(query_tables(report, query, distribution) for query in QUERIES for distribution in DISTRIBUTIONS)])
    os.makedirs(args.out, exist_ok=True)
    save_report(f"{args.out}/cache_sizes.txt", text)
    picture(report, args.out)


if __name__ == "__main__":
    main()
