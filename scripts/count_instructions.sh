#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Counts the instructions of the hot read paths under callgrind, with every block in the cache: Get, a closed seek, a scan and
# an open seek, over one and four sorted runs. Prints instructions per query, a line for each policy.
#
#   scripts/count_instructions.sh [--build=DIR] [--paths=LIST] [--queries=N] [POLICY...]
#
#   --build     folder in which read_paths has been built; build
#   --paths     paths, separated by commas, as in read_paths --help; point,range,scan,open_seek
#   --queries   queries for each figure; 5000
#   POLICY      filter policies; block_based (stock, with Bloom filters), surf:0:4 and proteus:12
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

build=build paths=point,range,scan,open_seek queries=5000
parse_options --build=DIR --paths=LIST --queries=N POLICY... -- "$@"
policies=("${arguments[@]}")
cd "$project"
[ ${#policies[@]} -gt 0 ] || policies=(block_based surf:0:4 proteus:12)
command -v valgrind >/dev/null || die "valgrind is missing; install the package valgrind"
[ -x "$build/read_paths" ] || die "$build/read_paths is missing; build it: cmake --build $build --target read_paths"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '%-14s %5s' policy runs
printf ' %16s' ${paths//,/ }
echo
for policy in "${policies[@]}"; do
  case $policy in
    block_based) table='{id=BlockBasedTable;filter_policy=bloomfilter:12' ;;
    *) table="{id=ProteanTable;filter_policy=$policy" ;;
  esac
  table+=';cache_index_and_filter_blocks=false;block_cache=256M}'
  for runs in 1 4; do
    printf '%-14s %5s' "$policy" $runs
    for path in ${paths//,/ }; do
      valgrind --tool=callgrind --callgrind-out-file="$folder/out" --collect-atstart=no '--toggle-collect=*CountedQueries*' \
        "$build/read_paths" --path=$path --runs=$runs --queries="$queries" --table_factory="$table" --dir="$folder/db" \
        >"$folder/log" 2>&1 || { cat "$folder/log" >&2; die "read_paths failed"; }
      total=$(awk '/^(summary|totals):/ { print $2; exit }' "$folder/out")
      printf ' %16.1f' "$(awk -v t="$total" -v q="$queries" 'BEGIN { print t / q }')"
    done
    echo
  done
done
