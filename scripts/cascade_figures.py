# SPDX-License-Identifier: Apache-2.0
"""Measures insertions into a cascade filter and lookups, and those of Bloom filters on flash, the experiment of the cascade
filter's paper, and what tombstones cost; and writes the tables of docs/results/cascade.md. What the programs print is kept in
the build folder, in cascade_insertions.txt and cascade_tombstones.txt. Runs cascade_bench, which must be built: about 4
minutes on 2 cores.
"""

import argparse
import os
import re

from figures import add_report_options, machine, markdown, positive, run, save_report, save_tables

# The fields of a row of cascade_bench, which begins with the filter's name.
INSERTS, BITS, ABSENT, READS, SHARE, PRESENT_READS = 1, 3, 5, 6, 7, 10
LABELS = {"cascade": "cascade", "elevator": "elevator Bloom filter, page by page",
          "elevator_chunks": "elevator Bloom filter, in chunks of 1 MiB", "bloom": "Bloom filter"}


def rows(report):
    """The fields of each filter."""
    lines = report[report.index("\nfilter "):].split("\n")[2:]
    return {line.split()[0]: line.split()[1:] for line in lines if line}


def insertions(report):
    """The paper's experiment."""
    return markdown(["filter", "insertions a second", "bits per key", "lookups of absent keys a second", "pages read for each",
                     "share of what the drive gives"],
                    [[LABELS[name], f"{int(row[INSERTS]):,}", row[BITS], f"{int(row[ABSENT]):,}", row[READS], row[SHARE]]
                     for name, row in rows(report).items()])


def tombstones(report):
    """A cascade filter from which keys are deleted, next to one from which none are."""
    found = rows(report)
    return markdown(["filter", "insertions a second, relative", "bits per inserted key", "runs at the end",
                     "pages read for an absent key", "for a present one"],
                    [[f"`{name}`", f"{int(row[INSERTS]) / int(found['cascade'][INSERTS]):.2f}", row[BITS],
                      re.search(rf" {name}: (\d+) runs after merging", report)[1], row[READS], row[PRESENT_READS]]
                     for name, row in found.items()])


EXPERIMENTS = {"insertions": (insertions, ()), "tombstones": (tombstones, ("--filters=cascade,cascade_deletes",))}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_report_options(options)
    options.add_argument("--num", type=positive, default=100_000_000, help="keys (default: 100000000)")
    options.add_argument("--memory", type=positive, default=8 << 20, help="bytes of memory (default: 8388608)")
    options.add_argument("--dir", default="/tmp/protean_cascade_bench", help="folder of the filters, on the drive to measure")
    options.add_argument("--only", choices=EXPERIMENTS, help="one experiment (default: all)")
    arguments = options.parse_args()
    tables = {}
    for name, (table, flags) in EXPERIMENTS.items():
        if arguments.only in (None, name):
            beginning = machine()
            report = run(arguments.build_dir, "cascade_bench", f"--num={arguments.num}", f"--memory={arguments.memory}",
                         f"--dir={arguments.dir}", *flags)
            save_report(os.path.join(arguments.build_dir, f"cascade_{name}.txt"), f"{beginning}\n\n{report}")
            tables[name] = table(report)
    os.makedirs(arguments.out, exist_ok=True)
    save_tables(os.path.join(arguments.out, "cascade.md"), tables)


if __name__ == "__main__":
    main()
