#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Provides a built, unpatched RocksDB and prints two lines on stdout: its source tree, and a folder with its library
# (librocksdb.a or librocksdb.so) and the commands that it was compiled with (compile_commands.json).
#
#   scripts/provision_rocksdb.sh [--source=DIR] [--library=FILE] [--compile] [--assertions] [--native]
#                                [--sanitizer=NAME] [--source-only] [--headers-only]
#
#   --source=DIR      build this RocksDB tree instead of 9.10.0; the build is incremental
#   --library=FILE    compile nothing: this shared library is that RocksDB. Its exports tell how it was compiled
#   --compile         compile RocksDB even where the distribution's library would do
#   --assertions      a build with RocksDB's own asserts on, for differential and stress tests; compiled
#   --native          a build for this machine's CPU (-march=native) instead of any x86-64/arm64; compiled
#   --sanitizer=NAME  a build with -fsanitize=NAME: ThreadSanitizer must know how all code synchronizes; compiled
#   --source-only     build nothing and print the source tree alone
#   --headers-only    find out how the library would be compiled, in seconds, and build nothing
#
# Where the distribution has RocksDB 9.10.0 and its package librocksdb-dev is installed, that library is used as it is, and
# the headers that the package leaves out come from the source archive of the same version. Elsewhere the library is compiled.
#
# The tarball, the tree and the builds live in $PROTEAN_CACHE (default: protean in the user's cache folder), keyed by
# version and flags, so that a fresh clone links to a finished build in seconds. The tarball comes from Debian's source
# archive through apt, which checks it against the archive's signed index; apt's own configuration is left alone.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/apt_sources.sh"

readonly version=9.10.0
readonly debian_version=9.10.0-1
readonly debian_suite=trixie

source="" library="" compile=0 assertions=0 native=0 sanitizer="" source_only=0 headers_only=0
parse_options --source=DIR --library=FILE --compile --assertions --native --sanitizer=NAME --source-only \
  --headers-only -- "$@"
source_tree=$source
[ -z "$source$sanitizer" ] && [ $((assertions + native)) = 0 ] || compile=1

cache=$(cache_folder)

# Two builds at once would disturb each other: the second waits for the first. A tree that exists is whole, since it is
# unpacked under another name: no process waits for it.
if [ $source_only = 0 ] || { [ -z "$source_tree" ] && [ ! -f "$cache/rocksdb-$version/CMakeLists.txt" ]; }; then
  lock "$cache/.lock" "another build that uses $cache"
fi

