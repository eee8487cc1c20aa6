#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests filter_bench --peer: the example is measured beside our filters and misses no key, on numbers and on text, and what a
# peer does wrong is said.
#
#   tests/db_bench_ext/peer_test.sh BUILD_FOLDER
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
parse_options BUILD_FOLDER -- "$@"
build=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work
peer="python3 $project/docs/examples/filter_peer/peer.py"

"$build/filter_bench" --workload=ranges --rmax=16 --num=2000 --queries=1000 --samples=500 --report=json \
  --filter=surf:0:4,peer:12 --peer="$peer" >"$work/rows"
"$build/filter_bench" --workload=strings --key_dist=domain --query_dist=real --num=500 --queries=200 --samples=100 \
  --report=json --filter=peer:16,bloom:10 --peer="$peer" >>"$work/rows"
python3 - "$work/rows" <<'END'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as lines:
    rows = [json.loads(line) for line in lines]
assert [row["filter"] for row in rows] == ["surf:0:4", "peer:12", "peer:16", "bloom:10"], rows
assert all(row["false_negatives"] == 0 and row.keys() == rows[0].keys() for row in rows), rows
assert rows[1]["keys"] == 2000 and 11.9 < rows[1]["bits_per_key"] < 12.1 and rows[1]["fpr"] < 0.05, rows[1]
assert rows[1]["query_ns"] > 0 and rows[1]["build_ns_per_key"] > 0, rows[1]
END

# $1: the peer; $2: what is said of it.
expect_fault() {
  local said code=0
  said=$("$build/filter_bench" --num=100 --queries=10 --filter=peer:8 --peer="$1" 2>&1 >/dev/null) || code=$?
  [ $code = 1 ] || die "a faulty peer ends with $code: $1"
  [[ $said = *"$2"* ]] || die "$1: expected '$2', but got '$said'"
}
expect_fault false "has failed"
expect_fault true "does not begin with bytes and ns"
expect_fault "printf '1 2\n3 x\n' #" "has no 0 or 1 for each of"
[ -z "$(find "$work" -name 'protean_peer*')" ] || die "files of peers are left"
