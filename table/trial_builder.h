// SPDX-License-Identifier: Apache-2.0

//  Builds a filter in memory as RocksDB has the filter of a file built: whole,
//  or in parts. Parts become one block in segments (segmented_block.h), which
//  answers as they do.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rocksdb/filter_policy.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/table.h"

namespace ROCKSDB_NAMESPACE::protean {

class TrialBuilder {
 public:
  // `builder` is the one that a policy makes for these options. If the filter
  // is to be in parts, the policy must be one of Protean's. The prefix
  // extractor, which may be nullptr, must outlive this object.
  TrialBuilder(std::unique_ptr<FilterBitsBuilder> builder,
               const BlockBasedTableOptions& options,
               const SliceTransform* prefix_extractor);

  // Adds a key of the file, in order; a key may come in several versions.
  void Add(const Slice& key);

  // Ends the building. Stores the block, and the bytes that the filter takes in
  // a file.
  Status Finish(std::unique_ptr<const char[]>* block, Slice* contents,
                uint64_t* bytes);

 private:
  struct Part {
    std::unique_ptr<const char[]> block;
    Slice contents;
    std::string last_key;
    std::string next_key;  // empty in the last part
  };

  bool IsInParts() const { return keys_per_part_ > 0; }
  // Ends the part before a key if it is full.
  void CutBefore(const Slice& key);
  void FinishPart(const Slice& next_key);
  // Returns all parts as one block.
  Slice JoinParts(std::unique_ptr<const char[]>* block);

  std::unique_ptr<FilterBitsBuilder> builder_;
  const SliceTransform* const prefix_extractor_;
  // The number of keys in a part; 0 if the filter is whole.
  size_t keys_per_part_ = 0;
  bool has_keys_ = false;
  std::string last_key_;
  std::vector<Part> parts_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
