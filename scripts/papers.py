# SPDX-License-Identifier: Apache-2.0
"""What the scripts of scripts/paper_figures.sh share: the pages and their sections, tables with the paper's number beside
Protean's, filters within a budget of measured bits, and the table of all headline numbers."""

import collections
import dataclasses
import os
import re
import subprocess
import tempfile
import time
from typing import Callable

from figures import add_report_options, machine, markdown, parser, run_rows, save_report

SCALES = ("tiny", "small", "full")
PAPERS = ("surf", "proteus", "hash_sharing", "cascade")
# The budget that a filter may exceed by what rounding to blocks and lines takes.
BUDGET_SLACK = 1.005


# ---- Tables ----


def number(value, digits=3):
    """A number with that many significant digits; None is a dash."""
    if value is None:
        return "–"
    if value == 0:
        return "0"
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if abs(value) >= 10 ** (digits - 1) else text.replace("e-0", "e-")


def percent(share):
    """A share in percent."""
    return number(None if share is None else 100 * share)


@dataclasses.dataclass
class Claim:
    """A number of a paper, and Protean's beside it."""
    what: str
    paper: float
    ours: float
    unit: str = ""
    less_is_better: bool = False
    differs: str = ""
    headline: bool = False
    is_time: bool = False  # other work on the machine spoils it

    def row(self):
        ratio = self.ours / self.paper if self.ours is not None and self.paper else None
        gain = ratio and (1 / ratio if self.less_is_better else ratio)
        verdict = "–" if ratio is None else "ahead" if gain > 1.1 else "behind" if gain < 1 / 1.1 else "equal"
        if self.is_time and os.getloadavg()[0] > (os.cpu_count() or 1):
            verdict = "busy machine"
        what = f"**{self.what}**" if self.headline else self.what
        return [what, f"{number(self.paper)}{self.unit}", f"{number(self.ours)}{self.unit}", number(ratio, 2), verdict,
                self.differs]


CLAIM_HEADER = ("number", "paper", "Protean", "ratio", "", "what differs")


def claims(*rows):
    """A table of claims. Equal is within 10 %."""
    return markdown(CLAIM_HEADER, [row.row() for row in rows])


# ---- Benchmarks ----


