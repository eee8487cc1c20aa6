# SPDX-License-Identifier: Apache-2.0
"""Prints figures 4, 5, 7, 8 and 9 and table 2 of the Proteus paper as tables, and draws the figures: predicted and
observed false positive rates of whole design spaces, false positive rates against bits per key on numbers and strings,
queries that shift, and what modelling costs. Runs filter_bench and protean_bench, which must be built. Sections that
are not asked for stay in the report as they are.
"""

import os
import re
import shlex
import statistics
import sys
import time

from figures import (add_report_options, draw_lines, machine, parser, percent, plt, run_rows, save, save_report, table)

SEPARATOR = "=" * 100


class Bench:
    """The benchmarks on the workloads of the paper."""

    def __init__(self, args):
        self.args = args

    def scale(self, count):
        return max(1000, count // 50) if self.args.quick else count

    def filters(self, keys, filters, queries, num, samples=20000, seed=42, **flags):
        """Rows of filter_bench. `keys` and `queries` are flags by name."""
        workload = {**keys, **queries, "num": self.scale(num), "samples": self.scale(samples), "seed": seed}
        workload.setdefault("workload", "ranges")
        return run_rows(self.args.build_dir, "filter_bench", filter=",".join(filters), **workload, **flags)

    def shift(self, keys, queries, num, queries_num, filters, **flags):
        workload = {"workload": "ranges", **keys, **queries, "num": self.scale(num),
                    "queries": self.scale(queries_num), "filters": ",".join(filters), **flags}
        return run_rows(self.args.build_dir, "protean_bench", **workload)


# ---- Figure 4: the model against the truth, for all designs ----

FIG4_BITS = 10
FIG4_SAMPLES = 10000
FIG4_KEYS = 500_000
FIG4_QUERIES = 50_000
FIG4_RMAX = (4, 7, 10, 15, 20)
FIG4_CORR = (1, 4, 7, 10, 15)
SPACES = {"1pbf": "prefixbloom", "2pbf": "prefixbloom2", "proteus": "proteus"}


def lengths(row):
    """The lengths of the first layer, 0 if there is none, and of the second layer of the design that the filter chose."""
    numbers = [int(number) for number in re.findall(r"\b(?:trie|bloom|ribbon) (\d+)", row["design"])]
    if "trie" in row["design"] and len(numbers) == 1:
        return numbers[0], 0
    return (0, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])


def design_name(design, space):
    first, second = design
    parts = [f"{'trie' if space == 'proteus' else 'bloom'} {first}"] * (first > 0) + [f"bloom {second}"] * (second > 0)
    return ", ".join(parts)


def design_space(bench, space, keys, queries):
    """The design that the filter chose, and all of them by their lengths."""
    rows = bench.filters(keys, [f"{SPACES[space]}:{FIG4_BITS}:bloom"],
                         {**queries, "queries": bench.scale(FIG4_QUERIES)}, FIG4_KEYS,
                         designs=f"{space}:{FIG4_BITS}", samples=FIG4_SAMPLES)
    return rows[0], {lengths(row): row for row in rows[1:]}


def model_errors(name, space, chosen, designs):
    """A line of the table: the errors of the model, and the cost of its choice."""
    errors = [abs(row["predicted_fpr"] - row["fpr"]) for row in designs.values()]
    best = min(designs.values(), key=lambda row: row["fpr"])
    rank = sum(row["fpr"] < chosen["fpr"] for row in designs.values()) + 1
    return [name, len(designs), f"{statistics.mean(errors):.4f}", f"{max(errors):.4f}",
            f"{sum(error > 0.01 for error in errors)}", design_name(lengths(chosen), space),
            percent(chosen["predicted_fpr"]), percent(chosen["fpr"]), design_name(lengths(best), space),
            percent(best["fpr"]), percent(chosen["fpr"] - best["fpr"]), rank]


MODEL_HEADER = ("", "designs", "mean error", "max error", "above 0.01", "chosen", "predicted %", "observed %", "best",
                "observed %", "lost %", "rank")


