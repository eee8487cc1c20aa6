# SPDX-License-Identifier: Apache-2.0
"""Makes the page of the Proteus paper: figures 1, 4, 5, 6, 7, 8 and 9 and tables 1 and 2, and false positives on keys that this
machine has. Runs filter_bench and protean_bench.
"""

import glob
import math
import os
import re
import statistics
import struct
import subprocess
import tempfile

from figures import draw_lines, markdown, plt, save
from papers import SURFS, Claim, Section, best_within, claims, main_of, number, percent, picture

HEAD = """# Proteus: its paper's figures

*What did the paper measure, and what does Protean's Proteus give?*

The paper is Knorr et al., "Proteus: A Self-Designing Range Filter", SIGMOD 2022. Made by `scripts/paper_figures.sh proteus`;
each section names its commit, its scale and the machine. [benchmarks.md](../benchmarks.md) describes the workloads.

- `proteus:B` chooses between Bloom and Ribbon for its sets; *Proteus, Bloom* has Bloom filters only, as in the paper.
- *SuRF* is the best of 43 variants whose measured size fits: hash, real and prefix bits, and hash and real bits in equal
  parts. A dash means that the trie alone does not fit.
- *Rosetta* is written for the benchmarks after the descriptions of it, not its authors' code
  ([rosetta.h](../../db_bench_ext/rosetta.h)): how it shares memory among its levels is our reading.
- The books, Facebook, domain and text keys are generated, after the distributions of the paper's data sets.
"""


def measure(bench, keys, queries, specs, num, count, samples=20000, **flags):
    """Rows of filter_bench by filter. `keys` and `queries` are flags by name."""
    return bench.filters(specs, **{"workload": "ranges", **keys, **queries, "num": num, "queries": count,
                                   "samples": bench.pick(1000, samples, samples), **flags})


# ---- Figure 1: the workload space ----

FIG1_BITS = 12
FIG1_FILTERS = {"Proteus": f"proteus:{FIG1_BITS}", "Proteus, Bloom": f"proteus:{FIG1_BITS}:bloom",
                "Rosetta": f"rosetta:{FIG1_BITS}", "SuRF": None}


def section_1(bench):
    """Figure 1: false positives over lengths of ranges and distances from the keys."""
    lengths_of_ranges = bench.pick((2, 20), (1, 5, 10, 15, 20), (1, 3, 5, 7, 9, 11, 13, 15, 17, 20))
    distances = bench.pick((2, 20), (1, 8, 16, 24, 32, 40), (1, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40))
    rates = {name: {} for name in FIG1_FILTERS}
    for length in lengths_of_ranges:
        for distance in distances:
            rows = measure(bench, {}, {"query_dist": "correlated", "corr_degree": f"2^{distance}", "rmax": f"2^{length}"},
                           [*(spec for spec in FIG1_FILTERS.values() if spec), *SURFS], bench.pick(2000, 50_000, 1_000_000),
                           bench.pick(1000, 5000, 50_000))
            for name, spec in FIG1_FILTERS.items():
                row = rows[spec] if spec else best_within([rows[surf] for surf in SURFS], FIG1_BITS)
                rates[name][distance, length] = row["fpr"] if row else 1
    figure, panels = plt.subplots(1, len(rates), figsize=(15, 3.6))
    for panel, (name, by_place) in zip(panels, rates.items()):
        panel.grid(False)
        image = panel.imshow([[max(by_place[d, r], 1e-4) for r in lengths_of_ranges] for d in distances], origin="lower",
                             norm="log", vmin=1e-4, vmax=1, cmap="viridis", aspect="auto")
        panel.set_xticks(range(len(lengths_of_ranges)), [f"2^{r}" for r in lengths_of_ranges], fontsize=7)
        panel.set_yticks(range(len(distances)), [f"2^{d}" for d in distances], fontsize=7)
        panel.set_title(name)
        panel.set_xlabel("largest range")
    panels[0].set_ylabel("largest distance from a key")
    figure.colorbar(image, ax=panels, label="share of false positives")
    save(figure, bench.args.out, "paper_proteus_fig1.svg", legend=False, tight=False)
    means = {name: statistics.mean(by_place.values()) for name, by_place in rates.items()}
    best = sum(rates["Proteus"][place] <= min(by_place[place] for by_place in rates.values()) for place in rates["Proteus"])
    return [f"Uniform 64-bit keys, {FIG1_BITS} bits per key; the darker, the fewer false positives. Proteus is the best of the "
            f"four, or as good, in {best} of {len(rates['Proteus'])} places.",
            markdown(["", *rates], [["mean share of false positives, %", *map(percent, means.values())]]),
            picture("paper_proteus_fig1.svg", "False positives over lengths of ranges and distances from the keys")]


