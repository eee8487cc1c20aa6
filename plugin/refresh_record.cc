// SPDX-License-Identifier: Apache-2.0

#include "plugin/refresh_record.h"

#include <chrono>
#include <string>

#include "table/rocksdb_internals/column_family.h"

namespace ROCKSDB_NAMESPACE::protean {

std::shared_ptr<DBSession> SessionOf(DB* db) {
  std::string id;
  std::shared_ptr<DBSession> open;
  if (db->GetDbSessionId(id).ok()) open = DBSession::Find(id);
  if (open != nullptr) return open;
  const DBOptions options = db->GetDBOptions();
  return DBSession::Find(DBSession::IdOf("", options.info_log.get()));
}

RefreshRecord::RefreshRecord(DB* db, ColumnFamilyHandle* column_family,
                             bool dry_run)
    : session_(dry_run ? nullptr : SessionOf(db)),
      family_(FamilyOf(column_family)) {
  if (session_ == nullptr) return;
  session_->refreshes()->Enter(family_, [](RefreshCounts* counts) {
    counts->running++;
    counts->began = std::chrono::steady_clock::now();
    counts->bytes = 0;
    counts->bytes_decided = 0;
  });
}

RefreshRecord::~RefreshRecord() {
  if (session_ == nullptr) return;
  session_->refreshes()->Enter(family_, [this](RefreshCounts* counts) {
    counts->running--;
    counts->runs++;
    if (failed_) counts->failures++;
    counts->last_end = std::chrono::duration_cast<std::chrono::seconds>(
                           std::chrono::system_clock::now().time_since_epoch())
                           .count();
  });
}

void RefreshRecord::Report(const RefreshProgress& progress,
                           uint64_t files_rewritten) {
  if (session_ == nullptr) return;
  session_->refreshes()->Enter(family_, [&](RefreshCounts* counts) {
    counts->files_rewritten += files_rewritten - files_reported_;
    counts->bytes_read += progress.bytes_read - reported_.bytes_read;
    counts->bytes_rewritten +=
        progress.bytes_rewritten - reported_.bytes_rewritten;
    counts->bytes = progress.bytes;
    counts->bytes_decided = progress.bytes_decided;
  });
  reported_ = progress;
  files_reported_ = files_rewritten;
}

void RefreshRecord::SetOutcome(const Status& status) {
  failed_ = !status.ok() && !status.IsIncomplete();
}

}  // namespace ROCKSDB_NAMESPACE::protean
