#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the workload write of protean_bench: each filter, with and without samples, has a row for each size of values whose
# figures fit together; what was written is read back, or the program fails; and nothing is left behind.
#
#   tests/db_bench_ext/write_test.sh BUILD_FOLDER
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
parse_options BUILD_FOLDER -- "$@"
build=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/db"

"$build/protean_bench" --workload=write --write_mb=2 --value_sizes=20,1000 --rounds=2 --samples=500 --report=json \
  --filters=none,bloom:10,surf:0:4,proteus:12 --db="$work/db" >"$work/rows"
"$build/protean_bench" --workload=write --write_mb=2 --value_sizes=100 --rounds=1 --samples=0 --key_dist=name --query_dist=real \
  --filters=proteus:12 --db="$work/db" --json_file="$work/names" >"$work/table"
[ -z "$(ls "$work/db")" ] || die "files are left behind: $(ls "$work/db")"
[ "$(wc -l <"$work/table")" = 2 ] || die "expected the titles and one row: $(cat "$work/table")"

python3 - "$work/rows" "$work/names" <<'END'
import json
import sys

rows, names = ([json.loads(line) for line in open(file, encoding="utf-8")] for file in sys.argv[1:])
contenders = [("none", "without"), ("bloom:10", "without"), ("surf:0:4", "without"), ("proteus:12", "without"),
              ("proteus:12", "with")]
expected = [(filter, samples, size) for size in (20, 1000) for filter, samples in contenders]
assert [(row["filter"], row["samples"], row["value_bytes"]) for row in rows] == expected, rows
for row in rows:
    assert row["base"] == "bloom:10" and row["rounds"] == 2, row
    assert row["records"] == (2 << 20) // (8 + row["value_bytes"]), row
    # A flush and a compaction each write all records.
    assert row["file_bytes"] > 2 << 20 and row["written_bytes"] > 1.9 * row["file_bytes"], row
    assert row["flush_cpu_seconds"] > 0 and row["compaction_cpu_seconds"] > 0, row
    assert row["flush_cpu_seconds"] + row["compaction_cpu_seconds"] < row["cpu_seconds"], row
    assert row["min_compaction_cpu_ratio"] <= row["compaction_cpu_ratio"] <= row["max_compaction_cpu_ratio"], row
    assert row["peak_mb"] > 1 and row["stall_seconds"] >= 0 and row["wall_seconds"] > 0, row
    if row["filter"] == row["base"]:
        assert row["cpu_ratio"] == row["compaction_cpu_ratio"] == 1, row
    low, high = {"none": (0, 0), "bloom:10": (10, 10.5), "surf:0:4": (8, 20), "proteus:12": (11.5, 13)}[row["filter"]]
    assert low <= row["bits_per_key"] <= high, row
assert len(names) == 1 and names[0]["base"] == "proteus:12" and names[0]["samples"] == "without", names
print(len(rows) + len(names), "rows passed")
END

for wrong in --value_sizes=0 --value_sizes=, --value_sizes=x --rounds=0 --write_mb=0 --key_dist=x; do
  code=0
  "$build/protean_bench" --workload=write $wrong >/dev/null 2>"$work/err" || code=$?
  [ $code = 1 ] && grep -q "^protean_bench: Invalid argument" "$work/err" || die "$wrong: exit code $code, $(cat "$work/err")"
done
