// SPDX-License-Identifier: Apache-2.0

//  Refreshes filters after a shift of the workload, without a full compaction.
//
//  A filter that designs itself does so when its file is written, for the
//  queries of that time. When the queries change, old files keep old filters
//  until they are compacted, which may take long. RefreshFilters finds the
//  files whose filters do badly with current queries and would do better if
//  they were built now, and rewrites them, those with the largest gain per byte
//  first.
//
//  A file must be rewritten as a whole: SST files are immutable, their metadata
//  and checksums cover the filter block, and RocksDB has no call that replaces
//  a block, or a live file by another one with the same entries
//  (IngestExternalFile makes the file's data the newest). So each file is
//  compacted into its own level (DB::CompactFiles), which does what every
//  compaction does, and nothing else: snapshots stay intact, compaction filters
//  run, and entries that no reader can see are dropped.

#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// The progress of RefreshFilters.
struct RefreshProgress {
  size_t files = 0;              // of the column family
  size_t files_decided = 0;      // of these, files whose outcome is known
  uint64_t bytes = 0;            // of all files
  uint64_t bytes_decided = 0;    // of the files whose outcome is known
  uint64_t bytes_read = 0;       // from files, to learn their keys
  uint64_t bytes_rewritten = 0;  // of files, as they were
};

// What RefreshFilters may do, and when it is worth it.
struct RefreshOptions {
  // Only reports what would be rewritten.
  bool dry_run = false;

  // Only files of these levels. Empty for all levels.
  std::vector<int> levels;

  // Only files that may have keys in [start, limit), in the column family's
  // order and without timestamps. No value stands for no bound on that side.
  std::optional<std::string> start;
  std::optional<std::string> limit;

  // Maximum number of files that are rewritten at the same time, each in a
  // thread of its own if there is more than one. From 1 on.
  static constexpr uint32_t kMaxParallelRewrites = 1024;
  uint32_t max_parallel_rewrites = 1;

  // Rewrites all files whose filters are not those of the policy, whatever they
  // do, from level 0 down: min_gain and payback_seconds have no effect on these
  // files. This is for a change of the policy, not of the queries: files get
  // the size of filters that the new policy gives them, also where it is
  // smaller. Files are read all the same, since a compaction that comes upon
  // damage would stop all writes to the DB.
  //
  // A filter is of the policy if it was designed by the same options (but for
  // those of samples) and for what a false positive costs at its level (if that
  // is known), and has the size that it would have in a tree of which all is
  // rewritten. A filter of RocksDB's own is told by its form and size. A file
  // whose level gets no filters loses the one that it has. The other files are
  // rewritten only if that pays, as without this option, and never for lack of
  // samples. So a call after one that ended early, or after a crash, does the
  // rest, and one each night does little.
  bool all_files = false;

  // Maximum bytes of files to rewrite.
  uint64_t max_bytes = std::numeric_limits<uint64_t>::max();

  // Maximum bytes per second to read (to learn keys) and to rewrite, on
  // average: there is a pause before a file is rewritten, but the rewrite
  // itself goes at full speed, or at that of DBOptions::rate_limiter. 0 for no
  // limit.
  uint64_t bytes_per_second = 0;

  // A file is rewritten only if its false positive rate falls by at least this
  // much, and by more than chance explains. For a filter that was designed for
  // cheaper reads than those of its level are by now, .002 are enough, and less
  // where these take longer than 200 us. 0 to 1.
  double min_gain = 0.02;

  // A file is rewritten only if, within this many seconds, the new filter saves
  // as many reads of a block as rewriting the file takes reads and writes of
  // blocks. This condition is dropped if the rate of queries is unknown
  // (RefreshResult::rate_known). 0 to a century.
  static constexpr double kMaxPaybackSeconds = 100.0 * 365 * 24 * 60 * 60;
  double payback_seconds = 24 * 60 * 60;

