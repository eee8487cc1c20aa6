#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds Protean as a plugin inside a RocksDB tree, with RocksDB's own Makefile and CMakeLists.txt, and checks RocksDB's
# db_bench, ldb and sst_dump of each build on a DB that an OPTIONS file gives ProteanTable.
#
#   scripts/in_tree.sh [--source=DIR] [--build=DIR] [--make|--cmake|--both]
#
#   --source=DIR   a RocksDB source tree instead of the one that provision_rocksdb.sh provides; it is copied, not touched
#   --build=DIR    the work folder, which takes the copy and the builds (3 GB) and is kept; default: one for each source
#                  tree in $PROTEAN_CACHE, by default protean in the user's cache folder
#   --make, --cmake, --both   which of RocksDB's builds; default: both
#
# Each build compiles all of RocksDB the first time (about 20 minutes on 2 cores) and what has changed from then on.
# PROTEAN_JOBS says how many compilers run at once.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"

source="" build="" make=0 cmake=0 both=0
parse_options --source=DIR --build=DIR --make --cmake --both -- "$@"
builds=()
[ $cmake = 1 ] && [ $make = 0 ] && [ $both = 0 ] || builds+=(make)
[ $make = 1 ] && [ $cmake = 0 ] && [ $both = 0 ] || builds+=(cmake)
jobs=$(job_count)

install_packages make
provision=("$project/scripts/provision_rocksdb.sh" --source-only)
[ -z "$source" ] || provision+=("--source=$source")
source_tree=$("${provision[@]}")
work=$build
if [ -z "$work" ]; then
  work=$(cache_folder)/in_tree-$(basename "$source_tree")-$(echo "$source_tree" | sha256sum | cut -c1-8)
