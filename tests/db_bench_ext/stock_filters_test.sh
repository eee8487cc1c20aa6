#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests that protean_bench uses what stock RocksDB has beside Bloom filters where that is right, and only there: all answers
# are right, whatever the length of a prefix, and the filters save reads of those queries that they are for.
#
#   tests/db_bench_ext/stock_filters_test.sh BUILD_FOLDER
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
parse_options BUILD_FOLDER -- "$@"
build=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prefixes of 9 bytes and more, and segments, are those of sensors.
"$build/protean_bench" --workload=timeseries --num=20000 --queries=400 --empty_percents=50,99 --report=json --db="$work" \
  --filters=bloom:14,ribbon:14,bloom:14+prefix3,bloom:14+prefix6,bloom:14+prefix6+first_key,bloom:14+prefix12,none+query_filter8,none+query_filter3,ribbon:14+prefix6+query_filter6 \
  >"$work/rows"
# One seek after the last key of a prefix, and scans across prefixes.
"$build/protean_bench" --workload=open_seeks --num=5000 --queries=200 --keys_read=20 --value_bytes=20 --report=json \
  --db="$work" --filters=bloom:14+prefix1,bloom:14+prefix2 >>"$work/rows"

python3 - "$work/rows" <<'END'
import json
import sys

rows = {}
for line in open(sys.argv[1], encoding="utf-8"):
    row = json.loads(line)
    assert row["wrong_results"] == 0, row
    assert row["index_bits_per_key"] > 0, row
    rows[row["filter"], row["query"], row["empty_share"]] = row["block_reads_per_op"]
assert len(rows) == 9 * 6 + 2 * 2, sorted(rows)

seek = "closed_seek"
plain = rows["bloom:14", seek, 0.99]
assert rows["bloom:14+prefix6", seek, 0.99] < plain / 2, rows
assert rows["bloom:14+prefix6+first_key", seek, 0.99] < plain / 2, rows
for filter in ("bloom:14+prefix12", "none+query_filter3", "none+query_filter8"):
    assert abs(rows[filter, seek, 0.99] - plain) < 0.2, (filter, rows)
# A filter of prefixes also has the whole keys.
for filter in ("ribbon:14", "bloom:14+prefix6", "ribbon:14+prefix6+query_filter6"):
    assert rows[filter, "point", 1.0] < 0.1 < rows[filter, "point", 0.0] < 1.1, (filter, rows)
print(len(rows), "rows passed")
END

# A trie index is beside the usual one, so there is more of an index. It leads to the same blocks, of which fewer fit into the
# cache beside it.
if "$build/protean_bench" --workload=timeseries --num=5000 --queries=200 --empty_percents=50 --report=json --db="$work" \
  --filters=bloom:14,bloom:14+trie_index >"$work/rows" 2>"$work/err"; then
  python3 - "$work/rows" <<'END'
import json
import sys

rows = {}
for line in open(sys.argv[1], encoding="utf-8"):
    row = json.loads(line)
    assert row["wrong_results"] == 0, row
    rows.setdefault(row["filter"], []).append(row)
usual, trie = rows["bloom:14"], rows["bloom:14+trie_index"]
assert trie[0]["index_bits_per_key"] > usual[0]["index_bits_per_key"], rows
for a, b in zip(usual, trie, strict=True):
    assert (a["query"], a["empty_share"]) == (b["query"], b["empty_share"]), rows
    assert abs(a["block_reads_per_op"] - b["block_reads_per_op"]) < 0.1 * max(1, a["block_reads_per_op"]), rows
print(len(trie), "rows with a trie index passed")
END
else
  grep -q "^protean_bench: Not implemented: +trie_index: RocksDB .* has no trie index" "$work/err" ||
    die "bloom:14+trie_index: $(cat "$work/err")"
fi
