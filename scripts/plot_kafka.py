# SPDX-License-Identifier: Apache-2.0
"""Draws the data blocks that a join in Kafka Streams reads, from the first table of a report of scripts/kafka_streams_demo.sh.
Python alone does it."""

import argparse
import os
import re
import sys

from charts import bars
from figures import save_report

# A row: the policy, alarms a second, the ratio, blocks.
ROW = re.compile(r"^\| (stock|surf\S*|proteus\S*) \| [\d,.]+ \| [\d.]+ \| ([\d.]+) \|", re.MULTILINE)
LABELS = {"stock": "Kafka's stores", "surf": "with SuRF", "proteus": "with Proteus"}


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("report", metavar="REPORT.md", help="the report, or docs/results/kafka_streams.md, which has its tables")
    options.add_argument("folder", metavar="FOLDER", help="where the picture goes, kafka_streams.svg")
    args = options.parse_args()
    with open(args.report, encoding="utf-8") as report:
        rows = ROW.findall(report.read())
    blocks = {}
    for name, value in rows:  # A policy's first row is of the first table.
        blocks.setdefault(name, float(value))
    if not blocks:
        sys.exit(f"{args.report} holds no results")
    # Kafka's own stores have Bloom filters.
    labels = {LABELS[name.partition(":")[0]]: "bloom" if name == "stock" else name for name in blocks}
    picture = bars("Data blocks read for each alarm of a join in Kafka Streams",
                   "Each is joined with the readings of four minutes, mostly none; state larger than the cache. Lower is better.",
                   {"": list(blocks.values())}, labels)
    save_report(os.path.join(args.folder, "kafka_streams.svg"), picture)


if __name__ == "__main__":
    main()
