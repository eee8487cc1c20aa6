// SPDX-License-Identifier: Apache-2.0

//  SuRF, the succinct range filter (SuRF paper, section 3): a trie of the
//  shortest prefixes that tell the keys of a file apart, each with a few suffix
//  bits of its key.
//
//    payload   hash_bits, real_bits, prefix_bits, prefix_step (1 byte each; no
//              step if there are no prefix bits), 4 zero bytes
//              FST (fst.h), whose values are the suffixes (surf_suffix.h)
//
//  If the highest bit of the first byte is set, the trie is one of digits, and
//  their code (key_code.h) precedes it. The real bits are then a digit, or
//  none.

#pragma once

#include <memory>

#include "filter_policy/filter_kinds.h"
#include "filter_policy/fst/fst.h"
#include "filter_policy/fst/fst_builder.h"
#include "filter_policy/fst/fst_iterator.h"
#include "filter_policy/range_filter.h"
#include "filter_policy/surf/leaf_set.h"
#include "filter_policy/surf/prefix_bits.h"
#include "filter_policy/surf/surf_leaf.h"
#include "filter_policy/surf/surf_suffix.h"

namespace ROCKSDB_NAMESPACE::protean {

constexpr FilterKind kSurfKind{1};

class Surf : public RangeFilter {
 public:
  // Opens, in place, a payload that was built with `salt`. The payload must
  // outlive the filter and be followed by kReadPadding readable bytes. Returns
  // Corruption if it is damaged.
  static Status Open(const Slice& payload, const FilterSalt& salt,
                     std::unique_ptr<RangeFilter>* filter);

  bool KeyMayMatch(const Slice& key) const override;
  void KeysMayMatch(size_t num_keys, Slice** keys,
                    bool* may_match) const override;

  // Walks down the two bounds at once, and stops as soon as the answer is sure.
  // Costs as much as one point lookup while the bounds share a prefix, and as
  // much as two at most.
  bool RangeMayMatch(const Slice& lo, const Slice& hi,
                     bool hi_inclusive) const override;

  // The stored prefix of the first key that may be at or above `target`, or
  // `target` if that key may lie on either side of it.
  bool LowerBound(const Slice& target, std::string* bound) const override;

  // Counts the leaves between the bounds on each level, without stepping
  // through them.
  bool CountRange(const Slice& lo, const Slice& hi, bool hi_inclusive,
                  RangeCount* count) const override {
    CountLeaves(lo, hi, hi_inclusive, /*removed=*/nullptr, count);
    return true;
  }
  // CountRange without the leaves in `removed`, if that is not nullptr.
  void CountLeaves(const Slice& lo, const Slice& hi, bool hi_inclusive,
                   const LeafSet* removed, RangeCount* count) const;

  // Stores the number of the leaf that may be that of `key`; false if there is
  // none, as KeyMayMatch.
  bool FindLeaf(const Slice& key, uint32_t* leaf) const;

  FilterReport Report() const override;
  // CountRange for [lo, hi].
  RangeCount Count(const Slice& lo, const Slice& hi) const {
    RangeCount count;
    CountRange(lo, hi, /*hi_inclusive=*/true, &count);
    return count;
  }

  // Walks the stored prefixes in key order. The filter must outlive it.
  class Iterator {
   public:
    explicit Iterator(const Surf* surf) : surf_(surf), it_(&surf->fst_) {}

    bool Valid() const { return it_.Valid(); }
    void SeekToFirst() { it_.SeekToFirst(); }
    void SeekToLast() { it_.SeekToLast(); }

    // moveToNext (section 3.5): moves to the first key that may be at or above
    // `target`. Returns the false positive flag: true if that key may also be
    // below `target`; false if it certainly is not, or if there is no such key.
    bool Seek(const Slice& target);

    void Next() { it_.Next(); }
    void Prev() { it_.Prev(); }

