#!/usr/bin/env bash
# Tells which lines of Protean its tests execute: the share of each folder, and the lines of filter_policy/ and table/
# that no test executes. Fails if that is less than 95 % of either folder.
#
#   scripts/coverage.sh [--build=DIR]
#
#   --build=DIR   build and run nothing: the tests of this build have been run. It was configured with
#                 -DCMAKE_CXX_FLAGS=--coverage, and perhaps with sanitizers
#
# The build is kept in $PROTEAN_CACHE (default: protean in the user's cache folder). The tests of the shared library,
# shared_test, install_test and java_test, are left out: they test how it gets into a program, which counters would change.
# Needs gcc and its gcov.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"

work=""
for arg in "$@"; do
  case $arg in
    --build=*)
      work=$(realpath "${arg#--build=}")
      [ -f "$work/CMakeCache.txt" ] || die "$work is not a build folder"
      ;;
    *) die "unknown argument '$arg'; known: --build=DIR" ;;
  esac
done

project=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
cd "$project"
install_packages
jobs=${PROTEAN_JOBS:-$(nproc)}

if [ -z "$work" ]; then
  work=$(cache_folder)/coverage-$(echo "$project" | sha256sum | cut -c1-8)
  mkdir -p "$work"
  lock "$work/.lock" "another run in $work"
  say "building in $work"
  log=$work/configure.log
  cmake -S . -B "$work" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER=g++ -DCMAKE_CXX_FLAGS=--coverage \
    "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g1" 2>&1 |
    tee "$log" | sed -un '/^provision_rocksdb: /p' >&2 ||
    { tail -n 30 "$log" >&2; die "does not configure; log: $log"; }
  log=$work/build.log
  cmake --build "$work" --parallel "$jobs" 2>&1 | tee "$log" | show_progress "building Protean with counters" ||
    { tail -n 30 "$log" >&2; die "does not build; log: $log"; }
  # Of this run alone.
  find "$work" -name '*.gcda' -delete
  log=$work/tests.log
  say "running the tests (log: $log)"
  ctest --test-dir "$work" --output-on-failure -j "$jobs" -E '^(shared|install|java)_test$' >"$log" 2>&1 ||
    { sed -n '/The following tests FAILED/,$p' "$log" >&2; die "tests fail; log: $log"; }
fi

scripts/coverage_report.py --build "$work" --jobs "$jobs" --at-least 95 filter_policy table ||
  die "less than 95 % of filter_policy/ or table/ are covered"
