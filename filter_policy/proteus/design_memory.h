// SPDX-License-Identifier: Apache-2.0

//  The designs of the last files, which the next file may keep, if its keys and
//  samples look like those that the design was searched for, and the rates are
//  as promised (docs/internals/proteus.md, "Designs are kept"). The groups of a
//  large file (proteus_builder.h) count as files here.

#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "filter_policy/kept_memory.h"
#include "filter_policy/proteus/model/cpfpr.h"
#include "filter_policy/query_demand.h"

namespace ROCKSDB_NAMESPACE::protean {

// Where a model's samples lie, as shares of all samples: by the bits that their
// bounds share, and by the bits that they share with a key.
struct SampleShape {
  SampleShape() = default;
  explicit SampleShape(const CpfprModel& model);

  // 0 for the same shape, 2 for shapes that have nothing in common.
  double Distance(const SampleShape& other) const;

  using Shares = std::array<float, 34>;
  Shares by_bounds = {};
  Shares by_keys = {};
};

// What a design is chosen for.
struct DesignSituation {
  uint64_t num_keys = 0;
  double bits_per_key = 0;
  bool prefixes_only = false;
  FilterDemand demand;
  // The length of all keys, or 0 if they differ; and what keys share.
  size_t key_size = 0;
  std::array<uint32_t, 3> shared_by_share = {};
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
  DesignRates rates;  // as predicted
  DesignSituation situation;
  uint64_t number = 0;  // in its memory, which sets it
};

// Returns true if a design for one of them may suit the other: keys, bits and
// samples are as many, keys share as much, samples lie at the same places, and
// the demand is the same, within the limits in docs/internals/proteus.md.
bool AreAlike(const DesignSituation& a, const DesignSituation& b);

// How much a rate that a model predicts may be off by chance, for this
// tolerance: a standard error, but not much where there are enough samples to
// tell. The rate without samples is an average over the prior, whose queries
// are few.
double ChanceOf(double rate, const CpfprModel& model);

// Returns true if the rates of a design are those that were promised, but for
// `chance`. Worse rates are not, and much better ones are not, since another
// design may then be better still. Promised queries pass no more often than
// with a Bloom filter, whose rate is `bloom_rate`, unless they have done so
// before.
bool MatchesPrediction(const DesignRates& now, const DesignRates& promised,
                       double chance, double bloom_rate);

// The designs of the files of one tree, whose memory counts in the cap
// (kept_memory.h). Thread safe.
class DesignMemory {
 public:
  explicit DesignMemory(const std::shared_ptr<Cache>& cap = nullptr)
      : memory_(cap) {}

  static constexpr size_t kMaxDesigns = 16;
  // One file in this number is searched anew, at most and at least.
  static constexpr uint32_t kMinUses = 16;
  static constexpr uint32_t kMaxUses = 256;
  // The number of designs that are tried for a file.
  static constexpr size_t kMaxTried = 3;

  bool IsEmpty() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return entries_.empty();
  }
  // The designs that may suit, the likeliest one first; none if it is time to
  // search.
  std::vector<KeptDesign> Recall(const DesignSituation& situation) const;
  // Counts that a file has kept the design with that number.
  void CountUse(uint64_t number);
  // Remembers a design that has been searched, if there is room.
  void Keep(const KeptDesign& design);
  std::vector<KeptDesign> Designs() const;

 private:
  struct Entry {
    KeptDesign kept;
    uint32_t uses = 0;  // since the search
    uint32_t most = kMinUses;
    uint64_t last_use = 0;

    bool IsDue() const { return uses + 1 >= most; }
  };

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  KeptMemory memory_;
  uint64_t time_ = 0;  // counts uses and searches
};

// The memories of the trees that use one filter policy. Thread safe.
class DesignMemories {
 public:
  // A tree that goes unused for long is forgotten.
  static constexpr size_t kMaxTrees = 256;

  // The memory of the tree: a column family of the DB with that log and cap.
  // While designs are searched anew, returns a new one, and `*is_shared` is
  // false.
  std::shared_ptr<DesignMemory> Of(const void* info_log,
                                   const std::string& column_family,
                                   const std::shared_ptr<Cache>& cap,
                                   bool* is_shared);
  // Forgets the trees of a column family, which no DB has open.
  void Forget(const std::string& column_family);

  // While the result lives, all designs are searched anew.
  static std::shared_ptr<void> SearchAnew(
      const std::shared_ptr<DesignMemories>& memories);

 private:
  struct Tree {
    std::shared_ptr<DesignMemory> memory;
    uint64_t last_use = 0;
  };

  std::mutex mutex_;
  std::map<std::pair<const void*, std::string>, Tree> trees_;
  uint64_t time_ = 0;
  size_t searching_anew_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
