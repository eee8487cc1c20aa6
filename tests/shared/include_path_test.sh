#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests that an application includes the public headers by one path, rocksdb/plugin/protean/NAME.h, however it gets Protean:
# installed, by add_subdirectory, or as a plugin from RocksDB's CMake or Makefile. The four are configured and installed, but
# RocksDB and Protean are not compiled again: including_program.cc is compiled, and not linked.
#
#   include_path_test.sh BUILD ROCKSDB_INCLUDE
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
parse_options BUILD ROCKSDB_INCLUDE -- "$@"
cd "$project"

build=$1 include=$2
export CMAKE_GENERATOR=Ninja
program=$project/tests/shared/including_program.cc rocksdb=$(dirname "$include")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
read -r -a headers <<<"$(sed -n 's/^protean_PUBLIC_HEADERS = //p' protean.mk)"

# $1: the way; the others: the command.
logged() {
  local log=$work/$1.log
  shift
  "$@" >"$log" 2>&1 || { tail -n 20 "$log"; die "failed: $*"; }
}

# $1: the way; the others: the folders for -I. The program compiles, and the public headers are all that is there.
check() {
  local way=$1 folder=$2 expected found
  shift
  "${CXX:-c++}" -std=c++20 -fsyntax-only "${@/#/-I}" "$program" ||
    die "$way: the program does not compile"
  expected=$(printf '%s\n' "${headers[@]##*/}" | sort)
  # The library protean_sets has its own, in experimental/.
  found=$(cd "$folder/rocksdb/plugin/protean" && find . -mindepth 1 -not -path './experimental*' | sed 's,^\./,,' | sort)
  [ "$found" = "$expected" ] || die "$way: the headers are" $found "instead of" $expected
  echo "$way: passed"
}

for header in "${headers[@]##*/}"; do
  grep -q "^#include \"rocksdb/plugin/protean/$header\"$" "$program" || die "$program does not include $header"
done

# ---- Installed ----

logged installed cmake --install "$build" --component development --prefix "$work/installed"
check installed "$work/installed/include" "$include"

# ---- A part of an application ----

mkdir "$work/application"
cat >"$work/application/CMakeLists.txt" <<E_CMAKE
cmake_minimum_required(VERSION 3.19)
project(application LANGUAGES CXX)
add_subdirectory("$project" protean)
add_library(program OBJECT "$program")
target_link_libraries(program PRIVATE protean)
E_CMAKE
# RocksDB is the one of this build.
mapfile -t same < <(sed -nE 's/^(PROTEAN_(ASSERTIONS|NATIVE|ROCKSDB_[A-Z]+|SANITIZE|SYSTEM_ROCKSDB):[A-Z]+=.+)/-D\1/p' \
  "$build/CMakeCache.txt")
logged application cmake -S "$work/application" -B "$work/application/build" "${same[@]}"
logged program cmake --build "$work/application/build" --target CMakeFiles/program.dir"$program".o
check add_subdirectory "$work/application/build/protean/include" "$include"

# ---- A plugin of RocksDB, by its CMake ----

mkdir "$work/tree"
cp -rs "$rocksdb/." "$work/tree"
# Some archives of RocksDB's sources have no folder for plugins.
mkdir -p "$work/tree/plugin"
rm -rf "$work/tree/plugin/protean"
ln -s "$project" "$work/tree/plugin/protean"
logged cmake cmake -S "$work/tree" -B "$work/cmake" -DROCKSDB_PLUGINS=protean -DWITH_GFLAGS=OFF -DWITH_TESTS=OFF \
  -DWITH_TOOLS=OFF -DWITH_CORE_TOOLS=OFF -DWITH_BENCHMARK_TOOLS=OFF -DROCKSDB_BUILD_SHARED=OFF
# RocksDB's rules give the headers of plugins no component.
logged cmake_install cmake --install "$work/cmake" --component Unspecified --prefix "$work/cmake_installed"
check "RocksDB's CMake" "$work/cmake_installed/include" "$include"

# ---- A plugin of RocksDB, by its Makefile ----

# Some archives of RocksDB's sources have no Makefile.
if command -v make >/dev/null && [ -f "$rocksdb/Makefile" ]; then
  # Without sources, whose dependencies make would look for first.
  mkdir -p "$work/make_tree/plugin/protean/plugin"
  cp -r "$rocksdb/Makefile" "$rocksdb"/*.mk "$rocksdb/build_tools" "$include" "$work/make_tree"
  cp protean.mk "$work/make_tree/plugin/protean"
  cp plugin/*.h "$work/make_tree/plugin/protean/plugin"
  logged make make -C "$work/make_tree" ROCKSDB_PLUGINS=protean install-headers DESTDIR="$work/make" PREFIX=/usr
  check "RocksDB's Makefile" "$work/make/usr/include"
  make -C "$work/make_tree" -np ROCKSDB_PLUGINS=protean 2>/dev/null >"$work/rules" || true
  grep -qax '\.DEFAULT_GOAL := default' "$work/rules" || die "with the plugin, RocksDB's make has another default goal"
fi
echo passed
