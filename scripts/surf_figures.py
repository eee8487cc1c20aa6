# SPDX-License-Identifier: Apache-2.0
"""Makes the page of the SuRF paper: its sizes and false positives by number of keys, figures 7, 8, 9, 12, 13 and 14, and
table 1. Runs filter_bench, filter_micro, fst_micro, protean_bench and, for atomic instructions,
scripts/count_instructions.sh.
"""

import functools
import json
import math
import os
import statistics
import subprocess
import sys

from figures import draw_bars, draw_lines, markdown, plt, run, save
from papers import SURFS, Claim, Section, best_within, claims, main_of, number, percent, picture

HEAD = """# SuRF: its paper's figures

*What did the paper measure, and what does Protean's SuRF give?*

The paper is Zhang et al., "SuRF: Practical Range Query Filtering with Fast Succinct Tries", SIGMOD 2018. Made by
`scripts/paper_figures.sh surf`; each section names its commit, its scale and the machine. Half of a random data set is
stored, and queries are drawn from all of it: 64-bit integers, and emails, host first, which are generated (the paper has a
list of real ones). The notation `surf:H:R` is SuRF with H hash bits and R real bits; a third number is prefix bits, which
the paper does not have.

- A *point* query is a key K.
- A *range* query is [K + r, K + 2r] for integers, where r is such that as many ranges hold a key as in the paper. For emails,
  it is [K, K with its last byte + 1].
- *Mixed* is half of each. All bits per key are measured.
"""

KEY_TYPES = {"u64": "64-bit integers", "text": "emails"}
WORKLOADS = {"point": "point queries", "range": "range queries", "mixed": "mixed queries"}
VARIANTS = {"Base": ["surf:0:0"], "Hash": [f"surf:{bits}:0" for bits in range(1, 9)],
            "Real": [f"surf:0:{bits}" for bits in range(1, 9)], "Mixed": [f"surf:{bits}:{bits}" for bits in range(1, 5)]}


# ---- Numbers of keys ----


def chance(num):
    """The share of random integers that SuRF-Base lets through if it stores `num` random integers. A leaf has the bytes that tell
    its key from all others: an integer passes at depth d if one key has its first d bytes, and another one the first d - 1."""
    return sum(num / 256**d * (math.exp(-num / 256**d) - math.exp(-num / 256**(d - 1))) for d in range(1, 9))


def section_sizes(bench):
    """SuRF by number of keys and access."""
    filters = {"surf:0:0": 0, "surf:4:0": 4, "surf:0:4": 4}  # with their suffix bits
    rows, ours = [], {}
    for key_type, counts in (("u64", bench.pick((2000,), (100_000, 1_000_000, 4_000_000, 10_000_000),
                                                (100_000, 1_000_000, 4_000_000, 10_000_000, 50_000_000, 100_000_000))),
                             ("text", bench.pick((2000,), (100_000, 1_000_000), (100_000, 1_000_000, 10_000_000)))):
        for num in counts:
            queries = min(num, bench.pick(2000, 200_000, 1_000_000))
            results = {access: bench.filters(filters, key_type=key_type, workload="point", num=num, queries=queries,
                                             access=access, samples=0) for access in ("uniform", "zipf")}
            for name, suffix_bits in filters.items():
                uniform, zipf = (results[access][name] for access in ("uniform", "zipf"))
                ours[key_type, num, name] = uniform
                expected = percent(chance(num) / 2**suffix_bits) if key_type == "u64" else ""
                rows.append([f"{KEY_TYPES[key_type]}, {num:,}", name, f"{uniform['bits_per_key']:.2f}",
                             expected, percent(uniform["fpr"]), percent(zipf["fpr"]), number(uniform["query_ns"]),
                             number(zipf["query_ns"])])
    most = {key_type: max(num for kind, num, _ in ours if kind == key_type) for key_type in KEY_TYPES}
    ints, emails = (ours[key_type, most[key_type], "surf:0:0"] for key_type in KEY_TYPES)
    more = (f"chance gives {percent(chance(50_000_000))} % for the 50 million keys of the paper's text, and "
            f"{percent(chance(100_000_000))} % for 100 million")
    return [claims(
        Claim("bits per key of SuRF-Base, integers", 10, ints["bits_per_key"], "", True, "digits and runs in the trie", True),
        Claim("bits per key of SuRF-Base, emails", 14, emails["bits_per_key"], "", True, "digits; emails are generated", True),
        Claim("false positives of SuRF-Base, integers", 4, 100 * ints["fpr"], " %", True, more),
        Claim("false positives of SuRF-Base, emails", 25, 100 * emails["fpr"], " %", True,
              "the trie is smaller; figure 8 compares equal sizes"),
        Claim("time of a query, integers", 200, ints["query_ns"], " ns", True, "the paper's talk has 100 million keys",
              is_time=True)),
            f"The numbers are those of the most keys: {most['u64']:,} integers and {most['text']:,} emails. The trie's rate swings with "
            "the number of random integers: it is low where most of them differ within the same byte. *Chance* is that rate, computed.",
            markdown(["keys", "filter", "bits/key", "chance %", "false positives, uniform %", "Zipf %", "ns/query, uniform", "Zipf"], rows)]


