// SPDX-License-Identifier: Apache-2.0

//  The state that the files of an open DB share. A file that is closed leaves
//  its counts to its level, so that the sums of a level never fall while the DB
//  is open. Now and then the DB's log gets a line with these sums: RocksDB does
//  not call a plugin when it dumps its own statistics, and a thread for this
//  would surprise the application, so the thread that hands counts over, or
//  opens or closes a file, writes it.

#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "filter_policy/kept_memory.h"
#include "filter_policy/open_db/file_budget.h"
#include "filter_policy/open_db/level_sums.h"
#include "filter_policy/open_db/miss_cache.h"
#include "filter_policy/open_db/seek_backoff.h"
#include "filter_policy/open_db/unit_heat.h"
#include "filter_policy/query_demand.h"
#include "filter_policy/samples/sample_store.h"
#include "port/port.h"
#include "rocksdb/env.h"
#include "rocksdb/statistics.h"
#include "rocksdb/status.h"
#include "util/atomic.h"

namespace ROCKSDB_NAMESPACE::protean {

// The price of a false positive in the files of a level (query_demand.h), by
// the reads since it was found before. Not thread safe.
class LevelPrice {
 public:
  // Returns the price after all reads so far; 0 while they are too few.
  uint64_t Update(const ReadCounts& so_far, double file_micros) {
    const ReadCounts recent = so_far.Since(before_);
    if (recent.all() >= kMinReadsForPrice) {
      price_ = PriceClassOf(PriceOfFalsePositive(recent, file_micros), price_);
      before_ = so_far;
    }
    return price_;
  }

 private:
  ReadCounts before_;
  uint64_t price_ = 0;
};

// The mean time of a read from a file of a DB. Not thread safe.
class FileReadTime {
 public:
  // Returns the mean of the reads by Gets and iterators since they were last
  // enough for one, in microseconds; 0 if unknown, as if `statistics` is
  // nullptr.
  double Update(const Statistics* statistics) {
    if (statistics == nullptr) return micros_;
    uint64_t count = 0;
    uint64_t sum = 0;
    for (const Histograms reads :
         {FILE_READ_GET_MICROS, FILE_READ_DB_ITERATOR_MICROS}) {
      HistogramData data;
      statistics->histogramData(reads, &data);
      count += data.count;
      sum += data.sum;
    }
    // The application may have reset its statistics.
    if (count < count_ || sum < sum_) count_ = sum_ = 0;
    if (count - count_ >= kMinReadsForPrice) {
      micros_ =
          static_cast<double>(sum - sum_) / static_cast<double>(count - count_);
      count_ = count;
      sum_ = sum;
    }
    return micros_;
  }

 private:
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  double micros_ = 0;
};

// ---- Refresh memory ----

// The part of a file's sample queries that its filter lets through. Some of
// them may be true positives.
struct PassedSamples {
  double share = 0;
  double samples = 0;  // their number; 0 if there are none

  // Returns true if the shares differ by at least `least`, and by more than
  // chance explains: three standard deviations.
  bool DiffersFrom(const PassedSamples& other, double least) const {
    if (samples == 0 || other.samples == 0) return samples != other.samples;
    const double all = samples + other.samples;
    const double mean = (share * samples + other.share * other.samples) / all;
    const double deviation =
        std::sqrt(mean * (1 - mean) * (1 / samples + 1 / other.samples));
    return std::fabs(share - other.share) >= std::max(least, 3 * deviation);
  }
};

// A file whose keys were read, and whose filter a new one could not replace
// with enough gain.
struct RejectedRefresh {
  PassedSamples passed;
  // The gain of the new filter: the fall of the false positive rate (0 if that
  // may be chance), and the share of all questions to filters that it saves.
  double gain = 0;
  double saved = 0;
};

// The memory of RefreshFilters (plugin/refresh_filters.h) for one column
// family, kept while the DB is open. A file whose new filter did not pay is not
// tried again.
struct RefreshMemory {
  std::string policy;  // its options: all else holds only while they are these
  uint64_t runs = 0;
  std::map<std::string, RejectedRefresh> futile;  // by the name of the file
};

// ---- DB session ----

// What a file's reader tells when it opens the file.
struct FileDescription {
  // The address of its options tells a column family from others of the DB.
  const void* family = nullptr;
  std::string family_name;  // empty if the file does not tell
  std::string path;
  int level = -1;                                     // -1 if unknown
  std::shared_ptr<const TableProperties> properties;  // never nullptr
  std::shared_ptr<SharedFilterLoads> filter_loads;    // may be nullptr
  // The DB's Env, log and statistics, which outlive the reader.
  Env* env = nullptr;
  Logger* info_log = nullptr;
  Statistics* statistics = nullptr;
  std::shared_ptr<Cache> memory_cap;  // what CapOf (kept_memory.h) returns
  uint64_t log_period_seconds = 0;    // 0 if unknown, or if no lines are wanted
};

class OpenFile;

// An open DB. RocksDB tells neither a filter policy nor a table factory when a
// DB opens or closes. The readers of its SST files tell: each holds the DB's
// session through its OpenFile, so the session ends with the last reader. A
// reader that is evicted from a small table cache (max_open_files) does not end
// the session, because the reader that takes its place is open by then.
//
// Thread safe. A column family is identified as in FileDescription::family.
class DBSession : public std::enable_shared_from_this<DBSession> {
 public:
  struct Level {
    // Shared by the iterators over the level's files.
    SeekBackoff::Shared backoff;
    SeekBackoff::CachedReads cached_reads{0};
    FileCounts closed_files;
    GetTally gets;     // in files that are open or closed
    LevelPrice price;  // requires the session's mutex
  };

