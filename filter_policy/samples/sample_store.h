// SPDX-License-Identifier: Apache-2.0

//  The sample query queues of a filter policy, one for each column family, and
//  the files that they start from and survive in. A queue is made when it is
//  first asked for, and saved when the last open DB that uses it is closed. DBs
//  that are opened with the same policy share its queues.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "filter_policy/option_types.h"
#include "filter_policy/samples/query_queue.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

struct SampleStoreOptions {
  // The number of sample queries that a queue keeps, and the number of empty
  // queries out of which it keeps one. Positive.
  MutableOption<uint32_t> sample_capacity = QueryQueue::kDefaultCapacity;
  MutableOption<uint32_t> sample_every = QueryQueue::kDefaultSampleEvery;

  // File of queries that a queue starts with (query_file.h) if there is nothing
  // to restore. Empty for none.
  std::string seed_file;
  // Queries (ParseSeeds) that a queue starts with if that file cannot be read.
  std::string seeds;

  // File in which the queue of column family "default" is saved, and from which
  // it is restored; empty for none. For another column family, a dot and its
  // name are appended (SamplesFile).
  std::string samples_file;
};

// Thread safe. The Env and the Logger that functions take are those of the DB;
// the logger may be nullptr.
class SampleStore : public std::enable_shared_from_this<SampleStore> {
 public:
  explicit SampleStore(const SampleStoreOptions& options) : options_(options) {}

  SampleStore(const SampleStore&) = delete;
  SampleStore& operator=(const SampleStore&) = delete;

  // Changes the capacity of all queues, and how many queries they take.
  void SetLimits(size_t capacity, uint32_t sample_every);

  // InvalidArgument if `seeds` are malformed, if a file is a device or a pipe,
  // or if the samples file's path is relative or its folder is missing, as the
  // samples would be lost. Other errors of files keep no DB from opening.
  Status Validate(Env* env) const;

  // The queue of a column family, which is made and restored or seeded unless
  // it exists.
  std::shared_ptr<QueryQueue> Queue(const std::string& column_family, Env* env,
                                    Logger* logger);

  // The queue of a column family, for an open DB to hold; it is saved when no
  // DB holds it any more. Until then, its memory counts in the cap of the first
  // DB (kept_memory.h), which may be nullptr. Requires that a shared_ptr owns
  // this store. `env` and `logger` must live as long as the result.
  std::shared_ptr<QueryQueue> Open(const std::string& column_family, Env* env,
                                   Logger* logger,
                                   const std::shared_ptr<Cache>& cap = nullptr);

  // Calls `then` with the name of each column family whose queue no DB holds
  // any more. Called before the first Open.
  void WhenClosed(std::function<void(const std::string&)> then);

  // Saves the queue of a column family if it has new queries and a samples
  // file. They are added to the file's if that was written from elsewhere.
  Status Save(const std::string& column_family, Env* env);

  // The name has %XX for all characters but letters and digits, and a hyphen
  // and a hash for its end if it is too long: a file's name may have 255 bytes.
  static constexpr size_t kMaxNameBytes = 120;
  std::string SamplesFile(const std::string& column_family) const;
  const SampleStoreOptions& options() const { return options_; }

 private:
  struct Entry {
    std::shared_ptr<QueryQueue> queue;
    size_t holders = 0;     // DBs that hold the queue
    uint64_t left = 0;      // closes_ when the last of them was closed
    uint64_t saved = 0;     // recorded() at the latest save or restore
    uint64_t file = 0;      // the samples file's fingerprint at that time
    bool may_save = false;  // false if saving would destroy a bad file
  };

  // Maximum number of idle queues, which wait for a DB to be opened again.
  static constexpr size_t kMaxIdle = 1024;

  // These functions require mutex_.
  Entry* GetEntry(const std::string& column_family, Env* env, Logger* logger);
  void ReadSeeds(Env* env);
  Status SaveEntry(const std::string& column_family, Entry* entry, Env* env);
  void Close(const std::string& column_family, Env* env, Logger* logger);

  SampleStoreOptions options_;  // after construction, changed under mutex_
  // Held while files are read and written, so that a file is complete before
  // another DB restores it.
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  std::vector<std::function<void(const std::string&)>> when_closed_;
  uint64_t closes_ = 0;
  bool seeds_read_ = false;
  std::vector<SampleQuery> seeds_;
  std::vector<std::string> bad_seeds_;  // until a logger can report them
};

}  // namespace ROCKSDB_NAMESPACE::protean
