// SPDX-License-Identifier: Apache-2.0

#include "plugin/protean.h"

#include <atomic>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include "filter_policy/filter_kinds.h"
#include "filter_policy/levels_policy.h"
#include "filter_policy/proteus/proteus_policy.h"
#include "filter_policy/surf/surf_policy.h"
#include "plugin/build_info.h"
#include "plugin/checked_registration.h"
#include "rocksdb/convenience.h"
#include "rocksdb/env.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/sst_file_writer.h"
#include "table/protean_table_factory.h"
#include "table/rocksdb_internals/versions.h"

namespace ROCKSDB_NAMESPACE::protean {

// Whether this library has been registered.
static std::atomic<bool> is_registered{false};

std::shared_ptr<const FilterPolicy> NewProteusFilterPolicy(
    const ProteusOptions& options) {
  ProteusPolicyOptions copy;
  copy.bits_per_key = options.bits_per_key;
  copy.filter_budget_bytes = options.filter_budget_bytes;
  // The enums have the same order.
  copy.prefix_filter_type = static_cast<uint32_t>(options.prefix_filter_type);
  copy.level_bits = static_cast<uint32_t>(options.level_bits);
  copy.point_lookups_use_whole_keys = options.point_lookups_use_whole_keys;
  copy.false_positive_cost_micros = options.false_positive_cost_micros;
  copy.queries_per_key = options.queries_per_key;
  copy.sample_capacity = options.sample_capacity;
  copy.sample_every = options.sample_every;
  copy.seed_file = options.seed_file;
  copy.samples_file = options.samples_file;
  return std::make_shared<ProteusFilterPolicy>(DesignSpace::kProteus, copy);
}

std::shared_ptr<const FilterPolicy> NewSurfFilterPolicy(
    const SurfOptions& options) {
  return std::make_shared<SurfFilterPolicy>(
      SurfSuffix{options.hash_suffix_bits, options.real_suffix_bits,
                 options.prefix_suffix_bits});
}

std::shared_ptr<const FilterPolicy> NewLevelsFilterPolicy(
    const std::vector<std::shared_ptr<const FilterPolicy>>& policies) {
  LevelsPolicyOptions options;
  for (const std::shared_ptr<const FilterPolicy>& policy : policies) {
    options.policies.push_back({TextOf(policy.get()), policy});
  }
  return std::make_shared<LevelsFilterPolicy>(std::move(options));
}

std::shared_ptr<TableFactory> NewProteanTableFactory(
    const BlockBasedTableOptions& options, bool range_filters) {
  return std::make_shared<ProteanTableFactory>(options, range_filters);
}

// ---- Shared policies ----

Status GetSharedFilterPolicy(const std::string& group,
                             const std::string& policy,
                             std::shared_ptr<const FilterPolicy>* shared) {
  if (group.empty()) {
    return Status::InvalidArgument(
        "the sample group is empty; allowed: any other name");
  }
  // Policies by group and text, as long as someone has them.
  using Policies = std::map<std::pair<std::string, std::string>,
                            std::weak_ptr<const FilterPolicy>>;
  static auto& policies = *new Policies;
  static auto& mutex = *new std::mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  for (auto known = policies.begin(); known != policies.end();) {
    known = known->second.expired() ? policies.erase(known) : std::next(known);
  }
  std::shared_ptr<const FilterPolicy> found = policies[{group, policy}].lock();
  Status s;
  if (found == nullptr) {
    ConfigOptions config;
    config.ignore_unsupported_options = false;
    s = FilterPolicy::CreateFromString(config, policy, &found);
  }
  if (!s.ok()) return s;
  policies[{group, policy}] = found;
  *shared = std::move(found);
  return s;
}

// ---- Checked registration ----

namespace {

Status Differs(const std::string& what) {
  return Status::NotSupported("RocksDB's " + what);
}

// Writes a file with a filter, which the table keeps, or of which the parts are
// cached, reads it back and seeks in it.
Status CheckFile(bool in_cache) {
  constexpr int kKeys = 300;
  const std::unique_ptr<Env> env(NewMemEnv(Env::Default()));
  BlockBasedTableOptions table;
  table.block_size = 256;
  table.no_block_cache = !in_cache;
  table.cache_index_and_filter_blocks = in_cache;
  table.metadata_block_size = 256;
  table.filter_policy = std::make_shared<SurfFilterPolicy>();
  Options options;
  options.env = env.get();
  options.compression = kNoCompression;
  options.table_factory = std::make_shared<ProteanTableFactory>(table);
  const auto key = [](int i) {
    return "key " + std::to_string(100000 + 2 * i);
  };
  const std::string path = "/check.sst";
  SstFileWriter writer(EnvOptions(), options);
  Status s = writer.Open(path);
  for (int i = 0; s.ok() && i < kKeys; i++) s = writer.Put(key(i), "value");
  if (s.ok()) s = writer.Finish();
  std::unique_ptr<BlockBasedFile> opened;
  if (s.ok()) s = BlockBasedFile::OpenApart(options, path, &opened);
  if (!s.ok()) return s;
  const BlockBasedFile& file = *opened;
  using FilterState = BlockBasedFile::FilterState;
  if (file.name() != path || file.filter_state() != FilterState::kFull) {
    return Differs("table is not what was written");
  }
  const FilterBlock* const filter = file.GetHeldBlock();
  if (filter == nullptr || !filter->status().ok() ||
      (filter->directory().parts().size() > 1) != in_cache) {
    return Differs("table has not the filter that was written");
  }
  SstFileReader reader(options);
  s = reader.Open(path);
  if (!s.ok()) return s;
  for (int i = 0; i < kKeys; i++) {
    const std::string upper = key(i) + "1";
    const Slice bound(upper);
    ReadOptions read_options;
    read_options.iterate_upper_bound = &bound;
    const std::unique_ptr<Iterator> it(reader.NewIterator(read_options));
    it->Seek(key(i));
    if (!it->Valid() || it->key() != key(i) || it->value() != "value") {
      return Differs("table does not give back what was written");
    }
    it->Next();
    if (it->Valid()) return Differs("table gives more than was written");
    it->Seek(key(i) + "0");
    if (it->Valid()) return Differs("table gives more than was written");
    if (!it->status().ok()) return it->status();
  }
  return s;
}

}  // namespace

Status SelfCheck() {
  Status s = CheckInsides();
  for (const bool in_cache : {false, true}) {
    if (s.ok()) s = CheckFile(in_cache);
  }
  return s;
}

Status RegisterChecked(bool is_ready) {
  const std::string version = GetRocksVersionAsString(/*with_patch=*/true);
  if (version != GetBuildInfo().rocksdb_version) {
    return Status::NotSupported("the RocksDB here is " + version);
  }
  std::unique_ptr<TableFactory> registered;
  if (ObjectRegistry::Default()
          ->NewUniqueObject<TableFactory>("ProteanTable", &registered)
          .ok()) {
    return Status::NotSupported("Protean is registered already");
  }
  const Status s = is_ready ? SelfCheck() : Status::OK();
  if (s.ok()) ObjectLibrary::Default()->Register(register_protean, "");
  return s;
}

Status RegisterOnce() {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  return is_registered ? Status::OK() : RegisterChecked(/*is_ready=*/true);
}

}  // namespace ROCKSDB_NAMESPACE::protean

int register_protean(ROCKSDB_NAMESPACE::ObjectLibrary& library,
                     const std::string& /*arg*/) {
  using namespace ROCKSDB_NAMESPACE;
  using namespace ROCKSDB_NAMESPACE::protean;
  for (const FilterType* type : FilterTypes()) {
    RegisterPolicies(*type, &library);
  }
  library.AddFactory<TableFactory>(
      ProteanTableFactory::kClassName(),
      [](const std::string& /*uri*/, std::unique_ptr<TableFactory>* guard,
         std::string* /*errmsg*/) {
        guard->reset(new ProteanTableFactory);
        return guard->get();
      });
  is_registered = true;
  size_t num_types;
  return static_cast<int>(library.GetFactoryCount(&num_types));
}
