#!/usr/bin/env bash
# Installs what is missing of the Debian packages that Protean builds with, then builds its programs and tests in build/.
# Idempotent; needs root or sudo only while packages are missing. Further arguments go to cmake, such as
# -DPROTEAN_ROCKSDB_SOURCE=DIR, -DPROTEAN_NATIVE=ON or -DPROTEAN_ASSERTIONS=ON.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(cmake ninja-build g++ tar gzip xz-utils ca-certificates debian-archive-keyring libgflags-dev libsnappy-dev
  liblz4-dev libzstd-dev libbz2-dev zlib1g-dev libgtest-dev libbenchmark-dev nlohmann-json3-dev python3
  python3-matplotlib)

missing=()
for package in "${packages[@]}"; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "installing: ${missing[*]}" >&2
  as_root=(env DEBIAN_FRONTEND=noninteractive)
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "setup: root or sudo is needed to install: ${missing[*]}" >&2; exit 1; }
    as_root=(sudo "${as_root[@]}")
  fi
  "${as_root[@]}" apt-get -q update >&2
  "${as_root[@]}" apt-get -q -y install --no-install-recommends "${missing[@]}" >&2
fi

cmake -S . -B build -G Ninja "$@" >&2
cmake --build build >&2
