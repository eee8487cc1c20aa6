// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/amq/ribbon_shards.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <vector>

#include "filter_policy/amq/bloom.h"
#include "filter_policy/amq/ribbon_types.h"
#include "util/coding_lean.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kSegmentBytes = RibbonSizes::kSegmentBytes;
constexpr uint64_t kEntryBytes = 8;
// A shard has between half of this number of hashes and all of it, on average.
// The rows that are being solved then take 1.4 to 2.8 megabytes. Smaller shards
// are solved a little faster, but a filter of fewer hashes, such as a part, has
// no shards, and would be that much worse than a large one.
constexpr uint64_t kMaxHashesPerShard = 128 << 10;
constexpr unsigned kMaxLog = 24;

unsigned LogOfShards(uint64_t hashes) {
  unsigned log = 0;
  while (hashes >> log > kMaxHashesPerShard) log++;
  return log;
}

size_t ShardOf(uint64_t hash, unsigned log) { return hash >> (64 - log); }

// What the data says of a shard.
struct Shard {
  uint32_t end = 0;  // of its segments
  uint32_t blocks = 0;
  uint8_t seed = 0;

  void EncodeTo(char* entry) const {
    EncodeFixed32(entry, end);
    EncodeFixed32(entry + 4, blocks << 8 | seed);
  }
  static Shard DecodeFrom(const char* entry) {
    const uint32_t packed = DecodeFixed32(entry + 4);
    return {DecodeFixed32(entry), packed >> 8, static_cast<uint8_t>(packed)};
  }
};

class Builder : public AmqSetBuilder {
 public:
  Builder(const AmqPlan& plan, char* data)
      : plan_(plan), log_(plan.small[1]), data_(data), shards_(1 << log_) {
    const uint64_t mean = plan.hashes >> log_;
    const auto most = static_cast<size_t>(
        static_cast<double>(mean) + 4 * std::sqrt(static_cast<double>(mean)));
    for (std::vector<uint64_t>& shard : shards_) shard.reserve(most);
  }

  void Add(const uint64_t* hashes, size_t count) override {
    for (size_t i = 0; i < count; i++) {
      shards_[ShardOf(hashes[i], log_)].push_back(hashes[i]);
    }
  }

  // If the hashes of a shard do not fit, which is next to impossible, the set
  // becomes a Bloom filter of the same size.
  AmqHeader Finish() override {
    uint64_t all_blocks = 0;
    for (const std::vector<uint64_t>& shard : shards_) {
      all_blocks += RibbonSizes::BlocksFor(shard.size());
    }
    const uint64_t segments =
        (plan_.bytes - kEntryBytes * shards_.size()) / kSegmentBytes;
    char* const solutions = data_ + kEntryBytes * shards_.size();
    uint64_t blocks = 0;
    Shard shard;
    RibbonBanding banding;
    for (size_t i = 0; i < shards_.size(); i++) {
      const uint32_t begin = shard.end;
      shard.blocks = RibbonSizes::BlocksFor(shards_[i].size());
      blocks += shard.blocks;
      shard.end = static_cast<uint32_t>(std::min<uint64_t>(
          segments * blocks / all_blocks,
          begin + uint64_t{shard.blocks} * RibbonSizes::kMaxColumns));
      if (!SolveRibbon(
              shards_[i], shard.blocks, solutions + begin * kSegmentBytes,
              (shard.end - begin) * kSegmentBytes, &banding, &shard.seed)) {
        return FinishAsBloom();
      }
      shard.EncodeTo(data_ + kEntryBytes * i);
    }
    AmqHeader header = plan_;
    header.kind = kShardedRibbonAmq;
    header.small[0] = static_cast<uint8_t>(log_);
    header.small[1] = 0;
    return header;
  }

 private:
  AmqHeader FinishAsBloom() const {
    std::fill_n(data_, plan_.bytes, '\0');
    const AmqType& bloom = BloomAmqType();
    const AmqPlan plan = bloom.plan(plan_.hashes, plan_.bytes);
    const auto builder = bloom.new_builder(plan, data_);
    for (const std::vector<uint64_t>& shard : shards_) {
      builder->Add(shard.data(), shard.size());
    }
    return builder->Finish();
  }

  const AmqPlan plan_;
  const unsigned log_;
  char* const data_;
  std::vector<std::vector<uint64_t>> shards_;
};

class ShardedRibbonSet final : public AmqSet {
 public:
  ShardedRibbonSet(const AmqHeader& header, const char* data)
      : log_(header.small[0]),
        entries_(data),
        solutions_(data + (kEntryBytes << log_)),
        is_damaged_(
            !IsIntact((header.bytes - (kEntryBytes << log_)) / kSegmentBytes)) {
  }

  bool MayContain(uint64_t hash) const override {
    if (is_damaged_) return true;
    RibbonHasher hasher;
    return SolutionFor(hash, &hasher).FilterQuery(hash, hasher);
  }

