// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/amq/amq_type.h"

#include <new>

#include "filter_policy/amq/bloom.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class NeighbourBloomSet final : public AmqSet {
 public:
  NeighbourBloomSet(const AmqHeader& header, const char* data)
      : bloom_(header, data) {}

  bool MayContain(uint64_t hash) const override {
    return bloom_.MayContain(NeighbourGroups::Mix(hash));
  }
  size_t Keep(size_t count, AmqLookup* lookups) const override {
    for (size_t i = 0; i < count; i++) {
      lookups[i].hash = NeighbourGroups::Mix(lookups[i].hash);
    }
    return bloom_.Keep(count, lookups);
  }

 private:
  const BloomSet bloom_;
};

class Builder final : public AmqSetBuilder {
 public:
  Builder(const AmqPlan& plan, char* data)
      : bloom_(BloomAmqType().new_builder(plan, data)) {}

  void Add(const uint64_t* hashes, size_t count) override {
    for (size_t i = 0; i < count; i++) {
      const uint64_t mixed = NeighbourGroups::Mix(hashes[i]);
      bloom_->Add(&mixed, 1);
    }
  }
  AmqHeader Finish() override {
    AmqHeader header = bloom_->Finish();
    header.kind = kNeighbourBloomAmq;
    return header;
  }

 private:
  const std::unique_ptr<AmqSetBuilder> bloom_;
};

}  // namespace

const AmqType& NeighbourBloomAmqType() {
  static_assert(sizeof(NeighbourBloomSet) <= AmqSet::kMaxBytes);
  static const AmqType type = [] {
    AmqType bloom = BloomAmqType();
    bloom.kind = kNeighbourBloomAmq;
    bloom.takes_neighbours = true;
    bloom.new_builder = [](const AmqPlan& plan,
                           char* data) -> std::unique_ptr<AmqSetBuilder> {
      return std::make_unique<Builder>(plan, data);
    };
    bloom.open = [](const AmqHeader& header, const char* data,
                    void* memory) -> AmqSet* {
      return new (memory) NeighbourBloomSet(header, data);
    };
    return bloom;
  }();
  return type;
}

AmqHeader BuildNeighbourBloom(const std::vector<uint64_t>& hashes,
                              uint64_t bytes, char* data) {
  const AmqPlan plan = BloomAmqType().plan(hashes.size(), bytes);
  if (plan.kind == AmqKind::kNone) return plan;
  Builder builder(plan, data);
  builder.Add(hashes.data(), hashes.size());
  return builder.Finish();
}

NeighbourGroups LargestGroups(const std::vector<uint64_t>& hashes,
                              unsigned bits, double most) {
  // For each hash, its place in its group is summed up: groups of n hashes have
  // n (n + 1) / 2 altogether.
  uint64_t sums[kNeighbourBits + 1] = {};
  uint64_t places[kNeighbourBits + 1] = {};
  uint64_t last = 0;
  for (const uint64_t hash : hashes) {
    // The groups that both hashes are in have more bits than what differs.
    const unsigned parts = hashes.data() == &hash ? 64 : BitsFor(hash ^ last);
    for (unsigned i = 0; i <= bits; i++) {
      places[i] = i < parts ? 1 : places[i] + 1;
      sums[i] += places[i];
    }
    last = hash;
  }
  while (bits > 0 && static_cast<double>(2 * sums[bits] - hashes.size()) >
                         most * static_cast<double>(hashes.size())) {
    bits--;
  }
  return {bits};
}

}  // namespace ROCKSDB_NAMESPACE::protean
