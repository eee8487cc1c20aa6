# SPDX-License-Identifier: Apache-2.0
"""Follows the printed text of `protean advise` on a DB under stock Bloom filters, and compares what was promised with what
fresh reads then need. Called by operator_table.sh."""

import argparse
import json
import os
import shutil
import subprocess
import sys

# The kinds of reads of operator_bench that count to a kind of protean advise. A scan is the closed seek that begins it.
KINDS = {
    "gets of absent keys": ["absent Get"],
    "gets of present keys": ["present Get"],
    "closed seeks": ["closed seek", "scan"],
    "open seeks": ["open seek"],
}

# The cases: arguments of operator_bench when it writes the DB, and of protean advise. {filters} stands for the number of bytes
# that ten bits per key take.
CASES = {
    "leveled": (["--compaction=leveled"], []),
    "universal": (["--compaction=universal"], []),
    "budget": (["--compaction=leveled"], ["--policies={{id=protean.Proteus;filter_budget_bytes={filters}}}"]),
    "partitioned": (["--compaction=leveled", "--partition_filters"], []),
}


class Failure(Exception):
    """A command that failed."""


def run(command, shell=False, env=None):
    """Runs a command and returns what it prints."""
    done = subprocess.run(command, shell=shell, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"{command} ended with {done.returncode}: {done.stderr}{done.stdout}")
    return done.stdout


def rows_of(text):
    """The objects of JSON lines."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


class Case:
    """One DB, from its writing to the comparison."""

    def __init__(self, name, arguments):
        self.name = name
        self.arguments = arguments
        self.build = os.path.abspath(arguments.build)
        self.folder = os.path.join(os.path.abspath(arguments.db), name)
        self.db = os.path.join(self.folder, "db")
        self.trace = os.path.join(self.folder, "trace")
        filters = int(arguments.num * 0.9 * 10 / 8)
        self.values = {"filters": filters, "cache": max(filters // 4, 1 << 16)}
        self.printed = ""
        self.bytes_rewritten = 0

    def bench(self, step, *more):
        """Runs a step of operator_bench."""
        command = [
            os.path.join(self.build, "operator_bench"),
            f"--step={step}",
            f"--db={self.db}",
            f"--num={self.arguments.num}",
            f"--reads={self.arguments.reads}",
            f"--scan_keys={self.arguments.scan_keys}",
        ]
        if self.name == "partitioned":
            command.append(f"--cache_bytes={self.values['cache']}")
        return rows_of(run(command + list(more)))

    def advise(self, *more):
        """Runs protean advise."""
        flags = [flag.format(**self.values) for flag in CASES[self.name][1]]
        command = [os.path.join(self.build, "protean"), "advise", f"--db={self.db}", f"--trace={self.trace}"]
        return run(command + [f"--max_queries={self.arguments.max_queries}"] + flags + list(more))

    def follow(self):
        """Runs the commands that protean advise has printed, verbatim, in a shell that finds protean."""
        env = dict(os.environ, PATH=self.build + ":" + os.environ["PATH"])
        commands = [line.strip() for line in self.printed.splitlines() if line.startswith("  protean ")]
        for command in commands:
            said = run(command, shell=True, env=env)
            if command.startswith(("protean refresh", "protean rollback")):
                print(said.rstrip().splitlines()[-1], file=sys.stderr)
        return commands

    def run(self):
        """Returns the rows of the table."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.bench("load", *CASES[self.name][0])
        before = {row["kind"]: row for row in self.bench("trace", f"--trace={self.trace}")}
        promised = rows_of(self.advise("--json"))
        self.printed = self.advise()
        print(self.printed, file=sys.stderr)
        self.follow()
        after = {row["kind"]: row for row in self.bench("read", "--seed=2")}
        rows = []
        for row in promised:
            if row["row"] != "kind" or not row["recommended"]:
                continue
            kinds = KINDS[row["kind"]]
            rows.append(
                {
                    "case": self.name,
                    "kind": row["kind"],
                    "said now": row["blocks_per_op_as_it_is"],
                    "now": mean(before, kinds, "blocks"),
                    "promised": row["blocks_per_op"],
                    "real": mean(after, kinds, "blocks"),
                    "misses now": mean(before, kinds, "filter_misses"),
                    "misses then": mean(after, kinds, "filter_misses"),
                    "policy": row["policy"],
                }
            )
        for when, name in ((before, "now"), (after, "real")):
            print(f"{self.name}: Nexts of a scan, {name}: {when['scan']['blocks_of_next']:.4f} blocks", file=sys.stderr)
        if not self.arguments.keep:
            shutil.rmtree(self.folder)
        return rows


def mean(rows, kinds, what):
    """The mean of a figure over some kinds of reads."""
    return sum(rows[kind][what] for kind in kinds) / len(kinds)


def is_kept(row):
    """Whether a kind of read needs the blocks that were promised: within 5 % and a hundredth of a block."""
    return abs(row["promised"] - row["real"]) <= 0.01 + 0.05 * row["real"]


def main():
    """Prints the table of all cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", help="folder in which operator_bench and protean have been built")
    parser.add_argument("--db", required=True, help="folder for the databases")
    parser.add_argument("--cases", default=",".join(CASES), help="cases, separated by commas")
    parser.add_argument("--num", type=int, default=2_000_000, help="writes")
    parser.add_argument("--reads", type=int, default=20_000, help="reads of each kind")
    parser.add_argument("--scan_keys", type=int, default=20, help="keys that a scan reads")
    parser.add_argument("--max_queries", type=int, default=20_000, help="reads that protean advise uses")
    parser.add_argument("--keep", action="store_true", help="keep the databases")
    arguments = parser.parse_args()
    cases = arguments.cases.split(",")
    for name in cases:
        if name not in CASES:
            parser.error(f"unknown case '{name}'; known: {', '.join(CASES)}")
    rows = []
    for name in cases:
        rows += Case(name, arguments).run()
    print("| DB | kind of read | now | `advise` says now | promised | then | filter blocks missed now | then |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        print(
            f"| {row['case']}, `{row['policy']}` | {row['kind']} | {row['now']:.4f} | {row['said now']:.4f} "
            f"| {row['promised']:.4f} | {row['real']:.4f} | {row['misses now']:.4f} | {row['misses then']:.4f} |"
        )
    broken = [f"{row['case']}: {row['kind']}" for row in rows if not is_kept(row)]
    if broken:
        sys.exit("not within 5 % and a hundredth of a block of what was promised: " + "; ".join(broken))


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(str(failure))
