// SPDX-License-Identifier: Apache-2.0

//  What makes a file of ProteanTable: RocksDB's block-based table builder, with
//  the facts of the file's filter among the file's properties.

#include "db/dbformat.h"
#include "filter_policy/deletion_stretches.h"
#include "filter_policy/filter_properties.h"
#include "filter_policy/open_db/open_families.h"
#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/table_properties.h"
#include "table/block_based/block_based_table_builder.h"
#include "table/rocksdb_internals/block_based_file.h"
#include "table/rocksdb_internals/versions.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// What is known of the filter of a new file.
struct FilterFacts {
  FinishedFilter built;
  // Properties that are known before the filter is built.
  UserCollectedProperties known;
  // Where the file belongs.
  std::string db_session;
  const void* family;
  std::string family_name;
  // Where the file has deletions only; nullptr if no scan asks
  // (seek_decision.h).
  std::unique_ptr<DeletionStretchesBuilder> deletions;
};
using SharedFacts = std::shared_ptr<FilterFacts>;

// Adds properties which are complete once the file's filter is finished, and
// counts the filter. The builder finishes the filter before it asks for
// properties. Also adds where the file has deletions only.
class PropertiesOfFilter : public InternalTblPropColl {
 public:
  explicit PropertiesOfFilter(SharedFacts facts) : facts_(std::move(facts)) {}

  const char* Name() const override { return "protean.FilterProperties"; }
  Status InternalAdd(const Slice& key, const Slice& /*value*/,
                     uint64_t /*file_size*/) override {
    if (facts_->deletions == nullptr) return Status::OK();
    const ValueType type = ExtractValueType(key);
    if (type != kTypeRangeDeletion) {
      facts_->deletions->Add(ExtractUserKey(key), IsDeletion(type));
    }
    return Status::OK();
  }
  void BlockAdd(uint64_t, uint64_t, uint64_t) override {}
  Status Finish(UserCollectedProperties* properties) override {
    if (facts_->deletions != nullptr) {
      std::string stretches = facts_->deletions->Finish();
      if (!stretches.empty()) {
        properties->insert({kDeletionStretchesProperty, std::move(stretches)});
      }
    }
    const UserCollectedProperties& finished = facts_->built.properties;
    if (finished.empty()) return Status::OK();
    properties->insert(finished.begin(), finished.end());
    properties->insert(facts_->known.begin(), facts_->known.end());
    if (finished.count(kKeptDesignProperty) > 0) {
      properties->erase(kDesignInputsProperty);
    }
    DBSession::AddBuilt(facts_->db_session, facts_->family, facts_->family_name,
                        facts_->built.counts);
    return Status::OK();
  }
  UserCollectedProperties GetReadableProperties() const override {
    return facts_->built.properties;
  }

 private:
  const SharedFacts facts_;
};

// What the builder of one file asks for its filter: a policy, which makes the
// filter's builder and hands it the DB's Env, and a factory for the collector
// of the properties which the filter's builder leaves.
class FilterOfFile : public FilterPolicy, public InternalTblPropCollFactory {
 public:
  // `policy` is one of Protean's.
  FilterOfFile(std::shared_ptr<const FilterPolicy> policy,
               const TableBuilderOptions& options)
      : policy_(std::move(policy)), env_(options.ioptions.env) {
    facts_->db_session =
        DBSession::IdOf(options.db_session_id, options.ioptions.logger);
    facts_->family = &options.ioptions;
    facts_->family_name = options.column_family_name;
    price_ =
        DBSession::PriceOf(facts_->db_session, facts_->family,
                           options.level_at_creation, options.ioptions.stats);
    if (options.internal_comparator.user_comparator() == BytewiseComparator()) {
      facts_->deletions = std::make_unique<DeletionStretchesBuilder>();
    }
  }
  const SharedFacts& facts() const { return facts_; }

  const char* Name() const override { return policy_->Name(); }
  const char* CompatibilityName() const override {
    return policy_->CompatibilityName();
  }
  FilterBitsBuilder* GetBuilderWithContext(
      const FilterBuildingContext& context) const override {
    const ProteanFilterPolicy* const own = AsProteanFilterPolicy(policy_.get());
    facts_->known[kOptionsProperty] = HashOfOptions(*own);
    facts_->known[kDesignInputsProperty] =
        DesignInputsHash(*own, ColumnFamilyOf(context), env_, context.info_log);
    // The facts own what is built, and are the builder's as long as it lives.
    return own->NewBuilder(
        context, env_, price_,
        std::shared_ptr<FinishedFilter>(facts_, &facts_->built));
  }
  FilterBitsReader* GetFilterBitsReader(const Slice& contents) const override {
    return policy_->GetFilterBitsReader(contents);
  }

  InternalTblPropColl* CreateInternalTblPropColl(
      uint32_t /*column_family_id*/, int /*level_at_creation*/,
      int /*num_levels*/,
      SequenceNumber /*last_level_inclusive_max_seqno_threshold*/) override {
    return new PropertiesOfFilter(facts_);
  }

 private:
  const std::shared_ptr<const FilterPolicy> policy_;
  Env* const env_;
  uint64_t price_ = kUsualPrice;  // of a false positive in the file
  const SharedFacts facts_ = std::make_shared<FilterFacts>();
};

// Makes RocksDB's estimate of the file's size one that the file does not
// exceed.
class SizedTableBuilder : public BlockBasedTableBuilder {
 public:
  using BlockBasedTableBuilder::BlockBasedTableBuilder;

  SharedFacts facts;  // set before the first key

#if PROTEAN_HAS_TAIL_ESTIMATES
  uint64_t EstimatedTailSize() const override {
    // Maximum size of the properties of a filter, and of its name.
    constexpr uint64_t kMaxPropertyBytes = 1024;
    return BlockBasedTableBuilder::EstimatedTailSize() + kMaxPropertyBytes +
           (facts->deletions == nullptr ? 0 : facts->deletions->MaxBytes());
  }
#endif
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
  // The pointer shares the ownership of `own`, which owns the level's policy.
  table.filter_policy = std::shared_ptr<const FilterPolicy>(
      table.filter_policy, own->ForLevel(options.level_at_creation));
  if (AsProteanFilterPolicy(table.filter_policy.get()) == nullptr) {
    return new BlockBasedTableBuilder(table, options, file);
  }
  const auto filter =
      std::make_shared<FilterOfFile>(std::move(table.filter_policy), options);
  table.filter_policy = filter;
  // Protean's filters cut themselves into parts.
  table.partition_filters = false;
  // The builder's constructor calls the factories of collectors and forgets
  // them, so the list only borrows them from their owners.
  InternalTblPropCollFactories borrowed;
  for (const auto& collector : *options.internal_tbl_prop_coll_factories) {
    borrowed.emplace_back(collector.get());
  }
  borrowed.emplace_back(filter.get());
  TableBuilderOptions options_of_file = options;
  options_of_file.internal_tbl_prop_coll_factories = &borrowed;
  auto* const builder = new SizedTableBuilder(table, options_of_file, file);
  builder->facts = filter->facts();
  for (auto& collector : borrowed) (void)collector.release();
  return builder;
}

}  // namespace ROCKSDB_NAMESPACE::protean
