// SPDX-License-Identifier: Apache-2.0

//  The trie of all key prefixes of l1 bits (Proteus paper, section 4.1). A Fast
//  Succinct Trie holds each prefix up to the byte that tells it from all
//  others; the bits after that byte are stored explicitly. All prefixes have
//  the same length, so no node has a terminator, and no run is skipped: an edge
//  on level i is byte i.
//  docs/internals/file_format.md has the format.

#pragma once

#include <vector>

#include "filter_policy/fst/fst.h"
#include "filter_policy/fst/fst_builder.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

class UniformTrie {
 public:
  // Takes a serialized trie off the front of `input`, whose bytes must outlive
  // this object and be followed by kReadPadding readable bytes. All prefixes
  // begin with `lead` zeros. Returns Corruption if the trie is damaged.
  Status Open(Slice* input, uint32_t lead);

  uint32_t prefix_bits() const { return prefix_bits_; }
  const Fst& fst() const { return fst_; }

  // Prefixes are passed as BytesForBits(prefix_bits()) bytes, in which the bits
  // after the prefix are zero.

  bool Contains(const char* prefix) const;

  // Stores the answers of Contains for up to kMaxBatch prefixes of at most 64
  // bits.
  static constexpr size_t kMaxBatch = 32;  // as large as RocksDB's
  using ShortPrefix = char[sizeof(uint64_t)];
  void ContainsEach(size_t count, const ShortPrefix* prefixes,
                    bool* found) const;

  // The prefixes in [lo, hi], where lo < hi. If there is one between the two,
  // `lo` and `hi` are undefined.
  struct Matches {
    bool lo = false;
    bool hi = false;
    bool between = false;
  };
  Matches Find(const char* lo, const char* hi) const;

  // Stores the first prefix at or above `prefix` in `next`, which has room for
  // as many bytes. False if there is none.
  bool LowerBound(const char* prefix, char* next) const;

 private:
  struct Level {
    uint32_t first_leaf = 0;
    uint32_t width = 0;      // bits of a suffix
    uint64_t first_bit = 0;  // position of the first suffix
  };

  void FindFullLevels(uint32_t lead);
  Fst::Node Start(const char* prefix) const {
    if (full_levels_ == 0) return fst_.Root();
    uint32_t number = 0;
    for (size_t i = 0; i < full_levels_; i++) {
      number = number << 8 | static_cast<uint8_t>(prefix[i]);
    }
    return fst_.NodeAt(first_below_ + number, fst_.Root());
  }

  int CompareSuffix(const Fst::Node& node, const Fst::Edge& edge, size_t depth,
                    const char* prefix) const {
    return levels_[depth - 1].width == 0
               ? 0
               : CompareSuffix(fst_.Leaf(node, edge), depth, prefix);
  }
  int CompareSuffix(uint32_t leaf, size_t depth, const char* prefix) const;
  void CopySuffix(uint32_t leaf, size_t depth, char* prefix) const;
  // Stores where the suffix of a leaf begins; the leaf's path is `depth` bytes
  // long. False if the leaf has no suffix, or the trie is damaged.
  bool FindSuffix(uint32_t leaf, size_t depth, uint64_t* bit) const {
    const Level& level = levels_[depth - 1];
    *bit = level.first_bit + uint64_t{leaf - level.first_leaf} * level.width;
    return level.width > 0 && *bit + level.width <= suffix_bits_;
  }
  template <bool kAbove>
  bool FindBeyond(Fst::Node node, Fst::Edge edge, size_t depth,
                  const char* bound, bool* found) const;
  int Symbol(const char* prefix, size_t depth) const {
    return fst_.Symbol(prefix[depth]);
  }

  uint32_t prefix_bits_ = 0;
  size_t prefix_bytes_ = 0;
  Fst fst_;
  // The number of upper levels that hold all possible prefixes. Below them, the
  // number of a node follows from its prefix, and these levels are not read.
  size_t full_levels_ = 0;
  uint32_t first_below_ = 0;  // the first node there
  std::vector<Level> levels_;
  const char* suffixes_ = nullptr;
  uint64_t suffix_bits_ = 0;
};

class UniformTrieBuilder {
 public:
  explicit UniformTrieBuilder(uint32_t prefix_bits);

  // Adds the next prefix, in ascending order, given as in UniformTrie. It
  // shares `shared` bytes with the one before it (0 if there is none) and
  // `next_shared` with the next.
  void Add(const char* prefix, size_t shared, size_t next_shared);
  void AddLast(const char* prefix, size_t shared);

  // Stores the size of the serialized trie. Must be called once, after the last
  // prefix. False if there are too many prefixes.
  bool Prepare(uint64_t* size);

  // Writes the trie into that many zero bytes at `out`, which are followed by
  // kReadPadding zero bytes.
  void Write(char* out);

  size_t MemoryUsage() const;

 private:
  // The suffixes of a level.
  struct Level {
    uint32_t width;  // bits of a suffix
    uint32_t leaves = 0;
    uint64_t bits = 0;
    std::vector<uint64_t> words;

    void Append(uint64_t value, unsigned count);
  };

  void AddLevels(size_t height);
  void AddSuffix(const char* prefix, size_t depth);

  const uint32_t prefix_bits_;
  const size_t prefix_bytes_;
  FstBuilder fst_;
  std::vector<Level> levels_;
  // levels_.size(), which would take a division for each prefix.
  size_t height_ = 0;
  uint64_t fst_size_ = 0;
};

// The size in bytes of a trie of these levels, roughly.
uint64_t EstimateUniformTrie(uint32_t prefix_bits,
                             const std::vector<FstLevelCounts>& levels,
                             unsigned code_bits);

}  // namespace ROCKSDB_NAMESPACE::protean
