#!/usr/bin/env bash
# Tests that dependencies point one way, and that RocksDB's insides are touched where they may be: what is included tells.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. scripts/common.sh

passed=0 failures=0

# $1: a rule; $2: lines of grep that break it.
expect_none() {
  if [ -z "$2" ]; then
    passed=$((passed + 1))
  else
    failures=$((failures + 1))
    printf '%s:\n%s\n' "$1" "$2"
  fi
}

# The lines of the folders $2 that include what the pattern $1 matches, but for the files that the pattern $3 matches.
includes() {
  { grep -nrE --include='*.h' --include='*.cc' "#include [\"<]($1)" $2 || true; } | { grep -vE "^($3):" || true; }
}

readonly own_table='table/(filter_trial|protean_table_|range_counter|rewrite_file|rocksdb_internals)'
readonly own_plugin='plugin/' own_bench='db_bench_ext/' own_tools='tools/' own_tests='tests/'
readonly none='no file'

expect_none "filter_policy depends on nothing above it" \
  "$(includes "$own_table|$own_plugin|$own_bench|$own_tools|$own_tests" filter_policy "$none")"
expect_none "table depends on nothing above it" "$(includes "$own_plugin|$own_bench|$own_tools|$own_tests" table "$none")"
expect_none "plugin depends on nothing above it" "$(includes "$own_bench|$own_tools|$own_tests" plugin "$none")"
expect_none "db_bench_ext depends on neither tools nor tests" "$(includes "$own_tools|$own_tests" db_bench_ext "$none")"
expect_none "tools depend on neither db_bench_ext nor tests" "$(includes "$own_bench|$own_tests" tools "$none")"

# What RocksDB does not promise: tables, table readers, internal iterators, the DB and its parts. dbformat.h has the
# functions that take internal keys apart.
readonly insides='table/(block_based|get_context|internal_iterator|merging_iterator|multiget_context|table_builder|table_reader|two_level)|db/(column_family|db_|range_del|version_|table_cache|memtable)'
readonly room='table/rocksdb_internals\.(h|cc)'
expect_none "only table/rocksdb_internals.* includes RocksDB's insides" \
  "$(includes "$insides" "filter_policy table plugin db_bench_ext tools" \
    "$room|filter_policy/protean_filter_policy\.(h|cc)|db_bench_ext/memory_filter\.h")"
# The filter policy extends the classes of this one header, the benchmark of filters in memory uses them.
expect_none "filter_policy includes filter_policy_internal.h and no other" \
  "$({ grep -nE "#include \"($insides)" filter_policy/protean_filter_policy.* db_bench_ext/memory_filter.h || true; } |
    { grep -v 'table/block_based/filter_policy_internal\.h"' || true; })"
expect_none "only table/rocksdb_internals.h depends on RocksDB's version" \
  "$({ grep -nrE 'ROCKSDB_(MAJOR|MINOR|PATCH)|rocksdb/version\.h' --include='*.h' --include='*.cc' \
    filter_policy table plugin db_bench_ext tools || true; } | { grep -vE "^$room:" || true; })"
# Rep is what a BlockBasedTable consists of.
expect_none "only table/rocksdb_internals.* uses BlockBasedTable::Rep, DBImpl and the like" \
  "$({ grep -nrE 'get_rep\(|::Rep\b|\bDBImpl\b|ColumnFamilyData|SuperVersion\b' --include='*.h' --include='*.cc' \
    filter_policy table plugin db_bench_ext tools || true; } | { grep -vE "^$room:" || true; })"

echo "$passed passed, $failures failed"
[ $failures = 0 ] || exit 1
