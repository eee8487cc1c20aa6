#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks what a compiler does not, in seconds: license lines, format, which folder includes which, names of classes of tests,
# and the pages. Prints what scripts/check_comments.py advises on comments, too, which decides nothing.
#
#   scripts/lint.sh [--fix]   with --fix, adds missing license lines, formats, and writes the lengths of pages into lists of pages
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
fix=0
parse_options --fix -- "$@"
cd "$project"

failures=0

# $1: a rule; $2: what breaks it.
expect_none() {
  [ -z "$2" ] || { failures=$((failures + 1)); printf '%s:\n%s\n' "$1" "$2"; }
}

# The files of the tree that are named as find's arguments say. Builds leave files in folders of theirs.
files_named() {
  find . \( -path './build*' -o -path ./.git -o -name target \) -prune -o -type f \( "$@" \) -printf '%P\n' | sort
}
mapfile -t cpp < <(files_named -name '*.h' -o -name '*.cc')

# ---- License lines: the first comment of each source file ----

readonly license="SPDX-License-Identifier: Apache-2.0"
mapfile -t licensed < <(files_named -name '*.h' -o -name '*.cc' -o -name '*.sh' -o -name '*.py' -o -name '*.java' \
  -o -name '*.rs' -o -name '*.cmake' -o -name '*.mk' -o -name CMakeLists.txt -o -path ./.ci/run)
# One program reads all files. The comment is on the first line, or after #!.
mapfile -t unlicensed < <(awk -v line="$license" '
  FNR == 1 && /^#!/ { next }
  $0 == (FILENAME ~ /\.(h|cc|java|rs)$/ ? "// " : "# ") line { has[FILENAME] = 1 }
  { nextfile }
  END { for (i = 1; i < ARGC; i++) if (!(ARGV[i] in has)) print ARGV[i] }' "${licensed[@]}")

# Writes the license line to the head of the file $1.
add_license() {
  local file=$1 comment="# $license" before=0
  case $file in *.h | *.cc | *.java | *.rs) comment="// $license" ;; esac
  if [[ $(head -c 2 "$file") = '#!' ]]; then before=1; fi
  # A comment at the head of a script is its help, which begins with the line. Others stand for themselves.
  case $file in *.sh | *.py | .ci/run) ;; *) comment+=$'\n' ;; esac
  { head -n $before "$file"; echo "$comment"; tail -n +$((before + 1)) "$file"; } >"$file.new"
  cat "$file.new" >"$file"
  rm "$file.new"
}
if [ $fix = 1 ]; then
  for file in "${unlicensed[@]}"; do add_license "$file"; done
else
  expect_none "the first comment of these is not '$license'; scripts/lint.sh --fix adds it" "$(printf '%s\n' "${unlicensed[@]}")"
fi

# ---- Format: by the clang-format that the project uses, since versions differ ----

readonly formatter=clang-format-14
if ! command -v $formatter >/dev/null; then
  say "the format is not checked: there is no $formatter"
elif [ $fix = 1 ]; then
  $formatter --style=file -i "${cpp[@]}"
else
  expect_none "not formatted; scripts/lint.sh --fix formats" \
    "$(printf '%s\0' "${cpp[@]}" | xargs -0 -n 32 -P "$(nproc)" $formatter --style=file --dry-run --Werror 2>&1 || true)"
fi

# ---- Layers: dependencies point one way, as what is included tells ----

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

# The lines of own_includes whose files match $1 and include what matches $2.
own() { grep -E "^($1)[^ ]* ($2)" <<<"$own_includes" || true; }

