#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs Debian packages that scripts/debian_packages.sh has made on a machine that has nothing else, and uses them with the
# distribution's own RocksDB and its tools: with those of a version that has no libraries of Protean, the command alone. Run by
# scripts/clean_room.sh; changes the machine that it runs on.
#
#   packages_test.sh FOLDER    which has the packages
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/common.sh"
parse_options FOLDER -- "$@"

packages=$(realpath "$1")
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
cd "$(mktemp -d)"
run() {
  echo "+ $*"
  "$@"
}

as_root "to install packages" apt-get -q update
libraries=()
! compgen -G "$packages/libprotean_*.deb" >/dev/null || libraries=("$packages"/libprotean_*.deb)
run as_root "to install packages" env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "${libraries[@]}" \
  "$packages"/protean-tools_*.deb rocksdb-tools

if [ ${#libraries[@]} = 0 ]; then
  # A DB of the distribution's RocksDB, of which the command says which filters it should have.
  run protean --version
  run db_bench --db=db --benchmarks=fillrandom,flush --num=100000 --value_size=100 >/dev/null
  run protean inspect --db=db | tail -n 3
  # Ranges between keys, which are numbers, big-endian, with zeros after them.
  for ((i = 0; i < 1000; i++)); do printf '0x%016x31\t0x%016x32\n' $((i * 100)) $((i * 100)); done >queries
  run protean advise --db=db --queries=queries | tee said | tail -n 3
  grep -q 'table_factory=.*ProteanTable' said || die "protean advise names no options"
  say "passed"
  exit
fi

library=$(dpkg -L libprotean | grep '/libprotean\.so\.1$')
rocksdb=$(dpkg -L librocksdb9.10 | grep -m 1 '/librocksdb\.so\.')
say "Protean: $library; RocksDB: $rocksdb"
protean --version
for page in protean protean-inspect; do
  dpkg -L protean-tools | grep -q "/man1/$page\.1\.gz$" || die "there is no manual page $page"
done

cat >OPTIONS <<EOF_OPTIONS
[Version]
  rocksdb_version=9.10.0
  options_file_version=1.1
[DBOptions]
  create_if_missing=true
[CFOptions "default"]
  disable_auto_compactions=true
  write_buffer_size=1048576
  table_factory=ProteanTable
[TableOptions/ProteanTable "default"]
  filter_policy=proteus:12
EOF_OPTIONS

# ---- RocksDB's tools, as the distribution has them ----

bench=(--db=db --options_file=OPTIONS --num=1000000000 --value_size=100)
run env LD_PRELOAD="$library" db_bench "${bench[@]}" --benchmarks=fillrandom,flush --writes=100000
run env LD_PRELOAD="$library" db_bench "${bench[@]}" --benchmarks=seekrandom --use_existing_db --statistics --reads=20000 \
  --max_scan_distance=1000 | tee said | grep -E '^seekrandom|seek.filtered|data.(hit|miss)'
filtered=$(sed -nE 's/^rocksdb\.(non\.)?last\.level\.seek\.filtered COUNT : //p' said | awk '{ n += $1 } END { print n }')
[ "$filtered" -gt 100000 ] || die "the filters were not asked: $filtered files spared by 20000 seeks of 11 files"
run env LD_PRELOAD="$library" ldb --db=db --try_load_options put --hex 0xFF 0xC0FFEE
[ "$(run env LD_PRELOAD="$library" ldb --db=db --try_load_options get --hex 0xFF | tail -n 1)" = 0xC0FFEE ] ||
  die "ldb does not get what it has put"
run env LD_PRELOAD="$library" ldb --db=db --try_load_options compact
for preload in "$library" ""; do
  file=$(ls -S db/*.sst | head -n 1)
  run env LD_PRELOAD="$preload" sst_dump --file="$file" --command=check --verify_checksum --show_properties | tee said |
    grep -E 'filter policy name|filter block size|# entries'
  grep -q 'filter policy name: protean.Proteus' said || die "sst_dump does not see the filter's policy"
done
protean inspect --db=db --levels_only
protean verify --db=db

# Without Protean, the OPTIONS file of the DB cannot be read (ldb 9.10 aborts), and nothing is changed.
before=$(cd db && sha256sum -- *.sst MANIFEST-* CURRENT)
say "expected: ldb fails, or crashes, since it does not know ProteanTable"
# The subshell reports a crash, not this one.
if (run ldb --db=db --try_load_options scan --max_keys=1; exit $?) >said 2>&1; then
  die "ldb opens a ProteanTable without Protean"
fi
sed 's/^/  as expected: /' said
[ "$before" = "$(cd db && sha256sum -- *.sst MANIFEST-* CURRENT)" ] || die "ldb has changed the DB"
# The SST files can be read.
cp -r db plain
rm plain/OPTIONS-*
count=$(run ldb --db=plain dump --count_only | sed -n 's/^Keys in range: //p')
[ "${count:-0}" -gt 99000 ] || die "stock RocksDB does not read the files: it finds $count keys"

# ---- A program that only takes an OPTIONS file, and one that was written for Protean ----

run as_root "to install packages" env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends "$packages"/libprotean-dev_*.deb g++ cmake \
  make pkg-config
run g++ -std=c++17 -O1 "$here/options_program.cc" -o options_program -lrocksdb
ldd options_program | grep -q protean && die "the program is linked to Protean"
[ "$(run env LD_PRELOAD="$library" ./options_program other OPTIONS | tail -n 1)" = "filtered yes, wrong 0" ] ||
  die "a program with an OPTIONS file has no filters"
run cmake -S "$here/../../docs/examples/sensors" -B example
run cmake --build example
run example/sensors sensors.db
# shellcheck disable=SC2046
run g++ -std=c++17 -O2 "$here/../../docs/examples/sensors/sensors.cc" -o sensors $(pkg-config --cflags --libs protean)
run ./sensors sensors.db
ldd sensors | grep protean

# ---- RocksDB is the distribution's ----

run dpkg --verify "$(dpkg -S "$(realpath "$rocksdb")" | cut -d: -f1)" rocksdb-tools ||
  die "files of the distribution's packages have been changed"
[ "$(nm -DC "$rocksdb" | grep -ci protean)" = 0 ] || die "$rocksdb knows of Protean"
say "symbols of $rocksdb that speak of Protean: 0; dpkg --verify: unchanged"
say "passed"
