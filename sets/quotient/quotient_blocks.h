// SPDX-License-Identifier: Apache-2.0

//  The slots of a quotient filter, and what can be read from them.
//
//  A quotient filter is a sorted array of fingerprints with gaps. The remainder
//  of a fingerprint belongs into the slot that its quotient numbers, its
//  canonical slot. If that is taken, the remainder moves to a later slot, in
//  such a way that all remainders stay in the order of their fingerprints. The
//  remainders of one quotient, which are adjacent, are a run; runs without a
//  gap between them are a cluster. To recover the fingerprints, it is enough to
//  know to which quotient each run belongs.
//
//  The paper ("Don't Thrash: How to Cache Your Hash on Flash", section 2) tells
//  by three bits a slot: is_occupied, is_continuation and is_shifted. A lookup
//  then walks from the beginning of the cluster. Here there are two bits a
//  slot, and a number for each 64 slots, as in the rank-and-select quotient
//  filter (Pandey et al., "A General-Purpose Counting Filter", SIGMOD 2017):
//
//    occupied  a run has the slot's number as its quotient
//    runend    the slot holds the last remainder of a run
//    offset    of the first of 64 slots: the number of slots from there on that
//              hold runs of smaller quotients
//
//  Runs are in the order of their quotients. So the i-th set occupied bit of 64
//  slots has the i-th set runend bit at or after the slot where the offset
//  ends. Both numbers are a population count and a select in a word, whatever
//  the length of the cluster: at 95 % load a cluster has 400 slots in the mean,
//  but the offset leads past all but about 20. That is why this form was chosen
//  over the paper's; at 2.5 bits a slot, it is also smaller.
//
//  A slot is free if all runs of quotients up to its own end before it. A free
//  slot has neither an own bit nor a special remainder.
//
//  Slots are kept in blocks of 64, so that a lookup finds all that it needs in
//  two or three adjacent cache lines:
//
//    occupied bits (8 bytes), runend bits (8 bytes), offset (4 bytes),
//    64 remainders of r bits (8 r bytes)
//
//  All numbers are little endian, and a block has any alignment.
//
//  Clusters do not wrap around. Behind the slots of the last quotients there is
//  a tail of slots that have no quotient. The last slot of the tail is free, so
//  that each search for a free slot ends within the blocks.

#pragma once

#include <cstdint>

#include "filter_policy/bits/bit_array.h"
#include "sets/quotient/quotient_shape.h"

namespace ROCKSDB_NAMESPACE::protean {

// A view of blocks that are somewhere else. Thread safe while none of them is
// changed.
class QuotientBlocks {
 public:
  static constexpr unsigned kSlots = 64;
  static constexpr size_t kHeaderBytes = 20;

  static size_t BlockBytes(unsigned remainder_bits) {
    return kHeaderBytes + 8 * size_t{remainder_bits};
  }
  // The blocks whose slots have quotients.
  static uint64_t CanonicalBlocks(const QuotientShape& shape) {
    return (shape.num_quotients() + kSlots - 1) / kSlots;
  }

  QuotientBlocks() = default;
  // `blocks` has `num_blocks` blocks and kReadPadding bytes behind them.
  QuotientBlocks(const QuotientShape& shape, const char* blocks,
                 uint64_t num_blocks)
      : blocks_(blocks),
        block_bytes_(BlockBytes(shape.remainder_bits)),
        num_blocks_(num_blocks),
        shape_(shape) {}

  const QuotientShape& shape() const { return shape_; }
  uint64_t num_blocks() const { return num_blocks_; }
  uint64_t num_slots() const { return num_blocks_ * kSlots; }
  const char* data() const { return blocks_; }
  size_t bytes() const { return num_blocks_ * block_bytes_; }

  // ---- Questions ----

  // Returns true if the fingerprint is stored, and stores how many times.
  bool Contains(uint64_t fingerprint) const {
    const uint64_t quotient = shape_.Quotient(fingerprint);
    if (!IsOccupied(quotient)) return false;
    const uint64_t remainder = shape_.Remainder(fingerprint);
    for (uint64_t slot = RunBegin(quotient);; slot++) {
      const uint64_t stored = Remainder(slot);
      if (stored >= remainder) return stored == remainder;
      if (IsRunend(slot)) return false;
    }
  }
  uint64_t Count(uint64_t fingerprint) const {
    const uint64_t quotient = shape_.Quotient(fingerprint);
    if (!IsOccupied(quotient)) return 0;
    const uint64_t remainder = shape_.Remainder(fingerprint);
    uint64_t count = 0;
    for (uint64_t slot = RunBegin(quotient);; slot++) {
      const uint64_t stored = Remainder(slot);
      count += stored == remainder;
      if (stored > remainder || IsRunend(slot)) return count;
    }
  }
  // Prefetches what Contains most probably reads, and `more` bytes behind it.
  void PrefetchFor(uint64_t fingerprint, size_t more = 0) const {
    const uint64_t quotient = shape_.Quotient(fingerprint);
    const char* const block = Block(quotient / kSlots);
    const char* const canonical =
        block + kHeaderBytes + quotient % kSlots * shape_.remainder_bits / 8;
    Prefetch(block);
    for (size_t at = 0; at <= more; at += 64) Prefetch(canonical + at);
  }

  // ---- Blocks and slots ----