  // Called now and then, from the thread that refreshes; about ten times a
  // second during a pause. Refreshing ends when it returns false, after the
  // files that are being rewritten.
  std::function<bool(const RefreshProgress&)> progress;

  // Sets the member of this name, all but `progress`, from text: true or false;
  // numbers and sizes as in RocksDB's options, such as 64K; levels as 0,1,6;
  // start and limit as text, or as hexadecimal digits such as 0x6b6579, or
  // nothing for none. Returns InvalidArgument, which says what is allowed, for
  // another name or value, and changes nothing then.
  Status Set(const std::string& name, const std::string& value);
  // Sets all members in a text NAME=VALUE;NAME=VALUE, or none if one of them is
  // refused.
  Status Parse(const std::string& text);
  // Such a text of all members but `progress`.
  std::string ToString() const;
  // What Set would say of the members' values.
  Status Validate() const;
};

// The outcome for a file.
enum class RefreshOutcome {
  kRewritten,
  kWouldRewrite,    // but for the dry run
  kNotAsked,        // there is no sample query that its filter decides
  kTooLittleGain,   // its filter does well, or a new one would do no better, or
                    // be the same
  kUnfiltered,      // it has no keys, or nothing older has keys in its range
                    // (optimize_filters_for_hits)
  kLimitReached,    // it is larger than the rest of max_bytes
  kBeingCompacted,  // which gives it a new filter anyway
  kGone,            // since RefreshFilters began; probably compacted
  kDamaged,         // it cannot be read, as `status` says
  kFailed,          // it was not rewritten, as `status` says
  kNotReached,      // refreshing ended before it
  kHasFilter,       // of RocksDB's own, which the policy would give it, too
  kNotSelected,     // by the levels and the range of the options
};

// The name of an outcome, such as "rewritten" or "too little gain": a constant
// string. Thread safe.
const char* ToString(RefreshOutcome outcome);

// An SST file as it was when RefreshFilters began.
struct RefreshedFile {
  std::string name;      // such as 000123.sst
  int level = 0;         // in the LSM tree
  uint64_t bytes = 0;    // size of the file
  uint64_t entries = 0;  // including versions and deletions

  // The outcome so far.
  RefreshOutcome outcome = RefreshOutcome::kNotReached;
  Status status;  // if the outcome is kDamaged, kFailed, or kGone

  // Number of sample queries that lie within the file's keys; once its keys
  // have been read, the number of these that match no key. If the column family
  // has no samples, the number of queries generated from the file's keys.
  uint64_t queries = 0;

  // The designs of the filters, for people; empty if unknown. The false
  // positive rate of each filter for these queries; negative if unknown. While
  // the new one is unknown, the old one is an upper limit: some of its
  // positives may be true.
  std::string old_design;
  std::string new_design;
  double old_fpr = -1;
  double new_fpr = -1;

  // How many queries per second the filter should deny, and how many block
  // reads per second a new filter saves. Negative if unknown.
  double asked_per_second = -1;
  double saved_reads_per_second = -1;
};

// What RefreshFilters has done.
struct RefreshResult {
  // All files of the column family, by level.
  std::vector<RefreshedFile> files;

  // Number of sample queries. If there are none, files are assumed to be asked
  // in proportion to their sizes.
  uint64_t samples = 0;
  // Whether the rates per second are known: at least one sample is from a query
  // since the DB was opened, rather than seeded or restored.
  bool rate_known = false;

  uint64_t bytes_read = 0;            // from files, to learn their keys
  uint64_t files_rewritten = 0;       // in a dry run: would be rewritten
  uint64_t bytes_rewritten = 0;       // of these files
  double saved_reads_per_second = 0;  // by these files, if known

  // One JSON object. Its names are the names of the members, an outcome is what
  // ToString says, and an unknown rate is null. Bytes that are not UTF-8 are
  // replaced by U+FFFD. Thread safe.
  std::string ToJson() const;
};

