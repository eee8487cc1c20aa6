// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/proteus_builder.h"

#include <algorithm>

#include "filter_policy/filter_block.h"

namespace ROCKSDB_NAMESPACE::protean {

ProteusBuilder::ProteusBuilder(std::shared_ptr<ProteusGroup> group)
    : group_(std::move(group)), part_(group_->num_parts()) {
  group_->BeginPart();
}

std::unique_ptr<RangeFilterBuilder> ProteusBuilder::NextPart() {
  if (group_->is_designed()) return nullptr;
  return std::unique_ptr<RangeFilterBuilder>(new ProteusBuilder(group_));
}

uint64_t ProteusBuilder::PayloadFor(double bits_per_key,
                                    uint64_t overhead) const {
  const auto all =
      static_cast<uint64_t>(bits_per_key / 8 * static_cast<double>(num_keys()));
  // A filter of a few keys may take more than its share.
  constexpr uint64_t kMinBytes = 64;
  return HeaderSize() +
         std::max(all - std::min(all, overhead), std::max(kMinBytes, all / 2));
}

uint64_t ProteusBuilder::PlanBytes(double bits_per_key) {
  FilterBlockHeader envelope;
  envelope.salt = salt();
  envelope.is_part = is_part();
  envelope.smallest = first_key();
  envelope.largest = last_key();
  uint64_t overhead = FilterBlockSize(envelope, HeaderSize());
  if (is_part()) overhead = group_->ShareOfOverhead(num_keys(), overhead);
  return PayloadFor(bits_per_key, overhead);
}

Status ProteusBuilder::Prepare(uint64_t* payload_size) {
  header_.is_part = is_part();
  if (num_keys() == 0) {
    // No key lies between smallest and largest.
    header_.smallest = ~uint64_t{0};
    *payload_size = header_.Size();
    return Status::OK();
  }
  const double bits_per_key =
      group_->BitsPerKey(is_part(), first_key(), last_key());
  if (bits_per_key == 0) {
    return Status::MemoryLimit("filter_memory is used up");
  }
  const uint64_t bytes = PlanBytes(bits_per_key);
  group_->EndPart(bytes, is_part(), prefixes_only());
  if (is_part()) {
    *payload_size = bytes;
    return Status::OK();
  }
  const Status s = group_->Design();
  *payload_size = group_->part(part_).payload_size();
  header_ = group_->header();
  return s;
}

bool ProteusBuilder::HasHashes() const {
  return num_keys() > 0 && (is_part() || group_->part(part_).HasSets());
}

uint64_t ProteusBuilder::WritePart(char* payload, uint64_t /*max_size*/) {
  if (num_keys() == 0) {
    return header_.EncodeTo(payload).end;
  }
  // The design of parts cannot fail: each part has few keys.
  if (!group_->is_designed()) {
    group_->Design().PermitUncheckedError();
  }
  header_ = group_->WritePart(part_, LoadBits64(first_key(), 0),
                              LoadBits64(last_key(), 0), salt(), payload);
  return group_->part(part_).payload_size();
}

}  // namespace ROCKSDB_NAMESPACE::protean
