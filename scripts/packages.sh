# SPDX-License-Identifier: Apache-2.0
# The Debian packages that Protean is built with. Sourced after common.sh.
#
#   install_packages [PACKAGE...]   installs the missing ones of them and of the given ones; needs root or sudo only then
#   may_install                     true if packages can be installed: as root, or with sudo
#   install_optional PACKAGE...     installs those that the distribution has, if packages can be installed
#   is_installed PACKAGE
#   check_cmake                     ends the script if there is no cmake in PATH
#
# Without apt, install_packages only checks that there is a cmake, and takes the other packages for installed, too.

build_packages=(cmake ninja-build g++ tar gzip xz-utils ca-certificates debian-archive-keyring libgflags-dev libsnappy-dev
  liblz4-dev libzstd-dev libbz2-dev zlib1g-dev libgtest-dev libbenchmark-dev libcli11-dev help2man
  nlohmann-json3-dev python3)

is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
may_install() { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null; }

# Installs packages, from the lists that apt has, and says so first.
apt_install() {
  announce "$@"
  as_root "to install packages" env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "$@" >&2
}

install_packages() {
  local wanted=("${build_packages[@]}" "$@") missing=() package
  if ! command -v apt-get >/dev/null; then
    command -v cmake >/dev/null ||
      die "packages are installed with apt (Debian). Elsewhere, install the equivalents of these: ${wanted[*]}"
    return
  fi
  for package in "${wanted[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  may_install || die "root or sudo is needed to install these packages: ${missing[*]}"
  as_root "to install packages" apt-get -q update >&2
  apt_install "${missing[@]}"
}

# Says what is about to be installed: the packages, and what they need. With --print-uris, apt installs nothing, and needs no
# root.
announce() {
  local needs
  needs=$(needs_of "$(LC_ALL=C apt-get --print-uris install --no-install-recommends "$@" 2>&1 || true)")
  say "installing $*; with what they need: ${needs:-apt does not say how much}"
}

# How much apt would install, from its output $1; empty if it does not say.
needs_of() {
  sed -nE 's/^([0-9]+) upgraded, ([0-9]+) newly installed.*/\1 \2/p
    s/^After this operation, ([0-9.]+ [kMG]?B) of additional disk space will be used.*/size \1/p' <<<"$1" |
    awk '$1 == "size" { print packages ", " $2, $3; next } { packages = ($1 + $2) " packages" }'
}

check_cmake() {
  command -v cmake >/dev/null || die "cmake is not in PATH, which is $PATH; add the folder that it is in, such as /usr/bin"
}

# Installs packages without which a few tests are skipped.
install_optional() {
  local missing=() package
  command -v apt-get >/dev/null && may_install || return 0
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null || as_root "to install packages" apt-get -q update >&2
  for package in "${missing[@]}"; do
    # grep reads to the end: apt-cache must not be cut off.
    apt-cache policy "$package" | grep 'Candidate: [^(]' >/dev/null || continue
    apt_install "$package" || say "$package cannot be installed: the tests that need it are skipped"
  done
}
