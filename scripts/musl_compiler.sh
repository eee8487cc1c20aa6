#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Provides a C and a C++ compiler for musl, on Debian and x86-64, and prints their folder: cmake/musl.cmake compiles with them.
#
#   scripts/musl_compiler.sh [x86_64|aarch64]
#
# The compilers are Debian's for that CPU (default: x86_64; aarch64 needs the package g++-aarch64-linux-gnu), with musl and its
# headers, and with the headers of libstdc++ as libstdc++ configures itself for musl. The former come from Debian's packages
# musl and musl-dev for that CPU, the latter from the sources of the same g++, which Debian has as a package, of 80 MB.
# Nothing is installed. It takes 2 minutes, once for each CPU; the folder is kept in $PROTEAN_CACHE (default: protean in the
# user's cache folder). There is no libstdc++ to link to: libraries take it from the process that they are loaded into.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/apt_sources.sh"
parse_options CPU... -- "$@"
[ ${#arguments[@]} -le 1 ] || die "one CPU at a time; see --help"
cpu=${arguments[0]:-x86_64}
case $cpu in
  x86_64) architecture=amd64 ;;
  aarch64) architecture=arm64 ;;
  *) die "the CPU $cpu is not allowed; allowed: x86_64, aarch64" ;;
esac

gcc=$cpu-linux-gnu-gcc gxx=$cpu-linux-gnu-g++
for tool in apt-get dpkg-deb make; do
  command -v $tool >/dev/null || die "$tool is missing: a compiler for musl is made on Debian only"
done
command -v "$gxx" >/dev/null || die "$gxx is missing (Debian: apt install g++-${cpu/_/-}-linux-gnu)"
version=$("$gxx" -dumpversion)
compiler=$(cache_folder)/musl-$cpu-g++-$version
lock "$compiler.lock" "another run that makes $compiler"
if [ -d "$compiler" ]; then
  echo "$compiler"
  exit
fi

work=$(mktemp -d "$compiler.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
log=$compiler.log
sources=gcc-$version-source
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
[ -n "$suite" ] || die "/etc/os-release names no VERSION_CODENAME: a compiler for musl is made on Debian only"
say "fetching musl for $cpu, and the sources of g++ $version (Debian package $sources): 100 MB"
fetch_from_mirrors "$work/apt" deb "$suite" "$architecture" download musl musl-dev linux-libc-dev "$sources" ||
  { tail -n 5 "$work/apt/log" >&2; die "the packages musl, musl-dev, linux-libc-dev and $sources could not be fetched"; }

# Debian's specs make gcc use musl. They say where it is.
dpkg-deb --extract "$work/apt"/musl_*.deb "$work"
dpkg-deb --extract "$work/apt"/musl-dev_*.deb "$work"
libraries=usr/lib/$cpu-linux-musl
mv "$work/lib/$cpu-linux-musl/libc.so" "$work/$libraries/"
# $1: the folder that musl is in.
write_specs() { sed "s,/usr/\(lib\|include\)/,$1&,g" "$work/$libraries/musl-gcc.specs" >"$work/specs"; }
write_specs "$work"
# Helpers of libgcc for atomic operations call __getauxval, which is in glibc, but not in every musl.
options=""
[ $cpu != aarch64 ] || options=-mno-outline-atomics

say "making libstdc++'s headers for musl, 2 minutes"
mkdir "$work/source" "$work/build" "$work/libgcc"
dpkg-deb --extract "$work/apt/$sources"_*.deb "$work/package"
tar -xJf "$work/package/usr/src/gcc-$version"/gcc-*.tar.xz -C "$work/source" --strip-components=1 --wildcards \
  --exclude='*/testsuite/*' '*/libstdc++-v3/*' '*/libgcc/*' '*/config/*' '*/include/*' '*/gcc/BASE-VER' \
  '*/gcc/DATESTAMP' '*/config.sub' '*/config.guess' '*/config-ml.in' '*/config.rpath' '*/install-sh' '*/ltmain.sh' '*/missing' '*/mkinstalldirs' '*/depcomp'
# What the build of gcc itself would have left there.
ln -s "$work/source/libgcc/gthr-posix.h" "$work/libgcc/gthr-default.h"
mkdir -p "$work/source/libstdc++-v3/testsuite"
touch "$work/source/libstdc++-v3/testsuite/Makefile.in"
# Here gcc compiles C++, too, as in the build of gcc itself: g++ would link to the libstdc++ for glibc.
use_musl="$gcc -specs $work/specs $options"
{
  cd "$work/build" &&
    ../source/libstdc++-v3/configure --build=x86_64-linux-gnu --host="$cpu-linux-musl" --prefix=/usr --disable-multilib \
      --disable-nls --disable-symvers --disable-libstdcxx-pch --with-gxx-include-dir=/c++ \
      CC="$use_musl" CXX="$use_musl -nostdinc++" CPP="$use_musl -E" &&
    make -C include DESTDIR="$work" install &&
    make -C libsupc++ DESTDIR="$work" install-data &&
    [ "$(grep -cE '^#define _GLIBCXX_(HAS_GTHREADS|ATOMIC_BUILTINS|HAVE_POLL) 1' \
      "$work/c++/$cpu-linux-musl/bits/c++config.h")" = 3 ]
} >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "libstdc++'s headers could not be made; log: $log"; }

# Headers of the kernel are the same for glibc and musl, and so are those of what RocksDB compresses with.
dpkg-deb --extract "$work/apt"/linux-libc-dev_*.deb "$work"
mkdir "$work/other"
for header in linux asm-generic "$cpu-linux-gnu/asm"; do
  ln -s "../usr/include/$header" "$work/other/${header##*/}"
done
for header in zlib.h zconf.h bzlib.h lz4.h lz4hc.h zstd.h zdict.h zstd_errors.h snappy.h snappy-sinksource.h \
  snappy-stubs-public.h gflags; do
  [ ! -e "/usr/include/$header" ] || ln -s "/usr/include/$header" "$work/other/${header##*/}"
done
# This macro says that the C library is that of GNU.
cat >"$work/g++" <<END
#!/bin/sh
exec $gxx -U__gnu_linux__ -specs $compiler/specs $options -nostdinc++ \\
  -isystem $compiler/c++ -isystem $compiler/c++/$cpu-linux-musl -isystem $compiler/c++/backward "\$@" -idirafter $compiler/other
END
cat >"$work/gcc" <<END
#!/bin/sh
exec $gcc -U__gnu_linux__ -specs $compiler/specs $options "\$@"
END
chmod +x "$work/g++" "$work/gcc"
write_specs "$compiler"
rm -rf "$work/source" "$work/build" "$work/libgcc" "$work/package" "$work/apt" "$work/lib" "$work/etc"
mv "$work" "$compiler"
echo "$compiler"
