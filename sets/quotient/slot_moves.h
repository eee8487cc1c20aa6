// SPDX-License-Identifier: Apache-2.0

//  What changes the slots of a quotient filter (quotient_blocks.h): storing,
//  and moving whole stretches of slots by one, 64 bits at a time.

#pragma once

#include "sets/quotient/quotient_blocks.h"

namespace ROCKSDB_NAMESPACE::protean {

class MutableQuotientBlocks : public QuotientBlocks {
 public:
  MutableQuotientBlocks() = default;
  MutableQuotientBlocks(const QuotientShape& shape, char* blocks,
                        uint64_t num_blocks)
      : QuotientBlocks(shape, blocks, num_blocks) {}

  void SetOccupied(uint64_t quotient, bool occupied) {
    char* const word = Block(quotient / kSlots);
    EncodeFixed64(word, With(DecodeFixed64(word), quotient % kSlots, occupied));
  }
  void SetRunend(uint64_t slot, bool runend) {
    char* const word = Block(slot / kSlots) + 8;
    EncodeFixed64(word, With(DecodeFixed64(word), slot % kSlots, runend));
  }
  void SetOffset(uint64_t block, uint64_t offset) {
    EncodeFixed32(Block(block) + 16, static_cast<uint32_t>(offset));
  }
  void SetRemainder(uint64_t slot, uint64_t remainder) {
    SetInBlock(Block(slot / kSlots), slot % kSlots, remainder);
  }
  // Adds `change` to the offsets of all blocks after the block `above`, up to
  // the block of `slot`.
  void ChangeOffsets(uint64_t above, uint64_t slot, int change) {
    for (uint64_t block = above + 1; block <= slot / kSlots; block++) {
      SetOffset(block, Offset(block) + change);
    }
  }

  // Moves what is in [begin, end) one slot up, and stores the remainder in
  // `begin`. `end` is free.
  void MoveUp(uint64_t begin, uint64_t end, uint64_t remainder, bool runend) {
    unsigned from = begin % kSlots;
    for (uint64_t block = begin / kSlots;; block++, from = 0) {
      const bool is_last = block == end / kSlots;
      const unsigned to = is_last ? end % kSlots : kSlots - 1;
      char* const at = Block(block);
      // What is in the last slot enters the next block.
      const uint64_t leaving = Remainder(block * kSlots + kSlots - 1);
      const uint64_t runends = DecodeFixed64(at + 8);
      const uint64_t stretch = Stretch(from, to);
      EncodeFixed64(at + 8, (runends & ~stretch) |
                                ((runends & stretch) << 1 & stretch) |
                                uint64_t{runend} << from);
      MoveUpInBlock(at + kHeaderBytes, from, to, remainder);
      if (is_last) return;
      remainder = leaving;
      runend = runends >> (kSlots - 1) != 0;
    }
  }

  // Moves what is in (begin, end) one slot down, over what is in `begin`; then
  // the last slot before `end` is free.
  void MoveDown(uint64_t begin, uint64_t end) {
    const uint64_t last = end - 1;
    for (uint64_t block = begin / kSlots;; block++) {
      const bool is_last = block == last / kSlots;
      const unsigned from = block == begin / kSlots ? begin % kSlots : 0;
      const unsigned to = is_last ? last % kSlots : kSlots - 1;
      char* const at = Block(block);
      const uint64_t next = (block + 1) * kSlots;
      const bool runend_entering = !is_last && IsRunend(next);
      const uint64_t runends = DecodeFixed64(at + 8);
      const uint64_t stretch = Stretch(from, to);
      EncodeFixed64(at + 8, (runends & ~stretch) |
                                ((runends & stretch) >> 1 & stretch) |
                                uint64_t{runend_entering} << to);
      if (from < to) MoveDownInBlock(at + kHeaderBytes, from, to);
      SetInBlock(at, to, is_last ? 0 : Remainder(next));
      if (is_last) return;
    }
  }

 private:
  char* Block(uint64_t block) {
    return const_cast<char*>(QuotientBlocks::Block(block));
  }
  static uint64_t With(uint64_t word, unsigned bit, bool value) {
    return (word & ~(uint64_t{1} << bit)) | uint64_t{value} << bit;
  }
  // Bits from `from` to `to`, both included.
  static uint64_t Stretch(unsigned from, unsigned to) {
    return (~uint64_t{0} >> (kSlots - 1 - (to - from))) << from;
  }

  void SetInBlock(char* block, unsigned slot, uint64_t remainder) {
    const unsigned bits = shape().remainder_bits;
    const unsigned pos = slot * bits;
    char* const bytes = block + kHeaderBytes + pos / 8;
    const uint64_t mask = LowBits(bits) << (pos % 8);
    EncodeFixed64(bytes,
                  (DecodeFixed64(bytes) & ~mask) | remainder << (pos % 8));
  }

  // Moves the remainders of the slots from `from` to `to` - 1 one slot up, and
  // stores `entering` in `from`. The words are the digits of a large number,
  // each of which carries its highest bits to the next one.
  void MoveUpInBlock(char* remainders, unsigned from, unsigned to,
                     uint64_t entering) {
    const unsigned bits = shape().remainder_bits;
    const unsigned first = from * bits / 64;
    const unsigned begin = from * bits % 64;
    const unsigned end = (to + 1) * bits;
    const unsigned last = (end - 1) / 64;
    // The words that are moved in part keep the other bits.
    const uint64_t below = LowBits(begin);
    const uint64_t above = end % 64 == 0 ? 0 : ~LowBits(end % 64);
    uint64_t old = LoadWord(remainders, first);
    uint64_t moved = (old & below) | entering << begin | (old & ~below) << bits;
    uint64_t carry = (old & ~below) >> (64 - bits) |
                     (begin + bits > 64 ? entering >> (64 - begin) : 0);
    for (unsigned i = first; i < last;) {
      StoreWord(remainders, i++, moved);
      old = LoadWord(remainders, i);
      moved = old << bits | carry;
      carry = old >> (64 - bits);
    }
    StoreWord(remainders, last, (moved & ~above) | (old & above));
  }
  // Moves the remainders of the slots from `from` + 1 to `to` one slot down.
  // What slot `to` has then is undefined.
  void MoveDownInBlock(char* remainders, unsigned from, unsigned to) {
    const unsigned bits = shape().remainder_bits;
    const unsigned first = from * bits / 64;
    const unsigned end = (to + 1) * bits;
    const unsigned last = (end - 1) / 64;
    const uint64_t below = LowBits(from * bits % 64);
    const uint64_t above = end % 64 == 0 ? 0 : ~LowBits(end % 64);
    const uint64_t old_first = LoadWord(remainders, first);
    const uint64_t old_last = LoadWord(remainders, last);
    uint64_t lower = old_first;
    for (unsigned i = first; i < last; i++) {
      const uint64_t upper = LoadWord(remainders, i + 1);
      StoreWord(remainders, i, lower >> bits | upper << (64 - bits));
      lower = upper;
    }
    // Bits of slot `to` that the last word still has are overwritten.
    StoreWord(remainders, last, (lower & ~above) >> bits | (old_last & above));
    StoreWord(remainders, first,
              (LoadWord(remainders, first) & ~below) | (old_first & below));
  }
};

}  // namespace ROCKSDB_NAMESPACE::protean
