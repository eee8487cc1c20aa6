#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the native libraries of Protean that rocksdbjni, RocksDB's Java binding, needs, and puts them where the JAR of
# protean-rocksjava takes them from.
#
#   plugin/java/build_native.sh [--output=DIR] [--platform=NAME ...] [--quick] [VERSION ...]
#
#   --output=DIR     default: plugin/java/target/native; for mvn, -Dprotean.native=DIR
#   --platform=NAME  linux-x86_64, linux-aarch64 (both with glibc), linux-x86_64-musl or linux-aarch64-musl; default:
#                    linux-x86_64
#   --quick          optimizes little, for tests, which take less time than the compiler
#   VERSION          of rocksdbjni; default: 9.10.0 10.1.3 10.10.1 11.8.1
#
# What is there of other platforms and versions stays, and gets into the JAR, too. Those for aarch64 need Debian's
# g++-aarch64-linux-gnu. For musl, scripts/musl_compiler.sh makes the compiler, of Debian's packages.
#
# The library to bind to comes from the JAR of rocksdbjni, by Maven; the sources of RocksDB from Debian for 9.10.0
# (scripts/provision_rocksdb.sh), and by cargo from the Rust crates that carry them for the others. All of it is kept in
# $PROTEAN_CACHE (default: protean in the user's cache folder), with the builds. A version takes 1 to 3 minutes on 2
# free cores, and up to an hour where other compilers run; PROTEAN_JOBS says how many compilers run at once.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/rocksdb_crates.sh"

readonly provided=9.10.0
readonly known="9.10.0 10.1.3 10.10.1 11.8.1"
# The library in the JAR of rocksdbjni for each platform.
declare -rA rocksdb_libraries=([linux-x86_64]=librocksdbjni-linux64.so [linux-aarch64]=librocksdbjni-linux-aarch64.so
  [linux-x86_64-musl]=librocksdbjni-linux64-musl.so [linux-aarch64-musl]=librocksdbjni-linux-aarch64-musl.so)
readonly copy=org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy

