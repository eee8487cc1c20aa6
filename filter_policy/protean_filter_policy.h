// SPDX-License-Identifier: Apache-2.0

//  The base of all filter policies of Protean, and the adapters between
//  RocksDB's FilterBitsBuilder and FilterBitsReader and Protean's
//  RangeFilterBuilder and FilterBlock.

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "filter_policy/building/file_filter_builder.h"
#include "filter_policy/filter_properties.h"
#include "filter_policy/parted_filter.h"
#include "filter_policy/samples/sample_store.h"
#include "rocksdb/filter_policy.h"
#include "table/block_based/filter_policy_internal.h"

namespace ROCKSDB_NAMESPACE::protean {

class TreeFilters;

// The parsed filter of an SST file, as it lives in the block cache. RocksDB's
// own table asks it for keys and prefixes, ProteanTable asks block() for
// ranges.
class ProteanFilterBitsReader : public FilterBitsReader {
 public:
  explicit ProteanFilterBitsReader(const Slice& contents) : block_(contents) {}

  bool MayMatch(const Slice& entry) override {
    return block_.EntryMayMatch(entry);
  }
  void MayMatch(int num_keys, Slice** keys, bool* may_match) override {
    if (block_.header().flags & FilterBlockHeader::kAskedForPrefixes) {
      for (int i = 0; i < num_keys; i++) may_match[i] = MayMatch(*keys[i]);
    } else {
      block_.KeysMayMatch(static_cast<size_t>(num_keys), keys, may_match);
    }
  }

  const FilterBlock& block() const { return block_; }

 private:
  const FilterBlock block_;
};

class ProteanFilterPolicy : public FilterPolicy {
 public:
  // The name by which IsInstanceOf recognizes all policies of Protean.
  static const char* kClassName() { return "protean.FilterPolicy"; }

  // Names the meta block in the SST file. One name, so that each policy reads
  // what any other has written.
  static const char* kCompatibilityName() { return "protean.RangeFilter"; }
  const char* CompatibilityName() const override {
    return kCompatibilityName();
  }

  bool IsInstanceOf(const std::string& name) const override {
    return name == kClassName() || FilterPolicy::IsInstanceOf(name);
  }

  // Refuses files of sample queries that can never be read.
  Status ValidateOptions(const DBOptions& db_opts,
                         const ColumnFamilyOptions& cf_opts) const override;

  // Called by RocksDB's own table, which asks filters for keys alone, and not
  // by ProteanTable. The log says so once.
  FilterBitsBuilder* GetBuilderWithContext(
      const FilterBuildingContext& context) const override;
  // GetBuilderWithContext for a DB with the given Env, which RocksDB's context
  // lacks. `price` is that of a false positive in files of the level
  // (query_demand.h), unless the policy's options set another. Unless `built`
  // is nullptr, it is set when the filter is finished. nullptr for no filter.
  FilterBitsBuilder* NewBuilder(const FilterBuildingContext& context, Env* env,
                                uint64_t price,
                                std::shared_ptr<FinishedFilter> built) const;
  // Returns what makes the builders of one file. The policy must outlive it,
  // but `context` and `env` need not outlive the call. For files written
  // outside of a DB, the context has nothing but the options and the log.
  virtual FileBuilders NewFileBuilders(const FilterBuildingContext& context,
                                       Env* env, uint64_t price) const = 0;

  // The policy of the files that are written to a level, which lives as long as
  // this one: perhaps one of RocksDB's, or nullptr for no filter. The level is
  // negative for files written outside of a DB.
  virtual const FilterPolicy* ForLevel(int /*level*/) const { return this; }

  // Always returns a ProteanFilterBitsReader.
  FilterBitsReader* GetFilterBitsReader(const Slice& contents) const override {
    return new ProteanFilterBitsReader(contents);
  }

  // The store in which table readers leave samples of queries, for filters that
  // design themselves; nullptr for other policies. Always the same object.
  virtual std::shared_ptr<SampleStore> Samples() const { return nullptr; }
  // Makes Samples() return the store of another policy. Called before the first
  // call of Samples().
  virtual void ShareSamples(
      const std::shared_ptr<SampleStore>& /*samples*/) const {}

  // The registry in which table readers announce their files, for filters whose
  // size depends on the other files; nullptr for other policies. Always the
  // same object.
  virtual std::shared_ptr<TreeFilters> Filters() const { return nullptr; }

  // The options that decide which filter a file gets, as text; not those of
  // samples and of the files that hold them.
  virtual std::string DesignOptions() const;

  // While the result lives, each filter gets the best design that a search
  // finds, and none is kept from a file before. nullptr if the policy keeps no
  // designs.
  virtual std::shared_ptr<void> SearchAllDesigns() const { return nullptr; }

  // The price of a false positive that the policy designs filters for where
  // reads of the level cost `price`.
  virtual uint64_t PriceFor(uint64_t /*price*/) const { return kUsualPrice; }

  // The size in bytes that all of Protean's filters of a tree may take; 0 if
  // there is no limit.
  virtual uint64_t FilterMemory() const { return 0; }
  // The bits per key that the files of a tree have on average, if each file's
  // depend on the others and there is no such limit; else 0.
  virtual double AverageBits() const { return 0; }

 protected:
  // Names an option that does not exist, and the nearest one.
  Status ConfigureOptions(
      const ConfigOptions& config,
      const std::unordered_map<std::string, std::string>& options,
      std::unordered_map<std::string, std::string>* unused) override;

 private:
  mutable std::atomic<bool> has_warned_{false};
};

// A hash of the policy's DesignOptions, as text. Thread safe.
std::string HashOfOptions(const ProteanFilterPolicy& policy, uint64_t seed = 0);

// A hash of the policy's DesignOptions and of the column family's samples, as
// text. While it stays the same, a search finds the same design for the same
// keys. `logger` is told of samples that cannot be read, if this is the first
// use of them. Thread safe.
std::string DesignInputsHash(const ProteanFilterPolicy& policy,
                             const std::string& column_family, Env* env,
                             Logger* logger);

// The name of the column family that a file is written for: the default one's
// if the file is written outside of a DB.
const std::string& ColumnFamilyOf(const FilterBuildingContext& context);

// `policy` if it is one of Protean's, else nullptr.
inline const ProteanFilterPolicy* AsProteanFilterPolicy(
    const FilterPolicy* policy) {
  return policy != nullptr &&
                 policy->IsInstanceOf(ProteanFilterPolicy::kClassName())
             ? static_cast<const ProteanFilterPolicy*>(policy)
             : nullptr;
}

}  // namespace ROCKSDB_NAMESPACE::protean
