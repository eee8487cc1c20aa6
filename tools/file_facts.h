// SPDX-License-Identifier: Apache-2.0

//  What an SST file says about itself and its filter, and whether the filter
//  finds all keys of the file. Everything rests on that promise: a filter that
//  denies a key makes the key's data invisible.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "table/filter_trial.h"
#include "table/rocksdb_internals/block_based_file.h"
#include "tools/output.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

// An SST file, opened apart from its DB, with its filter.
class FileFacts {
 public:
  // Opens a file. Returns NotFound or PathNotFound if it is gone, NotSupported
  // if it is another kind of table than block-based, and Corruption if the file
  // as a whole is damaged. A damaged filter is no error: `damaged` tells.
  static Status Read(const TargetFamily& family, const TargetFile& file,
                     std::unique_ptr<FileFacts>* facts);

  // The filter if it is one of Protean's, else nullptr. The filter lives as
  // long as this object.
  const FilterBlock* filter() const { return filter_; }
  const BlockBasedFile& file() const { return *file_; }

  // "Proteus", "SuRF", "none", or the name of the policy of RocksDB that made
  // the filter, such as "bloomfilter".
  std::string kind = "none";
  // Why the file's filter is not asked for ranges; empty if it is.
  std::string unfiltered;
  bool damaged = false;  // the filter
  uint64_t entries = 0;
  // Number of distinct keys if the filter knows it, else of entries.
  uint64_t keys = 0;
  uint64_t filter_bytes = 0;
  FilterReport report;

 private:
  Status Open(const TargetFamily& family, const TargetFile& file);
  void ReadFilter(const TargetFamily& family);

  std::unique_ptr<BlockBasedFile> file_;
  const FilterBlock* filter_ = nullptr;
};

// Returns true if the status says that a file does not exist (any more).
inline bool IsGone(const Status& s) {
  return s.IsNotFound() || s.IsPathNotFound();
}

struct KeyCheck {
  uint64_t keys = 0;  // distinct keys that have been read

  // Number of keys about which the filter answered at least one question
  // wrongly, the first such key, and the question.
  uint64_t false_negatives = 0;
  std::string first_key;
  std::string first_question;

  // What the header of the filter block says wrongly about the keys; empty if
  // nothing.
  std::string wrong_header;

  // Whether there is a filter that could be asked.
  bool asked = false;

  // Corruption, with the file and the offset, if the data is damaged. Keys
  // behind the damage have not been checked.
  Status data;
};

// Reads all of a file, verifying checksums, and asks its filter about each key:
// as Get does, as seeks do with ranges that contain the key, begin or end near
// it, or reach up to the key before it, and about the key's prefix if the file
// was written with a prefix extractor. RocksDB's own filters are asked what
// they can answer. `progress` is called now and then with the number of keys
// since the last call.
KeyCheck CheckKeys(const FileFacts& facts,
                   const std::function<void(uint64_t keys)>& progress);

}  // namespace ROCKSDB_NAMESPACE::protean
