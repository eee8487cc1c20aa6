//  What the files of an open DB share, among it for how long the DB uses queues
//  of sample queries. RocksDB tells neither a filter policy nor a table factory
//  when a DB opens or closes. What tells is the readers of its SST files: all
//  that are open at a time hold the DB's session, and when the last one of them
//  is gone, so is the DB, or all of its files. A reader that makes room for
//  another one in a small table cache (max_open_files) does not end it, since
//  that other one is open by then.

#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "filter_policy/filter_registry.h"
#include "filter_policy/samples/sample_store.h"

namespace ROCKSDB_NAMESPACE::protean {

// Thread safe.
class DBSession {
 public:
  // The session of the open DB with that id; a session of its own if the id is
  // empty, as for files that are read outside of a DB.
  static std::shared_ptr<DBSession> Join(const std::string& id);

  // The same if there is one, else nullptr.
  static std::shared_ptr<DBSession> Find(const std::string& id);

  // The open files of all DBs of this process. They may be looked at when their
  // DB is closed already, which a session must not outlive.
  static std::vector<std::shared_ptr<const FilterRegistry>> AllFilters();

  // The id for Join and Find. RocksDB may not tell the readers of a DB its
  // session id, as in secondary instances; then its log tells it apart.
  static std::string IdOf(const std::string& db_session_id,
                          const Logger* info_log);

  // Leaves all queues, which saves those that nobody else uses.
  ~DBSession();

  DBSession(const DBSession&) = delete;
  DBSession& operator=(const DBSession&) = delete;

  // The use of the queue of a column family in `store`. Never nullptr. It
  // lasts until this session ends, or until nobody else holds it and there are
  // more than kMostIdle like that: column families come and go, and RocksDB
  // tells nobody when one is dropped. `env` and `logger` are the DB's.
  std::shared_ptr<SampleSession> Queue(
      const std::shared_ptr<SampleStore>& store,
      const std::string& column_family, Env* env, Logger* logger);
  static constexpr size_t kMostIdle = 64;

  FilterRegistry* filters() { return filters_.get(); }

  // What those who seek in the files of a level of a column family tell each
  // other (filter_policy/open_db/seek_backoff.h).
  struct Level {
    std::atomic<uint64_t> backoff{0};
    std::atomic<uint32_t> cached_reads{0};
  };
  // Never nullptr. What nobody holds may be forgotten when there is much of it,
  // for the same reason.
  std::shared_ptr<Level> LevelOf(const std::string& column_family, int level);
  static constexpr size_t kMostIdleLevels = 1024;

 private:
  explicit DBSession(std::string id) : id_(std::move(id)) {}

  struct UsedQueue {
    std::shared_ptr<SampleStore> store;
    std::string column_family;
    std::shared_ptr<SampleSession> session;
  };

  // Requires mutex_. The queues that are used no longer, to be left once it has
  // been unlocked.
  std::vector<UsedQueue> TakeIdle();

  const std::string id_;
  std::mutex mutex_;
  // In the order of their first use, in which they are also saved in the end:
  // that of the latest policy last.
  std::vector<UsedQueue> queues_;
  std::map<std::pair<std::string, int>, std::shared_ptr<Level>> levels_;
  size_t most_levels_ = kMostIdleLevels;  // before the idle ones are forgotten
  const std::shared_ptr<FilterRegistry> filters_ =
      std::make_shared<FilterRegistry>();
};

}  // namespace ROCKSDB_NAMESPACE::protean
