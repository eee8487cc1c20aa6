// SPDX-License-Identifier: Apache-2.0

//  The design that the groups of a file have in common. The parts of a large
//  file are designed in groups (proteus_group.h), and the search for a design
//  takes tens of milliseconds. So the last design of the file is tried first:
//  it is kept if the group's keys and samples look like those that it was
//  chosen for, and if it is as good for them. One evaluation on a part of the
//  samples tells.
//
//  A design that is as good as it was need no longer be the best one. So every
//  kMaxUses-th group is searched anew, and so is each file: files of other keys
//  deserve designs of their own.

#pragma once

#include <array>
#include <optional>

#include "filter_policy/proteus/cpfpr.h"

namespace ROCKSDB_NAMESPACE::protean {

// Where a model's samples lie, as shares of all samples: by the bits that their
// bounds share, and by the bits that they share with a key.
class SampleShape {
 public:
  SampleShape() = default;
  explicit SampleShape(const CpfprModel& model);

  // 0 for the same shape, 2 for shapes that have nothing in common.
  double Distance(const SampleShape& other) const;

 private:
  static constexpr size_t kBins = 34;
  using Shares = std::array<double, kBins>;

  // The bin of a number of bits: fine among the first 64.
  static size_t BinOf(uint32_t bits);

  Shares by_bounds_ = {};
  Shares by_keys_ = {};
};

// What a design is chosen for.
struct DesignSituation {
  uint64_t num_keys = 0;
  double bits_per_key = 0;
  bool prefixes_only = false;
  // The samples that the file would be asked, and how many of them the model
  // has looked at.
  uint64_t num_samples = 0;
  uint64_t num_looked_at = 0;
  SampleShape shape;
};

struct KeptDesign {
  ProteusDesign design;
  // The design of parts whose trie would be too large, if there were any.
  ProteusDesign fallback;
  CpfprModel::Rates rates;  // as predicted
  DesignSituation situation;
};

// Whether a design for one of them may suit the other: the keys are as many, up
// to a factor of 4, and the samples up to one of 2; there are as many bits, up
// to a tenth; and the samples lie at the same places, as far as those that have
// been looked at can tell.
bool AreAlike(const DesignSituation& a, const DesignSituation& b);

// Whether a design with these rates is as good as it was.
bool IsAsGood(const CpfprModel::Rates& now, const CpfprModel::Rates& kept);

// The last design of a file. Not thread safe.
class DesignMemory {
 public:
  static constexpr uint32_t kMaxUses = 16;
  // The number of samples that are looked at.
  static constexpr size_t kSamplesLookedAt = 1024;

  // The design that was kept last, or nullopt if it is time to search.
  std::optional<KeptDesign> Recall();
  void Keep(const KeptDesign& design);

 private:
  std::optional<KeptDesign> kept_;
  uint32_t uses_ = 0;  // since the search
};

}  // namespace ROCKSDB_NAMESPACE::protean