# ---- Table 1: the number of samples ----


def section_samples(bench):
    """Chernoff's bounds by the number of samples, and the differences that are observed."""
    def bound(samples, error, rate):
        exponent = samples * error ** 2
        return min(1, 2 * math.exp(-2 * exponent), math.exp(-exponent / (2 * rate)) + math.exp(-exponent / (3 * rate)))

    rows = []
    for samples in (500, 1000, 2000, 5000, 10000, 20000, 50000):
        errors = []
        if samples <= bench.pick(1000, 20000, 50000):
            for seed in range(bench.pick(1, 5, 20)):
                row = bench.filters(["design:10:bloom57"], workload="ranges", query_dist="split",
                                    rmax="2^30", num=bench.pick(2000, 20_000, 100_000), queries=bench.pick(1000, 20_000, 100_000),
                                    samples=samples, seed=seed)["design:10:bloom57"]
                errors.append(abs(row["predicted_fpr"] - row["fpr"]))
        rows.append([f"{samples:,}", *(number(bound(samples, error, 0.1), 2) for error in (0.01, 0.02)),
                     number(bound(samples, 0.01, 0.5), 2), number(max(errors)) if errors else None])
    return ["How likely is it at most that the rate of a design differs from its samples' rate by more than an error (section "
            "4.3)? The bounds are for rates up to 10 %, and of 50 %. A queue has 20,000 samples by default, in the paper and "
            "here. The last column is what was observed: the largest difference between the prediction and the rate of other "
            "queries, over several seeds. The design lets half of the queries through. The paper's table has 0.00425 for 10,000 "
            "samples and an error of .01, where its formula gives the 0.042 below.",
            markdown(["samples", "error .01, rate 10 %", "error .02, rate 10 %", "error .01, rate 50 %", "largest difference"], rows)]


# ---- Figure 4: the model against the truth, for all designs ----

FIG4_BITS = 10
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
    rows = measure(bench, keys, queries, [f"{SPACES[space]}:{FIG4_BITS}:bloom"], bench.pick(2000, 20_000, 500_000),
                   bench.pick(500, 5000, 50_000), 10000, designs=f"{space}:{FIG4_BITS}")
    chosen, *designs = rows.values()
    by_lengths = {lengths(row): row for row in designs}
    # Predictions are of queries that lie among the keys. Prefixes of one bit let all of these through, and no others.
    among = by_lengths[0, 1]["fpr"]
    for row in rows.values():
        row["predicted_fpr"] *= among
    return chosen, by_lengths


def model_errors(name, space, chosen, designs):
    """A line of the table: the errors of the model, and the cost of its choice."""
    errors = [abs(row["predicted_fpr"] - row["fpr"]) for row in designs.values()]
    best = min(designs.values(), key=lambda row: row["fpr"])
    return [name, len(designs), number(statistics.mean(errors)), number(max(errors)), design_name(lengths(chosen), space),
            percent(chosen["predicted_fpr"]), percent(chosen["fpr"]), design_name(lengths(best), space), percent(best["fpr"])]


MODEL_HEADER = ("", "designs", "mean error", "max error", "chosen", "predicted %", "observed %", "best", "observed %")


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
    panel.grid(False)
    image = panel.imshow(matrix, origin="lower", cmap=colors, norm=scale)
    figure.colorbar(image, ax=panel, label="FPR")
    best = min(designs.items(), key=lambda item: item[1]["fpr"])[0]
    best = (best[0], best[1] or best[0])
    panel.plot([best[1], best[0]], best, "r*", markersize=9)
    first = "trie depth" if space == "proteus" else "first prefix length"
    panel.set_xlabel(f"upper right, predicted: second prefix length\nlower left, observed: {first}")
    panel.set_ylabel(f"predicted: {first}\nobserved: second prefix length")


