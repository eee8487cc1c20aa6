#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of docs/tutorial.md in a new folder, and compares what they print with the page: the lines of the page must
come in this order, where numbers may differ, and a line ... stands for any lines. Prints each command and its output.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def steps(page):
    """The commands of the page, each with the lines that it prints."""
    found = []
    inside = False
    for line in page.splitlines():
        if line.startswith("    $ "):
            found.append((line[6:], []))
            inside = True
        elif inside and line.startswith("    "):
            found[-1][1].append(line[4:])
        elif line:
            inside = False
    return found


def normal(line):
    return re.sub(r"\s+", " ", re.sub(r"[\d.]*\d", "#", line)).strip()


def difference(expected, printed):
    """The first expected line that is missing, or a line that is too many; None if all is as expected."""
    rest = [line for line in map(normal, printed) if line]
    anything = False
    for line in map(normal, expected):
        if line == "...":
            anything = True
            continue
        if anything and line in rest:
            rest = rest[rest.index(line):]
        if not rest or rest[0] != line:
            return f"expected: {line}\nprinted:  {rest[0] if rest else 'nothing'}"
        rest.pop(0)
        anything = False
    return None if anything or not rest else f"not on the page: {rest[0]}"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build-dir", default=os.path.join(ROOT, "build"), help="where protean and events are (default: build)")
    options = options.parse_args()
    environment = {**os.environ, "PATH": os.path.abspath(options.build_dir) + os.pathsep + os.environ["PATH"]}
    with open(os.path.join(ROOT, "docs/tutorial.md"), encoding="utf-8") as file:
        commands = steps(file.read())
    with tempfile.TemporaryDirectory() as folder:
        for command, expected in commands:
            done = subprocess.run(["bash", "-c", command], cwd=folder, env={**environment, "PWD": folder}, encoding="utf-8",
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            print(f"$ {command}\n{done.stdout}", end="", flush=True)
            # 1: something needs attention.
            wrong = done.stderr if done.returncode > 1 else difference(expected, done.stdout.splitlines())
            if wrong:
                sys.exit(f"tutorial: {command}\n{wrong}")


if __name__ == "__main__":
    main()
