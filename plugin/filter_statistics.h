// SPDX-License-Identifier: Apache-2.0

//  What the range filters of a running DB do: for people, dashboards and
//  alarms.
//
//  Seeks
//
//  An iterator of the user seeks in at least one file of each sorted run. A
//  seek in a file counts if it asks the file's filter. It is *bounded* if it
//  has a bound in its direction (iterate_upper_bound forward,
//  iterate_lower_bound backwards), else *unbounded*. Each has one outcome:
//
//    negative        The filter knew that nothing is in the range, and the file
//                    was not read. The range of a bounded seek goes from the
//                    target to the bound; up to the bound, if the seek comes
//                    from an earlier file of the level. The range of an
//                    unbounded seek is everything from the target on.
//    passed          The file waited at a marker, a key below which it holds
//                    nothing from the target on, and the search ended before
//                    the marker: the file was not read. This is also the
//                    outcome if the iterator is destroyed, or moved elsewhere,
//                    while the file waits.
//    true positive   The file was searched, at once or when the search of all
//                    files had come to its marker, and rightly so: a bounded
//                    seek found an entry in the range; an unbounded seek did
//                    not read a block in vain.
//    false positive  The file was searched; a bounded seek found no entry in
//                    the range, or an unbounded seek read a block, and ended or
//                    went elsewhere before it came to the value of an entry.
//                    Any key above its target answers an unbounded seek, so all
//                    that can be told is whether it was right to read. No
//                    filter could have avoided some of these reads: those that
//                    end at an entry that is deleted, or hidden by a newer one.
//
//  `reached` counts files that waited in vain: the search came to the marker.
//  These seeks are among the positives, true or false.
//
//  `deletion_skips` counts how often a file went past a stretch of deletions
//  without a step for each (docs/deletions.md), in a seek or in the scan after
//  it.
//
//  Each seek that RocksDB makes counts, so an iterator that changes direction
//  counts again. Seeks that do not ask the filter are not counted: unbounded
//  seeks backwards, seeks to the first key without an upper bound, seeks in
//  files whose filter is not used, and unbounded seeks while waiting does not
//  pay (see docs/internals/reads.md). Neither are the seeks of a MultiScan,
//  which asks the filter about all ranges at once, nor seeks that end with an
//  error or wait for a block. Prefix seeks without an upper bound are handled
//  by RocksDB, and counted in its own statistics. With an upper bound, the
//  filter is asked about the range first, and then, by RocksDB, about the
//  prefix; if either is denied without a read, the outcome is negative.
//
//  Gets
//
//  A Get or MultiGet of a key that is not in a memtable asks at most one file
//  of each sorted run, beginning with the newest, until it knows the value. For
//  each file, one of these counts:
//
//    negative        The filter knew that the key is not there, and the file
//                    was not read.
//    true positive   The file was read, and told something of the key: a value,
//                    a deletion, or an operand of a merge.
//    false positive  The file was read in vain. The filter may be right: the
//                    key is there, but all of its versions are newer than the
//                    snapshot.
//    unasked         No filter answered: the file has none, the filter could
//                    not be read, or optimize_filters_for_hits spared it. Under
//                    the perf level kDisable, no answer is known.
//
//  Unlike seeks, Gets are counted for RocksDB's own filters, too, such as those
//  of files that were written before the DB came to Protean. Each counts at
//  once. KeysMayExist does not count, nor do Gets that are coroutines, as in a
//  RocksDB that is built with folly; a MultiGet that is one counts for the
//  files whose filters are asked.
//
//  Requests
//
//  Where storage is far away, a read that goes to it is a request that takes
//  long and may have to be paid. `reads_from_storage` counts the reads of
//  files, by seeks, Gets and MultiGets, that filters let through and that did
//  not find all blocks in the block cache, and `reads_from_cache` the others.
//  Each of the former is one request at least. `requests_saved` is the number
//  of requests that there would have been without filters, besides: in each
//  level, the reads that filters have spared, times the share of the level's
//  reads that went to storage. It falls a bit if that share does.
//
//  When
//
//  An iterator keeps its own counts, and hands them over when it is destroyed,
//  leaves the file, or has 1024 of them: the statistics lag behind by fewer
//  than that for each iterator and file. The outcome of an unbounded seek that
//  reads is known at the next seek.
//
//  The sums of a level never fall as long as the DB has a file open: when a
//  file is closed (compacted, or evicted from a small table cache), its counts
//  stay with the level that it was opened for. The sums begin with 0 when the
//  DB is opened, and again if all of its files are closed. Everything else
//  describes the files that are open now: all files, unless max_open_files says
//  otherwise.
//
//  Filter blocks read
//
//  `filter_blocks_loaded` counts filter blocks that were read and parsed, and
//  `filter_bytes_loaded` their bytes: whole filters, and parts of partitioned
//  filters. Reads of filters that are in memory, in the block cache or
//  elsewhere, are not counted. So while a DB runs, these counts rise with each
//  file that is opened (unless RocksDB waits with its filter for the first
//  query), and otherwise only if filters do not stay in memory. Blocks
//  that come from a secondary cache, which keeps them unparsed, count as well.
//  The indexes of parts and the filters of RocksDB's own policies do not count.
//  Gets, seeks and counts load filters alike. `filter_loads_failed` counts how
//  often a filter, or a part of it, could not be read, or was found to be
//  damaged: what was asked then reads the file. As with seeks, the counts of a
//  file stay with its level when the file is closed.
//
//  Filters built
//
//  FilterStatistics::builds counts filters of new files of this DB: of flushes,
//  compactions and refreshes, not of SstFileWriter or of compactions in another
//  process. Their time begins when RocksDB has given the last key of the file,
//  or of a part of its filter. What builders do with each key as it comes, such
//  as adding it to the trie of SuRF, is not measured: a clock would take about
//  as long.
//
//  In the log
//
//  The DB's info log gets a line for each column family about every
//  DBOptions::stats_dump_period_sec (0: never), if files are read, opened or
//  closed at all. The period is the one that the DB was opened with; changes by
//  SetDBOptions are not followed. DBs that share a table factory share the
//  period of the DB that was opened last, for files opened from then on.
//  Read-only instances write no line, as RocksDB writes none for them, unless
//  they share the factory of an instance that is not read-only. The line names
//  the column family that the files were written for.

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "filter_properties.h"  // beside this one, wherever they are installed
#include "rocksdb/db.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Seeks of one kind, by their outcome.
struct FilterSeeks {
  // The outcomes that are described above.
  uint64_t negatives = 0;
  uint64_t passed = 0;
  uint64_t true_positives = 0;
  uint64_t false_positives = 0;
  uint64_t reached = 0;  // part of the positives
  uint64_t deletion_skips = 0;

