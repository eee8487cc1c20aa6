// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/proteus_builder.h"

#include <algorithm>

#include "filter_policy/filter_block.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A filter of a few keys may take more than its share.
constexpr uint64_t kMinBytes = 64;
// What a part takes in a block besides its payload and the string with which it
// begins, which is short where keys are alike.
constexpr uint64_t kPartAndEntry = FilterDirectory::kUnitOverhead + 9;
constexpr uint64_t kUsualBegin = 64;

// The bytes that payloads may take of `size`, of which `overhead` are spent
// otherwise.
uint64_t PayloadBytes(uint64_t size, uint64_t overhead) {
  return ProteusHeader::kMaxSetHeaders +
         std::max(size - std::min(size, overhead),
                  std::max(kMinBytes, size / 2));
}

}  // namespace

uint64_t ProteusBuilder::SizeAt(double bits_per_key) const {
  return static_cast<uint64_t>(bits_per_key / 8 *
                               static_cast<double>(num_keys()));
}

uint64_t ProteusBuilder::MaxSize() const {
  const uint64_t size = SizeAt(group_.MaxBitsPerKey());
  const uint64_t parts = std::max<uint64_t>(1, NumParts(size));
  return PayloadBytes(size, 0) +
         parts * (FilterDirectory::kUnitOverhead +
                  FilterDirectory::kMaxEntrySize + kUsualBegin);
}

Status ProteusBuilder::Plan(const KeysEnd& end,
                            std::vector<PlannedPart>* parts) {
  parts->clear();
  if (num_keys() == 0) return Status::OK();
  const double bits_per_key =
      group_.BitsPerKey(end.more_follow, first_key(), last_key());
  if (bits_per_key == 0) {
    return Status::MemoryLimit("filter_budget_bytes is used up");
  }
  const uint64_t size = SizeAt(bits_per_key);
  group_.Cut(NumParts(size), parts);
  uint64_t overhead =
      FilterDirectory::kFixedSize + ProteusHeader::kMaxSetHeaders +
      std::min(first_key().size(), FilterBlockHeader::kMaxStoredKey) +
      std::min(last_key().size(), FilterBlockHeader::kMaxStoredKey) + 12;
  for (const PlannedPart& part : *parts) {
    overhead += kPartAndEntry + part.begin.size();
  }
  return group_.Design(PayloadBytes(size, overhead), end.prefixes_only,
                       /*in_units=*/task().part_bytes > 0, parts);
}

}  // namespace ROCKSDB_NAMESPACE::protean
