#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the links, the tables and the English of the Markdown pages, and the lists of pages in docs/ with their lengths.

Prose is what stands in paragraphs and lists. Code, tables, headings and pictures are not prose.
"""

import argparse
import collections
import os
import pathlib
import re
import sys

Rule = collections.namedtuple("Rule", "name help")

LINK = Rule("link", "a link leads to a file of the tree, and to a heading of it")
PERSON = Rule("person", "code is not nobody, somebody, anybody, everybody, or whoever: say the caller, the reader, no thread, RocksDB")
SPELLING = Rule("spelling", "American spelling, as RocksDB's")
LENGTH = Rule("length", "a sentence has at most 36 words")
FIGURES = Rule("figures", "a sentence has at most 6 figures: make two sentences, a list or a table")
TABLE = Rule("table", "a table begins with a header and a line of dashes")
INDEX = Rule("index", "a README in docs/ lists each page of its folder, and of folders without a README, in a table that ends with "
             "the page's words, to within a fifth; --fix writes them")
RULES = [LINK, PERSON, SPELLING, LENGTH, FIGURES, TABLE, INDEX]

MAX_WORDS = 36
MAX_FIGURES = 6
PERSONS = re.compile(r"\b(nobody|somebody|anybody|everybody|whoever|whosoever)\b", re.IGNORECASE)
BRITISH = re.compile(
    r"\b\w*(neighbour|behaviour|colour|favour|honour|modell|labell|cancell|centre\b|grey\b|analys(e|ing)\b|catalogue|whilst|"
    r"misspelt|(recogn|organ|normal|optim|serial|initial|summar)is(e|ing|ation))\w*", re.IGNORECASE)
# A sentence ends before a word that may begin one.
SENTENCE_END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`*\[(])")
FIGURE = re.compile(r"(?<![\w.-])\d[\d,.]*")
LISTED = re.compile(r"^(\| \[[^\]]*\]\(([^)#]+\.md)\) .*\| )([\d,]*)( \|)$", re.MULTILINE)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
TARGET = re.compile(r"\]\(([^)\s]+)\)")


def pages_to_check(root, paths):
    """The pages below the paths, or below the root, but for what builds leave."""
    pages = []
    for path in paths or ["."]:
        if (root / path).is_file():
            pages.append(root / path)
        for folder, subfolders, files in os.walk(root / path):
            subfolders[:] = [name for name in subfolders if not re.match(r"\.|build|target$", name)]
            pages += [pathlib.Path(folder) / name for name in files if name.endswith(".md")]
    return sorted(set(pages))


def without_code(text):
    """The text with blanks in place of fenced code."""
    return re.sub(r"^```.*?^```", lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.DOTALL | re.MULTILINE)


def anchor(heading):
    """The anchor that a heading gets."""
    heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def anchors(page):
    return {anchor(heading) for heading in HEADING.findall(without_code(page.read_text(encoding="utf-8")))}


def paragraphs(text):
    """Yields (line number, words) of each paragraph and list item."""
    lines, first, in_list = [], 0, False
    for number, line in enumerate(text.split("\n") + [""], 1):
        item = re.match(r" {0,4}([-*]|\d+\.) +", line)
        is_prose = line.strip() and not re.match(r" *\||#|!\[|<!--", line)
        is_prose = is_prose and (item or lines or not line.startswith("      " if in_list else "    "))
        if lines and (item or not is_prose):
            yield first, " ".join(lines)
            lines = []
        if not is_prose:
            in_list = in_list and (not line.strip() or line.startswith(" "))
            continue
        if item:
            line, in_list = line[item.end():], True
        elif not line.startswith(" "):
            in_list = False
        if not lines:
            first = number
        lines.append(line.strip())


def check_links(root, page, text):
    for match in TARGET.finditer(text):
        path, _, fragment = match[1].partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        target = (page.parent / path if path else page).resolve()
        known = target.exists() and (not fragment or target.suffix != ".md" or fragment in anchors(target))
        if not known or (target != root and root not in target.parents):
            yield text.count("\n", 0, match.start()) + 1, LINK, match[1]


def check_tables(text):
    before, lines = "", text.split("\n")
    for number, (line, after) in enumerate(zip(lines, lines[1:]), 1):
        if line.startswith("|") and not before.startswith("|") and not re.match(r"\|[-:| ]+\|$", after):
            yield number, TABLE, line[:40]
        before = line


def check_index(index, fix):
    """Checks the list of pages in a README of docs/."""
    listed = set()

    def check_row(row):
        page = index.parent / row[2]
        if not page.exists():
            return row[0]
        listed.add(page.resolve())
        words = len(page.read_text(encoding="utf-8").split())
        stated = int(row[3].replace(",", "") or 0)
        if abs(words - stated) <= words / 5:
            return row[0]
        off.append((row[2], words))
        return f"{row[1]}{max(round(words, -2), 100):,}{row[4]}"

    off = []
    text = index.read_text(encoding="utf-8")
    fixed = LISTED.sub(check_row, text)
    if fix and fixed != text:
        index.write_text(fixed, encoding="utf-8")
    elif not fix:
        yield from ((1, INDEX, f"{page} has {words} words") for page, words in off)
    for page in sorted(index.parent.rglob("*.md")):
        other = any((folder / "README.md").exists() for folder in page.parents
                    if folder != index.parent and index.parent in folder.parents)
        if page != index and not other and page.resolve() not in listed:
            yield 1, INDEX, f"{page.relative_to(index.parent)} is not listed"


def check_prose(text):
    for line, words in paragraphs(text):
        words = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "Code", words))
        for pattern, rule in ((PERSONS, PERSON), (BRITISH, SPELLING)):
            yield from ((line, rule, match[0]) for match in pattern.finditer(words))
        for sentence in SENTENCE_END.split(words):
            opening = " ".join(sentence.split()[:8]) + " ..."
            if len(sentence.split()) > MAX_WORDS:
                yield line, LENGTH, opening
            if len(FIGURE.findall(sentence)) > MAX_FIGURES:
                yield line, FIGURES, opening


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="rules:\n" + "\n".join(f"  {rule.name:8} {rule.help}" for rule in RULES))
    parser.add_argument("--count", action="store_true", help="print the number of faults by rule, not each fault")
    parser.add_argument("--fix", action="store_true", help="write the lengths of pages where they are listed")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the tree to check (default: this script's)")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="file or folder, relative to the root (default: everything)")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    counts = collections.Counter()
    pages = pages_to_check(root, arguments.paths)
    for page in pages:
        text = without_code(page.read_text(encoding="utf-8"))
        faults = [*check_links(root, page, text), *check_tables(text), *check_prose(text)]
        if page.name == "README.md" and root / "docs" in page.parents:
            faults += check_index(page, arguments.fix)
        for line, rule, words in sorted(faults, key=lambda fault: fault[0]):
            counts[rule.name] += 1
            if not arguments.count:
                print(f"{page.relative_to(root)}:{line}: {rule.name}: {words!r}: {rule.help}")
    if arguments.count:
        for rule in RULES:
            print(f"{rule.name:8} {counts[rule.name]:5}")
    print(f"{sum(counts.values())} faults in {len(pages)} pages", file=sys.stderr)
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