# ---- Figures 8 and 9 ----


@functools.lru_cache
def variants(bench, key_type, workload):
    """All variants, and a Bloom filter as large as each of them, by filter; Bloom filters by the name of the other."""
    flags = {"key_type": key_type, "workload": workload, "num": bench.pick(2000, 200_000, 1_000_000),
             "queries": bench.pick(2000, 200_000, 1_000_000), "samples": 0}
    names = [name for variant in VARIANTS.values() for name in variant]
    repeats = bench.pick(1, 3, 3)
    rows = bench.filters(names * repeats, **flags)
    blooms = {name: f"bloom:{row['bits_per_key']:.2f}" for name, row in rows.items()}
    measured = bench.filters(list(dict.fromkeys(blooms.values())) * repeats, **flags)
    return rows, {name: measured[bloom] for name, bloom in blooms.items()}


def mega_ops(row):
    """Millions of queries a second, over all queries."""
    ns = row["empty_queries"] * row["query_ns"] + row["positive_queries"] * row["positive_query_ns"]
    return 1e3 * (row["empty_queries"] + row["positive_queries"]) / ns


def variants_section(bench, value, cell, name, label, log):
    """Tables and a picture of all variants. `value` is drawn, and `cell` is its text."""
    figure, panels = plt.subplots(len(KEY_TYPES), len(WORKLOADS), figsize=(13, 7), sharey="all" if log else "none")
    blocks = []
    for line, (key_type, keys) in zip(panels, KEY_TYPES.items()):
        results = {workload: variants(bench, key_type, workload) for workload in WORKLOADS}
        table = []
        for spec, row in results["point"][0].items():
            table.append([spec, f"{row['bits_per_key']:.2f}", *(cell(value(results[w][0][spec])) for w in WORKLOADS),
                          cell(value(results["point"][1][spec]))])
        blocks += [f"{keys[0].upper()}{keys[1:]}, {row['keys']:,} stored:",
                   markdown(["filter", "bits/key", *WORKLOADS.values(), "Bloom of that size, point queries"], table)]
        for panel, (workload, queries) in zip(line, WORKLOADS.items()):
            rows, blooms = results[workload]
            lines = {variant: sorted((rows[n]["bits_per_key"], value(rows[n]) or 1e-5) for n in [*VARIANTS["Base"], *names])
                     for variant, names in VARIANTS.items() if variant != "Base"}
            lines["Bloom"] = sorted((r["bits_per_key"], value(r) or 1e-5) for r in blooms.values()) * (workload == "point")
            draw_lines(panel, lines)
            panel.set_title(f"{keys}, {queries}")
            panel.set_xlabel("bits per key")
            panel.set_ylabel(label)
            if log:
                panel.set_yscale("log")
                panel.yaxis.set_major_formatter("{x:g}")
            else:
                panel.set_ylim(bottom=0)
    save(figure, bench.args.out, name)
    return [*blocks, picture(name, label)]


