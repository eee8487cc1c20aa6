# SPDX-License-Identifier: Apache-2.0
# Builds Protean with sanitizers and runs the tests under them, then tests/table/concurrency_test.cc on a new seed. At the end,
# a table of the results is printed.
#
#   scripts/check.sh sanitize [--sanitizer=asan|tsan ...] [--minutes=N] [--source=DIR]
#
#   --sanitizer=asan   wrong use of memory, leaks, and undefined behavior: AddressSanitizer and
#                      UndefinedBehaviorSanitizer, with all tests
#   --sanitizer=tsan   data races and deadlocks: ThreadSanitizer, with the tests that make threads themselves. It has to
#                      know how all of the process synchronizes, so RocksDB is compiled with it too
#                      Default: both, one after the other
#   --minutes=N        time of the concurrency test under each sanitizer; default: 10; 0: none
#   --source=DIR       a RocksDB source tree instead of the one that provision_rocksdb.sh provides
#
# Not run, since CMakeLists.txt leaves them out of builds with sanitizers: shared_test, install_test, and java_test.
# They load Protean as a shared library into programs that have no sanitizer in them (RocksDB's own, and the JVM). The other
# tests call the same functions of Protean as these programs.
#
# What ThreadSanitizer is told to overlook is in scripts/check/tsan_suppressions.txt, with reasons.
. "$project/scripts/check/tested_build.sh"

minutes=10 source="" sanitizer=()
parse_options '--sanitizer=asan|tsan...' '--minutes=N|0' --source=DIR -- "$@"
[ ${#sanitizer[@]} -gt 0 ] || sanitizer=(asan tsan)
if [ -n "$source" ]; then
  source=$(realpath "$source")
  check_source_tree "$source"
fi

cache=$(cache_folder)

export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:history_size=4
TSAN_OPTIONS+=:suppressions=$project/scripts/check/tsan_suppressions.txt

# Results under the current sanitizer, for the table.
time="" seed=""

# Prints the tests to run under sanitizer $1, one a line. No line means all of them.
tests_of() {
  [ "$1" = tsan ] || return 0
  grep -rlE '#include <thread>' --include='*_test.cc' "$project/tests" | sed 's,.*/,,; s/\.cc$//' | sort
}

# Prints the arguments of cmake for sanitizer $1, one a line.
flags_of() {
  echo -DPROTEAN_SYSTEM_ROCKSDB=OFF
  case $1 in
    asan) echo -DPROTEAN_SANITIZE=address,undefined,float-cast-overflow ;;
    tsan) echo -DPROTEAN_SANITIZE=thread ;;
  esac
  [ -z "$source" ] || echo "-DPROTEAN_ROCKSDB_SOURCE=$source"
}

run_concurrency_test() {
  local log=$work/concurrency.log start=$SECONDS
  seed=$(random_seed 6)
  say "$subject: concurrency test, $minutes minutes from seed $seed on (log: $log)"
  "$work/concurrency_test" "--seed=$seed" "--seconds=$((minutes * 60))" >"$log" 2>&1 ||
    { tail -n 60 "$log" >&2; fails "the concurrency test fails" "$log"; }
  time="$((SECONDS - start)) s"
}

table=$(printf '%-10s %8s %8s %16s   %s' sanitizer passed failed "concurrency test" seed)
for subject in "${sanitizer[@]}"; do
  passed=- failed=- time=- seed=- chosen=()
  mapfile -t targets < <(tests_of "$subject")
  mapfile -t flags < <(flags_of "$subject")
  [ ${#targets[@]} = 0 ] || chosen+=(-R "^($(IFS='|'; echo "${targets[*]}"))\$")
  work=$cache/sanitize-$subject-$(echo "$project $source" | sha256sum | cut -c1-8)
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
