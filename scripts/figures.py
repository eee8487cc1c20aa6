# SPDX-License-Identifier: Apache-2.0
"""What the scripts that make figures share: their command line, running the benchmarks, tables of text, bars and lines, and
saving plots and reports."""

import argparse
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys


class _Pyplot:
    """matplotlib.pyplot, imported when it is first used, so that --help does without it."""

    def __getattr__(self, name):
        import matplotlib  # pylint: disable=import-outside-toplevel

        matplotlib.use("Agg")
        # Okabe and Ito's palette, whose colors can also be told apart by readers who are color-blind. Text stays text.
        colors = ["#0072b2", "#e69f00", "#56b4e9", "#d55e00", "#cc79a7", "#009e73", "#999999", "#595959"]
        matplotlib.rcParams.update({"axes.prop_cycle": matplotlib.cycler(color=colors), "svg.fonttype": "none",
                                    "svg.hashsalt": "protean", "axes.grid": True, "grid.alpha": 0.3})
        import matplotlib.pyplot  # pylint: disable=import-outside-toplevel

        return getattr(matplotlib.pyplot, name)


plt = _Pyplot()


# ---- Command lines ----


class _Parser(argparse.ArgumentParser):
    """A parser that provides matplotlib after it has parsed: --help does without, and no long run ends without its plots."""

    def parse_args(self, args=None, namespace=None):
        options = super().parse_args(args, namespace)
        if importlib.util.find_spec("matplotlib") is None:
            install = '. "$1/common.sh" && . "$1/packages.sh" && install_packages python3-matplotlib'
            if subprocess.run(["bash", "-c", install, self.prog, os.path.dirname(__file__)], check=False).returncode != 0:
                sys.exit("the plots need matplotlib")
            importlib.invalidate_caches()
            if importlib.util.find_spec("matplotlib") is None:
                sys.exit(f"{sys.executable} has no matplotlib; Debian's /usr/bin/python3 has")
        return options


def parser(description):
    """A parser of the arguments of a script that plots, whose help begins with the script's description."""
    return _Parser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def positive(text):
    """An argument's type: a whole number from 1 on."""
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number above 0")
    return int(text)


def add_report_options(options):
    """Adds the options of scripts that run benchmarks and write a report."""
    options.add_argument("--build-dir", default="build", help="where the programs are (default: build)")
    options.add_argument("--out", default="docs/results", help="folder for tables and plots (default: docs/results)")


# ---- Benchmarks ----


def run(build_dir, program, *flags):
    """The output of a benchmark."""
    command = [os.path.join(build_dir, program), *flags]
    print("+", shlex.join(command), file=sys.stderr)
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", check=False)
    except FileNotFoundError:
        sys.exit(f"{command[0]} is missing; scripts/setup.sh builds it, --build-dir says where else it is")
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} failed with {done.returncode}: {done.stderr or done.stdout}")
    return done.stdout


def run_rows(build_dir, program, **flags):
    """The rows of a benchmark's JSON report. `flags` are given by name."""
    output = run(build_dir, program, "--report=json", *(f"--{name}={value}" for name, value in flags.items()))
    return [json.loads(line) for line in output.splitlines()]


def read_rows(path):
    """The rows of a JSON report in a file."""
    with open(path, encoding="utf-8") as report:
        return [json.loads(line) for line in report]


# ---- Tables ----


