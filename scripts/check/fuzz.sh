# SPDX-License-Identifier: Apache-2.0
# Fuzzes what reads bytes and text that may be damaged, and what builds filters: one target after the other.
# tests/fuzz/fuzz_input.h describes the targets, docs/results/torture.md their results.
#
#   scripts/check.sh fuzz [--minutes=N] [--target=NAME]... [--jobs=N] [--sanitizer=address|none] [--source=DIR]
#
#   --minutes=N          time of all targets together; default: 7
#   --target=NAME        only this target; may be repeated
#   --jobs=N             processes at once; default: 1
#   --sanitizer=address  with ASan and UBSan, the default
#   --sanitizer=none     without them, and without tracing comparisons, which is faster: for numbers
#   --source=DIR         a RocksDB source tree instead of the one that provision_rocksdb.sh provides
#
# Needs clang, which CXX may name, and compiles RocksDB with it the first time (4 to 10 minutes). $PROTEAN_CACHE/fuzz keeps:
#
#   corpus/TARGET      inputs that reach something new; a run goes on where the last one has ended
#   findings/TARGET    inputs that have failed; `build/corpus_test` replays those that are copied to tests/fuzz/corpus/TARGET
#   executions.tsv     a line for each target of each run: when, commit, target, sanitizer, seconds, executions
#   TARGET.N.log       output of process N in the last run of a target

minutes=7 jobs=1 sanitizer=address source="" target=()
parse_options --minutes=N --target=NAME... --jobs=N '--sanitizer=address|none' --source=DIR -- "$@"
sanitizers=""
[ "$sanitizer" = none ] || sanitizers=address,undefined
[ -z "$source" ] || source=$(realpath "$source")

all=()
for corpus in "$project"/tests/fuzz/corpus/*; do
  all+=("$(basename "$corpus")")
done
targets=("${target[@]}")
[ ${#targets[@]} -gt 0 ] || targets=("${all[@]}")
for target in "${targets[@]}"; do
  [[ " ${all[*]} " == *" $target "* ]] || die "there is no target '$target'; known: ${all[*]}"
done

if [ -n "${CXX:-}" ]; then
  install_packages
else
  install_packages clang libclang-rt-dev
  CXX=clang++
fi
export CXX
command -v "$CXX" >/dev/null && "$CXX" --version | grep clang >/dev/null ||
  die "the fuzzers need clang, and CXX names '$CXX'"

# ---- Build ----

cache=$(cache_folder)
work=$cache/fuzz
mkdir -p "$work"
build=$cache/fuzz-build-$sanitizer-$(echo "$project $source" | sha256sum | cut -c1-8)
mkdir -p "$build"
lock "$build/.lock" "another run with --sanitizer=$sanitizer"
say "building the fuzzers in $build (log: $build/build.log)"
generator=()
[ -f "$build/CMakeCache.txt" ] || ! command -v ninja >/dev/null || generator=(-G Ninja)
if ! cmake -S "$project" -B "$build" "${generator[@]}" -DPROTEAN_FUZZ=ON "-DPROTEAN_FUZZ_SANITIZE=$sanitizers" \
  -DPROTEAN_SYSTEM_ROCKSDB=OFF "-DPROTEAN_ROCKSDB_SOURCE=$source" >"$build/build.log"; then
  tail -n 20 "$build/build.log" >&2
  die "the fuzzers do not configure; log: $build/build.log"
fi
cmake --build "$build" --parallel "$(job_count)" --target "${targets[@]/%/_fuzzer}" 2>&1 |
  tee -a "$build/build.log" | show_progress "building the fuzzers" ||
  { tail -n 30 "$build/build.log" >&2; die "the fuzzers do not build; log: $build/build.log"; }

# ---- Run ----

commit=$(git -C "$project" describe --always --dirty 2>/dev/null || echo unknown)
seconds=$((minutes * 60 / ${#targets[@]}))
[ $seconds -gt 0 ] || seconds=1
totals=$work/executions.tsv
[ -f "$totals" ] || printf 'when\tcommit\ttarget\tsanitizer\tseconds\texecutions\n' >"$totals"

# Prints the length of the longest input of target $1. Longer ones take more time, and find little more.
max_bytes() {
  case $1 in
    samples | options | *_build | design) echo 400 ;;
    cascade) echo 4080 ;; # a page
    cascade_run) echo 12000 ;; # three pages
    *) echo 1024 ;;
  esac
}

# Prints the last number after the words $1 in the log $2; 0 if there is none.
number_of() { sed -nE "s/^.*$1 *([0-9]+).*/\1/p" "$2" | tail -n 1 | grep . || echo 0; }

