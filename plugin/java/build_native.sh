#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the native libraries of Protean that rocksdbjni, RocksDB's Java binding, needs, and puts them where the JAR of
# protean-rocksjava takes them from.
#
#   plugin/java/build_native.sh [--output=DIR] [VERSION ...]
#
#   --output=DIR  default: plugin/java/target/native; for mvn, -Dprotean.native=DIR
#   VERSION       of rocksdbjni; default: 9.10.0 10.1.3 10.10.1 11.8.1. What is there of other versions stays
#
# The library to bind to comes from the JAR of rocksdbjni, by Maven; the sources of RocksDB from Debian for 9.10.0
# (scripts/provision_rocksdb.sh), and by cargo from the Rust crates that carry them for the others. All of it is kept in
# $PROTEAN_CACHE (default: protean in the user's cache folder), with the builds. A version takes 1 to 3 minutes on 2 cores;
# PROTEAN_JOBS says how many compilers run at once.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/rocksdb_crates.sh"

readonly provided=9.10.0
readonly known="9.10.0 10.1.3 10.10.1 11.8.1"
readonly platform=linux-x86_64
readonly rocksdb_library=librocksdbjni-linux64.so
readonly copy=org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy

output=$project/plugin/java/target/native
parse_options --output=DIR VERSION... -- "$@"
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
for tool in mvn javac jar; do
  command -v $tool >/dev/null || die "$tool is missing (Debian: apt install maven default-jdk-headless)"
done
jobs=${PROTEAN_JOBS:-$(nproc)}
cache=$(cache_folder)

# Takes RocksDB's library out of the JAR of version $1, into the folder $2, unless it is there.
fetch_library() {
  local version=$1 folder=$2 artifact=org.rocksdb:rocksdbjni:$1 partial
  [ ! -f "$folder/$rocksdb_library" ] || return 0
  partial=$(mktemp -d "$folder.XXXXXX")
  if ! mvn -B -o -q $copy "-Dartifact=$artifact" "-DoutputDirectory=$partial" >/dev/null 2>&1; then
    say "fetching rocksdbjni $version, 70 to 90 MB"
    mvn -B -q $copy "-Dartifact=$artifact" "-DoutputDirectory=$partial" >"$folder.log" 2>&1 ||
      { tail -n 20 "$folder.log" >&2; die "Maven could not fetch $artifact; log: $folder.log"; }
  fi
  (cd "$partial" && jar xf "rocksdbjni-$version.jar" $rocksdb_library && rm "rocksdbjni-$version.jar")
  [ -f "$partial/$rocksdb_library" ] || die "the JAR of rocksdbjni $version has no $rocksdb_library"
  settle "$partial" "$folder"
}

# Builds for version $1.
build() {
  local version=$1 arguments=() work log library
  fetch_library "$version" "$cache/rocksdbjni-$version"
  arguments+=("-DPROTEAN_ROCKSDB_LIBRARY=$cache/rocksdbjni-$version/$rocksdb_library")
  if [ "$version" != $provided ]; then
    fetch_rocksdb_crate "$version" "$cache/rocksdb-$version" "put a source tree of that version into $cache/rocksdb-$version"
    arguments+=("-DPROTEAN_ROCKSDB_SOURCE=$cache/rocksdb-$version")
  fi
  work=$cache/java-$version-$(echo "$project" | sha256sum | cut -c1-8)
  mkdir -p "$work"
  lock "$work/.lock" "another build in $work"
  log=$work/configure.log
  say "RocksDB $version: building in $work"
  if cmake -S . -B "$work" -G Ninja "${arguments[@]}" 2>&1 | tee "$log" | sed -un '/^provision_rocksdb: /p' >&2; then
    log=$work/build.log
    if ! cmake --build "$work" --target protean_shared protean_loader protean_jni --parallel "$jobs" 2>&1 | tee "$log" |
      show_progress "building for rocksdbjni $version"; then
      tail -n 30 "$log" >&2
      die "it does not build for rocksdbjni $version; log: $log"
    fi
  else
    tail -n 30 "$log" >&2
    die "it cannot be built for rocksdbjni $version; log: $log"
  fi
  for library in libprotean libprotean-jni "libprotean-rocksdb-$version*" "libprotean-jni-$version*"; do
    library=$(basename "$work"/$library.so.1)
    strip --strip-unneeded -o "$output/$platform/$library.$$" "$work/$library"
    mv "$output/$platform/$library.$$" "$output/$platform/$library"
  done
}

mkdir -p "$output/$platform"
for version in "${wanted[@]}"; do
  build "$version"
done
# What is in a JAR cannot be listed.
(cd "$output/$platform" && ls -- *.so.1 >index.$$ && mv index.$$ index)
say "the libraries are in $output/$platform:"
(cd "$output/$platform" && ls -sh -- *.so.1)