# The CPU of platform $1.
cpu_of() { local name=${1#linux-} && echo "${name%-musl}"; }

output=$project/plugin/java/target/native platform=() quick=0
parse_options --output=DIR '--platform=linux-x86_64|linux-aarch64|linux-x86_64-musl|linux-aarch64-musl...' --quick VERSION... -- "$@"
[ ${#platform[@]} -gt 0 ] || platform=(linux-x86_64)
output=$(realpath -m "$output") wanted=("${arguments[@]}")
for version in "${wanted[@]}"; do
  [[ " $known " = *" $version "* ]] || die "it is not known where the sources of RocksDB $version are; known: $known"
done
[ ${#wanted[@]} -gt 0 ] || read -r -a wanted <<<"$known"

cd "$project"
[ "$(uname -s) $(uname -m)" = "Linux x86_64" ] || die "it builds on Linux on x86-64 only, not on $(uname -s) on $(uname -m)"
for tool in cmake ninja strip; do
  command -v $tool >/dev/null || die "$tool is missing; scripts/setup.sh installs what Protean is built with"
done
[[ " ${platform[*]} " != *" linux-aarch64"* ]] || command -v aarch64-linux-gnu-g++ >/dev/null ||
  die "aarch64-linux-gnu-g++ is missing (Debian: apt install g++-aarch64-linux-gnu)"
# The compiler for musl, by its CPU.
declare -A musl=()
for name in "${platform[@]}"; do
  [[ $name != *-musl ]] || musl[$(cpu_of "$name")]=$("$project/scripts/musl_compiler.sh" "$(cpu_of "$name")")
done
for tool in mvn javac jar; do
  command -v $tool >/dev/null || die "$tool is missing (Debian: apt install maven default-jdk-headless)"
done
jobs=${PROTEAN_JOBS:-$(nproc)}
cache=$(cache_folder)

# Takes RocksDB's library $1 out of the JAR of version $2, into the folder $3, unless it is there.
fetch_library() {
  local library=$1 version=$2 folder=$3 artifact=org.rocksdb:rocksdbjni:$2 partial
  [ ! -f "$folder/$library" ] || return 0
  partial=$(mktemp -d "$folder.XXXXXX")
  if ! mvn -B -o -q $copy "-Dartifact=$artifact" "-DoutputDirectory=$partial" >/dev/null 2>&1; then
    say "fetching rocksdbjni $version, 70 to 90 MB"
    mvn -B -q $copy "-Dartifact=$artifact" "-DoutputDirectory=$partial" >"$folder.log" 2>&1 ||
      { tail -n 20 "$folder.log" >&2; die "Maven could not fetch $artifact; log: $folder.log"; }
  fi
  (cd "$partial" && jar xf "rocksdbjni-$version.jar" "$library")
  [ -f "$partial/$library" ] || die "the JAR of rocksdbjni $version has no $library"
  mkdir -p "$folder"
  mv "$partial/$library" "$folder/$library"
  rm -rf "$partial"
}

# Ends the script unless the library $3 is for the CPU of platform $2, and takes from elsewhere only what the libraries that
# follow have, and what the C and C++ libraries have. $1 begins the names of the binutils.
check_library() {
  local prefix=$1 platform=$2 library=$3 cpu machine="Advanced Micro Devices X86-64" others=@ missing
  shift 3
  cpu=$(cpu_of "$platform")
  [ "$cpu" != aarch64 ] || machine=AArch64
  "${prefix}readelf" -h "$library" | grep -Eq "Machine: +$machine\$" || die "$library is not for $platform"
  # With glibc, symbols of the C and C++ libraries have versions. With musl, they have not.
  if [[ $platform = *-musl ]]; then
    others='^_Z(N?K?S|d[al]|n[aw]|T[ISTV](N?S|N10__cxxabiv1))|^(__cxa|_Unwind|__gxx|__once)_'
    set -- "${musl[$cpu]}/usr/lib/$cpu-linux-musl/libc.so" "$@"
    # musl's loader lets no function choose another one.
    ! "${prefix}readelf" -rW "$library" | grep -q IRELATIV || die "$library has IRELATIVE relocations, which musl refuses"
  fi
  missing=$(comm -23 \
    <("${prefix}nm" -D --undefined-only "$library" | awk -v others="$others" '$1 == "U" && $2 !~ others { print $2 }' | sort -u) \
    <("${prefix}nm" -D --defined-only "$@" | awk 'NF == 3 { sub(/@.*/, "", $3); print $3 }' | sort -u))
  [ -z "$missing" ] || die "$library needs what is not in ${*##*/}: $(head -n 5 <<<"$missing" | paste -sd' ')"
}

# Builds for platform $1 and version $2.
build() {
  local platform=$1 version=$2 cpu cross=() prefix="" suffix arguments=(-DPROTEAN_LIBRARIES_ONLY=ON) work log library
  local rocksdb=${rocksdb_libraries[$platform]}
  fetch_library "$rocksdb" "$version" "$cache/rocksdbjni-$version"
  arguments+=("-DPROTEAN_ROCKSDB_LIBRARY=$cache/rocksdbjni-$version/$rocksdb")
  if [ "$version" != $provided ]; then
    fetch_rocksdb_crate "$version" "$cache/rocksdb-$version" "put a source tree of that version into $cache/rocksdb-$version"
    arguments+=("-DPROTEAN_ROCKSDB_SOURCE=$cache/rocksdb-$version")
  fi
  cpu=$(cpu_of "$platform")
  [ "$cpu" = x86_64 ] || prefix=$cpu-linux-gnu-
  if [[ $platform = *-musl ]]; then
    cross=(env "CMAKE_TOOLCHAIN_FILE=$project/cmake/musl.cmake" "PROTEAN_CPU=$cpu" "PROTEAN_MUSL=${musl[$cpu]}"
      "CXX=${musl[$cpu]}/g++")
  elif [ "$cpu" != x86_64 ]; then
    cross=(env "CMAKE_TOOLCHAIN_FILE=$project/cmake/foreign.cmake" "PROTEAN_CPU=$cpu" "CXX=${prefix}g++")
  fi
  suffix=${platform#linux}
  suffix=${suffix#-x86_64}
  if [ $quick = 1 ]; then
    arguments+=(-DCMAKE_BUILD_TYPE=Quick -DCMAKE_CXX_FLAGS=-O1)
    suffix+=-quick
  fi
  work=$cache/java-$version$suffix-$(echo "$project" | sha256sum | cut -c1-8)
  mkdir -p "$work"
  lock "$work/.lock" "another build in $work"
  log=$work/configure.log
  say "RocksDB $version, $platform: building in $work"
  if "${cross[@]}" cmake -S . -B "$work" -G Ninja "${arguments[@]}" 2>&1 | tee "$log" | sed -un '/^provision_rocksdb: /p' >&2; then
    log=$work/build.log
    if ! "${cross[@]}" cmake --build "$work" --target protean_shared protean_loader protean_jni --parallel "$jobs" 2>&1 |
      tee "$log" | show_progress "building for rocksdbjni $version"; then
      tail -n 30 "$log" >&2
      die "it does not build for rocksdbjni $version; log: $log"
    fi
  else
    tail -n 30 "$log" >&2
    die "it cannot be built for rocksdbjni $version; log: $log"
  fi
  mkdir -p "$output/$platform"
  for library in libprotean libprotean-jni "libprotean-rocksdb-$version*" "libprotean-jni-$version*"; do
    library=$(basename "$work"/$library.so.1)
    "${prefix}strip" --strip-unneeded -o "$output/$platform/$library.$$" "$work/$library"
    mv "$output/$platform/$library.$$" "$output/$platform/$library"
  done
  for library in "$output/$platform"/libprotean{,-jni}.so.1 "$output/$platform/libprotean-"{rocksdb,jni}-"$version"*; do
    check_library "$prefix" "$platform" "$library" "$cache/rocksdbjni-$version/$rocksdb" \
      "$output/$platform/libprotean-rocksdb-$version"*.so.1
  done
  # What is in a JAR cannot be listed.
  (cd "$output/$platform" && ls -- *.so.1 >index.$$ && mv index.$$ index)
}

for name in "${platform[@]}"; do
  for version in "${wanted[@]}"; do
    build "$name" "$version"
  done
done
for name in "${platform[@]}"; do
  say "the libraries are in $output/$name:"
  (cd "$output/$name" && ls -sh -- *.so.1)
done