fi
work=$(realpath -m "$work")
case $work/ in
  "$source_tree"/* | "$project"/*)
    die "the work folder $work lies in the RocksDB tree or in the project; choose one outside of both with --build=DIR" ;;
esac
mkdir -p "$work" || die "cannot create the work folder $work; choose another with --build=DIR"
lock "$work/.lock" "another build in $work"

# ---- The tree ----

# The tree is copied, since RocksDB's Makefile writes into it. The results of earlier builds, which were made with other
# flags, are left out. Times are kept: what has not changed is not compiled again.
tree=$work/rocksdb
mkdir -p "$tree"
tar -C "$source_tree" -cf - --exclude=./.git --exclude=./build --exclude=./plugin/protean --exclude=./make_config.mk \
  --exclude=./util/build_version.cc --exclude='*.[oad]' --exclude='*.so*' . | tar -C "$tree" -xf -

# Objects of another clone of the project may be newer than the sources of this one.
if [ "$(readlink "$tree/plugin/protean" || true)" != "$project" ]; then
  rm -rf "$work"/make/plugin/protean "$work"/cmake/CMakeFiles/rocksdb*.dir/plugin/protean
  ln -sfn "$project" "$tree/plugin/protean"
fi

# ---- The builds ----

tools=(db_bench ldb sst_dump)

# gcc 12 warns of overlaps in std::string that do not exist (bug 105329), in RocksDB's own files too, and RocksDB turns
# warnings into errors. clang does not know the warning.
warnings=-Wno-error=restrict
if "${CXX:-c++}" --version | grep -i clang >/dev/null; then warnings=; fi

# Runs a command in the tree. $1: the build; the others: the command.
logged() {
  local log=$work/$1.log
  shift
  (cd "$tree" && "$@") >>"$log" 2>&1 ||
    { grep -n -m 20 -E 'error|Error' "$log" >&2 || true; tail -n 20 "$log" >&2; die "failed: $*; log: $log"; }
}

# The objects go to the work folder: beside their sources, the plugin's would end up in the project.
build_make() {
  logged make make -j "$jobs" ROCKSDB_PLUGINS=protean DEBUG_LEVEL=0 PORTABLE=1 OBJ_DIR="$work/make" \
    EXTRA_CXXFLAGS="$warnings" "${tools[@]}"
  mkdir -p "$work/make_tools"
  ln -sf "${tools[@]/#/$tree/}" "$work/make_tools/"
}

build_cmake() {
  local generator=()
  command -v ninja >/dev/null && generator=(-G Ninja)
  logged cmake cmake -S . -B "$work/cmake" "${generator[@]}" -DROCKSDB_PLUGINS=protean -DCMAKE_BUILD_TYPE=Release \
    -DPORTABLE=1 -DWITH_TOOLS=ON -DWITH_CORE_TOOLS=ON -DWITH_BENCHMARK_TOOLS=ON -DWITH_TESTS=OFF \
    -DROCKSDB_BUILD_SHARED=OFF -DWITH_GFLAGS=ON -DWITH_SNAPPY=ON "-DCMAKE_CXX_FLAGS=$warnings"
  logged cmake cmake --build "$work/cmake" --parallel "$jobs" --target "${tools[@]}"
  mkdir -p "$work/cmake_tools"
  ln -sf "$work/cmake/db_bench" "$work/cmake/tools/ldb" "$work/cmake/tools/sst_dump" "$work/cmake_tools/"
}

for build in "${builds[@]}"; do
  say "$build: building ${tools[*]} in $work (log: $work/$build.log)"
  : >"$work/$build.log"
  "build_$build"
done

# ---- The check: a DB that db_bench fills, ldb compacts and sst_dump looks into ----

readonly num_keys=100000
readonly policy=protean.Proteus

# Writes the OPTIONS file $1, through which alone the tools learn of the plugin. SST files are small, so that a read meets
# several, and stay as they are until a tool is told to compact them. All other options have RocksDB's defaults.
write_options() {
  local version
  version=$(rocksdb_version "$tree")
  cat >"$1" <<EOF_OPTIONS
[Version]
  rocksdb_version=$version
  options_file_version=1.1
[DBOptions]
  create_if_missing=true
[CFOptions "default"]
  write_buffer_size=1048576
  target_file_size_base=1048576
  disable_auto_compactions=true
  table_factory=ProteanTable
[TableOptions/ProteanTable "default"]
  filter_policy=proteus:12
EOF_OPTIONS
}

# Runs one of RocksDB's tools. Its output goes to the file $said.
run() {
  local tool=$1
  shift
  "$work/${build}_tools/$tool" "$@" >"$said" 2>&1 || { tail -n 20 "$said" >&2; die "$build: failed: $tool $*"; }
}

# sst_dump must find each file whole and written with the policy. Sets `entries`, the number in all files.
check_files() {
  local file files=0 name n
  entries=0
  for file in "$db"/*.sst; do
    run sst_dump --file="$file" --command=check --verify_checksum --show_properties
    name=$(sed -n 's/.*filter policy name: //p' "$said")
    [ "$name" = $policy ] || die "$build: $file has '$name' for its filter policy instead of $policy"
    grep -qE 'filter block size: [1-9]' "$said" || die "$build: $file has no filter block"
    n=$(sed -n 's/.*# entries: \([0-9]*\)$/\1/p' "$said")
    entries=$((entries + n))
    files=$((files + 1))
  done
  [ $files -gt 1 ] || die "$build: $db has $files SST files; several were expected"
  say "$build: sst_dump check: $files files with $entries entries, all with a filter of $policy"
}

check() {
  local keys filtered key value scanned
  db=$work/$build.db said=$work/$build.said
  rm -rf "$db"
  write_options "$work/$build.options"
  local bench=(--db="$db" --options_file="$work/$build.options" --num=$((20 * num_keys)))
  run db_bench "${bench[@]}" --benchmarks=fillrandom,flush --writes=$num_keys --seed=1
  grep -E '^fillrandom' "$said" >&2
  check_files

  # Three of four ranges are empty. Filters learn from queries which ranges matter: hence the compaction between them.
  run db_bench "${bench[@]}" --benchmarks=seekrandom,compact,seekrandom,readrandom --use_existing_db=1 --reads=50000 \
    --max_scan_distance=5 --statistics=1 --seed=2
  grep -E '^(readrandom|seekrandom)' "$said" >&2
  filtered=$(sed -nE 's/^rocksdb\.(non\.)?last\.level\.seek\.filtered COUNT : //p' "$said" |
    awk '{ sum += $1 } END { print sum + 0 }')
  [ "$filtered" -gt 0 ] || die "$build: seekrandom read every file: no range filter has ruled out a file"
  say "$build: db_bench seekrandom: filters said of $filtered files that they hold nothing in the range"

  local ldb=(ldb --db="$db" --try_load_options)
  run "${ldb[@]}" dump --count_only
  keys=$(sed -n 's/^Keys in range: //p' "$said")
  # ldb writes one file of its own.
  run "${ldb[@]}" put --hex 0xFF 0xC0FFEE
  run "${ldb[@]}" compact
  check_files
  [ "$entries" = $((keys + 1)) ] ||
    die "$build: sst_dump counts $entries entries, ldb had counted $keys keys before it put one more"
  run "${ldb[@]}" get --hex 0xFF
  [ "$(cat "$said")" = 0xC0FFEE ] || die "$build: ldb get answers '$(cat "$said")' where ldb has put 0xC0FFEE"
  run "${ldb[@]}" scan --hex --max_keys=3
  key=$(sed -nE '3s/^0x([0-9A-F]+) .*/\1/p' "$said")
  value=$(sed -nE '3s/.* (0x[0-9A-F]+)$/\1/p' "$said")
  [ -n "$key" ] && [ -n "$value" ] || { cat "$said" >&2; die "$build: ldb scan does not print three keys with values"; }
  run "${ldb[@]}" get --hex "0x$key"
  [ "$(cat "$said")" = "$value" ] ||
    die "$build: ldb get 0x$key answers '$(cat "$said")', ldb scan says $value"
  run "${ldb[@]}" scan --hex --from="0x$key" --to=0xFF
  scanned=$(grep -c ' ==> ' "$said" || true)
  [ "$scanned" = $((keys - 2)) ] ||
    die "$build: ldb scan --from=0x$key --to=0xFF prints $scanned keys instead of $((keys - 2))"
  run "${ldb[@]}" checkconsistency
  run sst_dump --file="$db" --command=scan --from="0x$key" --input_key_hex --output_hex
  scanned=$(grep -c "^'[0-9A-F]*' seq:" "$said" || true)
  [ "$scanned" = $((keys - 1)) ] && grep -q "^'$key' seq:" "$said" ||
    die "$build: sst_dump scan --from=0x$key prints $scanned entries instead of that key's and $((keys - 2)) more"
  say "$build: ldb put, get, dump, scan, compact and checkconsistency, sst_dump scan: $keys keys, as they should be"
  rm -rf "$db"
}

for build in "${builds[@]}"; do
  check
done
say "passed: ${builds[*]}"
