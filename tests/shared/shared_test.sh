#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the shared libraries from outside: programs that know nothing of Protean get it by LD_PRELOAD or dlopen; and whatever
# else they are loaded into, the programs go on without it, after one line that says why.
#
#   shared_test.sh BUILD ROCKSDB_LIBRARY ROCKSDB_INCLUDE TAG
#
#   BUILD            the build folder, which has libprotean.so.1 and libprotean-rocksdb-TAG.so.1
#   ROCKSDB_LIBRARY  the RocksDB that they are for; a static one is made a shared one for this test
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
parse_options BUILD ROCKSDB_LIBRARY ROCKSDB_INCLUDE TAG -- "$@"
cd "$project/tests/shared"

build=$1 rocksdb=$2 include=$3 tag=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failures=0

compile() { "${CXX:-c++}" -std=c++20 -O1 "$@"; }

# What a program is expected to print on stdout ($2) and on stderr ($3, a pattern; empty for nothing at all).
expect() {
  local name=$1 out=$2 err=$3 code=0
  shift 3
  "$@" >"$work/out" 2>"$work/err" || code=$?
  if [ "$(tail -n 1 "$work/out")" = "$out" ] &&
    if [ -z "$err" ]; then [ ! -s "$work/err" ]; else
      [ "$(wc -l <"$work/err")" = 1 ] && grep -qE -- "$err" "$work/err"; fi; then
    passed=$((passed + 1))
  else
    failures=$((failures + 1))
    printf '%s: ended with %s\n  stdout: %s\n  stderr: %s\n  expected: %s\n            %s\n' \
      "$name" $code "$(cat "$work/out")" "$(cat "$work/err")" "$out" "$err"
  fi
}

# ---- RocksDB, Protean, and programs ----

case $rocksdb in
  *.a)
    # Compiled like the libraries of distributions.
    shared=$work/librocksdb.so.0
    compile -shared -o "$shared" -Wl,-soname,librocksdb.so.0 -Wl,--whole-archive "$rocksdb" -Wl,--no-whole-archive \
      -lgflags -lsnappy -llz4 -lzstd -lbz2 -lz -lpthread -ldl
    ;;
  *) shared=$rocksdb ;;
esac
export LD_LIBRARY_PATH=$work${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
compile -I"$include" options_program.cc -o "$work/options_program" "$shared"
compile loading_program.cc -o "$work/loading_program" -ldl

lib=$work/lib
mkdir "$lib"
cp "$build/libprotean.so.1" "$build/libprotean-rocksdb-$tag.so.1" "$lib/"
protean=$lib/libprotean.so.1
binding=$lib/libprotean-rocksdb-$tag.so.1

# $1: its file; $2, $3: what is in it, as C++; $4: flags. A library that looks as if it were RocksDB, to others' eyes.
fake() {
  local out=$work/$1
  printf '#include <string>\n%s\nnamespace rocksdb {\n%s\n}\n' "$3" "$2" >"$out.cc"
  compile -shared -fPIC -o "$out" "$out.cc" $4
}
registry='struct ObjectLibrary { static void* Default(); }; void* ObjectLibrary::Default() { return nullptr; }'
version='std::string GetRocksVersionAsString(bool); std::string GetRocksVersionAsString(bool) { return "8.0.0"; }'
rtti='struct TableFactory { virtual ~TableFactory(); }; TableFactory::~TableFactory() {}'
assertions='struct SyncPoint { static void* GetInstance(); }; void* SyncPoint::GetInstance() { return nullptr; }'
fake other.so "$registry $version $rtti" "" ""
fake old_abi.so "$registry $version $rtti" "" -D_GLIBCXX_USE_CXX11_ABI=0
fake asserting.so "$registry $version $rtti $assertions" "" ""
fake no_rtti.so "$registry $version" "" -fno-rtti
fake ancient.so "$registry" "" ""

cat >"$work/OPTIONS" <<EOF_OPTIONS
[Version]
  rocksdb_version=9.10.0
  options_file_version=1.1
[DBOptions]
  create_if_missing=true
[CFOptions "default"]
  disable_auto_compactions=true
  table_factory=ProteanTable
[TableOptions/ProteanTable "default"]
  filter_policy=surf:0:8
EOF_OPTIONS

# ---- What works ----

# A DB used with Protean and without: what one process has written, the other one reads.
db=$work/db
options=("$work/options_program" "$db" "$work/OPTIONS")
expect "preloaded" "filtered yes, wrong 0" "" env LD_PRELOAD="$protean" "${options[@]}"
expect "its files without it" "filtered no, wrong 0" "" "$work/options_program" "$db"
expect "preloaded itself" "filtered yes, wrong 0" "" env LD_PRELOAD="$binding" "${options[@]}"
case $rocksdb in
  *.a)
    # RocksDB is a part of the program, which shows its symbols.
    compile -rdynamic -I"$include" options_program.cc -o "$work/whole_program" -Wl,--whole-archive "$rocksdb" \
      -Wl,--no-whole-archive -lgflags -lsnappy -llz4 -lzstd -lbz2 -lz -lpthread -ldl
    expect "preloaded into a whole program" "filtered yes, wrong 0" "" \
      env LD_PRELOAD="$protean" "$work/whole_program" "$work/whole" "$work/OPTIONS"
    ;;
