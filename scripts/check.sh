#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Looks for faults in Protean, in one of several ways:
#
#   scripts/check.sh stress      RocksDB's stress test with Protean's filters, with RocksDB's assertions or sanitizers
#   scripts/check.sh upstream    RocksDB's own test suites with ProteanTable, and without
#   scripts/check.sh versions    the tests, and random operations, with several versions of RocksDB
#   scripts/check.sh sanitize    the tests under sanitizers
#   scripts/check.sh coverage    the lines that the tests execute
#   scripts/check.sh fuzz        damaged bytes and text, and keys that are built into filters
#   scripts/check.sh monitoring  the dashboard and the alert rules, with a Prometheus server
#   scripts/check.sh soak        the random tests and the stress test in turn, for any length of time
#
#   scripts/check.sh MODE --help   prints the options of a mode
#
# docs/internals/torture.md describes the modes, docs/results/torture.md what they have found. Builds and logs are kept in $PROTEAN_CACHE
# (default: protean in the user's cache folder). PROTEAN_JOBS is the number of compilers and tests that run at once (default:
# one for each core).
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"

mode=${1:---help}
case $mode in
  coverage | fuzz | monitoring | sanitize | soak | stress | upstream | versions)
    shift
    script=$mode
    . "$project/scripts/check/$mode.sh"
    ;;
  --help) parse_options -- --help ;;
  *) die "unknown mode '$mode'; known: stress upstream versions sanitize coverage fuzz monitoring soak --help" ;;
esac
