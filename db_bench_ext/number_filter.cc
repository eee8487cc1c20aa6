// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/number_filter.h"

#include <algorithm>

#include "db_bench_ext/key_arithmetic.h"
#include "filter_policy/protean_filter_policy.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

uint64_t HeadOf(const Slice& key) {
  std::string bytes(key.data(), std::min<size_t>(key.size(), 8));
  bytes.resize(8, '\0');
  return LeadingNumber(bytes);
}

// The keys of 8 bytes in a range. Returns false if there is none.
bool ToNumbers(const Slice& lo, const Slice& hi, bool hi_inclusive,
               NumberSpan* range) {
  *range = {HeadOf(lo), HeadOf(hi)};
  // A shorter bound is below its own bytes followed by zeros, so an upper bound
  // of fewer than 8 bytes is excluded.
  const bool excluded = hi.size() < 8 || (hi.size() == 8 && !hi_inclusive);
  if (excluded && range->second == 0) return false;
  range->second -= excluded ? 1 : 0;
  return range->first <= range->second;
}

class NumberFilterPolicy : public ProteanFilterPolicy {
 public:
  NumberFilterPolicy(const NumberFilterType& type, double bits_per_key)
      : type_(type), bits_per_key_(bits_per_key) {}
  const char* Name() const override { return type_.class_name; }
  FileBuilders NewFileBuilders(const FilterBuildingContext& context, Env* env,
                               uint64_t /*price*/) const override {
    return {type_.kind,
            [this, queue = samples_->Queue(ColumnFamilyOf(context), env,
                                           nullptr)](const FilterTask& task) {
              return type_.make_builder(bits_per_key_, queue, task);
            }};
  }
  std::shared_ptr<SampleStore> Samples() const override { return samples_; }

 private:
  SampleStoreOptions StoreOptions() const {
    SampleStoreOptions options;
    options.sample_capacity = type_.max_samples;
    return options;
  }

  const NumberFilterType type_;
  const double bits_per_key_;
  const std::shared_ptr<SampleStore> samples_ =
      std::make_shared<SampleStore>(StoreOptions());
};

}  // namespace

bool NumberFilter::RangeMayMatch(const Slice& lo, const Slice& hi,
                                 bool hi_inclusive) const {
  NumberSpan range;
  return ToNumbers(lo, hi, hi_inclusive, &range) && NumbersMayMatch(range);
}

double NumberFilterBuilder::Bits() const {
  return std::max(64.0, bits_per_key_ * static_cast<double>(num_keys()));
}

std::vector<NumberSpan> NumberFilterBuilder::EmptySamples(size_t most) const {
  std::vector<NumberSpan> ranges;
  const auto samples = samples_->SnapshotFor(first_key(), last_key(), most);
  for (const SampleQuery& query : samples.queries) {
    NumberSpan range;
    if (ToNumbers(query.lo, query.hi, query.hi_inclusive, &range) &&
        std::lower_bound(keys_.begin(), keys_.end(), range.first) ==
            std::upper_bound(keys_.begin(), keys_.end(), range.second)) {
      ranges.push_back(range);
    }
  }
  return ranges;
}

void NumberFilterBuilder::Add(const Slice& key, size_t, size_t) {
  fits_ = fits_ && key.size() == 8;
  keys_.push_back(HeadOf(key));
}

Status NumberFilterBuilder::Plan(const KeysEnd&,
                                 std::vector<PlannedPart>* parts) {
  if (!fits_) return Status::NotSupported("keys have 8 bytes here");
  parts->resize(1);
  parts->front().num_keys = num_keys();
  parts->front().payload_size = PlanPayload();
  return Status::OK();
}

void RegisterNumberFilter(const NumberFilterType& type) {
  const std::string usage = std::string(type.name) + ":BITS_PER_KEY";
  const auto parse = [type, usage](
                         const std::string& spec,
                         std::unique_ptr<const FilterPolicy>* policy) {
    char* end = nullptr;
    const size_t colon = spec.find(':');
    const double bits =
        colon == std::string::npos ? 0 : strtod(&spec[colon + 1], &end);
    if (!(bits >= 1 && bits <= 100) || *end != '\0') {
      return Status::InvalidArgument("filter_policy=" + spec +
                                     " is not allowed; allowed: " + usage);
    }
    *policy = std::make_unique<NumberFilterPolicy>(type, bits);
    return Status::OK();
  };
  // A type lives as long as the process.
  RegisterFilterType(new FilterType{
      type.kind,
      type.name,
      type.open,
      {{type.class_name, type.name, usage,
        [type] { return std::make_unique<NumberFilterPolicy>(type, 12); },
        parse}}});
}

}  // namespace ROCKSDB_NAMESPACE::protean
