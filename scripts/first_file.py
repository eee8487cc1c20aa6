#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what the first filter of a file lets through, designed before any query has come: composite keys and time-ordered
ids, and the ranges that applications ask for, with windows of time of all lengths. Writes docs/results/first_file.md. Runs
filter_bench, which must be built: about 4 minutes on 2 cores.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess

from figures import markdown

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The ranges, and the shortest and longest window in milliseconds.
FAMILIES = {
    "user_window": ("a user's windows", 60_000, 86_400_000),
    "host_time": ("a host's windows", 1_000, 86_400_000),
    "session": ("a session's windows", 1_000, 3_600_000),
    "sensor_time": ("a sensor's windows", 1_000, 86_400_000),
    "device_time": ("a device's windows, binary", 1_000, 86_400_000),
    "tenant_time": ("a tenant's windows, 64 bits", 1_000, 86_400_000),
    "uuid7": ("windows over UUIDs", 1, 500),
    "uuid7_bytes": ("windows over binary UUIDs", 1, 500),
    "ulid": ("windows over ULIDs", 1, 500),
    "log_time": ("windows over lines of a log", 1, 500),
    "edge": ("edges of a node and label, binary", 0, 0),
    "edge_text": ("edges of a node and label, text", 0, 0),
    "package": ("packages of a scope or first word", 0, 0),
    "project": ("[path, its last byte + 1]", 0, 0),
    "order": ("[order, its last byte + 1]", 0, 0),
}
BITS = (10, 12, 14, 18)
UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms"))

PAGE = """# The first file

What a filter of Proteus lets through that was designed [before any query had come](../internals/proteus.md#before-there-are-samples-the-prior).
`scripts/first_file.py` wrote this page. It has {num} keys a family (`db_bench_ext/field_keys.h` describes them), 20,000 queries of which
those count that find nothing, and seed {seed}; the prior was tuned with others. Windows begin anywhere in 30 days, and each
order of magnitude of their lengths is equally likely. The prior knows neither these lengths nor what a time is.

"Taught" had 20,000 sample queries of the same kind. "Points" are absent keys, before the rate of RocksDB's Bloom filter of as many
bits.

## False positives

{rates}
## By length of window, untaught

{lengths}"""


def length(ms):
    for size, unit in UNITS:
        if ms >= size:
            return f"{ms / size:.3g} {unit}"
    return "0"


def decades(least, most):
    parts = []
    while least and least < most:
        end = min(10 * least, most)
        # A short rest belongs to the decade before it.
        if most < 2 * end:
            end = most
        parts.append((least, end))
        least = end
    return parts


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build-dir", default="build", help="where filter_bench is (default: build)")
    options.add_argument("--num", type=int, default=200000, help="keys (default: 200000)")
    options.add_argument("--seed", type=int, default=202, help="seed of keys and queries (default: 202)")
    options.add_argument("--jobs", type=int, default=1, help="runs at a time (default: 1)")
    options.add_argument("--out", default=os.path.join(ROOT, "docs/results/first_file.md"), help="the page to write")
    options = options.parse_args()

    def measure(job):
        family, workload, samples, window, filters = job
        command = [os.path.join(options.build_dir, "filter_bench"), "--report=json", "--queries=20000", f"--num={options.num}",
                   f"--seed={options.seed}", f"--key_type={family}", f"--workload={workload}", f"--samples={samples}",
                   f"--window_ms={window}", f"--filter={','.join(filters)}"]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, encoding="utf-8")
        return job, [json.loads(line)["fpr"] for line in done.stdout.splitlines()]

    ours = tuple(f"proteus:{bits}" for bits in BITS)
    blooms = tuple(f"bloom:{bits}" for bits in BITS)
    jobs = []
    for family, (_, least, most) in FAMILIES.items():
        jobs += [(family, "range", samples, "", ours) for samples in (0, 20000)]
        jobs += [(family, "point", 0, "", ours + blooms)]
        jobs += [(family, "range", 0, f"{begin}:{end}", ours) for begin, end in decades(least, most)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        rates = dict(pool.map(measure, jobs))

    rows = []
    for family, (words, least, most) in FAMILIES.items():
        span = f", {length(least)} to {length(most)}" if most else ""
        untaught, taught = (rates[family, "range", samples, "", ours] for samples in (0, 20000))
        points = rates[family, "point", 0, "", ours + blooms]
        cells = []
        for i in range(len(BITS)):
            cells += [f"{untaught[i]:.4f}", f"{taught[i]:.4f}", f"{points[i]:.4f}, {points[i + len(BITS)]:.4f}"]
        rows.append([f"`{family}`: {words}{span}", *cells])
    header = ["keys and ranges"] + [text for bits in BITS for text in (f"{bits} bits", "taught", "points, Bloom")]
    lengths = ""
    for family, (words, least, most) in FAMILIES.items():
        parts = decades(least, most)
        if not parts:
            continue
        table = [[f"{bits} bits", *(f"{rates[family, 'range', 0, f'{begin}:{end}', ours][i]:.4f}" for begin, end in parts)]
                 for i, bits in enumerate(BITS)]
        lengths += markdown([f"`{family}`", *(f"{length(begin)} to {length(end)}" for begin, end in parts)], table) + "\n\n"
    with open(options.out, "w", encoding="utf-8") as page:
        page.write(PAGE.format(num=f"{options.num:,}", seed=options.seed, rates=markdown(header, rows) + "\n", lengths=lengths).rstrip() + "\n")


if __name__ == "__main__":
    main()
