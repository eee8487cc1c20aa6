//  What is known of the filters of SST files, from the files' table properties:
//  no filter is read for it. Files that were written without Protean, or before
//  it kept these properties, have none, which says nothing of their filters;
//  the command `protean inspect` looks into the filters themselves.

#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "rocksdb/db.h"
#include "rocksdb/status.h"
#include "rocksdb/table_properties.h"

namespace ROCKSDB_NAMESPACE::protean {

// The filter of an SST file.
struct FilterProperties {
  // "Proteus", "SuRF"; or "none", if the keys cannot be held, for the reason
  // that `design` gives.
  std::string kind;
  // In words, such as "trie 24, bloom 58".
  std::string design;
  // On what the design rests, in words: sample queries, or the keys alone.
  // Empty if the policy says what to build.
  std::string basis;
  double bits_per_key = 0;
  // The false positive rate that the model predicts for queries that find
  // nothing. Negative if there is no model.
  double predicted_fpr = -1;
  // The sample queries that the design rests on, and how long the model took.
  uint64_t samples = 0;
  uint64_t model_micros = 0;
};

// Returns false, and leaves `*filter` alone, if the properties do not tell of a
// filter of Protean. They are those of DB::GetPropertiesOfAllTables, for
// instance. Thread safe.
bool GetFilterProperties(const TableProperties& properties,
                         FilterProperties* filter);

// Stores those of all live files of a column family that tell, by the files'
// paths. Files that are not open are opened; to watch a running DB, take
// GetFilterStatistics (filter_statistics.h), which opens none. Returns what
// DB::GetPropertiesOfAllTables returns. Thread safe.
Status GetFilterProperties(DB* db, ColumnFamilyHandle* column_family,
                           std::map<std::string, FilterProperties>* files);

}  // namespace ROCKSDB_NAMESPACE::protean
