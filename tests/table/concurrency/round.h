// SPDX-License-Identifier: Apache-2.0

//  A DB that many threads use for a while, each in its own way and all at once.

#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "filter_policy/samples/sample_store.h"
#include "rocksdb/db.h"
#include "rocksdb/statistics.h"
#include "tests/table/concurrency/checked_iterator.h"
#include "tests/table/concurrency/truth.h"
#include "tests/table/differential/dice.h"

namespace ROCKSDB_NAMESPACE::protean {

// The state that outlives a round.
struct Persistent {
  std::string path;  // a folder for DBs and files
  Truth truth;
  Version last_version = 0;
};

class Round {
 public:
  // Opens the DB as the previous rounds have left it, with random options.
  Round(Persistent* persistent, uint64_t seed);
  ~Round();

  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

  // Runs all threads for the given time, or until the first failure; then
  // compares the contents of the DB, and closes it.
  void Run(std::chrono::milliseconds duration);

 private:
  static constexpr size_t kWriters = 2;

  // Calls the function of a thread until the round is over. Each thread has its
  // own random numbers.
  void Write(size_t writer, Dice* dice);
  void ReadSnapshot(Dice* dice);
  void ReadLive(Dice* dice);
  void UseColumnFamily(const std::string& name, Dice* dice);
  void Compact(Dice* dice);
  void ChangeOptions(Dice* dice);
  void Refresh(Dice* dice);
  void Observe(Dice* dice);
  void UseSamples(Dice* dice);
  void UsePolicyInAnotherDB(Dice* dice);

  void WriteBatchOf(size_t writer, Dice* dice);
  void Ingest(size_t writer, Dice* dice);
  void DeleteGap(Dice* dice);
  void ReadKeys(const Snapshot* snapshot, const Versions& versions, Dice* dice);

  // The policies, created from strings.
  std::string RandomPolicy(Dice* dice) const;
  std::string RandomTable(Dice* dice) const;
  std::string SamplesFile() const { return persistent_->path + "/samples"; }
  Options RandomOptions(Dice* dice);

  // Returns a version that no thread has written yet.
  Version NextVersion() {
    return next_version_.fetch_add(1, std::memory_order_relaxed);
  }
  // Returns the slot of a key of this writer that comes and goes.
  size_t RandomOwnKey(size_t writer, Dice* dice) const;

  // Both end the round unless all is right. The threads share nothing else:
  // whatever synchronized them would hide missing synchronization.
  bool Check(const Status& s, const char* what);
  void CheckText(const std::string& wrong, const char* what);
  void Fail(const std::string& what);
  bool IsOver() const { return over_.load(std::memory_order_relaxed); }

  // Iterators that their thread has passed on; other threads walk and delete
  // them.
  void LeaveIterator(std::unique_ptr<CheckedIterator> iterator);
  std::unique_ptr<CheckedIterator> TakeIterator(Dice* dice);

  void CompareAll();

  Persistent* const persistent_;
  Dice dice_;
  std::atomic<bool> over_{false};
  std::atomic<Version> next_version_;
  std::atomic<uint64_t> next_file_{0};
  std::shared_ptr<const FilterPolicy> policy_;
  std::shared_ptr<SampleStore> samples_;
  std::shared_ptr<Cache> cache_;
  std::vector<std::shared_ptr<Cache>> caches_of_tables_;
  std::unique_ptr<DB> db_;
  ColumnFamilyHandle* family_ = nullptr;
  bool all_files_open_ = false;
  bool handles_go_first_ = false;  // before the iterators

  std::mutex left_mutex_;
  std::deque<std::unique_ptr<CheckedIterator>> left_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
