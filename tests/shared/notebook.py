#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the cells of a notebook, and compares what they print with the outputs in it, but for the digits of numbers.

    notebook.py FILE [--rewrite]

Jupyter is not needed. Cells print, and have no other outputs. With --rewrite, the outputs are written into the notebook.
"""
import contextlib
import io
import json
import re
import sys


def shape(text):
    return re.sub(r" +", " ", re.sub(r"[\d#]+", "#", text))


def main():
    path, rewrite = sys.argv[1], "--rewrite" in sys.argv
    with open(path, encoding="utf-8") as file:
        notebook = json.load(file)
    names, count = {"__name__": "__main__"}, 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        count += 1
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("".join(cell["source"]), f"{path}, cell {count}", "exec"), names)
        expected = "".join(line for output in cell["outputs"] for line in output["text"])
        if rewrite:
            lines = printed.getvalue().splitlines(keepends=True)
            cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []
            cell["execution_count"] = count
        elif shape(printed.getvalue()) != shape(expected):
            sys.exit(f"{path}: cell {count} prints\n{printed.getvalue()}and the notebook has\n{expected}")
    if rewrite:
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] in ([], ["--help"]):
        print(__doc__)
    else:
        main()
