# SPDX-License-Identifier: Apache-2.0
# RocksDB source trees of versions that no Debian has, from the Rust crates that carry them. Sourced after common.sh.

# The crates that carry these versions, each in a folder rocksdb/.
declare -A rocksdb_crates=(
  [10.1.3]="rust-librocksdb-sys =0.36.0"
  [10.4.2]="librocksdb-sys =0.17.3"
  [10.10.1]="rust-librocksdb-sys =0.42.0"
  [11.8.1]="librocksdb-sys =0.19.0")

# Fetches RocksDB $1 into the folder $2, from the crate that carries it, unless the folder exists. $3: what to do if that
# fails.
fetch_rocksdb_crate() {
  local version=$1 tree=$2 without=$3 crate requirement package manifest
  [ ! -d "$tree" ] || return 0
  [ -n "${rocksdb_crates[$version]:-}" ] || die "no crate is known that carries RocksDB $version; known: ${!rocksdb_crates[*]}"
  read -r crate requirement <<<"${rocksdb_crates[$version]}"
  command -v cargo >/dev/null || die "fetching RocksDB $version needs cargo, Rust's package manager (Debian: apt install cargo).
  $without"
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
  if ! cargo metadata --format-version 1 --manifest-path "$package/Cargo.toml" >"$package/metadata" 2>"$package/log"; then
    sed 's/^/  cargo: /' "$package/log" >&2
    rm -rf "$package"
    die "could not fetch RocksDB $version. Give this machine access to the registry of crates, or:
  $without"
  fi
  manifest=$(grep -o "\"manifest_path\":\"[^\"]*/$crate-${requirement#=}[^\"]*/Cargo.toml\"" "$package/metadata" | cut -d'"' -f4)
  cp -R "$(dirname "$manifest")/rocksdb" "$package/rocksdb"
  chmod -R u+w "$package/rocksdb"
  [ "$(rocksdb_version "$package/rocksdb")" = "$version" ] ||
    die "the crate $crate ${requirement#=} does not carry RocksDB $version"
  settle "$package/rocksdb" "$tree"
  rm -rf "$package"
}
