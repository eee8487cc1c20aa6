// SPDX-License-Identifier: Apache-2.0

//  Builds the parts of a Proteus: says how many there are and how large they
//  may be, and leaves the rest to a group, whose design fits the keys of all
//  (proteus_group.h).

#pragma once

#include <utility>
#include <vector>

#include "filter_policy/proteus/proteus_group.h"

namespace ROCKSDB_NAMESPACE::protean {

class ProteusBuilder : public RangeFilterBuilder {
 public:
  using Samples = ProteusGroup::Samples;
  ProteusBuilder(ProteusSettings settings, Samples samples,
                 const FilterTask& task = {})
      : RangeFilterBuilder(task),
        group_(std::move(settings), std::move(samples)) {}

  void Write(size_t part, char* payload) override {
    group_.Write({part, false}, salt(), payload);
  }
  void WriteSecond(size_t part, char* payload) override {
    group_.Write({part, true}, salt(), payload);
  }
  bool IsFull() const override { return group_.IsFull(); }
  bool CutsParts() const override { return true; }
  double ApproximateBitsPerKey() const override {
    return group_.settings().bits_per_key;
  }
  uint64_t MaxSize() const override;
  FilterReport Report() const override { return group_.header().Report(); }

 protected:
  void Add(const Slice& key, size_t, size_t) override { AddLast(key, 0); }
  void AddLast(const Slice& key, size_t) final {
    group_.AddKey(key, shared_bits());
  }
  Status Plan(const KeysEnd& end, std::vector<PlannedPart>* parts) override;
  size_t Memory() const override { return group_.MemoryUsage(); }

 private:
  uint64_t SizeAt(double bits_per_key) const;
  // The number of parts of a filter of that size.
  uint64_t NumParts(uint64_t size) const {
    const uint64_t part_bytes = task().part_bytes;
    return part_bytes == 0 ? 1 : (size + part_bytes / 2) / part_bytes;
  }

  ProteusGroup group_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
