#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds Protean for another CPU with Debian's cross compiler, in a minimal Debian of its own, and runs it there under QEMU's
# emulation of that CPU: no such machine is needed.
#
#   scripts/platform_room.sh arm64|s390x [bookworm|trixie] [build|golden|test|exchange|packages...]
#
# The default is trixie, whose RocksDB is linked to; for bookworm, RocksDB is compiled. The commands, of which the default is
# golden and exchange:
#
#   build      builds the libraries and the command protean
#   golden     the filter blocks that every platform must write byte for byte, and read
#   test       the tests of all filters, and some of the DB
#   exchange   builds Protean here as well; each of the two writes a DB that the other one reads
#   packages   makes Debian packages (trixie only), which are installed and removed again
#
# Says what it does before it does it. Making a room takes a minute and 1.2 GB, which are mostly the cross compiler;
# compiling RocksDB about 10 minutes, Protean with its tests 5 to 8, on 2 cores.
# Tests take about 15 times as long as they do without emulation. Rooms are kept in $PROTEAN_CACHE (default: protean in the
# user's cache folder), builds in build/RELEASE-CPU. Needs root, and the package mmdebstrap, which it installs where it is
# missing.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/rooms.sh"

arch="" release=trixie commands=()
parse_options 'arm64|s390x|bookworm|trixie|build|golden|test|exchange|packages...' -- "$@"
for argument in "${arguments[@]}"; do
  case $argument in
    arm64 | s390x) arch=$argument ;;
    bookworm | trixie) release=$argument ;;
    build | golden | test | exchange | packages) commands+=("$argument") ;;
    *) die "unknown argument '$argument'; known: arm64 s390x bookworm trixie build golden test exchange packages --help" ;;
  esac
done
[ -n "$arch" ] || die "for which CPU? arm64 or s390x"
[ ${#commands[@]} -gt 0 ] || commands=(golden exchange)
[ "$(id -u)" = 0 ] || die "making a room takes root: sudo $0 $*"
case $arch in arm64) cpu=aarch64 ;; *) cpu=$arch ;; esac

cd "$project"
room=$(cache_folder)/room-$release-$arch
build=build/$release-$arch
golden=(golden_test)
# Tests of the DB that are short.
db_tests=(exchanged_db_test filter_parts_db_test partition_read_options_test filter_statistics_test reads_test count_test
  may_exist_test options_file_test)
mapfile -t filter_tests < <(find tests/filter_policy -name '*_test.cc' -exec basename {} .cc \; | sort)

furnish() {
  local packages=(cmake ninja-build "g++-$cpu-linux-gnu" qemu-user dpkg-dev file lintian libcli11-dev help2man
    nlohmann-json3-dev python3 xz-utils ca-certificates debian-archive-keyring)
  local libraries=(libgflags-dev libsnappy-dev liblz4-dev libzstd-dev libbz2-dev zlib1g-dev libgtest-dev libbenchmark-dev)
  [ "$release" != trixie ] || libraries+=(librocksdb-dev)
  prepare_rooms
  say "making a minimal $release in $room, with ${packages[*]}, and for $arch ${libraries[*]}"
  packages+=("${libraries[@]/%/:$arch}")
  mmdebstrap --quiet --variant=minbase --architectures="$(dpkg --print-architecture),$arch" \
    --include="$(IFS=, && echo "${packages[*]}")" "$release" "$room.partial" "$mirror" >&2 ||
    { rm -rf --one-file-system "$room.partial"; die "no room could be made of $mirror; the reason is given above"; }
  mv "$room.partial" "$room"
}

# Runs a command in the project, in the room.
there() {
  enter "$room" env -C "$project" HOME=/root "CMAKE_TOOLCHAIN_FILE=$project/cmake/foreign.cmake" "PROTEAN_CPU=$cpu" \
    "CC=$cpu-linux-gnu-gcc" "CXX=$cpu-linux-gnu-g++" "DEB_HOST_ARCH=$arch" "$@"
}

build() {
  say "building $*"
  there cmake --build "$build" --parallel "$(job_count)" --target "$@" | show_progress "building"
}

run_tests() {
  build "$@"
  there ctest --test-dir "$build" --output-on-failure --parallel "$(job_count)" -R "^($(IFS='|' && echo "$*"))\$"
}

# Two at once would share the machine and the folders of builds.
lock "$(cache_folder)/rooms.lock" "another run in a room"
shared=$project
[ -d "$room" ] || furnish
connect "$room"
say "configuring $build"
there cmake -S . -B "$build" -G Ninja -DCMAKE_INSTALL_PREFIX=/usr "-DCMAKE_INSTALL_LIBDIR=lib/$cpu-linux-gnu" >&2

for command in "${commands[@]}"; do
  case $command in
    build) build protean protean_shared protean_loader protean_tool ;;
    golden) run_tests "${golden[@]}" ;;
    test) run_tests "${filter_tests[@]}" "${db_tests[@]}" ;;
    exchange)
      scripts/setup.sh --targets=exchanged_db_test
      build exchanged_db_test
      folder=$build/exchange
      rm -rf "$folder" && mkdir -p "$folder"
      here=(env "PROTEAN_EXCHANGED=$folder/here" build/exchanged_db_test)
      foreign=(there env "PROTEAN_EXCHANGED=$folder/there" "qemu-$cpu" "$build/exchanged_db_test")
      say "this machine writes, $arch reads"
      "${here[@]}"
      cp -r "$folder/here" "$folder/there"
      "${foreign[@]}"
      rm -rf "$folder/here" "$folder/there"
      say "$arch writes, this machine reads"
      "${foreign[@]}"
      cp -r "$folder/there" "$folder/here"
      "${here[@]}"
      ;;
    packages)
      there scripts/debian_packages.sh --build="$build"
      say "installing the packages in the room"
      there dpkg --install "$build"/packages/*.deb >&2
      there "qemu-$cpu" /usr/bin/protean help >/dev/null
      there dpkg --remove protean-tools libprotean-dev libprotean >&2
      ;;
  esac
done
say "passed: $arch, $release: ${commands[*]}"
