#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the workload cache_sizes of protean_bench on a small tree: every answer is right, and the reads of filters, indexes
# and data are those that the size of the cache and the layout of the filters must cause.
#
#   tests/db_bench_ext/cache_sizes_test.sh BUILD_FOLDER
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
parse_options BUILD_FOLDER -- "$@"
build=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$build/protean_bench" --workload=cache_sizes --num=100000 --queries=400 --value_bytes=20 --cache_percents=2,400 \
  --filters=none,none+first_key,bloom:12,bloom:12+partitioned+decoupled,proteus:12,proteus:12+partitioned,surf:0:4+partitioned \
  --report=json --db="$work" >"$work/rows"

python3 - "$work/rows" <<'END'
import json
import sys

rows = {}
for line in open(sys.argv[1], encoding="utf-8"):
    row = json.loads(line)
    rows[row["filter"], row["query"], row["distribution"], row["cache_percent"]] = row
filters = {key[0] for key in rows}
assert len(filters) == 7 and len(rows) == 7 * 3 * 2 * 2, sorted(rows)
for key, row in rows.items():
    assert row["wrong_results"] == 0, key
    parts = [row[f"{kind}_reads_per_op"] for kind in ("filter", "index", "data")]
    assert all(part >= 0 for part in parts) and abs(sum(parts) - row["block_reads_per_op"]) < 1e-9, (key, row)
    assert (row["filter_bytes"] > 0) == (not row["filter"].startswith("none")), (key, row)

for drawn in ("uniform", "zipf"):
    for name in ("bloom:12", "proteus:12"):
        suffix = "+partitioned" + "+decoupled" * (name == "bloom:12")
        small, large, parts = (rows[key] for key in ((name, "point", drawn, 2), (name, "point", drawn, 400),
                                                     (name + suffix, "point", drawn, 2)))
        # Three runs are asked. Neither a filter nor a part of one fits the small cache, and all of them fit the large one,
        # where second units of parts are loaded when they are first needed.
        assert abs(small["filter_reads_per_op"] - 3) < 0.1, small
        assert large["filter_reads_per_op"] <= (0.02 if name == "proteus:12" else 0), large
        # A part is a fifth of a filter. Proteus has parts in any case.
        whole = rows["bloom:12", "point", drawn, 2]
        assert parts["filter_reads_per_op"] <= 3, parts
        for in_parts in [parts] if name == "bloom:12" else [parts, small]:
            assert in_parts["bytes_read_per_op"] < whole["bytes_read_per_op"] / 2, (in_parts, whole)
    # Popular queries come again.
    for name in filters - {"none", "none+first_key"}:
        uniform, zipf = (rows[name, "open_seek", d, 2]["block_reads_per_op"] for d in ("uniform", "zipf"))
        assert zipf <= uniform * 1.05, (name, zipf, uniform)
print(len(rows), "rows passed")
END

for wrong in --filters=bloom:12+decoupled --cache_percents=0 --cache_percents=, --files=0; do
  code=0
  "$build/protean_bench" --workload=cache_sizes --num=1000 $wrong >/dev/null 2>"$work/err" || code=$?
  [ $code = 1 ] && grep -q "^protean_bench: Invalid argument" "$work/err" || die "$wrong: exit code $code, $(cat "$work/err")"
done
