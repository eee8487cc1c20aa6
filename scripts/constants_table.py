#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what the tuned constants of Proteus are worth: how the false positive rate changes when a constant is halved and
when it is doubled. Writes docs/results/constants.md.

It compiles filter_bench from a copy of the sources, in which each constant is a variable that the environment sets. A rate
is the geometric mean over the workloads below, each with and without samples; 1.000 is what the constants as they are give.
The keys, the queries and the salt are the same in all runs, so nothing but the constant changes the rates. Takes 20 minutes.
"""

import argparse
import concurrent.futures
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# File, in filter_policy/proteus, and names. A name that occurs more often has the number of its occurrence.
CONSTANTS = {
    "search/design_judge.h": ["kTrieNanos", "kRaceQueries", "kUselessRate"],
    "search/design_judge.cc": ["kSpreadCost", "kPromiseSafety", "kBrokenPromiseCost", "kMaxTrieLengths"],
    "search/design_search.h": ["kFirstRoundQueries", "kFinalists", "kGridQueries", "kUsualPrefixes"],
    "search/design_search.cc": ["kMaxPrefixLengths", "kGood", "kKeySetQueries", "kSeriesQueries",
                                "kSeriesStarts"],
    "search/pair_search.cc": ["kTwoSetQueries", "kGrid", "kQuantiles", "kShareStep", "kMinShare",
                              "kTwoSetStarts"],
    "key_store.cc": ["kAlphabetKeys", "kSizeRatio"],
    "proteus_part.cc": ["kSizeRatio"],
    "prior/prior.h": ["kPriorSamples"],
    "prior/prior.cc": ["kMaxOfKind", "kMinOfKind", "kMaxOfKindPerKey", "kKeysPerQuery", "kManySamples",
                       "kMaxBesideSamples", "kPartsOfPromise", "kMoreKeys", "kMinWeight"],
    "prior/key_form.cc": ["kManyDigits", "kMaxDigits", "kSameBits", "kHardlyAny"],
    "prior/prior_queries.cc": ["kWindowBits", "kFewNames"],
}

HELPER = """#pragma once
#include <cstdlib>
template <typename T>
inline T ProteanTuned(const char* name, T value) {
  const char* const text = std::getenv(name);
  return text == nullptr ? value : static_cast<T>(std::strtod(text, nullptr));
}
"""

FIXED_SALT = """
#include "filter_policy/bits/checksum.h"
static const bool fixed_salt = [] {
  using ROCKSDB_NAMESPACE::protean::FilterSalt;
  FilterSalt::Fix(FilterSalt{0x0123456789abcdef, 0xfedcba9876543210});
  return true;
}();
"""

NUMBERS = [f"--workload=ranges --key_dist={keys} --query_dist={queries} --rmax=2^20"
           for keys in ("uniform", "normal") for queries in ("uniform", "correlated", "split", "real")]
STRINGS = [f"--workload=strings --key_dist={keys} --query_dist={queries}"
           for keys in ("uniform", "domain", "text", "path", "user_time") for queries in ("real", "prefix")]
TYPES = [f"--key_type={keys} --workload=mixed" for keys in ("u64", "timeseries", "uuid7", "device_time", "log_time", "url")]
WORKLOADS = [f"{workload} --samples={samples}" for workload in NUMBERS + STRINGS + TYPES for samples in (20000, 0)]


def variable_name(file, name):
    return "PROTEAN_" + re.sub(r"\W", "_", file) + "_" + name


def make_variables(tree):
    """Turns the constants of a tree into variables."""
    for file, names in CONSTANTS.items():
        path = os.path.join(tree, "filter_policy/proteus", file)
        with open(path, encoding="utf-8") as source:
            text = source.read()
        for name in names:
            pattern = rf"(?:(static) )?constexpr (\w+) {name} =\s+([^;]+);"
            if len(re.findall(pattern, text)) != 1:
                sys.exit(f"{path} does not define {name} once")
            is_member = re.search(rf"static constexpr \w+ {name} ", text) is not None or file.endswith(".h")
            kind = "static inline const" if is_member else "static const"
            text = re.sub(pattern, lambda found, kind=kind, variable=variable_name(file, name), name=name:
                          f'{kind} {found[2]} {name} = ProteanTuned<{found[2]}>("{variable}", {found[3]});', text)
        with open(path, "w", encoding="utf-8") as source:
            source.write(text.replace("\n#include ", '\n#include "filter_policy/proteus/tuned.h"\n#include ', 1))
    path = os.path.join(tree, "db_bench_ext/filter_bench.cc")
    with open(path, encoding="utf-8") as source:
        text = source.read()
    with open(path, "w", encoding="utf-8") as source:
        source.write(text + FIXED_SALT)
    with open(os.path.join(tree, "filter_policy/proteus/tuned.h"), "w", encoding="utf-8") as header:
        header.write(HELPER)


def values():
    """The constants as they are: the text of each."""
    found = {}
    for file, names in CONSTANTS.items():
        with open(os.path.join(ROOT, "filter_policy/proteus", file), encoding="utf-8") as source:
            text = source.read()
        for name in names:
            found[file, name] = re.search(rf"constexpr \w+ {name} =\s+([^;]+);", text)[1]
    return found


def number(text):
    return float(eval(text.replace("'", ""), {"__builtins__": {}}))  # pylint: disable=eval-used


def measure(bench, options, variables):
    """What filter_bench prints, by workload."""
    rows = {}

    def one(workload):
        command = [bench, f"--num={options.num}", f"--queries={options.queries}", "--report=json",
                   f"--filter=proteus:{options.bits}", *workload.split()]
        done = subprocess.run(command, env={**os.environ, **variables}, stdout=subprocess.PIPE, check=True, encoding="utf-8")
        return workload, json.loads(done.stdout.splitlines()[0])

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for workload, row in pool.map(one, WORKLOADS):
            rows[workload] = row
    return rows


def mean_ratio(rows, usual, key, offset):
    logs = [math.log((rows[w][key] + offset) / (usual[w][key] + offset)) for w in rows]
    return math.exp(sum(logs) / len(logs))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--num", type=int, default=100000, help="keys (default: 100000)")
    options.add_argument("--queries", type=int, default=20000, help="queries (default: 20000)")
    options.add_argument("--bits", type=int, default=12, help="bits per key (default: 12)")
    options.add_argument("--jobs", type=int, default=1, help="runs at a time (default: 1)")
    options.add_argument("--tree", help="folder for the copy, kept afterwards (default: a temporary one)")
    options.add_argument("--cmake", action="append", default=[], help="an argument of cmake; may be repeated")
    options.add_argument("--out", default=os.path.join(ROOT, "docs/results/constants.md"), help="the page to write")
    options = options.parse_args()
    tree = options.tree or tempfile.mkdtemp(prefix="protean_constants")
    if not os.path.exists(os.path.join(tree, "CMakeLists.txt")):
        shutil.copytree(ROOT, tree, dirs_exist_ok=True, ignore=shutil.ignore_patterns("build", ".git", "target"))
        make_variables(tree)
        subprocess.run(["cmake", "-S", tree, "-B", f"{tree}/build", "-G", "Ninja", *options.cmake], check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", f"{tree}/build", "--target", "filter_bench"], check=True, stdout=sys.stderr)
    bench = f"{tree}/build/filter_bench"
    usual = measure(bench, options, {})
    lines = []
    for (file, name), text in values().items():
        cells = [f"`{name}`", f"`{file}`", f"`{text}`"]
        for factor in (0.5, 2):
            rows = measure(bench, options, {variable_name(file, name): repr(number(text) * factor)})
            changed = sum(rows[w]["design"] != usual[w]["design"] for w in rows)
            cells += [f"{mean_ratio(rows, usual, 'fpr', 1e-4):.3f}", str(changed)]
        lines.append("| " + " | ".join(cells) + " |")
        print(lines[-1], file=sys.stderr, flush=True)
    with open(options.out, "w", encoding="utf-8") as page:
        page.write(PAGE.format(workloads=len(WORKLOADS), num=options.num, bits=options.bits, rows="\n".join(lines)))
    if not options.tree:
        shutil.rmtree(tree)


PAGE = """# What the constants of Proteus are worth

`scripts/constants_table.py` makes this table. It halves and doubles each constant that decides which design Proteus chooses,
and compares what `filter_bench` then measures, over {workloads} workloads of {num} keys at {bits} bits per key. A ratio above
1 says that the constant as it is does better. Rates below a few per mille are chance, and count little: .0001 is added to each.
A constant that changes no rate bounds the time or the memory of the search, or matters to other keys.

| constant | in filter_policy/proteus | value | ½: rate | ½: other designs | 2: rate | 2: other designs |
|---|---|---|--:|--:|--:|--:|
{rows}
"""

if __name__ == "__main__":
    main()