def draw_matrix(figure, panel, space, designs):
    """Predicted rates in the upper right triangle, observed ones in the lower left."""
    import matplotlib.colors  # pylint: disable=import-outside-toplevel
    import numpy  # pylint: disable=import-outside-toplevel

    size = 65
    matrix = numpy.full((size, size), numpy.nan)
    for (first, second), row in designs.items():
        if second == 0:
            second = first
        matrix[first, second] = max(row["predicted_fpr"], 1e-4)
        if first != second:
            matrix[second, first] = max(row["fpr"], 1e-4)
    colors = plt.get_cmap("viridis_r").copy()
    colors.set_bad("lightgrey")
    scale = matplotlib.colors.LogNorm(vmin=numpy.nanmin(matrix), vmax=1)
    image = panel.imshow(matrix, origin="lower", cmap=colors, norm=scale)
    figure.colorbar(image, ax=panel, label="FPR")
    best = min(designs.items(), key=lambda item: item[1]["fpr"])[0]
    best = (best[0], best[1] or best[0])
    panel.plot([best[1], best[0]], best, "r*", markersize=9)
    first = "trie depth" if space == "proteus" else "first prefix length"
    panel.set_xlabel(f"upper right, predicted: second prefix length\nlower left, observed: {first}")
    panel.set_ylabel(f"predicted: {first}\nobserved: second prefix length")


def figure_4(bench):
    """Predicted and observed false positive rates of all designs."""
    figure, panels = plt.subplots(1, 4, figsize=(22, 5))
    curves = (("RMAX", "uniform keys and queries", FIG4_RMAX, {"query_dist": "uniform"}, "rmax"),
              ("CORRDEGREE", "uniform keys, correlated queries, RMAX 2^7", FIG4_CORR,
               {"query_dist": "correlated", "rmax": "2^7"}, "corr_degree"))
    tables = []
    for panel, (parameter, title, exponents, queries, flag) in zip(panels, curves):
        lines = []
        for i, exponent in enumerate(exponents):
            chosen, designs = design_space(bench, "1pbf", {"key_dist": "uniform"}, {**queries, flag: f"2^{exponent}"})
            lines.append(model_errors(f"{parameter} 2^{exponent}", "1pbf", chosen, designs))
            points = sorted((bits, row["predicted_fpr"], row["fpr"]) for (_, bits), row in designs.items())
            bits, predicted, observed = zip(*points)
            panel.plot(bits, predicted, color=f"C{i}", label=f"2^{exponent}")
            panel.plot(bits, observed, "x", markersize=4, color=f"C{i}")
        panel.set_title(f"1PBF, {title}\nlines predicted, crosses observed")
        panel.set_xlabel("prefix length")
        panel.set_ylabel("FPR")
        panel.legend(title=parameter)
        panel.grid(alpha=0.3)
        tables.append(table(f"1PBF, {title}", MODEL_HEADER, lines))
    lines = []
    best = []
    for panel, space in zip(panels[2:], ("2pbf", "proteus")):
        chosen, designs = design_space(bench, space, {"key_dist": "normal"}, {"query_dist": "split", "rmax": "2^30"})
        name = {"2pbf": "2PBF, halves", "proteus": "Proteus"}[space]
        lines.append(model_errors(name, space, chosen, designs))
        draw_matrix(figure, panel, space, designs)
        panel.set_title(f"{name}, normal keys, split queries\nstar: best observed")
        rows = sorted(designs.items(), key=lambda item: item[1]["fpr"])[:8]
        best.append(table(f"{name}: the best designs observed", ("design", "predicted %", "observed %"),
                          [(design_name(design, space), percent(row["predicted_fpr"]), percent(row["fpr"]))
                           for design, row in rows]))
    tables.append(table("normal keys; half uniform queries, RMAX 2^30, half correlated ones, RMAX 32", MODEL_HEADER,
                        lines))
    save(figure, bench.args.out, "proteus_fig4.png", legend=False)
    return "\n".join([f"Figure 4: the model's predictions for all designs, {FIG4_BITS} bits per key\n"
                      f"{bench.scale(FIG4_KEYS)} keys, {bench.scale(FIG4_SAMPLES)} samples, "
                      f"{bench.scale(FIG4_QUERIES)} queries that find nothing\n"
                      "errors are |predicted - observed|; chosen is the model's choice, lost what the best one would "
                      "gain over it\n", *tables, *best])