  uint64_t Occupieds(uint64_t block) const {
    return DecodeFixed64(Block(block));
  }
  uint64_t Runends(uint64_t block) const {
    return DecodeFixed64(Block(block) + 8);
  }
  uint64_t Offset(uint64_t block) const {
    return DecodeFixed32(Block(block) + 16);
  }
  bool IsOccupied(uint64_t quotient) const {
    return Occupieds(quotient / kSlots) >> (quotient % kSlots) & 1;
  }
  bool IsRunend(uint64_t slot) const {
    return Runends(slot / kSlots) >> (slot % kSlots) & 1;
  }
  uint64_t Remainder(uint64_t slot) const {
    return GetBits(Block(slot / kSlots) + kHeaderBytes,
                   slot % kSlots * shape_.remainder_bits,
                   shape_.remainder_bits);
  }

  // ---- Runs ----

  // Where the run of a quotient begins, or would begin if it had one.
  uint64_t RunBegin(uint64_t quotient) const {
    const uint64_t behind = EndOfRunsBelow(quotient);
    return behind > quotient ? behind : quotient;
  }
  // The first slot at or after `slot` that is free.
  uint64_t FirstFree(uint64_t slot) const {
    uint64_t block = slot / kSlots;
    // The runs that have begun before a slot and have not ended before it.
    uint64_t pending = RunendsBelow(block, Offset(block));
    // What precedes the first free slot is a runend, unless that slot is the
    // first one that is looked at.
    uint64_t may_be_first = uint64_t{1} << (slot % kSlots);
    uint64_t looked_at = ~LowBits(slot % kSlots);
    for (;; block++) {
      const uint64_t occupieds = Occupieds(block);
      const uint64_t runends = Runends(block);
      for (uint64_t candidates = ~(occupieds | runends) & looked_at &
                                 (runends << 1 | may_be_first);
           candidates != 0; candidates &= candidates - 1) {
        const uint64_t before = (candidates & -candidates) - 1;
        if (pending + PopCount(occupieds & before) ==
            static_cast<uint64_t>(PopCount(runends & before))) {
          return block * kSlots + __builtin_ctzll(candidates);
        }
      }
      pending += PopCount(occupieds) - PopCount(runends);
      may_be_first = runends >> (kSlots - 1);
      looked_at = ~uint64_t{0};
    }
  }
  // The last slot of the run that has a remainder in `slot`.
  uint64_t RunEnd(uint64_t slot) const {
    return SelectRunend(slot / kSlots, slot % kSlots, 0);
  }
  // The first slot after `slot`, which holds a remainder, that is free or is
  // canonical for what it holds: what deleting from `slot` does not move.
  uint64_t FirstUnshifted(uint64_t slot) const {
    for (uint64_t behind = RunEnd(slot) + 1;;) {
      const uint64_t next = EndOfRunsBelow(behind);
      if (next <= behind) return behind;
      behind = next;
    }
  }
  // The smallest occupied quotient that is at least `quotient`, or the number
  // of quotients.
  uint64_t NextOccupied(uint64_t quotient) const {
    const uint64_t end = shape_.num_quotients();
    if (quotient >= end) return end;
    uint64_t block = quotient / kSlots;
    uint64_t word = Occupieds(block) & ~LowBits(quotient % kSlots);
    while (word == 0) {
      if (++block * kSlots >= end) return end;
      word = Occupieds(block);
    }
    return block * kSlots + __builtin_ctzll(word);
  }

 protected:
  const char* Block(uint64_t block) const {
    return blocks_ + block * block_bytes_;
  }

 private:
  // The slot behind the last run of all quotients below `quotient`, or of all
  // up to it; a slot not above `quotient` if the runs do not reach there.
  uint64_t EndOfRunsBelow(uint64_t quotient) const {
    return EndOfRuns(quotient / kSlots, LowBits(quotient % kSlots));
  }
  uint64_t EndOfRunsUpTo(uint64_t quotient) const {
    return EndOfRuns(quotient / kSlots,
                     (uint64_t{2} << (quotient % kSlots)) - 1);
  }
  // `quotients` are the lowest ones of the block, a bit each.
  uint64_t EndOfRuns(uint64_t block, uint64_t quotients) const {
    const unsigned runs = PopCount(Occupieds(block) & quotients);
    const uint64_t offset = Offset(block);
    if (runs == 0) return block * kSlots + offset;
    return SelectRunend(block + offset / kSlots, offset % kSlots, runs - 1) + 1;
  }

  // The number of runends in the first `slots` slots from a block on.
  uint64_t RunendsBelow(uint64_t block, uint64_t slots) const {
    uint64_t count = 0;
    for (; slots >= kSlots; slots -= kSlots)
      count += PopCount(Runends(block++));
    return count + PopCount(Runends(block) & LowBits(slots));
  }

  // The slot of the runend that has `rank` runends between the slot `begin` of
  // a block and itself.
  uint64_t SelectRunend(uint64_t block, unsigned begin, unsigned rank) const {
    uint64_t word = Runends(block) & ~LowBits(begin);
    for (;;) {
      const unsigned count = PopCount(word);
      if (rank < count) return block * kSlots + SelectInWord(word, rank);
      rank -= count;
      word = Runends(++block);
    }
  }

  const char* blocks_ = nullptr;
  size_t block_bytes_ = 0;
  uint64_t num_blocks_ = 0;
  QuotientShape shape_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
