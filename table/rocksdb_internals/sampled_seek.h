// SPDX-License-Identifier: Apache-2.0

//  The seeks of which RocksDB takes samples, from which read-triggered
//  compaction (read_triggered_compaction_threshold) chooses files.
//
//  Since 11.2, an iterator over a level decides after each seek whether it is
//  one, by the next random number of the thread. It counts a read of the file,
//  and whether the iterator over the file is at a deletion or at an operand of
//  a merge. A marker tells neither, so an iterator does not wait in a sampled
//  seek: what it is at then is what RocksDB's own would be at.

#pragma once

#include "monitoring/file_read_sample.h"
#include "table/rocksdb_internals/versions.h"

namespace ROCKSDB_NAMESPACE::protean {

// Returns true if the seek that is under way will be a sample. The thread's
// random numbers stay as they are.
inline bool IsSampledSeek() {
#if PROTEAN_SAMPLES_SEEKS
  Random* const random = Random::GetTLSInstance();
  const Random before = *random;
  const bool is_sampled = should_sample_file_read();
  *random = before;
  return is_sampled;
#else
  return false;
#endif
}

}  // namespace ROCKSDB_NAMESPACE::protean