  // RocksDB does not tell a plugin that a column family is dropped, so its
  // entry stays behind.
  struct Family {
    std::string name;
    std::set<const OpenFile*> open_files;
    std::map<int, Level> levels;
    RefreshCounts refreshes;
    RefreshMemory refresh_memory;
    std::atomic<uint64_t> next_line_micros{0};
    std::atomic<bool> warned_of_unbounded{false};
  };

  // The session of the open DB with the id, made if there is none. An empty id,
  // for files outside of a DB, makes a session that is not shared.
  static std::shared_ptr<DBSession> Join(const std::string& id);
  // Without making one: nullptr. The caller must not hold the session any
  // longer than the DB is open.
  static std::shared_ptr<DBSession> Find(const std::string& id);
  // The id. Where RocksDB does not tell readers the session id, as in secondary
  // instances, the DB's log identifies it.
  static std::string IdOf(const std::string& db_session_id,
                          const Logger* info_log);

  // Closes all queues; the queues that no other DB uses are saved.
  ~DBSession();

  DBSession(const DBSession&) = delete;
  DBSession& operator=(const DBSession&) = delete;

  // The state of a column family; empty if it has had no file.
  FamilyState StateOf(const void* family) const;
  // Column families of all DBs of this process that have an open file with a
  // path that `selects` says yes to. Without what has been built.
  using PathFilter = std::function<bool(const std::string&)>;
  static std::vector<FamilyState> StatesIn(const PathFilter& selects);

  // Returns the LevelPrice of a level. The times of reads from files are those
  // in `statistics`, unless this is nullptr.
  uint64_t PriceOf(const void* family, int level, const Statistics* statistics);
  // PriceOf for the DB with the id; kUsualPrice if nothing is known.
  static uint64_t PriceOf(const std::string& id, const void* family, int level,
                          const Statistics* statistics);

  // Counts a filter that has been built for a file of a column family of the DB
  // with the id, which may not have opened any file yet.
  static void AddBuilt(const std::string& id, const void* family,
                       const std::string& family_name,
                       const BuildCounts& counts);

  // Calls a function with a column family's counts of refreshes, and with the
  // memory of refreshes. If they overlap, the memory of the last one counts.
  // The function must not call the session, whose mutex is held meanwhile.
  void WithRefreshes(
      const void* family,
      const std::function<void(RefreshCounts*, RefreshMemory*)>& function);

  // The queue of a column family in `store`, as SampleStore::Open returns it.
  // The DB holds it until this session ends, or until it is held nowhere else
  // and more than kMaxIdleQueues are like that: RocksDB does not tell a plugin
  // when a column family is dropped. The file is one of the column family's.
  std::shared_ptr<QueryQueue> Queue(const std::shared_ptr<SampleStore>& store,
                                    const std::string& column_family,
                                    const FileDescription& file);
  static constexpr size_t kMaxIdleQueues = 64;

  // The DB's cache of false positives; nullptr before the first call of
  // RememberMisses.
  MissCache* misses() const { return misses_.load(std::memory_order_acquire); }
  // Makes misses(), unless it is there: a cache of about `bytes` bytes, or of
  // what there is room for in the cap (kept_memory.h).
  MissCache* RememberMisses(size_t bytes, const std::shared_ptr<Cache>& cap);

 private:
  friend class OpenFile;
  explicit DBSession(std::string id) : id_(std::move(id)) {}

  // Called by an open file when it is made, and before it is destroyed.
  void Add(OpenFile* file);
  void Remove(const OpenFile& file);
  // Writes the line of the file's column family to the log if it is due.
  void LogIfDue(const OpenFile& file);

  struct UsedQueue {
    std::shared_ptr<SampleStore> store;
    std::string column_family;
    std::shared_ptr<QueryQueue> queue;
  };