# Fetches the upstream tarball into the cache with a private configuration of apt: its own sources and lists, and the mirrors
# that this machine already uses for its packages.
fetch_tarball() {
  local tarball=$1 apt fetched=0
  command -v apt-get >/dev/null ||
    die "fetching RocksDB needs apt (Debian); elsewhere give a source tree: cmake -DPROTEAN_ROCKSDB_SOURCE=DIR"
  # The sources themselves are read: apt lists them only once it has fetched their package lists.
  [ -n "$(apt_sources)" ] || die "apt on this machine has no package source to take a mirror from: /etc/apt/sources.list,
  /etc/apt/sources.list.d/*.list and /etc/apt/sources.list.d/*.sources name none. Add one, or copy $(basename "$tarball") from
  another machine's cache to $cache, or name a source tree: cmake -DPROTEAN_ROCKSDB_SOURCE=DIR"
  say "fetching RocksDB $version (Debian source package rocksdb $debian_version), 14 MB"
  apt=$(mktemp -d "$cache/apt.XXXXXX")
  if fetch_from_mirrors "$apt" deb-src "$debian_suite" "$(dpkg --print-architecture)" \
    source --download-only --tar-only "rocksdb=$debian_version"; then
    fetched=1
    mv "$apt"/rocksdb_"$version".orig.tar.* "$tarball"
  else
    sed 's/^/  apt: /' "$apt/log" >&2
  fi
  rm -rf "$apt"
  [ $fetched = 1 ] || die "could not fetch RocksDB $version and $cache does not hold it.
  Give this machine network access to its Debian mirror, or copy $(basename "$tarball") from another machine's cache
  to $cache, or name a source tree: cmake -DPROTEAN_ROCKSDB_SOURCE=DIR"
}

if [ -z "$source_tree" ]; then
  source_tree=$cache/rocksdb-$version
  if [ ! -f "$source_tree/CMakeLists.txt" ]; then
    tarball=$cache/rocksdb-$version.tar
    [ -f "$tarball" ] || fetch_tarball "$tarball"
    rm -rf "$source_tree.partial" && mkdir "$source_tree.partial"
    tar -xf "$tarball" -C "$source_tree.partial" --strip-components=1 ||
      die "cannot unpack $tarball; remove it and try again"
    mv "$source_tree.partial" "$source_tree"
  fi
  name=rocksdb-$version
else
  source_tree=$(realpath "$source_tree" 2>/dev/null || echo "$source_tree")
  check_source_tree "$source_tree"
  name=rocksdb-$(basename "$source_tree")-$(echo "$source_tree" | sha256sum | cut -c1-8)
fi
if [ $source_only = 1 ]; then
  echo "$source_tree"
  exit
fi

flags=(-DWITH_GFLAGS=ON -DWITH_SNAPPY=ON -DWITH_LZ4=ON -DWITH_ZSTD=ON -DWITH_ZLIB=ON -DWITH_BZ2=ON -DWITH_LIBURING=OFF
  -DWITH_NUMA=OFF -DWITH_TBB=OFF -DWITH_TESTS=OFF -DWITH_ALL_TESTS=OFF -DWITH_TOOLS=OFF -DWITH_CORE_TOOLS=OFF
  -DWITH_BENCHMARK_TOOLS=OFF -DROCKSDB_BUILD_SHARED=OFF -DUSE_RTTI=ON -DFAIL_ON_WARNINGS=OFF
  -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)
cpu=portable
if [ $native = 1 ]; then
  flags+=(-DPORTABLE=0)
  cpu=$(${CXX:-c++} -march=native -Q --help=target 2>/dev/null | sha256sum | cut -c1-8)
else
  flags+=(-DPORTABLE=1)
fi

# Prints the distribution's library of this version, if it is installed with all that is needed to link to it.
distribution_library() {
  local installed
  command -v dpkg-query >/dev/null || return 0
  installed=$(dpkg-query -W -f '${db:Status-Status} ${source:Upstream-Version}' librocksdb-dev 2>/dev/null || true)
  [ "$installed" = "installed $version" ] || return 0
  dpkg-query -L librocksdb-dev | sed -n '/\/librocksdb\.so$/p'
}

macros=""
if [ -n "$library" ]; then
  library=$(realpath "$library" 2>/dev/null || echo "$library")
  [ -f "$library" ] || die "there is no library $library"
  # Nothing is compiled or linked: what RocksDB compresses with need not be there, and its macros are given by hand.
  for option in GFLAGS SNAPPY LZ4 ZSTD ZLIB BZ2; do
    flags+=("-DWITH_$option=OFF")
  done
  macros="-DGFLAGS=1 -DSNAPPY -DLZ4 -DZSTD -DZLIB -DBZIP2 "
elif [ $compile = 0 ]; then
  library=$(distribution_library)
fi
if [ -n "$library" ]; then
  # How RocksDB was compiled decides the layout of its classes, and also which symbols it exports.
  symbols=$("$(${CXX:-c++} -print-prog-name=nm)" -D --defined-only "$library") || die "$library is not a shared library"
  how=$macros
  case $symbols in
    *GetRocksVersionAsStringB5cxx11Eb*) ;;
    *GetRocksVersionAsStringEb*) how+="-D_GLIBCXX_USE_CXX11_ABI=0 " ;;
    *) die "$library does not export RocksDB's symbols: nothing can be bound to it" ;;
  esac
  case $symbols in *SyncPoint11GetInstance*) how+=-UNDEBUG ;; *) how+=-DNDEBUG ;; esac
  case $symbols in *_ZTIN7rocksdb12TableFactoryE*) ;; *) flags+=(-DUSE_RTTI=OFF) how+=" -fno-rtti" ;; esac
  flags+=(-DCMAKE_BUILD_TYPE=None "-DCMAKE_CXX_FLAGS=$how")
elif [ $assertions = 1 ]; then
  flags+=(-DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g1")
else
  flags+=(-DCMAKE_BUILD_TYPE=Release)
fi
if [ -n "$sanitizer" ]; then
  flags+=("-DCMAKE_CXX_FLAGS=-fsanitize=$sanitizer -fno-omit-frame-pointer"
    "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -g1 -DNDEBUG")
fi
# Compiling several files in one compiler run takes half the time. Which files can be compiled so is known for these versions
# only.
unity=()
case $(rocksdb_version "$source_tree") in
  9.10.0 | 10.4.2 | 11.8.1)
    flags+=(-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12)
    unity=("-DCMAKE_PROJECT_INCLUDE=$(realpath "$(dirname "${BASH_SOURCE[0]}")")/rocksdb_unity_build.cmake")
    ;;
esac
key=$({ echo "${flags[@]}" "$cpu" "$library"; ${CXX:-c++} --version | head -n 1; } | sha256sum | cut -c1-12)
build=$cache/$name-build-$key

configure() {
  local generator=()
  command -v ninja >/dev/null && generator=(-G Ninja)
  mkdir -p "$build"
  cmake -S "$source_tree" -B "$build" "${generator[@]}" "${flags[@]}" "${unity[@]}" >"$build/configure.log" 2>&1 ||
    { tail -n 30 "$build/configure.log" >&2; die "RocksDB does not configure; log: $build/configure.log"; }
}

if [ -n "$library" ]; then
  if [ ! -e "$build/librocksdb.so" ]; then
    say "using the RocksDB in $library; finding out how it was compiled takes 20 seconds"
    configure
    ln -sf "$library" "$build/librocksdb.so"
  fi
elif [ $headers_only = 1 ]; then
  [ -f "$build/compile_commands.json" ] || configure
elif [ ! -f "$build/librocksdb.a" ] || [ -n "${source_tree##"$cache"/*}" ]; then
  say "building RocksDB in $build: 4 to 10 minutes on 2 cores, once"
  configure
  if ! cmake --build "$build" --target rocksdb --parallel "$(job_count)" 2>&1 | tee "$build/build.log" |
    show_progress "building RocksDB"; then
    tail -n 30 "$build/build.log" >&2
    die "RocksDB does not build; log: $build/build.log"
  fi
fi
echo "$source_tree"
echo "$build"
