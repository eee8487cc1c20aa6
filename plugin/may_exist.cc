// SPDX-License-Identifier: Apache-2.0

#include "plugin/may_exist.h"

#include "table/existence_check.h"
#include "table/protean_table_factory.h"
#include "table/rocksdb_internals/column_family.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

Status CheckTable(const char* function, DB* db,
                  ColumnFamilyHandle* column_family) {
  // The check takes longer than a few questions. A family that another DB had
  // at the same address is not worth a check: in other tables, the questions
  // are answered by reading.
  static thread_local const void* last = nullptr;
  const void* const family = FamilyOf(column_family);
  if (family == last) return Status::OK();
  const Status s = RequireProteanTable(function, db, column_family);
  if (s.ok()) last = family;
  return s;
}

}  // namespace

Status KeysMayExist(DB* db, const ReadOptions& read_options,
                    ColumnFamilyHandle* column_family,
                    const std::vector<Slice>& keys,
                    std::vector<bool>* may_exist) {
  may_exist->assign(keys.size(), true);
  const Status s = CheckTable("KeysMayExist", db, column_family);
  return s.ok() ? ExistenceCheck::CheckKeys(db, read_options, column_family,
                                            keys, may_exist)
                : s;
}

Status RangesMayExist(DB* db, const ReadOptions& read_options,
                      ColumnFamilyHandle* column_family,
                      const std::vector<Range>& ranges,
                      std::vector<bool>* may_exist) {
  may_exist->assign(ranges.size(), true);
  const Status s = CheckTable("RangesMayExist", db, column_family);
  return s.ok() ? ExistenceCheck::CheckRanges(db, read_options, column_family,
                                              ranges, may_exist)
                : s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