    // The bytes of the current key that are stored. Valid until the iterator
    // moves.
    Slice key_prefix() const;
    // The real suffix bits that follow it.
    uint64_t real_suffix() const;
    // Whether the prefix is the whole key.
    bool IsWholeKey() const { return it_.IsTerminator(); }
    // The number of the leaf.
    uint32_t leaf() const { return it_.leaf(); }

   private:
    friend class Surf;

    template <typename Key>
    bool SeekTo(const Key& target);

    const Surf* surf_;
    FstIterator it_;
    mutable std::string key_prefix_;
  };

  const Fst& fst() const { return fst_; }
  // Whether the trie is one of digits.
  bool IsCoded() const { return is_coded_; }
  const SurfSuffix& suffix() const { return suffix_; }
  // A leaf, by its number, to compare bounds with.
  SurfLeaf LeafOf(uint32_t leaf) const {
    return SurfLeaf(suffix_, salt_,
                    BoundsNeedValue() ? fst_.values().Get(leaf) : 0);
  }
  // A bound whose first `depth` bytes, or digits, are the path of a leaf.
  LeafBound AtLeaf(const Slice& bound, size_t depth) const {
    LeafBound at;
    at.key = bound;
    at.before_last = depth - 1;
    at.shared_above = at.shared_below = depth;
    at.real = suffix_.Real(bound, depth);
    at.reached = suffix_.RealIsWhole(bound, depth);
    return at;
  }
  LeafBound AtLeaf(const CodedKey& bound, size_t depth) const {
    LeafBound at;
    at.key = bound.key();
    if (BoundsNeedValue()) {
      const KeyCode::LastByte last =
          code_.LastByteOf(at.key, depth, /*one_more=*/suffix_.real_bits > 0);
      at.before_last = last.before;
      at.shared_above = last.before + (last.is_largest ? 1 : 0);
      at.shared_below = last.before + (last.is_smallest ? 1 : 0);
      if (last.goes_on) {
        at.real = bound[depth++];
      }
    }
    at.reached = bound.IsReachedBy(depth);
    at.passed = bound.IsPassedBy(depth);
    return at;
  }

 private:
  Surf() = default;

  static constexpr size_t kMaxBatch = 32;  // as large as RocksDB's

  // Hash bits alone say nothing about bounds.
  bool BoundsNeedValue() const {
    return suffix_.real_bits + suffix_.prefix_bits > 0;
  }

  // A Key is a Slice or, if the trie is one of digits, a CodedKey.
  template <typename Key>
  bool StepDown(const Key& key, Fst::Node* node, size_t* depth, bool* found,
                uint32_t* leaf = nullptr) const;
  template <typename Key>
  bool FindKey(const Key& key, uint32_t* leaf = nullptr) const;
  template <typename Key>
  void FindKeys(size_t num_keys, const Key* const* keys, bool* found) const;
  template <typename Key>
  bool FindBetween(const Key& lo, const Key& hi, bool hi_inclusive) const;
  template <typename Key>
  void CountBetween(const Key& lo, const Key& hi, bool hi_inclusive,
                    const LeafSet* removed, RangeCount* count) const;

  bool HasKey(const Slice& key) const;
  bool HasCodedKey(const Slice& key) const;
  bool FindLeafOfKey(const Slice& key, uint32_t* leaf) const;
  bool FindLeafOfCodedKey(const Slice& key, uint32_t* leaf) const;
  void HaveKeys(size_t num_keys, Slice** keys, bool* found) const;
  void HaveCodedKeys(size_t num_keys, Slice** keys, bool* found) const;
  bool HasKeyBetween(const Slice& lo, const Slice& hi, bool hi_inclusive) const;
  bool HasKeyBetweenCoded(const Slice& lo, const Slice& hi,
                          bool hi_inclusive) const;
  void CountKeys(const Slice& lo, const Slice& hi, bool hi_inclusive,
                 const LeafSet* removed, RangeCount* count) const;
  void CountCodedKeys(const Slice& lo, const Slice& hi, bool hi_inclusive,
                      const LeafSet* removed, RangeCount* count) const;

