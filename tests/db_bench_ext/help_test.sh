#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests that --help of each benchmark lists the benchmark's own flags, and no flag of RocksDB's library or of gflags, and that
# each refuses a word that is no flag; and that protean_bench leaves nothing behind.
#
#   tests/db_bench_ext/help_test.sh BUILD_FOLDER
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
parse_options BUILD_FOLDER -- "$@"
build=$(realpath "$1")
cd "$project/db_bench_ext"

passed=0 failures=0

# $1: the name of the case; $2: what was expected; $3: what came.
expect() {
  if [ "$2" = "$3" ]; then
    passed=$((passed + 1))
  else
    failures=$((failures + 1))
    printf '%s: expected\n%s\nbut got\n%s\n' "$1" "$2" "$3"
  fi
}

# Prints the flags that the files define, one a line. The name may be on the line after DEFINE_.
flags_of() {
  cat "$@" | tr -d '\n' | grep -oE 'DEFINE_[a-z0-9]+\( *[a-z_]+' | sed 's/.*( *//' | LC_ALL=C sort
}

# $1: the program; the others: the files that define its flags.
expect_help() {
  local program=$1 code=0 help said
  shift
  help=$("$build/$program" --help) || code=$?
  expect "$program --help: exit code" 0 $code
  expect "$program --help: flags" "$(flags_of "$@")" "$(sed -nE 's/^  --([a-z_]+) \(.*/\1/p' <<<"$help" | LC_ALL=C sort)"
  expect "$program --help: flags of others" "" "$(grep -E 'trace_path|block_cache_trace|flagfile|tab_completion' <<<"$help" || true)"
  code=0
  said=$("$build/$program" word 2>&1) || code=$?
  expect "$program word" "$program: unknown argument 'word'; flags begin with --, see --help" "$said"
  expect "$program word: exit code" 1 $code
}

expect_help filter_bench filter_bench.cc workload_flags.cc
expect_help protean_bench protean_bench.cc workload_flags.cc write_bench.cc
expect_help protean_limits protean_limits.cc
expect_help filter_micro filter_micro.cc
expect_help fst_micro fst_micro.cc
expect_help quotient_bench ../sets/bench/quotient_bench.cc
expect_help read_paths read_paths.cc
expect_help operator_bench operator_bench.cc
expect_help cascade_bench ../sets/bench/cascade_bench.cc
expect_help updates_bench ../sets/bench/updates_bench.cc

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/temporary"
code=0
TEST_TMPDIR="$work/temporary" "$build/protean_bench" --num=1000 --queries=10 --filters=none >"$work/out" 2>&1 || code=$?
expect "protean_bench without --db: exit code" 0 $code
expect "protean_bench without --db: files that it leaves" "" "$(find "$work/temporary" -mindepth 1)"

echo "$passed passed, $failures failed"
[ $failures = 0 ] || exit 1
