# SPDX-License-Identifier: Apache-2.0
"""Makes the page of the quotient and cascade filters' paper: insertions into a cascade filter over time (figure 3) and lookups,
beside Bloom filters on flash; tombstones, threads and merges; and quotient filters in memory beside a Bloom filter. Runs
cascade_bench and quotient_bench.
"""

import math
import os
import re
import tempfile

from figures import markdown, plt, run, save
from papers import Claim, Section, claims, main_of, number, picture

HEAD = """# Quotient and cascade filters: their paper's figures

*What did the paper measure, and what do Protean's quotient and cascade filters give?*

The paper is Bender et al., "Don't Thrash: How to Cache Your Hash on Flash", HotStorage 2011. Made by
`scripts/paper_figures.sh cascade`; each section names its commit, its scale and the machine. The folder of the filters is
below `TMPDIR`: that drive is measured.

[cascade.md](cascade.md) and [quotient.md](quotient.md) tell what the figures mean, and have the examples.
"""


def read_timeline(path):
    """Pairs of seconds and keys inserted until then."""
    with open(path, encoding="utf-8") as timeline:
        return [(float(seconds), int(keys)) for seconds, keys in (line.split("\t") for line in timeline)]


def rates(timeline, window):
    """Millions of insertions a second in each window of that many seconds."""
    points, begin = [], timeline[0]
    for seconds, keys in timeline:
        if seconds - begin[0] >= window:
            points.append((seconds, (keys - begin[1]) / (seconds - begin[0]) / 1e6))
            begin = (seconds, keys)
    return points


def picture_of(timeline, out):
    figure, panel = plt.subplots(figsize=(9, 3.6))
    panel.plot(*zip(*rates(timeline, 0.05)), color="C0", linewidth=0.6, label="in 50 ms")
    panel.plot([s for s, keys in timeline if s > 0.2], [keys / s / 1e6 for s, keys in timeline if s > 0.2], color="C3",
               label="since the beginning")
    panel.set_xlabel("seconds")
    panel.set_ylabel("million insertions a second")
    panel.set_ylim(bottom=0)
    panel.legend(fontsize=8)
    save(figure, out, "paper_cascade_fig3.svg", legend=False)


# The columns of cascade_bench's table.
FIELDS = ("filter", "inserted", "inserts", "first", "bits", "mbs", "absent", "absent_reads", "absent_model", "absent_found",
          "present", "present_reads", "present_model", "present_found")
HEADER = ("filter", "keys inserted", "insertions a second", "bits per key", "MB/s written", "absent keys a second", "pages each",
          "share of the drive's", "false positives", "present keys a second", "pages each")


def cascade_bench(bench, *flags, size=None):
    """Rows of cascade_bench by filter, and the lines before its table."""
    num, memory = size or bench.pick((100_000, 65536), (10_000_000, 1 << 20), (1_000_000_000, 32 << 20))
    with tempfile.TemporaryDirectory(prefix="cascade") as folder:
        report = run(bench.args.build_dir, "cascade_bench", f"--num={num}", f"--memory={memory}", f"--dir={folder}",
                     f"--fingerprint_bits={math.ceil(math.log2(num / 0.0004))}", f"--lookups={bench.pick(200, 5000, 20000)}",
                     f"--seconds={bench.pick(0.2, 5, 20)}", *flags)
    head, _, table = report.partition("\nfilter  ")
    rows = [dict(zip(FIELDS, line.split())) for line in table.splitlines()[1:]]
    return {row["filter"]: {name: value if name == "filter" else float(value) for name, value in row.items()}
            for row in rows}, head


def cells(row):
    return [row["filter"], f"{row['inserted']:,.0f}", f"{row['inserts']:,.0f}", f"{row['bits']:.1f}", number(row["mbs"]),
            f"{row['absent']:,.0f}", f"{row['absent_reads']:.2f}", f"{row['absent_model']:.2f}", f"{row['absent_found']:.5f}",
            f"{row['present']:,.0f}", f"{row['present_reads']:.2f}"]


