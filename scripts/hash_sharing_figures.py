# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of a Get over several sorted runs under callgrind, everything in memory, where each filter hashes
the key again and where it is hashed once, beside RocksDB's Bloom filters; and writes docs/results/hash_sharing.md. The series
are those of figures 5, 7 and 9 of Zhu et al., Reducing Bloom Filter CPU Overhead in LSM-Trees on Modern Storage Devices, 2021.
Runs read_paths, which must be built, and valgrind: about 10 minutes on 2 cores. --full takes all combinations: some hours.
"""

import argparse
import itertools
import os
import re
import shlex
import shutil
import sys
import tempfile

from figures import add_report_options, positive, run, save_report

KEY_BYTES = (8, 16, 32, 64, 96, 128, 256, 512, 1024)
RUNS = (1, 4, 6, 8, 10, 12, 14)
BITS = (8, 10, 12, 14)
PRESENT = (0, 0.25, 0.5, 0.75, 1)
USUAL = {"key_bytes": 512, "runs": 7, "bits": 10, "present": 0}

FACTORIES = {
    "stock": "{{id=BlockBasedTable;filter_policy=bloomfilter:{bits};block_cache=256M;cache_index_and_filter_blocks=false}}",
    "protean": "{{id=ProteanTable;filter_policy={{id=protean.Proteus;bits_per_key={bits};"
               "point_lookups_use_whole_keys=true}};block_cache=256M;cache_index_and_filter_blocks=false}}",
}

PAGE = """# Hashing a key once

*What does it save that a lookup hashes its key once, and not in the filter of each sorted run again?*

Instructions of a `Get` (callgrind), with all data in the block cache. Stock is RocksDB's block-based table with its Bloom
filter. Protean is `ProteanTable` with Bloom filters of whole keys (`point_lookups_use_whole_keys=true`), which hash the key
in each filter (*apart*), or once (*once*, as always outside of this measurement). *Saved* compares these two. Unless a table
says otherwise, keys have {key_bytes} bytes, there are {runs} sorted runs of level 0, {bits} bits per key, and no key is found.
The 8 bytes before the last 8 of a key are random, and all others the same in all keys. So each key has a digest of its own,
and comparing keys takes longest.

Made by `{command}`: {num} keys, {queries} queries.

{tables}
- *Keys of up to 119 bytes* have heads of less than 112 bytes, which are hashed in each filter. So both columns are the same.
- *Each filter mixes the digest with its own salt*, which the stock filter does not. That is part of both columns.
- *A digest that is remembered is the one that would be computed.* So both columns of Protean read the same blocks.
- *MultiGet* hashes each key in each filter ([why](../internals/proteus.md#hashing-a-key-once)).
- *Files of RocksDB's own filters* in the same tree hash the key for themselves. Their builders and readers take keys, not
  hashes, and no public function of theirs takes a hash.

[How it works](../internals/proteus.md#hashing-a-key-once)
"""


class Counter:
    """Databases that are built once, and counts of their queries."""

    def __init__(self, args):
        self.args = args
        self.folder = tempfile.mkdtemp(prefix="hash_sharing")
        self.built = set()
        self.known = {}

    def get(self, engine, shared, point):
        """Instructions of a Get."""
        key = (engine, shared, *point.values())
        if key not in self.known:
            self.known[key] = self.measure(engine, shared, point)
        return self.known[key]

    def measure(self, engine, shared, point):
        args = self.args
        name = f"{engine}_{point['key_bytes']}_{point['runs']}_{point['bits']}"
        flags = [f"--table_factory={FACTORIES[engine].format(bits=point['bits'])}", f"--dir={self.folder}/{name}",
                 f"--key_bytes={point['key_bytes']}", f"--runs={point['runs']}", f"--num={args.num}"]
        if name not in self.built:
            run(args.build_dir, "read_paths", *flags, "--queries=1")
            self.built.add(name)
        out = f"{self.folder}/out"
        run("/usr/bin", "valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--collect-atstart=no",
            "--toggle-collect=*CountedQueries*", os.path.join(args.build_dir, "read_paths"), *flags, "--reuse",
            f"--queries={args.queries}", f"--present={point['present']}", f"--share_digests={str(shared).lower()}")
        with open(out, encoding="utf-8") as lines:
            total = next(int(line.split()[1]) for line in lines if re.match("(summary|totals):", line))
        return total / args.queries


def write_table(counter, label, field, values, usual):
    """A table over one field."""
    lines = [f"| {label} | stock | Protean, apart | Protean, once | saved |", "|---:|---:|---:|---:|---:|"]
    for value in values:
        point = {**usual, field: value}
        stock = counter.get("stock", True, point)
        apart, once = (counter.get("protean", shared, point) for shared in (False, True))
        lines.append(f"| {value} | {stock:,.0f} | {apart:,.0f} | {once:,.0f} | {100 * (1 - once / apart):.1f} % |")
    return "\n".join(lines)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_report_options(options)
    options.add_argument("--num", type=positive, default=10_000, help="keys (default: 10000)")
    options.add_argument("--queries", type=positive, default=1_000, help="queries of each figure (default: 1000)")
    options.add_argument("--full", action="store_true", help="all combinations, and not one table for each variable")
    options.add_argument("--quick", action="store_true", help="a trial run; the numbers mean little")
    args = options.parse_args()
    if args.quick:
        args.num, args.queries = 1_000, 50

    counter = Counter(args)
    tables = []
    for title, label, field, values in (("Length of the key (figure 5a)", "bytes", "key_bytes", KEY_BYTES),
                                        ("Sorted runs (figure 5b)", "runs", "runs", RUNS),
                                        ("Bits per key (figure 7)", "bits", "bits", BITS),
                                        ("Share of keys that are found (figure 9)", "share", "present", PRESENT)):
        tables += [f"## {title}", "", write_table(counter, label, field, values, USUAL), ""]
        if field == "key_bytes":
            tables += ["Over one sorted run:", "", write_table(counter, label, field, values, {**USUAL, "runs": 1}), ""]
    if args.full:
        tables += ["## All combinations", ""]
        for runs, bits, present in itertools.product(RUNS, BITS, PRESENT):
            tables += [f"{runs} runs, {bits} bits, share {present}:", "",
                       write_table(counter, "bytes", "key_bytes", KEY_BYTES,
                                   {**USUAL, "runs": runs, "bits": bits, "present": present}), ""]
    shutil.rmtree(counter.folder)
    flags = [flag for flag in sys.argv[1:] if not flag.startswith(("--out", "--build-dir"))]
    os.makedirs(args.out, exist_ok=True)
    save_report(f"{args.out}/hash_sharing.md",
                PAGE.format(**USUAL, num=args.num, queries=args.queries, tables="\n".join(tables),
                            command=shlex.join(["python3", "scripts/hash_sharing_figures.py", *flags])))


if __name__ == "__main__":
    main()
