#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Repeats the figures and tables of the papers that Protean was made from, and writes a page for each paper with the paper's
# numbers, Protean's, and what differs; and a table of all headline numbers into the README.md beside the pages.
#
#   scripts/paper_figures.sh [--scale=tiny|small|full] [--build-dir=DIR] [--out=DIR] [--timed] [--sizes=FILE] [PAPER...]
#
#   --scale      tiny: a test of all figures, within a minute; small: within half an hour; full: hours, and up to 20 GB of
#                memory and of disk; small
#   --build-dir  where the programs are; build
#   --out        folder of the pages and pictures; docs/results
#   --timed      only the sections whose numbers are times: run it when the machine is idle
#   --sizes      a file to which the measured bits per key of all filters are appended
#   PAPER        surf, proteus, hash_sharing, cascade (with the quotient filter); all of them
#
# /usr/bin/python3 scripts/PAPER_figures.py SECTION... makes single sections again.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

readonly papers=(surf proteus hash_sharing cascade)
scale=small build_dir=build out=docs/results timed= sizes=
parse_options '--scale=tiny|small|full' --build-dir=DIR --out=DIR --timed --sizes=FILE PAPER... -- "$@"
chosen=("${arguments[@]}")
cd "$project"
[ ${#chosen[@]} -gt 0 ] || chosen=("${papers[@]}")
for paper in "${chosen[@]}"; do
  [[ " ${papers[*]} " = *" $paper "* ]] || die "there is no paper $paper; allowed: ${papers[*]}"
done
for paper in "${chosen[@]}"; do
  /usr/bin/python3 "scripts/${paper}_figures.py" --scale="$scale" --build-dir="$build_dir" --out="$out" ${timed:+--timed} \
    ${sizes:+"--sizes=$sizes"}
done
