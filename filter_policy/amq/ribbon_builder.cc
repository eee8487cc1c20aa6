// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <vector>

#include "filter_policy/amq/amq_type.h"
#include "filter_policy/amq/bloom.h"
#include "filter_policy/amq/ribbon.h"
#include "filter_policy/amq/ribbon_solving.h"
#include "port/port.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kSegmentBytes = RibbonSizes::kSegmentBytes;
constexpr uint64_t kSlotsPerBlock = RibbonSizes::kSlotsPerBlock;
constexpr uint64_t kMaxColumns = RibbonSizes::kMaxColumns;
constexpr uint64_t kMaxHashes = 950000000;
// A shard has between half of this number of hashes and all of it, on average.
// The rows that are being solved then take 1.3 to 2.6 megabytes. Smaller shards
// are solved a little faster, but a filter of fewer hashes, such as a part, has
// a single one, and would be that much worse than a large one.
constexpr uint64_t kMaxHashesPerShard = 128 << 10;
constexpr uint64_t kMaxBlocks = (1 << 18) - 1;
// The fewest hashes of a shard for each slot at its ends that groups leave with
// fewer equations.
constexpr uint64_t kMinHashesPerSlotLost = 256;
// The most hashes that groups have, where a hash is: more are harder to solve.
constexpr double kMaxInGroup = 1.1;

unsigned LogOfShards(uint64_t hashes) {
  unsigned log = 0;
  while (hashes >> log > kMaxHashesPerShard) log++;
  return log;
}

// The numbers of a shard's blocks and slots.
uint64_t BlocksFor(uint64_t hashes, unsigned group_bits) {
  const uint64_t slots = RibbonConfig::GetNumSlots(std::max<uint32_t>(
                             1, static_cast<uint32_t>(hashes))) +
                         LowBits(group_bits);
  return std::max<uint64_t>(RibbonSizes::kMinBlocks,
                            (slots + kSlotsPerBlock - 1) / kSlotsPerBlock);
}

// The largest groups that suit a shard of that many hashes. Another block for
// the slots that they lose would make all others shorter.
unsigned MaxGroupBits(uint64_t hashes) {
  constexpr uint64_t kMany = 64;
  unsigned bits =
      std::min(kNeighbourBits, BitsFor(hashes / kMinHashesPerSlotLost + 1) - 1);
  const uint64_t blocks = BlocksFor(hashes, 0);
  while (blocks < kMany && BlocksFor(hashes, bits) > blocks) bits--;
  return bits;
}

class RibbonBuilder : public AmqSetBuilder {
 public:
  RibbonBuilder(const AmqPlan& plan, char* data)
      : plan_(plan), data_(data), shards_(size_t{1} << plan.small[0]) {
    const uint64_t mean = plan.hashes >> plan.small[0];
    const auto most = static_cast<size_t>(
        static_cast<double>(mean) + 4 * std::sqrt(static_cast<double>(mean)));
    for (std::vector<uint64_t>& shard : shards_) shard.reserve(most);
  }

  void Add(const uint64_t* hashes, size_t count) override {
    // All neighbours of a group are in one shard.
    const unsigned log = plan_.small[0];
    for (size_t i = 0; i < count; i++) {
      shards_[hashes[i] >> 1 >> (63 - log)].push_back(hashes[i]);
    }
  }

  // If the hashes do not fit, which is next to impossible, the set becomes a
  // Bloom filter of the same size.
  AmqHeader Finish() override {
    std::vector<RibbonShard> found(shards_.size());
    uint64_t added = 0;
    for (const std::vector<uint64_t>& shard : shards_) added += shard.size();
    uint64_t all_blocks = 0;
    for (size_t i = 0; i < shards_.size(); i++) {
      // Hashes that were not planned are repeated ones.
      uint64_t distinct = shards_[i].size();
      if (added > plan_.hashes) distinct = distinct * plan_.hashes / added;
      found[i].groups = GroupsFor(shards_[i], distinct);
      found[i].blocks =
          static_cast<uint32_t>(BlocksFor(distinct, found[i].groups.bits));
      if (found[i].blocks > kMaxBlocks) return FinishAsBloom();
      all_blocks += found[i].blocks;
    }
    const uint64_t segments =
        (plan_.bytes - RibbonShard::kEncodedBytes * shards_.size()) /
        kSegmentBytes;
    char* const solutions = data_ + RibbonShard::kEncodedBytes * shards_.size();
    RibbonEquations equations;
    uint64_t blocks = 0;
    uint32_t begin = 0;
    for (size_t i = 0; i < shards_.size(); i++) {
      RibbonShard& shard = found[i];
      blocks += shard.blocks;
      shard.end = static_cast<uint32_t>(
          std::min<uint64_t>(segments * blocks / all_blocks,
                             begin + uint64_t{shard.blocks} * kMaxColumns));
      if (!Fit(shards_[i], &equations, &shard)) return FinishAsBloom();
      const RibbonColumns columns(shard.end - begin, shard.blocks);
      shard.columns = static_cast<uint32_t>(columns.most);
      SolveRibbon(equations.rows.data(), equations.results.data(), columns,
                  solutions + begin * kSegmentBytes);
      shard.EncodeTo(data_ + RibbonShard::kEncodedBytes * i);
      begin = shard.end;
    }
    return plan_;
  }

