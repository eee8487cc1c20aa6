#!/usr/bin/env bash
# Builds Protean with several versions of RocksDB, each with RocksDB's assertions on, and with each of them passes all tests and
# runs the differential test on new seeds. At the end, a table says what has come of it. Where an assertion fails in the
# differential test, and in the same run of two stock DBs too, that is listed, and the test goes on behind it.
#
#   scripts/version_matrix.sh [--minutes=N] [TREE|VERSION ...]
#
#   --minutes=N     run the differential test so long with each version; default: 30; 0: not at all
#   TREE|VERSION    RocksDB source trees, or versions out of 9.10.0, 10.4.2 and 11.8.1; default: these three versions
#
# 9.10.0 comes from where scripts/provision_rocksdb.sh gets it, the others from the Rust crates that carry them, by cargo.
# Trees, builds and logs are kept in $PROTEAN_CACHE (default: protean in the user's cache folder), 1 GB a version. With each
# version, the first time takes about 20 minutes on 2 cores besides the differential test. PROTEAN_JOBS says how many
# compilers and tests run at once.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
. "$(dirname "${BASH_SOURCE[0]}")/rocksdb_crates.sh"
. "$(dirname "${BASH_SOURCE[0]}")/tested_build.sh"

readonly provided=9.10.0
readonly known="$provided 10.4.2 11.8.1"

minutes=30 wanted=()
for arg in "$@"; do
  case $arg in
    --minutes=*)
      minutes=${arg#--minutes=}
      [[ $minutes =~ ^[0-9]+$ ]] || die "--minutes wants a number of minutes, not '$minutes'"
      ;;
    -*) die "unknown argument '$arg'; known: --minutes=N, and RocksDB source trees or versions ($known)" ;;
    *)
      if [ -f "$arg/include/rocksdb/version.h" ]; then
        wanted+=("$(realpath "$arg")")
      elif [[ " $known " = *" $arg "* ]]; then
        wanted+=("$arg")
      else
        die "'$arg' is neither a RocksDB source tree nor a version that can be fetched ($known)"
      fi
      ;;
  esac
done
[ ${#wanted[@]} -gt 0 ] || read -r -a wanted <<<"$known"

cache=$(cache_folder)

# ---- Source trees ----

# All of them first, so that none is missing in the middle of the night. What is provided is left to the build.
trees=()
for name in "${wanted[@]}"; do
  if [ -d "$name" ] || [ "$name" = $provided ]; then
    trees+=("$name")
  else
    fetch_rocksdb_crate "$name" "$cache/rocksdb-$name" "name a source tree of that version: scripts/version_matrix.sh DIR"
    trees+=("$cache/rocksdb-$name")
  fi
done

# ---- One version ----

# What has come of the version at hand, for the table.
runs="" time="" seed=""
# Where RocksDB fails without Protean.
stock_failures=()

# The line on which an assertion fails, in the log $1; empty if none does.
failed_assertion() {
  grep -m 1 -o 'Assertion `.*' "$1" || true
}

run_differential_test() {
  local log=$work/differential.log control=$work/control.log next crashed assertion start=$SECONDS left=$((minutes * 60))
  # Each run has the seed after that of the one before.
  seed=$(od -An -N6 -tu8 /dev/urandom | tr -d ' ')
  next=$seed runs=0
  say "$subject: differential test, $minutes minutes from seed $seed on (log: $log)"
  while [ $left -gt 0 ] && ! "$work/differential_test" "--seed=$next" "--seconds=$left" >"$log" 2>&1; do
    # An assertion that fails in the same run of two stock DBs as well is RocksDB's own affair: the test goes on behind it.
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
