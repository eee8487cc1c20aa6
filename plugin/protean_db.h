//  A DB that counts. Everything else works the same with any DB whose column
//  families have the table factory ProteanTable: all iterators ask the filters.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/utilities/stackable_db.h"

namespace ROCKSDB_NAMESPACE::protean {

// How many keys lie in a range, as far as that is known without reading them.
struct CountResult {
  // The keys: those in each sorted run of SST files, whether their newest entry
  // is a value or a deletion, plus those of the memtables whose newest entry is
  // not a deletion. A key that lies in several of these counts once in each.
  uint64_t count = 0;

  // The part of `count` that the memtables hold.
  uint64_t in_memtables = 0;
  // The sorted runs that hold the other keys: an L0 file, or a level.
  uint64_t sorted_runs = 0;
  // The SST files that were asked, and of these, those that had to be scanned
  // between the bounds, because their filters cannot count: only SuRF can,
  // except for files that lie wholly within the range.
  uint64_t files = 0;
  uint64_t files_scanned = 0;
  // The deletions: in all of the files asked, wherever they lie, in the range
  // in the memtables, and all of ranges. Each may be counted as a key, and may
  // hide others that are.
  uint64_t deletions = 0;
  // Whether `count` may hold what is no key of its own: the versions of a key
  // of 64 bytes or more that two files of a run share, or what a transaction of
  // a TransactionDB has written before its commit, if the write policy is not
  // WRITE_COMMITTED.
  bool unsure = false;

  // Whether `count` certainly is the number of live keys.
  bool IsExact() const {
    return deletions == 0 && !unsure &&
           sorted_runs + (in_memtables > 0 ? 1 : 0) <= 1;
  }
};

// Counts the keys in [range.start, range.limit) of a column family whose table
// factory is ProteanTable. Reads about one block for each bound from each
// sorted run, besides the filters and indexes, and scans the files that
// CountResult::files_scanned tells of. Counts the present state of the DB,
// snapshots play no part; timestamps neither. `*result` is overwritten.
//
// Returns InvalidArgument if the column family has another table factory, and
// otherwise what reading returns. Thread safe.
Status ApproximateCount(DB* db, ColumnFamilyHandle* column_family,
                        const Range& range, CountResult* result);

// A DB with ApproximateCount. As thread safe as any DB.
class ProteanDB : public StackableDB {
 public:
  // As DB::Open, whose errors it returns; then `*db` stays as it is. `*db` is
  // the caller's, who deletes the handles first.
  static Status Open(const Options& options, const std::string& name,
                     std::unique_ptr<ProteanDB>* db);
  static Status Open(const DBOptions& db_options, const std::string& name,
                     const std::vector<ColumnFamilyDescriptor>& column_families,
                     std::vector<ColumnFamilyHandle*>* handles,
                     std::unique_ptr<ProteanDB>* db);

  // Over any DB, such as a TransactionDB, which it owns from now on.
  explicit ProteanDB(DB* db) : StackableDB(db) {}

  Status ApproximateCount(ColumnFamilyHandle* column_family, const Range& range,
                          CountResult* result) {
    return protean::ApproximateCount(db_, column_family, range, result);
  }
  // In the default column family.
  Status ApproximateCount(const Range& range, CountResult* result) {
    return ApproximateCount(DefaultColumnFamily(), range, result);
  }
};

}  // namespace ROCKSDB_NAMESPACE::protean
