#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a C++ header with its plain comments turned into Doxygen's; a filter for doxygen.

The first comment of a header describes the file. A comment on lines of its own describes what follows, up to an empty line or
another comment; one behind code describes that code. Lines that are indented by two more spaces than the others of their
comment, and are not part of a list, are shown as they are.
"""

import argparse
import re

WHOLE_LINE = re.compile(r"^( *)//( *)(.*)$")
BEHIND_CODE = re.compile(r"^( *[^ /].*?)  // (.*)$")


def escaped(text):
    """The text without what would be markup or a command to Doxygen."""
    text = re.sub(r"`([^`]*)`", r"\1", text)
    return re.sub(r"([\\@&$#<>\"*~|])", r"\\\1", text)


def described(lines):
    """The lines of a comment, matches of WHOLE_LINE, as text for Doxygen."""
    texts = [line.group(2) + line.group(3) for line in lines]
    margin = min(len(text) - len(text.lstrip()) for text in texts if text)
    result, was_code, in_list = [], False, False
    for text in (text[margin:] for text in texts):
        in_list = text.lstrip().startswith("- ") or (in_list and text.startswith(" "))
        is_code = not in_list and (text.startswith("  ") or (was_code and not text))
        if is_code and not was_code:
            result.append("")
        result.append("    " + text if is_code else escaped(text))
        was_code = is_code
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("header", metavar="HEADER", help="the header to print")
    with open(parser.parse_args().header, encoding="utf-8") as file:
        lines = [line for line in file.read().splitlines() if "SPDX-License-Identifier" not in line]
    i, is_first, group = 0, True, False
    while i < len(lines):
        comment = []
        while i < len(lines) and (match := WHOLE_LINE.match(lines[i])):
            comment.append(match)
            i += 1
        if group and (comment or lines[i].strip() in ("", "};")):
            print("///@}")
            group = False
        if not comment:
            match = BEHIND_CODE.match(lines[i])
            print(f"{match.group(1)}  ///< {escaped(match.group(2))}" if match else lines[i])
            i += 1
            continue
        if is_first:
            print("/// @file")
            is_first = False
        elif comment[0].group(1):
            print("///@{")
            group = True
        for text in described(comment):
            print(f"/// {text}".rstrip())


if __name__ == "__main__":
    main()
