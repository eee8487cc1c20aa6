#!/usr/bin/env bash
# Installs what is missing of the Debian packages that Protean builds with, then builds its programs and tests in build/.
# Idempotent; needs root or sudo only while packages are missing.
#
#   scripts/setup.sh [--targets=NAME,...] [ARGUMENTS OF CMAKE...]
#
#   --targets   build these alone, such as protean_bench
#
# For cmake: -DPROTEAN_ROCKSDB_SOURCE=DIR, -DPROTEAN_SYSTEM_ROCKSDB=OFF, -DPROTEAN_NATIVE=ON, -DPROTEAN_ASSERTIONS=ON, ...
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

targets=() cmake_arguments=()
for arg in "$@"; do
  case $arg in
    --targets=*) IFS=, read -r -a targets <<<"${arg#--targets=}" ;;
    *) cmake_arguments+=("$arg") ;;
  esac
done

# The distribution's RocksDB is wanted, unless cmake is told otherwise, or was, in which case build/ remembers.
distribution=1
remembered=()
[ ! -f build/CMakeCache.txt ] || mapfile -t remembered < <(sed -nE 's/^(PROTEAN_[A-Z_]+:[A-Z]+=)/-D\1/p' build/CMakeCache.txt)
declare -A given
for arg in "${remembered[@]}" "${cmake_arguments[@]}"; do
  [[ ! $arg =~ ^-D(PROTEAN_[A-Z_]+)(:[A-Z]+)?=(.*)$ ]] || given[${BASH_REMATCH[1]}]=${BASH_REMATCH[3]}
done
for choice in 'ROCKSDB_SOURCE=?*' 'ROCKSDB_LIBRARY=?*' SYSTEM_ROCKSDB=OFF NATIVE=ON ASSERTIONS=ON; do
  # shellcheck disable=SC2053
  [[ ${given[PROTEAN_${choice%%=*}]:-} != ${choice#*=} ]] || distribution=0
done

packages=(cmake ninja-build g++ tar gzip xz-utils ca-certificates debian-archive-keyring libgflags-dev libsnappy-dev
  liblz4-dev libzstd-dev libbz2-dev zlib1g-dev libgtest-dev libbenchmark-dev nlohmann-json3-dev python3
  python3-matplotlib)
# The distribution's RocksDB is taken if it is the version that Protean is tested with.
readonly rocksdb_package=librocksdb-dev rocksdb_version=9.10.0

is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
may_install() { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null; }

command -v apt-get >/dev/null || command -v cmake >/dev/null ||
  die "packages are installed with apt (Debian). Elsewhere, install the equivalents of these: ${packages[*]}"

if command -v apt-get >/dev/null; then
  missing=()
  for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
  install=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends)
  if [ ${#missing[@]} -gt 0 ]; then
    may_install || die "root or sudo is needed to install these packages: ${missing[*]}"
    say "step 1 of 3: installing ${#missing[@]} packages, about a minute: ${missing[*]}"
    as_root "to install packages" apt-get -q update >&2
    as_root "to install packages" "${install[@]}" "${missing[@]}" >&2
  fi
  # RocksDB itself, where the distribution has the right version. Without it, RocksDB is compiled.
  if [ $distribution = 1 ] && ! is_installed $rocksdb_package && may_install; then
    candidate=$(apt-cache policy $rocksdb_package | awk '$1 == "Candidate:" { print $2 }')
    case $candidate in
      "$rocksdb_version"-*)
        as_root "to install packages" "${install[@]}" $rocksdb_package >&2 ||
          say "$rocksdb_package cannot be installed: RocksDB is compiled instead"
        ;;
    esac
  fi
fi

say "step 2 of 3: RocksDB; seconds if it is there already, 4 to 10 minutes if it must be compiled"
cmake -S . -B build -G Ninja "${cmake_arguments[@]}" >&2

say "step 3 of 3: building ${targets[*]:-the programs and tests}, a minute or more the first time"
build=(cmake --build build)
[ ${#targets[@]} = 0 ] || build+=(--target "${targets[@]}")
log=build/build.log
if ! "${build[@]}" 2>&1 | tee "$log" | show_progress "building"; then
  tail -n 40 "$log" >&2
  die "the build failed; log: $log"
fi
