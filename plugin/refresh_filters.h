//  Filters that catch up with a shifted workload, without a full compaction.
//
//  A filter that designs itself does so when its file is written, for the
//  queries of that time. When the queries change, old files keep old filters
//  until they are compacted, which may take long. RefreshFilters finds the
//  files whose filters fail today's queries and would do better if they were
//  built now, and rewrites these, the most useful ones per byte first.
//
//  A file must be rewritten as a whole: SST files are immutable, their metadata
//  and checksums cover the filter block, and RocksDB has no call that exchanges
//  a block, or a live file for another one with the same entries
//  (IngestExternalFile makes what it takes the newest data). So each file is
//  compacted into its own level (DB::CompactFiles), which does what every
//  compaction does, and nothing else: snapshots see what they saw, compaction
//  filters run, and what nobody can see any more goes.

#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// How far RefreshFilters has come.
struct RefreshProgress {
  size_t files = 0;  // of the column family
  size_t files_decided = 0;
  uint64_t bytes_read = 0;  // of files, to learn their keys
  uint64_t bytes_rewritten = 0;
};

struct RefreshOptions {
  // Only reports what would be rewritten.
  bool dry_run = false;

  // At most so many bytes of files are rewritten.
  uint64_t max_bytes = std::numeric_limits<uint64_t>::max();

  // At most so many bytes a second are read to learn keys, or rewritten, on
  // average: it pauses before it rewrites a file, which itself goes at full
  // speed, or at that of DBOptions::rate_limiter. 0 for no limit.
  uint64_t bytes_per_second = 0;

  // A file is rewritten if its false positive rate falls by so much at least,
  // and by more than chance explains.
  double min_gain = 0.02;

  // And if, within so many seconds, that saves as many reads of a block as
  // rewriting the file takes reads and writes of blocks. Not asked if it is not
  // known how many queries there are (RefreshResult::rate_known).
  double payback_seconds = 24 * 60 * 60;

  // Called now and then, from the thread that refreshes; about ten times a
  // second while that pauses. Refreshing ends when it returns false, after the
  // file in hand if that is being rewritten.
  std::function<bool(const RefreshProgress&)> progress;
};

// What became of a file.
enum class RefreshOutcome {
  kRewritten,
  kWouldRewrite,    // if this were no dry run
  kNotAsked,        // no query has been sampled that its filter decides
  kTooLittleGain,   // its filter does well, or a new one would do no better
  kUnfiltered,      // its level has no filters (optimize_filters_for_hits)
  kLimitReached,    // it is larger than what max_bytes has left
  kBeingCompacted,  // which gives it a new filter anyway
  kGone,            // since RefreshFilters began; most likely compacted
  kDamaged,         // it cannot be read, as `status` says
  kFailed,          // it was not rewritten, as `status` says
  kNotReached,      // refreshing ended before
};

// The name of an outcome, such as "rewritten" or "too little gain"; a constant.
// Thread safe.
const char* ToString(RefreshOutcome outcome);

// An SST file as it was when RefreshFilters began.
struct RefreshedFile {
  std::string name;  // such as 000123.sst
  int level = 0;
  uint64_t bytes = 0;
  uint64_t entries = 0;

  RefreshOutcome outcome = RefreshOutcome::kNotReached;
  Status status;  // of a file that is kDamaged, kFailed, or kGone

  // Sample queries that lie within the file's keys; once its keys have been
  // read, those of them that find nothing in it. If the column family has no
  // samples, as many queries that have been made up from the file's keys.
  uint64_t queries = 0;

  // The filters, in words; empty if unknown. The false positive rate of each on
  // these queries, negative if unknown. As long as the new one is unknown, the
  // old one is what it is at most: some of its positives may be true.
  std::string old_design;
  std::string new_design;
  double old_fpr = -1;
  double new_fpr = -1;

  // Per second: how often the filter is asked what it should deny, and the
  // reads of a block that a new filter saves. Negative if unknown.
  double asked_per_second = -1;
  double saved_reads_per_second = -1;
};

struct RefreshResult {
  // All files of the column family, by level.
  std::vector<RefreshedFile> files;

  // The sample queries. If there are none, all files are taken to be asked as
  // often as they are large.
  uint64_t samples = 0;
  // Whether the rates per second are known: at least one of the samples is from
  // a query since the DB was opened, and not seeded or restored.
  bool rate_known = false;

  uint64_t bytes_read = 0;       // of files, to learn their keys
  uint64_t files_rewritten = 0;  // or those that would be, in a dry run
  uint64_t bytes_rewritten = 0;
  double saved_reads_per_second = 0;  // by these, as far as it is known
};

// Rewrites the files of a column family whose filters should be designed anew.
//
// How much a file's filter matters is estimated from the column family's sample
// queries. The readers of its files sample what their filters are asked and
// should deny, so a query of the user counts once in each sorted run in which
// it finds nothing, and a sample counts for each of the files that enclose it
// in equal parts. One sample stands for sample_every such questions, and all
// that have been sampled for the time since the queue was made, when the DB was
// opened. A false positive costs one read of a block. Policies that keep no
// samples (SuRF) can be refreshed too, after a change of their options or from
// another filter, but all files are then read to find that out.
//
// `db` may be wrapped in StackableDBs. The column family has the table factory
// ProteanTable with a filter policy of Protean. Works with every compaction
// style. Nothing is done to a file whose checksums are wrong. `*result` is
// overwritten, and tells what has been done whatever is returned. If the
// process dies, the file in hand is what it was before.
//
// Returns Incomplete if `options.progress` ended it, or
// DB::DisableManualCompaction; InvalidArgument for another table factory or
// policy; NotSupported if the column family's comparator or options leave it
// without range filters, or the DB is open for reading only, unless in a dry
// run; and what RocksDB returns when it can write no more. Thread safe, and
// reads and writes may go on.
Status RefreshFilters(DB* db, ColumnFamilyHandle* column_family,
                      const RefreshOptions& options, RefreshResult* result);

// Refreshes a column family time and again, in a thread of its own. Goes on
// after an error, of which only `report` is told.
class FilterRefresher {
 public:
  // Called in that thread with what RefreshFilters has returned.
  using Report = std::function<void(const Status&, const RefreshResult&)>;

  // Calls RefreshFilters every `period_seconds` (1 to a century) after the last
  // call ended, for the first time in so many seconds. `db` and `column_family`
  // must outlive this.
  FilterRefresher(DB* db, ColumnFamilyHandle* column_family,
                  const RefreshOptions& options, uint64_t period_seconds,
                  Report report = nullptr);
  // Waits for the file in hand, if one is being rewritten. Delete it before the
  // DB is closed.
  ~FilterRefresher();

  FilterRefresher(const FilterRefresher&) = delete;
  FilterRefresher& operator=(const FilterRefresher&) = delete;

 private:
  class Thread;
  const std::unique_ptr<Thread> thread_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