 private:
  // Groups that are not harder to solve than single hashes.
  NeighbourGroups GroupsFor(const std::vector<uint64_t>& hashes,
                            uint64_t distinct) {
    // Every eighth group of many shows how full they are.
    constexpr size_t kMany = 1 << 14;
    const uint64_t skipped =
        hashes.size() < kMany ? 0 : uint64_t{7} << kNeighbourBits;
    sorted_.resize(hashes.size() + 1);
    size_t count = 0;
    for (const uint64_t hash : hashes) {
      sorted_[count] = hash;
      count += (hash & skipped) == 0 ? 1 : 0;
    }
    SortInto(sorted_.data(), count, &some_);
    some_.erase(std::unique(some_.begin(), some_.end()), some_.end());
    return LargestGroups(some_, MaxGroupBits(distinct), kMaxInGroup);
  }

  // Sorts hashes of one shard: groups, whose numbers are random, by the highest
  // bits that are not those of all, and then the few with the same ones.
  void SortInto(const uint64_t* hashes, size_t count,
                std::vector<uint64_t>* sorted) {
    const unsigned log = plan_.small[0];
    const unsigned bits = BitsFor(count);
    const auto bucket = [&](size_t i) {
      return hashes[i] << log >> 1 >> (63 - bits);
    };
    ends_.assign((size_t{1} << bits) + 1, 0);
    for (size_t i = 0; i < count; i++) ends_[bucket(i) + 1]++;
    for (size_t i = 1; i < ends_.size(); i++) ends_[i] += ends_[i - 1];
    sorted->resize(count);
    for (size_t i = 0; i < count; i++) {
      (*sorted)[ends_[bucket(i)]++] = hashes[i];
    }
    uint64_t* begin = sorted->data();
    for (size_t i = 0; i + 1 < ends_.size(); i++) {
      uint64_t* const end = sorted->data() + ends_[i];
      if (end - begin > 1) std::sort(begin, end);
      begin = end;
    }
  }

  // Finds a seed with which the equations can be solved. If there is none,
  // smaller groups may have one.
  bool Fit(const std::vector<uint64_t>& hashes, RibbonEquations* equations,
           RibbonShard* shard) {
    constexpr uint32_t kSeedsForGroups = 4;
    for (;; shard->groups.bits--) {
      const uint32_t seeds =
          shard->groups.bits > 0 ? kSeedsForGroups : RibbonShard::kSeeds;
      for (shard->seed = 0; shard->seed < seeds; shard->seed++) {
        if (AddAll(hashes, *shard, equations)) return true;
      }
      if (shard->groups.bits == 0) return false;
    }
  }

