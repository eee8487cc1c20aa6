// SPDX-License-Identifier: Apache-2.0

//  What a set of a known false positive rate p answers to prefixes that are not
//  in it: at least one of n is a false positive with the probability
//  1 - (1 - p)^n, as in equations 1 and 5 of the Proteus paper.
//
//  In a series (design.h), a *run* of prefixes, each of which begins with the
//  one before it, passes only if all of them do: with the probability p^m for m
//  lengths, which then takes the place of p.

#pragma once

#include <cstddef>
#include <cstdint>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

class RunRates {
 public:
  // `most` is the number of lengths that any run has, at least one.
  RunRates(double rate, size_t most);

  // The probability that at least one of `runs` runs of absent prefixes, each
  // of this number of lengths, is contained as a whole.
  double AnyRunOf(uint32_t lengths, uint64_t runs) const;
  // AnyRunOf, or what is certain if there are no lengths: `tested` is 0 or 1.
  double RateOf(uint32_t lengths, uint64_t tested) const {
    return lengths == 0 ? static_cast<double>(tested)
                        : AnyRunOf(lengths, tested);
  }
  // AnyRunOf for prefixes of one length.
  double AnyOf(uint64_t prefixes) const { return AnyRunOf(1, prefixes); }

  // Longer runs count as one of this number of lengths, whose probability is
  // next to nothing unless the set is useless.
  static constexpr size_t kLengths = 32;

 private:
  // No logarithm of a probability.
  static constexpr double kNotKnown = 1;

  const size_t num_lengths_;
  double all_of_[kLengths];
  mutable double log_not_[kLengths];  // std::log1p(-all_of_[i]), where needed
};

}  // namespace ROCKSDB_NAMESPACE::protean
