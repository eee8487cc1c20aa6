#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing of the Debian packages that Protean builds with, then builds its programs and tests in build/.
# Idempotent; needs root or sudo only while packages are missing.
#
#   scripts/setup.sh [--targets=NAME,...] [ARGUMENTS OF CMAKE...]
#
#   --targets=NAME,...   build only these, such as protean_bench
#
# Arguments of cmake: -DPROTEAN_ROCKSDB_SOURCE=DIR, -DPROTEAN_SYSTEM_ROCKSDB=OFF, -DPROTEAN_NATIVE=ON,
# -DPROTEAN_ASSERTIONS=ON, ... With g++ 12, warnings are errors unless -DPROTEAN_WERROR=OFF says otherwise.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"

targets=()
parse_options --targets=NAME,... ARGUMENTS... -- "$@"
cd "$project"

# The distribution's RocksDB is wanted, unless cmake is told otherwise, now or earlier: build/ remembers.
distribution=1
remembered=()
[ ! -f build/CMakeCache.txt ] || mapfile -t remembered < <(sed -nE 's/^(PROTEAN_[A-Z_]+:[A-Z]+=)/-D\1/p' build/CMakeCache.txt)
declare -A given
for arg in "${remembered[@]}" "${arguments[@]}"; do
  [[ ! $arg =~ ^-D(PROTEAN_[A-Z_]+)(:[A-Z]+)?=(.*)$ ]] || given[${BASH_REMATCH[1]}]=${BASH_REMATCH[3]}
done
for choice in 'ROCKSDB_SOURCE=?*' 'ROCKSDB_LIBRARY=?*' SYSTEM_ROCKSDB=OFF NATIVE=ON ASSERTIONS=ON; do
  # shellcheck disable=SC2053
  [[ ${given[PROTEAN_${choice%%=*}]:-} != ${choice#*=} ]] || distribution=0
done

# The distribution's RocksDB is used if it is the version that Protean is tested with.
readonly rocksdb_package=librocksdb-dev rocksdb_version=9.10.0

say "step 1 of 3: packages"
install_packages
check_cmake
# RocksDB itself, where the distribution has the right version. Without it, RocksDB is compiled.
if command -v apt-get >/dev/null && [ $distribution = 1 ] && ! is_installed $rocksdb_package && may_install; then
  candidate=$(apt-cache policy $rocksdb_package | awk '$1 == "Candidate:" { print $2 }')
  case $candidate in
    "$rocksdb_version"-*)
      apt_install $rocksdb_package || say "$rocksdb_package cannot be installed: RocksDB is compiled instead"
      ;;
  esac
fi

say "step 2 of 3: RocksDB; seconds if it is there already, 4 to 10 minutes if it must be compiled"
# Another compiler may warn of more.
if [ -z "${given[PROTEAN_WERROR]+set}" ] && [ "$("${CXX:-c++}" -dumpversion)" = 12 ]; then
  arguments+=(-DPROTEAN_WERROR=ON)
fi
cmake -S . -B build -G Ninja "${arguments[@]}" >&2

say "step 3 of 3: building ${targets[*]:-the programs and tests}, a minute or more the first time"
build=(cmake --build build)
[ ${#targets[@]} = 0 ] || build+=(--target "${targets[@]}")
log=build/build.log
if ! "${build[@]}" 2>&1 | tee "$log" | show_progress "building"; then
  tail -n 40 "$log" >&2
  die "the build failed; log: $log"
fi
say "build/ takes $(du -sh build | cut -f 1) now, and the cache $(cache_folder), which later builds use, $(du -sh "$(cache_folder)" | cut -f 1)"
