# SPDX-License-Identifier: Apache-2.0
# Builds Protean with several versions of RocksDB, with RocksDB's assertions on, passes all tests with each of them, and runs
# the differential test on new seeds. At the end, a table of the results is printed. If an assertion fails in the
# differential test, and in the same run of two stock DBs too, it is listed, and the test goes on behind that run.
#
#   scripts/check.sh versions [--minutes=N] [TREE|VERSION ...]
#
#   --minutes=N     time of the differential test with each version; default: 30; 0: none
#   TREE|VERSION    RocksDB source trees, or versions out of 9.10.0, 10.1.3, 10.4.2, 10.10.1 and 11.8.1; default:
#                   9.10.0, 10.4.2 and 11.8.1
#
# 9.10.0 comes from where scripts/provision_rocksdb.sh gets it, the others from the Rust crates that carry them, by cargo. A
# version takes 1 GB of the cache, and the first time about 20 minutes on 2 cores besides the differential test.
. "$project/scripts/rocksdb_crates.sh"
. "$project/scripts/check/tested_build.sh"

readonly provided=9.10.0

minutes=30 wanted=()
parse_options '--minutes=N|0' 'TREE|VERSION...' -- "$@"
known=$(printf '%s\n' $provided "${!rocksdb_crates[@]}" | sort -V | paste -sd' ')
for argument in "${arguments[@]}"; do
  if [ -f "$argument/include/rocksdb/version.h" ]; then
    wanted+=("$(realpath "$argument")")
  elif [[ " $known " = *" $argument "* ]]; then
    wanted+=("$argument")
  else
    die "'$argument' is neither a RocksDB source tree nor a version that can be fetched ($known)"
  fi
done
[ ${#wanted[@]} -gt 0 ] || wanted=($provided "${tested_crates[@]}")

cache=$(cache_folder)

# ---- Source trees ----

install_packages
# All trees are fetched first, so that none is missing in the middle of the night. The build provides 9.10.0 itself.
trees=()
for name in "${wanted[@]}"; do
  if [ -d "$name" ] || [ "$name" = $provided ]; then
    trees+=("$name")
  else
    fetch_rocksdb_crate "$name" "$cache/rocksdb-$name" "name a source tree of that version: scripts/check.sh versions DIR"
    trees+=("$cache/rocksdb-$name")
  fi
done

# ---- One version ----

# Results of the current version, for the table.
runs="" time="" seed=""
# Runs that fail without Protean, too.
stock_failures=()

# Prints the assertion that fails in the log $1; nothing if none fails.
failed_assertion() {
  grep -m 1 -o 'Assertion `.*' "$1" || true
}

run_differential_test() {
  local log=$work/differential.log control=$work/control.log next crashed assertion start=$SECONDS left=$((minutes * 60))
  # Each run has the seed that follows the one before.
  seed=$(random_seed 6)
  next=$seed runs=0
  say "$subject: differential test, $minutes minutes from seed $seed on (log: $log)"
  while [ $left -gt 0 ] && ! "$work/differential_test" "--seed=$next" "--seconds=$left" >"$log" 2>&1; do
    # An assertion that fails in the same run of two stock DBs as well is RocksDB's own: the test goes on behind that run.
    crashed=$(sed -nE 's/^crashed or hung: .*--seed=([0-9]+).*/\1/p' "$log")
    assertion=$(failed_assertion "$log")
    if [ -z "$crashed" ] || [ -z "$assertion" ] ||
      "$work/differential_test" --control "--seed=$crashed" --runs=1 >"$control" 2>&1 ||
      [ "$(failed_assertion "$control")" != "$assertion" ]; then
      tail -n 60 "$log" >&2
      fails "the differential test fails" "$log"
      break
    fi
    stock_failures+=("$subject: differential_test --control --seed=$crashed --runs=1: $assertion")
    say "${stock_failures[-1]}"
    runs=$((runs + crashed - next))
    next=$((crashed + 1)) left=$((minutes * 60 - (SECONDS - start)))
  done
  runs=$((runs + $(sed -nE 's/^([0-9]+) runs in .*/\1/p' "$log" | grep . || echo 0)))
  time="$((SECONDS - start)) s"
}

table=$(printf '%-10s %8s %8s %14s %10s   %s' RocksDB "passed" "failed" "random runs" time "first seed")
test_version() {
  local tree=$1 version=$1 arguments=(-DPROTEAN_ASSERTIONS=ON)
  passed=- failed=- runs=- time=- seed=-
  if [ "$tree" != $provided ]; then
    version=$(rocksdb_version "$tree")
    arguments+=("-DPROTEAN_ROCKSDB_SOURCE=$tree")
  fi
  subject="RocksDB $version"
  work=$cache/matrix-$version-$(echo "$project $tree" | sha256sum | cut -c1-8)
  mkdir -p "$work"
  lock "$work/.lock" "another run in $work"
  say "$subject: building with assertions in $work"
  if build "${arguments[@]}"; then
    run_tests
    [ "$minutes" = 0 ] || run_differential_test
  fi
  table+=$(printf '\n%-10s %8s %8s %14s %10s   %s' "$version" "$passed" "$failed" "$runs" "$time" "$seed")
}

for tree in "${trees[@]}"; do
  test_version "$tree"
done

echo "$table"
[ ${#stock_failures[@]} = 0 ] || printf '%s\n' "stock RocksDB fails by itself:" "${stock_failures[@]/#/  }"
[ ${#failures[@]} = 0 ] || die "$(printf '%s\n' "${#failures[@]} failed:" "${failures[@]/#/  }")"