expect_none "every source file is in a folder whose layer is known" \
  "$(printf '%s\n' "${cpp[@]}" | grep / | grep -vE "^(${known_folders// /|}|\..*)/" || true)"
for folder in $known_folders; do
  allowed=$(sed -n "s/^$folder://p" <<<"$layers" | xargs)
  forbidden=$(comm -23 <(tr ' ' '\n' <<<"$known_folders" | sort) <(tr ' ' '\n' <<<"$folder $allowed" | sort) | xargs)
  expect_none "$folder depends on nothing but ${allowed:-itself}" "$(own "$folder/" "(${forbidden// /|})/")"
done
expect_none "the library of sets depends on nothing but filter_policy" \
  "$(own 'sets/(experimental|cascade|dynamic_surf|quotient)/' '(table|plugin|db_bench_ext|tests)/')"
expect_none "table/rocksdb_internals depends on nothing else of table/" \
  "$(own 'table/rocksdb_internals/' 'table/([^r]|r[^o]|ro[^c])')"
# What iterators decide by and tell each other.
expect_none "table/seek depends on nothing of table/ but itself and table/rocksdb_internals" \
  "$(own 'table/seek/' 'table/[a-z_]+\.')"

# No file depends on itself by way of others: a header and what defines its functions are one unit.
units=$(grep -v "^tests/" <<<"$own_includes" | sed -E 's/\.(h|cc)\b//g' | awk '$1 != $2' | sort -u)
expect_none "no includes form a cycle" "$({ tsort <<<"$units" 2>&1 >/dev/null || true; })"

# ---- RocksDB's insides: touched where they may be ----

readonly library="filter_policy table plugin db_bench_ext tools sets"
readonly room='table/rocksdb_internals/[a-z_]+\.(h|cc)'

# The lines of the C++ in the folders $library that match $1, but for the files that match $2.
lines_of_library() {
  { grep -nrE --include='*.h' --include='*.cc' "$1" $library || true; } | { grep -vE "^($2):" || true; }
}

# What RocksDB does not promise: tables, table readers, internal iterators, the DB and its parts. dbformat.h has the
# functions that take internal keys apart. The tools read a MANIFEST.
readonly insides='table/(block_based|get_context|internal_iterator|merging_iterator|multiget_context|table_builder|table_reader|two_level)|db/(column_family|db_|range_del|version_|table_cache|memtable)'
readonly users_of_policy='filter_policy/(protean_filter_policy|building/file_filter_builder)\.h|db_bench_ext/memory_filter\.h'
expect_none "only table/rocksdb_internals/ and tools/manifest.cc include RocksDB's insides" \
  "$(lines_of_library "#include [\"<]($insides)" "$room|$users_of_policy|tools/manifest\.cc")"
# The filter policy extends the classes of this one header, the benchmark of filters in memory uses them.
expect_none "filter_policy includes filter_policy_internal.h and no other" \
  "$(lines_of_library "#include \"($insides)" "$room|tools/manifest\.cc" |
    { grep -v 'table/block_based/filter_policy_internal\.h"' || true; })"
expect_none "only table/rocksdb_internals/ depends on RocksDB's version" \
  "$(lines_of_library 'ROCKSDB_(MAJOR|MINOR|PATCH)|rocksdb/version\.h' "$room")"
# Rep is what a BlockBasedTable consists of.
expect_none "only table/rocksdb_internals/ uses BlockBasedTable::Rep, DBImpl and the like" \
  "$(lines_of_library 'get_rep\(|::Rep\b|\bDBImpl\b|ColumnFamilyData|SuperVersion\b' "$room")"
# A macro that is not defined is 0 in an #if, and in a group of files that are compiled together, a file before may have defined
# it.
expect_none "a file that uses a macro of versions.h includes it" \
  "$({ grep -rlE '\bPROTEAN_(HAS_|SINCE_|TESTS_|ROCKSDB_AT_LEAST|ROCKSDB_VERSION)' --include='*.h' --include='*.cc' $known_folders || true; } |
    { xargs grep -LE '#include "[a-z_/]*/versions\.h"|^#define PROTEAN_ROCKSDB_AT_LEAST' || true; })"

# ---- Names of tests ----

# A build that compiles files together has the tests of a folder in one program (CMakeLists.txt). There, two classes of one
# name would be taken for the same one unless they are in unnamed namespaces.
mapfile -t test_files < <(printf '%s\n' "${cpp[@]}" | grep -E '^(tests|db_bench_ext|tools)/')
expect_none "classes of one name; give one of them another name, or, if it is no fixture, put it into an unnamed namespace" \
  "$(awk '
    FNR == 1 { unnamed = 0 }
    /^namespace \{/ { unnamed = 1 }
    /^}  \/\/ namespace$/ { unnamed = 0 }
    !unnamed && /^(class|struct|union|enum) / && !/^[^{]*;$/ {
      name = $2 == "class" ? $3 : $2
      if (name in file && file[name] != FILENAME) print name ": " file[name] " and " FILENAME
      file[name] = FILENAME
    }' "${test_files[@]}")"

# ---- The version: plugin/version.h has it, and whatever is published by itself repeats it ----

version=$(sed -n 's/^#define PROTEAN_VERSION "\(.*\)"/\1/p' plugin/version.h)
expect_none "plugin/version.h has the version $version, which these do not name" \
  "$(grep -LF "$version" plugin/java/{,*/}pom.xml plugin/java/README.md plugin/rust/Cargo.toml plugin/python/pyproject.toml docs/examples/{kafka,spark}/pom.xml \
    docs/kafka_streams.md docs/languages.md || true)"

# ---- Pages and comments ----

[ $fix = 0 ] || python3 scripts/check_pages.py --fix >/dev/null 2>&1 || true
expect_none "the pages" "$(python3 scripts/check_pages.py 2>/dev/null || true)"
expect_none "the page of all options" "$(scripts/options_page.py --check 2>&1 || true)"
expect_none "the table of tested versions; scripts/tested_versions.py makes it" "$(scripts/tested_versions.py --check 2>&1 || true)"
advice=$(python3 scripts/check_comments.py 2>/dev/null || true)
[ -z "$advice" ] || printf 'advice on comments, which may be ignored:\n%s\n' "$advice"

[ $failures = 0 ] || die "$failures rules are broken"
say "passed"
