#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tries native libraries for Java that plugin/java/build_native.sh has built, without a Java VM: binds them to RocksDB's library,
# which then writes and reads a DB with a range filter (load_natives.c).
#
#   tests/java/load_natives.sh [--output=DIR] [--platform=NAME] [--libraries=DIR] VERSION
#
#   --output=DIR     where the libraries are; default: plugin/java/target/native
#   --platform=NAME  linux-x86_64 (the default), linux-aarch64 or linux-x86_64-musl
#   --libraries=DIR  with musl: a folder with ld-musl-x86_64.so.1, libstdc++.so.6 and libgcc_s.so.1, as Alpine Linux has
#                    them in /lib and /usr/lib
#   VERSION          of rocksdbjni
#
# linux-aarch64 runs under QEMU's emulation (Debian: apt install qemu-user g++-aarch64-linux-gnu), linux-x86_64-musl is compiled
# with musl-gcc (musl-tools).
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
output=$project/plugin/java/target/native platform=linux-x86_64 libraries=""
parse_options --output=DIR '--platform=linux-x86_64|linux-aarch64|linux-x86_64-musl' --libraries=DIR VERSION... -- "$@"
[ ${#arguments[@]} = 1 ] || die "one VERSION is needed; see --help"

compiler=cc rocksdb=librocksdbjni-linux64.so run=()
case $platform in
  linux-aarch64)
    compiler=aarch64-linux-gnu-gcc rocksdb=librocksdbjni-linux-aarch64.so run=(qemu-aarch64 -L /usr/aarch64-linux-gnu)
    ;;
  linux-x86_64-musl)
    [ -n "$libraries" ] || die "--libraries=DIR is needed with musl; see --help"
    compiler=musl-gcc rocksdb=librocksdbjni-linux64-musl.so run=(env "LD_LIBRARY_PATH=$libraries" "$libraries/ld-musl-x86_64.so.1")
    ;;
esac
for tool in "$compiler" "${run[0]:-true}" javac; do
  command -v "$tool" >/dev/null || die "$tool is missing; see --help"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
jdk=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
"$compiler" -Wall -Wextra -Werror -O1 "-I$jdk/include" "-I$jdk/include/linux" "$project/tests/java/load_natives.c" \
  -o "$work/load_natives" -ldl
"${run[@]}" "$work/load_natives" "$(cache_folder)/rocksdbjni-${arguments[0]}/$rocksdb" "$output/$platform/" "$work/db"
echo passed
