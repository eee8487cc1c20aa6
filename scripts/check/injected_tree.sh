# SPDX-License-Identifier: Apache-2.0
# A copy of a RocksDB tree in which ProteanTable is the default table factory of all callers, and a build of it with
# RocksDB's assertions on, for RocksDB's own tests and its stress test. Sourced after common.sh and packages.sh.
#
#   provide_injected_tree [DIR]        copies the RocksDB tree DIR, or the one that provision_rocksdb.sh provides
#   build_injected_tree TARGET...      builds targets of its CMakeLists.txt. $sanitizer may be asan, ubsan or tsan
#   allow_many_files                   lets processes that are started from then on open thousands of files
#
# They set $source_tree, the tree that is copied; $version, its version; $work, a folder in $PROTEAN_CACHE that takes the
# copy ($tree) and a build for each sanitizer ($build); both are kept. The lock of $work is held during the build.
#
# One build serves all. The environment variable PROTEAN_INJECT chooses, when a program starts:
#
#   unset                                                 stock RocksDB
#   the text of a filter policy, such as surf:4:4         ProteanTable with that policy (tests/injection)
#
# Named policies. They sample every query, so that a DB that lives for seconds has samples to design from.
declare -A injected_policies=(
  [surf]=surf:4:4
  [proteus]='{id=protean.Proteus;bits_per_key=12;sample_every=1}')

# The changed files of the tree, each with a command of sed:
#
#   - NewBlockBasedTableFactory, the one function that users call;
#   - callers of the constructor, RocksDB's options above all, which call that function instead. A table that is asked for
#     by name, id=BlockBasedTable, stays stock;
#   - SetOptions, which takes "block_based_table_factory" for derived factories too. db_stress and many tests use that
#     name, which it refuses otherwise (docs/tuning.md);
#   - the test of partitioned filter blocks, which gets the injected policy, and the option that a table would have;
#   - db_stress, which draws the injected policy where it draws policies to set in an open DB;
#   - its file system, which would divide by zero where it has nothing to lose, and kill db_stress in stock runs too.
declare -A injections

