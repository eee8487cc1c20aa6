# SPDX-License-Identifier: Apache-2.0
"""Draws what a read at the head of a queue steps over, as the queue's history grows, and writes docs/results/deletions.md:
tables of reads over deletions, of queues, expired entries and cleared states, without filters and with Protean's, and of
queries that find nothing and repeat by Zipf's law, with and without the cache of misses. Runs protean_bench, which must be
built: about 5 minutes on 2 cores.
"""

import argparse
import os
import shlex
import sys

from charts import lines
from figures import add_report_options, machine, markdown, positive, run_rows, save_report, save_tables

FILTERS = {"RocksDB without filters": "none", "SuRF": "surf:0:8", "Proteus": "proteus:12"}
FIELDS = {"deletions/op": ("deletions_skipped_per_op", 1), "hidden or old/op": ("keys_skipped_per_op", 1),
          "blocks/op": ("data_blocks_per_op", 1), "us p50": ("p50_us", 1), "wrong": ("wrong_results", 0)}
READS = {"head": "head", "closed": "head, with a bound", "scan": "head and ten Next"}
REPEATED = ("proteus:10", "surf:0:8", "surf:0:0")


def queue_rows(args, kind, items):
    rows = run_rows(args.build_dir, "protean_bench", workload="queue", deletions=kind, num=items, queries=args.queries,
                    filters=",".join(FILTERS.values()), db=args.db)
    # Each read has a row for the tree as it was loaded, followed by one for the compacted tree.
    return rows[::2], rows[1::2]


def deletion_table(loaded, compacted):
    rows = [[f"`{row['filter']}`, {READS[row['query']]}", *(f"{row[field]:.{digits}f}" for field, digits in FIELDS.values()),
              f"{row['p50_us'] / after['p50_us']:.1f}"] for row, after in zip(loaded, compacted)]
    return markdown(["filter, read", *FIELDS, "us, to compacted"], rows)


def repeated_table(args):
    filters = [f"{spec}{suffix}" for spec in REPEATED for suffix in ("+no_miss_cache", "")]
    measured = run_rows(args.build_dir, "protean_bench", workload="ranges", key_dist="uniform", query_dist="correlated",
                        rmax="1024", num=args.items, queries=args.repeated, repeats=10, filters=",".join(filters), db=args.db)
    rows = [[f"`{row['filter']}`", f"{row['false_positives_per_op']:.4f}", f"{row['block_reads_per_op']:.4f}", row["wrong_results"]]
            for row in measured]
    return markdown(["filter", "false positives/op", "blocks read/op", "wrong"], rows)


def picture(args):
    """Deletions and blocks of a read at the head, over the length of the history."""
    lengths = [args.items // part for part in (16, 8, 4, 2, 1)]
    heads = {items: {row["filter"]: row for row in queue_rows(args, "queue", items)[0] if row["query"] == "head"}
             for items in lengths}
    panels = {title: {label: [heads[items][name][FIELDS[field][0]] for items in lengths] for label, name in FILTERS.items()}
              for title, field in (("deletions stepped over", "deletions/op"), ("data blocks used", "blocks/op"))}
    return lines("What a read at the head of a queue takes", "20 queues over 8 sorted runs. Lower is better.", panels,
                 "items appended and deleted before, thousands", [f"{items / 1000:g}" for items in lengths], FILTERS)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
    tables = {"made by": f"`{shlex.join(['python3', 'scripts/deletion_figures.py', *flags])}`: {args.items:,} items, "
                         f"{args.queries:,} reads of each kind; {beginning}."}
    tables.update({kind: deletion_table(*queue_rows(args, kind, args.items)) for kind in ("queue", "ttl", "clear")})
    tables["repeated"] = repeated_table(args)
    os.makedirs(args.out, exist_ok=True)
    save_tables(f"{args.out}/deletions.md", tables)
    save_report(f"{args.out}/deletions.svg", picture(args))


if __name__ == "__main__":
    main()
