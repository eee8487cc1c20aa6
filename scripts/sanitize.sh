#!/usr/bin/env bash
# Builds Protean with sanitizers and runs the tests under them, then tests/table/concurrency_test.cc on a new seed for
# as long as one likes. At the end, a table says what has come of it.
#
#   scripts/sanitize.sh [--sanitizer=asan|tsan ...] [--minutes=N] [--source=DIR]
#
#   --sanitizer=asan   wrong use of memory, leaks, and undefined behavior: AddressSanitizer and
#                      UndefinedBehaviorSanitizer, with all tests
#   --sanitizer=tsan   data races and deadlocks: ThreadSanitizer, with the tests that make threads themselves. It has to
#                      know how all of the process synchronizes, so RocksDB is compiled with it too
#                      Default: both, one after the other
#   --minutes=N        run the concurrency test so long with each; default: 10; 0: not at all
#   --source=DIR       a RocksDB source tree instead of the one that provision_rocksdb.sh provides
#
# Not run, since CMakeLists.txt leaves them out of builds with sanitizers: shared_test, install_test, and java_test.
# They load Protean as a shared library into programs that have no sanitizer in them (RocksDB's own, and the JVM), which
# the sanitizers' libraries do not bear. What these programs call of Protean is what the other tests call.
#
# Builds and logs are kept in $PROTEAN_CACHE (default: protean in the user's cache folder). PROTEAN_JOBS says how many
# compilers and tests run at once. What ThreadSanitizer is told to overlook is in scripts/tsan_suppressions.txt, with reasons.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

minutes=10 source_tree="" wanted=()
for arg in "$@"; do
  case $arg in
    --sanitizer=asan | --sanitizer=tsan) wanted+=("${arg#--sanitizer=}") ;;
    --sanitizer=*) die "--sanitizer wants asan or tsan, not '${arg#--sanitizer=}'" ;;
    --minutes=*)
      minutes=${arg#--minutes=}
      [[ $minutes =~ ^[0-9]+$ ]] || die "--minutes wants a number of minutes, not '$minutes'"
      ;;
    --source=*)
      source_tree=$(realpath "${arg#--source=}")
      [ -f "$source_tree/include/rocksdb/version.h" ] || die "$source_tree is not a RocksDB source tree"
      ;;
    *) die "unknown argument '$arg'; known: --sanitizer=asan|tsan --minutes=N --source=DIR" ;;
  esac
done
[ ${#wanted[@]} -gt 0 ] || wanted=(asan tsan)

project=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
cd "$project"
for tool in cmake ctest ninja; do
  command -v $tool >/dev/null || die "$tool is missing; scripts/setup.sh installs what Protean is built with"
done
jobs=${PROTEAN_JOBS:-$(nproc)}
cache=$(cache_folder)

export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:history_size=4
TSAN_OPTIONS+=:suppressions=$project/scripts/tsan_suppressions.txt

# What has come of the sanitizer at hand, for the table.
sanitizer="" passed="" failed="" time="" seed=""
failures=()
# $1: what has failed; $2: its log.
fails() {
  failures+=("$sanitizer: $1; log: $2")
  say "${failures[-1]}"
}

# The tests that are run, one a line; all if there are none.
tests_of() {
  [ "$1" = tsan ] || return 0
  { grep -rlE '#include <thread>' --include='*_test.cc' tests; echo concurrency_test.cc; } |
    sed 's,.*/,,; s/\.cc$//' | sort
}

build() {
  local log=$work/configure.log flags=(-DPROTEAN_SYSTEM_ROCKSDB=OFF)
  case $sanitizer in
    asan) flags+=(-DPROTEAN_SANITIZE=address,undefined) ;;
    tsan) flags+=(-DPROTEAN_SANITIZE=thread) ;;
  esac
  [ -z "$source_tree" ] || flags+=("-DPROTEAN_ROCKSDB_SOURCE=$source_tree")
  if cmake -S . -B "$work" -G Ninja "${flags[@]}" 2>&1 | tee "$log" | sed -un '/^provision_rocksdb: /p' >&2; then
    log=$work/build.log
    if cmake --build "$work" --parallel "$jobs" ${tests[@]+--target "${tests[@]}"} 2>&1 | tee "$log" |
      show_progress "building Protean with $sanitizer"; then
      return
    fi
  fi
  tail -n 30 "$log" >&2
  fails "does not build" "$log"
  return 1
}

run_tests() {
  local log=$work/tests.log summary chosen=()
  [ ${#tests[@]} = 0 ] || chosen=(-R "^($(IFS='|'; echo "${tests[*]}"))\$")
  say "$sanitizer: running the tests"
  ctest --test-dir "$work" --output-on-failure -j "$jobs" --timeout 1800 ${chosen[@]+"${chosen[@]}"} >"$log" 2>&1 ||
    true
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

run_concurrency_test() {
  local log=$work/concurrency.log start=$SECONDS
  seed=$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')
  say "$sanitizer: concurrency test, $minutes minutes from seed $seed on (log: $log)"
  "$work/concurrency_test" "--seed=$seed" "--seconds=$((minutes * 60))" >"$log" 2>&1 ||
    { tail -n 60 "$log" >&2; fails "the concurrency test fails" "$log"; }
  time="$((SECONDS - start)) s"
}

table=$(printf '%-10s %8s %8s %16s   %s' sanitizer passed failed "concurrency test" seed)
for sanitizer in "${wanted[@]}"; do
  passed=- failed=- time=- seed=-
  mapfile -t tests < <(tests_of "$sanitizer")
  work=$cache/sanitize-$sanitizer-$(echo "$project $source_tree" | sha256sum | cut -c1-8)
  mkdir -p "$work"
  lock "$work/.lock" "another run in $work"
  say "$sanitizer: building in $work"
  if build; then
    run_tests
    [ "$minutes" = 0 ] || run_concurrency_test
  fi
  table+=$(printf '\n%-10s %8s %8s %16s   %s' "$sanitizer" "$passed" "$failed" "$time" "$seed")
done

echo "$table"
[ ${#failures[@]} = 0 ] || die "$(printf '%s\n' "${#failures[@]} failed:" "${failures[@]/#/  }")"
