// SPDX-License-Identifier: Apache-2.0

//  Linked into each test: filters have the same salt each time, and so the same
//  false positives; and options can name the policies of the benchmarks.

#include "db_bench_ext/filter_spec.h"
#include "filter_policy/bits/checksum.h"
#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

[[maybe_unused]] const bool fixed = [] {
  FilterSalt::Fix(
      FilterSalt{/*file=*/0x0123456789abcdef, /*process=*/0xfedcba9876543210});
  RegisterComparisonPolicies();
  return true;
}();

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