// Rewrites the files of a column family whose filters should be redesigned.
//
// How much a file's filter matters is estimated from the column family's sample
// queries. The table readers sample the questions that filters are asked and
// should deny. So a query of the user counts once in each sorted run in which
// it finds nothing, and a sample counts in equal parts for all files that
// enclose it. One sample stands for sample_every such questions; all samples
// together stand for the time since the queue was created, when the DB was
// opened. A false positive costs one read of a block. Policies that keep no
// samples (SuRF) can be refreshed too, after a change of their options or from
// another filter, but all files are then read to find that out.
//
// With a filter policy of RocksDB's own, such as bloomfilter:10, this is the
// way back from Protean: all files that have a filter of Protean's, or none,
// are rewritten, and a RocksDB without Protean then asks the filters of all
// files. Of the options, min_gain and payback_seconds have no effect, and of
// the result, queries, designs and rates stay unknown. A compaction that began
// before the policy was changed may still write a file with the old one: the
// work is done when a call finds no file to rewrite and none that is being
// compacted.
//
// `db` may be wrapped in StackableDBs. The column family must have the table
// factory ProteanTable with a filter policy of Protean or of RocksDB. Works
// with every compaction style. A file whose checksums are wrong is left alone.
// `*result` is overwritten, and tells what has been done whatever the returned
// status is. If the process dies, the files that were being rewritten are
// unchanged.
//
// Returns Incomplete if `options.progress` or DB::DisableManualCompaction ended
// it; InvalidArgument for options that RefreshOptions::Validate refuses, for
// another table factory or policy, or for a policy of RocksDB's that builds no
// filters; NotSupported if the policy is one of
// Protean's and the column family's comparator or options rule out range
// filters, or if the DB is open for reading only, except in a dry run; and
// RocksDB's error when it can no longer write. Thread safe; the DB can be read
// and written meanwhile.
Status RefreshFilters(DB* db, ColumnFamilyHandle* column_family,
                      const RefreshOptions& options, RefreshResult* result);

// Refreshes a column family periodically, in a thread of its own. Continues
// after an error, which only `report` is told.
//
// If it is given the path of a socket, operators can ask the process for a
// refresh at once, within the limits of the options given here; for the column
// family's FilterStatistics, also in the format of Prometheus; and to save its
// sample queries. They ask with the command `protean` and its flag --live, or
// with any client of HTTP over Unix-domain sockets:
//   curl --unix-socket DB/protean.sock http://localhost/metrics
// The file of the socket has mode 0600, so those can ask who run as the user of
// the process, and root. All FilterRefreshers of a DB that name the same path
// share the socket and one more thread, which sleeps until someone asks.
// Without a path, there is neither. docs/operating.md has all requests.
class FilterRefresher {
 public:
  // Called in that thread with the result of RefreshFilters.
  using Report = std::function<void(const Status&, const RefreshResult&)>;

  // Calls RefreshFilters `period_seconds` (1 to a century) after this
  // constructor, and again `period_seconds` after each call has ended, whether
  // the period or a request was its reason. `db` and `column_family` must
  // outlive this object. `socket` is the path of the socket, of up to 107
  // bytes, in a folder that exists; the command `protean` looks for
  // protean.sock in the DB's folder. A socket that a process has left behind
  // when it died is replaced. Empty to answer no requests.
  FilterRefresher(DB* db, ColumnFamilyHandle* column_family,
                  const RefreshOptions& options, uint64_t period_seconds,
                  Report report = nullptr, const std::string& socket = "");
  // Waits for the files that are being rewritten. Must be called before the DB
  // is closed.
  ~FilterRefresher();

  // OK if requests are answered, or no socket was asked for. Otherwise why they
  // are not, which the DB's log has as an error, too; all else works then:
  // InvalidArgument for a path that is too long, Busy if another process or DB
  // uses the socket, and IOError. Thread safe.
  Status socket_status() const;

  FilterRefresher(const FilterRefresher&) = delete;
  FilterRefresher& operator=(const FilterRefresher&) = delete;

 private:
  class Thread;
  const std::unique_ptr<Thread> thread_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