def section_4(bench):
    """Figure 4: predicted and observed false positive rates of all designs."""
    figure, panels = plt.subplots(1, 4, figsize=(22, 5))
    curves = (("RMAX", "uniform keys and queries", bench.pick((7,), (4, 10, 20), (4, 7, 10, 15, 20)),
               {"query_dist": "uniform"}, "rmax"),
              ("CORRDEGREE", "correlated queries, RMAX 2^7", bench.pick((7,), (1, 7, 15), (1, 4, 7, 10, 15)),
               {"query_dist": "correlated", "rmax": "2^7"}, "corr_degree"))
    lines, largest, lost = [], 0, 0
    for panel, (parameter, title, exponents, queries, flag) in zip(panels, curves):
        for i, exponent in enumerate(exponents):
            chosen, designs = design_space(bench, "1pbf", {"key_dist": "uniform"}, {**queries, flag: f"2^{exponent}"})
            lines.append(model_errors(f"1PBF, {title}, {parameter} 2^{exponent}", "1pbf", chosen, designs))
            largest = max(largest, *(abs(row["predicted_fpr"] - row["fpr"]) for row in designs.values()))
            points = sorted((bits, row["predicted_fpr"], row["fpr"]) for (_, bits), row in designs.items())
            bits, predicted, observed = zip(*points)
            panel.plot(bits, predicted, color=f"C{i}", label=f"2^{exponent}")
            panel.plot(bits, observed, "x", markersize=4, color=f"C{i}")
        panel.set_title(f"1PBF, {title}\nlines predicted, crosses observed")
        panel.set_xlabel("prefix length")
        panel.set_ylabel("FPR")
        panel.legend(title=parameter)
    observed = {}
    for panel, space in zip(panels[2:], ("2pbf", "proteus")):
        chosen, designs = design_space(bench, space, {"key_dist": "normal"}, {"query_dist": "split", "rmax": "2^30"})
        name = {"2pbf": "2PBF, halves", "proteus": "Proteus"}[space]
        lines.append(model_errors(f"{name}, normal keys, split queries", space, chosen, designs))
        largest = max(largest, *(abs(row["predicted_fpr"] - row["fpr"]) for row in designs.values()))
        observed[space] = chosen["fpr"]
        lost = max(lost, chosen["fpr"] - min(row["fpr"] for row in designs.values()))
        draw_matrix(figure, panel, space, designs)
        panel.set_title(f"{name}, normal keys, split queries\nstar: best observed")
    save(figure, bench.args.out, "paper_proteus_fig4.svg", legend=False)
    return [claims(
        Claim("false positives of Proteus' choice, Bloom filters", 4.91, 100 * observed["proteus"], " %", True,
              "fewer keys; the paper's words, not its picture"),
        Claim("false positives of 2PBF's choice", 12.3, 100 * observed["2pbf"], " %", True, "the memory is shared freely")),
            f"All designs of each space at {FIG4_BITS} bits per key, 10,000 samples, the predicted rate beside the observed one. "
            f"No design differs by more than {number(largest)}, and the choice loses at most {number(100 * lost, 2)} points to "
            "the best design of two layers.", markdown(MODEL_HEADER, lines),
            picture("paper_proteus_fig4.svg", "Predicted and observed rates of all designs")]


# ---- Figures 5 and 9: false positive rates against bits per key ----

SELF_DESIGNED = {"Proteus": "proteus:{}", "Proteus, Bloom": "proteus:{}:bloom", "2PBF, Bloom": "prefixbloom2:{}:bloom",
                 "1PBF, Bloom": "prefixbloom:{}:bloom", "Rosetta": "rosetta:{}"}
CURVES = (*SELF_DESIGNED, "SuRF")


def budget_rows(bench, keys, queries, num, count):
    """Rows by (curve, bits per key), and the bits that SuRF takes at least."""
    numbers = keys.get("workload") != "strings"
    names = {(curve, bits): name.format(bits) for curve, name in SELF_DESIGNED.items() if numbers or curve != "Rosetta"
             for bits in budgets(bench)}
    rows = measure(bench, keys, queries, [*names.values(), *SURFS], num, count)
    found = {key: rows[name] for key, name in names.items()}
    for bits in budgets(bench):
        surf = best_within([rows[name] for name in SURFS], bits)
        if surf:
            found["SuRF", bits] = surf
    return found


def budgets(bench):
    return bench.pick((10, 16), (8, 10, 12, 14, 18), (8, 10, 12, 14, 16, 18))


