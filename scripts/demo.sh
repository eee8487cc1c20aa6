#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds, and runs the time-series workload of the SuRF paper (section 6) on a real RocksDB, once for each
# filter. Prints the table, and draws the picture of the README from this run: build/demo/timeseries.svg, for any browser.
# scripts/paper_figures.sh surf draws the paper's figures 12 and 13.
#
#   scripts/demo.sh [ARGUMENTS OF PROTEAN_BENCH...]    such as --num=1000000 or --filters=bloom:14,surf:0:8
#
# build/protean_bench --help lists the arguments, once this script or scripts/setup.sh has built it. With PROTEAN_BUILT=1 in the
# environment, as in the container, nothing is set up or built.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
parse_options ARGUMENTS... -- "$@"
cd "$project"
[ "${PROTEAN_BUILT:-0}" = 1 ] || scripts/setup.sh --targets=protean_bench

out=build/demo
mkdir -p "$out"
# Direct reads, since the page cache would hide what reads cost. A file system without them gets slower reads instead.
reads=--direct_reads
if ! has_direct_reads "$out"; then
  say "this file system has no direct reads: each read is delayed by 100 us instead"
  reads=--read_latency_us=100
fi

say "running the time-series workload, about 3 minutes"
# An index of the blocks' first keys is stock RocksDB's best for seeks of any length (docs/results/stock.md has its others).
filters=none,bloom:14,bloom:14+first_key,surf:0:4,surf:4:0,proteus:12,proteus:14,oracle
build/protean_bench --workload=timeseries --filters=$filters --num=400000 --queries=25000 "$reads" --db="$out" \
  --json_file="$out/timeseries.jsonl" "${arguments[@]}" | tee "$out/timeseries.txt"
/usr/bin/python3 scripts/plot_timeseries.py "$out/timeseries.jsonl" "$out"
