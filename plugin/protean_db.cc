#include "plugin/protean_db.h"

#include "filter_policy/rocksdb_version.h"
#include "rocksdb/comparator.h"
#include "rocksdb/table.h"
#include "table/protean_table_factory.h"
#include "table/range_counter.h"

namespace ROCKSDB_NAMESPACE::protean {

Status ApproximateCount(DB* db, ColumnFamilyHandle* column_family,
                        const Range& range, CountResult* result) {
  *result = CountResult();
  const Options options = db->GetOptions(column_family);
  if (!options.table_factory->IsInstanceOf(ProteanTableFactory::kClassName())) {
    return Status::InvalidArgument(
        "ApproximateCount needs the table factory ProteanTable, and the "
        "column family " +
        column_family->GetName() + " has " + options.table_factory->Name());
  }

  ReadOptions read_options;
  read_options.iterate_upper_bound = &range.limit;
  read_options.total_order_seek = true;
  read_options.ignore_range_deletions = true;
  const std::string latest(options.comparator->timestamp_size(), '\xff');
  const Slice timestamp = latest;
  if (!latest.empty()) read_options.timestamp = &timestamp;

  RangeCounter counter(&read_options);
  const std::unique_ptr<Iterator> it(
      db->NewIterator(read_options, column_family));
  for (it->Seek(range.start); it->Valid(); it->Next()) result->in_memtables++;
  const RangeCounter::Totals& totals = counter.totals();
  result->count = totals.keys + result->in_memtables;
  result->sorted_runs = totals.sorted_runs;
  result->files = totals.files;
  result->files_scanned = totals.files_scanned;
  result->deletions =
      totals.deletions + DeletionsInMemtables(db, column_family);
  return it->status();
}

Status ProteanDB::Open(const Options& options, const std::string& name,
                       std::unique_ptr<ProteanDB>* db) {
  std::unique_ptr<DB> opened;
  const Status s = OpenDB(&opened, options, name);
  if (s.ok()) *db = std::make_unique<ProteanDB>(opened.release());
  return s;
}

Status ProteanDB::Open(
    const DBOptions& db_options, const std::string& name,
    const std::vector<ColumnFamilyDescriptor>& column_families,
    std::vector<ColumnFamilyHandle*>* handles, std::unique_ptr<ProteanDB>* db) {
  std::unique_ptr<DB> opened;
  const Status s = OpenDB(&opened, db_options, name, column_families, handles);
  if (s.ok()) *db = std::make_unique<ProteanDB>(opened.release());
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
