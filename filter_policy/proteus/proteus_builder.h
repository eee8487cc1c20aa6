// SPDX-License-Identifier: Apache-2.0

//  Builds one filter block of proteus.h. The parts of a partitioned filter
//  share a group, whose design fits the keys of all (proteus_group.h).

#pragma once

#include <memory>
#include <utility>

#include "filter_policy/proteus/proteus_group.h"

namespace ROCKSDB_NAMESPACE::protean {

class ProteusBuilder : public RangeFilterBuilder {
 public:
  using Samples = ProteusGroup::Samples;
  ProteusBuilder(ProteusSettings settings, Samples samples)
      : ProteusBuilder(std::make_shared<ProteusGroup>(std::move(settings),
                                                      std::move(samples))) {}

  void Write(char* payload) override { WritePart(payload, 0); }
  double ApproximateBitsPerKey() const override {
    return group_->settings().bits_per_key;
  }
  uint64_t MaxPayloadSize() const override {
    return PayloadFor(group_->MaxBitsPerKey(), /*overhead=*/0);
  }
  FilterReport Report() const override { return header_.Report(); }
  bool KeepsRange() const override { return group_->settings().keeps_range; }
  bool TellsLengths() const override { return !group_->settings().keys_alone; }

  bool IsFull() const override { return group_->IsFull(); }
  bool WaitsForParts() const override { return !IsFull(); }
  std::unique_ptr<RangeFilterBuilder> NextPart() override;
  uint64_t WritePart(char* payload, uint64_t max_size) override;

 protected:
  void Add(const Slice& key, size_t, size_t) override { AddLast(key, 0); }
  void AddLast(const Slice& key, size_t) final {
    group_->AddKey(key, shared_bits());
  }
  Status Prepare(uint64_t* payload_size) override;
  size_t Memory() const override { return group_->MemoryUsage(); }
  bool HasHashes() const override;

 private:
  explicit ProteusBuilder(std::shared_ptr<ProteusGroup> group);

  // Maximum size of the payload in bytes, with that many bits per key, of which
  // `overhead` bytes are spent otherwise.
  uint64_t PayloadFor(double bits_per_key, uint64_t overhead) const;
  uint64_t PlanBytes(double bits_per_key);

  size_t HeaderSize() const {
    return is_part() ? ProteusHeader::kMaxPartSize : ProteusHeader::kSize;
  }

  const std::shared_ptr<ProteusGroup> group_;
  const size_t part_;
  ProteusHeader header_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
