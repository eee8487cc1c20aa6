// SPDX-License-Identifier: Apache-2.0

//  One call of RefreshFilters (refresh_filters.h), without the choice of the
//  files: their list, the pauses, the rewriting, and the result. The choice
//  depends on the column family's filter policy: a policy of Protean designs
//  filters (RedesignFilters), a policy of RocksDB replaces Protean's
//  (ReplaceFilters).

#pragma once

#include <deque>
#include <functional>
#include <future>
#include <memory>

#include "filter_policy/open_db/open_families.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/db.h"
#include "rocksdb/metadata.h"
#include "rocksdb/rate_limiter.h"
#include "rocksdb/status.h"
#include "rocksdb/table.h"

namespace ROCKSDB_NAMESPACE::protean {

// The session of an open DB; nullptr if none of its files has been opened by a
// reader of ProteanTable. The caller must not hold it any longer than the DB is
// open.
std::shared_ptr<DBSession> SessionOf(DB* db);

// Counts the call with the open DB (DBSession::WithRefreshes), from which the
// statistics are, unless it is a dry run. Not thread safe.
class RefreshRun {
 public:
  // The arguments of RefreshFilters, which must outlive this object. The result
  // is new.
  RefreshRun(DB* its_db, ColumnFamilyHandle* its_column_family,
             const RefreshOptions& its_options, RefreshResult* its_result);
  ~RefreshRun();

  RefreshRun(const RefreshRun&) = delete;
  RefreshRun& operator=(const RefreshRun&) = delete;

  DB* const db;
  ColumnFamilyHandle* const column_family;
  const RefreshOptions& options;
  RefreshResult* const result;
  const Options family_options;
  // What is known of the open DB; may be nullptr.
  const std::shared_ptr<DBSession> session;

  // The options of the table, which is a block-based one.
  const BlockBasedTableOptions& table() const {
    return *family_options.table_factory->GetOptions<BlockBasedTableOptions>();
  }

  // NotSupported if files are to be rewritten and the DB is open for reading
  // only.
  Status CheckWritable() const;

  // Lists the files of the column family in the result, and returns what is
  // known of them, in the same order. Decides about the files that stay as they
  // are: those that the options do not select, and those that would get no
  // filter (optimize_filters_for_hits).
  ColumnFamilyMetaData ListFiles();

  // Decides about a file; the second function about one that could not be
  // opened or read, for the reason in `status`.
  void Decide(RefreshedFile* file, RefreshOutcome outcome,
              const Status& status = Status::OK());
  void DecideUnreadable(RefreshedFile* file, const Status& status);

  // Reports the progress. First pauses for the rate limit if `bytes` bytes are
  // read or rewritten.
  Status GoOn(uint64_t bytes = 0);
  void CountRead(uint64_t bytes);

  // Rewrites the file, or in a dry run counts it, unless it is larger than what
  // is left of max_bytes. Decides about it, at the latest in Finish, or returns
  // an error if refreshing must end.
  Status Rewrite(RefreshedFile* file);
  bool ExceedsLimit(const RefreshedFile& file) const {
    return file.bytes >
           options.max_bytes - progress_.bytes_rewritten - bytes_in_work_;
  }

  // Waits for the files that are being rewritten, completes the result, and
  // writes a line to the DB's log. Returns `status`, or the error that ended a
  // rewrite.
  Status Finish(Status status);

  bool failed = false;  // whether the statistics count the call as a failure

 private:
  struct RewriteInWork {
    RefreshedFile* file;
    std::future<Status> status;
  };

  // Waits for the rewrite that began first, and decides about its file. Returns
  // an error if refreshing must end.
  Status EndFirstRewrite();
  void CountRewritten(const RefreshedFile& file);
  // Changes the column family's counts, if there are any.
  void Enter(const std::function<void(RefreshCounts*)>& change);
  void EnterProgress();

  std::unique_ptr<RateLimiter> limiter_;
  RefreshProgress progress_;
  std::deque<RewriteInWork> in_work_;
  uint64_t bytes_in_work_ = 0;
};

// Rewrites the files whose filters would do better if they were built now, as
// refresh_filters.h says. The column family has the table factory ProteanTable
// with a filter policy of Protean. Returns what RefreshFilters returns.
Status RedesignFilters(RefreshRun* run);

// The way back from Protean, as refresh_filters.h says: rewrites the files that
// have no filter of RocksDB's own, from level 0 on. The column family has a
// block-based table. A file that has a filter of RocksDB's keeps it, of
// whichever of its policies, so this is resumed by doing it again.
//
// InvalidArgument if the filter policy is not one of RocksDB's own, or builds
// no filters with the column family's options; and otherwise what
// RefreshFilters returns.
Status ReplaceFilters(RefreshRun* run);

}  // namespace ROCKSDB_NAMESPACE::protean
