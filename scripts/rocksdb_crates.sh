# SPDX-License-Identifier: Apache-2.0
# RocksDB source trees of versions that no Debian has, from the Rust crates that carry them. Sourced after common.sh.

# The crates that carry these versions, each in a folder rocksdb/.
declare -A rocksdb_crates=(
  [10.1.3]="rust-librocksdb-sys =0.36.0"
  [10.4.2]="librocksdb-sys =0.17.3"
  [10.10.1]="rust-librocksdb-sys =0.42.0"
  [11.8.1]="librocksdb-sys =0.19.0")
# The versions that Protean is tested with, besides 9.10.0.
tested_crates=(10.4.2 11.8.1)

# Runs cargo: the one in PATH, or else Debian's, which is unpacked in the cache. Its package asks for a compiler of 400 MB,
# which is left out.
run_cargo() {
  if command -v cargo >/dev/null; then
    cargo "$@"
    return
  fi
  local root partial package
  root=$(cache_folder)/cargo
  if [ ! -d "$root" ]; then
    command -v apt-get >/dev/null || { echo "there is no cargo in PATH, and no apt to get it with" >&2; return 1; }
    compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null || as_root "to read the lists of packages" apt-get -q update >&2
    # Debian 12 has two; the one that is called cargo is too old for the registry.
    package=cargo-web
    apt-cache policy $package | grep 'Candidate: [^(]' >/dev/null || package=cargo
    partial=$(mktemp -d "$root.XXXXXX")
    (cd "$partial" &&
      apt-get -s install --no-install-recommends $package |
      awk '$1 == "Inst" && $2 !~ /^(rustc|libstd-rust|lib(llvm|clang)|llvm|clang|lld)/ { print $2 }' | xargs apt-get -q download &&
      for package in *.deb; do dpkg-deb -x "$package" unpacked || return 1; done) >&2 ||
      { rm -rf "$partial"; return 1; }
    settle "$partial/unpacked" "$root"
    rm -rf "$partial"
  fi
  LD_LIBRARY_PATH=$(echo "$root"/usr/lib/*-linux-gnu*) "$root/usr/bin/cargo" "$@"
}

# Fetches RocksDB $1 into the folder $2, from the crate that carries it, unless the folder exists. $3: what to do if that
# fails.
fetch_rocksdb_crate() {
  local version=$1 tree=$2 without=$3 crate requirement package
  [ ! -d "$tree" ] || return 0
  [ -n "${rocksdb_crates[$version]:-}" ] || die "no crate is known that carries RocksDB $version; known: ${!rocksdb_crates[*]}"
  read -r crate requirement <<<"${rocksdb_crates[$version]}"
  say "fetching RocksDB $version (crate $crate ${requirement#=}), 12 MB"
  package=$(mktemp -d "$tree.crate.XXXXXX")
  mkdir "$package/src"
  : >"$package/src/lib.rs"
  cat >"$package/Cargo.toml" <<EOF_CARGO
[package]
name = "fetch-rocksdb"
version = "0.0.0"
edition = "2021"

[dependencies]
$crate = { version = "$requirement", default-features = false }
EOF_CARGO
  # Other commands of cargo need a Rust compiler.
  if ! (cd "$package" && run_cargo vendor) >/dev/null 2>"$package/log"; then
    sed 's/^/  cargo: /' "$package/log" >&2
    rm -rf "$package"
    die "could not fetch RocksDB $version. Give this machine access to the registry of crates, or:
  $without"
  fi
  [ "$(rocksdb_version "$package/vendor/$crate/rocksdb")" = "$version" ] ||
    die "the crate $crate ${requirement#=} does not carry RocksDB $version"
  settle "$package/vendor/$crate/rocksdb" "$tree"
  rm -rf "$package"
}
