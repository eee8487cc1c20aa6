# SPDX-License-Identifier: Apache-2.0
"""Prints figures 7, 8, 9 and 14 of the SuRF paper as tables, and draws them: what each part of the trie gains, false
positive rates and throughput against bits per key, and how throughput grows with threads. Runs filter_bench and
filter_micro, which must be built.
"""

import functools
import json
import os
import shlex
import statistics
import sys

from figures import (add_report_options, draw_bars, draw_lines, machine, parser, percent, plt, positive, run, run_rows, save,
                     save_report, table)

KEY_TYPES = {"u64": "64-bit integers", "text": "emails"}
WORKLOADS = {"point": "point queries", "range": "range queries", "mixed": "mixed queries"}
SHORT_RANGES = "ranges of up to 2^10"
SUFFIX_BITS = range(9)

# The filter of a variant by its number of suffix bits, or None if there is no such filter.
VARIANTS = {
    "Base": lambda bits: "surf:0:0" if bits == 0 else None,
    "Hash": lambda bits: f"surf:{bits}:0" if bits > 0 else None,
    "Real": lambda bits: f"surf:0:{bits}" if bits > 0 else None,
    "Mixed": lambda bits: f"surf:{bits // 2}:{bits // 2}" if bits > 0 and bits % 2 == 0 else None,
}
COLUMNS = (*VARIANTS, "Bloom")

# False positive rates of the paper's own code, by key type, workload, variant and suffix bits.
PAPER_CODE = {
    ("u64", "point"): {"Hash": {1: .027, 3: .0066, 5: .0016}, "Real": {1: .042, 3: .013, 5: .0034}},
    ("u64", "short_range"): {"Real": {1: .028, 3: .0072, 5: .0019}},
}

THREADED_OPERATIONS = {"PointAbsent": "absent keys", "PointPresent": "stored keys", "Range": "empty ranges",
                       "RangePositive": "other ranges"}

# The parts of the trie, each added to those before it (db_bench_ext/fst_steps.h).
STEPS = ("sparse", "dense", "quotient", "exceptions", "alphabet", "runs")
STEP_KEY_TYPES = {"u64": "64-bit integers", "text": "emails", "url": "URLs"}
STEP_OPERATIONS = {"PointAbsent": "absent key", "Range": "empty range", "Seek": "seek", "Build": "build a key"}


class Programs:
    """Runs the benchmarks, each of them once."""

    def __init__(self, args):
        self.args = args

    def filter_bench(self, key_type, workload, filters):
        """One row for each filter, its times the median of the repeats."""
        repeats = {}
        for row in run_rows(self.args.build_dir, "filter_bench", key_type=key_type, workload=workload, num=self.args.num,
                            queries=self.args.queries, filter=",".join(filters * self.args.repeats)):
            repeats.setdefault(row["filter"], []).append(row)
        return {name: rows[0] | {"mops": statistics.median(map(mega_ops, rows))} for name, rows in repeats.items()}

    @functools.cache
    def variants(self, key_type, workload):
        """Rows by (column, suffix bits). Bloom filters are as large as SuRF with that number of suffix bits."""
        names = {(variant, bits): name(bits)
                 for variant, name in VARIANTS.items() for bits in SUFFIX_BITS if name(bits)}
        surf = self.filter_bench(key_type, workload, list(names.values()))
        base_size = surf["surf:0:0"]["bits_per_key"]
        blooms = {("Bloom", bits): f"bloom:{base_size + bits:.3f}" for bits in SUFFIX_BITS}
        rows = surf | self.filter_bench(key_type, workload, list(blooms.values()))
        return {key: rows[name] for key, name in (names | blooms).items()}

    def filter_micro(self, key_types, operations, threads, filters=()):
        """Rows of single runs: each benchmark has a row for each repeat."""
        output = run(self.args.build_dir, "filter_micro", "--benchmark_format=json",
                     f"--benchmark_min_time={self.args.min_time}", f"--benchmark_repetitions={self.args.repeats}",
                     f"--benchmark_filter=^({'|'.join(operations)})/", f"--key_types={','.join(key_types)}",
                     f"--num={self.args.num}", f"--threads={','.join(map(str, threads))}",
                     *([f"--filters={','.join(filters)}"] if filters else []))
        results = json.loads(output)["benchmarks"]
        for result in results:
            if "error_message" in result:
                sys.exit(f"{result['name']}: {result['error_message']}")
        return [result for result in results if result["run_type"] == "iteration"]


