#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests that dependencies point one way, and that RocksDB's insides are touched where they may be: what is included tells.
# Lists of files are taken from the tree, so that the rules hold for a new file too.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
parse_options -- "$@"
cd "$project"

passed=0 failures=0

# $1: a rule; $2: lines that break it.
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

# ---- Layers ----

# Each folder may include itself and the folders after the colon.
readonly layers='
filter_policy:
table: filter_policy
plugin: filter_policy table
sets: filter_policy table db_bench_ext tests
db_bench_ext: filter_policy table plugin
tools: filter_policy table plugin
tests: filter_policy table plugin db_bench_ext tools sets
docs: plugin sets
'
known_folders=$(sed -n 's/:.*//p' <<<"$layers" | xargs)

# Each line: a source file of the tree, and a source file of the tree that it includes.
own_includes=$(
  grep -rE --include='*.h' --include='*.cc' '^ *#include "' $known_folders | sed -E 's/^([^:]*):.*"([^"]*)".*/\1 \2/' |
    while read -r file included; do
      if [ -f "$included" ]; then
        echo "$file $included"
      elif [ -f "${file%/*}/$included" ]; then
        echo "$file ${file%/*}/$included"
      fi
    done
)
[ "$(wc -l <<<"$own_includes")" -gt 500 ] || die "too few includes are found"

# The lines of own_includes whose files match $1 and include what matches $2, but for the files that match $3.
own() { grep -E "^($1)[^ ]* ($2)" <<<"$own_includes" | grep -vE "^(${3:-no file}) " || true; }

# Builds leave sources in folders of theirs.
sources=$(find . -mindepth 2 \( -name '*.h' -o -name '*.cc' \) -not -path './.*' -not -path './build*' -printf '%P\n')
expect_none "every source file is in a folder whose layer is known" \
  "$(grep -vE "^(${known_folders// /|})/" <<<"$sources" || true)"
for folder in $known_folders; do
  allowed=$(sed -n "s/^$folder://p" <<<"$layers" | xargs)
  forbidden=$(comm -23 <(tr ' ' '\n' <<<"$known_folders" | sort) <(tr ' ' '\n' <<<"$folder $allowed" | sort) | xargs)
  expect_none "$folder depends on nothing but ${allowed:-itself}" "$(own "$folder/" "(${forbidden// /|})/")"
done

expect_none "the library of sets depends on nothing but filter_policy" \
  "$(own 'sets/(experimental|cascade|dynamic_surf|quotient)/' '(table|plugin|db_bench_ext|tests)/')"

# ---- Inside of table/ ----

expect_none "table/rocksdb_internals depends on nothing else of table/" \
  "$(own 'table/rocksdb_internals/' 'table/([^r]|r[^o]|ro[^c])')"
# What iterators decide by and tell each other.
expect_none "table/seek depends on nothing of table/ but itself and table/rocksdb_internals" \
  "$(own 'table/seek/' 'table/[a-z_]+\.')"

# No file depends on itself by way of others: a header and what defines its functions are one unit.
units=$(grep -v "^tests/" <<<"$own_includes" | sed -E 's/\.(h|cc)\b//g' | awk '$1 != $2' | sort -u)
expect_none "no includes form a cycle" "$({ tsort <<<"$units" 2>&1 >/dev/null || true; })"

# ---- RocksDB's insides ----

# What RocksDB does not promise: tables, table readers, internal iterators, the DB and its parts. dbformat.h has the
# functions that take internal keys apart. The tools read a MANIFEST.
readonly insides='table/(block_based|get_context|internal_iterator|merging_iterator|multiget_context|table_builder|table_reader|two_level)|db/(column_family|db_|range_del|version_|table_cache|memtable)'
readonly room='table/rocksdb_internals/[a-z_]+\.(h|cc)'
expect_none "only table/rocksdb_internals/ and tools/manifest.cc include RocksDB's insides" \
  "$(includes "$insides" "filter_policy table plugin db_bench_ext tools sets" \
    "$room|filter_policy/(protean_filter_policy|building/file_filter_builder)\.h|db_bench_ext/memory_filter\.h|tools/manifest\.cc")"
# The filter policy extends the classes of this one header, the benchmark of filters in memory uses them.
expect_none "filter_policy includes filter_policy_internal.h and no other" \
  "$({ grep -nE "#include \"($insides)" filter_policy/protean_filter_policy.h filter_policy/building/file_filter_builder.h db_bench_ext/memory_filter.h || true; } |
    { grep -v 'table/block_based/filter_policy_internal\.h"' || true; })"
expect_none "only table/rocksdb_internals/ depends on RocksDB's version" \
  "$({ grep -nrE 'ROCKSDB_(MAJOR|MINOR|PATCH)|rocksdb/version\.h' --include='*.h' --include='*.cc' \
    filter_policy table plugin db_bench_ext tools sets || true; } | { grep -vE "^$room:" || true; })"
# A macro that is not defined is 0 in an #if, and in a group of files that are compiled together, a file before may have defined
# it.
expect_none "a file that uses a macro of versions.h includes it" \
  "$({ grep -rlE '\bPROTEAN_(HAS_|SINCE_|TESTS_|ROCKSDB_AT_LEAST|ROCKSDB_VERSION)' --include='*.h' --include='*.cc' $known_folders || true; } |
    { xargs grep -LE '#include "[a-z_/]*/versions\.h"|^#define PROTEAN_ROCKSDB_AT_LEAST' || true; })"
# Rep is what a BlockBasedTable consists of.
expect_none "only table/rocksdb_internals/ uses BlockBasedTable::Rep, DBImpl and the like" \
  "$({ grep -nrE 'get_rep\(|::Rep\b|\bDBImpl\b|ColumnFamilyData|SuperVersion\b' --include='*.h' --include='*.cc' \
    filter_policy table plugin db_bench_ext tools sets || true; } | { grep -vE "^$room:" || true; })"

echo "$passed passed, $failures failed"
[ $failures = 0 ] || exit 1
