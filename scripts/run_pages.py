#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of pages of the documentation, and compares what they print with the page. Prints each command and its
output.

A command is a line that begins with four spaces and a dollar sign, and what it prints are the indented lines after it. They
must come in this order, where numbers may differ, a line ... stands for any lines, and ... at the end of a line for the rest
of it. A command that readers need not see is in a comment, <!-- $ command -->, and may print anything. The commands of a page
run in one new folder, which the page may call /data.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGES = [f"docs/{name}.md" for name in ("tutorial", "operating", "troubleshooting", "upgrading")]
DATA = re.compile(r"(?<![\w/])/data\b")


def steps(page):
    """The commands of the page, each with the lines that it prints."""
    found = []
    inside = False
    for line in page.splitlines():
        hidden = re.fullmatch(r"<!-- \$ (.*) -->", line)
        if hidden:
            found.append((hidden[1], ["..."]))
        elif line.startswith("    $ "):
            found.append((line[6:], []))
            inside = True
        elif inside and line.startswith("    "):
            found[-1][1].append(line[4:])
        elif line:
            inside = False
    return found


def normal(line):
    """The line without its numbers and the width of its columns."""
    line = re.sub(r"\b(KB|MB)\b", "B", re.sub(r"[\d.]*\d", "#", line))
    return re.sub(r"\s+", " ", line).strip()


def difference(expected, printed):
    """The first expected line that is missing, or a line that is too many; None if all is as expected."""
    rest = [line for line in map(normal, printed) if line]
    anything = False
    for line in map(normal, expected):
        if line == "...":
            anything = True
            continue
        begin = line[:-3] if line.endswith("...") else None
        found = next((i for i, other in enumerate(rest) if other == line or (begin and other.startswith(begin))), None)
        if found is None or (found > 0 and not anything):
            return f"expected: {line}\nprinted:  {rest[0] if rest else 'nothing'}"
        rest = rest[found + 1:]
        anything = False
    return None if anything or not rest else f"not on the page: {rest[0]}"


def run(page, environment):
    """Runs the commands of a page. Returns what is wrong, or None."""
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        commands = steps(file.read())
    with tempfile.TemporaryDirectory() as folder:
        for command, expected in commands:
            done = subprocess.run(["bash", "-c", DATA.sub(folder, command)], cwd=folder, env={**environment, "PWD": folder},
                                  encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            printed = done.stdout.replace(folder, "/data")
            print(f"$ {command}\n{printed}", end="", flush=True)
            # 1: something needs attention.
            wrong = done.stderr if done.returncode > 1 else difference(expected, printed.splitlines())
            if wrong:
                return f"{page}: {command}\n{wrong}"
    return None if commands else f"{page} has no commands"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--build-dir", default=os.path.join(ROOT, "build"), help="where protean and events are (default: build)")
    options.add_argument("pages", nargs="*", metavar="PAGE", default=PAGES, help=f"default: {' '.join(PAGES)}")
    options = options.parse_args()
    environment = {**os.environ, "PATH": os.path.abspath(options.build_dir) + os.pathsep + os.environ["PATH"]}
    for page in options.pages:
        wrong = run(page, environment)
        if wrong:
            sys.exit(wrong)


if __name__ == "__main__":
    main()