  // Adds the equations of all hashes, which are sorted by their stripes before.
  bool AddAll(const std::vector<uint64_t>& hashes, const RibbonShard& shard,
              RibbonEquations* equations) {
    const uint64_t slots = shard.blocks * kSlotsPerBlock;
    equations->rows.resize(slots);
    equations->results.resize(slots);
    ends_.assign(slots / RibbonStripe::kSlots + 1, 0);
    stripes_.resize(hashes.size());
    sorted_.resize(hashes.size());
    const uint64_t starts = shard.Starts();
    const size_t count = hashes.size();
    uint32_t* const stripes = stripes_.data();
    uint32_t* const ends = ends_.data();
    uint64_t* const sorted = sorted_.data();
    for (size_t i = 0; i < count; i++) {
      const uint64_t local = shard.groups.HashOf(hashes[i]);
      const RibbonGroup group(local >> shard.groups.bits, shard.seed, starts);
      const uint64_t slot = group.start + shard.NeighbourOf(local);
      stripes[i] = static_cast<uint32_t>(slot / RibbonStripe::kSlots);
      ends[stripes[i] + 1]++;
    }
    for (size_t i = 1; i < ends_.size(); i++) ends[i] += ends[i - 1];
    // Hashes whose places are prefetched before the first one is written.
    constexpr size_t kAhead = 16;
    for (size_t i = 0; i < count; i++) {
      const size_t ahead = std::min(i + kAhead, count - 1);
      PREFETCH(&sorted[ends[stripes[ahead]]], 1, 3);
      sorted[ends[stripes[i]]++] = shard.groups.HashOf(hashes[i]);
    }
    elimination_.Reset();
    return EliminateRibbon(sorted_.data(), shard, ends_.data(), &elimination_,
                           equations);
  }

  AmqHeader FinishAsBloom() const {
    std::fill_n(data_, plan_.bytes, '\0');
    std::vector<uint64_t> hashes;
    for (const std::vector<uint64_t>& shard : shards_) {
      hashes.insert(hashes.end(), shard.begin(), shard.end());
    }
    return BuildNeighbourBloom(std::move(hashes), plan_.bytes, data_);
  }

  const AmqPlan plan_;
  char* const data_;
  std::vector<std::vector<uint64_t>> shards_;
  std::vector<uint64_t> some_;  // of the hashes of a shard
  // The local hashes of a shard, sorted by their stripes.
  std::vector<uint64_t> sorted_;
  std::vector<uint32_t> stripes_;  // of the hashes, in their own order
  std::vector<uint32_t> ends_;     // of the stripes in sorted_
  RibbonElimination elimination_;
};

}  // namespace

AmqPlan PlanRibbon(uint64_t hashes, uint64_t bytes) {
  AmqPlan plan;
  const unsigned log = LogOfShards(hashes);
  if (hashes > kMaxHashes || log > kMaxRibbonLog) return plan;
  const uint64_t shards = uint64_t{1} << log;
  const uint64_t in_shard = hashes >> log;
  const uint64_t blocks = BlocksFor(in_shard, MaxGroupBits(in_shard));
  // A Bloom filter of the same size may have to take its place.
  constexpr uint64_t kUnit = BloomSet::kLineBytes;
  bytes = std::min((bytes / kUnit) * kUnit,
                   (shards * (RibbonShard::kEncodedBytes +
                              blocks * kSegmentBytes * kMaxColumns) +
                    kUnit - 1) /
                       kUnit * kUnit);
  if (bytes < shards * (RibbonShard::kEncodedBytes + kSegmentBytes))
    return plan;
  // The ends of segments have 32 bits.
  if (bytes / kSegmentBytes > ~uint32_t{0}) return plan;
  plan.kind = kRibbonAmq;
  plan.hashes = hashes;
  plan.bytes = bytes;
  plan.small[0] = static_cast<uint8_t>(log);
  const uint64_t segments =
      std::min((bytes / shards - RibbonShard::kEncodedBytes) / kSegmentBytes,
               blocks * kMaxColumns);
  plan.false_positive_rate =
      RibbonColumns(segments, blocks).FalsePositiveRate();
  return plan;
}

std::unique_ptr<AmqSetBuilder> NewRibbonBuilder(const AmqPlan& plan,
                                                char* data) {
  return std::make_unique<RibbonBuilder>(plan, data);
}

size_t RibbonBuilderBytes(const AmqPlan& plan) {
  const uint64_t mean = plan.hashes >> plan.small[0];
  const uint64_t slots =
      BlocksFor(mean + mean / 16, kNeighbourBits) * kSlotsPerBlock;
  // Each hash, its copy in a shard and the number of its stripe; each
  // slot's equation; the ends of stripes; a sample of the hashes.
  return sizeof(RibbonBuilder) +
         (plan.hashes + plan.hashes / 16) * sizeof(uint64_t) +
         mean * (sizeof(uint64_t) + sizeof(uint32_t)) +
         slots * (sizeof(RibbonRow) + sizeof(uint32_t)) +
         slots / RibbonStripe::kSlots * sizeof(uint32_t) +
         std::min(mean, uint64_t{1} << 14) * sizeof(uint64_t);
}

}  // namespace ROCKSDB_NAMESPACE::protean
