#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds RocksDB's own db_bench with Protean in it, and runs it with the OPTIONS files of docs/examples/db_bench:
# Gets of absent keys, seeks with and without a bound, and time series, each for RocksDB's Bloom filter and for Protean's.
# Prints a table and draws a picture, in build/db_bench_run/, where the outputs of db_bench are kept, too. Command lines are
# printed as they are run.
#
#   scripts/db_bench.sh [--reads=N]
#
#   --reads=N   number of reads of each kind; default: 20000
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

reads=20000
parse_options --reads=N -- "$@"
cd "$project"
scripts/setup.sh --targets=db_bench,protean_tool

out=build/db_bench_run
rm -rf "$out"
mkdir -p "$out/options"
cp docs/examples/db_bench/*.ini "$out/options/"
# The filters of a second run learn from the reads of a first one.
for db in numbers series; do
  sed "s,filter_policy=.*,filter_policy={id=protean.Proteus;bits_per_key=12;samples_file=$PWD/$out/$db.samples}," \
    docs/examples/db_bench/proteus12.ini >"$out/options/proteus12_taught.$db.ini"
done
if ! has_direct_reads "$out"; then
  say "this file system has no direct reads: blocks are counted all the same, but times are those of the page cache"
  sed -i '/use_direct/d' "$out"/options/*.ini
fi

# The keys are a billion numbers, of which a million are stored. In `series`, the number is a time, and the key begins with
# the sensor that it belongs to, number modulo 10,000: each sensor has 100,000 points of time, and a record at one in a
# thousand.
readonly numbers=(--num=1000000000 --cache_size=8388608)
readonly series=("${numbers[@]}" --prefix_size=8 --keys_per_prefix=100000)

# Runs db_bench with the arguments after the first one, and keeps its output. $1: the name of the output.
bench() {
  local said=$out/$1.txt
  shift
  echo "+ build/db_bench $*" >&2
  build/db_bench "$@" >"$said" 2>"$said.err" || { tail -n 5 "$said" "$said.err" >&2; die "db_bench failed; see $said"; }
  rm -f "$said.err"
}

# Fills a DB with three sorted runs: 700,000 records on the last level, and two files of 200,000 and 100,000 on level 0. No
# compaction is left to do, so the tree is the same for each filter. $1: the filter; $2: the OPTIONS file; the others: flags
# of the keys.
load() {
  local to=(--db="$db" --options_file="$2" --value_size=100 --disable_wal "${@:3}")
  bench "$1.load1" "${to[@]}" --benchmarks=fillrandom,flush,compact --writes=700000 --seed=1
  bench "$1.load2" "${to[@]}" --use_existing_db --benchmarks=overwrite,flush --writes=200000 --seed=2
  bench "$1.load3" "${to[@]}" --use_existing_db --benchmarks=overwrite,flush,levelstats --writes=100000 --seed=3
  build/protean inspect --db="$db" --levels_only --json >"$out/$1.inspect.txt"
}

# $1: the filter; $2: the OPTIONS file; $3: the seed of the reads.
read_numbers() {
  local from=(--db="$db" --options_file="$2" --use_existing_db --statistics --reads="$reads" --seed="$3" "${numbers[@]}")
  bench "$1.get" "${from[@]}" --benchmarks=readrandom
  bench "$1.closed10" "${from[@]}" --benchmarks=seekrandom --max_scan_distance=10
  bench "$1.closed1000" "${from[@]}" --benchmarks=seekrandom --max_scan_distance=1000
  bench "$1.open" "${from[@]}" --benchmarks=seekrandom
  bench "$1.scan10" "${from[@]}" --benchmarks=seekrandom --seek_nexts=10
}

# Reads time series; the next point of time of a sensor is a number 10,000 higher. The arguments are those of read_numbers.
read_series() {
  local from=(--db="$db" --options_file="$2" --use_existing_db --statistics --reads="$reads" --seed="$3" "${series[@]}")
  bench "$1.window10" "${from[@]}" --benchmarks=seekrandom --max_scan_distance=100000
  bench "$1.next" "${from[@]}" --benchmarks=seekrandom
}

# Runs db_bench's own time series: one thread writes, and another one asks for all records of a source, without a bound.
run_timeseries() {
  bench "$1.timeseries" --db="$db" --options_file="$2" --benchmarks=timeseries --threads=2 --writes=1500000 \
    --key_id_range=2000000 --value_size=100 --disable_wal --benchmark_write_rate_limit=20000000 \
    --benchmark_read_rate_limit=2000 --perf_level=2 --statistics --seed=5 --cache_size=8388608
}

db=$out/db
say "running db_bench, about 4 minutes"
for filter in bloom12 bloom12_first_key surf04 proteus12; do
  options=$out/options/$filter.ini
  load $filter.numbers "$options" "${numbers[@]}"
  read_numbers $filter "$options" 4
  load $filter.series "$options" "${series[@]}"
  read_series $filter "$options" 4
  run_timeseries $filter "$options"
done
filter=proteus12_taught
for kind in numbers series; do
  options=$out/options/$filter.$kind.ini
  declare -n flags=$kind
  load teacher.$kind "$options" "${flags[@]}"
  read_$kind teacher "$options" 14
  load $filter.$kind "$options" "${flags[@]}"
  read_$kind $filter "$options" 4
done
rm -rf "$db"
/usr/bin/python3 scripts/plot_db_bench.py "$out"