esac
expect "both" "filtered yes, wrong 0" "" env LD_PRELOAD="$protean $binding" "${options[@]}"
expect "loaded after RocksDB" "registered yes, visible" "" "$work/loading_program" global "$shared" "$protean"
expect "after one that nobody else sees" "registered yes" "" "$work/loading_program" local "$shared" "$protean"
expect "one that others see later" "registered yes, visible" "" \
  "$work/loading_program" local "$shared" "$protean" global "$shared"
expect "RocksDB is unloaded" "registered yes" "" "$work/loading_program" local "$shared" "$protean" close 1
expect "Protean is unloaded" "registered yes" "" "$work/loading_program" local "$shared" "$protean" close 2 close 1
expect "twice" "registered yes" "" "$work/loading_program" local "$shared" "$protean" "$protean"
mkdir "$work/copy"
cp "$lib"/* "$work/copy/"
expect "twice, from another folder" "registered yes" "registered already" \
  "$work/loading_program" local "$shared" "$protean" "$work/copy/libprotean.so.1"

# A private copy of Protean's library is bound to a RocksDB with hidden symbols. The copy is in memory, or else in a file.
printf '#include <cerrno>\nextern "C" int memfd_create(const char*, unsigned) { errno = EPERM; return -1; }\n' >"$work/no_memfd.cc"
compile -shared -fPIC -o "$work/no_memfd.so" "$work/no_memfd.cc"
expect "nothing in memory is executed" "registered yes" "" \
  env LD_PRELOAD="$work/no_memfd.so" TMPDIR="$work" "$work/loading_program" local "$shared" "$protean"

# A program in C, of the standard that the oldest compilers know.
"${CC:-cc}" -std=c99 -pedantic -Wall -Wextra -Werror -D_POSIX_C_SOURCE=200809L -isystem "$include" -I"$build/include" \
  -c c_program.c -o "$work/c_program.o"
compile "$work/c_program.o" -o "$work/c_program" "$binding" "$shared" -lpthread
expect "the C API" "all is well" "" env LD_LIBRARY_PATH="$lib:$LD_LIBRARY_PATH" "$work/c_program" "$work/c_db"

# The examples of other languages. $1: the name; the others: the command.
expect_readings() {
  local name=$1
  shift
  if LD_LIBRARY_PATH="$lib:$LD_LIBRARY_PATH" "$@" >"$work/out" 2>"$work/err" && [ ! -s "$work/err" ] &&
    grep -q '^21600 readings' "$work/out" && grep -q '720 .*on a day' "$work/out"; then
    passed=$((passed + 1))
  else
    failures=$((failures + 1))
    echo "the example in $name fails: $(cat "$work/out" "$work/err")"
  fi
}
examples=$project/docs/examples
"${CC:-cc}" -std=c99 -pedantic -Wall -Wextra -Werror -isystem "$include" -I"$build/include" \
  -c "$examples/c/sensors.c" -o "$work/sensors.o"
compile "$work/sensors.o" -o "$work/sensors" "$binding" "$shared"
expect_readings C "$work/sensors" "$work/sensors_db"
if command -v python3 >/dev/null; then
  export PYTHONPATH=$project/plugin/python PYTHONDONTWRITEBYTECODE=1
  expect_readings Python python3 "$examples/python/filters.py" "$work/python_db" "$shared" "$binding"
  # With the names that the package looks for by itself.
  mkdir "$work/names"
  ln -s "$shared" "$work/names/librocksdb.so.9.10"
  ln -s "$binding" "$work/names/libprotean-rocksdb-9.10.0.so.1"
  expect "the notebook" "" "" env PATH="$(realpath "$build"):$PATH" LD_LIBRARY_PATH="$work/names" TMPDIR="$work" \
    python3 notebook.py "$examples/python/choose_a_filter.ipynb"
  expect "a policy that there is none" "" "^protean_rocksdb.Error: .*: Not implemented: Could not load FilterPolicy: none:1$" \
    env LD_LIBRARY_PATH="$work/names" bash -c "set -o pipefail; python3 -c 'import protean_rocksdb; protean_rocksdb.DB(\"$work/python_db\", \"none:1\")' 2> >(tail -n 1 >&2)"
fi
if command -v go >/dev/null; then
  mkdir "$work/go"
  ln -s "$shared" "$work/go/librocksdb.so"
  ln -s "$binding" "$work/go/libprotean-rocksdb-9.10.0.so"
  (cd "$examples/go" && CGO_CFLAGS="-I$include -I$build/include" CGO_LDFLAGS="-L$work/go" GOFLAGS=-mod=mod GOPROXY=off \
    go build -o "$work/go/filters" .) >"$work/err" 2>&1 || cat "$work/err"
  expect_readings Go "$work/go/filters" "$work/go_db"
fi

# ---- What does not ----

none="there is no RocksDB in this process .*; Protean is not registered"
expect "no RocksDB" "" "$none" env LD_PRELOAD="$protean" true
expect "no RocksDB, quietly" "" "" env PROTEAN_QUIET=1 LD_PRELOAD="$protean" true
expect "loaded before RocksDB" "registered no" "$none" "$work/loading_program" local "$protean" "$shared"
for other in other:8.0.0 old_abi:8.0.0-oldabi asserting:8.0.0-assert no_rtti:8.0.0-nortti; do
  expect "${other%%:*}" "registered no" \
    "${other%%:*}.so is ${other#*:}, for which there is no .*libprotean-rocksdb-${other#*:}.so.1; there is .*$tag.so.1; Protean is" \
    "$work/loading_program" local "$work/${other%%:*}.so" "$protean"
done
expect "an ancient one" "registered no" "ancient.so does not tell its version; Protean is not registered" \
  "$work/loading_program" local "$work/ancient.so" "$protean"
expect "two RocksDBs" "registered no" "there are 2 RocksDBs in this process" \
  "$work/loading_program" local "$work/other.so" "$shared" "$protean"
case $rocksdb in
  *.a)
    expect "nor in a file" "registered no" "$tag.so.1 cannot be copied: No such file or directory; Protean is not registered" \
      env LD_PRELOAD="$work/no_memfd.so" TMPDIR="$work/nowhere" "$work/loading_program" local "$shared" "$protean"
    ;;
esac
case $rocksdb in
  *.a)
    # No handle is looked into where RocksDB's C API cannot be asked.
    mkdir "$work/no_c"
    echo '{ local: rocksdb_*; };' >"$work/no_c/map"
    compile -shared -o "$work/no_c/librocksdb.so.0" -Wl,-soname,librocksdb.so.0 -Wl,--version-script="$work/no_c/map" \
      -Wl,--whole-archive "$rocksdb" -Wl,--no-whole-archive -lgflags -lsnappy -llz4 -lzstd -lbz2 -lz -lpthread -ldl
    cat >"$work/no_c/program.cc" <<'E_PROGRAM'
#include <cstdio>
#include "rocksdb/plugin/protean/protean_c.h"
int main() {
  char* err = nullptr;
  protean_register(&err);
  if (err == nullptr) protean_options_set_table_factory(nullptr, nullptr, &err);
  printf("%s\n", err);
}
E_PROGRAM
    compile -I"$include" -I"$build/include" "$work/no_c/program.cc" -o "$work/no_c/program" "$binding" "$work/no_c/librocksdb.so.0"
    expect "without a C API" "Not implemented: there is no C API of RocksDB in this program" "" \
      env LD_LIBRARY_PATH="$work/no_c:$lib" "$work/no_c/program"
    ;;
esac
# The right file name is not enough.
cp "$binding" "$lib/libprotean-rocksdb-8.0.0.so.1"
expect "renamed" "registered no" "libprotean-rocksdb-8.0.0.so.1 is for another RocksDB than its name says" \
  "$work/loading_program" local "$work/other.so" "$protean"
rm "$lib/libprotean-rocksdb-8.0.0.so.1"
mv "$binding" "$work/away.so"
expect "alone" "registered no" "for which there is no .*; there is none; Protean is not registered" \
  "$work/loading_program" local "$shared" "$protean"
# RocksDB's own word for it; nothing has been written.
expect "an OPTIONS file without Protean" \
  "" "NotFound: Missing configurable object: table_factory" "$work/options_program" "$work/none" "$work/OPTIONS"
[ ! -e "$work/none" ] || { failures=$((failures + 1)); echo "a DB was made without Protean"; }
mv "$work/away.so" "$binding"

# ---- What is in the file ----

if grep -qa "for RocksDB $tag" "$binding"; then
  passed=$((passed + 1))
else
  failures=$((failures + 1))
  echo "the library does not say what it is for"
fi

# What the public headers declare: functions, and the classes with functions of their own.
public_headers=$(sed -n 's/^protean_PUBLIC_HEADERS = //p' "$project/protean.mk")
declared=$(cd "$project" && cat $public_headers | sed -nE 's/^[A-Za-z][A-Za-z0-9_:<>* ]* \**([A-Z][A-Za-z]*)\(.*/\1/p' | sort -u)
[ "$(wc -w <<<"$declared")" -gt 10 ] || die "too few functions are found in the public headers"
exported=$(nm -DC --defined-only "$binding")
for name in $declared FilterRefresher::FilterRefresher SstFileFilter::Open; do
  if grep -qE "rocksdb::protean::$name(\[abi:[a-z0-9]*\])?\(" <<<"$exported"; then
    passed=$((passed + 1))
  else
    failures=$((failures + 1))
    echo "the library does not export $name, which is in a public header"
  fi
done

# What protean_c.h declares, whose comments name functions of RocksDB, too.
declared=$(sed -nE 's/^[a-z].*\b(protean_[a-z_]+)\($/\1/p; s/^[a-z].*\b(protean_[a-z_]+)\([^)].*/\1/p' "$project/plugin/protean_c.h")
[ "$(wc -w <<<"$declared")" -gt 30 ] || die "too few functions are found in protean_c.h"
for name in $declared; do
  if grep -q " T $name$" <<<"$exported"; then
    passed=$((passed + 1))
  else
    failures=$((failures + 1))
    echo "the library does not export $name, which is in protean_c.h"
  fi
  grep -qw "$name" c_program.c || { failures=$((failures + 1)); echo "c_program.c does not call $name"; }
done

# A unique symbol would be one for the whole process, and other copies of Protean would use it.
if nm -D "$binding" | grep -q ' u '; then
  failures=$((failures + 1))
  echo "the library exports unique symbols"
else
  passed=$((passed + 1))
fi

echo "$passed passed, $failures failed"
[ $failures = 0 ] || exit 1
