# SPDX-License-Identifier: Apache-2.0
# Runs RocksDB's stress test, tools/db_crashtest.py with db_stress, with ProteanTable as the default table of all column
# families and RocksDB's assertions on: DBs are written, read, checked against what they should hold, killed, and opened
# again, with options drawn at random. A run is one mode of RocksDB's crash_test.mk with one filter policy and one seed. At
# the end, a table is printed.
#
#   scripts/check.sh stress [--minutes=N|--seconds=N] [--sanitizer=asan|ubsan|tsan] [--source=TREE] [--seed=N]
#                           [--modes=LIST] [--policies=LIST] [--partitions=always|never]
#
#   --minutes=N        time for all runs, each of 3 to 15 minutes, not counting the build; default: 60
#   --seconds=N        the same in seconds: a single run is repeated with it
#   --sanitizer=NAME   build with this sanitizer
#   --source=TREE      a RocksDB source tree instead of the one that provision_rocksdb.sh provides; it is copied
#   --seed=N           seed of the first run; each further run has the next one; default: a random seed
#   --modes=LIST       separated by commas; default: all, in an order that depends on the seed
#   --policies=LIST    out of surf, proteus, levels, and stock, which is without Protean; default: all but stock
#   --partitions=...   partitioned filters in all launches of db_stress, or in none; default: in all launches of every
#                      other run, which the seed chooses, and elsewhere in every sixth or so, or none of a simple mode
#
# A run that fails leaves its DB behind, and its message holds the command that repeats it.
. "$project/scripts/check/injected_tree.sh"

# The modes of crash_test.mk: the names of its targets without "crash_test".
known_modes=(blackbox blackbox_simple blackbox_with_atomic_flush blackbox_with_wc_txn blackbox_with_wp_txn
  blackbox_with_wup_txn blackbox_with_optimistic_txn blackbox_with_best_efforts_recovery blackbox_with_ts
  blackbox_with_multiops_wc_txn blackbox_with_multiops_wp_txn blackbox_with_tiered_storage
  whitebox whitebox_simple whitebox_with_atomic_flush whitebox_with_wc_txn whitebox_with_wp_txn whitebox_with_wup_txn
  whitebox_with_optimistic_txn whitebox_with_ts whitebox_with_tiered_storage)

# Options that db_crashtest.py would draw at random, fixed here.
excluded=(
  # db_stress would change this option of RocksDB's Ribbon filters in the open DB, but the policy is another one here. The
  # value says that there are no Ribbon filters.
  --bloom_before_level=2147483647
  # The log's lines about what filters did are counted.
  --stats_dump_period_sec=5)
# The seed chooses one of these. RocksDB draws 100000 or 25 million, and compares as many keys of each column family whenever
# the DB is opened: too long for runs of minutes.
readonly max_keys=(100000 2500000)
# $1: the version of RocksDB.
exclude_for_version() {
  case $1 in
    # With this option, RocksDB writes out of bounds, without Protean too.
    11.*) excluded+=(--min_tombstones_for_range_conversion=0) ;;
  esac
}

minutes=60 seconds="" sanitizer="" source="" seed="" partitions="" modes=() policies=(surf proteus levels)
parse_options --minutes=N --seconds=N '--sanitizer=asan|ubsan|tsan' --source=TREE '--seed=N|0' --modes=MODE,... \
  --policies=POLICY,... '--partitions=always|never' -- "$@"
length=${seconds:-$((minutes * 60))}
[ -n "$seed" ] || seed=$(random_seed 3)
[ ${#seed} -le 9 ] || die "--seed=$seed is not allowed; allowed: numbers of up to 9 digits"
seed=$((10#$seed))

# Adds to `arguments` the options for the filters' partitions, if these are not to be drawn for each launch of db_stress.
add_partitions() {
  case ${partitions:-$((seed / 2 % 2))} in
    always | 1) arguments+=(--partition_filters=1 --index_type=2) ;;
    never) arguments+=(--partition_filters=0) ;;
  esac
}

# Prints the text of a policy, with a samples file if it samples. $1: the policy; $2: the folder of the run.
policy_text() {
  local proteus="{id=protean.Proteus;bits_per_key=12;sample_every=1;samples_file=$2/samples}"
  case $1 in
    surf) echo "${injected_policies[surf]}" ;;
    proteus) echo "$proteus" ;;
    levels) echo "{id=protean.Levels;policies={surf:0:8,bloomfilter:10,$proteus}}" ;;
  esac
}
for policy in "${policies[@]}"; do
  [[ " surf proteus levels stock " = *" $policy "* ]] ||
    die "unknown policy '$policy'; known: surf proteus levels stock"
done

provide_injected_tree "$source"
exclude_for_version "$version"
# Older versions of db_crashtest.py want one more option in multiops modes, newer ones have one more mode.
wc=() wp=()
if grep -q '"--write_policy"' "$tree/tools/db_crashtest.py"; then
  wc=(--write_policy=write_committed) wp=(--write_policy=write_prepared)
else
  known_modes+=(blackbox_with_multiops_wup_txn)
fi
[ ${#modes[@]} -gt 0 ] || modes=("${known_modes[@]}")
for mode in "${modes[@]}"; do
  [[ " ${known_modes[*]} " = *" $mode "* ]] ||
    die "unknown mode '$mode'; known with RocksDB $version: ${known_modes[*]}"
done
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
    # Without Protean, too, a failed write to the WAL may leave data there that db_stress takes for undone.
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
  add_partitions
  local environment=("TEST_TMPDIR=$folder/db")
  [ "$policy" = stock ] || environment+=("PROTEAN_INJECT=$(policy_text "$policy" "$folder")")
  say "$mode, $policy, seed $seed, $seconds s (log: $log)"
  echo "${environment[*]@Q} python3 $project/scripts/check/crash_test.py $tree/tools/db_crashtest.py $seed $folder.json" \
    "${arguments[*]@Q}" >"$log"
  env "${environment[@]}" python3 -u "$project/scripts/check/crash_test.py" "$tree/tools/db_crashtest.py" "$seed" \
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
    $0 stress --seconds=$seconds --modes=$mode --policies=$policy --seed=$seed${source:+ --source=$source}\
${sanitizer:+ --sanitizer=$sanitizer}${partitions:+ --partitions=$partitions}")
    say "FAILED: ${failures[-1]}"
    { grep -E 'Verification failed|Assertion|ERROR:|overlooked|runtime error|WARNING: ThreadSanitizer' "$log" ||
      grep . "$log"; } | tail -n 5 | cut -c1-300 >&2 || true
  else
    rm -rf "${folder:?}"
  fi
  launches=$((launches + numbers[1])) kills=$((kills + numbers[2]))
  if [ "$policy" != stock ]; then
    injected=$((injected + 1))
    # Some kills come before db_stress has done much.
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
