#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds, and shows whether the advice of the operator's command keeps its word. For each case, a DB of text keys is
# written under stock Bloom filters, a trace of its reads is recorded, and the commands that `protean advise` prints are run
# as they are. Then fresh reads of the same mix are counted. Prints a table: blocks for each kind of read, promised and real.
# Fails if they differ by more than 5 % and a hundredth of a block.
#
#   scripts/operator_table.sh [ARGUMENTS OF OPERATOR_TABLE.PY...]
#
#   --cases=NAME,...     of leveled, universal, budget (filter_budget_bytes) and partitioned (a block cache smaller than filters)
#   --num=N              writes, of about 160 bytes each; 2000000
#   --reads=N            reads of each kind, in the trace and afterwards; 20000
#   --max_queries=N      reads that protean advise uses; 20000
#   --db=DIR             folder for the databases; build/operator
#   --keep               keep the databases
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
parse_options ARGUMENTS... -- "$@"
cd "$project"
scripts/setup.sh --targets=operator_bench,protean_tool
say "writing and reading the databases, about 4 minutes each"
/usr/bin/python3 scripts/operator_table.py --db=build/operator "${arguments[@]}"