  // All of these seeks.
  uint64_t asked() const {
    return avoided() + true_positives + false_positives;
  }
  // Files not read. Each would have cost at least one data block.
  uint64_t avoided() const { return negatives + passed; }
  // The false positive rate: the share of false positives among the seeks for
  // which the file had nothing, whether it was read or not. Negative if there
  // are no such seeks.
  double fpr() const;
};

// Reads of files by Get and MultiGet, by what became of them, as described
// above.
struct FilterLookups {
  uint64_t unasked = 0;          // no filter answered
  uint64_t negatives = 0;        // the file was not read
  uint64_t true_positives = 0;   // the file was read rightly
  uint64_t false_positives = 0;  // the file was read in vain

  // The reads for which a filter was asked.
  uint64_t asked() const {
    return negatives + true_positives + false_positives;
  }
  // The share of false positives among the reads for which the file had
  // nothing. Negative if there are none.
  double fpr() const;
};

// Events of one file's filter, or of the filters of several files.
struct FilterCounts {
  // Filter blocks that were read, and their bytes.
  uint64_t filter_blocks_loaded = 0;
  uint64_t filter_bytes_loaded = 0;
  uint64_t filter_loads_failed = 0;
  FilterSeeks bounded_seeks;
  FilterSeeks unbounded_seeks;
};

// Sums over the open files of a level, or of several levels. FilterCounts,
// `gets` and reads include what has happened with files that are closed now.
struct FilterSums : FilterCounts {
  uint64_t open_files = 0;  // their number
  uint64_t entries = 0;     // in them, including versions and deletions
  // Number of files whose filters are not used, by the reason:
  //   "no_filter"         none, or none that the filter policy knows
  //   "rocksdb_filter"    a filter of RocksDB's own; still used for Get
  //   "other_comparator"  the keys are not in bytewise order
  //   "no_whole_keys"     whole_key_filtering=false
  //   "unfilterable_keys"     no filter can hold the keys
  //   "damaged"           or cannot be read; the log says more
  // Damage is found when the filter is read, which may be when it is first
  // asked. A reason without files is left out here, and 0 in JSON.
  std::map<std::string, uint64_t> unused_files;
  // Number of keys in, and size of, the filters that are used.
  uint64_t keys = 0;
  uint64_t filter_bytes = 0;
  // The mean of the false positive rates that models predict, weighted by keys.
  // Negative if no model predicts one.
  double predicted_fpr = -1;

