// SPDX-License-Identifier: Apache-2.0

//  Samples the seeks of one iterator for which its file has nothing. A seek
//  that has found a key, or waits before one, may turn out to be in vain, too:
//  the search watches it (search_sampler.h).

#pragma once

#include "filter_policy/samples/query_queue.h"
#include "table/rocksdb_internals/file_iterator.h"
#include "table/seek/run_search.h"
#include "table/seek/seek_bounds.h"

namespace ROCKSDB_NAMESPACE::protean {

// Made for each use, of parts of the iterator.
class SeekSampler {
 public:
  // The queue is the file's; nothing is sampled if it is nullptr.
  SeekSampler(QueryQueue* queue, const FileIterator& inner,
              const SeekBounds& bounds, SearchHandle* search)
      : queue_(queue), inner_(inner), bounds_(bounds), search_(*search) {}

  bool IsOn() const { return queue_ != nullptr; }

  // Whether a forward seek without a bound, of the only run of a search, might
  // be sampled.
  bool SamplesOpenAlone() const {
    return IsOn() && inner_.prefix_extractor() != nullptr;
  }

  // All that follows requires IsOn().

  // A seek has ended without an error. `found` tells whether it is at a key
  // within its bounds, or waits before one.
  void Sample(const Slice& target, bool found) {
    // Beyond all keys of the file, there is nothing to learn without a bound:
    // the filter knows the largest key.
    if (found ? !search_.IsJoined() : !IsBounded()) return;
    if (queue_->Tick()) Record(target, found);
  }
  void SampleBackwards(const Slice& target, bool inclusive, bool found);

  // What SearchMember is asked for.
  void RecordEmptyRange(const Slice& lo, const Slice& hi,
                        bool hi_inclusive) const {
    queue_->Record(lo, hi, hi_inclusive);
  }
  void RecordNothingFrom(const Slice& target) const;

 private:
  bool IsBounded() const {
    return bounds_.upper() != nullptr || inner_.prefix_extractor() != nullptr;
  }
  // Samples a seek when it is its turn.
  void Record(const Slice& target, bool found);

  QueryQueue* const queue_;
  const FileIterator& inner_;
  const SeekBounds& bounds_;
  SearchHandle& search_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
