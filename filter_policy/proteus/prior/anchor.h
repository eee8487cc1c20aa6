// SPDX-License-Identifier: Apache-2.0

//  Where a field starts in the keys of a file.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "rocksdb/slice.h"

namespace ROCKSDB_NAMESPACE::protean {

// Where a field starts in each key.
struct Anchor {
  enum class From { kBegin, kEnd, kSeparator } from;
  size_t distance;  // from the beginning or the end; of kSeparator: how many of
                    // `separator` precede it
  char separator = 0;

  // False if the key has no such place.
  bool Find(const Slice& key, size_t* start) const;
};

// The anchors of byte `start` of a key, the likeliest one first. If
// `one_length`, all keys have the same length.
std::vector<Anchor> AnchorsOf(const std::string& key, size_t start,
                              bool one_length);

}  // namespace ROCKSDB_NAMESPACE::protean
