#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes Debian packages in packages/ of the build, and checks them with lintian, which must find no error. Where the
# distribution has RocksDB 9.10.0, as Debian 13 does, they are libprotean, libprotean-dev and protean-tools. Elsewhere, there is
# no RocksDB for the libraries to bind to, and protean-tools is the only one: the command, with RocksDB 9.10.0 linked in.
#
#   scripts/debian_packages.sh [--build=DIR]
#
#   --build=DIR   do not set up build/ but take this build, which is configured for /usr; scripts/platform_room.sh does
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
build=build
parse_options --build=DIR -- "$@"
cd "$project"

tools=(protean_tool manual)
libraries=(protean protean_shared protean_loader protean_sets)
binds_to_distribution() { grep -q '^PROTEAN_FOUND_SHARED_ROCKSDB:INTERNAL=1' "$build/CMakeCache.txt"; }
if [ "$build" = build ]; then
  # Before the build, which takes minutes.
  install_packages lintian dpkg-dev file
  scripts/setup.sh --targets="$(IFS=, && echo "${tools[*]}")" -DCMAKE_INSTALL_PREFIX=/usr
else
  cmake --build "$build" --target "${tools[@]}" | show_progress "building"
fi
packages=(protean-tools)
if binds_to_distribution; then
  cmake --build "$build" --target "${libraries[@]}" | show_progress "building the libraries"
  packages+=(libprotean)
else
  say "the distribution's RocksDB is not 9.10.0, or build/ is set to another one (PROTEAN_SYSTEM_ROCKSDB, PROTEAN_ROCKSDB_SOURCE," \
    "PROTEAN_ROCKSDB_LIBRARY): no package with libraries is made"
fi

rm -rf "$build/packages"
(cd "$build" && cpack -G DEB) >&2
rm -rf "$build/packages/_CPack_Packages"
lintian --fail-on error --tag-display-limit 0 "$build"/packages/*.deb || die "lintian finds errors"
for package in "$build"/packages/*.deb; do
  say "$package:"
  dpkg-deb --info "$package" | sed -n 's/^ \(Package\|Version\|Depends\|Installed-Size\)/  \1/p' >&2
  dpkg-deb --contents "$package" | awk '$1 !~ /^d/ { print "  " $6, $7, $8 }' >&2
done
say "passed; to install them: sudo apt install$(printf " ./$build/packages/%s_*.deb" "${packages[@]}")"
