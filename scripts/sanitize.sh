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
# They load Protean as a shared library into programs that have no sanitizer in them (RocksDB's own, and the JVM). What these
# programs call of Protean is what the other tests call.
#
# Builds and logs are kept in $PROTEAN_CACHE (default: protean in the user's cache folder). PROTEAN_JOBS says how many
# compilers and tests run at once. What ThreadSanitizer is told to overlook is in scripts/tsan_suppressions.txt, with reasons.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
. "$(dirname "${BASH_SOURCE[0]}")/tested_build.sh"

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

cache=$(cache_folder)

export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:history_size=4
TSAN_OPTIONS+=:suppressions=$project/scripts/tsan_suppressions.txt

# What has come of the sanitizer at hand, for the table.
time="" seed=""

# The tests that are run, one a line; all if there are none.
tests_of() {
  [ "$1" = tsan ] || return 0
  { grep -rlE '#include <thread>' --include='*_test.cc' "$project/tests"; echo concurrency_test.cc; } |
    sed 's,.*/,,; s/\.cc$//' | sort
}

# The arguments of cmake, one a line.
flags_of() {
  echo -DPROTEAN_SYSTEM_ROCKSDB=OFF
  case $1 in
    asan) echo -DPROTEAN_SANITIZE=address,undefined ;;
    tsan) echo -DPROTEAN_SANITIZE=thread ;;
  esac
  [ -z "$source_tree" ] || echo "-DPROTEAN_ROCKSDB_SOURCE=$source_tree"
}

run_concurrency_test() {
  local log=$work/concurrency.log start=$SECONDS
  seed=$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')
  say "$subject: concurrency test, $minutes minutes from seed $seed on (log: $log)"
  "$work/concurrency_test" "--seed=$seed" "--seconds=$((minutes * 60))" >"$log" 2>&1 ||
    { tail -n 60 "$log" >&2; fails "the concurrency test fails" "$log"; }
  time="$((SECONDS - start)) s"
}

table=$(printf '%-10s %8s %8s %16s   %s' sanitizer passed failed "concurrency test" seed)
for subject in "${wanted[@]}"; do
  passed=- failed=- time=- seed=- chosen=()
  mapfile -t targets < <(tests_of "$subject")
  mapfile -t flags < <(flags_of "$subject")
  [ ${#targets[@]} = 0 ] || chosen+=(-R "^($(IFS='|'; echo "${targets[*]}"))\$")
  work=$cache/sanitize-$subject-$(echo "$project $source_tree" | sha256sum | cut -c1-8)
  mkdir -p "$work"
  lock "$work/.lock" "another run in $work"
  say "$subject: building in $work"
  if build "${flags[@]}"; then
    run_tests "${chosen[@]}"
    [ "$minutes" = 0 ] || run_concurrency_test
  fi
  table+=$(printf '\n%-10s %8s %8s %16s   %s' "$subject" "$passed" "$failed" "$time" "$seed")
done

echo "$table"
[ ${#failures[@]} = 0 ] || die "$(printf '%s\n' "${#failures[@]} failed:" "${failures[@]/#/  }")"