def section_cascade(bench):
    """Figure 3, and insertions and lookups beside Bloom filters."""
    with tempfile.TemporaryDirectory(prefix="timeline") as folder:
        path = os.path.join(folder, "timeline")
        rows, head = cascade_bench(bench, f"--timeline={path}")
        timeline = read_timeline(path)
    picture_of(timeline, bench.args.out)
    cascade, elevator, bloom = rows["cascade"], rows["elevator"], rows["bloom"]
    memory = float(re.search(r"([\d.]+) MiB of memory", head)[1])
    times = cascade["bits"] / 8 * cascade["inserted"] / 2 ** 20 / memory
    return [claims(
        Claim("insertions a second into a cascade filter", 670_000, cascade["inserts"], "", False, "another machine and drive",
              True, True),
        Claim("insertions over those of an elevator Bloom filter", 40, cascade["inserts"] / elevator["inserts"], " times", False,
              f"the set is {times:.0f} times the memory, the paper's about 64; in chunks of 1 MiB the elevator is faster", True, True),
        Claim("insertions over those of a Bloom filter", 670_000 / 200, cascade["inserts"] / bloom["inserts"], " times", False,
              "the drive's random writes decide", is_time=True),
        Claim("lookups of a Bloom filter over a cascade filter's", 3, bloom["absent"] / cascade["absent"], " times", True,
              f"{cascade['absent_reads']:.0f} runs, the paper 6", True, True),
        Claim("lookups over what the drive gives for the pages", 1, cascade["absent_model"], "", False,
              "checksums and the search of a page", is_time=True),
        Claim("share of the drive's bandwidth while inserting", 8.4 / 110,
              cascade["mbs"] / float(re.search(r"([\d.]+) MB/s of sequential", head)[1]), "", True,
              "less: the processor is the bound, as in the paper", is_time=True)),
            "```\n" + head.strip() + "\n```", markdown(HEADER, [cells(row) for row in rows.values()]),
            "The Bloom filters are stopped after some seconds, since their rate does not change, and then filled by half with "
            "random bits, so that lookups find them as they are with all keys.",
            picture("paper_cascade_fig3.svg", "Insertions into a cascade filter over time")]


def section_tombstones(bench):
    """Tombstones, threads and merges."""
    size = bench.pick((100_000, 65536), (5_000_000, 1 << 20), (100_000_000, 8 << 20))
    rows = {}
    repeats = bench.pick(1, 3, 5)
    for _ in range(repeats):
        for name, row in cascade_bench(bench, "--filters=cascade,cascade_deletes", size=size)[0].items():
            rows.setdefault(name, []).append(row)
    for threads in (1, 2):
        for merges in bench.pick((2,), (1, 2), (1, 2)):
            for _ in range(repeats):
                row = cascade_bench(bench, "--filters=cascade", f"--threads={threads}", f"--merges={merges}", size=size)[0]
                rows.setdefault(f"{threads} thread{'s' * (threads > 1)}, {merges} merge{'s' * (merges > 1)}", []).append(
                    row["cascade"])
    best = {name: max(row["inserts"] for row in repeats) for name, repeats in rows.items()}
    return [claims(
        Claim("insertions with tombstones over those without", 630 / 670, best["cascade_deletes"] / best["cascade"], "", False,
              "a key is deleted after every fourth insertion; the paper only made room for the bit", is_time=True),
        Claim("insertions of two threads over one", 1, best["2 threads, 2 merges"] / best["1 thread, 2 merges"], "", False,
              "the paper has one thread; merges need a core, too", is_time=True)),
            f"{size[0]:,} keys, the fastest of {repeats} runs each. Merges run beside the insertions.",
            markdown(["", "insertions a second", "least", "bits per key", "pages of an absent key"],
                     [[name, f"{best[name]:,.0f}", f"{min(row['inserts'] for row in repeats):,.0f}",
                       f"{repeats[-1]['bits']:.1f}", f"{repeats[-1]['absent_reads']:.2f}"] for name, repeats in rows.items()])]


def section_quotient(bench):
    """Quotient filters in memory."""
    report = run(bench.args.build_dir, "quotient_bench", f"--quotient_bits={bench.pick(12, 22, 26)}",
                 f"--queries={bench.pick(1000, 500_000, 4_000_000)}")
    table = [line for line in report.splitlines() if line.startswith("|")]
    rows = {(line.split("|")[1].strip(), line.split("|")[2].strip()): [cell.strip() for cell in line.split("|")[3:-1]]
            for line in table[2:]}

    def ratio(load, name, column):
        return float(rows[load, name][column]) / float(rows[load, "Bloom"][column])

    why = "the Bloom filter's stores overlap on today's processors"
    return [claims(
        Claim("insertions over a Bloom filter's, one by one", 2.4 / 0.69, ratio("75 %", "quotient", 2), " times", False, why,
              is_time=True),
        Claim("insertions over a Bloom filter's, in batches", 2.4 / 0.69, ratio("75 %", "quotient, batches", 2), " times",
              False, "batches prefetch", True, True),
        Claim("lookups of absent keys over a Bloom filter's", 2 / 1.9, ratio("75 %", "quotient", 4), " times", False,
              "one by one; in batches "
              f"{number(ratio('75 %', 'quotient, batches', 4), 2)} times", True, True),
        Claim("size over a Bloom filter's, three quarters full", 1.2, float(rows["75 %", "quotient"][0]) /
              float(rows["75 %", "Bloom"][0]), " times", True, "2.5 bits a slot instead of 3")),
            "Millions a second, in memory. *Inserts, last* are those of the last hundredth of the slots.", "\n".join(table),
            "\n".join(f"- {line}" for line in report.splitlines() if "million hashes" in line)]


SECTIONS = {
    "fig3": Section("Figure 3: insertions, and lookups", section_cascade, timed=True),
    "tombstones": Section("Tombstones, threads and merges", section_tombstones, timed=True),
    "quotient": Section("Quotient filters in memory", section_quotient, timed=True),
}

if __name__ == "__main__":
    main_of("cascade", __doc__, HEAD, SECTIONS)