def mega_ops(row):
    """Millions of queries a second, over all queries, whether or not they find a key."""
    ns = row["empty_queries"] * row["query_ns"] + row["positive_queries"] * row["positive_query_ns"]
    return 1e3 * (row["empty_queries"] + row["positive_queries"]) / ns


def variants_table(title, rows, cell, reference=None):
    """A line for each number of suffix bits; `cell` makes a cell's text from a row."""
    reference = reference or {}
    header = ["suffix bits", "bits/key", *COLUMNS, *(f"{variant}, paper's code" for variant in reference)]
    lines = []
    for bits in SUFFIX_BITS:
        size = rows["Bloom", bits]["bits_per_key"] if bits else rows["Base", 0]["bits_per_key"]
        values = [cell(column, rows[column, bits]) if (column, bits) in rows else None for column in COLUMNS]
        lines.append([bits, f"{size:.2f}", *values, *(percent(known.get(bits)) for known in reference.values())])
    return table(title, header, lines)


def variants_plot(programs, y_of, y_label, log, name):
    """A panel for each key type and workload; `y_of` gives None for what is not drawn."""
    figure, panels = plt.subplots(len(KEY_TYPES), len(WORKLOADS), figsize=(13, 7), sharey="all" if log else "none")
    for row, (key_type, keys) in zip(panels, KEY_TYPES.items()):
        for panel, (workload, queries) in zip(row, WORKLOADS.items()):
            rows = programs.variants(key_type, workload)
            lines = {}
            for column in COLUMNS:
                # Every variant of SuRF starts from the base.
                line = [rows["Base", 0]] * (column != "Bloom")
                line += [rows[column, bits] for bits in SUFFIX_BITS if (column, bits) in rows and column != "Base"]
                points = [(r["bits_per_key"], y_of(column, workload, r)) for r in line]
                lines[column] = [point for point in points if point[1] is not None]
            draw_lines(panel, lines, behind=True)
            panel.set_title(f"{keys}, {queries}")
            panel.set_xlabel("Bits per key")
            panel.set_ylabel(y_label)
            if log:
                panel.set_yscale("log")
                panel.yaxis.set_major_formatter("{x:g}")
            else:
                panel.set_ylim(bottom=0)
    save(figure, programs.args.out, name)


def figure_7(programs):
    """What each part of the trie gains."""
    speeds = {}  # by key type, then step and operation
    sizes = {}
    for result in programs.filter_micro(STEP_KEY_TYPES, STEP_OPERATIONS, [1], [f"fst:{step}" for step in STEPS]):
        operation, key_type, _, name = result["name"].split("/")[:4]
        step = name.split(":")[1]
        speeds.setdefault(key_type, {}).setdefault((step, operation), []).append(result["ns/op"])
        sizes[key_type, step] = result["bits_per_key"]
    header = ["up to", "bits/key", *(f"{text}, ns" for text in STEP_OPERATIONS.values())]
    tables = []
    figure, panels = plt.subplots(1, len(STEP_KEY_TYPES), figsize=(15, 4))
    for panel, (key_type, keys) in zip(panels, STEP_KEY_TYPES.items()):
        times = {key: statistics.median(values) for key, values in speeds[key_type].items()}
        rows = [[step, f"{sizes[key_type, step]:.2f}", *(f"{times[step, operation]:.0f}" for operation in STEP_OPERATIONS)]
                for step in STEPS]
        tables.append(table(keys, header, rows))
        draw_bars(panel, {text: [times[step, operation] for step in STEPS] for operation, text in STEP_OPERATIONS.items()},
                  [f"{step}\n{sizes[key_type, step]:.1f}" for step in STEPS], fontsize=8)
        panel.set_title(f"{keys}; bits per key below")
        panel.set_ylabel("ns per operation")
        panel.grid(alpha=0.3, axis="y")
    save(figure, programs.args.out, "surf_steps.png")
    return "\n".join(["Figure 7: SuRF-Base with more and more parts of its trie, one thread\n", *tables])


def figure_8(programs):
    """False positive rates."""
    tables = []
    panels = [(key_type, workload, queries) for key_type in KEY_TYPES for workload, queries in WORKLOADS.items()]
    for key_type, workload, queries in [*panels, ("u64", "short_range", SHORT_RANGES)]:
        tables.append(variants_table(f"{KEY_TYPES[key_type]}, {queries}", programs.variants(key_type, workload),
                                     lambda _, row: percent(row["fpr"]), PAPER_CODE.get((key_type, workload))))
    variants_plot(programs, lambda _column, _workload, row: 100 * row["fpr"] or None, "False positives (%)", True,
                  "surf_fpr.png")
    return "\n".join(["Figure 8: false positives in % of the queries that find nothing\n", *tables])


