#!/usr/bin/env bash
# RocksDB's stress test, tools/db_crashtest.py with db_stress, with ProteanTable as everybody's default and RocksDB's
# assertions on: DBs are written, read, checked against what they should hold, killed, and opened again, with options
# drawn at random. A run is one mode of RocksDB's crash_test.mk with one filter policy and one seed. At the end, a
# table.
#
#   scripts/stress.sh [--minutes=N|--seconds=N] [--sanitizer=asan|ubsan|tsan] [--source=TREE] [--seed=N] [--modes=LIST]
#                     [--policies=LIST]
#
#   --minutes=N        for so long in all, besides the build, in runs of 3 to 15 minutes; default: 60
#   --seconds=N        instead of minutes: a single run is repeated as it was
#   --sanitizer=NAME   a build with this sanitizer
#   --source=TREE      a RocksDB source tree instead of the one that provision_rocksdb.sh provides; it is copied
#   --seed=N           the seed of the first run; the next one has the next; default: a random one
#   --modes=LIST       separated by commas; default: all, in an order that depends on the seed
#   --policies=LIST    likewise: surf, proteus, levels, and stock, which is without Protean; default: all but stock
#
# A run that fails leaves its DB behind, and is told with the command that repeats it. The build and the logs are kept
# in $PROTEAN_CACHE (default: protean in the user's cache folder).
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
. "$(dirname "${BASH_SOURCE[0]}")/injected_tree.sh"

# What crash_test.mk runs, by the names of its targets without "crash_test".
modes=(blackbox blackbox_simple blackbox_with_atomic_flush blackbox_with_wc_txn blackbox_with_wp_txn
  blackbox_with_wup_txn blackbox_with_optimistic_txn blackbox_with_best_efforts_recovery blackbox_with_ts
  blackbox_with_multiops_wc_txn blackbox_with_multiops_wp_txn blackbox_with_tiered_storage
  whitebox whitebox_simple whitebox_with_atomic_flush whitebox_with_wc_txn whitebox_with_wp_txn whitebox_with_wup_txn
  whitebox_with_optimistic_txn whitebox_with_ts whitebox_with_tiered_storage)

# What db_crashtest.py would draw at random, and is fixed here.
excluded=(
  # The injected factory leaves RocksDB's filters alone where they are partitioned, so nothing of Protean would be tested.
  --partition_filters=0
  # An option of RocksDB's Ribbon filters, which db_stress would change in the open DB. The policy is another one here.
  # This value says that there is none.
  --bloom_before_level=2147483647
  # How often the log tells what filters did, which is counted.
  --stats_dump_period_sec=5)
# One of these, by the seed. RocksDB draws 100000 or 25 million, and compares as many keys of each column family whenever
# the DB is opened: too long for runs of minutes.
readonly max_keys=(100000 2500000)
# $1: the version of RocksDB.
exclude_for_version() {
  case $1 in
    # RocksDB itself writes out of bounds with it, without Protean too.
    11.*) excluded+=(--min_tombstones_for_range_conversion=0) ;;
  esac
}