def budget_section(bench, workloads, name):
    """`workloads` has a panel for each row and column: the flags of its keys and queries. Gives all rows and blocks."""
    row_names = list(dict.fromkeys(row for row, _ in workloads))
    columns = list(dict.fromkeys(column for _, column in workloads))
    figure, panels = plt.subplots(len(row_names), len(columns), figsize=(4.2 * len(columns), 3 * len(row_names)),
                                  sharex="all", squeeze=False)
    lines, results = [], {}
    for (row_name, column), (keys, queries, num, count) in workloads.items():
        panel = panels[row_names.index(row_name)][columns.index(column)]
        rows = results[row_name, column] = budget_rows(bench, keys, queries, num, count)
        for bits in budgets(bench):
            surf = rows.get(("SuRF", bits))
            lines.append([f"{row_name}: {column}", bits,
                          *(percent(rows[curve, bits]["fpr"]) if (curve, bits) in rows else None for curve in CURVES),
                          rows["Proteus", bits]["design"].split(" (")[0],
                          surf and f"{surf['filter']}, {surf['bits_per_key']:.1f}"])
        draw_lines(panel, {curve: [(bits, max(rows[curve, bits]["fpr"], 1e-5)) for bits in budgets(bench)
                                   if (curve, bits) in rows] for curve in CURVES})
        panel.set_yscale("log")
        panel.set_ylim(1e-5, 1.5)
        panel.set_title(f"{row_name}\n{column}", fontsize=9)
    for panel in panels[-1]:
        panel.set_xlabel("bits per key")
    for i, row in enumerate(panels):
        row[0].set_ylabel("FPR")
        for j, panel in enumerate(row):
            panel.set_visible((row_names[i], columns[j]) in workloads)
    save(figure, bench.args.out, name)
    return results, [markdown(["keys and queries", "bits/key", *(f"{curve} %" for curve in CURVES), "Proteus chose",
                               "SuRF took, bits/key"], lines), picture(name, "False positives against bits per key")]


def won(results, against):
    """In how many of the cells Proteus has no more false positives than another filter, of those where that fits."""
    cells = [(rows["Proteus", bits]["fpr"], rows[curve, bits]["fpr"]) for rows in results.values()
             for curve, bits in rows if curve == against]
    return sum(ours <= theirs for ours, theirs in cells), len(cells)


def ranges_of(dist, small, large):
    """The paper's columns: points, small and large ranges, points and large ranges."""
    both = {"query_dist": dist}

    def offsets(rmax):
        return {**both, "rmax": rmax, **({"rmax_correlated": 0 if rmax == 0 else 32} if dist == "split" else {})}

    return {"points": offsets(0), f"ranges up to {small}": offsets(small), f"ranges up to {large}": offsets(large),
            "half points, half large ranges": {**offsets(large), "point_share": 0.5}}


def section_5(bench):
    """Figure 5: false positive rates on numbers."""
    kinds = {"uniform keys, uniform queries": ("uniform", "uniform", "2^30"),
             "uniform keys, correlated queries": ("uniform", "correlated", "2^15"),
             "uniform keys, split queries": ("uniform", "split", "2^30"),
             "normal keys, split queries": ("normal", "split", "2^30"),
             "normal keys, uniform queries": ("normal", "uniform", "2^30"),
             "books keys, real queries": ("books", "real", "2^30"),
             "facebook keys, real queries": ("facebook", "real", "2^15")}
    num, count = bench.pick((2000, 1000), (100_000, 20_000), (1_000_000, 100_000))
    workloads = {}
    for name, (keys, dist, large) in list(kinds.items())[:bench.pick(2, 7, 7)]:
        for column, (_, queries) in zip(("points", "small ranges", "large ranges", "mixed"),
                                        ranges_of(dist, "2^5", large).items()):
            workloads[f"{name} (large: {large})", column] = ({"key_dist": keys}, queries, num, count)
    results, blocks = budget_section(bench, workloads, "paper_proteus_fig5.svg")
    # The fewest bits at which Proteus is as good as SuRF is at 12 bits per key, uniform keys and small ranges.
    rows = results["uniform keys, uniform queries (large: 2^30)", "small ranges"]
    surf = rows.get(("SuRF", 12)) or rows["SuRF", budgets(bench)[-1]]
    as_good = min((bits for curve, bits in rows if curve == "Proteus" and rows[curve, bits]["fpr"] <= surf["fpr"]), default=None)
    surfs, rosettas = won(results, "SuRF"), won(results, "Rosetta")
    return [claims(Claim("bits per key to be as good as SuRF with 12, small ranges", 8, as_good, "", True,
                         "SuRF is smaller here, and its rate swings with the number of keys", True)),
            f"False positives in percent of the queries that find nothing: {num:,} keys, {count:,} queries, up to 20,000 samples; "
            "points, small ranges up to 2^5, large ones, and half points and half large ranges.",
            f"- Proteus has no more than SuRF in {surfs[0]} of {surfs[1]} cells.\n"
            f"- Proteus has no more than Rosetta in {rosettas[0]} of {rosettas[1]} cells.", *blocks]


