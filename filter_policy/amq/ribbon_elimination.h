// SPDX-License-Identifier: Apache-2.0

//  The elimination of coefficients in the equations of a Ribbon set (ribbon.h).
//
//  The problem. Each hash gives one equation over GF(2). Its unknowns are bits
//  of the solution, one for each *slot*, and its coefficients are 128 bits that
//  begin at the hash's start, the first of them a one. So the matrix, sorted by
//  starts, is a band (a ribbon) of width 128 along the diagonal. There are a
//  few per cent more slots than equations, or there would seldom be a solution.
//  All columns of the solution have the same matrix, and the right-hand sides
//  are the bits of the fingerprint. So one elimination, whose results are words
//  of 32 bits, serves all columns.
//
//  The usual way (Dillinger and Walzer, algorithm 1) adds one equation after
//  the other. If the equation's first slot is taken, the equation there is
//  added to it, which clears that coefficient, and the next one bit is tried,
//  until a free slot is found. That is up to 128 dependent steps a hash, each
//  with a branch that no processor predicts.
//
//  The order in which equations come makes no difference. Here they are sorted
//  by *stripes* of eight slots, and one stripe after the other is dealt with
//  (RibbonElimination):
//
//    1. Equations that begin in the stripe take the slots at which they begin,
//       as far as these are free. Which of two equations gets a slot does not
//       matter, so no branch decides it.
//    2. Slots that are still free are taken by equations that wait from before
//       and have a one there, as in the usual way.
//    3. All other equations that wait are reduced by the eight equations of the
//       stripe. The bits that an equation has in the stripe select a sum of
//       these; two tables, of 16 sums each, have its halves (the "method of the
//       four Russians"). What is left of the equation waits for the next
//       stripe. If nothing is left of its coefficients, its result must be
//       zero, or another seed is tried.

#pragma once

#include <algorithm>
#include <vector>

#include "filter_policy/amq/ribbon.h"

// Unrolls the loop that follows, of at most 8 turns.
#if defined(__clang__)
#define PROTEAN_UNROLL _Pragma("unroll")
#else
#define PROTEAN_UNROLL _Pragma("GCC unroll 8")
#endif

namespace ROCKSDB_NAMESPACE::protean {

// An equation whose coefficients belong to 128 slots in a row. That of a slot
// is the bit which has the slot's number modulo 192, so equations that begin at
// different slots are added up without moving their bits.
//
// Equations are copied and added up as a whole: a CPU waits for parts that it
// has just written to get to its cache before it reads the whole.
struct alignas(32) RibbonEquation {
  using Words = uint64_t __attribute__((vector_size(32)));

  bool HasNone() const { return (words[0] | words[1] | words[2]) == 0; }
  bool IsWrong() const { return words[3] != 0; }

  // The coefficients, and the fingerprint.
  Words words;
};

// Where equations have the coefficients of a stripe.
struct RibbonStripe {
  // The slots of a stripe are eliminated, and then solved, together. The bits
  // of an equation in them are a byte of it.
  static constexpr unsigned kSlots = 8;
  static constexpr uint64_t kPerBlock = kRibbonSlotsPerBlock / kSlots;
  static constexpr unsigned kAll = (1u << kSlots) - 1;

  explicit RibbonStripe(uint64_t number)
      : word(number / 8 % 3),
        next_word(word == 2 ? 0 : word + 1),
        last_word(word == 0 ? 2 : word - 1),
        shift(8 * (number % 8)),
        is_odd(number / 8 % 2 != 0) {}

  unsigned ByteOf(const RibbonEquation& equation) const {
    return static_cast<unsigned>(equation.words[word] >> shift) & 0xff;
  }
  // Writes an equation that begins at a slot of the stripe.
  void Write(RibbonRow coefficients, unsigned slot, uint32_t fingerprint,
             RibbonEquation* equation) const {
    const unsigned moved = shift + slot;
    const auto low = static_cast<uint64_t>(coefficients);
    const auto high = static_cast<uint64_t>(coefficients >> 64);
    equation->words[word] = low << moved;
    equation->words[next_word] = high << moved | low >> 1 >> (63 - moved);
    equation->words[last_word] = high >> 1 >> (63 - moved);
    equation->words[3] = fingerprint;
  }
  // The coefficients from a slot of the stripe on: that of each slot is the bit
  // with its number modulo 128.
  RibbonRow RowOf(const RibbonEquation& equation) const {
    const uint64_t own = equation.words[word] | equation.words[last_word];
    const uint64_t next = equation.words[next_word];
    return is_odd ? RibbonRow{own} << 64 | next : RibbonRow{next} << 64 | own;
  }