def section_fpr(bench):
    """Figure 8."""
    ours = {key_type: variants(bench, key_type, "point")[0] for key_type in KEY_TYPES}
    one_percent = min((row["bits_per_key"] for row in ours["u64"].values() if row["fpr"] <= 0.01), default=None)
    at_base = best_within(ours["text"].values(), 14)
    return [claims(
        Claim("bits per key for 1 % of false positives, integers", 12, one_percent, "", True,
              f"{ours['u64']['surf:0:0']['keys']:,} keys; the trie's rate swings with their number", True),
        Claim("false positives with 14 bits per key, emails", 25, at_base and 100 * at_base["fpr"], " %", True,
              f"there is room for suffixes beside the trie: {at_base['filter']}" if at_base else "", True)),
            "False positives in percent of the queries that find nothing. A Bloom filter knows nothing of ranges.",
            *variants_section(bench, lambda row: row["fpr"], percent, "paper_surf_fig8.svg", "share of false positives", True)]


def section_speed(bench):
    """Figure 9."""
    rows, blooms = variants(bench, "u64", "point")
    text, text_blooms = variants(bench, "text", "point")
    why = "RocksDB's Bloom filter reads one cache line today"

    def ratio(some, bloom):
        return mega_ops(some["surf:0:4"]) / mega_ops(bloom["surf:0:4"])

    return [claims(
        Claim("throughput of point queries over Bloom's, integers", 1, ratio(rows, blooms), "", False, why, True,
              True),
        Claim("throughput of point queries over Bloom's, emails", 0.5, ratio(text, text_blooms), "", False,
              f"{why}; the paper's value is read from its picture", is_time=True),
        Claim("building over Bloom's, integers", 1, rows["surf:0:4"]["build_ns_per_key"] /
              blooms["surf:0:4"]["build_ns_per_key"], "", True, "the paper says comparable", is_time=True)),
            "Millions of queries a second of one thread, for queries that find something and for those that do not.",
            *variants_section(bench, mega_ops, number, "paper_surf_fig9.svg", "millions of queries a second", False)]


# ---- Figure 7, figure 14 ----


def micro(bench, key_types, operations, threads, filters=()):
    """Rows of filter_micro: each benchmark has a row for each repeat."""
    flags = {"benchmark_format": "json", "benchmark_min_time": bench.pick(0.001, 0.05, 0.2),
             "benchmark_repetitions": bench.pick(1, 3, 5), "benchmark_filter": f"^({'|'.join(operations)})/",
             "key_types": ",".join(key_types), "num": bench.pick(2000, 200_000, 1_000_000),
             "threads": ",".join(map(str, threads)), **({"filters": ",".join(filters)} if filters else {})}
    results = json.loads(run(bench.args.build_dir, "filter_micro",
                             *(f"--{name}={value}" for name, value in flags.items())))["benchmarks"]
    for result in results:
        if "error_message" in result:
            sys.exit(f"{result['name']}: {result['error_message']}")
    return [result for result in results if result["run_type"] == "iteration"]


# The parts of the trie, each added to those before it (db_bench_ext/fst_steps.h).
STEPS = ("sparse", "dense", "quotient", "exceptions", "alphabet", "runs", "digits")
STEP_KEYS = {"u64": "64-bit integers", "text": "emails", "url": "URLs"}
STEP_OPERATIONS = {"PointAbsent": "absent key", "Range": "empty range", "Seek": "seek", "Build": "build a key"}