def table(title, header, rows):
    """Aligned text; None is a dash."""
    cells = [list(header)] + [["-" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in cells]
    return "\n".join([title, *lines, ""])


def save_report(path, text):
    with open(path, "w", encoding="utf-8") as report:
        report.write(text)
    print("wrote", path, file=sys.stderr)


def markdown(header, rows):
    """A table of a page. The first column is aligned to the left, and the others to the right, unless they hold words; None is
    a dash."""
    def is_word(cell):
        return cell is not None and re.search(r"[A-Za-z]{3}", str(cell)) is not None

    columns = list(zip(*rows)) or [()] * len(header)
    rule = ["---" if i == 0 or any(map(is_word, cells)) else "---:" for i, cells in enumerate(columns)]
    lines = [header, rule, *rows]
    return "\n".join("| " + " | ".join("–" if cell is None else str(cell) for cell in line) + " |" for line in lines)


def save_tables(path, tables):
    """Writes tables into a page, each between the lines <!-- NAME --> and <!-- end -->. All else of the page stays. If there
    is no page, it consists of the tables."""
    page = "\n\n".join(f"<!-- {name} -->\n<!-- end -->" for name in tables) + "\n"
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            page = file.read()
    for name, lines in tables.items():
        begin, marks, rest = page.partition(f"<!-- {name} -->\n")
        if not marks:
            sys.exit(f"{path} has no line <!-- {name} -->")
        page = f"{begin}{marks}\n{lines}\n\n{rest[rest.index('<!-- end -->'):]}"
    save_report(path, page)


# ---- Plots ----

# The color of each filter in all pictures, by how its name begins: Okabe and Ito's palette, whose colors can also be told apart
# by readers who are color-blind. RocksDB's Bloom filter with another layout or index is darker.
COLORS = {r"none": "#999999", r"oracle": "#595959", r"bloom.*\+": "#a86f00", r"bloom": "#e69f00", r"ribbon": "#f0e442",
          r"surf": "#56b4e9", r"proteus": "#0072b2", r"prefixbloom2": "#cc79a7", r"prefixbloom": "#d55e00"}


def color_of(name):
    """The color of a filter, such as proteus:12."""
    return next((color for pattern, color in COLORS.items() if re.match(pattern, name)), "#1b1f24")


def draw_bars(panel, series, group_names, width=0.8, labels=None, label_size=7, **ticks):
    """Draws a group of bars for each name. `series` has the values of a bar in each group by its label; None is no bar."""
    bar = width / len(series)
    for n, (label, values) in enumerate(series.items()):
        offset = (n - (len(series) - 1) / 2) * bar
        places = [place + offset for place, value in enumerate(values) if value is not None]
        bars = panel.bar(places, [value for value in values if value is not None], bar, color=f"C{n}", label=label)
        if labels:
            panel.bar_label(bars, fmt=labels, fontsize=label_size)
    panel.set_xticks(range(len(group_names)), group_names, **ticks)


# What has the same color in all pictures of the papers.
LABEL_COLORS = {"Proteus": "#0072b2", "Proteus, Bloom": "#004c78", "2PBF": "#cc79a7", "2PBF, Bloom": "#cc79a7",
                "1PBF, Bloom": "#d55e00", "Rosetta": "#009e73", "SuRF": "#56b4e9", "SuRF-Real 4": "#56b4e9", "Bloom": "#e69f00",
                "Hash": "#0072b2", "Real": "#56b4e9", "Mixed": "#009e73", "exact": "#595959"}


def draw_lines(panel, lines, behind=False):
    """Draws a line for each label through its points. Lines without points only have a place in the legend. With `behind`,
    each line is drawn below the one before it."""
    for i, (label, points) in enumerate(lines.items()):
        panel.plot(*(zip(*points) if points else ([], [])), marker="o", markersize=4, color=LABEL_COLORS.get(label, f"C{i}"),
                   label=label, zorder=-i if behind else 2)
    panel.grid(alpha=0.3)


def save(figure, out, name, legend=True, tight=True):
    """Saves a figure. With `legend`, it has one legend for all panels, which must have the same lines then."""
    if tight:
        figure.tight_layout()
    if legend:
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0), ncol=len(labels))
    path = os.path.join(out, name)
    figure.savefig(path, dpi=120, bbox_inches="tight", metadata={"Date": None} if name.endswith(".svg") else None)
    plt.close(figure)
    print("wrote", path, file=sys.stderr)


# ---- The machine ----


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown CPU")
    except OSError:
        return "unknown CPU"


def machine():
    return f"{cpu_name()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} before the run"