# An interrupted run still prints its results.
pids=() stopped=0
stop() {
  stopped=1
  [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
}
trap stop INT TERM

# Sets spent, executions, coverage, edges, corpus and findings of the target $1.
run_target() {
  local target=$1 fuzzer=$build/${1}_fuzzer job log options failed=0
  local corpus_folder=$work/corpus/$target findings_folder=$work/findings/$target seeds=$work/seeds
  mkdir -p "$corpus_folder" "$findings_folder" "$seeds"
  PROTEAN_FUZZ_SEEDS=$seeds "$fuzzer" >/dev/null || die "$fuzzer cannot write its seeds to $seeds"
  options=(-max_total_time=$seconds -max_len="$(max_bytes "$target")" -len_control=0 -timeout=10 -rss_limit_mb=3000
    -print_final_stats=1 -artifact_prefix="$findings_folder/")
  # Weighing inputs by the rarity of what they reach takes longer than running them, and so does looking each second for
  # the findings of other processes.
  [ "$sanitizer" != none ] || options+=(-entropic=0 -reload=0)
  [ ! -f "$seeds/$target.dict" ] || options+=(-dict="$seeds/$target.dict")
  local before start=$SECONDS
  before=$(find "$findings_folder" -type f | wc -l)
  for ((job = 1; job <= jobs; job++)); do
    log=$work/$target.$job.log
    "$fuzzer" "${options[@]}" "$corpus_folder" "$project/tests/fuzz/corpus/$target" "$seeds/$target" >"$log" 2>&1 &
    pids+=($!)
  done
  for job in "${pids[@]}"; do
    # A signal ends the wait, not the process.
    until wait "$job"; do kill -0 "$job" 2>/dev/null || { failed=1; break; }; done
  done
  pids=()
  spent=$((SECONDS - start)) executions=0 coverage="" edges=""
  for ((job = 1; job <= jobs; job++)); do
    log=$work/$target.$job.log
    executions=$((executions + $(number_of 'stat::number_of_executed_units:' "$log")))
    coverage=$(number_of ' cov:' "$log")
    edges=$(number_of 'INFO: Loaded [0-9]+ PC tables \(' "$log")
  done
  corpus=$(find "$corpus_folder" -type f | wc -l)
  findings=$(($(find "$findings_folder" -type f | wc -l) - before))
  printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$(date -u +%FT%TZ)" "$commit" "$target" "$sanitizer" "$spent" "$executions" >>"$totals"
  [ $failed = 0 ] || [ $findings -gt 0 ] || [ $stopped = 1 ] ||
    { tail -n 20 "$log" >&2; die "$target ended without a finding; log: $log"; }
  [ $executions -gt 0 ] || [ $stopped = 1 ] || die "$target has executed nothing; log: $log"
}

say "$(((seconds * ${#targets[@]} + 59) / 60)) minutes for ${targets[*]} at $commit"
printf '%-14s %14s %9s %15s %8s %9s\n' target executions exec/s 'edges reached' corpus findings
sum=0 found=0
for target in "${targets[@]}"; do
  [ $stopped = 0 ] || break
  run_target "$target"
  printf '%-14s %14d %9d %15s %8d %9d\n' "$target" "$executions" $((executions / (spent > 0 ? spent : 1))) \
    "$coverage of $edges" "$corpus" "$findings"
  if [ "$findings" -gt 0 ]; then
    grep -hE '^(violated|SUMMARY|==.*ERROR)|runtime error' "$work/$target".*.log | sort -u | head -n 10 >&2 || true
  fi
  sum=$((sum + executions)) found=$((found + findings))
done
in_all=$(awk -F '\t' 'NR > 1 { sum += $6 } END { printf "%d", sum }' "$totals")
say "$sum executions, $found new findings; $in_all executions in all runs ($totals)"
[ $found = 0 ] || die "$found new findings in $work/findings"
[ $stopped = 0 ] || die "interrupted"
say "passed: ${targets[*]}"
