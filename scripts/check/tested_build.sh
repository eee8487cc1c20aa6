# SPDX-License-Identifier: Apache-2.0
# A build of Protean in a folder of its own, and its tests, for scripts that make several: failures are noted, and the next
# build goes on. Sourced after common.sh and packages.sh.
#
#   fails WHAT LOG              notes a failure of $subject
#   build ARGUMENTS OF CMAKE    builds $targets (all, if there are none) in $work; false if that fails
#   run_tests ARGUMENTS OF CTEST
#
# They take $subject, which describes the build in messages, and $work. They set $failures, and $passed and $failed, numbers
# of tests.

jobs=$(job_count)

subject="" work="" targets=() failures=() passed="" failed=""

fails() {
  failures+=("$subject: $1; log: $2")
  say "${failures[-1]}"
}

build() {
  install_packages
  local log=$work/configure.log
  if cmake -S "$project" -B "$work" -G Ninja "$@" 2>&1 | tee "$log" | sed -un '/^provision_rocksdb: /p' >&2; then
    log=$work/build.log
    if cmake --build "$work" --parallel "$jobs" ${targets[@]+--target "${targets[@]}"} 2>&1 | tee "$log" |
      show_progress "building Protean with $subject"; then
      return
    fi
  fi
  tail -n 30 "$log" >&2
  fails "does not build" "$log"
  return 1
}

run_tests() {
  local log=$work/tests.log summary
  say "$subject: running the tests"
  ctest --test-dir "$work" --output-on-failure -j "$jobs" "$@" >"$log" 2>&1 || true
  summary=$(grep -E '^[0-9]+% tests passed' "$log" || true)
  failed=$(sed -nE 's/.* ([0-9]+) tests failed out of .*/\1/p' <<<"$summary")
  passed=$(sed -nE 's/.* tests failed out of ([0-9]+).*/\1/p' <<<"$summary")
  if [ -z "$failed" ]; then
    fails "the tests have not come to their end" "$log"
  else
    passed=$((passed - failed))
    [ "$failed" = 0 ] || { sed -n '/The following tests FAILED/,$p' "$log" >&2; fails "$failed tests fail" "$log"; }
  fi
}