def section_9(bench):
    """Figure 9a to d: false positive rates on strings."""
    columns = {"points": {"rmax": 0, "rmax_correlated": 0}, "ranges": {"rmax_correlated": "2^30"},
               "mixed": {"point_share": 0.5, "rmax_correlated": "2^30"}}
    num, count = bench.pick((2000, 1000), (50_000, 10_000), (200_000, 100_000))
    workloads = {}
    for keys in bench.pick(("uniform",), ("uniform", "normal"), ("uniform", "normal")):
        for dist in bench.pick(("split",), ("uniform", "correlated", "split"), ("uniform", "correlated", "split")):
            for column in ("points", "ranges"):
                workloads[f"{keys} keys of 180 bytes, {dist} queries", column] = (
                    {"workload": "strings", "key_dist": keys, "key_bytes": 180}, {"query_dist": dist, **columns[column]}, num,
                    count)
    for keys in bench.pick(("domain",), ("domain", "text"), ("domain", "text")):
        for column, queries in columns.items():
            workloads[f"{keys} keys, real queries", column] = (
                {"workload": "strings", "key_dist": keys}, {"query_dist": "real", **queries}, num, count)
    results, blocks = budget_section(bench, workloads, "paper_proteus_fig9.svg")
    fits = min(bits for rows in results.values() for curve, bits in rows if curve == "SuRF")
    surfs = won(results, "SuRF")
    return [claims(Claim("bits per key that SuRF needs at least, strings", 16, fits, "", True,
                         "the least of the budgets; its trie is smaller here")),
            f"{num:,} keys of 180 bytes, RMAX 2^30, CORRDEGREE 2^29. There are as many generated domain and text keys, whose ranges "
            f"go to the last byte + 1. Proteus has no more false positives than SuRF in {surfs[0]} of {surfs[1]} cells.", *blocks]


# ---- Figures 6 and 9e: in RocksDB ----

ENGINE_SURFS = ["surf:0:0", "surf:0:2", "surf:0:4", "surf:0:6", "surf:0:8", "surf:4:0", "surf:8:0", "surf:0:0:1",
                "surf:0:0:2", "surf:0:0:4"]
FIG6 = {
    "uniform keys, correlated ranges up to 2^5": ({"key_dist": "uniform"}, {"query_dist": "correlated", "rmax": 32}),
    "normal keys, split ranges": ({"key_dist": "normal"}, {"query_dist": "split", "rmax": "2^30"}),
    "normal keys, uniform ranges up to 2^30": ({"key_dist": "normal"}, {"query_dist": "uniform", "rmax": "2^30"}),
    "facebook keys, real ranges up to 2^10": ({"key_dist": "facebook"}, {"query_dist": "real", "rmax": "2^10"}),
}
ORG = {"domain keys, real ranges": ({"workload": "strings", "key_dist": "domain"}, {"query_dist": "real"})}


def engine_section(bench, workloads, name, papers, keys_text):
    """Blocks and time of closed seeks that find nothing. `papers` has the paper's best factor by filter."""
    num, count = bench.pick((2000, 200), (50_000, 5000), (1_000_000, 50_000))
    figure, panels = plt.subplots(2, len(workloads), figsize=(4.4 * len(workloads), 6.5), squeeze=False)
    lines, factors = [], {curve: [] for curve in papers}
    for column, (title, (keys, queries)) in enumerate(list(workloads.items())):
        others = {"Proteus": "proteus:{}", **({"Rosetta": "rosetta:{}"} if "Rosetta" in papers else {})}
        specs = [name.format(bits) for name in others.values() for bits in budgets(bench)]
        rows = {row["filter"]: row for row in bench.engine(
            ["none", *specs, *ENGINE_SURFS[:bench.pick(2, 10, 10)]],
            **{"workload": "ranges", **keys, **queries, "num": num, "queries": count, "direct_reads": "true",
               "samples": bench.pick(1000, 20000, 20000)})}
        found = {(curve, bits): rows[name.format(bits)] for curve, name in others.items() for bits in budgets(bench)}
        for bits in budgets(bench):
            surf = best_within([row for spec, row in rows.items() if spec.startswith("surf")], bits, "block_reads_per_op")
            if surf:
                found["SuRF", bits] = surf
        for (curve, bits), row in sorted(found.items(), key=lambda item: item[0][1]):
            lines.append([title, bits, row["filter"], f"{row['bits_per_key']:.1f}", f"{row['block_reads_per_op']:.4f}",
                          percent(row["filter_fpr"]), number(1e6 / row["ops_per_sec"])])
            if curve in factors:
                factors[curve].append(found["Proteus", bits]["ops_per_sec"] / row["ops_per_sec"])
        for line, (field, label) in zip(panels, (("block_reads_per_op", "blocks read by a seek"), ("ops_per_sec", "us by a seek"))):
            draw_lines(line[column], {curve: [
                (bits, 1e6 / found[curve, bits][field] if field == "ops_per_sec" else max(found[curve, bits][field], 1e-4))
                for bits in budgets(bench) if (curve, bits) in found] for curve in (*others, "SuRF")})
            line[column].set_title(title, fontsize=9)
            line[column].set_yscale("log")
            line[column].set_xlabel("bits per key")
            line[column].set_ylabel(label)
        lines.append([title, None, "none", "0", f"{rows['none']['block_reads_per_op']:.4f}", None,
                      number(1e6 / rows["none"]["ops_per_sec"])])
    save(figure, bench.args.out, name)
    return [claims(*(Claim(f"most that Proteus is faster than {curve}, {keys_text}", papers[curve], max(values, default=None), " times", False,
                           "smaller DB, direct reads, three runs", True, True) for curve, values in factors.items())),
            f"Closed seeks that find nothing, {num:,} records of 512 bytes, three sorted runs, direct reads, a block cache for "
            f"filters, indexes and a sixteenth of the data. SuRF is the one of {len(ENGINE_SURFS)} variants that reads the "
            "fewest blocks and fits. The paper has 50 million keys, or 20 million domains, values that compress by half, and "
            "the page cache.",
            markdown(["keys and queries", "budget", "filter", "bits/key", "blocks a seek", "false positives %", "us a seek"], lines),
            picture(name, "Blocks and time of a closed seek that finds nothing")]


