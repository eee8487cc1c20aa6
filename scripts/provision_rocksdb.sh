#!/usr/bin/env bash
# Provides a built, unpatched RocksDB and prints two lines on stdout: its source tree and its build folder.
#
#   scripts/provision_rocksdb.sh [--source=DIR] [--assertions] [--native] [--source-only]
#
#   --source=DIR   build this RocksDB tree instead of the one from Debian's source archive; the build is incremental
#   --assertions   a build with RocksDB's own asserts on, for differential and stress tests
#   --native       compile for this machine's CPU (-march=native) instead of any x86-64/arm64
#   --source-only  build nothing and print the source tree alone
#
# The tarball, the tree and the builds live in $PROTEAN_CACHE (default: protean in the user's cache folder), keyed by
# version and flags, so that a fresh clone links to a finished build in seconds. The tarball comes from Debian's source
# archive through apt, which checks it against the archive's signed index; apt's own configuration is left alone.
set -euo pipefail

readonly version=9.10.0
readonly debian_version=9.10.0-1
readonly debian_suite=trixie

say() { echo "$*" >&2; }
die() { say "provision_rocksdb: $*"; exit 1; }

source_tree="" assertions=0 native=0 source_only=0
for arg in "$@"; do
  case $arg in
    --source=*) source_tree=${arg#--source=} ;;
    --assertions) assertions=1 ;;
    --native) native=1 ;;
    --source-only) source_only=1 ;;
    *) die "unknown argument '$arg'; known: --source=DIR --assertions --native --source-only" ;;
  esac
done

cache=${PROTEAN_CACHE:-${XDG_CACHE_HOME:-${HOME:?set HOME or PROTEAN_CACHE}/.cache}/protean}
mkdir -p "$cache" || die "cannot create the cache folder $cache; choose another with PROTEAN_CACHE"

# Two builds started at once would tread on each other: the second waits for the first. A tree that is there is whole,
# since it is unpacked under another name: nobody need wait for it.
if [ $source_only = 0 ] || { [ -z "$source_tree" ] && [ ! -f "$cache/rocksdb-$version/CMakeLists.txt" ]; }; then
  exec 9>"$cache/.lock"
  flock -n 9 || { say "waiting for another build that uses $cache"; flock 9; }
fi

# Fetches the upstream tarball into the cache with a private apt: own sources, own lists, the mirrors that this machine
# already uses for its packages.
fetch_tarball() {
  local tarball=$1 apt mirror mirrors
  command -v apt-get >/dev/null ||
    die "fetching RocksDB needs apt (Debian); elsewhere give a source tree: cmake -DPROTEAN_ROCKSDB_SOURCE=DIR"
  # Read from the sources themselves: apt tells of them only once it has fetched their lists.
  mirrors=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
    sed -nE -e 's/^deb +(\[[^]]*\] +)?([a-z+]+:[^ ]+) .*/\2/p' -e 's/^URIs: *([^ ]+).*/\1/p' |
    sed 's,/*$,/,' | awk '!seen[$0]++')
  [ -n "$mirrors" ] || die "apt on this machine has no package sources in /etc/apt to take a mirror from"
  apt=$(mktemp -d "$cache/apt.XXXXXX")
  mkdir -p "$apt/lists/partial" "$apt/parts" "$apt/archives/partial"
  for mirror in $mirrors; do
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $debian_suite main" \
      >"$apt/sources.list"
    local options=(-q -o "Dir::Etc::SourceList=$apt/sources.list" -o "Dir::Etc::SourceParts=$apt/parts"
      -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache::Archives=$apt/archives" -o Dir::Cache::srcpkgcache=
      -o Dir::Cache::pkgcache= -o APT::Sandbox::User=root -o Acquire::Retries=2 -o APT::Update::Error-Mode=any)
    say "fetching RocksDB $version (Debian source package rocksdb $debian_version)"
    if apt-get "${options[@]}" update >"$apt/log" 2>&1 &&
      (cd "$apt" && apt-get "${options[@]}" source --download-only --tar-only "rocksdb=$debian_version") \
        >>"$apt/log" 2>&1; then
      mv "$apt"/rocksdb_"$version".orig.tar.* "$tarball"
      rm -rf "$apt"
      return
    fi
    sed 's/^/  apt: /' "$apt/log" >&2
  done
  rm -rf "$apt"
  die "could not fetch RocksDB $version and $cache does not hold it.
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
  [ -f "$source_tree/include/rocksdb/version.h" ] || die "$source_tree is not a RocksDB source tree"
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
if [ $assertions = 1 ]; then
  flags+=(-DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g1")
else
  flags+=(-DCMAKE_BUILD_TYPE=Release)
fi
cpu=portable
if [ $native = 1 ]; then
  flags+=(-DPORTABLE=0)
  cpu=$(${CXX:-c++} -march=native -Q --help=target 2>/dev/null | sha256sum | cut -c1-8)
else
  flags+=(-DPORTABLE=1)
fi
key=$({ echo "${flags[@]}" "$cpu"; ${CXX:-c++} --version | head -n 1; } | sha256sum | cut -c1-12)
build=$cache/$name-build-$key

if [ ! -f "$build/librocksdb.a" ] || [ -n "${source_tree##"$cache"/*}" ]; then
  say "building RocksDB in $build (about 10 minutes on 2 cores, once)"
  generator=(); command -v ninja >/dev/null && generator=(-G Ninja)
  mkdir -p "$build"
  cmake -S "$source_tree" -B "$build" "${generator[@]}" "${flags[@]}" >"$build/configure.log" 2>&1 ||
    { tail -n 30 "$build/configure.log" >&2; die "RocksDB does not configure; log: $build/configure.log"; }
  # Every tenth step of the progress: enough to see it move, little enough for a log.
  cmake --build "$build" --target rocksdb --parallel "${PROTEAN_JOBS:-$(nproc)}" 2>&1 | tee "$build/build.log" |
    sed -un -e "/^\[[0-9]*[0-9]0\//p" -e "/error/p" >&2
  [ -f "$build/librocksdb.a" ] ||
    { tail -n 30 "$build/build.log" >&2; die "RocksDB does not build; log: $build/build.log"; }
fi
echo "$source_tree"
echo "$build"
