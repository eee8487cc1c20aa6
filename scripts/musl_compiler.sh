#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Provides a C++ compiler for musl, on Debian and x86-64, and prints its folder: cmake/musl.cmake compiles with it.
#
#   scripts/musl_compiler.sh
#
# The compiler is this machine's g++, with the headers of musl (package musl-tools) and those of libstdc++ as libstdc++
# configures itself for musl. They come from the sources of the same g++, which Debian has as a package, of 80 MB. Making
# them takes 2 minutes, once; they are kept in $PROTEAN_CACHE (default: protean in the user's cache folder). There is no
# libstdc++ to link to: libraries take it from the process that they are loaded into.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
parse_options -- "$@"

specs=/usr/lib/x86_64-linux-musl/musl-gcc.specs
command -v g++ apt-get dpkg-deb >/dev/null || die "g++ or apt-get is missing: a compiler for musl is made on Debian only"
[ -f $specs ] || die "$specs is missing (Debian: apt install musl-tools)"
version=$(g++ -dumpversion)
compiler=$(cache_folder)/musl-g++-$version
lock "$compiler.lock" "another run that makes $compiler"
if [ -d "$compiler" ]; then
  echo "$compiler"
  exit
fi

work=$(mktemp -d "$compiler.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
log=$compiler.log
package=gcc-$version-source
say "fetching the sources of g++ $version (Debian package $package), 80 MB"
(cd "$work" && apt-get -q -o APT::Sandbox::User=root download "$package") >"$log" 2>&1 ||
  { tail -n 5 "$log" >&2; die "$package could not be fetched; apt-get update may help. Log: $log"; }
say "making libstdc++'s headers for musl, 2 minutes"
mkdir "$work/source" "$work/build" "$work/libgcc"
dpkg-deb --extract "$work/$package"_*.deb "$work/package"
tar -xJf "$work/package/usr/src/gcc-$version"/gcc-*.tar.xz -C "$work/source" --strip-components=1 --wildcards \
  --exclude='*/testsuite/*' '*/libstdc++-v3/*' '*/libgcc/*' '*/config/*' '*/include/*' '*/gcc/BASE-VER' \
  '*/gcc/DATESTAMP' '*/config.sub' '*/config.guess' '*/config-ml.in' '*/config.rpath' '*/install-sh' '*/ltmain.sh' '*/missing' '*/mkinstalldirs' '*/depcomp'
# What the build of gcc itself would have left there.
ln -s "$work/source/libgcc/gthr-posix.h" "$work/libgcc/gthr-default.h"
mkdir -p "$work/source/libstdc++-v3/testsuite"
touch "$work/source/libstdc++-v3/testsuite/Makefile.in"
{
  cd "$work/build" &&
    ../source/libstdc++-v3/configure --build=x86_64-linux-gnu --host=x86_64-linux-musl --prefix=/usr --disable-multilib \
      --disable-nls --disable-symvers --disable-libstdcxx-pch --with-gxx-include-dir=/c++ \
      CC="gcc -specs $specs" CXX="g++ -specs $specs -nostdinc++" CPP="gcc -specs $specs -E" &&
    make -C include DESTDIR="$work" install &&
    make -C libsupc++ DESTDIR="$work" install-data &&
    grep -q '^#define _GLIBCXX_HAS_GTHREADS 1' "$work/c++/x86_64-linux-musl/bits/c++config.h"
} >"$log" 2>&1 || { tail -n 20 "$log" >&2; die "libstdc++'s headers could not be made; log: $log"; }

# Headers of the kernel, and of what RocksDB compresses with, are the same for glibc and musl.
mkdir "$work/other"
for header in linux asm-generic x86_64-linux-gnu/asm zlib.h zconf.h bzlib.h lz4.h lz4hc.h zstd.h zdict.h zstd_errors.h snappy.h \
  snappy-sinksource.h snappy-stubs-public.h gflags; do
  [ ! -e "/usr/include/$header" ] || ln -s "/usr/include/$header" "$work/other/${header##*/}"
done
# This macro says that the C library is that of GNU.
cat >"$work/g++" <<END
#!/bin/sh
exec g++ -U__gnu_linux__ -specs $specs -nostdinc++ -isystem $compiler/c++ -isystem $compiler/c++/x86_64-linux-musl \\
  -isystem $compiler/c++/backward "\$@" -idirafter $compiler/other
END
chmod +x "$work/g++"
rm -rf "$work/source" "$work/build" "$work/libgcc" "$work/package" "$work"/*.deb
mv "$work" "$compiler"
echo "$compiler"