  // Number of files whose filters are used, by what the design is based on:
  //   "samples"     sample queries, and the file's keys
  //   "keys"        the file's keys alone
  //   "prescribed"  the policy's options; no model was asked
  // A basis without files is left out here, and 0 in JSON.
  std::map<std::string, uint64_t> files_by_basis;
  // The time that the models took to design the filters that are used, when
  // their files were written.
  uint64_t model_micros = 0;

  // Look-ups of Get and MultiGet, those in files that are closed now included.
  FilterLookups gets;
  // Reads of files, and requests to storage that filters have spared.
  uint64_t reads_from_cache = 0;
  uint64_t reads_from_storage = 0;
  uint64_t requests_saved = 0;

  // Number of files whose filters are used.
  uint64_t used_files() const;
  // Bits per key of the filters that are used; 0 if there are no keys.
  double bits_per_key() const;
  // Data blocks that seeks did not read, at least.
  uint64_t blocks_avoided() const {
    return bounded_seeks.avoided() + unbounded_seeks.avoided();
  }
};

// The open files of a level.
struct LevelFilterStatistics {
  int level = 0;    // that files were opened for; -1 if unknown
  FilterSums sums;  // over these files
};

// An open file.
struct FileFilterStatistics : FilterCounts {
  std::string path;           // in the file system
  int level = 0;              // as in LevelFilterStatistics
  std::string unused;         // why the filter is not used; empty if it is
  uint64_t entries = 0;       // including versions and deletions
  uint64_t keys = 0;          // in the filter
  uint64_t filter_bytes = 0;  // size of the filter
  // Zeros and empty strings if the file's properties do not describe the
  // filter.
  FilterProperties filter;
};

// What the tickers of Options::statistics say about Get and MultiGet since the
// Statistics object was created: for *all* column families, and including
// RocksDB's own filters.
struct TickerGets {
  bool known = false;            // whether there is a Statistics object
  uint64_t negatives = 0;        // BLOOM_FILTER_USEFUL
  uint64_t true_positives = 0;   // BLOOM_FILTER_FULL_TRUE_POSITIVE
  uint64_t false_positives = 0;  // the rest of BLOOM_FILTER_FULL_POSITIVE
};

// Filters that were built for new files, as described above.
struct FilterBuilds {
  uint64_t filters = 0;       // their number
  uint64_t keys = 0;          // in them
  uint64_t filter_bytes = 0;  // their size, without the indexes of parts
  uint64_t model_micros = 0;  // to choose designs
  uint64_t build_micros = 0;  // to build filters of these designs
};

// The queue of sample queries that the filters of the column family are
// designed for.
struct SampleQueueStatistics {
  bool exists = false;        // false if the policy needs no samples
  uint64_t held = 0;          // samples in the queue now
  uint64_t capacity = 0;      // maximum number of samples in the queue
  uint32_t sample_every = 0;  // one in that many empty queries
  // Samples ever recorded; the part of them that was sampled from queries, not
  // seeded or restored; and samples that were dropped because another thread
  // used the queue, or because they were too long.
  uint64_t recorded = 0;
  uint64_t sampled = 0;
  uint64_t dropped = 0;
  double age_seconds = 0;  // since the queue was created or restored
};

// The DB's cache of false positives (the option miss_cache_size).
struct MissCacheStatistics {
  uint64_t bytes = 0;   // its size; 0 before the first read in vain
  uint64_t stored = 0;  // reads in vain that it was told of
  uint64_t hits = 0;    // reads that it has spared
};

// The memory that is kept beside filters: samples of queries, designs, and
// caches of false positives. It counts where filters count: if they are in the
// block cache, or charged to it, these are the numbers of all DBs that share
// it, and otherwise those of the process.
struct KeptMemoryStatistics {
  uint64_t bytes = 0;      // that are kept
  uint64_t max_bytes = 0;  // that may be kept
};

