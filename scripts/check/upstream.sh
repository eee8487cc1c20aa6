# SPDX-License-Identifier: Apache-2.0
# Runs RocksDB's own test suites with ProteanTable as the default table factory, and without: stock, with SuRF and with
# Proteus, in one and the same build of a copy of RocksDB's tree, with RocksDB's assertions on. What fails with Protean
# must fail without it too, or be listed with its reason in tests/upstream/expected_differences.txt; and what is listed
# there must differ. At the end, a table of the suites is printed.
#
#   scripts/check.sh upstream [--source=DIR] [--suites=NAME,...] [--policies=NAME,...]
#
#   --source=DIR     a RocksDB source tree instead of the one that provision_rocksdb.sh provides; it is copied, not
#                    touched. With other versions, a test that was expected to differ and does not is only mentioned
#   --suites=...     RocksDB's test programs, such as db_basic_test; default: those that write or read SST files
#   --policies=...   out of stock, surf and proteus; default: all three. Without stock, only tests that fail run stock
#
# Each test is a process of its own, which may take 20 minutes. Results are kept until the program changes: the script goes
# on where it was ended. The tests' DBs are in TEST_TMPDIR, or in memory (/dev/shm), or, where that is small, in TMPDIR. The
# build takes about an hour of a core's time, the tests take hours.
. "$project/scripts/check/injected_tree.sh"

readonly expected_for=9.10.0

source="" suites=() policies=(stock surf proteus)
# db_test2 has been called db_etc2_test and db_etc3_test since.
known_suites=(db_basic_test db_iterator_test db_tailing_iter_test db_range_del_test db_test db_test2 db_etc2_test
  db_etc3_test db_compaction_test db_universal_compaction_test db_flush_test db_merge_operator_test
  db_bloom_filter_test partitioned_filter_block_test db_with_timestamp_basic_test db_with_timestamp_compaction_test external_sst_file_test
  sst_file_reader_test table_test transaction_test write_prepared_transaction_test write_unprepared_transaction_test
  db_secondary_test corruption_test repair_test checkpoint_test backup_engine_test options_test customizable_test)
parse_options --source=DIR --suites=NAME,... --policies=NAME,... -- "$@"
for policy in "${policies[@]}"; do
  [ "$policy" = stock ] || [ -n "${injected_policies[$policy]:-}" ] ||
    die "unknown policy '$policy'; known: stock ${!injected_policies[*]}"
done

provide_injected_tree "$source"
has_suite() { grep -qE "^ *([a-z_/]+/)?$1\.cc$" "$tree/CMakeLists.txt"; }
if [ ${#suites[@]} = 0 ]; then
  for suite in "${known_suites[@]}"; do ! has_suite "$suite" || suites+=("$suite"); done
fi
for suite in "${suites[@]}"; do has_suite "$suite" || die "RocksDB $version has no test program $suite"; done
build_injected_tree "${suites[@]}"

arguments=(--binaries="$build" --work="$work/upstream_tests" --jobs="$(job_count)"
  --expected="$project/tests/upstream/expected_differences.txt" --version="$version")
[ "$version" != $expected_for ] || arguments+=(--stale-fails)
for policy in "${policies[@]}"; do
  if [ "$policy" = stock ]; then
    arguments+=(--policy=stock)
  else
    arguments+=(--policy="$policy=${injected_policies[$policy]}")
  fi
done
mkdir -p "$work/upstream_tests"
lock "$work/upstream_tests/.lock" "another run of RocksDB's tests in $work"
ulimit -c 0
allow_many_files
python3 "$project/scripts/check/upstream_tests.py" "${arguments[@]}" "${suites[@]}" || exit 1
