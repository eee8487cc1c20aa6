// SPDX-License-Identifier: Apache-2.0

//  A quotient filter: a multiset of hashes that keeps only their fingerprints,
//  and grows, shrinks and merges without the hashes. Two hashes with the same
//  fingerprint cannot be told apart: at load a, an absent hash is found with
//  probability 1 - e^(-a / 2^r) <= 2^-r ("Don't Thrash: How to Cache Your Hash
//  on Flash", section 2).
//
//  The slots are described in quotient_blocks.h. The header of each other file
//  of this folder says what is done with them: reading the fingerprints in
//  order (quotient_cursor.h), writing them in order (quotient_appender.h),
//  merging and resizing (quotient_merge.h), and the bytes of a filter that is
//  kept (saved_quotient.h).
//
//  A hash that is added several times is stored as many times, so each copy
//  makes its run longer. A filter is not made for hashes with thousands of
//  copies: insertion takes time in proportion to the run.

#pragma once

#include <cstdlib>
#include <memory>

#include "filter_policy/bits/checksum.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"
#include "sets/quotient/slot_moves.h"

namespace ROCKSDB_NAMESPACE::protean {

// Const functions may run in several threads while no other one runs.
class QuotientMultiset {
 public:
  // Makes an empty filter. `salt` is what the hashes depend on besides the
  // keys. Returns InvalidArgument if no filter can have the shape, and
  // MemoryLimit if there is no memory.
  static Status Create(const QuotientShape& shape, const FilterSalt& salt,
                       std::unique_ptr<QuotientMultiset>* filter);

  // The bytes in memory of a filter that Create makes.
  static size_t BytesOf(const QuotientShape& shape);

  QuotientMultiset(const QuotientMultiset&) = delete;
  QuotientMultiset& operator=(const QuotientMultiset&) = delete;

  // Adds a hash. False if the filter holds as many as capacity() says.
  bool Insert(uint64_t hash);
  // Adds hashes one after the other, as Insert does, but has their slots loaded
  // at the same time. Returns the number of hashes that were added: `count`, or
  // fewer if the filter is full then.
  size_t InsertBatch(const uint64_t* hashes, size_t count);
  // Removes one copy of a hash. False if there is none. As fingerprints may
  // collide, only a hash that was added may be removed.
  bool Delete(uint64_t hash);

  // Returns true if the hash may have been added; stores how many times at
  // most.
  bool Contains(uint64_t hash) const;
  uint64_t Count(uint64_t hash) const;
  // Stores an answer of Contains for each hash. The slots are loaded at the
  // same time.
  void ContainsBatch(const uint64_t* hashes, size_t count,
                     bool* contained) const;

  // The number of hashes, counting copies, and its limit.
  uint64_t size() const { return size_; }
  uint64_t capacity() const { return shape().capacity(); }
  const QuotientShape& shape() const { return blocks_.shape(); }
  const FilterSalt& salt() const { return salt_; }
  const QuotientBlocks& blocks() const { return blocks_; }
  // The bytes in memory.
  size_t MemoryUsage() const;

 private:
  friend class QuotientAppender;
  friend Status LoadQuotientMultiset(const Slice&,
                                     std::unique_ptr<QuotientMultiset>*);

  struct Free {
    void operator()(char* memory) const { free(memory); }
  };

  explicit QuotientMultiset(const FilterSalt& salt) : salt_(salt) {}

  // Makes the blocks as many, and zeroes the new ones. False if there is no
  // memory.
  bool SetNumBlocks(const QuotientShape& shape, uint64_t num_blocks);
  // Makes the tail longer if its last slot is taken. False if there is no
  // memory.
  bool ProvideFreeSlot(uint64_t taken);
  size_t ExpectedMovedBytes() const;
  bool InsertFingerprint(uint64_t fingerprint);
  bool DeleteFingerprint(uint64_t fingerprint);

  const FilterSalt salt_;
  uint64_t size_ = 0;
  std::unique_ptr<char, Free> memory_;
  MutableQuotientBlocks blocks_;  // in memory_
};

}  // namespace ROCKSDB_NAMESPACE::protean
