#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests that --help of each benchmark lists the benchmark's own flags, and no flag of RocksDB's library or of gflags.
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
  local program=$1 code=0 help
  shift
  help=$("$build/$program" --help) || code=$?
  expect "$program --help: exit code" 0 $code
  expect "$program --help: flags" "$(flags_of "$@")" "$(sed -nE 's/^  --([a-z_]+) \(.*/\1/p' <<<"$help" | LC_ALL=C sort)"
  expect "$program --help: flags of others" "" "$(grep -E 'trace_path|block_cache_trace|flagfile|tab_completion' <<<"$help" || true)"
}

expect_help filter_bench filter_bench.cc workload_flags.cc
expect_help protean_bench protean_bench.cc workload_flags.cc
expect_help protean_limits protean_limits.cc
expect_help filter_micro filter_micro.cc
expect_help read_paths read_paths.cc

echo "$passed passed, $failures failed"
[ $failures = 0 ] || exit 1
