// SPDX-License-Identifier: Apache-2.0

//  Checks that the filter of a file finds all keys of the file. Everything
//  rests on that promise: a filter that denies a key makes the key's data
//  invisible.

#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tools/file_facts.h"

namespace ROCKSDB_NAMESPACE::protean {

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
KeyCheck CheckKeys(const FileFacts& facts, const TargetFamily& family,
                   const std::function<void(uint64_t keys)>& progress);

}  // namespace ROCKSDB_NAMESPACE::protean
