// SPDX-License-Identifier: Apache-2.0

//  Sets of hashes of any kind (amq_type.h): the seam between what a range
//  filter hashes and how the hashes are kept.

#pragma once

#include <vector>

#include "filter_policy/amq/amq_type.h"
#include "filter_policy/amq/bloom.h"
#include "filter_policy/amq/ribbon.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// All kinds. The first one suits most filters. A kind that is not part of the
// library is added before any filter is built or read; not thread safe.
std::vector<const AmqType*>& AmqTypes();
// The kind with that number, or nullptr.
const AmqType* FindAmqType(AmqKind kind);

// The best set of a kind for `hashes` distinct hashes in at most `bytes` bytes.
// If the bytes are too few, the plan has the kind kNone, whose set contains
// everything.
AmqPlan PlanAmq(AmqKind kind, uint64_t hashes, uint64_t bytes);

// The hash by which the set in a part's second unit (filter_block.h) holds what
// the first unit's holds by `hash`, so that few others pass both. One hash of a
// prefix serves both sets. Neighbours stay neighbours.
inline uint64_t HashInSecondUnit(uint64_t hash) {
  constexpr uint64_t kNeighbours = (uint64_t{1} << kNeighbourBits) - 1;
  uint64_t mixed = (hash | kNeighbours) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ mixed >> 29) * 0x94d049bb133111ebu;
  return ((mixed ^ mixed >> 32) & ~kNeighbours) | (hash & kNeighbours);
}

// The query side. Immutable and thread safe.
class Amq {
 public:
  static constexpr size_t kHeaderSize = AmqHeader::kSize;
  using Lookup = AmqLookup;

  Amq() = default;
  Amq(const Amq&) = delete;
  Amq& operator=(const Amq&) = delete;
  ~Amq() {
    if (set_ != nullptr) set_->~AmqSet();
  }

  // Reads a header. Returns Corruption if it is inconsistent.
  Status DecodeHeader(const char* header);
  // Takes the data off the front of `input`, whose bytes must outlive this
  // object. False if there are too few. Must be called once.
  bool Open(Slice* input, bool in_second_unit = false);
  // Makes this set one of what `second`, which must outlive it, contains, too:
  // the same hashes in a second unit. Called before the set is asked.
  void Join(const Amq* second) { second_ = second; }

  AmqKind kind() const { return header_.kind; }

  // Returns true if the set may contain the hash. Nearly all sets are Bloom
  // filters, which are asked without a call.
  bool MayContain(uint64_t hash) const {
    const bool contains =
        bloom_ != nullptr ? bloom_->MayContain(hash)
                          : set_ == nullptr || set_->MayContain(OwnHash(hash));
    return contains && (second_ == nullptr || second_->MayContain(hash));
  }

  // Returns true if the set takes the hashes of neighbours. In others, each
  // hash is a group of its own.
  bool TakesNeighbours() const { return takes_neighbours_; }
  // Which of the `count` neighbours from `hash` on, at least one and all in one
  // group, the set may contain: bit i stands for the hash `hash` + i.
  uint64_t FindNeighbours(uint64_t hash, uint64_t count) const {
    if (count == 1) return MayContain(hash) ? 1 : 0;
    const uint64_t found =
        set_ == nullptr
            ? ~uint64_t{0} >> (64 - count)
            : set_->FindNeighbours(OwnHash(hash), static_cast<unsigned>(count));
    return found == 0 || second_ == nullptr
               ? found
               : found & second_->FindNeighbours(hash, count);
  }

  // Moves the lookups that the set may contain to the front, in the same order,
  // and returns their number. All are prefetched before the first one is
  // tested, so that their cache misses overlap. The hashes are undefined
  // afterwards.
  size_t Keep(size_t count, Lookup* lookups) const {
    if (second_ != nullptr || in_second_unit_) {
      return KeepThose(count, lookups,
                       [this](uint64_t hash) { return MayContain(hash); });
    }
    if (bloom_ != nullptr) return bloom_->BloomSet::Keep(count, lookups);
    return set_ == nullptr ? count : set_->Keep(count, lookups);
  }

 private:
  uint64_t OwnHash(uint64_t hash) const {
    return in_second_unit_ ? HashInSecondUnit(hash) : hash;
  }

  AmqHeader header_;
  AmqSet* set_ = nullptr;  // in memory_; nullptr contains everything
  // set_ if it is a Bloom filter, not in a second unit
  const BloomSet* bloom_ = nullptr;
  const Amq* second_ = nullptr;
  bool takes_neighbours_ = false;
  bool in_second_unit_ = false;
  alignas(16) char memory_[AmqSet::kMaxBytes];
};

// Collects the hashes of one set.
class AmqBuilder {
 public:
  // The set goes into `plan.bytes` zero bytes at `data`, its header into
  // Amq::kHeaderSize zero bytes at `header`.
  AmqBuilder(const AmqPlan& plan, bool in_second_unit, char* header,
             char* data);

  // Returns true if the prefixes to be added are to be hashed as neighbours.
  bool TakesNeighbours() const { return takes_neighbours_; }

  // Adds a hash. Repeated hashes do no harm.
  void Add(uint64_t hash) {
    batch_[count_++] = in_second_unit_ ? HashInSecondUnit(hash) : hash;
    if (count_ == kBatch) AddBatch();
  }

  // Completes the set.
  void Finish();

  // The memory that building takes at most, besides header and data.
  static size_t MemoryUsage(const AmqPlan& plan);

 private:
  static constexpr size_t kBatch = 128;

  void AddBatch();

  const bool in_second_unit_;
  std::unique_ptr<AmqSetBuilder> builder_;  // nullptr for kNone
  bool takes_neighbours_ = false;
  size_t count_ = 0;
  uint64_t batch_[kBatch];
};

}  // namespace ROCKSDB_NAMESPACE::protean