def figure_9(programs):
    """Throughput. Bloom filters let every range through without a look, which is no throughput."""
    def speed(column, workload, row):
        return row["mops"] if column != "Bloom" or workload == "point" else None

    def cell(workload, column, row):
        mops = speed(column, workload, row)
        return None if mops is None else f"{mops:.2f}"

    tables = [variants_table(f"{keys}, {queries}", programs.variants(key_type, workload),
                             functools.partial(cell, workload))
              for key_type, keys in KEY_TYPES.items() for workload, queries in WORKLOADS.items()]
    variants_plot(programs, speed, "Millions of queries per second", False, "surf_throughput.png")
    return "\n".join(["Figure 9: millions of queries per second on one thread\n", *tables])


def thread_counts():
    """Powers of two up to the number of cores; two at least, to see what threads do to each other."""
    cores = max(2, os.cpu_count() or 1)
    return [1 << i for i in range(cores.bit_length()) if 1 << i <= cores]


def figure_14(programs):
    """Throughput of all threads together."""
    threads = thread_counts()
    repeats = {}
    for result in programs.filter_micro(KEY_TYPES, THREADED_OPERATIONS, threads):
        operation, key_type, _, name = result["name"].split("/")[:4]
        repeats.setdefault((key_type, operation, name, result["threads"]), []).append(result["items_per_second"] / 1e6)
    speeds = {}  # by key type and operation, then filter, then number of threads
    for (key_type, operation, name, count), values in repeats.items():
        speeds.setdefault((key_type, operation), {}).setdefault(name, {})[count] = statistics.median(values)
    header = ["filter", *(f"{count} thread{'s' * (count > 1)}" for count in threads), f"{threads[-1]} to 1"]
    tables = []
    for (key_type, operation), filters in speeds.items():
        rows = [[name, *(f"{by_threads[count]:.2f}" for count in threads),
                 f"{by_threads[threads[-1]] / by_threads[1]:.2f}"] for name, by_threads in filters.items()]
        tables.append(table(f"{KEY_TYPES[key_type]}, {THREADED_OPERATIONS[operation]}", header, rows))
    threads_plot(speeds, threads, programs.args.out)
    return "\n".join([f"Figure 14: millions of queries per second of all threads, {os.cpu_count()} cores\n", *tables])


def threads_plot(speeds, threads, out):
    """A panel for each key type and operation, a group of bars for each filter."""
    figure, panels = plt.subplots(len(KEY_TYPES), len(THREADED_OPERATIONS), figsize=(15, 7))
    for row, (key_type, keys) in zip(panels, KEY_TYPES.items()):
        for panel, (operation, queries) in zip(row, THREADED_OPERATIONS.items()):
            filters = speeds[key_type, operation]
            draw_bars(panel, {f"{count} thread{'s' * (count > 1)}": [by_threads[count] for by_threads in filters.values()]
                              for count in threads}, list(filters))
            panel.set_title(f"{keys}, {queries}")
            panel.set_ylabel("Millions of queries per second")
            panel.grid(alpha=0.3, axis="y")
    save(figure, out, "surf_threads.png")


# Each runs what it needs, saves its plot and returns its tables.
SECTIONS = (figure_7, figure_8, figure_9, figure_14)


def parse_args():
    options = parser(__doc__)
    options.add_argument("--num", type=positive, help="stored keys of each key type (default: 1000000; quick: 50000)")
    options.add_argument("--queries", type=positive, help="queries of each workload (default: 1000000; quick: 50000)")
    add_report_options(options)
    options.add_argument("--quick", action="store_true", help="a trial in seconds, in which each filter is measured once")
    args = options.parse_args()
    args.num = args.num or (50000 if args.quick else 1000000)
    args.queries = args.queries or (50000 if args.quick else 1000000)
    args.repeats = 1 if args.quick else 3
    args.min_time = 0.02 if args.quick else 0.2
    return args


def main():
    args = parse_args()
    os.makedirs(args.out, exist_ok=True)
    programs = Programs(args)
    parts = [f"python3 {shlex.join(sys.argv)}\n"
             f"{args.num} keys of each type, {args.queries} queries of each workload\n"
             f"{machine()}\n"]
    print(parts[0])
    for section in SECTIONS:
        parts.append(section(programs))
        print(parts[-1])
    save_report(os.path.join(args.out, "surf_figures.txt"), "\n".join(parts))


if __name__ == "__main__":
    main()
