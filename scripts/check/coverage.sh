# SPDX-License-Identifier: Apache-2.0
# Prints how many lines of each folder the tests execute, and the lines of filter_policy/ and table/ that no test executes.
# Fails if less than 95 % of the lines of either folder are executed.
#
#   scripts/check.sh coverage [--build=DIR]
#
#   --build=DIR   build and run nothing: the tests of this build have been run. The build was configured with
#                 -DCMAKE_CXX_FLAGS=--coverage, and perhaps with sanitizers
#
# The tests of the shared library, shared_test, install_test and java_test, are left out: they test how it gets into a
# program, which counters would change. Needs gcc and its gcov.

build=""
parse_options --build=DIR -- "$@"
if [ -n "$build" ]; then
  build=$(realpath "$build")
  [ -f "$build/CMakeCache.txt" ] || die "$build is not a build folder"
fi

cd "$project"
install_packages
jobs=$(job_count)

if [ -z "$build" ]; then
  build=$(cache_folder)/coverage-$(echo "$project" | sha256sum | cut -c1-8)
  mkdir -p "$build"
  lock "$build/.lock" "another run in $build"
  say "building in $build"
  log=$build/configure.log
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER=g++ -DCMAKE_CXX_FLAGS=--coverage \
    "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g1" 2>&1 |
    tee "$log" | sed -un '/^provision_rocksdb: /p' >&2 ||
    { tail -n 30 "$log" >&2; die "does not configure; log: $log"; }
  log=$build/build.log
  cmake --build "$build" --parallel "$jobs" 2>&1 | tee "$log" | show_progress "building Protean with counters" ||
    { tail -n 30 "$log" >&2; die "does not build; log: $log"; }
  # The counters of earlier runs do not count.
  find "$build" -name '*.gcda' -delete
  log=$build/tests.log
  say "running the tests (log: $log)"
  ctest --test-dir "$build" --output-on-failure -j "$jobs" -E '^(shared|install|java)_test$' >"$log" 2>&1 ||
    { sed -n '/The following tests FAILED/,$p' "$log" >&2; die "tests fail; log: $log"; }
fi

python3 scripts/check/coverage_report.py --build "$build" --jobs "$jobs" --at-least 95 filter_policy table ||
  die "less than 95 % of filter_policy/ or table/ are covered"
