// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/open_db/miss_cache.h"

#include <algorithm>
#include <cstring>

#include "filter_policy/bits/bit_util.h"
#include "util/fastrange.h"
#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

MissCache::MissCache(size_t bytes)
    : num_sets_(
          std::max<size_t>(1, (bytes - bytes / 4) / (kWays * sizeof(Slot)))),
      slots_(new Slot[num_sets_ * kWays]),
      dead_ranges_(bytes / 4) {}

MissCache::Slot* MissCache::SetOf(uint64_t file, const Slice& key) const {
  const size_t size = key.empty() ? 0 : key.size() - 1;
  const uint64_t hash = Hash64(key.data(), size, file);
  return &slots_[kWays * FastRange64(hash, num_sets_)];
}

bool MissCache::Gap::EndIsAbove(const Slice& key) const {
  const int order =
      Slice(bytes(), shared())
          .compare(Slice(key.data(), std::min(key.size(), shared())));
  if (order != 0) return order > 0;
  return rest().compare(Slice(key.data() + shared(), key.size() - shared())) >
         0;
}

bool MissCache::Read(const Slot& slot, uint64_t file, Gap* gap) {
  const uint64_t version = slot.version.load(std::memory_order_acquire);
  if ((version & 1) != 0 ||
      slot.words[0].load(std::memory_order_acquire) != file) {
    return false;
  }
  for (size_t i = 0; i < kWords; i++) {
    gap->words[i] = slot.words[i].load(std::memory_order_acquire);
  }
  return slot.version.load(std::memory_order_relaxed) == version;
}

void MissCache::Add(uint64_t file, const Slice& lo, const Slice& hi) {
  // A cut end must still be above `lo`.
  if (lo.compare(hi) >= 0 || lo.size() >= kMaxBytes) return;
  const size_t shared = SharedBytes(lo, hi);
  const size_t rest = std::min(hi.size() - shared, kMaxBytes - lo.size());
  Gap gap = {{file, lo.size() | shared << 16 | uint64_t{rest} << 32}};
  memcpy(gap.bytes(), lo.data(), lo.size());
  memcpy(gap.bytes() + lo.size(), hi.data() + shared, rest);
  const uint64_t stored = stored_.FetchAddRelaxed(1);
  Slot* const set = SetOf(file, lo);
  Slot* replaced = &set[stored % kWays];
  for (size_t way = 0; way < kWays; way++) {
    // A part of the new gap, or an empty slot.
    Gap other;
    if (set[way].version.load(std::memory_order_relaxed) == 0 ||
        (Read(set[way], file, &other) && other.lo().compare(lo) >= 0 &&
         gap.EndIsAbove(other.lo()))) {
      replaced = &set[way];
      break;
    }
  }
  uint64_t version = replaced->version.load(std::memory_order_relaxed);
  // Another thread writes: one of the two gaps is forgotten.
  if ((version & 1) != 0 ||
      !replaced->version.compare_exchange_strong(version, version + 1,
                                                 std::memory_order_acq_rel)) {
    return;
  }
  for (size_t i = 0; i < kWords; i++) {
    replaced->words[i].store(gap.words[i], std::memory_order_release);
  }
  replaced->version.store(version + 2, std::memory_order_release);
}

bool MissCache::Find(uint64_t file, const Slice& key, std::string* end) const {
  const Slot* const set = SetOf(file, key);
  Gap gap;
  for (size_t way = 0; way < kWays; way++) {
    if (Read(set[way], file, &gap) && gap.lo().compare(key) <= 0 &&
        gap.EndIsAbove(key)) {
      end->assign(gap.bytes(), gap.shared());
      end->append(gap.rest().data(), gap.rest().size());
      return true;
    }
  }
  return false;
}

}  // namespace ROCKSDB_NAMESPACE::protean
