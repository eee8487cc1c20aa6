// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/amq/former_ribbon.h"

#include <new>

#include "filter_policy/amq/ribbon_types.h"
#include "util/coding_lean.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kSegmentBytes = RibbonSizes::kSegmentBytes;
constexpr uint64_t kEntryBytes = 8;
constexpr unsigned kMaxLog = 24;
constexpr unsigned kMaxColumns = RibbonSizes::kMaxColumns;
constexpr uint32_t kMaxBlocks = uint32_t{1} << 24;

// What both kinds have in common.
AmqType FormerType(AmqKind kind) {
  AmqType type = {};
  type.kind = kind;
  type.name = "ribbon";
  type.query_nanos = 25;
  type.plan = [](uint64_t, uint64_t) { return AmqPlan(); };
  return type;
}

size_t ShardOf(uint64_t hash, unsigned log) { return hash >> (64 - log); }

// What the data says of a shard.
struct Shard {
  uint32_t end = 0;  // of its segments
  uint32_t blocks = 0;
  uint8_t seed = 0;

  static Shard DecodeFrom(const char* entry) {
    const uint32_t packed = DecodeFixed32(entry + 4);
    return {DecodeFixed32(entry), packed >> 8, static_cast<uint8_t>(packed)};
  }
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
    return KeepThose(count, lookups,
                     [this](uint64_t hash) { return MayContain(hash); });
  }

 private:
  RibbonHasher hasher_;
  RibbonSolution solution_;
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
    return KeepThose(count, lookups,
                     [this](uint64_t hash) { return MayContain(hash); });
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

bool IsSaneRibbon(const AmqHeader& header) {
  return header.bytes > 0 && header.bytes % kSegmentBytes == 0 &&
         header.large >= RibbonSizes::kMinBlocks && header.large < kMaxBlocks &&
         header.bytes <= uint64_t{header.large} * kMaxColumns * kSegmentBytes;
}

bool AreSaneShards(const AmqHeader& header) {
  return header.small[0] > 0 && header.small[0] <= kMaxLog &&
         header.bytes >= kEntryBytes << header.small[0];
}

}  // namespace

const AmqType& FormerRibbonAmqType() {
  static_assert(sizeof(RibbonSet) <= AmqSet::kMaxBytes);
  static const AmqType type = [] {
    AmqType former = FormerType(kFormerRibbonAmq);
    former.is_sane = IsSaneRibbon;
    former.open = [](const AmqHeader& header, const char* data,
                     void* memory) -> AmqSet* {
      return new (memory) RibbonSet(header, data);
    };
    return former;
  }();
  return type;
}

const AmqType& ShardedRibbonAmqType() {
  static_assert(sizeof(ShardedRibbonSet) <= AmqSet::kMaxBytes);
  static const AmqType type = [] {
    AmqType former = FormerType(kShardedRibbonAmq);
    former.is_sane = AreSaneShards;
    former.open = [](const AmqHeader& header, const char* data,
                     void* memory) -> AmqSet* {
      return new (memory) ShardedRibbonSet(header, data);
    };
    return former;
  }();
  return type;
}

}  // namespace ROCKSDB_NAMESPACE::protean