// What RefreshFilters (refresh_filters.h) has done to a column family since the
// DB was opened, called by the application, by a FilterRefresher, or by an
// operator through one. Trials (RefreshOptions::dry_run) do not count. All is 0
// if no file of the DB is open.
struct RefreshStatistics {
  uint64_t runs = 0;      // that have ended
  uint64_t failures = 0;  // the part that ended with an error; a refresh
                          // that was told to end is none
  uint64_t last_end_unix_time = 0;  // in seconds; 0 before the first end
  // These include a refresh that is running.
  uint64_t files_rewritten = 0;
  uint64_t bytes_read = 0;       // from files, to learn their keys
  uint64_t bytes_rewritten = 0;  // of files, as they were
  // A refresh that is running: the bytes of all files when it began, and of the
  // files whose outcome is known. If several are running, of the latest.
  bool running = false;
  uint64_t bytes = 0;
  uint64_t bytes_decided = 0;
  double running_seconds = 0;
  // How long it will go on if the rest takes as long per byte. Negative if that
  // is unknown, or if none is running.
  double seconds_left = -1;
};

// The statistics of a column family.
struct FilterStatistics {
  std::string db;                             // DB::GetName()
  std::string column_family;                  // its name
  uint64_t live_files = 0;                    // in the LSM tree, open or not
  FilterSums total;                           // over all open files
  std::vector<LevelFilterStatistics> levels;  // in order
  std::vector<FileFilterStatistics> files;    // by level and path
  TickerGets ticker_gets;                     // of the whole DB
  FilterBuilds builds;                        // for the column family
  MissCacheStatistics miss_cache;             // of the whole DB
  KeptMemoryStatistics kept_memory;           // of all DBs that share the limit
  SampleQueueStatistics samples;              // of the column family
  RefreshStatistics refresh;                  // of the column family

  // Several lines for people: a table of the levels, and the other numbers that
  // are known and not 0, by their names.
  std::string ToString() const;
  // One JSON object. Its names are the names of the members and of the
  // functions without arguments, and each member is there always; those of
  // LevelFilterStatistics::sums stand beside "level". What is unknown is null:
  // a rate that is negative here, the level -1, the numbers of `ticker_gets`
  // without a Statistics object, and those of `samples` without a queue. Each
  // byte that is not UTF-8, such as in the name of a column family, is replaced
  // by U+FFFD.
  std::string ToJson() const;
};

// The text format of Prometheus (0.0.4) for any number of column families,
// files left out: a metric for each number of ToJson(). A metric is called
// protean_, followed by the number's name in JSON, with underscores between the
// names of objects, and by _total if the number is a counter:
// protean_builds_filters_total. The numbers of `total` are exported for each
// level instead, without that word: protean_bounded_seeks_negatives_total.
// Labels are db, column_family, and level; only db for `ticker_gets`. In
// addition, protean_build_info has the value 1 and the labels version and
// rocksdb_version. What is unknown is left out. Bytes that are not UTF-8 are
// replaced as in ToJson. Empty for no column family.
std::string ToPrometheus(const std::vector<FilterStatistics>& statistics);

// A number of the statistics, as all formats and languages know it.
struct StatisticsFact {
  std::string name;  // in JSON, such as "builds.filters"
  std::string help;  // a sentence for people
  bool is_counter;   // which does not fall; else a gauge
  // Where the fact has a value: "db", "column_family", or "level". A fact of
  // levels also has one in `total`, for all levels together.
  std::string scope;
};

// All of them, in the order of ToJson(). Thread safe.
const std::vector<StatisticsFact>& StatisticsFacts();

// Stores the statistics of a column family. `db` may be wrapped in
// StackableDBs, and may be open for reading only, or as a secondary instance.
// Reads no file. Works with any table factory, but only ProteanTable has
// anything to report. Returns InvalidArgument if `db` or the handle is null,
// else OK, and then `*statistics` has been overwritten. Thread safe.
Status GetFilterStatistics(DB* db, ColumnFamilyHandle* column_family,
                           FilterStatistics* statistics);

// The sums over all column families of this process that have a file open in
// this folder or below it, for callers that know where the DBs are but have no
// handle of them, such as a DB inside an engine. Symbolic links and relative
// paths lead to the same folder as the names that the DBs were opened by. The
// counts of a DB disappear when it is closed, so the sums may fall. Reads no
// file. Thread safe.
FilterSums GetFilterSums(const std::string& folder);

}  // namespace ROCKSDB_NAMESPACE::protean