# ---- Figures 5 and 9: false positive rates against bits per key ----

FIG5_BITS = (8, 10, 12, 14, 16, 18)
FIG5_KEYS = 1_000_000
FIG5_QUERIES = 100_000
SELF_DESIGNED = {"Proteus": "proteus:{}", "2PBF": "prefixbloom2:{}", "Proteus, Bloom": "proteus:{}:bloom",
                 "2PBF, Bloom": "prefixbloom2:{}:bloom", "1PBF, Bloom": "prefixbloom:{}:bloom"}
CURVES = (*SELF_DESIGNED, "SuRF")


def budget_rows(bench, keys, queries, num):
    """Rows by (curve, bits per key). SuRF is the best of real and hashed suffixes that fits."""
    queries = {**queries, "queries": bench.scale(FIG5_QUERIES)}
    base = bench.filters(keys, ["surf:0:0"], queries, num)[0]
    suffixes = {bits: int(bits * 1.005 - base["bits_per_key"]) for bits in FIG5_BITS}
    surf = {bits: [f"surf:0:{suffix}", f"surf:{suffix}:0"] if suffix > 0 else ["surf:0:0"]
            for bits, suffix in suffixes.items() if base["bits_per_key"] <= bits * 1.005}
    names = {(curve, bits): name.format(bits) for curve, name in SELF_DESIGNED.items() for bits in FIG5_BITS}
    specs = list(dict.fromkeys([*names.values(), *(name for pair in surf.values() for name in pair)]))
    rows = {row["filter"]: row for row in bench.filters(keys, specs, queries, num)}
    found = {key: rows[name] for key, name in names.items()}
    for bits, pair in surf.items():
        found["SuRF", bits] = min((rows[name] for name in pair), key=lambda row: row["fpr"])
    return found


def budget_table(title, rows):
    header = ["bits/key", *(f"{curve} %" for curve in CURVES), "Proteus chose", "predicted %", "ns/query", "SuRF took",
              "ns/query"]
    lines = []
    for bits in FIG5_BITS:
        proteus = rows["Proteus", bits]
        surf = rows.get(("SuRF", bits))
        lines.append([bits, *(percent(rows[curve, bits]["fpr"]) if (curve, bits) in rows else None
                              for curve in CURVES),
                      proteus["design"].split(" (")[0], percent(proteus["predicted_fpr"]),
                      f"{proteus['query_ns']:.0f}", surf and surf["filter"], surf and f"{surf['query_ns']:.0f}"])
    return table(title, header, lines)


def budget_figure(bench, title, workloads, name):
    """`workloads` has a panel for each row and column: the flags of its keys and queries."""
    row_names = list(dict.fromkeys(row for row, _ in workloads))
    columns = list(dict.fromkeys(column for _, column in workloads))
    figure, panels = plt.subplots(len(row_names), len(columns), figsize=(4.2 * len(columns), 3 * len(row_names)),
                                  sharex="all", squeeze=False)
    tables = []
    for (row_name, column), (keys, queries, num) in workloads.items():
        panel = panels[row_names.index(row_name)][columns.index(column)]
        rows = budget_rows(bench, keys, queries, num)
        tables.append(budget_table(f"{row_name}: {column}", rows))
        print(tables[-1])
        draw_lines(panel, {curve: [(bits, max(rows[curve, bits]["fpr"], 1e-5)) for bits in FIG5_BITS if (curve, bits) in rows]
                           for curve in CURVES}, behind=True)
        panel.set_yscale("log")
        panel.set_ylim(1e-5, 1.5)
        panel.set_title(f"{row_name}\n{column}", fontsize=9)
    for panel in panels[-1]:
        panel.set_xlabel("Bits per key")
    for row in panels:
        row[0].set_ylabel("FPR")
    for i, row in enumerate(panels):
        for j, panel in enumerate(row):
            panel.set_visible((row_names[i], columns[j]) in workloads)
    save(figure, bench.args.out, name)
    return "\n".join([title, *tables])


