#!/usr/bin/env bash
# Sets up, builds, and runs the time-series workload of the SuRF paper (section 6) on a real RocksDB, once for each
# filter. Prints the table, and draws from this run, in build/demo/, the picture of the README and the paper's figures 12
# and 13. Arguments go to protean_bench, such as --num=1000000 or --filters=bloom:14,surf:0:8.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
scripts/setup.sh --targets=protean_bench

out=build/demo
mkdir -p "$out"
# Reads past the page cache, which would hide what they cost. A file system that cannot do so gets slower reads instead.
reads=--direct_reads
if ! { head -c 4096 /dev/zero >"$out/probe" && dd if="$out/probe" of=/dev/null bs=4096 iflag=direct; } 2>/dev/null; then
  say "this file system has no direct reads: each read is delayed by 100 us instead"
  reads=--read_latency_us=100
fi
rm -f "$out/probe"

say "running the time-series workload, about 3 minutes"
# Stock RocksDB's best for seeks is an index of the blocks' first keys.
filters=none,bloom:14,bloom:14+first_key,surf:0:4,surf:4:0,proteus:12,proteus:14,oracle
build/protean_bench --workload=timeseries --filters=$filters --num=400000 --queries=25000 "$reads" --db="$out" \
  --json_file="$out/timeseries.jsonl" "$@" | tee "$out/timeseries.txt"
/usr/bin/python3 scripts/plot_timeseries.py "$out/timeseries.jsonl" "$out"
