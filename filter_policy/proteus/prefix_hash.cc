// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/prefix_hash.h"

#include <cstring>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

struct LastHead {
  uint64_t hash = 0;
  uint64_t seed = 0;
  size_t size = 0;  // 0 for none
  uint32_t misses = 0;
  char bytes[kMaxSharedHead] = {};
};

// After this number of misses in a row, only one head out of kIdlePeriod is
// kept, and the next one compared with it. That saves copies while each lookup
// asks one filter only. The period is a prime, so that the head that is kept
// will soon be a lookup's first one, for any number of filters but 31.
constexpr uint32_t kMaxMisses = 8;
constexpr uint32_t kIdlePeriod = 31;

}  // namespace

uint64_t HashHeadOnce(const Slice& head, uint64_t seed) {
  if (head.size() < kMinSharedHead || head.size() > kMaxSharedHead) {
    return HashBytes(head.data(), head.size(), seed);
  }
  static thread_local LastHead last;
  const uint32_t turn =
      last.misses < kMaxMisses ? 0 : last.misses % kIdlePeriod;
  // Heads are compared by their bytes, since callers reuse their buffers.
  if (turn <= 1 && last.size == head.size() && last.seed == seed &&
      memcmp(last.bytes, head.data(), head.size()) == 0) {
    last.misses = 0;
    return last.hash;
  }
  last.misses++;
  const uint64_t hash = HashBytes(head.data(), head.size(), seed);
  if (turn == 0) {
    last.hash = hash;
    last.seed = seed;
    last.size = head.size();
    memcpy(last.bytes, head.data(), head.size());
  }
  return hash;
}

}  // namespace ROCKSDB_NAMESPACE::protean
