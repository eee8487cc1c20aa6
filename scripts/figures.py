"""What the scripts that make figures share: running the benchmarks, tables of text, and saving plots."""

import os
import shlex
import subprocess
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


def run(build_dir, program, *flags):
    """What a benchmark prints."""
    command = [os.path.join(build_dir, program), *flags]
    print("+", shlex.join(command), file=sys.stderr)
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", check=False)
    except FileNotFoundError:
        sys.exit(f"{command[0]} is missing; scripts/setup.sh builds it, --build-dir says where else it is")
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} failed with {done.returncode}: {done.stderr or done.stdout}")
    return done.stdout


def table(title, header, rows):
    """Aligned text; None is a dash."""
    cells = [list(header)] + [["-" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in cells]
    return "\n".join([title, *lines, ""])


def percent(share):
    return None if share is None else f"{100 * share:.3f}"


def save(figure, out, name, legend=True):
    """Saves, perhaps with one legend for all panels, which must have the same lines then."""
    figure.tight_layout()
    if legend:
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0), ncol=len(labels))
    path = os.path.join(out, name)
    figure.savefig(path, dpi=120, bbox_inches="tight")
    plt.close(figure)
    print("wrote", path, file=sys.stderr)


def cpu_name():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown CPU")
    except OSError:
        return "unknown CPU"


def machine():
    return f"{cpu_name()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} before the run"
