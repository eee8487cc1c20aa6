// SPDX-License-Identifier: Apache-2.0

//  The common parts of baselines for keys of 8 bytes that learn from sample
//  queries: keys and ranges as numbers, and a policy NAME:BITS_PER_KEY. For
//  benchmarks only.

#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "filter_policy/filter_kinds.h"
#include "filter_policy/range_filter.h"
#include "filter_policy/samples/query_queue.h"

namespace ROCKSDB_NAMESPACE::protean {

// The first and the last number of a range.
using NumberSpan = std::pair<uint64_t, uint64_t>;

class NumberFilter : public RangeFilter {
 public:
  bool KeyMayMatch(const Slice& key) const override {
    return RangeMayMatch(key, key, /*hi_inclusive=*/true);
  }
  bool RangeMayMatch(const Slice& lo, const Slice& hi,
                     bool hi_inclusive) const override;

 protected:
  virtual bool NumbersMayMatch(const NumberSpan& range) const = 0;
};

class NumberFilterBuilder : public RangeFilterBuilder {
 public:
  NumberFilterBuilder(double bits_per_key, std::shared_ptr<QueryQueue> samples,
                      const FilterTask& task)
      : RangeFilterBuilder(task),
        bits_per_key_(bits_per_key),
        samples_(std::move(samples)) {}

  double ApproximateBitsPerKey() const override { return bits_per_key_; }

 protected:
  // Plans the filter of all keys, and returns the size of its payload.
  virtual uint64_t PlanPayload() = 0;

  const std::vector<uint64_t>& keys() const { return keys_; }
  // The budget of all keys.
  double Bits() const;
  // The sample queries that find nothing; if there are many, a part of them,
  // which has about `most`.
  std::vector<NumberSpan> EmptySamples(size_t most) const;

  void Add(const Slice& key, size_t, size_t) override;
  Status Plan(const KeysEnd&, std::vector<PlannedPart>* parts) override;
  size_t Memory() const override { return keys_.capacity() * sizeof(uint64_t); }

 private:
  const double bits_per_key_;
  const std::shared_ptr<QueryQueue> samples_;
  std::vector<uint64_t> keys_;
  bool fits_ = true;
};

template <class Builder>
std::unique_ptr<RangeFilterBuilder> MakeNumberFilterBuilder(
    double bits_per_key, std::shared_ptr<QueryQueue> samples,
    const FilterTask& task) {
  return std::make_unique<Builder>(bits_per_key, std::move(samples), task);
}

struct NumberFilterType {
  FilterKind kind;
  const char* class_name;  // of the policy, such as protean.Rosetta
  const char* name;        // such as rosetta
  decltype(FilterType::open) open;
  std::function<std::unique_ptr<RangeFilterBuilder>(
      double bits_per_key, std::shared_ptr<QueryQueue> samples,
      const FilterTask& task)>
      make_builder;
  uint32_t max_samples = QueryQueue::kDefaultCapacity;
};

// Registers the kind and its policy in this process. Must be called once,
// before the policy is used.
void RegisterNumberFilter(const NumberFilterType& type);

}  // namespace ROCKSDB_NAMESPACE::protean
