// SPDX-License-Identifier: Apache-2.0

//  What RocksDB is told of the size of a filter while it is being built: never
//  less than the filter will take, and not much more. Asking for it changes
//  nothing.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "filter_policy/building/file_filter_builder.h"
#include "filter_policy/protean_filter_policy.h"
#include "rocksdb/convenience.h"
#include "rocksdb/table.h"
#include "test_util/testharness.h"
#include "tests/key_families.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A filter, and what was estimated before it was finished.
struct Built {
  std::string block;
  size_t estimate = 0;
};

class SizeEstimatesTest : public testing::TestWithParam<const char*> {
 protected:
  SizeEstimatesTest() {
    EXPECT_OK(
        FilterPolicy::CreateFromString(ConfigOptions(), GetParam(), &policy_));
  }

  std::unique_ptr<FilterBitsBuilder> NewBuilder() {
    built_ = std::make_shared<FinishedFilter>();
    FilterBuildingContext context(table_options_);
    context.level_at_creation = 3;
    context.is_bottommost = true;
    context.reason = TableFileCreationReason::kCompaction;
    std::shared_ptr<const FilterPolicy> policy = policy_;
    AsProteanFilterPolicy(policy_.get())->ForLevel(3, &policy);
    policies_.push_back(policy);
    return std::unique_ptr<FilterBitsBuilder>(
        AsProteanFilterPolicy(policy.get())
            ->NewBuilder(context, Env::Default(), kUsualPrice, built_));
  }

  // Builds the filter of the first keys, in parts of a number of bytes unless
  // that is 0. If `asks`, RocksDB asks before each key how large the file would
  // be.
  Built Build(const Keys& keys, size_t num_keys, size_t part_bytes,
              bool asks = true) {
    table_options_.cache_index_and_filter_blocks = part_bytes > 0;
    table_options_.metadata_block_size = part_bytes;
    const std::unique_ptr<FilterBitsBuilder> builder = NewBuilder();
    auto* const sizing = static_cast<SizingFilterBitsBuilder*>(builder.get());
    Built built;
    for (size_t i = 0; i < num_keys; i++) {
      builder->AddKey(keys[i]);
      if (!asks && i + 1 < num_keys) continue;
      built.estimate = sizing->CalculateSpace(builder->EstimateEntriesAdded());
    }
    std::unique_ptr<const char[]> bytes;
    built.block = builder->Finish(&bytes).ToString();
    return built;
  }

  std::shared_ptr<const FilterPolicy> policy_;
  BlockBasedTableOptions table_options_;
  std::shared_ptr<FinishedFilter> built_;
  std::vector<std::shared_ptr<const FilterPolicy>> policies_;
};

TEST_P(SizeEstimatesTest, AtEveryKey) {
  for (const KeyFamily& family : KeyFamilies(200, 301)) {
    for (const size_t part_bytes : {0, 200}) {
      for (size_t i = 1; i <= family.keys.size(); i++) {
        const Built built = Build(family.keys, i, part_bytes);
        ASSERT_GE(built.estimate, built.block.size())
            << family.name << " " << i << " " << part_bytes;
      }
    }
  }
}

TEST_P(SizeEstimatesTest, AreNotMuchLarger) {
  for (const KeyFamily& family : KeyFamilies(20000, 303)) {
    if (family.keys.size() < 10000) continue;
    for (const size_t part_bytes : {0, 4096}) {
      const Built built = Build(family.keys, family.keys.size(), part_bytes);
      EXPECT_GE(built.estimate, built.block.size()) << family.name;
      // A design may take less than the bits per key that it may have.
      const size_t allowed = family.keys.size() * 12 / 8 + 1500;
      EXPECT_LE(built.estimate, std::max(allowed, built.block.size() * 14 / 10))
          << family.name;
    }
  }
}

TEST_P(SizeEstimatesTest, AskingChangesNothing) {
  for (const KeyFamily& family : KeyFamilies(5000, 304)) {
    for (const size_t part_bytes : {0, 512}) {
      const FilterSalt salt{1, 2};
      const auto before = FilterSalt::Fix(salt);
      const Built quiet =
          Build(family.keys, family.keys.size(), part_bytes, false);
      const Built asked = Build(family.keys, family.keys.size(), part_bytes);
      FilterSalt::Fix(before);
      EXPECT_TRUE(quiet.block == asked.block) << family.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Policies, SizeEstimatesTest,
    testing::Values("surf:0:8", "surf:4:4", "surf:0:0:8", "proteus:12",
                    "levels:surf:0:8,proteus:10",
                    "{id=protean.Proteus;filter_budget_bytes=1M}"));

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
