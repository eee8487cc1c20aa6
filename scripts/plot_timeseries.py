# SPDX-License-Identifier: Apache-2.0
"""Draws the README's picture from a report of protean_bench: the data blocks that a bounded seek reads, most of which find
nothing. Python alone does it."""

import argparse
import os
import sys

from charts import bars
from figures import read_rows, save_report

LABELS = {"none": "no filter", "bloom:14": "Bloom filter", "bloom:14+first_key": "Bloom filter, index of first keys",
          "surf:0:4": "SuRF", "proteus:12": "Proteus", "oracle": "an exact filter"}


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("report", metavar="REPORT.jsonl", help="what protean_bench --json_file has written")
    options.add_argument("folder", metavar="FOLDER", help="where the picture goes, timeseries.svg")
    args = options.parse_args()
    seeks = [row for row in read_rows(args.report) if row["query"] == "closed_seek"]
    if not seeks:
        sys.exit(f"{args.report} holds no bounded seeks")
    empty = max(row["empty_share"] for row in seeks)
    blocks = {row["filter"]: row["block_reads_per_op"] for row in seeks if row["empty_share"] == empty}
    labels = {LABELS.get(name, name): name for name in blocks if name in LABELS} or {name: name for name in blocks}
    picture = bars("Data blocks read by a seek with an upper bound",
                   f"Time series in three sorted runs of RocksDB; {100 * empty:.0f} % of the seeks find nothing. Lower is better.",
                   {"": [blocks[name] for name in labels.values()]}, labels)
    save_report(os.path.join(args.folder, "timeseries.svg"), picture)


if __name__ == "__main__":
    main()