def section_steps(bench):
    """Figure 7: what each part of the trie gains."""
    times, sizes = {}, {}
    for result in micro(bench, STEP_KEYS, STEP_OPERATIONS, [1], [f"fst:{step}" for step in STEPS]):
        operation, key_type, _, name = result["name"].split("/")[:4]
        times.setdefault((key_type, name.split(":")[1], operation), []).append(result["ns/op"])
        sizes[key_type, name.split(":")[1]] = result["bits_per_key"]
    times = {key: statistics.median(values) for key, values in times.items()}
    figure, panels = plt.subplots(1, len(STEP_KEYS), figsize=(15, 4))
    rows = []
    for panel, (key_type, keys) in zip(panels, STEP_KEYS.items()):
        rows += [[keys, step, f"{sizes[key_type, step]:.2f}",
                  *(number(times[key_type, step, operation]) for operation in STEP_OPERATIONS)] for step in STEPS]
        draw_bars(panel, {text: [times[key_type, step, operation] for step in STEPS]
                          for operation, text in STEP_OPERATIONS.items()},
                  [f"{step}\n{sizes[key_type, step]:.1f}" for step in STEPS], fontsize=7)
        panel.set_title(f"{keys}; bits per key below")
        panel.set_ylabel("ns per operation")
    save(figure, bench.args.out, "paper_surf_fig7.svg")
    return ["SuRF-Base with more and more parts of its trie, one thread. [The trie](../internals/trie.md#encodings) explains "
            "each. The paper's first step is LOUDS-Dense, too. Its others, rank, select, SIMD and prefetching, gain 3 to 12 % "
            "together there; the next section measures each alone.",
            markdown(["keys", "up to", "bits/key", *(f"{text}, ns" for text in STEP_OPERATIONS.values())], rows),
            picture("paper_surf_fig7.svg", "Time of an operation by the parts of the trie")]


# Pairs of alternatives of fst_micro, what is here and what is plain, with how they are called.
PLAIN = {
    "Rank": [("RankVector, beside Poppy", "sampled", "poppy"), ("RankVector, beside a count for each 64 bits", "sampled", "words"),
             ("index of a section, beside Poppy", "index", "poppy")],
    "Select": [("SelectVector, beside a binary search", "sampled", "binary"),
               ("index of a section, beside a binary search", "index", "binary")],
    "Lookup": [("prefetching batches, beside keys one by one", "batch", "single"),
               ("prefetching batches, beside batches that do not", "batch", "no_prefetch")],
}
LABEL_COUNTS = (2, 4, 8, 16, 64, 200)
PLAIN_LABELS = {"loop": "a loop", "binary": "a binary search"}
WAYS = ("independent", "dependent")


def section_parts(bench):
    """Figure 7: each of the paper's other steps alone."""
    def measure(parts, bits, num):
        output = run(bench.args.build_dir, "fst_micro", f"--bits={bits}", f"--num={num}", "--benchmark_format=json",
                     f"--benchmark_filter=^({parts})", f"--benchmark_min_time={bench.pick(0.001, 0.05, 0.2)}",
                     f"--benchmark_repetitions={bench.pick(1, 5, 9)}", "--benchmark_enable_random_interleaving=true")
        times = {}
        for result in json.loads(output)["benchmarks"]:
            if result["run_type"] == "iteration":
                times.setdefault(tuple(result["name"].split("/")[:3]), []).append(1e9 / result["items_per_second"])
        return {name: min(values) for name, values in times.items()}  # other work only adds to a time

    def row(part, what, ours, plain):
        return [part, what, number(ours), number(plain), number(plain / ours, 2)]

    sizes = [(bench.pick(1 << 14, 1 << 20, 1 << 20), bench.pick(500, 100_000, 100_000)),
             (bench.pick(1 << 17, 1 << 28, 1 << 30), bench.pick(2000, 10_000_000, 10_000_000))]
    measured = [measure(parts, *size) for parts, size in zip(("", "Rank|Select|Lookup"), sizes)]
    rows = {part: [] for part in ("Rank", "Select", "Label", "Lookup")}
    for part, pairs in PLAIN.items():
        for (bits, num), times in zip(sizes, measured):
            for way in WAYS[:1] if part == "Lookup" else WAYS:
                what = f"{num:,} keys" if part == "Lookup" else f"{bits // 8192:,} KiB, {way}"
                rows[part] += [row(f"{part.lower()}: {text}", what, times[part, way, ours], times[part, way, plain])
                               for text, ours, plain in pairs]
    for plain, text in PLAIN_LABELS.items():
        for count in LABEL_COUNTS:
            ours, other = (measured[0][f"Label{count}", "dependent", name] for name in ("simd", plain))
            rows["Label"].append(row(f"label search: SIMD, beside {text}", f"{count} labels, dependent", ours, other))
    return ["Processor time of one operation, one thread, the least of several runs, and how many times as long the plain "
            "alternative takes. The paper has no number for each alone. *Independent* operations are in places that are known "
            "ahead, so that the processor overlaps them; each *dependent* one waits for the answer to the one before it, as the "
            "levels of a trie do. The bits are random, a quarter of them set. Poppy counts each 2^32, 2,048 and 512 bits; a count "
            "for each 64 bits takes half as many bits again. The index of a section in LOUDS-Sparse is the only table of its rank "
            "and select, so that a lookup reads one entry for both, while rank alone waits for it before it reads the bits. "
            "RankVector and SelectVector serve terminators and runs. Half of the labels, and of the keys, are there. The keys are "
            "64-bit integers; batches are of 32 keys.",
            markdown(["part", "of", "here, ns", "plain, ns", "gain, times"], sum(rows.values(), []))]


