// SPDX-License-Identifier: Apache-2.0

//  What an open DB knows of its files: the column families with their open
//  files (open_families.h), the queues of sample queries that the DB uses, and
//  how its filters were refreshed (refresh_ledger.h, refresh_memory.h).
//
//  RocksDB tells neither a filter policy nor a table factory when a DB opens or
//  closes. The readers of its SST files tell: each holds the DB's session
//  through its OpenFile, so the session ends with the last reader, when the DB
//  is closed or has no file left. A reader that is evicted from a small table
//  cache (max_open_files) does not end the session, because the reader that
//  takes its place is open by then.

#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "filter_policy/open_db/build_counts.h"
#include "filter_policy/open_db/open_families.h"
#include "filter_policy/open_db/refresh_ledger.h"
#include "filter_policy/open_db/refresh_memory.h"
#include "filter_policy/samples/sample_store.h"

namespace ROCKSDB_NAMESPACE::protean {

// Thread safe.
class DBSession : public std::enable_shared_from_this<DBSession> {
 public:
  // The session of the open DB with the id, made if there is none. An empty id,
  // for files that are read outside of a DB, makes a session that is not
  // shared.
  static std::shared_ptr<DBSession> Join(const std::string& id);

  // The session of the open DB with the id, or nullptr. The caller must not
  // hold it any longer than the DB is open.
  static std::shared_ptr<DBSession> Find(const std::string& id);

  // Column families of all DBs of this process that have an open file with a
  // path that `selects` says yes to.
  static std::vector<FamilyState> StatesIn(
      const OpenFamilies::PathFilter& selects);

  // The id for Join and Find. Where RocksDB does not tell readers the session
  // id, as in secondary instances, the DB's log identifies it.
  static std::string IdOf(const std::string& db_session_id,
                          const Logger* info_log);

  // Closes all queues; the queues that no other DB uses are saved.
  ~DBSession();

  DBSession(const DBSession&) = delete;
  DBSession& operator=(const DBSession&) = delete;

  // The DB's use of the queue of a column family in `store`. Never nullptr. The
  // use lasts until this session ends, or until it is held nowhere else and
  // more than kMaxIdleQueues are like that: column families come and go, and
  // RocksDB does not tell a plugin when one is dropped. `env` and `logger` are
  // the DB's.
  std::shared_ptr<SampleSession> Queue(
      const std::shared_ptr<SampleStore>& store,
      const std::string& column_family, Env* env, Logger* logger);
  static constexpr size_t kMaxIdleQueues = 64;

  // The price of a false positive in files of a level of the DB with the id
  // (OpenFamilies::PriceOf); kUsualPrice if nothing is known of it.
  static uint64_t PriceOf(const std::string& id, const void* family, int level,
                          const Statistics* statistics);

  // Counts a filter that has been built for a file of a column family of the DB
  // with the id, which may not have opened any file yet. A column family is
  // identified as in FileDescription.
  static void AddBuilt(const std::string& id, const void* family,
                       const std::string& family_name,
                       const BuildCounts& counts);
  // The filters that have been built for the column family since the DB was
  // opened.
  BuildCounts BuiltFor(const void* family) const;

  OpenFamilies* families() { return &families_; }
  RefreshLedger* refreshes() { return &refreshes_; }
  RefreshMemories* refresh_memories() { return &refresh_memories_; }

 private:
  explicit DBSession(std::string id) : id_(std::move(id)) {}

  struct UsedQueue {
    std::shared_ptr<SampleStore> store;
    std::string column_family;
    std::shared_ptr<SampleSession> session;
  };

  // Removes and returns the idle queues in excess of kMaxIdleQueues, for the
  // caller to close once mutex_ is unlocked. Requires mutex_.
  std::vector<UsedQueue> TakeIdleQueues();

  const std::string id_;
  std::mutex mutex_;
  // In order of first use, which is also the order in which they are saved: the
  // latest policy's queue is saved last.
  std::vector<UsedQueue> queues_;
  OpenFamilies families_;
  RefreshLedger refreshes_;
  RefreshMemories refresh_memories_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
