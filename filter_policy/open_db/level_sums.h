// SPDX-License-Identifier: Apache-2.0

//  What is known of the open files of a column family, and the sums of it by
//  level. The statistics (plugin/filter_statistics.h) and the line in the DB's
//  log both show these sums.

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "filter_policy/open_db/filter_loads.h"
#include "filter_policy/open_db/filter_use.h"
#include "filter_policy/open_db/get_tally.h"
#include "filter_policy/open_db/seek_counts.h"
#include "rocksdb/table_properties.h"

namespace ROCKSDB_NAMESPACE::protean {

// What happened with the filters of some files.
struct FileCounts {
  SeekCounts seeks;
  FilterLoads loads;

  FileCounts& operator+=(const FileCounts& other) {
    seeks += other.seeks;
    loads += other.loads;
    return *this;
  }
  bool IsZero() const { return seeks.IsZero() && loads.IsZero(); }
};

// What the design of a filter rests on.
enum class DesignBasis : uint8_t {
  kSamples,     // sample queries and the file's keys
  kKeys,        // the file's keys alone
  kPrescribed,  // the policy's options; no model was asked
};
inline constexpr size_t kDesignBases = 3;

// The name of a basis for people and programs: "samples", "keys" or
// "prescribed".
const char* ToString(DesignBasis basis);

// The basis of a filter of Protean with these properties.
DesignBasis BasisOf(const UserCollectedProperties& properties);

// An open file, at one moment.
struct FileState {
  std::string path;
  int level = -1;  // that the file was opened for; -1 if unknown
  FilterUse use = FilterUse::kNone;
  std::shared_ptr<const TableProperties> properties;
  FileCounts counts;
};

// A column family, at one moment.
struct FamilyState {
  std::vector<FileState> open_files;
  // Counts of files that have been closed since, by level.
  std::map<int, FileCounts> closed_files;
  // Counts of all files, open or closed, by level.
  std::map<int, GetCounts> gets;
};

// Sums over the files of a level, or of several levels.
struct LevelSums {
  // These are of open files.
  uint64_t files = 0;
  uint64_t entries = 0;
  std::array<uint64_t, kFilterUses> files_by_use{};
  // These are of the open files whose filters are used.
  uint64_t keys = 0;
  uint64_t filter_bytes = 0;
  std::array<uint64_t, kDesignBases> files_by_basis{};
  uint64_t model_micros = 0;
  // Sum of each file's predicted false positive rate times its keys, and the
  // keys of the files that have a prediction.
  double predicted_positives = 0;
  double predicted_keys = 0;
  // Counts of open files and of files that have been closed.
  FileCounts counts;
  GetCounts gets;

  void Add(const FileState& file);

  uint64_t used() const {
    return files_by_use[static_cast<size_t>(FilterUse::kUsed)];
  }
  // 0 if there are no keys.
  double BitsPerKey() const;
  // Mean of the predicted rates, weighted by keys. Negative without any
  // prediction.
  double PredictedFpr() const;
};

// Returns the sums by level, which is -1 if unknown. Adds all files to
// `*total`.
std::map<int, LevelSums> SumByLevel(const FamilyState& family,
                                    LevelSums* total);

// One line for a log, without the name of the column family.
std::string ToLogLine(const std::map<int, LevelSums>& levels);

}  // namespace ROCKSDB_NAMESPACE::protean
