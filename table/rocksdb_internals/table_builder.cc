// SPDX-License-Identifier: Apache-2.0

#include "table/rocksdb_internals/table_builder.h"

#include "filter_policy/filter_properties.h"
#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/table_properties.h"
#include "table/block_based/block_based_table_builder.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using SharedProperties = std::shared_ptr<UserCollectedProperties>;

// Adds properties which are complete once the file's filter is finished. The
// builder finishes the filter before it asks for properties.
class PropertiesOfFilter : public InternalTblPropColl {
 public:
  // The second map is for properties that are known before.
  PropertiesOfFilter(SharedProperties properties, SharedProperties known)
      : properties_(std::move(properties)), known_(std::move(known)) {}

  const char* Name() const override { return "protean.FilterProperties"; }
  Status InternalAdd(const Slice& /*key*/, const Slice& /*value*/,
                     uint64_t /*file_size*/) override {
    return Status::OK();
  }
  void BlockAdd(uint64_t, uint64_t, uint64_t) override {}
  Status Finish(UserCollectedProperties* properties) override {
    properties->insert(properties_->begin(), properties_->end());
    if (!properties_->empty() && properties_->count(kKeptDesignProperty) == 0) {
      properties->insert(known_->begin(), known_->end());
    }
    return Status::OK();
  }
  UserCollectedProperties GetReadableProperties() const override {
    return *properties_;
  }

 private:
  const SharedProperties properties_;
  const SharedProperties known_;
};

// What the builder of one file asks for its filter: a policy, which makes the
// filter's builder and hands it the DB's Env, and a factory for the collector
// of the properties which the filter's builder leaves.
class FilterOfFile : public FilterPolicy, public InternalTblPropCollFactory {
 public:
  // `policy` is one of Protean's.
  FilterOfFile(std::shared_ptr<const FilterPolicy> policy, Env* env)
      : policy_(std::move(policy)), env_(env) {}

  const char* Name() const override { return policy_->Name(); }
  const char* CompatibilityName() const override {
    return policy_->CompatibilityName();
  }
  FilterBitsBuilder* GetBuilderWithContext(
      const FilterBuildingContext& context) const override {
    const ProteanFilterPolicy* const own = AsProteanFilterPolicy(policy_.get());
    (*known_)[kPurposeProperty] =
        PurposeOf(*own, ColumnFamilyOf(context), env_, context.info_log);
    return own->NewBuilder(context, env_, properties_);
  }
  FilterBitsReader* GetFilterBitsReader(const Slice& contents) const override {
    return policy_->GetFilterBitsReader(contents);
  }

  InternalTblPropColl* CreateInternalTblPropColl(
      uint32_t /*column_family_id*/, int /*level_at_creation*/,
      int /*num_levels*/,
      SequenceNumber /*last_level_inclusive_max_seqno_threshold*/) override {
    return new PropertiesOfFilter(properties_, known_);
  }

 private:
  const std::shared_ptr<const FilterPolicy> policy_;
  Env* const env_;
  const SharedProperties properties_ =
      std::make_shared<UserCollectedProperties>();
  const SharedProperties known_ = std::make_shared<UserCollectedProperties>();
};

}  // namespace

TableBuilder* NewTableBuilderWithProperties(
    const BlockBasedTableFactory& factory, const TableBuilderOptions& options,
    WritableFileWriter* file) {
  BlockBasedTableOptions table = *factory.GetOptions<BlockBasedTableOptions>();
  const ProteanFilterPolicy* const own =
      AsProteanFilterPolicy(table.filter_policy.get());
  if (own == nullptr) {
    return factory.BlockBasedTableFactory::NewTableBuilder(options, file);
  }
  // The factory keeps `own`.
  own->ForLevel(options.level_at_creation, &table.filter_policy);
  if (AsProteanFilterPolicy(table.filter_policy.get()) == nullptr) {
    return new BlockBasedTableBuilder(table, options, file);
  }
  const auto filter = std::make_shared<FilterOfFile>(
      std::move(table.filter_policy), options.ioptions.env);
  table.filter_policy = filter;
  // The builder's constructor calls the factories of collectors and forgets
  // them, so the list only borrows them from their owners.
  InternalTblPropCollFactories borrowed;
  for (const auto& collector : *options.internal_tbl_prop_coll_factories) {
    borrowed.emplace_back(collector.get());
  }
  borrowed.emplace_back(filter.get());
  TableBuilderOptions options_of_file = options;
  options_of_file.internal_tbl_prop_coll_factories = &borrowed;
  auto* const builder =
      new BlockBasedTableBuilder(table, options_of_file, file);
  for (auto& collector : borrowed) (void)collector.release();
  return builder;
}

}  // namespace ROCKSDB_NAMESPACE::protean
