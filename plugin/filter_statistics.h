//  What the range filters of a running DB do: for people, dashboards and
//  alarms.
//
//  Seeks
//
//  An iterator of the user seeks in one file of each sorted run at least. Such
//  a seek of a file counts if it asks the file's filter. It is *closed* if it
//  has a bound in the direction in which it looks (iterate_upper_bound forward,
//  iterate_lower_bound backwards), else *open*. Each has one outcome:
//
//    negative        The filter knew that nothing is in the range, and the file
//                    was not read. Of a closed seek, the range is what lies
//                    from the target to the bound, or up to the bound if the
//                    search went on from an earlier file of the level; of an
//                    open one, all from the target on.
//    passed          The file waited at a marker, a key below which it holds
//                    nothing from the target on, and the search ended before
//                    it: the file was not read. So it is too if the iterator is
//                    destroyed, or moved elsewhere, while the file waits.
//    true positive   The file was searched, at once or when the search of all
//                    files had come to its marker, and rightly so: a closed
//                    seek found an entry in the range; an open one did not read
//                    a block in vain.
//    false positive  The file was searched; the closed seek found no entry in
//                    the range, or the open one read a block, and ended or went
//                    elsewhere before it came to the value of an entry. To an
//                    open seek any key beyond its target will do, so whether it
//                    was right to read is all that can be told. It may also be
//                    in vain where no filter could have known: at an entry that
//                    is deleted, or hidden by a newer one.
//
//  `reached` counts files that waited for nothing: the search came to the
//  marker. They are among the positives, true or false.
//
//  Each seek that RocksDB makes counts, so an iterator that turns round counts
//  again. Not counted are seeks that do not ask the filter: open ones
//  backwards, to the first key without an upper bound, those of files whose
//  filter is not used, and open ones while waiting does not pay (see
//  docs/design_reads.md); those of a MultiScan, where the filter is asked for
//  all ranges at once; those that end with an error, or wait for a block.
//  Prefix seeks without an upper bound are RocksDB's own business, and in its
//  statistics; where there is a bound, the filter is asked for the range first
//  and by RocksDB for the prefix then, and what either of them denies without a
//  read is a negative.
//
//  When
//
//  An iterator counts for itself, and hands its counts over when it is
//  destroyed, leaves the file, or has 1024 of them: what is seen here is behind
//  by less than that for each iterator and file. The outcome of an open seek
//  that has read is known with the next one.
//
//  Sums of a level never fall as long as the DB has a file open: what a file
//  that is closed (compacted, or out of a small table cache) has counted stays
//  with the level that it was opened for. They begin with 0 when the DB is
//  opened, and again if all of its files go. All else is of files that are open
//  now, which are all files unless max_open_files says otherwise.
//
//  In the log
//
//  The DB's info log gets a line for each column family about every
//  DBOptions::stats_dump_period_sec (0: none), if files are read, opened or
//  closed at all. The period is that with which the DB was opened; changes by
//  SetDBOptions are not followed. DBs that share a table factory share the
//  period of the one that was opened last, for files opened from then on.
//  Instances that only read write none, as RocksDB writes none for them either,
//  unless they share the factory of one that does more. The line names the
//  column family that the files were written for.

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
  uint64_t negatives = 0;
  uint64_t passed = 0;
  uint64_t true_positives = 0;
  uint64_t false_positives = 0;
  uint64_t reached = 0;  // of the positives

  uint64_t asked() const { return spared() + true_positives + false_positives; }
  // Files not read. Each would have cost a data block at least.
  uint64_t spared() const { return negatives + passed; }
  // The share of false positives among the seeks to which the file was of no
  // use, whether it was read or not. Negative if there are none.
  double FalsePositiveRate() const;
};

// Of the open files of a level, or of several.
struct FilterSums {
  uint64_t files = 0;
  uint64_t entries = 0;  // of these, versions and deletions included
  // Files whose filters are not used, by the reason:
  //   "no filter"          none, or none that the filter policy knows
  //   "filter of RocksDB"  which goes on answering Get
  //   "other comparator"   the keys are not in bytewise order
  //   "no whole keys"      whole_key_filtering=false
  //   "keys not held"      filter of the kind "none"
  //   "damaged"            or unreadable; the log says more
  // Damage is found when the filter is read, which may be the first time that
  // it is asked.
  std::map<std::string, uint64_t> unused;
  // Of the filters that are used.
  uint64_t keys = 0;
  uint64_t filter_bytes = 0;
  // The mean of the rates that models predict, weighted by keys. Negative if
  // none is known.
  double predicted_fpr = -1;

