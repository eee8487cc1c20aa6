#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks that Protean compiles with each version of RocksDB that it is tested with, besides 9.10.0: everything with the last one,
# and all but the tests with those between. The versions' source trees are needed for that, and no libraries of them: the
# compiler checks, and generates no code. Where clang 14 is there, that is the compiler: Protean
# is for both, and g++ takes 1.6 times as long.
#
#   versions_compile_test.sh BUILD [VERSION...]
#
# With versions, everything is compiled with each of these.
# Ends with code 77, which says that it was left out, where a source tree cannot be fetched.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
. "$project/scripts/rocksdb_crates.sh"
parse_options BUILD VERSION... -- "$@"
[ ${#arguments[@]} -gt 0 ] || die "no build folder is given"
build=$(realpath "${arguments[0]}")
versions=("${arguments[@]:1}")
between=()
if [ ${#versions[@]} = 0 ]; then
  mapfile -t versions < <(printf '%s\n' "${tested_crates[@]}" | sort -V)
  between=("${versions[@]::${#versions[@]}-1}")
fi

cache=$(cache_folder)
for version in "${versions[@]}"; do
  # In a subshell, which ends where this fails.
  (fetch_rocksdb_crate "$version" "$cache/rocksdb-$version" "leave this test out") || {
    say "left out: the source tree of RocksDB $version cannot be fetched"
    exit 77
  }
done
compiler=g++
! command -v clang++-14 >/dev/null || compiler=clang++-14
werror=$(sed -n 's/^PROTEAN_WERROR:BOOL=//p' "$build/CMakeCache.txt")
for version in "${versions[@]}"; do
  start=$SECONDS work=$build/versions/$version-$compiler checked=all
  [[ " ${between[*]} " != *" $version "* ]] || checked=product
  mkdir -p "$work"
  lock "$work/.lock" "another run in $work"
  if ! { cmake -S "$project" -B "$work" -G Ninja "-DPROTEAN_SYNTAX_ONLY=$checked" "-DPROTEAN_WERROR=${werror:-OFF}" \
    "-DCMAKE_CXX_COMPILER=$compiler" "-DPROTEAN_ROCKSDB_SOURCE=$cache/rocksdb-$version" &&
    cmake --build "$work" --parallel "$(job_count)" -- -k 0; } \
    >"$work/log" 2>&1; then
    grep -E 'error|FAILED' "$work/log" | head -n 40 || tail -n 40 "$work/log"
    die "Protean does not compile with RocksDB $version; log: $work/log"
  fi
  say "RocksDB $version: $((SECONDS - start)) s"
done
echo passed
