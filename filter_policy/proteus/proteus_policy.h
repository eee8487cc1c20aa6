// SPDX-License-Identifier: Apache-2.0

//  The filter policies that design a filter for every SST file: Proteus, and
//  its relatives 1PBF and 2PBF.

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "filter_policy/open_db/file_budget.h"
#include "filter_policy/option_types.h"
#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/proteus/proteus_builder.h"

namespace ROCKSDB_NAMESPACE::protean {

// The options, of which DB::SetOptions can change all that are a MutableOption.
struct ProteusPolicyOptions : SampleStoreOptions {
  static const char* kName() { return "ProteusPolicyOptions"; }

  static constexpr double kMinBitsPerKey = 2;
  static constexpr double kMaxBitsPerKey = 64;

  // The size of each filter, or with kAutoLevelBits the average of all filters
  // of the tree. 2 to 64. With a budget, the size of filters of files that are
  // written outside of a DB.
  MutableOption<double> bits_per_key = 12;

  static constexpr uint64_t kMinFilterBudget = 1 << 10;
  static constexpr uint64_t kMaxFilterBudget = uint64_t{1} << 60;

  // The size in bytes of all filters of the trees that have this policy, whose
  // bits per key follow from it (filter_budget.h): 1 KB to 2^60. level_bits has
  // no effect then. 0 for no limit.
  MutableOption<uint64_t> filter_budget_bytes = 0;

  // The kind of the sets (amq.h); with kAutoType, the model chooses.
  enum PrefixFilterType : uint32_t { kAutoType, kBloomType, kRibbonType };
  MutableOption<uint32_t> prefix_filter_type = kAutoType;

  // kEqualLevelBits: each filter has bits_per_key. kAutoLevelBits: small sorted
  // runs have more, and the last level has less, for fewer false positives in
  // all (filter_budget.h).
  enum LevelBits : uint32_t { kAutoLevelBits, kEqualLevelBits };
  MutableOption<uint32_t> level_bits = kAutoLevelBits;

  // If true, point queries ask a set of whole keys and nothing else. The time
  // of a Get then tells no more about stored keys than with a salted Bloom
  // filter. If false, they ask the layers that suit the queries. Must be false
  // for 2PBF, and with a prefix extractor.
  bool point_lookups_use_whole_keys = false;

  static constexpr uint32_t kMaxCostMicros = 10 * 1000 * 1000;

  // The cost of a false positive, for which designs are chosen: the time of the
  // read that it causes (query_demand.h), 1 to 10,000,000 microseconds.
  // 0 stands for the mean cost of recent reads in the file's level.
  MutableOption<uint32_t> false_positive_cost_micros = 0;

  // The queries that each key of a file will be asked: those that find nothing,
  // in the file's life (query_demand.h). The fewer they are, the less time is
  // spent on building. 0.002 to 1,000, or 0 for what is measured.
  MutableOption<double> queries_per_key = kManyQueriesPerKey;
};

const FilterType& ProteusFilterType();
// The names of a policy in options. Benchmarks register 1PBF and 2PBF.
PolicyType ProteusPolicyType(DesignSpace space);

class ProteusFilterPolicy : public ProteanFilterPolicy {
 public:
  explicit ProteusFilterPolicy(DesignSpace space,
                               const ProteusPolicyOptions& options = {});

  // "protean.Proteus", and so on.
  static const char* ClassName(DesignSpace space);
  const char* Name() const override { return ClassName(space_); }
  const char* NickName() const override;

  // InvalidArgument if an option is out of range or cannot be combined with the
  // others, or if a file of sample queries can never be read.
  Status ValidateOptions(const DBOptions& db_opts,
                         const ColumnFamilyOptions& cf_opts) const override;

  FileBuilders NewFileBuilders(const FilterBuildingContext& context, Env* env,
                               uint64_t price) const override;
  uint64_t PriceFor(uint64_t price) const override;
  std::shared_ptr<SampleStore> Samples() const override;
  void ShareSamples(
      const std::shared_ptr<SampleStore>& samples) const override {
    std::call_once(samples_made_once_, [&] { SetSamples(samples); });
  }
  std::shared_ptr<TreeFilters> Filters() const override { return filters_; }
  std::string DesignOptions() const override;
  std::shared_ptr<void> SearchAllDesigns() const override {
    return DesignMemories::SearchAnew(designs_);
  }
  uint64_t FilterMemory() const override {
    return options_.filter_budget_bytes;
  }
  double AverageBits() const override {
    return FilterMemory() == 0 &&
                   options_.level_bits == ProteusPolicyOptions::kAutoLevelBits
               ? options_.bits_per_key.get()
               : 0;
  }

 protected:
  Status ParseOption(const ConfigOptions& config, const OptionTypeInfo& info,
                     const std::string& name, const std::string& value,
                     void* option) override;

 private:
  Status CheckOptions() const;
  void SetSamples(const std::shared_ptr<SampleStore>& samples) const;

  const DesignSpace space_;
  ProteusPolicyOptions options_;
  // The samples are made when they are first asked for: by then all options are
  // set. Later changes of options are told to those that were made here.
  mutable std::once_flag samples_made_once_;
  mutable std::shared_ptr<SampleStore> samples_;
  mutable std::atomic<SampleStore*> samples_made_{nullptr};
  const std::shared_ptr<TreeFilters> filters_ = std::make_shared<TreeFilters>();
  const std::shared_ptr<DesignMemories> designs_ =
      std::make_shared<DesignMemories>();
};

}  // namespace ROCKSDB_NAMESPACE::protean
