//  Whether a file's filter finds the keys that the file holds. That is the one
//  promise on which everything rests: a filter that denies a key makes its data
//  invisible.

#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tools/file_facts.h"

namespace ROCKSDB_NAMESPACE::protean {

struct KeyCheck {
  uint64_t keys = 0;  // distinct ones that have been read

  // Those of which at least one question had a wrong answer; the first of them,
  // and that question.
  uint64_t false_negatives = 0;
  std::string first_key;
  std::string first_question;

  // What the filter's header says wrongly of all keys; empty if nothing.
  std::string wrong_header;

  // Whether there was anything that could be asked.
  bool asked = false;

  // Corruption if the data is damaged; it names the file and the offset. Keys
  // behind the damage have not been asked for.
  Status data;
};

// Reads all of a file, verifying checksums, and asks its filter for each key:
// as Get does, as seeks do for ranges that hold the key, one close to it and
// one up to the key before, and for the key's prefix if the file was written
// with a prefix extractor.
// RocksDB's own filters are asked what they can be asked. `progress` is called
// now and then with the number of keys since the last call.
KeyCheck CheckKeys(const FileFacts& facts, const TargetFamily& family,
                   const std::function<void(uint64_t keys)>& progress);

}  // namespace ROCKSDB_NAMESPACE::protean