def section_6(bench):
    """Figure 6."""
    return engine_section(bench, dict(list(FIG6.items())[:bench.pick(1, 4, 4)]), "paper_proteus_fig6.svg",
                          {"SuRF": 3.3, "Rosetta": 3.9}, "numbers")


def section_9e(bench):
    """Figure 9e."""
    return engine_section(bench, ORG, "paper_proteus_fig9e.svg", {"SuRF": 5.3}, "domains")


# ---- Figures 7 and 8: queries that shift ----

# In the paper, 60 million queries replace all samples 30 times.
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


def shift_rows(bench, workload, filters, **flags):
    """The batches of a workload that shifts, by filter."""
    keys, queries = SHIFTS[workload]
    by_filter = {}
    for row in bench.engine(filters, **{"workload": "ranges", **keys, **queries, "direct_reads": "true", **flags}):
        by_filter.setdefault(row["filter"], []).append(row)
    return by_filter


def shift_line(label, batches):
    """What a table says of a filter's batches."""
    rates = [batch["filter_fpr"] or 0 for batch in batches]
    return [label, percent(rates[0]), percent(max(rates)), percent(rates[-1]),
            f"{statistics.mean(batch['block_reads_per_op'] for batch in batches):.3f}", number(batches[-1]["seconds"]),
            batches[-1]["background_jobs"]]


SHIFT_HEADER = ("filter", "false positives, first batch %", "largest %", "last batch %", "blocks a seek", "seconds",
                "flushes and compactions")


def shift_section(bench, shift, name):
    """Queries that shift."""
    num, count = bench.pick((2000, 600), (50_000, 100_000), (500_000, 1_000_000))
    figure, panels = plt.subplots(len(SHIFTS), 3, figsize=(17, 4.2 * len(SHIFTS)))
    lines = []
    for row_panels, workload in zip(panels, list(SHIFTS)[:bench.pick(1, 2, 2)]):
        by_filter = shift_rows(bench, workload, list(SHIFT_FILTERS)[bench.pick(2, 0, 0):bench.pick(3, 9, 9)], num=num,
                               queries=count, shift=shift)
        lines += [[workload, *shift_line(SHIFT_FILTERS[spec], batches)] for spec, batches in by_filter.items()]
        for panel, (what, label) in zip(row_panels, (("filter_fpr", "FPR"), ("seconds", "seconds since the first query"),
                                                     ("block_reads_per_op", "block reads per seek"))):
            draw_lines(panel, {SHIFT_FILTERS[spec]: [(row["batch"], row[what]) for row in batches if row[what] is not None]
                               for spec, batches in by_filter.items()})
            panel.set_title(workload, fontsize=9)
            panel.set_xlabel("batch")
            panel.set_ylabel(label)
            panel.set_ylim(bottom=0)
    save(figure, bench.args.out, name)
    return [f"{num:,} records of 512 bytes, twice as many written among {count:,} closed seeks that find nothing, 12 bits per "
            f"key, direct reads. *Fast queue* is `{SCALED}`, whose samples are all replaced {count / 4 / 3300:.0f} times (paper: 30).",
            markdown(["workload", *SHIFT_HEADER], lines), picture(name, "Queries that shift")]


