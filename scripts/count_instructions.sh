#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Counts the instructions of the hot read paths under callgrind, with every block in the cache: Get, a closed seek, a scan and
# an open seek, over several sorted runs. Prints instructions per query, a line for each policy.
#
#   scripts/count_instructions.sh [--build=DIR] [--paths=LIST] [--runs=LIST] [--queries=N] [--table=OPTIONS] [--locked]
#                                 [POLICY...]
#
#   --build     folder in which read_paths has been built; build
#   --paths     paths, separated by commas, as in read_paths --help; point,range,scan,open_seek
#   --runs      numbers of sorted runs, which are files of level 0; 1,4
#   --queries   queries for each figure; 5000
#   --table     more options of the table; cache_index_and_filter_blocks=false
#   --locked    counts only atomic reads with writes: instructions with a lock prefix, and xchg with memory
#   POLICY      filter policies; block_based (stock, with Bloom filters), surf:0:4 and proteus:12
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

build=build paths=point,range,scan,open_seek runs=1,4 queries=5000 table=cache_index_and_filter_blocks=false locked=
parse_options --build=DIR --paths=LIST --runs=LIST --queries=N --table=OPTIONS --locked POLICY... -- "$@"
policies=("${arguments[@]}")
cd "$project"
[ ${#policies[@]} -gt 0 ] || policies=(block_based surf:0:4 proteus:12)
command -v valgrind >/dev/null || die "valgrind is missing; install the package valgrind"
[ -x "$build/read_paths" ] || die "$build/read_paths is missing; build it: cmake --build $build --target read_paths"

# The atomic instructions of a program or library: its path and their addresses.
list_locked() {
  objdump -d --no-show-raw-insn "$1" |
    awk -v object="$1" '/^ / && (/\tlock/ || /\txchg .*\(/) { sub(":", "", $1); print object, "0x" $1 }'
}

# Sums up what $1, an output of callgrind with --dump-instr=yes, has counted for atomic instructions.
sum_locked() {
  local object
  sed -n 's/^c\?ob=([0-9]*) \(\/.*\)/\1/p' "$1" | sort -u | while read -r object; do
    [ -e "$folder/locked$object" ] || {
      mkdir -p "$(dirname "$folder/locked$object")"
      list_locked "$object" >"$folder/locked$object"
    }
    cat "$folder/locked$object"
  done >"$folder/list"
  awk '
    FILENAME == ARGV[1] { locked[$1 " " $2] = 1; next }
    /^c?ob=/ { split($1, part, "="); if (NF > 1) name[part[2]] = $2; if (/^ob/) object = name[part[2]]; next }
    /^calls=/ { is_call = 1; next }
    /^0x/ { if (!is_call && (object " " $1) in locked) sum += $NF; is_call = 0 }
    END { print sum + 0 }' "$folder/list" "$1"
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '%-14s %5s' policy runs
printf ' %16s' ${paths//,/ }
echo
for policy in "${policies[@]}"; do
  case $policy in
    block_based) factory='{id=BlockBasedTable;filter_policy=bloomfilter:12' ;;
    *) factory="{id=ProteanTable;filter_policy=$policy" ;;
  esac
  factory+=";block_cache=256M;$table}"
  for number in ${runs//,/ }; do
    printf '%-14s %5s' "$policy" "$number"
    for path in ${paths//,/ }; do
      valgrind --tool=callgrind --callgrind-out-file="$folder/out" --collect-atstart=no '--toggle-collect=*CountedQueries*' \
        ${locked:+--dump-instr=yes --dump-line=no --compress-pos=no} \
        "$build/read_paths" --path=$path --runs="$number" --queries="$queries" --table_factory="$factory" --dir="$folder/db" \
        >"$folder/log" 2>&1 || { cat "$folder/log" >&2; die "read_paths failed"; }
      if [ "$locked" ]; then
        total=$(sum_locked "$folder/out")
      else
        total=$(awk '/^(summary|totals):/ { print $2; exit }' "$folder/out")
      fi
      printf " %16.$((locked ? 2 : 1))f" "$(awk -v t="$total" -v q="$queries" 'BEGIN { print t / q }')"
    done
    echo
  done
done
