// SPDX-License-Identifier: Apache-2.0

#include "plugin/may_exist.h"

#include <algorithm>

#include "table/existence_check.h"
#include "table/protean_table_factory.h"

namespace ROCKSDB_NAMESPACE::protean {

Status KeysMayExist(DB* db, const ReadOptions& read_options,
                    ColumnFamilyHandle* column_family, size_t num_keys,
                    const Slice* keys, bool* may_exist) {
  std::fill_n(may_exist, num_keys, true);
  const Status s = RequireProteanTable("KeysMayExist", db, column_family);
  return s.ok() ? ExistenceCheck::CheckKeys(db, read_options, column_family,
                                            num_keys, keys, may_exist)
                : s;
}

Status RangesMayExist(DB* db, const ReadOptions& read_options,
                      ColumnFamilyHandle* column_family, size_t num_ranges,
                      const RangePtr* ranges, bool* may_exist) {
  std::fill_n(may_exist, num_ranges, true);
  const Status s = RequireProteanTable("RangesMayExist", db, column_family);
  return s.ok() ? ExistenceCheck::CheckRanges(db, read_options, column_family,
                                              num_ranges, ranges, may_exist)
                : s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
