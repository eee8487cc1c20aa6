#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the workload queue of protean_bench on small trees: every answer is right, deletions are in the tree that is loaded and
# not in the compacted one, and Protean's filters skip those that hide nothing.
#
#   tests/db_bench_ext/queue_test.sh BUILD_FOLDER
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
parse_options BUILD_FOLDER -- "$@"
build=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for deletions in queue ttl clear; do
  "$build/protean_bench" --workload=queue --deletions=$deletions --num=40000 --queries=100 --value_bytes=20 \
    --filters=none,bloom:12,proteus:12,surf:0:8 --report=json --db="$work/db" >"$work/$deletions"
done

python3 - "$work" <<'END_OF_CHECK'
import json
import sys

filters = ["none", "bloom:12", "proteus:12", "surf:0:8"]
expected = [(f, read, tree) for f in filters for read in ("head", "closed", "scan") for tree in ("loaded", "compacted")]
for deletions in ("queue", "ttl", "clear"):
    with open(f"{sys.argv[1]}/{deletions}", encoding="utf-8") as lines:
        rows = {(row["filter"], row["query"], row["tree"]): row for row in map(json.loads, lines)}
    assert list(rows) == expected, (deletions, list(rows))
    for (name, read, tree), row in rows.items():
        assert row["wrong_results"] == 0, row
        if tree == "compacted":
            assert row["deletions"] == row["deletions_skipped_per_op"] == 0 and row["time_ratio"] == 1, row
            continue
        # Half of the history is on the last level, where no deletion is.
        assert 7000 < row["deletions"] < 22000, row
        stock = rows["none", read, tree]
        assert row["deletions"] == stock["deletions"] and stock["deletions_skipped_per_op"] > 100, (row, stock)
        if name == "bloom:12":
            for figure in ("keys_skipped_per_op", "deletions_skipped_per_op"):
                assert row[figure] == stock[figure], (row, stock)
        elif name != "none" and deletions != "clear":
            assert row["deletions_skipped_per_op"] < stock["deletions_skipped_per_op"] / 4, (row, stock)
            assert row["data_blocks_per_op"] < stock["data_blocks_per_op"], (row, stock)
    print(deletions + ":", len(rows), "rows passed")
END_OF_CHECK

for wrong in --deletions=x --queues=0 --backlog=0 --backlog=100000000 "--deletions=clear --num=1000"; do
  code=0
  "$build/protean_bench" --workload=queue --db="$work/db" $wrong >/dev/null 2>"$work/err" || code=$?
  [ $code = 1 ] && grep -q "^protean_bench: Invalid argument" "$work/err" || die "$wrong: exit code $code, $(cat "$work/err")"
done