class Bench:
    """The benchmarks at one scale. Remembers the sizes of Protean's filters and of the baselines."""

    def __init__(self, args):
        self.args = args
        self.sizes = {}

    def pick(self, tiny, small, full):
        """The value for the scale."""
        return {"tiny": tiny, "small": small, "full": full}[self.args.scale]

    def filters(self, specs, **flags):
        """Rows of filter_bench by filter, each with the median of its times if a filter is repeated."""
        rows = collections.OrderedDict()
        for row in run_rows(self.args.build_dir, "filter_bench", filter=",".join(specs), **flags):
            rows.setdefault(row["filter"], []).append(row)
        keys = " ".join(str(flags[name]) for name in ("key_type", "key_dist", "key_bytes", "num") if name in flags)
        for spec, repeats in rows.items():
            if "key_file" not in flags and not spec.startswith(("arf", "bloom", "ribbon", "design")):
                self.sizes.setdefault(f"{keys} {spec}", repeats[0]["bits_per_key"])
            repeats.sort(key=lambda row: row["query_ns"])
            rows[spec] = repeats[len(repeats) // 2]
        return rows

    def engine(self, specs, **flags):
        """Rows of protean_bench."""
        with tempfile.TemporaryDirectory(prefix="paper") as folder:
            return run_rows(self.args.build_dir, "protean_bench", filters=",".join(specs), db=folder, **flags)


# SuRF with each number of bits of each kind, and two kinds in equal parts.
SURFS = ["surf:0:0", *(f"surf:{bits}:0" for bits in range(1, 13)), *(f"surf:0:{bits}" for bits in range(1, 13)),
         *(f"surf:{bits}:{bits}" for bits in range(1, 7)), *(f"surf:0:0:{bits}" for bits in range(1, 13))]


def best_within(rows, bits, by="fpr"):
    """The best row of those whose measured size is at most `bits` per key; None if there is none."""
    fitting = [row for row in rows if row["bits_per_key"] <= bits * BUDGET_SLACK]
    return min(fitting, key=lambda row: row[by], default=None)


# ---- Pages ----


@dataclasses.dataclass
class Section:
    """A figure or table of a paper."""
    title: str
    make: Callable[[Bench], list]  # gives paragraphs, tables and pictures
    timed: bool = False  # its numbers are times, for which the machine must be idle


def commit():
    """The last commit that changed what is measured, with a plus if there are changes since."""
    def git(*words):
        sources = ["db_bench_ext", "filter_policy", "plugin", "sets", "table"]
        return subprocess.run(["git", "-C", os.path.dirname(os.path.abspath(__file__)), *words, "--",
                               *(f":/{folder}" for folder in sources)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              encoding="utf-8", check=False).stdout.strip()

    return (git("log", "-1", "--abbrev=8", "--format=%h") or "unknown") + ("+" if git("status", "--porcelain") else "")


def read_sections(path):
    """The sections of an earlier page by title."""
    try:
        with open(path, encoding="utf-8") as page:
            parts = re.split(r"^## (.*)\n", page.read(), flags=re.MULTILINE)
    except FileNotFoundError:
        return {}
    return dict(zip(parts[1::2], parts[2::2]))


def picture(name, text):
    return f"![{text}]({name})"


def write_page(name, head, sections, args):
    """Runs the sections, all or those that are asked for, and writes the page after each of them."""
    bench = Bench(args)
    path = os.path.join(args.out, f"paper_{name}.md")
    os.makedirs(args.out, exist_ok=True)
    texts = read_sections(path)
    for key in args.sections or [key for key, section in sections.items() if section.timed or not args.timed]:
        section = sections[key]
        place, start = machine(), time.monotonic()
        body = "\n\n".join(section.make(bench))
        times = " The times are of a machine that may have been busy: `--timed` measures them again." if section.timed else ""
        texts[section.title] = (f"\nCommit {commit()}, scale {args.scale}, {place}; {time.monotonic() - start:.0f} seconds."
                                f"{times}\n\n{body}\n\n")
        known = [s.title for s in sections.values() if s.title in texts]
        save_report(path, head + "\n" + "".join(f"## {title}\n{texts[title]}" for title in known).rstrip("\n") + "\n")
    write_headlines(args.out)
    if args.sizes:
        with open(args.sizes, "a", encoding="utf-8") as sizes:
            sizes.writelines(f"{name} {key} {bits:.2f}\n" for key, bits in bench.sizes.items())


# ---- Headlines ----

HEADLINES = re.compile(r"(<!-- headlines -->\n).*(<!-- end of headlines -->\n)", re.DOTALL)


def write_headlines(folder):
    """Writes the rows in bold of the claims of all pages into the folder's README.md, where its marks are."""
    path = os.path.join(folder, "README.md")
    if not os.path.exists(path):
        return
    rows = []
    for page in (os.path.join(folder, f"paper_{name}.md") for name in PAPERS):
        if not os.path.exists(page):
            continue
        with open(page, encoding="utf-8") as lines:
            paper = re.search(r"^# (.*?)(: .*)?$", lines.readline())[1]
            for line in lines:
                cells = [cell.strip() for cell in line.strip("| \n").split(" | ")]
                if line.startswith("| **") and len(cells) == len(CLAIM_HEADER):
                    rows.append([f"[{paper}]({os.path.basename(page)})", cells[0].strip("*"), *cells[1:]])
    with open(path, encoding="utf-8") as page:
        text = page.read()
    table = markdown(["paper", *CLAIM_HEADER], rows)
    save_report(path, HEADLINES.sub(lambda found: f"{found[1]}{table}\n{found[2]}", text))


def main_of(name, doc, head, sections):
    """The main function of a script that makes a paper's page."""
    options = parser(doc)
    options.add_argument("sections", nargs="*", metavar="SECTION", help=f"{', '.join(sections)}; all if none is given")
    add_report_options(options)
    options.add_argument("--scale", choices=SCALES, default="small", help="tiny tests the figures (default: small)")
    options.add_argument("--timed", action="store_true", help="only the sections whose numbers are times")
    options.add_argument("--sizes", help="a file to which the measured bits per key of all filters are appended")
    args = options.parse_args()
    for key in args.sections:
        if key not in sections:
            options.error(f"{key} is unknown; allowed: {', '.join(sections)}")
    write_page(name, head, sections, args)