THREADED = {"PointAbsent": "absent keys", "PointPresent": "stored keys", "Range": "empty ranges",
            "RangePositive": "other ranges"}


def section_threads(bench):
    """Figure 14, and what threads can have in each other's way."""
    cores = max(2, os.cpu_count() or 1)
    threads = [1 << i for i in range(cores.bit_length()) if 1 << i <= cores]
    speeds = {}
    for result in micro(bench, KEY_TYPES, THREADED, threads):
        operation, key_type, _, name = result["name"].split("/")[:4]
        by_count = speeds.setdefault((key_type, operation, name), {})
        by_count.setdefault(result["threads"], []).append(result["items_per_second"] / 1e6)
    rows = []
    for (key_type, operation, name), by_count in speeds.items():
        medians = {count: statistics.median(values) for count, values in by_count.items()}
        rows.append([KEY_TYPES[key_type], THREADED[operation], name, *(number(medians[count]) for count in threads),
                     number(medians[threads[-1]] / medians[1])])
    surf = statistics.median(float(row[-1]) for row in rows if row[2].startswith("surf"))
    blocks = []
    if bench.args.scale != "tiny":  # callgrind and objdump take minutes
        blocks = atomics(bench)
    return [claims(Claim(f"throughput of {threads[-1]} threads over one", threads[-1], surf, "", False,
                         "the machine has no more cores; the paper's picture ends at 20 threads", is_time=True)),
            "Millions of queries a second of all threads, which share one filter:",
            markdown(["keys", "queries", "filter", *(f"{count} thread{'s' * (count > 1)}" for count in threads),
                      f"{threads[-1]} to 1"], rows), *blocks]


def atomics(bench):
    """Atomic instructions of a query."""
    command = ["scripts/count_instructions.sh", f"--build={bench.args.build_dir}", "--locked", "--queries=2000",
               "--paths=point,range,open_seek"]
    lines = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout.splitlines()
    return ["Atomic instructions of a query of a DB whose blocks are all cached, "
            "which are what many cores have in each other's way:",
            markdown(["policy", "sorted runs", *lines[0].split()[2:]], [line.split() for line in lines[1:]])]


# ---- Table 1 ----


