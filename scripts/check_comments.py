#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the English of comments, and a few names, in the sources of C++, Java, Rust, Python, shell and CMake.

A comment block is a run of lines that hold nothing but a comment, or the comment after the code of a line. A comment names
its subject, so that a reader need not guess what a pronoun stands for.
"""

import argparse
import collections
import io
import os
import pathlib
import re
import sys
import tokenize

Rule = collections.namedtuple("Rule", "name applies_to pattern help")

RULES = [
    Rule("opening", "opening", re.compile(r"(Of|Those|That|It|They|Its|By|As|The same|So many)\b"),
         "a block does not open with Of, Those, That, They, It, Its, By, As, The same, or So many: name the subject"),
    Rule("person", "comment", re.compile(r"\b(nobody|somebody|anybody|everybody|whoever|whosoever)\b", re.IGNORECASE),
         "code is not nobody, somebody, anybody, everybody, or whoever: say the caller, the reader, no thread, RocksDB"),
    Rule("count", "comment", re.compile(r"\bso (many|much)\b(?!( \w+){0,3} that\b)", re.IGNORECASE),
         "a comment does not count with 'so many' or 'so much': say the number of what"),
    Rule("limit", "code", re.compile(r"\bk(Most|Least)[A-Z]\w*"), "limits are kMax... and kMin..., not kMost... or kLeast..."),
    Rule("backoff", "code", re.compile(r"\b\w*patience\w*", re.IGNORECASE), "the field's word is backoff, not patience"),
]

C_LIKE = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>R"(?P<raw>[^(\s]*)\(.*?\)(?P=raw)"|"(?:\\.|[^"\\\n])*"|"""
    r"""(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+')""", re.DOTALL)
# An apostrophe also begins a lifetime.
RUST = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>r(?P<raw>\#+)".*?"(?P=raw)|"(?:\\.|[^"\\])*"|'(?:\\[^\n']+|[^'\\\n])')""",
    re.DOTALL)
# Strings of shell and CMake may span lines, but an apostrophe in a here document does not begin one.
SHELL_LIKE = re.compile(
    r"""(?P<comment>(?:^|(?<=\s))\#[^\n]*)|(?P<string>\\.|"(?:\\.|[^"\\\n])*"|'[^'\n]*')""", re.MULTILINE)
LEXERS = {".cc": C_LIKE, ".h": C_LIKE, ".java": C_LIKE, ".rs": RUST, ".sh": SHELL_LIKE, ".cmake": SHELL_LIKE,
          ".txt": SHELL_LIKE, ".py": None}

# What stands before the first word of a comment: the comment's own marks, and quotes.
MARKS = re.compile(r"^\s*(//[/!]?<?|/\*[*!]?<?|\*(?!/)|#!?)?[\s\"'`(\[]*")
DIRECTIVE = re.compile(r"\W*(SPDX-|clang-format o|NOLINT|shellcheck |noqa)")


def files_to_check(root, paths):
    """The files below the paths, or below the root, but for what builds leave, fixtures, and this checker's own test."""
    names = []
    for path in paths or ["."]:
        if (root / path).is_file():
            names.append(root / path)
        for folder, subfolders, files in os.walk(root / path):
            subfolders[:] = [name for name in subfolders if not re.match(r"\.|build|target$|golden|corpus$|__", name)]
            names += [pathlib.Path(folder) / name for name in files]
    return sorted({name.relative_to(root) for name in names
                   if name.suffix in LEXERS and (name.suffix != ".txt" or name.name == "CMakeLists.txt")
                   and not name.match("tests/scripts/checkers_test.sh")})


def lexed(suffix, text):
    """Yields (is a comment, start, end) of the comments and strings of a text; what lies between them is code."""
    if suffix != ".py":
        for match in LEXERS[suffix].finditer(text):
            yield match["comment"] is not None, match.start(), match.end()
        return
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    statement_begins = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            # A string that is a statement is a docstring.
            is_comment = token.type == tokenize.COMMENT or statement_begins
            yield is_comment, starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1]
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            statement_begins = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def parse(suffix, text):
    """Returns the comment blocks as lists of (line number, text), and the text with blanks in place of comments and strings."""
    code = []
    code_end = 0
    pieces = []  # (line number, column, whether code precedes it, text) of each line of each comment
    for is_comment, start, end in lexed(suffix, text):
        if is_comment:
            line = text.count("\n", 0, start) + 1
            line_start = text.rfind("\n", 0, start) + 1
            for i, piece in enumerate(text[start:end].split("\n")):
                pieces.append((line + i, start - line_start, i == 0 and bool(text[line_start:start].strip()), piece))
        code += [text[code_end:start], "\n".join(" " * len(line) for line in text[start:end].split("\n"))]
        code_end = end
    code.append(text[code_end:])
    blocks = []
    previous = None
    for piece in pieces:
        line, column, after_code, words = piece
        # A comment of several lines after code goes on in the same column.
        continues = previous and line == previous[0] + 1 and not after_code and (not previous[2] or column == previous[1])
        if DIRECTIVE.match(words):
            previous = None
            continue
        if continues:
            blocks[-1].append((line, words))
            piece = (line, column, previous[2], words)
        else:
            blocks.append([(line, words)])
        previous = piece
    return blocks, "".join(code)


def check(suffix, text):
    """Returns the number of comment blocks, and (line number, rule, words) of each fault."""
    blocks, code = parse(suffix, text)
    faults = []
    for block in blocks:
        lines = [(line, MARKS.sub("", words, count=1)) for line, words in block]
        opening = next(((line, words) for line, words in lines if re.search(r"\w", words)), None)
        for rule in RULES:
            if rule.applies_to == "opening" and opening and (match := rule.pattern.match(opening[1])):
                faults.append((opening[0], rule, match[0]))
            elif rule.applies_to == "comment":
                # Words may stand at the end of one line and the beginning of the next.
                joined = "\n".join(words for _, words in lines)
                faults += [(lines[joined.count("\n", 0, match.start())][0], rule, " ".join(match[0].split()))
                           for match in re.finditer(rule.pattern.pattern.replace(" ", r"\s"), joined, rule.pattern.flags)]
    for rule in RULES:
        if rule.applies_to == "code":
            faults += [(code.count("\n", 0, match.start()) + 1, rule, match[0]) for match in rule.pattern.finditer(code)]
    return len(blocks), sorted(faults, key=lambda fault: fault[0])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="rules:\n" + "\n".join(f"  {rule.name:8} {rule.help}" for rule in RULES))
    parser.add_argument("--count", action="store_true", help="print the number of faults by rule, not each fault")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the tree to check (default: this script's)")
    parser.add_argument("paths", nargs="*", metavar="PATH",
                        help="file or folder, relative to the root (default: everything)")
    arguments = parser.parse_args()
    files = blocks = 0
    counts = collections.Counter()
    for name in files_to_check(arguments.root, arguments.paths):
        found, faults = check(name.suffix, (arguments.root / name).read_text(encoding="utf-8"))
        files += 1
        blocks += found
        for line, rule, words in faults:
            counts[rule.name] += 1
            if not arguments.count:
                print(f"{name}:{line}: {rule.name}: {words!r}: {rule.help}")
    if arguments.count:
        for rule in RULES:
            print(f"{rule.name:8} {counts[rule.name]:5}")
    print(f"{sum(counts.values())} faults in {blocks} comment blocks of {files} files", file=sys.stderr)
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
