#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/options.md, the page of all options, from the public headers.

Each member of an options struct becomes a row: its name, its default, and the comment above it. With --check, nothing is
written, and the exit code says whether the page is up to date.
"""

import argparse
import pathlib
import re
import sys

PROJECT = pathlib.Path(__file__).resolve().parent.parent
PAGE = PROJECT / "docs" / "options.md"

INTRODUCTION = """# Options

This page is made from the headers by `scripts/options_page.py`. Options have the same names in C++, in an options string, in
an OPTIONS file, and in `DB::SetOptions`.

    table_factory={id=ProteanTable;filter_policy=proteus:12}
    table_factory={id=ProteanTable;filter_policy={id=protean.Proteus;bits_per_key=12;samples_file=/data/db.samples}}

What is marked mutable can be changed in an open DB. The samples are kept.

    db->SetOptions({{"table_factory.filter_policy.bits_per_key", "14"}});

Numbers are written as RocksDB reads them: `20000`, `20K`, `2G`. An option that is not allowed is refused, with what is allowed.
[Tuning](tuning.md) says what to choose.

## The table

ProteanTable has all options of `BlockBasedTableOptions`, and two more:

| option | default | meaning |
|---|---|---|
| `range_filters` | `true` | False switches filters off: none of Protean is asked, nor are queries sampled, from the next read on. Files get filters as before. Mutable. |
| `miss_cache_size` | `1048576` | Bytes of a table, one for each open DB, in which recent reads in vain are remembered: a query that a filter has let through wrongly is not paid again while it is there. A quarter is for ranges that scans have found to be deleted. Allocated with the first such read, as far as there is [room for memory beside filters](tuning.md#one-cap-for-memory). The first file to need it decides. 0 switches it off. |

The environment variable `PROTEAN_RANGE_FILTERS=off` switches filters off in a whole process, whatever `range_filters` says.
So do `0`, `false` and `no`, in any case of letters. Another value leaves them on, and is a warning in the log.

`filter_policy` is one of the policies below, one of RocksDB's, such as `bloomfilter:10`, or `nullptr`, the default, with which
files get no filters. The command `protean` takes `none` for `nullptr`, too.
"""

# The heading of each section, the header and the struct that it is about, and what is said before the table.
SECTIONS = (
    (
        "Proteus: `proteus`, `proteus:BITS`, `proteus:BITS:TYPE`, or `{id=protean.Proteus;...}`",
        "plugin/protean.h",
        "ProteusOptions",
        "In C++, `NewProteusFilterPolicy` takes these options. TYPE is a `prefix_filter_type`. An options string has one more, `seeds`,\n"
        "which `protean apply` writes: [queries to start with](internals/sampling.md#files) if `seed_file` names none that can be read.\n",
    ),
    (
        "SuRF: `surf`, `surf:HASH:REAL`, `surf:HASH:REAL:PREFIX`, or `{id=protean.SuRF;...}`",
        "plugin/protean.h",
        "SurfOptions",
        "In C++, `NewSurfFilterPolicy` takes these options.\n",
    ),
    (
        "A policy for each level: `levels:POLICY,POLICY,...`",
        None,
        None,
        "The first policy is for level 0, the next one for level 1, and the last one for all further levels. A policy may be one of\n"
        "RocksDB's, or `nullptr` for no filter. In C++, `NewLevelsFilterPolicy` takes them. A policy with options of its\n"
        "own stands in braces: `{id=protean.Levels;policies={bloomfilter:10,{id=protean.Proteus;bits_per_key=12}}}`.\n",
    ),
    (
        "Refreshing filters: `RefreshOptions`",
        "plugin/refresh_filters.h",
        "RefreshOptions",
        "These are the options of `RefreshFilters` and `FilterRefresher`, of `protean refresh`, and of requests to a running process.\n",
    ),
)


def body_of(header, struct):
    """The lines between the braces of a struct."""
    text = (PROJECT / header).read_text(encoding="utf-8")
    begin = text.index(f"struct {struct} {{\n") + len(f"struct {struct} {{\n")
    return text[begin : text.index("\n};\n", begin)].splitlines()


def words_of(lines):
    """The words of an enumeration, each with its comment."""
    words = []
    for line in lines:
        member = re.match(r"\s+k(\w+),\s*(?://\s*(.*))?", line)
        if member:
            words.append((f"k{member.group(1)}", member.group(2)))
    return "; ".join(f"`{word}` ({comment})" if comment else f"`{word}`" for word, comment in words)


def options_of(header, struct):
    """Yields the name, the default and the meaning of each member."""
    comment, enumerations, earlier = [], {}, ""
    lines = iter(body_of(header, struct))
    for line in lines:
        said = re.match(r"  // ?(.*)", line)
        enumeration = re.match(r"  enum class (\w+) \{", line)
        member = re.match(r"  ([\w:<>]+) (\w+)(?:(?: = (.*))|\{\})?;(?:\s*//\s*(.*))?$", line)
        if said:
            comment.append(said.group(1))
        elif enumeration:
            inside = []
            for inner in lines:
                if inner.startswith("  };"):
                    break
                inside.append(inner)
            enumerations[enumeration.group(1)] = " ".join(comment) + " " + words_of(inside) + "."
            comment = []
        elif line.startswith("  static constexpr"):
            continue
        elif member and not member.group(1).startswith("std::function"):
            kind, name, default, after = member.groups()
            meaning = " ".join(filter(None, comment + [after])) or earlier
            if kind in enumerations:
                meaning = f"{enumerations[kind]} {meaning}"
            yield name, shown(kind, default), meaning
            earlier, comment = meaning, []
        elif not line.strip():
            comment, earlier = [], ""
        elif "(" in line:  # functions follow
            return


def shown(kind, default):
    """A default as an options string has it."""
    if default is None:
        return "none"
    if "numeric_limits" in default:
        return "no limit"
    if re.fullmatch(r"[\d *]+", default):
        product = 1
        for factor in default.split("*"):
            product *= int(factor)
        return f"`{product}`"
    return f"`{default.split('::')[-1]}`"


def page():
    """The text of the page."""
    parts = [INTRODUCTION]
    for heading, header, struct, before in SECTIONS:
        rows = [f"\n## {heading}\n"]
        if before:
            rows.append(before)
        if struct:
            rows.append("| option | default | meaning |\n|---|---|---|")
            for name, default, meaning in options_of(header, struct):
                rows.append(f"| `{name}` | {default} | {meaning.replace('|', chr(92) + '|')} |")
            rows.append("")
        parts.append("\n".join(rows))
    return "".join(parts)


def main():
    """Writes the page, or checks it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only check that the page is up to date")
    arguments = parser.parse_args()
    text = page()
    if not arguments.check:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        sys.exit(f"{PAGE.relative_to(PROJECT)} is not what the headers say; run scripts/options_page.py")


if __name__ == "__main__":
    main()
