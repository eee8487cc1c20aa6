// SPDX-License-Identifier: Apache-2.0

//  Facts about the filters of SST files, from the files' table properties: no
//  filter is read. Files written without Protean, or by a version before it
//  wrote these properties, have none, which says nothing about their filters;
//  the command `protean inspect` looks at the filters themselves.

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
  // "Proteus", "SuRF"; or "none" if no filter can hold the keys, for the reason
  // in `design`.
  std::string kind;
  // The design for people, such as "trie 24, bloom 58".
  std::string design;
  // What the design is based on, for people: sample queries, or the keys alone.
  // Empty if the policy prescribes the design.
  std::string basis;
  double bits_per_key = 0;  // size of the filter, in bits for each of its keys
  // The false positive rate that the model predicts for queries that find
  // nothing. Negative if there is no model.
  double predicted_fpr = -1;
  // Number of sample queries that the design is based on, and the time spent on
  // the model.
  uint64_t samples = 0;
  uint64_t model_micros = 0;
};

// Reads the filter's facts from table properties, such as those of
// DB::GetPropertiesOfAllTables. Returns false, and leaves `*filter` alone, if
// they do not describe a filter of Protean. Thread safe.
bool GetFilterProperties(const TableProperties& properties,
                         FilterProperties* filter);

// Stores the facts of all live files of a column family that have them, by the
// files' paths. Opens files that are not open; to watch a running DB, use
// GetFilterStatistics (filter_statistics.h), which opens none. Returns the
// status of DB::GetPropertiesOfAllTables. Thread safe.
Status GetFilterProperties(DB* db, ColumnFamilyHandle* column_family,
                           std::map<std::string, FilterProperties>* files);

}  // namespace ROCKSDB_NAMESPACE::protean
