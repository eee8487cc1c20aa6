// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/bits/key_digest.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "util/coding_lean.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The digest of the first `size` bytes of the remembered key.
struct HeadDigest {
  uint64_t process;
  uint64_t digest;
  size_t size;
};

struct RememberedKey {
  // Filters of other designs, and files of other processes, have others.
  static constexpr uint32_t kMaxDigests = 8;

  uint32_t computed = 0;
  uint32_t misses = 0;   // since a digest was last reused
  uint32_t to_skip = 0;  // digests that are to be computed without a look here
  uint32_t num_digests = 0;
  uint32_t next_digest = 0;
  HeadDigest digests[kMaxDigests] = {};
  size_t size = 0;  // 0 for none
  char bytes[kMaxRemembered] = {};
};

thread_local RememberedKey remembered;

// Digests of longer heads are not remembered.
std::atomic<size_t> longest_remembered{kMaxRemembered};

// After this number of misses in a row, only one key out of kIdlePeriod is
// kept, and the next few heads compared with it. That saves copies while each
// lookup asks one filter only. The period is a prime, so that the key that is
// kept will soon be a lookup's first one, for any number of filters but 31.
constexpr uint32_t kMaxMisses = 8;
constexpr uint32_t kIdlePeriod = 31;
constexpr uint32_t kIdleTries = 3;

// Returns true if both have the same `size` bytes, at least 8. Keys are
// compared by their bytes, since callers reuse their buffers; and first by
// their last bytes, which differ most often.
inline bool SameBytes(const char* a, const char* b, size_t size) {
  return DecodeFixed64(a + size - 8) == DecodeFixed64(b + size - 8) &&
         memcmp(a, b, size) == 0;
}

[[gnu::noinline]] uint64_t ComputeDigest(const Slice& key, size_t size,
                                         uint64_t process, bool is_last) {
  RememberedKey& last = remembered;
  last.computed++;
  const uint64_t digest = DigestOf(key, size, process);
  if (!is_last) {
    const uint32_t turn = last.misses < kMaxMisses
                              ? 0
                              : (last.misses - kMaxMisses) % (kIdleTries + 1);
    last.misses++;
    if (turn == kIdleTries) last.to_skip = kIdlePeriod - kIdleTries - 1;
    if (turn != 0) return digest;
    last.size = std::min(key.size(), kMaxRemembered);
    memcpy(last.bytes, key.data(), last.size);
    last.num_digests = 0;
    last.next_digest = 0;
  }
  last.digests[last.next_digest++] = {process, digest, size};
  last.num_digests = std::max(last.num_digests, last.next_digest);
  last.next_digest %= RememberedKey::kMaxDigests;
  return digest;
}

}  // namespace

uint64_t RecallDigest(const Slice& key, size_t size, uint64_t process) {
  if (size > longest_remembered.load(std::memory_order_relaxed)) {
    return DigestOf(key, size, process);
  }
  RememberedKey& last = remembered;
  if (last.to_skip > 0) {
    last.to_skip--;
    last.computed++;
    return DigestOf(key, size, process);
  }
  const bool is_last =
      size <= last.size && SameBytes(last.bytes, key.data(), size);
  if (is_last) {
    for (uint32_t i = 0; i < last.num_digests; i++) {
      const HeadDigest& known = last.digests[i];
      if (known.size == size && known.process == process) {
        last.misses = 0;
        return known.digest;
      }
    }
  }
  return ComputeDigest(key, size, process, is_last);
}

uint32_t DigestMemory::Computed() { return remembered.computed; }

void DigestMemory::SwitchOn(bool on) {
  longest_remembered.store(on ? kMaxRemembered : 0, std::memory_order_relaxed);
}

}  // namespace ROCKSDB_NAMESPACE::protean
