// SPDX-License-Identifier: Apache-2.0

//  Entries in order of their fingerprints, each fingerprint once, from memory
//  or from flash; and the merge of such streams.

#pragma once

#include <memory>
#include <vector>

#include "rocksdb/status.h"
#include "sets/cascade/entry.h"

namespace ROCKSDB_NAMESPACE::protean {

class EntryStream {
 public:
  virtual ~EntryStream() = default;

  // Stores the next entries, `capacity` of them or fewer, and returns how many;
  // 0 at the end, and if something is wrong.
  virtual size_t Read(Entry* entries, size_t capacity) = 0;

  // What was wrong, if anything.
  virtual Status status() const = 0;
};

// Merges the streams of parts, of which each is newer than the next one. What
// two of them say of a fingerprint is combined. If `drop_deletes` is true,
// there is nothing older, so that deletions have no effect any more.
// REQUIRES: there is a stream
std::unique_ptr<EntryStream> MergeStreams(
    std::vector<std::unique_ptr<EntryStream>> newest_first, bool drop_deletes);

}  // namespace ROCKSDB_NAMESPACE::protean
