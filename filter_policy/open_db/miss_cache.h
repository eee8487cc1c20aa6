// SPDX-License-Identifier: Apache-2.0

//  A cache of false positives (docs/internals/reads.md, "A read in vain is paid
//  once"). An entry is a gap in which a file has no key. Filters that adapt
//  (Aeris, SIGMOD 2026) would have to be written for that; "To adapt or to
//  cache?" (2025) finds that a small cache of such queries does as well.
//
//  It has a fixed number of slots of two cache lines. Four slots are a set, and
//  a gap is in the set that the file and the beginning of the gap hash to. The
//  last byte of the beginning is left out, so that a target near another one is
//  found in its gap. Within a set, gaps replace each other in turn.
//
//  Readers take no lock. A slot has a version, which is odd while the slot is
//  written: a reader that sees two versions, or an odd one, has read nothing.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "filter_policy/open_db/dead_ranges.h"
#include "rocksdb/rocksdb_namespace.h"
#include "rocksdb/slice.h"
#include "util/atomic.h"

namespace ROCKSDB_NAMESPACE::protean {

// Thread safe.
class MissCache {
 public:
  // A cache of about `bytes` bytes.
  explicit MissCache(size_t bytes);
  MissCache(const MissCache&) = delete;
  MissCache& operator=(const MissCache&) = delete;

  // Remembers that a file has no key in [lo, hi). Files have numbers that no
  // other file of the process has had. There is room for kMaxBytes bytes: `lo`,
  // and the rest of `hi` after the bytes with which both begin. A longer rest
  // is cut, and a gap with a longer `lo` is not stored.
  void Add(uint64_t file, const Slice& lo, const Slice& hi);

  // Returns true if a known gap of the file has `key` in it, and stores the end
  // of the gap, which is above the key.
  bool Find(uint64_t file, const Slice& key, std::string* end) const;

  // Ranges that reads have found to be deleted, in a quarter of the bytes.
  DeadRanges& dead_ranges() { return dead_ranges_; }

  // Counts a read that was spared.
  void CountHit() { hits_.FetchAddRelaxed(1); }
  // Reads that were spared, gaps that were stored, and bytes that are taken.
  uint64_t hits() const { return hits_.LoadRelaxed(); }
  uint64_t stored() const { return stored_.LoadRelaxed(); }
  uint64_t bytes() const {
    return num_sets_ * kWays * sizeof(Slot) + dead_ranges_.max_bytes();
  }

  static constexpr size_t kMaxBytes = 104;

 private:
  static constexpr size_t kWays = 4;
  static constexpr size_t kWords = 15;

  // Words: the file, the sizes (of `lo`, of what `hi` shares with it, of the
  // rest of `hi`; 16 bits each), and the bytes of `lo` and of that rest.
  struct Gap {
    uint64_t words[kWords];

    char* bytes() { return reinterpret_cast<char*>(words + 2); }
    const char* bytes() const {
      return reinterpret_cast<const char*>(words + 2);
    }
    size_t lo_size() const { return words[1] & 0xffff; }
    size_t shared() const { return words[1] >> 16 & 0xffff; }
    Slice lo() const { return Slice(bytes(), lo_size()); }
    Slice rest() const {
      return Slice(bytes() + lo_size(), words[1] >> 32 & 0xffff);
    }
    bool EndIsAbove(const Slice& key) const;
  };
  static_assert(sizeof(Gap) == 2 * sizeof(uint64_t) + kMaxBytes);
  struct alignas(64) Slot {
    std::atomic<uint64_t> version{0};
    std::atomic<uint64_t> words[kWords] = {};
  };

  Slot* SetOf(uint64_t file, const Slice& key) const;
  // Copies a slot; false if it is another file's, or being written.
  static bool Read(const Slot& slot, uint64_t file, Gap* gap);

  const size_t num_sets_;
  const std::unique_ptr<Slot[]> slots_;
  RelaxedAtomic<uint64_t> hits_;
  RelaxedAtomic<uint64_t> stored_;
  DeadRanges dead_ranges_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
