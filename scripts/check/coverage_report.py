#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints which lines the tests of a build have executed, from the counters that they have written (check.sh coverage).

A line is executed if it is in any object file that has it: inline functions and templates are in many.
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import subprocess
import sys

FOLDERS = ["filter_policy", "table", "plugin", "tools", "db_bench_ext"]


def read_counts(project, notes):
    """Returns (file, line, count) of the lines of the project's own files that went into one object file."""
    command = ["gcov", "--json-format", "--stdout", "--relative-only", "--source-prefix", str(project), str(notes)]
    # If no function of an object file has run, it has no counts; gcov says so on stderr.
    output = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    counts = []
    for document in output.splitlines():
        parsed = json.loads(document)
        for file in parsed["files"]:
            # Relative to the project, or to the build folder if a compiler cache has made it so.
            path = (project / file["file"]).resolve()
            if not path.exists():
                path = (pathlib.Path(parsed["current_working_directory"]) / file["file"]).resolve()
            if not path.is_relative_to(project):
                continue
            name = str(path.relative_to(project))
            if name.split("/")[0] in FOLDERS:
                counts += [(name, line["line_number"], line["count"]) for line in file["lines"]]
    return counts


def ranges(lines, executable):
    """Line numbers in words, such as 3-5, 9. A span may contain lines that are not executable."""
    spans = []
    for line in lines:
        if spans and not any(spans[-1][1] < other < line for other in executable):
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--at-least", type=float, required=True, metavar="PERCENT")
    parser.add_argument("folders", nargs="+", help="whose lines must be executed, and are listed if they are not")
    arguments = parser.parse_args()
    project = pathlib.Path(__file__).resolve().parents[2]

    executed = collections.defaultdict(collections.Counter)
    # An interrupted build leaves notes without an object file.
    notes = sorted(path for path in arguments.build.rglob("*.gcno") if path.with_suffix(".o").exists())
    if not notes:
        sys.exit(f"{arguments.build} has no counters: it was not configured with -DCMAKE_CXX_FLAGS=--coverage")
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for counts in pool.map(lambda path: read_counts(project, path), notes):
            for file, line, count in counts:
                executed[file][line] += count

    low = False
    print(f"{'folder':<16} {'lines':>7} {'executed':>9} {'share':>8}")
    for folder in FOLDERS:
        own = [counts for file, counts in executed.items() if file.startswith(folder + "/")]
        lines = sum(len(counts) for counts in own)
        run = sum(count > 0 for counts in own for count in counts.values())
        share = 100 * run / max(lines, 1)
        print(f"{folder:<16} {lines:>7} {run:>9} {share:>6.2f} %")
        low = low or (folder in arguments.folders and share < arguments.at_least)
    print("\nnot executed:")
    for file, counts in sorted(executed.items()):
        missing = sorted(line for line, count in counts.items() if count == 0)
        if missing and file.split("/")[0] in arguments.folders:
            print(f"  {file}: {ranges(missing, counts)}")
    sys.exit(1 if low else 0)


if __name__ == "__main__":
    main()