def ranges_of(dist, small, large):
    """The paper's columns: points, small and large ranges, points and large ranges."""
    both = {"query_dist": dist}

    def offsets(rmax):
        return {**both, "rmax": rmax, **({"rmax_correlated": 0 if rmax == 0 else 32} if dist == "split" else {})}

    return {"points": offsets(0), f"ranges up to {small}": offsets(small), f"ranges up to {large}": offsets(large),
            "half points, half large ranges": {**offsets(large), "point_share": 0.5}}


def figure_5(bench):
    """False positive rates on numbers."""
    kinds = {"uniform keys, uniform queries": ("uniform", "uniform", "2^30"),
             "uniform keys, correlated queries": ("uniform", "correlated", "2^15"),
             "uniform keys, split queries": ("uniform", "split", "2^30"),
             "normal keys, split queries": ("normal", "split", "2^30"),
             "normal keys, uniform queries": ("normal", "uniform", "2^30"),
             "books keys, real queries": ("books", "real", "2^30"),
             "facebook keys, real queries": ("facebook", "real", "2^15")}
    workloads = {}
    for name, (keys, dist, large) in kinds.items():
        for column, (_, queries) in zip(("points", "small ranges", "large ranges", "mixed"),
                                        ranges_of(dist, "2^5", large).items()):
            workloads[f"{name} (large: {large})", column] = ({"key_dist": keys}, queries, FIG5_KEYS)
    return budget_figure(bench, "Figure 5: false positives in % of the queries that find nothing\n"
                         f"{bench.scale(FIG5_KEYS)} keys, {bench.scale(20000)} samples, {bench.scale(FIG5_QUERIES)} "
                         "queries; points, small ranges up to 2^5, large ones, mixed: half points, half large ranges\n"
                         "the correlated half of split queries has ranges up to 2^5; books and facebook are generated; "
                         "filters without a word of Bloom choose between Bloom and Ribbon\n",
                         workloads, "proteus_fig5.png")


FIG9_KEYS = 200_000


def figure_9(bench):
    """False positive rates on strings."""
    columns = {"points": {"rmax": 0, "rmax_correlated": 0}, "ranges": {"rmax_correlated": "2^30"},
               "mixed": {"point_share": 0.5, "rmax_correlated": "2^30"}}
    workloads = {}
    for keys in ("uniform", "normal"):
        for dist in ("uniform", "correlated", "split"):
            for column in ("points", "ranges"):
                workloads[f"{keys} keys of 180 bytes, {dist} queries", column] = (
                    {"workload": "strings", "key_dist": keys, "key_bytes": 180},
                    {"query_dist": dist, **columns[column]}, FIG9_KEYS)
    for keys in ("domain", "text"):
        for column, queries in columns.items():
            workloads[f"{keys} keys, real queries", column] = (
                {"workload": "strings", "key_dist": keys}, {"query_dist": "real", **queries}, FIG5_KEYS)
    return budget_figure(bench, "Figure 9: false positives in % on strings\n"
                         f"{bench.scale(FIG9_KEYS)} keys of 180 bytes, RMAX 2^30, CORRDEGREE 2^29; "
                         f"{bench.scale(FIG5_KEYS)} generated domain and text keys, ranges to the last byte + 1\n",
                         workloads, "proteus_fig9.png")


# ---- Figures 7 and 8: queries that shift ----

SHIFT_KEYS = 200_000
SHIFT_QUERIES = 400_000
# The whole queue is replaced 30 times, as in the paper, where there are 150 times as many queries.
SCALED = "{id=protean.Proteus;bits_per_key=12;sample_every=4;sample_capacity=3300}"
SHIFT_FILTERS = {"bloom:12": "Bloom", "surf:0:4": "SuRF-Real 4", "proteus:12": "Proteus",
                 SCALED: "Proteus, fast queue", "prefixbloom2:12": "2PBF", "oracle": "exact"}