list_injections() {
  local file call='(^ *|\()new BlockBasedTableFactory\('
  for file in $(cd "$source_tree" && grep -rlE "$call" --include='*.cc' --include='*.h' --exclude=table_factory.cc \
    --exclude-dir=plugin --exclude-dir=examples --exclude-dir=java .); do
    injections[${file#./}]="s/$call/\\1NewBlockBasedTableFactory(/"
  done
  injections[table/block_based/block_based_table_factory.cc]='
    /^#include "table\/block_based\/block_based_table_factory.h"$/a #include "tests/injection/injected_table_factory.h"
    s/^(  return )new BlockBasedTableFactory\(_table_options\);$/\1protean::NewInjectedTableFactory(_table_options);/'
  injections[options/cf_options.cc]='
    s/factory_name == (TableFactory::kBlockBasedTableName\(\))/table_factory->get()->IsInstanceOf(\1)/'
  injections[table/block_based/partitioned_filter_block_test.cc]='
    /^#include "table\/block_based\/filter_policy_internal.h"$/a #include "tests/injection/injected_table_factory.h"
    s/^(    table_options_\.)(filter_policy)\.reset\($/\1partition_filters = true;\n\1\2 = protean::InjectedPolicyOr(/'
  injections[db_stress_tool/db_stress_test_base.cc]='
    s/: ("\{filter_policy=)bloomfilter:2.34\}"/: \1" +\
      std::string(getenv("PROTEAN_INJECT") ? getenv("PROTEAN_INJECT") : "bloomfilter:2.34") + "}"/'
  injections[utilities/fault_injection_fs.cc]='s/\(rand->Uniform\(range\)\)/(range > 0 ? rand->Uniform(range) : 0)/'
}

# RocksDB's tests keep thousands of files open; by default, shells allow 1,024.
allow_many_files() {
  local limit wanted=65536
  limit=$(ulimit -Hn)
  [ "$limit" = unlimited ] || [ "$limit" -ge $wanted ] || wanted=$limit
  ulimit -Sn "$wanted"
  [ "$wanted" -ge 10000 ] ||
    say "no more than $wanted files may be open at once (ulimit -n), which may be too few: 'Too many open files' is no failure" \
      "of Protean"
}

# Checks that the changed file $1 has the text $3 in $2 lines.
check_injection() {
  local file=$1 lines=$2 text=$3 found
  found=$(grep -cF -- "$text" "$tree/$file" || true)
  [ "$found" = "$lines" ] ||
    die "RocksDB $version looks different in $file: after the injection, $found lines instead of $lines have '$text'"
}

# Changes file $1 with the sed expression $2. A file that has these contents already is not written: it would be compiled
# again.
inject() {
  local file=$1 expression=$2
  sed -E "$expression" "$source_tree/$file" >"$tree/$file.new"
  if cmp -s "$tree/$file.new" "$tree/$file"; then
    rm "$tree/$file.new"
  else
    mv "$tree/$file.new" "$tree/$file"
  fi
}

provide_injected_tree() {
  local provision=("$project/scripts/provision_rocksdb.sh" --source-only) file excluded=()
  install_packages
  [ $# = 0 ] || [ -z "$1" ] || provision+=("--source=$1")
  source_tree=$("${provision[@]}")
  version=$(rocksdb_version "$source_tree")
  work=$(cache_folder)/injected-$(basename "$source_tree")-$(echo "$source_tree" | sha256sum | cut -c1-8)
  tree=$work/rocksdb
  mkdir -p "$tree" || die "cannot create the work folder $work"
  lock "$work/.lock" "another build in $work"

  # Times are kept: what has not changed is not compiled again.
  list_injections
  for file in "${!injections[@]}"; do excluded+=("--exclude=./$file"); done
  tar -C "$source_tree" -cf - --exclude=./.git --exclude=./build --exclude=./plugin/protean --exclude=./make_config.mk \
    --exclude=./util/build_version.cc --exclude='*.[oad]' --exclude='*.so*' "${excluded[@]}" . | tar -C "$tree" -xf -
  for file in "${!injections[@]}"; do inject "$file" "${injections[$file]}"; done
  check_injection table/block_based/block_based_table_factory.cc 1 'tests/injection/injected_table_factory.h"'
  check_injection table/block_based/block_based_table_factory.cc 1 'return protean::NewInjectedTableFactory('
  check_injection options/options.cc 3 '(NewBlockBasedTableFactory('
  check_injection options/cf_options.cc 1 'table_factory->get()->IsInstanceOf(TableFactory::kBlockBasedTableName())'
  check_injection table/block_based/partitioned_filter_block_test.cc 1 '= protean::InjectedPolicyOr('
  check_injection db_stress_tool/db_stress_test_base.cc 1 'getenv("PROTEAN_INJECT")'
  check_injection utilities/fault_injection_fs.cc 1 '(range > 0 ? rand->Uniform(range) : 0)'

  # Objects of another clone of the project may be newer than the sources of this one.
  if [ "$(readlink "$tree/plugin/protean" || true)" != "$project" ]; then
    rm -rf "$work"/build*/CMakeFiles/rocksdb*.dir/plugin/protean
    touch "$tree/table/block_based/block_based_table_factory.cc"
    ln -sfn "$project" "$tree/plugin/protean"
  fi
  exec 9>&-
}

# The build has assertions, kill points and sync points, and is still fast enough for a test to find its races. The library
# is shared, because each test would take 200 MB otherwise.
build_injected_tree() {
  local log options=(-DROCKSDB_PLUGINS=protean -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g1"
    -DROCKSDB_BUILD_SHARED=ON -DWITH_TESTS=ON -DWITH_TOOLS=ON -DWITH_CORE_TOOLS=ON -DWITH_BENCHMARK_TOOLS=OFF
    -DWITH_TRACE_TOOLS=OFF -DWITH_GFLAGS=ON -DWITH_SNAPPY=ON -DWITH_LZ4=ON -DWITH_ZSTD=ON -DWITH_ZLIB=ON -DPORTABLE=1
    -DFAIL_ON_WARNINGS=OFF "-DCMAKE_PROJECT_INCLUDE=$project/scripts/rocksdb_unity_build.cmake"
    -DCMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE=PRE_TEST)
  lock "$work/.lock" "another build in $work"
  build=$work/build
  case ${sanitizer:-} in
    "") ;;
    asan | ubsan | tsan) build=$work/build-$sanitizer options+=("-DWITH_${sanitizer^^}=ON") ;;
    *) die "unknown sanitizer '$sanitizer'; known: asan ubsan tsan" ;;
  esac
  log=$build.log
  say "building $* of RocksDB $version with ProteanTable in $build (log: $log)"
  if ! cmake -S "$tree" -B "$build" -G Ninja "${options[@]}" >"$log" 2>&1 ||
    ! cmake --build "$build" --parallel "$(job_count)" --target "$@" 2>&1 | tee -a "$log" |
    show_progress "building RocksDB $version"; then
    tail -n 30 "$log" >&2
    die "RocksDB $version with ProteanTable does not build; log: $log"
  fi
  exec 9>&-
}
