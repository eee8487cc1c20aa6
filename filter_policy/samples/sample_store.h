//  The sample query queues of a filter policy, one for each column family, and
//  the files that they start from and survive in.
//
//  A queue is made when it is first asked for. It is saved when the last open
//  DB that uses it is closed (db_session.h); the Options that hold the policy
//  may live on. DBs that are opened with the same policy share its queues.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "filter_policy/samples/query_queue.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

struct SampleStoreOptions {
  // Of each queue.
  size_t capacity = QueryQueue::kDefaultCapacity;
  uint32_t sample_every = QueryQueue::kDefaultSampleEvery;

  // Queries for a queue to start with (query_file.h), if there is nothing to
  // restore. None if empty.
  std::string seed_file;

  // Where queues are saved and restored from: that of column family "default"
  // in this file, that of another one in this name, a dot, and the column
  // family's name, where %XX stands for all but letters and digits. If that
  // takes more than kMostNameBytes, a hash stands for the end of it, after a
  // hyphen. Queues are not saved if empty.
  std::string samples_file;
};

class SampleSession;

// Thread safe. The Env and the Logger that functions take are those of the DB;
// the logger may be nullptr.
class SampleStore : public std::enable_shared_from_this<SampleStore> {
 public:
  explicit SampleStore(const SampleStoreOptions& options) : options_(options) {}

  SampleStore(const SampleStore&) = delete;
  SampleStore& operator=(const SampleStore&) = delete;

  // InvalidArgument if the seed file cannot be read, or somebody has written a
  // line into it, or into the samples file of column family "default", that
  // cannot be. RocksDB validates options without a word of column families: the
  // files of others are read when they are needed, and a bad one is then logged
  // and left as it is. What is damaged of a file that was saved here is logged
  // and left out (ReadSavedQueries).
  Status Validate(Env* env);

  // The queue of a column family. It is made, and restored or seeded, unless it
  // is in use. Never nullptr.
  std::shared_ptr<QueryQueue> Queue(const std::string& column_family, Env* env,
                                    Logger* logger);

  // What an open DB holds, so that the queue is saved after the last one.
  // Requires that a shared_ptr owns this store; `env` and
  // `logger` must live until the session ends.
  std::unique_ptr<SampleSession> Open(const std::string& column_family,
                                      Env* env, Logger* logger);

  // Saves the queue of a column family if there is anything new in it and a
  // samples file is configured. If somebody else has written the file since it
  // was restored or saved, such as another instance of the DB, what is new is
  // added to what is there.
  Status Save(const std::string& column_family, Env* env);

  // A file's name has up to 255 bytes, of which this leaves enough.
  static constexpr size_t kMostNameBytes = 120;
  std::string SamplesFile(const std::string& column_family) const;
  const SampleStoreOptions& options() const { return options_; }

 private:
  friend class SampleSession;

  struct Entry {
    std::shared_ptr<QueryQueue> queue;
    size_t sessions = 0;
    uint64_t left = 0;      // when the last one ended, as a number of Close
    uint64_t saved = 0;     // what recorded() was then
    uint64_t file = 0;      // the samples file's fingerprint then
    bool may_save = false;  // unless that would destroy a bad file
  };

  // Of queues that no open DB uses, which wait for one to be opened again:
  // so many, and so many full ones.
  static constexpr size_t kMostIdle = 1024;
  static constexpr size_t kMostFullIdle = 64;

  // All of these require mutex_.
  Entry* GetEntry(const std::string& column_family, Env* env, Logger* logger);
  // Forgets the queue that has been idle for longest, if there are too many.
  void ForgetIdle();
  Status ReadSeeds(Env* env);
  Status SaveEntry(const std::string& column_family, Entry* entry, Env* env);
  // Puts the queries of a file before these, as far as a queue holds them.
  Status PutBehindOthers(Env* env, const std::string& file,
                         std::vector<SampleQuery>* queries) const;

  void Close(const std::string& column_family, Env* env, Logger* logger);

  const SampleStoreOptions options_;
  // Held while files are read and written, so that what is saved is complete
  // before it is restored.
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  uint64_t closes_ = 0;
  bool seeds_read_ = false;
  std::vector<SampleQuery> seeds_;
  std::vector<std::string> refused_seeds_;  // until there is a logger
};

class SampleSession {
 public:
  ~SampleSession() { store_->Close(column_family_, env_, logger_); }

  SampleSession(const SampleSession&) = delete;
  SampleSession& operator=(const SampleSession&) = delete;

  QueryQueue* queue() const { return queue_.get(); }

 private:
  friend class SampleStore;

  SampleSession(std::shared_ptr<SampleStore> store,
                std::shared_ptr<QueryQueue> queue, std::string column_family,
                Env* env, Logger* logger)
      : store_(std::move(store)),
        queue_(std::move(queue)),
        column_family_(std::move(column_family)),
        env_(env),
        logger_(logger) {}

  const std::shared_ptr<SampleStore> store_;
  const std::shared_ptr<QueryQueue> queue_;
  const std::string column_family_;
  Env* const env_;
  Logger* const logger_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