  uint64_t ValueOf(const Fst::Node& node, const Fst::Edge& edge) const {
    return fst_.values().Get(fst_.Leaf(node, edge));
  }
  SurfLeaf LeafOf(const Fst::Node& node, const Fst::Edge& edge) const {
    return BoundsNeedValue() ? LeafOf(fst_.Leaf(node, edge))
                             : SurfLeaf(suffix_, salt_, 0);
  }
  template <typename Key>
  bool HasKeyFrom(Fst::Node node, size_t depth, const Key& lo) const;
  template <typename Key>
  bool HasKeyUpTo(Fst::Node node, size_t depth, const Key& hi,
                  bool hi_inclusive) const;

  Fst fst_;
  // Whether the trie is one of digits, and their code.
  bool is_coded_ = false;
  KeyCode code_;
  SurfSuffix suffix_;
  FilterSalt salt_;
};

// Collects the keys of one SuRF in one pass. There is no SuRF of long keys that
// share most of their bytes with one neighbor each, and few with all others:
// the trie would be almost a copy of the keys.
class SurfBuilder : public RangeFilterBuilder {
 public:
  // The builder chooses the step of the prefix bits.
  explicit SurfBuilder(const SurfSuffix& suffix, const FstOptions& options = {},
                       const FilterTask& task = {});

  void Write(size_t part, char* payload) override;
  double ApproximateBitsPerKey() const override {
    return kUsualTrieBitsPerKey + suffix_.bits();
  }
  uint64_t MaxSize() const override;
  FilterReport Report() const override {
    FilterReport report;
    report.design = suffix_.Describe();
    return report;
  }

 protected:
  void Add(const Slice& key, size_t shared, size_t next_shared) override;
  void AddLast(const Slice& key, size_t shared) override;
  Status Plan(const KeysEnd& end, std::vector<PlannedPart>* parts) override;
  size_t Memory() const override { return fst_.MemoryUsage(); }

  const SurfSuffix& suffix() const { return suffix_; }
  // The number of bytes, or all of them, that the trie stores of a key which
  // shares its first bytes with its neighbors.
  static size_t Depth(const Slice& key, size_t shared, size_t next_shared) {
    // The trie stores one byte past what the key shares with its neighbors,
    // unless the key ends there because it is a prefix of the next key.
    return std::min(std::max(shared, next_shared) + 1, key.size());
  }
  // Adds a key with a value that has no prefix bits.
  void AddValue(const Slice& key, size_t shared, size_t next_shared,
                uint64_t value) {
    fst_.Add(key, shared, next_shared, value);
  }
  void AddLastValue(const Slice& key, size_t shared, uint64_t value) {
    fst_.AddLast(key, shared, value);
  }
  // Plan for a trie of any size.
  Status PlanTrie(uint64_t* size);

 private:
  // Real bits follow the bytes of a trie, and no part of a byte.
  static FstOptions Allowed(const SurfSuffix& suffix, FstOptions options) {
    if (suffix.real_bits > 0) options.digits = FstOptions::kNever;
    return options;
  }
  uint64_t Draft(const Slice& key, size_t depth) const;
  void NoteNeighbors(const Slice& key, size_t shared, size_t next_shared);

  // The size of a trie of random integers; URLs take up to three times as much.
  static constexpr double kUsualTrieBitsPerKey = 8;

  // A filter may take the largest of these, or a third of the keys.
  uint64_t AllowedSize(uint64_t key_bytes) const {
    return std::max({kSmall, kMaxBytesPerKey * num_keys(), key_bytes / 3});
  }
  static constexpr uint64_t kSmall = 64 << 10;
  static constexpr uint64_t kMaxBytesPerKey = 64;

  SurfSuffix suffix_;
  const PrefixBitDrafts drafts_;
  PrefixStepChooser step_;
  KeyNeighborhood last_ = {};  // of the last key
  uint64_t num_noted_ = 0;
  FstBuilder fst_;
  uint64_t key_bytes_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
