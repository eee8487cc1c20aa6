// SPDX-License-Identifier: Apache-2.0

//  The output of protean_bench: a table, or a JSON object a line.

#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "db_bench_ext/file_sums.h"
#include "db_bench_ext/query_meter.h"
#include "db_bench_ext/write_summary.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Figures that all rows of one filter share.
struct FilterFigures {
  std::string filter;
  FileSums files;
  uint64_t filter_bytes_in_cache = 0;
  double load_seconds = 0;
};

// A part of a workload that shifts from one query distribution to another.
struct ShiftBatch {
  uint64_t batch = 0;  // from 1
  double transition =
      0;               // share of queries of the new distribution, on average
  uint64_t jobs = 0;   // flushes and compactions since the first query
  double seconds = 0;  // since the first query, writes and refreshing included
  uint64_t refreshed_bytes = 0;  // of files with old filters, rewritten so far
  double bits_per_key = 0;       // of the filters of all files, in the end
  QueryResult seeks;
};

// Queries of one kind and distribution, through a block cache of one size.
struct CacheRow {
  int cache_percent = 0;  // as CacheSizesOptions has it
  uint64_t cache_bytes = 0;
  uint32_t cache_shards = 0;
  bool zipf = false;  // else uniform
  uint64_t filter_bytes_in_cache = 0;
  QueryResult queries;
};

// Reads of one kind across deletions, or in the same tree once it is compacted.
struct QueueRow {
  const char* read = "";
  bool compacted = false;
  uint64_t deletions = 0;  // in all files
  double bits_per_key = 0;
  QueryResult reads;
  // Time of a read in times of a read of the compacted tree.
  double time_ratio = 1;
};

class BenchReport {
 public:
  // `format` is table or json, else InvalidArgument. With a `json_file`, the
  // JSON report goes there as well.
  Status Open(const std::string& format, const std::string& json_file);

  // Takes the tree of each filter. The trees must be the same, or the rows
  // could not be compared.
  Status Tree(const std::string& workload, const std::string& shape,
              uint64_t records, uint64_t cache_bytes);

  // Later rows belong to this filter.
  void StartFilter(const FilterFigures& filter) { filter_ = filter; }
  void Row(const QueryResult& result);
  void Row(const ShiftBatch& batch);
  void Row(const CacheRow& cache);
  void Row(const QueueRow& queue);
  void Row(const WriteRow& row);

  // Whether any answer was wrong.
  bool wrong() const { return wrong_; }

 private:
  using Json = nlohmann::ordered_json;

  // A field of the JSON, and a column of the table if it has a title.
  struct Figure {
    std::string Text() const;

    const char* field;
    Json value;
    const char* title = nullptr;
    int width = 0;  // negative: to the left
    int digits = 0;
    double scale = 1;
    const char* unit = "";
  };

  // Prints the row as JSON or as a line of the table, whose titles precede the
  // first row.
  void Print(const std::vector<Figure>& row);

  bool as_json_ = false;
  std::ofstream file_;
  std::string shape_;
  FilterFigures filter_;
  bool header_printed_ = false;
  bool wrong_ = false;
};

}  // namespace ROCKSDB_NAMESPACE::protean