def section_tenth(bench):
    """Figure 7 at a tenth of the paper's scale."""
    num, count = bench.pick((2000, 600), (50_000, 150_000), (2_000_000, 6_000_000))
    lines = []
    for workload in list(SHIFTS)[:bench.pick(1, 2, 2)]:
        by_filter = shift_rows(bench, workload, ["surf:0:4", "proteus:12"][bench.pick(1, 0, 0):], num=num, queries=count,
                               shift="gradual")
        lines += [[workload, *shift_line(SHIFT_FILTERS[spec], batches)] for spec, batches in by_filter.items()]
    return [f"{num:,} records of 512 bytes, twice as many written among {count:,} closed seeks that find nothing, 12 bits per key, "
            f"direct reads: the paper has {20_000_000 // num:,} times as many. The queue has its default size.",
            markdown(["workload", *SHIFT_HEADER], lines)]


def section_7(bench):
    """Figure 7."""
    return shift_section(bench, "gradual", "paper_proteus_fig7.svg")


def section_8(bench):
    """Figure 8."""
    return shift_section(bench, "immediate", "paper_proteus_fig8.svg")


# ---- Table 2: what modeling costs ----

COSTS = {"1PBF": "prefixbloom:10:bloom", "2PBF": "prefixbloom2:10:bloom", "Proteus, Bloom": "proteus:10:bloom",
         "Proteus": "proteus:10", "Rosetta": "rosetta:10", "SuRF-Base": "surf:0:0", "SuRF-Real 4": "surf:0:4", "RocksDB Bloom": "bloom:10",
         "RocksDB Ribbon": "ribbon:10"}
STRINGS = {"workload": "strings", "key_dist": "normal"}
COST_WORKLOADS = {
    "64-bit": ({"key_dist": "normal"}, {"rmin": 4, "rmax": "2^20"}, True),
    "80-bit": ({**STRINGS, "key_bytes": 10}, {}, False),
    "200-bit": ({**STRINGS, "key_bytes": 25}, {}, False),
    "1440-bit": ({**STRINGS, "key_bytes": 180}, {}, False),
}


def section_costs(bench):
    """Table 2."""
    lines, largest = [], {}
    for name, (keys, queries, numbers) in COST_WORKLOADS.items():
        num = bench.pick(2000, 500_000, 10_000_000 if numbers else 1_000_000)
        rows = {}
        specs = ["bloom:20", *(spec for label, spec in COSTS.items() if numbers or label != "Rosetta")]
        # The first filter meets a cold process, and does not count.
        for _ in range(bench.pick(1, 3, 3)):
            for spec, row in measure(bench, keys, {"query_dist": "correlated", **queries}, specs, num, 2000).items():
                rows.setdefault(spec, []).append(row)
        median = {(spec, field): statistics.median(row[field] for row in repeats) for spec, repeats in rows.items()
                  for field in ("build_ns_per_key", "model_ms")}
        for label, spec in COSTS.items():
            if spec not in rows:
                continue
            build, model = median[spec, "build_ns_per_key"] * num / 1e6, median[spec, "model_ms"]
            largest.setdefault(label, (model, build, num))
            lines.append([f"{num:,} keys, {name}", label, number(model) if model else None, number(build),
                          f"{median[spec, 'build_ns_per_key'] / median['bloom:10', 'build_ns_per_key']:.2f}",
                          percent(model / build) if model else None, percent(rows[spec][0]["fpr"]),
                          percent(rows[spec][0]["predicted_fpr"])])
    scale = 10_000_000 / largest["Proteus"][2]
    less = "" if scale == 1 else f"{largest['Proteus'][2]:,} keys"
    return [claims(
        Claim("modeling of Proteus, 10 million keys", 104, largest["Proteus"][0], " ms", True,
              f"{less}; another machine".strip("; "), scale == 1, True),
        Claim("building a Proteus with Bloom filters, each key", 313,
              largest["Proteus, Bloom"][1] * 1e6 / largest["Proteus"][2], " ns", True, "another machine", True, True),
        Claim("building Proteus' default, each key", 313, largest["Proteus"][1] * 1e6 / largest["Proteus"][2], " ns", True,
              "Ribbon is solved, and has fewer false positives", is_time=True),
        Claim("building Rosetta, each key", 477, largest["Rosetta"][1] * 1e6 / largest["Proteus"][2], " ns", True,
              "another machine", is_time=True)),
            "Normal keys, correlated queries, 10 bits per key. Numbers have ranges of 2^2 to 2^20 and CORRDEGREE 2^10. Strings "
            "have RMAX 2^30 and CORRDEGREE 2^29. Building has copies of the keys and modeling in it.",
            markdown(["keys", "filter", "modeling, ms", "building, ms", "to RocksDB's Bloom", "modeling, %", "false positives %",
                      "predicted %"], lines)]


# ---- Keys of this machine ----


