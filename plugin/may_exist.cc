// SPDX-License-Identifier: Apache-2.0

#include "plugin/may_exist.h"

#include "table/existence_check.h"
#include "table/protean_table_factory.h"

namespace ROCKSDB_NAMESPACE::protean {

Status KeysMayExist(DB* db, const ReadOptions& read_options,
                    ColumnFamilyHandle* column_family,
                    const std::vector<Slice>& keys,
                    std::vector<bool>* may_exist) {
  may_exist->assign(keys.size(), true);
  const Status s = RequireProteanTable("KeysMayExist", db, column_family);
  return s.ok() ? ExistenceCheck::CheckKeys(db, read_options, column_family,
                                            keys, may_exist)
                : s;
}

Status RangesMayExist(DB* db, const ReadOptions& read_options,
                      ColumnFamilyHandle* column_family,
                      const std::vector<Range>& ranges,
                      std::vector<bool>* may_exist) {
  may_exist->assign(ranges.size(), true);
  const Status s = RequireProteanTable("RangesMayExist", db, column_family);
  return s.ok() ? ExistenceCheck::CheckRanges(db, read_options, column_family,
                                              ranges, may_exist)
                : s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
