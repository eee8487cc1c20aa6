#!/bin/bash -eu
# SPDX-License-Identifier: Apache-2.0
# Builds Protean's fuzzers as OSS-Fuzz wants them: with the compiler, the flags and the engine that its environment names,
# RocksDB included, into $OUT, with the seeds of each, and its dictionary where it has one.
#
# $SRC/protean and $SRC/rocksdb are the sources, $WORK takes what is built.

# OSS-Fuzz copies this script alone, so it does not source scripts/common.sh.
if [ "${1:-}" = --help ]; then
  sed -n '3,/^$/s/^# \{0,1\}//p' "$0"
  exit
fi
protean=$SRC/protean
rocksdb=$SRC/rocksdb
jobs=${PROTEAN_JOBS:-$(nproc)}

# ---- RocksDB, its library alone, with assertions ----

# Several files a compiler run take half the time.
cmake -S "$rocksdb" -B "$WORK/rocksdb" -DCMAKE_BUILD_TYPE=None -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
  -DCMAKE_C_FLAGS="$CFLAGS" -DCMAKE_CXX_FLAGS="$CXXFLAGS" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DPORTABLE=1 -DUSE_RTTI=ON \
  -DWITH_GFLAGS=OFF -DWITH_LIBURING=OFF -DWITH_TESTS=OFF -DWITH_ALL_TESTS=OFF -DWITH_TOOLS=OFF -DWITH_CORE_TOOLS=OFF \
  -DWITH_BENCHMARK_TOOLS=OFF -DROCKSDB_BUILD_SHARED=OFF -DFAIL_ON_WARNINGS=OFF \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 \
  -DCMAKE_PROJECT_INCLUDE="$protean/scripts/rocksdb_unity_build.cmake"
cmake --build "$WORK/rocksdb" --target rocksdb --parallel "$jobs"

# ---- Protean, with the definitions that RocksDB's classes depend on ----

definitions=$(sed -n 's/^ *"command": //p' "$WORK/rocksdb/compile_commands.json" | head -n 1 |
  grep -oE -- '-[DU][A-Za-z_][^ ]*|-std=[^ ]*' | tr '\n' ' ')
objects=$WORK/protean
mkdir -p "$objects"

# $1: the source, from the project's folder; $2, if it is there: the object, and $3: an option.
compile() {
  # shellcheck disable=SC2086
  "$CXX" $CXXFLAGS $definitions -I"$protean" -I"$rocksdb" -I"$rocksdb/include" ${3:-} \
    -isystem "$rocksdb/third-party/gtest-1.8.1/fused-src" -c "$protean/$1" -o "${2:-$objects/$(echo "$1" | tr / _).o}"
}
export -f compile
export protean rocksdb definitions objects

cd "$protean"
library_sources=$(sed -n 's/^protean_SOURCES = //p' protean.mk)
fuzz_sources=$(find tests/fuzz -name '*.cc' ! -name '*_test.cc' ! -name fuzzer.cc)
echo "$library_sources $fuzz_sources" | tr ' ' '\n' | xargs -P "$jobs" -I{} bash -ec 'compile {}'

rm -f "$objects/libprotean.a"
# Only what a fuzzer uses is taken out of an archive.
find "$objects" -name '*.cc.o' -print0 | xargs -0 ar rcs "$objects/libprotean.a"

# ---- The fuzzers, their seeds and dictionaries ----

for corpus in tests/fuzz/corpus/*; do
  target=$(basename "$corpus")
  fuzzer=$OUT/${target}_fuzzer
  # The target cascade_run is kCascadeRunTarget.
  constant=k$(echo "$target" | sed -E 's/(^|_)(.)/\U\2/g')Target
  compile tests/fuzz/fuzzer.cc "$objects/${target}_fuzzer.o" -DPROTEAN_FUZZ_TARGET="$constant"
  # shellcheck disable=SC2086
  "$CXX" $CXXFLAGS "$objects/${target}_fuzzer.o" "$objects/libprotean.a" "$WORK/rocksdb/librocksdb.a" \
    $LIB_FUZZING_ENGINE -lpthread -ldl -o "$fuzzer"
  rm -rf "$WORK/seeds"
  PROTEAN_FUZZ_SEEDS=$WORK/seeds "$fuzzer"
  cp tests/fuzz/corpus/"$target"/* "$WORK/seeds/$target"
  rm -f "${fuzzer}_seed_corpus.zip"
  (cd "$WORK/seeds/$target" && zip -q "${fuzzer}_seed_corpus.zip" -- *)
  [ ! -f "$WORK/seeds/$target.dict" ] || cp "$WORK/seeds/$target.dict" "$fuzzer.dict"
  printf '[libfuzzer]\nmax_len = 2048\nlen_control = 0\n' >"$fuzzer.options"
done