def section_arf(bench):
    """Table 1: SuRF beside ARF."""
    num, queries = bench.pick(2000, 1_000_000, 5_000_000), bench.pick(2000, 500_000, 5_000_000)
    flags = {"workload": "range", "num": num, "queries": queries, "access": "zipf"}
    rows = bench.filters(["surf:0:4", "surf:0:6", *SURFS], samples=0, **flags)
    same, best = rows["surf:0:4"], best_within(rows.values(), 14)
    arf, = bench.filters([f"arf:{best['bits_per_key']:.2f}"], samples=queries // 5, **flags).values()

    def line(text, paper_arf, paper_surf, value, more_is_better=False):
        pairs = (paper_arf, paper_surf), (value(arf), value(best))
        gains = [surf / arf if more_is_better else arf / surf if surf else None for arf, surf in pairs]
        return [text, *map(number, (*pairs[0], gains[0], *pairs[1], gains[1]))]

    share = best["empty_queries"] / queries
    return [claims(
        Claim("false positives of ranges, 4 real bits", 2.2, 100 * same["fpr"], " %", True,
              f"{same['bits_per_key']:.1f} bits per key, the paper 14"),
        Claim("false positives of ranges, 14 bits per key", 2.2, 100 * best["fpr"], " %", True, best["filter"], True),
        Claim("millions of ranges a second", 3.3, mega_ops(same), "", False, "another machine", is_time=True),
        Claim("seconds to build, for each million keys", 0.24, same["build_ns_per_key"] / 1e3, "", True, "another machine",
              is_time=True)),
            f"{num:,} integers; the paper has 5 million. Ranges are [K + r, K + 2r] with r = 2^{math.log2(2**37 * 50e6 / num):.1f} "
            f"and K by Zipf's law, and {percent(share)} % of {queries:,} find nothing. The paper's have a size of 2^40, and about half "
            "of 10 million find nothing.",
            f"ARF and {best['filter']}, which is SuRF at its best within 14 bits per key:",
            markdown(["number", "paper: ARF", "SuRF", "gain", "here: ARF", "SuRF", "gain"], [
                line("bits per key", 14, 14, lambda row: row["bits_per_key"]),
                line("millions of ranges a second", 0.16, 3.3, mega_ops, True),
                line("false positives, %", 25.7, 2.2, lambda row: 100 * row["fpr"]),
                line("seconds to build and train", 118 + 117, 1.2, lambda row: row["build_ns_per_key"] * num / 1e9),
                line("peak memory of building, MB", 26_000, 20, lambda row: row["build_mib"] * 1.048576)]),
            f"ARF here is not its authors' ([arf.h](../../db_bench_ext/arf.h)): it finds nodes by rank, where theirs scans each level, "
            "and it never holds the full tree of the keys. The paper's is built from that tree in 118 seconds, 98 times SuRF's, and "
            f"then trained in 117. Ours is trained with {queries // 5:,} further queries that find nothing, a fifth as many as are measured, and "
            "what memory they leave goes to nodes that none of them uses. The paper trains its ARF with 2 of the 10 million queries, "
            "whatever they find."]


# ---- Figure 5 ----

INDEXES = {"fst": "the trie of SuRF-Base", "btree": "B-tree of abseil", "judy": "Judy"}


def section_indexes(bench):
    """Figure 5: the trie beside ordered indexes."""
    program = os.path.join(bench.args.build_dir, "index_bench")
    if not os.path.exists(program):
        return ["Left out: this needs libabsl-dev and libjudy-dev, before cmake is run."]
    num = bench.pick(2000, 1_000_000, 10_000_000)
    results = json.loads(run(bench.args.build_dir, "index_bench", f"--num={num}", "--benchmark_format=json",
                             f"--benchmark_min_time={bench.pick(0.001, 0.3, 1)}"))["benchmarks"]
    times = {tuple(result["name"].split("/")): result["cpu_time"] for result in results}
    bits = {tuple(result["name"].split("/")[1:]): result["bits_per_key"] for result in results}
    rows = []
    for key_type, keys in KEY_TYPES.items():
        costs = {index: times["Find", key_type, index] * bits[key_type, index] for index in INDEXES}
        rows += [[keys, text, number(bits[key_type, index]), number(times["Find", key_type, index]),
                  number(times["Seek", key_type, index]), number(costs[index] / costs["fst"], 2)]
                 for index, text in INDEXES.items()]
    return [f"{num:,} keys in memory, one thread, processor time. A find is of a stored key, a seek of the first key at or above "
            "an absent one. The cost is the time of a find times the memory, as in the paper (section 4.1). The trie holds the "
            "shortest prefixes that tell the keys apart, like all tries of the paper; the others hold whole keys, and Judy a "
            "word beside each email. Neither STX's B+tree nor ART has a Debian package; Judy is a radix tree whose nodes "
            "adapt to the number of their children, as ART's do. The paper has no numbers, but the trie costs least in its picture.",
            markdown(["keys", "index", "bits/key", "find, ns", "seek, ns", "cost"], rows)]


# ---- Figures 12 and 13 ----

PERCENTS = (10, 30, 50, 70, 90, 99)


def section_engine(bench):
    """Figures 12 and 13: time series in RocksDB."""
    filters = bench.pick(["none", "bloom:14", "surf:0:4"],
                         ["none", "bloom:14", "bloom:14+first_key", "surf:0:4", "surf:4:0", "proteus:14", "oracle"],
                         ["none", "bloom:14", "bloom:14+first_key", "surf:0:4", "surf:4:0", "surf:0:6", "proteus:14", "oracle"])
    rows = bench.engine(filters, workload="timeseries", num=bench.pick(2000, 100_000, 2_000_000),
                        queries=bench.pick(200, 5000, 25_000), sensors=bench.pick(20, 500, 2000), direct_reads="true",
                        empty_percents=",".join(map(str, PERCENTS)))
    by_query = {(row["filter"], row["query"], round(100 * row["empty_share"])): row for row in rows}

    def get(name, query, share=0):
        return next(row for (f, q, s), row in by_query.items()
                    if f == name and q == query and (q != "closed_seek" or s == share))

    def speedup(query, share=0):
        return get("surf:0:4", query, share)["ops_per_sec"] / get("bloom:14", query, share)["ops_per_sec"]

    table = []
    for name in filters:
        cells = [get(name, "point"), get(name, "open_seek"), *(get(name, "closed_seek", share) for share in (50, 90, 99))]
        table.append([name, f"{cells[0]['bits_per_key']:.1f}", *(f"{row['block_reads_per_op']:.3f}" for row in cells),
                      *(number(row["ops_per_sec"]) for row in cells)])
    kinds = ["absent Get", "open seek", "closed seek, 50 % empty", "90 %", "99 %"]
    figure, panels = plt.subplots(1, 2, figsize=(11, 4))
    for panel, (field, label) in zip(panels, (("ops_per_sec", "operations a second"), ("block_reads_per_op", "blocks read"))):
        draw_lines(panel, {name: [(share, get(name, "closed_seek", share)[field]) for share in PERCENTS] for name in filters})
        panel.set_xlabel("closed seeks with empty results (%)")
        panel.set_ylabel(label)
        panel.set_ylim(bottom=0)
    save(figure, bench.args.out, "paper_surf_fig13.svg")
    real = "surf:0:4 over bloom:14, which takes more bits"
    return [claims(
        Claim("throughput of closed seeks, 99 % empty, over Bloom's", 5, speedup("closed_seek", 99), "", False, real, True, True),
        Claim("throughput of open seeks over Bloom's", 1.5, speedup("open_seek"), "", False, real, True, True),
        Claim("blocks read by an open seek", 1.023, get("surf:0:4", "open_seek")["block_reads_per_op"], "", True,
              "a marker waits where the filter says the next key is", True),
        Claim("throughput of Gets of absent keys over Bloom's", 0.6, speedup("point"), "", False,
              "the paper has 40 % less at worst", is_time=True)),
            f"Keys of a time and a sensor, 1,000 bytes of values, three sorted runs that no compaction has merged, direct "
            f"reads, {bench.pick(2000, 100_000, 2_000_000):,} records. The paper has 100 million and Snappy; values here are not "
            "compressed. Blocks read do not depend on what else the machine does.",
            markdown(["filter", "bits/key", *(f"{kind}: blocks" for kind in kinds), *(f"{kind}: a second" for kind in kinds)],
                     table), picture("paper_surf_fig13.svg", "Closed seeks by the share of empty results")]


COMPACTED = ["bloom:14", "bloom:14+first_key", "surf:0:4", "proteus:12"]


def section_compacted(bench):
    """Figures 12 and 13 in a tree that compactions have made, compressed."""
    num, cache = bench.pick(2000, 400_000, 20_000_000), bench.pick(1, 40, 2048)
    rows = bench.engine(COMPACTED, workload="timeseries", tree="compacted", num=num, queries=bench.pick(100, 2000, 10_000),
                        query_rounds=3, sensors=bench.pick(20, 500, 2000), direct_reads="true", cache_mb=cache,
                        empty_percents="50,90,99")
    kinds = {("point", 100): "absent Get", ("point", 0): "stored Get", ("open_seek", 0): "open seek",
             ("closed_seek", 50): "closed seek, 50 % empty", ("closed_seek", 90): "90 %", ("closed_seek", 99): "99 %",
             ("count", 0): "count of 1,000"}
    rounds = {}
    for row in rows:
        rounds.setdefault((row["filter"], (row["query"], round(100 * row["empty_share"]))), []).append(row)

    def of(name, kind, field):
        values = [row[field] for row in rounds[name, kind]]
        return statistics.mean(values), max(abs(value - statistics.mean(values)) for value in values)

    def cell(name, kind, field, digits):
        mean, spread = of(name, kind, field)
        return f"{mean:.{digits}f} ±{spread:.{digits}f}"

    bits = {row["filter"]: row["bits_per_key"] for row in rows}
    blocks = [[name, f"{bits[name]:.1f}", *(cell(name, kind, "block_reads_per_op", 1 if kind[0] == "count" else 3)
                                            for kind in kinds)] for name in COMPACTED]
    times = [[name, *(cell(name, kind, "p50_us", 1) for kind in kinds)] for name in COMPACTED]
    best = min(COMPACTED[:2], key=lambda name: of(name, ("closed_seek", 99), "block_reads_per_op")[0])
    gain = (of(best, ("closed_seek", 99), "block_reads_per_op")[0] /
            max(of("proteus:12", ("closed_seek", 99), "block_reads_per_op")[0], 1e-9))
    return [f"{num:,} records of 1,040 bytes, of which half a value is zero, are written in random order; RocksDB's compactions "
            f"make the tree, with its default sizes of levels: {rows[0]['tree']}. Levels 0 and 1 are not compressed, level 2 is "
            "with LZ4, the others with ZSTD, as in the Proteus paper (section 6.1). All filters get the same tree: each "
            f"level is rewritten with them. A block cache of {cache} MB, a tenth of the data; direct reads; the mean of three rounds "
            "of queries and the largest distance from it.",
            f"Closed seeks, 99 % empty: {number(gain)} times fewer blocks with proteus:12 than with the best of RocksDB's ({best}).",
            "Blocks read by an operation:", markdown(["filter", "bits/key", *kinds.values()], blocks),
            "Microseconds of the median operation:", markdown(["filter", *kinds.values()], times),
            "SuRF counts in its trie. Proteus reads a block at each bound of a sorted run, and estimates what lies between from the index. "
            "RocksDB's filters do not count, so this is a scan."]


SECTIONS = {
    "fig5": Section("Figure 5: the trie beside ordered indexes", section_indexes, timed=True),
    "sizes": Section("Sizes and false positives by number of keys", section_sizes),
    "fig7": Section("Figure 7: the parts of the trie", section_steps, timed=True),
    "steps": Section("Figure 7: rank, select, label search and prefetching, each alone", section_parts, timed=True),
    "fig8": Section("Figure 8: false positives", section_fpr),
    "fig9": Section("Figure 9: throughput", section_speed, timed=True),
    "fig12": Section("Figures 12 and 13: time series in RocksDB", section_engine, timed=True),
    "compacted": Section("Figures 12 and 13 in a compressed tree of compactions", section_compacted, timed=True),
    "fig14": Section("Figure 14: threads", section_threads, timed=True),
    "table1": Section("Table 1: beside ARF", section_arf, timed=True),
}

if __name__ == "__main__":
    main_of("surf", __doc__, HEAD, SECTIONS)
