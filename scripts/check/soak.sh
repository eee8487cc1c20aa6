# SPDX-License-Identifier: Apache-2.0
# Soaks Protean: runs the differential test, the fault tests and RocksDB's stress test in turn, each time with new seeds. A
# failure is reported with the command that repeats it, and the next turn goes on. At the end, or when the script is
# interrupted, it prints a summary that can be pasted into a report.
#
#   scripts/check.sh soak [--minutes=N] [--turn=N] [--parts=LIST]
#
#   --minutes=N    time in all, not counting the builds; default: 60
#   --turn=N       minutes of each part in its turn; default: 10
#   --parts=LIST   separated by commas; default: differential,read_faults,write_faults,kill,stress
#
# The tests are built in build/ by scripts/setup.sh; stress is scripts/check.sh stress, which has a build of its own, with
# RocksDB's assertions. Files of tests go to TEST_TMPDIR, by default to memory.

known_parts=(differential read_faults write_faults kill stress)
minutes=60 turn=10 parts=("${known_parts[@]}")
parse_options --minutes=N --turn=N --parts=PART,... -- "$@"
for part in "${parts[@]}"; do
  [[ " ${known_parts[*]} " = *" $part "* ]] || die "unknown part '$part'; known: ${known_parts[*]}"
done

cd "$project"
targets=()
for part in "${parts[@]}"; do
  [ "$part" = stress ] || targets+=("${part}_test")
done
if [ ${#targets[@]} -gt 0 ]; then
  scripts/setup.sh "--targets=$(IFS=, && echo "${targets[*]}")"
fi
work=$(cache_folder)/soak-$(date +%Y%m%d-%H%M%S)-$$
mkdir -p "$work"
# Copies that no later build touches.
for target in "${targets[@]}"; do cp "build/$target" "$work"; done

# ---- A turn ----

# Sums by the name of the part.
declare -A turns runs seconds injected
failures=() seeds=() pid=""
# $1: the part; $2: how long, in seconds.
take_turn() {
  local part=$1 length=$2 start=$SECONDS code=0 seed log command
  seed=$(random_seed 3)
  log=$work/$part-$seed.log
  case $part in
    differential) command=("$work/differential_test" "--seed=$seed" "--seconds=$length") ;;
    stress) command=(scripts/check.sh stress "--seconds=$length" "--seed=$seed") ;;
    *) command=("$work/${part}_test" "--gtest_filter=*.Random" "--seed=$seed" "--seconds=$length") ;;
  esac
  say "$part, seed $seed, $length s (log: $log)"
  "${command[@]}" >"$log" 2>&1 &
  pid=$!
  wait $pid || code=$?
  pid=""
  turns[$part]=$((${turns[$part]:-0} + 1))
  seconds[$part]=$((${seconds[$part]:-0} + SECONDS - start))
  # Tests print this line last; the stress test has it below its table.
  runs[$part]=$((${runs[$part]:-0} + $(sed -nE 's/(^|.*: )([0-9]+) runs[ ,].*/\2/p' "$log" | tail -n 1 | grep . || echo 0)))
  injected[$part]=$((${injected[$part]:-0} + $(awk -F'|' 'NF > 4 && $4 + 0 > 0 { n += $4 } END { print n + 0 }' "$log")))
  seeds+=("$part: $seed")
  if [ $code != 0 ]; then
    failures+=("$part, seed $seed, exit code $code: ${command[*]}; log: $log")
    say "FAILED: ${failures[-1]}"
    grep -E -m 5 'Failure|wrong answer|DIFFERENCE|crashed|reproduce|FAILED' "$log" >&2 || true
  fi
}

# ---- All turns ----

summarize() {
  echo "Protean $(git describe --always --dirty 2>/dev/null || echo of an unknown version)," \
    "$(nproc) cores, $(uname -sm), $((SECONDS / 60)) minutes"
  printf '%-14s %6s %10s %10s %16s\n' part turns runs minutes "faults injected"
  local part
  for part in "${parts[@]}"; do
    printf '%-14s %6d %10d %10d %16d\n' "$part" "${turns[$part]:-0}" "${runs[$part]:-0}" "$((${seconds[$part]:-0} / 60))" \
      "${injected[$part]:-0}"
  done
  echo "first seeds: $(printf '%s; ' "${seeds[@]}")"
  [ ${#failures[@]} = 0 ] || printf '%s\n' "${failures[@]}"
  echo "${#failures[@]} failures"
}
interrupted() {
  trap - INT TERM
  [ -z "$pid" ] || { kill "$pid"; wait "$pid" || true; }
  say "interrupted"
  summarize
  exit 130
}
trap interrupted INT TERM

start=$SECONDS
while [ $((SECONDS - start)) -lt $((minutes * 60)) ]; do
  for part in "${parts[@]}"; do
    left=$((minutes * 60 - (SECONDS - start)))
    [ $left -gt 0 ] || break
    take_turn "$part" $((left < turn * 60 ? left : turn * 60))
  done
done
summarize
[ ${#failures[@]} = 0 ] || exit 1