length=3600 sanitizer="" source="" seed="" wanted_modes="" wanted_policies=surf,proteus,levels
for arg in "$@"; do
  case $arg in
    --minutes=*)
      [[ ${arg#*=} =~ ^[1-9][0-9]*$ ]] || die "--minutes wants a number of minutes, not '${arg#*=}'"
      length=$((${arg#*=} * 60))
      ;;
    --seconds=*)
      [[ ${arg#*=} =~ ^[1-9][0-9]*$ ]] || die "--seconds wants a number of seconds, not '${arg#*=}'"
      length=${arg#*=}
      ;;
    --sanitizer=*) sanitizer=${arg#--sanitizer=} ;;
    --source=*) source=${arg#--source=} ;;
    --seed=*) seed=${arg#--seed=} ;;
    --modes=*) wanted_modes=${arg#--modes=} ;;
    --policies=*) wanted_policies=${arg#--policies=} ;;
    *)
      die "unknown argument '$arg'; known: --minutes=N --seconds=N --sanitizer=NAME --source=TREE --seed=N --modes=LIST" \
        "--policies=LIST"
      ;;
  esac
done
[ -n "$seed" ] || seed=$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')
[[ $seed =~ ^[0-9]{1,9}$ ]] || die "--seed wants a number of up to 9 digits, not '$seed'"
seed=$((10#$seed))

# The policies, with a samples file where they sample: $1, the policy; $2, the folder of the run.
policy_text() {
  local proteus="{id=protean.Proteus;bits_per_key=12;sample_every=1;samples_file=$2/samples}"
  case $1 in
    surf) echo "${injected_policies[surf]}" ;;
    proteus) echo "$proteus" ;;
    levels) echo "{id=protean.Levels;policies={surf:0:8,bloomfilter:10,$proteus}}" ;;
  esac
}
IFS=, read -r -a policies <<<"$wanted_policies"
for policy in "${policies[@]}"; do
  [[ " surf proteus levels stock " = *" $policy "* ]] ||
    die "unknown policy '$policy'; known: surf proteus levels stock"
done

provide_injected_tree "$source"
exclude_for_version "$version"
# What older scripts ask for besides in multiops modes, and what only newer ones have.
wc=() wp=()
if grep -q '"--write_policy"' "$tree/tools/db_crashtest.py"; then
  wc=(--write_policy=write_committed) wp=(--write_policy=write_prepared)
else
  modes+=(blackbox_with_multiops_wup_txn)
fi
if [ -n "$wanted_modes" ]; then
  known=" ${modes[*]} "
  IFS=, read -r -a modes <<<"$wanted_modes"
  for mode in "${modes[@]}"; do
    [[ $known = *" $mode "* ]] || die "unknown mode '$mode'; known with RocksDB $version:$known"
  done
fi
build_injected_tree db_stress

allow_many_files

# A folder of its own, with programs that no later build touches.
here=$work/stress-$(date +%Y%m%d-%H%M%S)-$$
mkdir -p "$here/bin"
cp "$build/db_stress_tool/db_stress" "$here/bin"
cp -L "$build"/librocksdb.so.[0-9]* "$here/bin"
export LD_LIBRARY_PATH=$here/bin${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
if [ "$sanitizer" = tsan ] && [ -f "$tree/tools/tsan_suppressions.txt" ]; then
  export TSAN_OPTIONS=suppressions=$tree/tools/tsan_suppressions.txt${TSAN_OPTIONS:+:$TSAN_OPTIONS}
fi

# ---- One run ----

# $1: the mode. Sets `arguments` as crash_test.mk does.
arguments_of() {
  arguments=("${1%%_*}")
  case $1 in
    *_simple) arguments+=(--simple) ;;
    *_atomic_flush) arguments+=(--cf_consistency) ;;
    *_multiops_*)
      arguments+=(--test_multiops_txn)
      case $1 in
        *_wc_txn) arguments+=(--txn_write_policy=0 "${wc[@]}") ;;
        *_wp_txn) arguments+=(--txn_write_policy=1 "${wp[@]}") ;;
        *_wup_txn) arguments+=(--txn_write_policy=2) ;;
      esac
      ;;
    *_wc_txn) arguments+=(--txn --txn_write_policy=0) ;;
    *_wp_txn) arguments+=(--txn --txn_write_policy=1) ;;
    # Without Protean, too, a write to the WAL that fails may leave a write there that db_stress takes for undone.
    *_wup_txn) arguments+=(--txn --txn_write_policy=2 --exclude_wal_from_write_fault_injection=1) ;;
    *_optimistic_txn) arguments+=(--optimistic_txn) ;;
    *_best_efforts_recovery) arguments+=(--test_best_efforts_recovery) ;;
    *_ts) arguments+=(--enable_ts) ;;
    *_tiered_storage) arguments+=(--test_tiered_storage) ;;
  esac
}

# A number of the result file $1, by its name $2; 0 if it is not there.
number_of() {
  grep -oE "\"$2\": [0-9]+" "$1" 2>/dev/null | grep -oE '[0-9]+$' || echo 0
}