  // Requires mutex_.
  static FamilyState StateOf(const Family& family);

  const std::string id_;
  // RocksDB tells the period to some table factories only. It is used for all.
  RelaxedAtomic<uint64_t> log_period_seconds_;
  mutable std::mutex mutex_;
  FileReadTime file_read_time_;
  std::map<const void*, Family> families_;
  // Locked while a queue is restored from its file, and locked first.
  std::mutex queues_mutex_;
  // In order of first use, which is also the order in which they are saved: the
  // latest policy's queue is saved last.
  std::vector<UsedQueue> queues_;
  std::optional<KeptMemory> misses_memory_;
  std::unique_ptr<MissCache> owned_misses_;
  std::atomic<MissCache*> misses_{nullptr};
};

// Returns true if there are many seeks and nearly all have no upper bound,
// which the log then warns of.
bool SeeksAreUnbounded(uint64_t unbounded, uint64_t bounded);

// ---- Open file ----

class ProteanFilterPolicy;

// An open SST file, by which its table reader uses what files of a DB share.
// Thread safe.
class OpenFile {
 public:
  // `policy` is the column family's, whose samples are taken from reads of the
  // file and, if the file's filter is used, whose tree the file belongs to.
  // Nullptr if it can build no filter for the file that ranges are asked of.
  OpenFile(const std::string& db_session_id, FileDescription description,
           FilterUse use, const ProteanFilterPolicy* policy);
  ~OpenFile();

  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  // The queue for queries that found nothing in this file, or nullptr.
  QueryQueue* queue() const { return queue_.get(); }

  // Where reads of files of this level are counted.
  GetTally* gets() { return &level_->gets; }

  DBSession* db() const { return db_.get(); }
  // DBSession::RememberMisses for a file of this DB.
  MissCache* RememberMisses(size_t bytes) const {
    return db_->RememberMisses(bytes, description_.memory_cap);
  }

  // A new iterator's backoff state. Iterators share it by sorted run: the
  // level, or the file if it is on level 0.
  SeekBackoff NewBackoff() {
    return SeekBackoff(
        description_.level > 0 ? &level_->backoff : &file_backoff_,
        &level_->cached_reads);
  }

  // Adds an iterator's tally, which sums up to `events`.
  void Add(const SeekTally& seeks, uint32_t events) {
    counts_.Add(seeks, events);
    // Concurrent calls may lose steps, which does not matter.
    const uint32_t steps = 1 + hand_overs_.LoadRelaxed();
    hand_overs_.StoreRelaxed(steps);
    if (steps % kHandOversPerLook == 0) db_->LogIfDue(*this);
  }

  // Returns the share of the queries that filters let through, which have read
  // the file and found nothing: of Gets in the level, or of closed seeks in
  // this file. 1 if nothing is known.
  double ShareReadInVain(AskedFor asked_for) const;

  // Called with what is found out only when the filter is read.
  void SetUse(FilterUse use) {
    if (use_.LoadRelaxed() != use) use_.StoreRelaxed(use);
  }

  // Count, and log the first time: Protean finds that `what`, such as kPart, is
  // damaged; or RocksDB could not read a part of the filter this time.
  static constexpr char kPart[] = "a part of its filter";
  void ReportDamage(const char* what, const Status& why);
  void ReportUnreadPart(const Status& why);

 private:
  friend class DBSession;

  // Calls of Add between two looks at the clock.
  static constexpr uint32_t kHandOversPerLook = 64;

  FileState State() const {
    return {description_.path, description_.level, use_.LoadRelaxed(),
            description_.properties, Counts()};
  }
  // Counts a part, or a whole filter, that is of no use. Returns true if
  // `*reported` was false: then it is logged.
  bool Report(const char* what, const Status& why,
              std::atomic<bool>* reported) const;
  FileCounts Counts() const {
    const auto& loads = description_.filter_loads;
    return {counts_.Load(), loads == nullptr ? FilterLoads() : loads->Load()};
  }

  const std::shared_ptr<DBSession> db_;
  const FileDescription description_;
  RelaxedAtomic<FilterUse> use_;
  // Set by DBSession::Add. Only members that are atomic may be used without the
  // session's mutex.
  DBSession::Family* family_ = nullptr;
  DBSession::Level* level_ = nullptr;
  SeekBackoff::Shared file_backoff_;
  std::atomic<bool> damage_reported_{false};
  std::atomic<bool> failure_reported_{false};
  std::shared_ptr<QueryQueue> queue_;
  std::shared_ptr<void> tree_entry_;
  // On a cache line apart from the members above, which every seek reads.
  alignas(CACHE_LINE_SIZE) SharedSeekCounts counts_;
  RelaxedAtomic<uint32_t> hand_overs_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