SHIFTS = {
    "normal keys, uniform to correlated queries": (
        {"key_dist": "normal"}, {"query_dist": "uniform", "rmax": "2^30", "query_dist_end": "correlated",
                                 "rmax_end": 32}),
    "uniform keys, correlated to uniform queries": (
        {"key_dist": "uniform"}, {"query_dist": "correlated", "rmax": 32, "query_dist_end": "uniform",
                                  "rmax_end": "2^30"}),
}


def shift_figure(bench, shift, name, title):
    figure, panels = plt.subplots(len(SHIFTS), 3, figsize=(17, 4.2 * len(SHIFTS)))
    tables = []
    for row_panels, (workload, (keys, queries)) in zip(panels, SHIFTS.items()):
        rows = bench.shift(keys, queries, SHIFT_KEYS, SHIFT_QUERIES, SHIFT_FILTERS, shift=shift,
                           direct_reads="true")
        by_filter = {}
        for row in rows:
            by_filter.setdefault(row["filter"], []).append(row)
        for what, text, cell in (
                ("filter_fpr", "false positives in %", percent),
                ("seconds", "seconds since the first query", lambda value: f"{value:.1f}"),
                ("block_reads_per_op", "block reads per seek", lambda value: f"{value:.3f}")):
            lines = [[f"{row['transition_ratio']:.3f}", *(cell(batches[i][what]) for batches in by_filter.values())]
                     for i, row in enumerate(rows[:len(rows) // len(by_filter)])]
            tables.append(table(f"{workload}: {text}", ["transition", *(SHIFT_FILTERS[f] for f in by_filter)], lines))
        jobs = ", ".join(f"{SHIFT_FILTERS[f]} {batches[-1]['background_jobs']}" for f, batches in by_filter.items())
        tables.append(f"{workload}: flushes and compactions in all: {jobs}\n")
        curves = (("filter_fpr", "FPR"), ("seconds", "seconds since the first query"),
                  ("block_reads_per_op", "block reads per seek"))
        for panel, (what, label) in zip(row_panels, curves):
            draw_lines(panel, {SHIFT_FILTERS[filter_name]:
                               [(row["batch"], row[what]) for row in batches if row[what] is not None]
                               for filter_name, batches in by_filter.items()})
            panel.set_title(workload, fontsize=9)
            panel.set_xlabel("batch")
            panel.set_ylabel(label)
            panel.set_ylim(bottom=0)
    save(figure, bench.args.out, name)
    return "\n".join([f"{title}\n{bench.scale(SHIFT_KEYS)} records of 512 bytes, twice as many written among "
                      f"{bench.scale(SHIFT_QUERIES)} closed seeks that find nothing; 12 bits per key; direct reads\n"
                      f"fast queue: {SCALED}\n", *tables])


def figure_7(bench):
    """Queries that shift gradually."""
    return shift_figure(bench, "gradual", "proteus_fig7.png", "Figure 7: queries that shift gradually")


def figure_8(bench):
    """Queries that shift at once."""
    return shift_figure(bench, "immediate", "proteus_fig8.png", "Figure 8: queries that shift half way")


# ---- Table 2: what modelling costs ----

COSTS = {"1PBF": "prefixbloom:10:bloom", "2PBF": "prefixbloom2:10:bloom", "Proteus, Bloom": "proteus:10:bloom",
         "Proteus": "proteus:10", "SuRF-Base": "surf:0:0", "SuRF-Real 4": "surf:0:4", "RocksDB Bloom": "bloom:10",
         "RocksDB Ribbon": "ribbon:10"}
STRINGS = {"workload": "strings", "key_dist": "normal"}
COST_WORKLOADS = {
    "64-bit": ({"key_dist": "normal"}, {"rmin": 4, "rmax": "2^20"}, (1_000_000, 10_000_000)),
    "80-bit": ({**STRINGS, "key_bytes": 10}, {}, (1_000_000,)),
    "200-bit": ({**STRINGS, "key_bytes": 25}, {}, (1_000_000,)),
    "1440-bit": ({**STRINGS, "key_bytes": 180}, {}, (1_000_000,)),
}


def table_2(bench):
    """What modelling and building cost."""
    repeats = 1 if bench.args.quick else 3
    header = ["filter", "model ms", "other ms", "build ms", "ns/key", "to Bloom", "model share %", "FPR %",
              "predicted %", "design"]
    tables = []
    for name, (keys, queries, nums) in COST_WORKLOADS.items():
        for num in nums:
            if bench.args.max_keys and num > bench.args.max_keys:
                continue
            # The first filter meets a cold process, and does not count.
            rows = {}
            for _ in range(repeats if num <= 1_000_000 else 1):
                for row in bench.filters(keys, ["bloom:20", *COSTS.values()], {"query_dist": "correlated", **queries,
                                                                "queries": bench.scale(20000)}, num):
                    rows.setdefault(row["filter"], []).append(row)

            def median(filter_name, of, rows=rows):
                return statistics.median(row[of] for row in rows[filter_name])

            bloom = median("bloom:10", "build_ns_per_key")
            lines = []
            for label, spec in COSTS.items():
                row = rows[spec][0]
                build = median(spec, "build_ns_per_key") * row["keys"] / 1e6
                model = median(spec, "model_ms")
                lines.append([label, f"{model:.1f}" if model else None, f"{build - model:.0f}", f"{build:.0f}",
                              f"{median(spec, 'build_ns_per_key'):.0f}",
                              f"{median(spec, 'build_ns_per_key') / bloom:.2f}",
                              f"{100 * model / build:.1f}" if model else None, percent(row["fpr"]),
                              percent(row["predicted_fpr"]), row["design"].split(" (")[0] if model else ""])
            tables.append(table(f"{bench.scale(num)} normal {name} keys", header, lines))
            print(tables[-1])
    return "\n".join(["Table 2: what modelling and building cost, 10 bits per key\n"
                      f"{bench.scale(20000)} samples, correlated queries; 64-bit: ranges of 2^2 to 2^20, CORRDEGREE "
                      "2^10; strings: RMAX 2^30, CORRDEGREE 2^29\nbuild is all of it, key copies included; median of "
                      f"{repeats}\n", *tables])


# Each runs what it needs, saves its plot and returns its tables.
SECTIONS = {"fig4": figure_4, "fig5": figure_5, "fig7": figure_7, "fig8": figure_8, "fig9": figure_9,
            "table2": table_2}


def read_report(path):
    """The sections of an earlier run by name."""
    try:
        with open(path, encoding="utf-8") as report:
            parts = re.split(rf"^{SEPARATOR}\n(\w+)\n", report.read(), flags=re.MULTILINE)
    except FileNotFoundError:
        return {}
    return dict(zip(parts[1::2], parts[2::2]))


def parse_args():
    options = parser(__doc__)
    options.add_argument("sections", nargs="*", metavar="SECTION", help=f"{', '.join(SECTIONS)}; all if none is given")
    add_report_options(options)
    options.add_argument("--max-keys", type=int, help="table2: leave larger sets of keys out")
    options.add_argument("--quick", action="store_true", help="a trial with a fiftieth of keys, queries and samples")
    args = options.parse_args()
    for name in args.sections:
        if name not in SECTIONS:
            options.error(f"{name} is unknown; allowed: {', '.join(SECTIONS)}")
    return args


def main():
    args = parse_args()
    os.makedirs(args.out, exist_ok=True)
    path = os.path.join(args.out, "proteus_figures.txt")
    bench = Bench(args)
    for name in args.sections or SECTIONS:
        head = f"python3 {shlex.join([sys.argv[0], name])}\n{machine()}"
        start = time.monotonic()
        text = SECTIONS[name](bench)
        part = f"{head}; took {time.monotonic() - start:.0f} s\n\n{text}\n"
        print(part)
        parts = read_report(path)
        parts[name] = part
        save_report(path, "".join(f"{SEPARATOR}\n{section}\n{parts[section]}" for section in SECTIONS if section in parts))


if __name__ == "__main__":
    main()
