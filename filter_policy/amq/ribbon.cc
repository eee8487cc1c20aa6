// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/amq/ribbon.h"

#include <algorithm>
#include <new>
#include <vector>

#include "filter_policy/amq/bloom.h"
#include "filter_policy/amq/ribbon_shards.h"
#include "filter_policy/amq/ribbon_types.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kMaxHashes = 950000000;
constexpr unsigned kSegmentBytes = RibbonSizes::kSegmentBytes;
constexpr unsigned kSlotsPerBlock = RibbonSizes::kSlotsPerBlock;
constexpr unsigned kMaxColumns = RibbonSizes::kMaxColumns;
constexpr uint32_t kMaxBlocks = uint32_t{1} << 24;

AmqPlan Plan(uint64_t hashes, uint64_t bytes) {
  AmqPlan plan;
  if (hashes > kMaxHashes) return plan;
  plan = PlanRibbonShards(hashes, bytes);
  if (plan.kind != AmqKind::kNone) {
    plan.kind = kRibbonAmq;
    return plan;
  }
  const uint32_t blocks = RibbonSizes::BlocksFor(hashes);
  // A Bloom filter of the same size may have to take its place.
  constexpr uint64_t kUnit = BloomSet::kLineBytes;
  bytes = std::min(bytes / kUnit * kUnit,
                   uint64_t{blocks} * kMaxColumns * kSegmentBytes);
  if (bytes == 0 || blocks >= kMaxBlocks) return plan;
  plan.kind = kRibbonAmq;
  plan.hashes = hashes;
  plan.bytes = bytes;
  plan.large = blocks;
  RibbonSolution solution(nullptr, bytes);
  solution.ConfigureForNumBlocks(blocks);
  plan.false_positive_rate = solution.ExpectedFpRate();
  return plan;
}

class Builder : public AmqSetBuilder {
 public:
  Builder(const AmqPlan& plan, char* data) : plan_(plan), data_(data) {
    hashes_.reserve(plan.hashes);
  }

  void Add(const uint64_t* hashes, size_t count) override {
    hashes_.insert(hashes_.end(), hashes, hashes + count);
  }

  // If the hashes do not fit, which is next to impossible, the set becomes a
  // Bloom filter of the same size.
  AmqHeader Finish() override {
    RibbonBanding banding;
    AmqHeader header = plan_;
    if (!SolveRibbon(hashes_, plan_.large, data_, plan_.bytes, &banding,
                     &header.small[0])) {
      const AmqType& bloom = BloomAmqType();
      const AmqPlan plan = bloom.plan(plan_.hashes, plan_.bytes);
      if (plan.kind == AmqKind::kNone) return plan;
      const auto builder = bloom.new_builder(plan, data_);
      builder->Add(hashes_.data(), hashes_.size());
      return builder->Finish();
    }
    return header;
  }

 private:
  const AmqPlan plan_;
  char* const data_;
  std::vector<uint64_t> hashes_;
};

class RibbonSet final : public AmqSet {
 public:
  // The solution only reads the data.
  RibbonSet(const AmqHeader& header, const char* data)
      : solution_(const_cast<char*>(data), header.bytes) {
    hasher_.SetOrdinalSeed(header.small[0]);
    solution_.ConfigureForNumBlocks(header.large);
  }

  bool MayContain(uint64_t hash) const override {
    return solution_.FilterQuery(hash, hasher_);
  }

  size_t Keep(size_t count, AmqLookup* lookups) const override {
    for (size_t i = 0; i < count; i++) {
      PrefetchRibbon(lookups[i].hash, hasher_, solution_);
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
      const AmqLookup lookup = lookups[i];
      lookups[kept] = lookup;
      kept += solution_.FilterQuery(lookup.hash, hasher_);
    }
    return kept;
  }

 private:
  RibbonHasher hasher_;
  RibbonSolution solution_;
};

bool IsSane(const AmqHeader& header) {
  return header.bytes > 0 && header.bytes % kSegmentBytes == 0 &&
         header.large >= RibbonSizes::kMinBlocks && header.large < kMaxBlocks &&
         header.bytes <= uint64_t{header.large} * kMaxColumns * kSegmentBytes;
}

}  // namespace

const AmqType& RibbonAmqType() {
  static_assert(sizeof(RibbonSet) <= AmqSet::kMaxBytes);
  static const AmqType type = {
      kRibbonAmq,
      "ribbon",
      /*takes_neighbours=*/false,
      /*query_nanos=*/25,
      /*neighbour_nanos=*/0,
      /*max_hashes_per_key=*/8,
      /*is_automatic=*/true,
      Plan,
      [](const AmqPlan& plan, char* data) -> std::unique_ptr<AmqSetBuilder> {
        if (plan.small[1] > 0) {
          return ShardedRibbonAmqType().new_builder(plan, data);
        }
        return std::make_unique<Builder>(plan, data);
      },
      [](const AmqPlan& plan) -> size_t {
        if (plan.small[1] > 0) {
          return ShardedRibbonAmqType().builder_memory(plan);
        }
        return plan.hashes * sizeof(uint64_t) +
               RibbonBanding::EstimateMemoryUsage(plan.large * kSlotsPerBlock);
      },
      IsSane,
      [](const AmqHeader& header, const char* data, void* memory) -> AmqSet* {
        return new (memory) RibbonSet(header, data);
      },
  };
  return type;
}

}  // namespace ROCKSDB_NAMESPACE::protean