def real_keys(folder):
    """Writes the keys that this machine has into files: text has one a line, and numbers SOSD's format. Gives paths by
    name."""
    def output(*command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8", errors="replace",
                              check=False)
        return done.stdout.splitlines()

    libc = glob.glob("/lib/*/libc.so.6")
    words = [word for path in glob.glob("/usr/share/dict/*") for word in read_lines(path)]
    words = words or [word for path in glob.glob("/usr/share/perl/*/**/*.p[lm]", recursive=True)
                      for line in read_lines(path) for word in re.findall(r"[A-Za-z]{3,}", line)]
    paths = [os.path.join(place, name) for place, _, names in os.walk("/usr") for name in names]
    stats = [os.lstat(path) for path in paths if os.path.lexists(path)]
    text = {"words": words, "names of Debian packages": output("apt-cache", "pkgnames"), "paths of files": paths,
            "time zones": [path for path in paths if path.startswith("/usr/share/zoneinfo/")],
            "symbols of libraries": [line.split()[-1] for path in libc + glob.glob("/usr/lib/*/libstdc++.so.6")
                                     for line in output("nm", "-D", path) if line.split()]}
    numbers = {"times of files": [stat.st_mtime_ns for stat in stats], "inodes of files": [stat.st_ino for stat in stats],
               "sizes of files": [stat.st_size for stat in stats]}
    found = {}
    for name, keys in {**text, **numbers}.items():
        keys = sorted(set(keys))
        if len(keys) < 100:
            continue
        path = found[name] = os.path.join(folder, name.replace(" ", "_"))
        with open(path, "wb") as file:
            if name in text:
                file.write("\n".join(keys).encode("utf-8", "surrogateescape"))
            else:
                file.write(struct.pack(f"<{len(keys) + 1}Q", len(keys), *keys))
    return {name: (path, name in text) for name, path in found.items()}


def read_lines(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().split("\n")


def section_real(bench):
    """False positives on keys of this machine."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (path, text) in list(real_keys(folder).items())[:bench.pick(2, 8, 8)]:
            with open(path, "rb") as file:
                count = file.read().count(b"\n") + 1 if text else struct.unpack("<Q", file.read(8))[0]
            num = min(count // 2, bench.pick(500, 200_000, 1_000_000))
            kinds = {"points": {"rmax": 0}, "ranges": {} if text else {"rmax": "2^20"}}
            if not text and "times" not in name:
                del kinds["ranges"]  # hardly a range of these numbers is empty
            for title, queries in kinds.items():
                rows = measure(bench, {"workload": "strings" if text else "ranges", "key_file": path},
                               {"query_dist": "real", **queries}, ["proteus:8", "proteus:12", "bloom:12", *SURFS], num,
                               min(num, 20_000))
                surf = best_within([rows[spec] for spec in SURFS], 12)
                smallest = rows["surf:0:0"]
                lines.append([f"{name}, {title}", f"{num:,}", percent(rows["proteus:8"]["fpr"]), percent(rows["proteus:12"]["fpr"]),
                              percent(rows["bloom:12"]["fpr"]), surf and percent(surf["fpr"]), surf and surf["filter"],
                              f"{smallest['bits_per_key']:.1f}", percent(smallest["fpr"])])
    return ["A random half of the keys is stored, and queries begin with keys of the other half. Ranges of text go to the last "
            "byte + 1, those of times up to a millisecond. Words are those of the Perl library where there is no dictionary. Another "
            "machine has other keys.",
            markdown(["keys, queries", "stored", "proteus:8 %", "proteus:12 %", "bloom:12 %", "SuRF within 12 bits %", "which",
                      "surf:0:0, bits/key", "its %"], lines)]


SECTIONS = {
    "fig1": Section("Figure 1: the workload space", section_1),
    "table1": Section("Table 1: the number of samples", section_samples),
    "table2": Section("Table 2: what modeling and building cost", section_costs, timed=True),
    "fig4": Section("Figure 4: the model", section_4),
    "fig5": Section("Figure 5: false positives on numbers", section_5),
    "fig6": Section("Figure 6: closed seeks in RocksDB", section_6, timed=True),
    "fig7": Section("Figure 7: queries that shift gradually", section_7, timed=True),
    "tenth": Section("Figure 7 at a tenth of the paper's scale", section_tenth, timed=True),
    "fig8": Section("Figure 8: queries that shift at once", section_8, timed=True),
    "fig9": Section("Figure 9a to d: false positives on strings", section_9),
    "fig9e": Section("Figure 9e: domains in RocksDB", section_9e, timed=True),
    "real": Section("Keys of this machine", section_real),
}

if __name__ == "__main__":
    main_of("proteus", __doc__, HEAD, SECTIONS)
