#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs Protean into a folder and uses it from there as an application would: the example in docs/examples/sensors by
# find_package, and by pkg-config; and the command.
#
#   install_test.sh BUILD ROCKSDB_INCLUDE ROCKSDB_LIBRARY
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
parse_options BUILD ROCKSDB_INCLUDE ROCKSDB_LIBRARY -- "$@"
cd "$project"

build=$1 include=$2 library=$3
export CMAKE_GENERATOR=Ninja
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/usr

# The prefix of the installation is another one than that of the configuration.
cmake --install "$build" --prefix "$prefix" >"$work/install.log"
lib=$(dirname "$(find "$prefix" -name libprotean.so.1)")
for file in "$prefix/bin/protean" "$lib/libprotean.a" "$lib"/libprotean-rocksdb-*.so.1 "$lib/pkgconfig/protean.pc" \
  "$prefix/include/rocksdb/plugin/protean/protean.h"; do
  [ -f "$file" ] || die "$file is not installed"
done
tag=$(basename "$lib"/libprotean-rocksdb-*.so.1 .so.1)
"$prefix/bin/protean" --version | tee "$work/version"
grep -q "for RocksDB $(echo "${tag#libprotean-rocksdb-}" | cut -d- -f1), " "$work/version" ||
  die "the command and the library are for different RocksDBs"

# The manual pages, which man must take without a warning, and the completion for bash.
commands=$("$prefix/bin/protean" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ -n "$commands" ] || die "--help lists no commands"
command -v help2man >/dev/null || commands=""
for command in ${commands:+protean} $commands; do
  page=protean-$command
  [ "$command" != protean ] || page=protean
  found=$(find "$prefix/share/man/man1" -name "$page.1*")
  [ -n "$found" ] || die "there is no manual page $page"
  if command -v man >/dev/null; then
    LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings -l "$found" >"$work/page" 2>"$work/warnings"
    [ ! -s "$work/warnings" ] || { cat "$work/warnings"; die "man warns of $page"; }
    grep -q '^NAME' "$work/page" || die "man does not show $page"
  fi
done
bash -n "$prefix/share/bash-completion/completions/protean"

# $1: how it was built; $2: the program. It spares blocks, and the next one finds what it has written.
check() {
  local said=$work/$1.txt db=$work/$1.db
  "$2" "$db" >"$said" || { cat "$said"; die "$1: the example fails"; }
  "$2" "$db" >>"$said"
  cat "$said"
  awk '/questions/ { n++; if ($8 > 15000 && $10 < 1.5) good++ } END { exit !(n == 2 && good == 2) }' "$said" ||
    die "$1: the example reads more than it should"
  "$prefix/bin/protean" inspect --db="$db" --levels_only >/dev/null || die "$1: the command does not know the DB"
}

cmake -S docs/examples/sensors -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" \
  -DPROTEAN_ROCKSDB_LIBRARY="$library" -DPROTEAN_ROCKSDB_INCLUDE_DIR="$include" >"$work/cmake.log" 2>&1 ||
  { tail -n 20 "$work/cmake.log"; die "find_package does not find Protean"; }
cmake --build "$work/cmake" >"$work/cmake.log" 2>&1 || { tail -n 20 "$work/cmake.log"; die "the example does not build"; }
check find_package "$work/cmake/sensors"

# Events that were seen before are dropped, whichever way it is asked.
cmake -S docs/examples/dedup -B "$work/dedup" -DCMAKE_PREFIX_PATH="$prefix" \
  -DPROTEAN_ROCKSDB_LIBRARY="$library" -DPROTEAN_ROCKSDB_INCLUDE_DIR="$include" >"$work/dedup.log" 2>&1 &&
  cmake --build "$work/dedup" >"$work/dedup.log" 2>&1 || { tail -n 20 "$work/dedup.log"; die "docs/examples/dedup does not build"; }
for way in get multi_get may_exist cascade; do
  "$work/dedup/dedup" "$work/dedup_$way" $way 50000 >"$work/said.txt" || die "docs/examples/dedup fails: $way"
  cat "$work/said.txt"
  grep -q ' 5000 dropped' "$work/said.txt" || die "docs/examples/dedup drops what is new, or not what is old: $way"
done

# A RocksDB of another version is refused, with the reason.
mkdir -p "$work/other/rocksdb"
sed -E 's/^(#define ROCKSDB_MAJOR).*/\1 8/' "$include/rocksdb/version.h" >"$work/other/rocksdb/version.h"
if cmake -S docs/examples/sensors -B "$work/refused" -DCMAKE_PREFIX_PATH="$prefix" \
  -DPROTEAN_ROCKSDB_LIBRARY="${library%.a}.so" -DPROTEAN_ROCKSDB_INCLUDE_DIR="$work/other" >"$work/refused.log" 2>&1 &&
  [ "${library##*.}" != a ]; then
  die "find_package takes a RocksDB of another version"
fi

if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH=$lib/pkgconfig
  # The prefix of the file is where it was configured for.
  flags=$(pkg-config --define-variable=prefix="$prefix" --cflags --libs protean)
  # shellcheck disable=SC2086
  "${CXX:-c++}" -std=c++20 -O2 -I"$include" docs/examples/sensors/sensors.cc -o "$work/sensors" $flags
  LD_LIBRARY_PATH=$lib check pkg_config "$work/sensors"
fi
echo passed
