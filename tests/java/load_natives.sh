#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tries native libraries for Java that plugin/java/build_native.sh has built, without a Java VM: binds them to RocksDB's library,
# which then writes and reads a DB with a range filter (load_natives.c).
#
#   tests/java/load_natives.sh [--output=DIR] [--platform=NAME] [--libraries=DIR] VERSION
#
#   --output=DIR     where the libraries are; default: plugin/java/target/native
#   --platform=NAME  linux-x86_64 (the default), linux-aarch64, linux-x86_64-musl or linux-aarch64-musl
#   --libraries=DIR  with musl: a folder with ld-musl-CPU.so.1, libstdc++.so.6 and libgcc_s.so.1, as Alpine Linux has them
#                    in /lib and /usr/lib. Debian's package musl has the first one, and Python's wheels for musllinux have
#                    the others under longer names. Where those have DT_RELR, Debian 12's musl 1.2.3 is too old
#   VERSION          of rocksdbjni
#
# Programs for aarch64 run under QEMU's emulation (Debian: apt install qemu-user g++-aarch64-linux-gnu). For musl,
# scripts/musl_compiler.sh makes the compiler.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
output=$project/plugin/java/target/native platform=linux-x86_64 libraries=""
parse_options --output=DIR '--platform=linux-x86_64|linux-aarch64|linux-x86_64-musl|linux-aarch64-musl' \
  --libraries=DIR VERSION... -- "$@"
[ ${#arguments[@]} = 1 ] || die "one VERSION is needed; see --help"

compiler=cc rocksdb=librocksdbjni-linux64.so run=() cpu=""
case $platform in
  linux-aarch64)
    compiler=aarch64-linux-gnu-gcc rocksdb=librocksdbjni-linux-aarch64.so run=(qemu-aarch64 -L /usr/aarch64-linux-gnu)
    ;;
  linux-x86_64-musl) cpu=x86_64 rocksdb=librocksdbjni-linux64-musl.so ;;
  linux-aarch64-musl) cpu=aarch64 rocksdb=librocksdbjni-linux-aarch64-musl.so run=(qemu-aarch64) ;;
esac
if [ -n "$cpu" ]; then
  for library in ld-musl-$cpu.so.1 libstdc++.so.6 libgcc_s.so.1; do
    [ -f "$libraries/$library" ] || die "--libraries=DIR is needed with musl, a folder with $library; see --help"
  done
  compiler=$("$project/scripts/musl_compiler.sh" $cpu)/gcc
  run+=("$libraries/ld-musl-$cpu.so.1" --library-path "$libraries")
fi
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