  uint64_t word;
  uint64_t next_word;
  uint64_t last_word;
  unsigned shift;
  bool is_odd;  // of a block's two words
};

// Eliminates the coefficients of one stripe after the other, in equations that
// begin there or before.
class RibbonElimination {
 public:
  // Room for equations that begin in a stripe.
  void Reserve(size_t count) {
    if (waiting_.size() < num_waiting_ + count) {
      waiting_.resize(2 * (num_waiting_ + count));
    }
  }
  // The place for an equation that begins at a slot of the stripe.
  RibbonEquation* Add(unsigned slot) {
    const unsigned is_taken = taken_ >> slot & 1;
    RibbonEquation* const places[] = {&equations_[slot],
                                      &waiting_[num_waiting_]};
    num_waiting_ += is_taken;
    taken_ |= 1u << slot;
    return places[is_taken];
  }
  // Eliminates a stripe, and writes the equation of each of its slots, or
  // zeros.
  void Finish(const RibbonStripe& stripe, RibbonRow* rows, uint32_t* results) {
    size_t left = num_waiting_;
    for (unsigned slot = 0; slot < RibbonStripe::kSlots; slot++) {
      bytes_[slot] = stripe.ByteOf(equations_[slot]);
    }
    while (taken_ != RibbonStripe::kAll && left > 0) TakeLast(stripe, &left);
    if (left > 0) ReduceFirst(stripe, left);
    for (unsigned slot = 0; slot < RibbonStripe::kSlots; slot++) {
      rows[slot] = stripe.RowOf(equations_[slot]);
      results[slot] = static_cast<uint32_t>(equations_[slot].words[3]);
      equations_[slot].words = RibbonEquation::Words{};
    }
    taken_ = 0;
  }
  // Drops the equations that wait and have no coefficients left: those of
  // repeated hashes, and a few others. False if one contradicts the others.
  bool DropSolved() {
    for (size_t i = 0; i < num_waiting_;) {
      if (!waiting_[i].HasNone()) {
        i++;
        continue;
      }
      if (waiting_[i].IsWrong()) return false;
      waiting_[i].words = waiting_[--num_waiting_].words;
    }
    return true;
  }
  bool IsDone() const { return num_waiting_ == 0; }
  void Reset() {
    taken_ = 0;
    num_waiting_ = 0;
    std::fill_n(equations_, RibbonStripe::kSlots, RibbonEquation{});
  }

 private:
  // Gives a free slot, if it can, the last of the first `left` equations that
  // wait.
  void TakeLast(const RibbonStripe& stripe, size_t* left) {
    RibbonEquation& equation = waiting_[--*left];
    for (unsigned byte = stripe.ByteOf(equation); byte != 0;) {
      const auto slot = static_cast<unsigned>(__builtin_ctz(byte));
      if ((taken_ >> slot & 1) == 0) {
        equations_[slot].words = equation.words;
        bytes_[slot] = byte;
        taken_ |= 1u << slot;
        equation.words = waiting_[--num_waiting_].words;
        return;
      }
      equation.words ^= equations_[slot].words;
      byte ^= bytes_[slot];
    }
  }
  // Reduces the first `left` equations that wait, when all slots are taken.
  void ReduceFirst(const RibbonStripe& stripe, size_t left) {
    constexpr unsigned kHalf = RibbonStripe::kSlots / 2;
    constexpr unsigned kSums = 1u << kHalf;
    // For each half of a byte, the sum of equations that has it, and for the
    // first half, the other half of that sum.
    RibbonEquation first[kSums];
    RibbonEquation second[kSums];
    unsigned other[kSums];
    first[0].words = second[0].words = RibbonEquation::Words{};
    other[0] = 0;
    PROTEAN_UNROLL
    for (unsigned slot = kHalf; slot-- > 0;) {
      const RibbonEquation& low = equations_[slot];
      const RibbonEquation& high = equations_[slot + kHalf];
      const unsigned low_byte = bytes_[slot];
      const unsigned high_byte = bytes_[slot + kHalf] >> kHalf;
      PROTEAN_UNROLL
      for (unsigned sum = 1u << slot; sum < kSums; sum += 2u << slot) {
        const unsigned before = sum ^ (low_byte % kSums);
        first[sum].words = low.words ^ first[before].words;
        other[sum] = low_byte >> kHalf ^ other[before];
        second[sum].words = high.words ^ second[sum ^ high_byte].words;
      }
    }
    RibbonEquation* const end = &waiting_[0] + left;
    for (RibbonEquation* equation = &waiting_[0]; equation != end; equation++) {
      const unsigned byte = stripe.ByteOf(*equation);
      equation->words ^= first[byte % kSums].words ^
                         second[byte >> kHalf ^ other[byte % kSums]].words;
    }
  }

  unsigned taken_ = 0;  // slots of the stripe
  RibbonEquation equations_[RibbonStripe::kSlots] = {};
  unsigned bytes_[RibbonStripe::kSlots] = {};
  size_t num_waiting_ = 0;
  std::vector<RibbonEquation> waiting_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