  size_t Keep(size_t count, AmqLookup* lookups) const override {
    if (is_damaged_) return count;
    for (size_t i = 0; i < count; i++) {
      RibbonHasher hasher;
      const RibbonSolution solution = SolutionFor(lookups[i].hash, &hasher);
      PrefetchRibbon(lookups[i].hash, hasher, solution);
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
      const AmqLookup lookup = lookups[i];
      lookups[kept] = lookup;
      kept += MayContain(lookup.hash);
    }
    return kept;
  }

 private:
  Shard ShardAt(size_t index) const {
    return Shard::DecodeFrom(entries_ + kEntryBytes * index);
  }

  // Whether all shards lie within the segments, one behind the other.
  bool IsIntact(uint64_t segments) const {
    uint32_t begin = 0;
    for (size_t i = 0; i < size_t{1} << log_; i++) {
      const Shard shard = ShardAt(i);
      if (shard.blocks < RibbonSizes::kMinBlocks || shard.end < begin ||
          shard.end > segments ||
          shard.end - begin >
              uint64_t{shard.blocks} * RibbonSizes::kMaxColumns) {
        return false;
      }
      begin = shard.end;
    }
    return true;
  }

  // The solution only reads the data.
  RibbonSolution SolutionFor(uint64_t hash, RibbonHasher* hasher) const {
    const size_t index = ShardOf(hash, log_);
    const uint64_t begin = index == 0 ? 0 : ShardAt(index - 1).end;
    const Shard shard = ShardAt(index);
    hasher->SetOrdinalSeed(shard.seed);
    RibbonSolution solution(
        const_cast<char*>(solutions_ + begin * kSegmentBytes),
        (shard.end - begin) * kSegmentBytes);
    solution.ConfigureForNumBlocks(shard.blocks);
    return solution;
  }

  const unsigned log_;
  const char* const entries_;
  const char* const solutions_;
  // A set that is damaged contains everything.
  const bool is_damaged_;
};

bool IsSane(const AmqHeader& header) {
  return header.small[0] > 0 && header.small[0] <= kMaxLog &&
         header.bytes >= kEntryBytes << header.small[0];
}

}  // namespace

AmqPlan PlanRibbonShards(uint64_t hashes, uint64_t bytes) {
  AmqPlan plan;
  const unsigned log = LogOfShards(hashes);
  if (log == 0 || log > kMaxLog) return plan;
  const uint64_t shards = uint64_t{1} << log;
  const uint32_t blocks = RibbonSizes::BlocksFor(hashes >> log);
  // A Bloom filter of the same size may have to take its place.
  constexpr uint64_t kUnit = BloomSet::kLineBytes;
  bytes = std::min(bytes / kUnit * kUnit,
                   shards * (kEntryBytes + uint64_t{blocks} * kSegmentBytes *
                                               RibbonSizes::kMaxColumns));
  if (bytes < shards * (kEntryBytes + kSegmentBytes)) return plan;
  // The ends of segments have 32 bits.
  if (bytes / kSegmentBytes > ~uint32_t{0}) return plan;
  plan.hashes = hashes;
  plan.bytes = bytes;
  plan.small[1] = static_cast<uint8_t>(log);
  RibbonSolution solution(
      nullptr, (bytes / shards - kEntryBytes) / kSegmentBytes * kSegmentBytes);
  solution.ConfigureForNumBlocks(blocks);
  plan.false_positive_rate = solution.ExpectedFpRate();
  plan.kind = kShardedRibbonAmq;
  return plan;
}

const AmqType& ShardedRibbonAmqType() {
  static_assert(sizeof(ShardedRibbonSet) <= AmqSet::kMaxBytes);
  static const AmqType type = {
      kShardedRibbonAmq,
      "ribbon",
      /*takes_neighbours=*/false,
      /*query_nanos=*/25,
      /*neighbour_nanos=*/0,
      /*max_hashes_per_key=*/8,
      /*is_automatic=*/false,
      PlanRibbonShards,
      [](const AmqPlan& plan, char* data) -> std::unique_ptr<AmqSetBuilder> {
        return std::make_unique<Builder>(plan, data);
      },
      [](const AmqPlan& plan) -> size_t {
        const size_t mean = plan.hashes >> plan.small[1];
        const size_t rows = RibbonBanding::EstimateMemoryUsage(
            RibbonSizes::BlocksFor(mean + mean / 16) *
            RibbonSizes::kSlotsPerBlock);
        return (plan.hashes + plan.hashes / 16) * sizeof(uint64_t) + rows;
      },
      IsSane,
      [](const AmqHeader& header, const char* data, void* memory) -> AmqSet* {
        return new (memory) ShardedRibbonSet(header, data);
      },
  };
  return type;
}

}  // namespace ROCKSDB_NAMESPACE::protean
