// SPDX-License-Identifier: Apache-2.0

//  Enters one call of RefreshFilters in the ledger of the open DB
//  (refresh_ledger.h), from which the statistics are.

#pragma once

#include <memory>

#include "filter_policy/open_db/db_session.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/db.h"

namespace ROCKSDB_NAMESPACE::protean {

// The session of an open DB; nullptr if none of its files has been opened by a
// reader of ProteanTable. The caller must not hold it any longer than the DB is
// open.
std::shared_ptr<DBSession> SessionOf(DB* db);

// Not thread safe.
class RefreshRecord {
 public:
  // The refresh begins. A trial (`dry_run`) is not entered.
  RefreshRecord(DB* db, ColumnFamilyHandle* column_family, bool dry_run);
  ~RefreshRecord();

  RefreshRecord(const RefreshRecord&) = delete;
  RefreshRecord& operator=(const RefreshRecord&) = delete;

  // Enters what is new since the last call.
  void Report(const RefreshProgress& progress, uint64_t files_rewritten);
  // Whether the refresh has failed; being told to end is no failure.
  void SetOutcome(const Status& status);

 private:
  const std::shared_ptr<DBSession> session_;  // nullptr to enter nothing
  const void* const family_;
  RefreshProgress reported_;
  uint64_t files_reported_ = 0;
  bool failed_ = false;
};

}  // namespace ROCKSDB_NAMESPACE::protean
