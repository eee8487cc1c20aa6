#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes Debian packages for the RocksDB of the distribution, which must have 9.10.0, as Debian 13 does: libprotean,
# libprotean-dev and protean-tools, in packages/ of the build. Checks them with lintian, which must find no error.
#
#   scripts/debian_packages.sh [--build=DIR]
#
#   --build=DIR   do not set up build/ but take this build, which is configured for /usr; scripts/platform_room.sh does
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
build=build
parse_options --build=DIR -- "$@"
cd "$project"

targets=(protean protean_shared protean_loader protean_sets protean_tool manual)
if [ "$build" = build ]; then
  # Before the build, which takes minutes.
  install_packages lintian dpkg-dev file
  scripts/setup.sh --targets="$(IFS=, && echo "${targets[*]}")" -DCMAKE_INSTALL_PREFIX=/usr
else
  cmake --build "$build" --target "${targets[@]}" | show_progress "building"
fi
grep -q '^PROTEAN_FOUND_SHARED_ROCKSDB:INTERNAL=1' "$build/CMakeCache.txt" ||
  die "packages are for a distribution that has RocksDB 9.10.0, as Debian 13 does; this one has not, or build/ is set to another:" \
    "scripts/setup.sh -DPROTEAN_SYSTEM_ROCKSDB=ON -DPROTEAN_ROCKSDB_SOURCE= -DPROTEAN_ROCKSDB_LIBRARY="

rm -rf "$build/packages"
(cd "$build" && cpack -G DEB) >&2
rm -rf "$build/packages/_CPack_Packages"
lintian --fail-on error --tag-display-limit 0 "$build"/packages/*.deb || die "lintian finds errors"
for package in "$build"/packages/*.deb; do
  say "$package:"
  dpkg-deb --info "$package" | sed -n 's/^ \(Package\|Version\|Depends\|Installed-Size\)/  \1/p' >&2
  dpkg-deb --contents "$package" | awk '$1 !~ /^d/ { print "  " $6, $7, $8 }' >&2
done
say "passed; to install the command and the library: sudo apt install ./$build/packages/libprotean_*.deb ./$build/packages/protean-tools_*.deb"