  // These are also of files that were open.
  FilterSeeks closed;
  FilterSeeks open;

  // Files whose filters are used.
  uint64_t used() const;
  // 0 if there are no keys.
  double bits_per_key() const;
  // By seeks.
  uint64_t blocks_spared() const { return closed.spared() + open.spared(); }
};

struct LevelFilterStatistics {
  int level = 0;  // that files were opened for; -1 if RocksDB did not tell
  FilterSums sums;
};

// An open file.
struct FileFilterStatistics {
  std::string path;
  int level = 0;
  std::string unused;  // why the filter is not used; empty if it is
  uint64_t entries = 0;
  uint64_t keys = 0;  // that the filter knows
  uint64_t filter_bytes = 0;
  // Nothing but zeros and empty strings if its properties do not tell.
  FilterProperties filter;
  FilterSeeks closed;
  FilterSeeks open;
};

// What the tickers of Options::statistics tell of Get and MultiGet, in *all*
// column families, by RocksDB's own filters too, since that object was made.
struct FilterGets {
  bool known = false;      // whether there is such an object
  uint64_t negatives = 0;  // BLOOM_FILTER_USEFUL
  uint64_t positives = 0;  // BLOOM_FILTER_FULL_POSITIVE
  uint64_t true_positives = 0;

  uint64_t false_positives() const {
    return positives > true_positives ? positives - true_positives : 0;
  }
};

// The queue of sample queries by which filters of the column family are
// designed.
struct SampleQueueStatistics {
  bool exists = false;  // else the policy has no use for one
  uint64_t held = 0;
  uint64_t capacity = 0;
  uint32_t sample_every = 0;  // empty queries
  // Ever put in; of these, sampled from queries, not seeded or restored; and
  // samples that were lost because another thread used the queue, or because
  // they were too long.
  uint64_t recorded = 0;
  uint64_t sampled = 0;
  uint64_t dropped = 0;
  double age_seconds = 0;  // since it was made, or restored
};

// Of a column family.
struct FilterStatistics {
  std::string db;  // DB::GetName()
  std::string column_family;
  uint64_t live_files = 0;  // in the tree, open or not
  FilterSums total;
  std::vector<LevelFilterStatistics> levels;  // in order
  std::vector<FileFilterStatistics> files;    // by level and path
  FilterGets gets;
  SampleQueueStatistics samples;

  // A table for people, in some lines.
  std::string ToString() const;
  // One JSON object, with the names that are used here, but "open_files" for
  // FilterSums::files and "fpr" for FalsePositiveRate(). Rates that are not
  // known are absent. Bytes that are not UTF-8, should a column family's name
  // have them, are copied as they are.
  std::string ToJson() const;
};

// The text format of Prometheus (0.0.4) for any number of column families,
// levels summed up, files left out: a metric for each number, whose names begin
// with protean_filter_. Labels are db, column_family, level, seek ("closed" or
// "open"), and outcome or reason.
std::string ToPrometheus(const std::vector<FilterStatistics>& statistics);

// Stores the statistics of a column family. `db` may be wrapped in
// StackableDBs, and may be open for reading only, or as a secondary instance.
// Reads no file. Works with any table factory, but only ProteanTable tells of
// anything. Returns InvalidArgument for no DB or handle, and else OK; then
// `*statistics` has been overwritten. Thread safe.
Status GetFilterStatistics(DB* db, ColumnFamilyHandle* column_family,
                           FilterStatistics* statistics);

// The sums over all column families of this process that have a file open in
// this folder or below it, for whoever knows where DBs are but does not get
// hold of them, as in an engine that keeps them to itself. The folder is spelt
// as in the names that the DBs were opened by. Counts go when a DB is closed,
// so the sums may fall. Reads no file. Thread safe.
FilterSums GetFilterSums(const std::string& folder);

}  // namespace ROCKSDB_NAMESPACE::protean