failures=() launches=0 kills=0 injected=0 idle=0 built=0 asked=0 denied=0 pid="" folder=""
readonly row='%-38s %-7s %9s %7s %8s %5s %7s %7s %7s %10s %10s  %s'
table=$(printf "$row" mode policy seed seconds launches kills filters designs taught asked denied result)
# $1: the mode; $2: the policy; $3: seconds.
run() {
  local mode=$1 policy=$2 seconds=$3 log result=passed arguments code=0 number numbers=()
  folder=$here/$seed-$mode-$policy log=$folder.log
  mkdir -p "$folder/db"
  arguments_of "$mode"
  # Kills come more often than in a run of hours.
  case $mode in
    blackbox*) arguments+=("--interval=$((seconds < 200 ? 40 : seconds < 600 ? seconds / 5 : 120))") ;;
    whitebox*) arguments+=(--random_kill_odd=88887 --ops_per_thread=20000) ;;
  esac
  arguments+=("--stress_cmd=$here/bin/db_stress" "--duration=$seconds" "--seed=$seed"
    "--max_key=${max_keys[seed % 2]}" "${excluded[@]}")
  local environment=("TEST_TMPDIR=$folder/db")
  [ "$policy" = stock ] || environment+=("PROTEAN_INJECT=$(policy_text "$policy" "$folder")")
  say "$mode, $policy, seed $seed, $seconds s (log: $log)"
  echo "${environment[*]@Q} python3 $project/scripts/crash_test.py $tree/tools/db_crashtest.py $seed $folder.json" \
    "${arguments[*]@Q}" >"$log"
  env "${environment[@]}" python3 -u "$project/scripts/crash_test.py" "$tree/tools/db_crashtest.py" "$seed" \
    "$folder.json" "${arguments[@]}" >>"$log" 2>&1 &
  pid=$!
  wait $pid || code=$?
  pid=""
  for number in seconds launches kills built designs taught asked denied; do
    numbers+=("$(number_of "$folder.json" $number)")
  done
  if [ $code != 0 ]; then
    result=FAILED
    failures+=("$mode, $policy, seed $seed: log $log, DB $folder/db; again:
    $0 --seconds=$seconds --modes=$mode --policies=$policy --seed=$seed${source:+ --source=$source}\
${sanitizer:+ --sanitizer=$sanitizer}")
    say "FAILED: ${failures[-1]}"
    { grep -E 'Verification failed|Assertion|ERROR:|overlooked|runtime error|WARNING: ThreadSanitizer' "$log" ||
      grep . "$log"; } | tail -n 5 | cut -c1-300 >&2 || true
  else
    rm -rf "${folder:?}"
  fi
  launches=$((launches + numbers[1])) kills=$((kills + numbers[2]))
  if [ "$policy" != stock ]; then
    injected=$((injected + 1))
    # Where kills come before db_stress has done much.
    if [ $result = passed ] && { [ "${numbers[3]}" = 0 ] || [ "${numbers[6]}" = 0 ]; }; then
      result=idle idle=$((idle + 1))
    fi
    built=$((built + numbers[3])) asked=$((asked + numbers[6])) denied=$((denied + numbers[7]))
  fi
  table+=$(printf "\n$row" "$mode" "$policy" "$seed" "${numbers[@]}" $result)
}

# ---- All runs ----

start=$SECONDS
finish() {
  echo "$table"
  [ ${#failures[@]} != 0 ] || rm -rf "${here:?}/bin"
  if [ $injected != 0 ] && [ $idle = $injected ]; then
    failures+=("in no run, Protean has built filters that were asked: nothing has been tested")
  fi
  [ ${#failures[@]} = 0 ] || printf '%s\n' "${failures[@]}"
  echo "RocksDB $version${sanitizer:+ with $sanitizer}: $runs runs ($idle of them idle), $launches launches of db_stress," \
    "$kills kills, $(((SECONDS - start) / 60)) minutes, $built filters built, asked $asked times, denied $denied:" \
    "${#failures[@]} failures"
  [ ${#failures[@]} = 0 ] || exit 1
}
interrupted() {
  trap - INT TERM
  say "interrupted"
  [ -z "$pid" ] || { kill "$pid"; wait "$pid" || true; rm -rf "${folder:?}"; }
  finish
  exit 130
}
trap interrupted INT TERM

runs=0
all=()
for policy in "${policies[@]}"; do
  for mode in "${modes[@]}"; do all+=("$mode $policy"); done
done
mapfile -t all < <(python3 -c 'import random, sys
all = sys.argv[2:]
random.Random(int(sys.argv[1])).shuffle(all)
print(*all, sep="\n")' "$seed" "${all[@]}")
each=$((length / ${#all[@]}))
each=$((each < 180 ? 180 : each > 900 ? 900 : each))
say "${#all[@]} modes with policies, $each s each, in $here"
while [ $((SECONDS - start)) -lt $length ]; do
  left=$((length - (SECONDS - start)))
  read -r mode policy <<<"${all[runs % ${#all[@]}]}"
  run "$mode" "$policy" $((left < each ? (left < 60 ? 60 : left) : each))
  runs=$((runs + 1)) seed=$((seed + 1))
done
finish
