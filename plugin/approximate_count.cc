// SPDX-License-Identifier: Apache-2.0

#include "plugin/approximate_count.h"

#include "plugin/facts.h"
#include "table/protean_table_factory.h"
#include "table/range_counter.h"

namespace ROCKSDB_NAMESPACE::protean {

Status ApproximateCount(DB* db, const ReadOptions& read_options,
                        ColumnFamilyHandle* column_family,
                        const RangePtr& range, CountResult* result) {
  *result = CountResult();
  Status s = RequireProteanTable("ApproximateCount", db, column_family);
  if (!s.ok()) return s;

  RangeCounter::Totals totals;
  s = RangeCounter::Count(db, read_options, column_family, range.start,
                          range.limit, &totals);
  result->count = totals.in_files + totals.in_memtables;
  result->in_memtables = totals.in_memtables;
  result->sorted_runs = totals.sorted_runs;
  result->files = totals.files;
  result->files_scanned = totals.files_scanned;
  result->deletions = totals.deletions;
  result->unsure = totals.unsure;
  return s;
}

Record RecordOf(const CountResult& count) {
  using Of = CountResult;
  constexpr FactType kGauge = FactType::kGauge;
  static const Facts<Of> facts = {
      {"count", kGauge, "Keys.", [](const Of& of) { return of.count; }},
      {"in_memtables", kGauge, "Those of them that the memtables hold.",
       [](const Of& of) { return of.in_memtables; }},
      {"sorted_runs", kGauge, "Sorted runs of files that hold the others.",
       [](const Of& of) { return of.sorted_runs; }},
      {"files", kGauge, "Files that were asked.",
       [](const Of& of) { return of.files; }},
      {"files_scanned", kGauge, "Those of them that were scanned.",
       [](const Of& of) { return of.files_scanned; }},
      {"deletions", kGauge, "Deletions, which may hide keys.",
       [](const Of& of) { return of.deletions; }},
      {"unsure", kGauge, "Whether entries that are no live keys may count.",
       [](const Of& of) { return of.unsure; }},
      {"is_exact", kGauge, "Whether the count is certainly right.",
       [](const Of& of) { return of.IsExact(); }},
  };
  return {facts, count};
}

}  // namespace ROCKSDB_NAMESPACE::protean
