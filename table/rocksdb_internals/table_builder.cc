// SPDX-License-Identifier: Apache-2.0

#include "table/rocksdb_internals/table_builder.h"

#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/table_properties.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The policy of one file in `env`: `policy`, whose filters' facts go into
// `properties`.
class PolicyOfFile : public FilterPolicy {
 public:
  PolicyOfFile(std::shared_ptr<const FilterPolicy> policy, Env* env,
               std::shared_ptr<UserCollectedProperties> properties)
      : policy_(std::move(policy)),
        env_(env),
        properties_(std::move(properties)) {}

  const char* Name() const override { return policy_->Name(); }
  const char* CompatibilityName() const override {
    return policy_->CompatibilityName();
  }
  FilterBitsBuilder* GetBuilderWithContext(
      const FilterBuildingContext& context) const override {
    return AsProteanFilterPolicy(policy_.get())
        ->NewBuilder(context, env_, properties_);
  }
  FilterBitsReader* GetFilterBitsReader(const Slice& contents) const override {
    return policy_->GetFilterBitsReader(contents);
  }

 private:
  const std::shared_ptr<const FilterPolicy> policy_;
  Env* const env_;
  const std::shared_ptr<UserCollectedProperties> properties_;
};

// Adds properties that are not there until the file's filter is finished, which
// is before its properties are written.
class PropertiesOfFilter : public InternalTblPropColl {
 public:
  explicit PropertiesOfFilter(
      std::shared_ptr<UserCollectedProperties> properties)
      : properties_(std::move(properties)) {}

  const char* Name() const override { return "protean.FilterProperties"; }
  Status InternalAdd(const Slice& /*key*/, const Slice& /*value*/,
                     uint64_t /*file_size*/) override {
    return Status::OK();
  }
  void BlockAdd(uint64_t, uint64_t, uint64_t) override {}
  Status Finish(UserCollectedProperties* properties) override {
    properties->insert(properties_->begin(), properties_->end());
    return Status::OK();
  }
  UserCollectedProperties GetReadableProperties() const override {
    return *properties_;
  }

 private:
  const std::shared_ptr<UserCollectedProperties> properties_;
};

class PropertiesOfFilterFactory : public InternalTblPropCollFactory {
 public:
  explicit PropertiesOfFilterFactory(
      std::shared_ptr<UserCollectedProperties> properties)
      : properties_(std::move(properties)) {}

  const char* Name() const override { return "protean.FilterProperties"; }
  InternalTblPropColl* CreateInternalTblPropColl(
      uint32_t /*column_family_id*/, int /*level_at_creation*/,
      int /*num_levels*/,
      SequenceNumber /*last_level_inclusive_max_seqno_threshold*/) override {
    return new PropertiesOfFilter(properties_);
  }

 private:
  const std::shared_ptr<UserCollectedProperties> properties_;
};

// Makes what another factory makes, which it does not own.
class BorrowedCollFactory : public InternalTblPropCollFactory {
 public:
  explicit BorrowedCollFactory(InternalTblPropCollFactory* factory)
      : factory_(factory) {}

  const char* Name() const override { return factory_->Name(); }
  InternalTblPropColl* CreateInternalTblPropColl(
      uint32_t column_family_id, int level_at_creation, int num_levels,
      SequenceNumber last_level_inclusive_max_seqno_threshold) override {
    return factory_->CreateInternalTblPropColl(
        column_family_id, level_at_creation, num_levels,
        last_level_inclusive_max_seqno_threshold);
  }

 private:
  InternalTblPropCollFactory* const factory_;
};

}  // namespace

TableBuilder* NewTableBuilderWithProperties(
    const BlockBasedTableFactory& factory, const TableBuilderOptions& options,
    WritableFileWriter* file) {
  std::shared_ptr<const FilterPolicy> policy =
      factory.GetOptions<BlockBasedTableOptions>()->filter_policy;
  const ProteanFilterPolicy* const own = AsProteanFilterPolicy(policy.get());
  if (own == nullptr) {
    return factory.BlockBasedTableFactory::NewTableBuilder(options, file);
  }
  own->ForLevel(options.level_at_creation, &policy);
  const auto properties = std::make_shared<UserCollectedProperties>();
  if (AsProteanFilterPolicy(policy.get()) != nullptr) {
    policy = std::make_shared<PolicyOfFile>(policy, options.ioptions.env,
                                            properties);
  }
  BlockBasedTableFactory factory_of_file(factory);
  factory_of_file.GetOptions<BlockBasedTableOptions>()->filter_policy = policy;
  // The builder takes its collectors from here at once.
  InternalTblPropCollFactories collectors;
  for (const auto& collector : *options.internal_tbl_prop_coll_factories) {
    collectors.push_back(
        std::make_unique<BorrowedCollFactory>(collector.get()));
  }
  collectors.push_back(std::make_unique<PropertiesOfFilterFactory>(properties));
  TableBuilderOptions options_of_file = options;
  options_of_file.internal_tbl_prop_coll_factories = &collectors;
  return factory_of_file.NewTableBuilder(options_of_file, file);
}

}  // namespace ROCKSDB_NAMESPACE::protean
