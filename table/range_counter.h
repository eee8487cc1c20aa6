//  Counting the keys of a range without reading them. An ordinary iterator of
//  the DB seeks the range; while a RangeCounter is at work in this thread, the
//  iterators that the tables of Protean make for it do not walk their files:
//  they ask the files' filters how many keys lie in the range (SuRF paper,
//  sections 3.5 and 4), add that to the counter, and turn out empty. What is
//  left for the iterator of the DB to step through is the memtables.
//
//  A filter counts all keys but those at the two ends of the range, which only
//  the file itself can tell: one seek for each. A run has one file at each end.

#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>

#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "table/internal_iterator.h"

namespace ROCKSDB_NAMESPACE::protean {

class ProteanTableReader;

class RangeCounter {
 public:
  // From now on until it is destroyed, iterators that are made in this thread
  // count; they must be made with these options, which have an upper bound.
  explicit RangeCounter(const ReadOptions* read_options);
  ~RangeCounter();
  RangeCounter(const RangeCounter&) = delete;
  RangeCounter& operator=(const RangeCounter&) = delete;

  // The counter at work in this thread, or nullptr.
  static RangeCounter* Current();

  // The iterator that counts the keys of a file. In `arena`, unless that is
  // nullptr.
  InternalIterator* NewIterator(ProteanTableReader* reader, Arena* arena);

  // What has been counted, as plugin/protean_db.h describes it.
  struct Totals {
    uint64_t keys = 0;
    uint64_t sorted_runs = 0;
    uint64_t files = 0;
    uint64_t files_scanned = 0;
    uint64_t deletions = 0;
  };
  const Totals& totals() const { return totals_; }

 private:
  friend class CountingIterator;

  const ReadOptions* const read_options_;
  Totals totals_;
  // Those counted. RocksDB's iterators seek again when they have skipped many
  // entries of a key in the memtables.
  std::unordered_set<std::string> files_;
  bool run_is_new_ = false;  // nothing of it has been counted
};

// How many deletions, single or of ranges, the memtables hold; those of ranges
// in memtables that are being flushed count as one.
uint64_t DeletionsInMemtables(DB* db, ColumnFamilyHandle* column_family);

}  // namespace ROCKSDB_NAMESPACE::protean
