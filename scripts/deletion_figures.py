# SPDX-License-Identifier: Apache-2.0
"""Draws what a read at the head of a queue steps over, as the queue's history grows, and prints tables of reads over deletions:
queues, expired entries and cleared states, without filters and with Protean's, and of queries in vain that repeat by Zipf's
law, with and without the cache of misses. Runs protean_bench, which must be built: about 5 minutes on 2 cores.
"""

import os
import shlex
import sys

from figures import add_report_options, draw_lines, machine, parser, plt, positive, run_rows, save, save_report, table

FILTERS = {"none": "stock", "proteus:12": "Protean, proteus:12", "surf:0:8": "Protean, surf:0:8"}
FIELDS = {"deletions/op": ("deletions_skipped_per_op", 1), "hidden or old/op": ("keys_skipped_per_op", 1),
          "blocks/op": ("data_blocks_per_op", 1), "us p50": ("p50_us", 1), "wrong": ("wrong_results", 0)}
REPEATED = ("proteus:10", "surf:0:8", "surf:0:0")


def queue_rows(args, kind, items):
    rows = run_rows(args.build_dir, "protean_bench", workload="queue", deletions=kind, num=items, queries=args.queries,
                    filters=",".join(FILTERS), db=args.db)
    # Each read has a row for the tree as it was loaded, followed by one for the compacted tree.
    return rows[::2], rows[1::2]


def deletion_table(kind, loaded, compacted):
    lines = [[row["filter"], row["query"], *(f"{row[field]:.{digits}f}" for field, digits in FIELDS.values()),
              f"{row['p50_us'] / after['p50_us']:.1f}"] for row, after in zip(loaded, compacted)]
    return table(f"---- {kind} ----", ["filter", "read", *FIELDS, "us, to compacted"], lines)


def repeated_table(args):
    filters = [f"{spec}{suffix}" for spec in REPEATED for suffix in ("+no_miss_cache", "")]
    rows = run_rows(args.build_dir, "protean_bench", workload="ranges", key_dist="uniform", query_dist="correlated",
                    rmax="1024", num=args.items, queries=args.repeated, repeats=10, filters=",".join(filters), db=args.db)
    lines = [[row["filter"], f"{row['false_positives_per_op']:.4f}", f"{row['block_reads_per_op']:.4f}", row["wrong_results"]]
             for row in rows]
    return table(f"---- {10 * args.repeated} ranges in vain, of {args.repeated} by Zipf's law (.99) ----",
                 ["filter", "false positives/op", "blocks read/op", "wrong"], lines)


def picture(args):
    """Deletions and blocks of a read at the head, over the length of the history."""
    lengths = [args.items // part for part in (16, 8, 4, 2, 1)]
    heads = {items: {row["filter"]: row for row in queue_rows(args, "queue", items)[0] if row["query"] == "head"}
             for items in lengths}
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6))
    for panel, label in zip(panels, ("deletions/op", "blocks/op")):
        field = FIELDS[label][0]
        draw_lines(panel, {label: [(items / 1000, heads[items][spec][field]) for items in lengths]
                           for spec, label in FILTERS.items()})
        panel.set_xlabel("items that were appended and deleted, thousands")
        panel.set_title({"deletions/op": "deletions that a read at the head steps over",
                         "blocks/op": "data blocks that it uses"}[label], fontsize=9)
        panel.set_yscale("symlog" if label == "deletions/op" else "linear")
        panel.set_ylim(bottom=0)
    save(figure, args.out, "deletions.png")


def main():
    options = parser(__doc__)
    add_report_options(options)
    options.add_argument("--items", type=positive, default=200_000, help="items of queues, entries, records (default: 200000)")
    options.add_argument("--queries", type=positive, default=10_000, help="reads of each kind (default: 10000)")
    options.add_argument("--repeated", type=positive, default=100_000,
                         help="queries that repeat, ten times each on average (default: 100000)")
    options.add_argument("--db", default="", help="folder for the databases")
    options.add_argument("--quick", action="store_true", help="a trial run in seconds; the numbers mean little")
    args = options.parse_args()
    if args.quick:
        args.items, args.queries, args.repeated = 20_000, 200, 2_000

    beginning = machine()
    flags = [flag for flag in sys.argv[1:] if not flag.startswith(("--out", "--build-dir", "--db"))]
    text = "\n".join([
        shlex.join(["python3", "scripts/deletion_figures.py", *flags]),
        f"{args.items} items, {args.queries} reads of each kind", beginning, "",
        *(deletion_table(kind, *queue_rows(args, kind, args.items)) for kind in ("queue", "ttl", "clear")),
        repeated_table(args)])
    os.makedirs(args.out, exist_ok=True)
    save_report(f"{args.out}/deletions.txt", text)
    picture(args)


if __name__ == "__main__":
    main()
