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

using Keys = std::vector<std::string>;

// A whole filter, and what was estimated before it was finished.
struct Whole {
  size_t estimate = 0;
  size_t size = 0;
};

// The parts of a filter, as RocksDB's table builder cuts them.
struct Parts {
  Keys blocks;
  size_t estimate = 0;  // before the last part was finished
  size_t size = 0;      // with RocksDB's index of the parts
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

  // Builds the filter of the first keys.
  Whole BuildWhole(const Keys& keys, size_t num_keys) {
    table_options_.partition_filters = false;
    const std::unique_ptr<FilterBitsBuilder> builder = NewBuilder();
    auto* const sizing = static_cast<SizingFilterBitsBuilder*>(builder.get());
    Whole whole;
    for (size_t i = 0; i < num_keys; i++) {
      builder->AddKey(keys[i]);
      whole.estimate = sizing->CalculateSpace(builder->EstimateEntriesAdded());
    }
    std::unique_ptr<const char[]> bytes;
    whole.size = builder->Finish(&bytes).size();
    return whole;
  }

  // Builds the parts of the first keys. If `asks`, RocksDB asks before each key
  // how large the file would be.
  Parts BuildParts(const Keys& keys, size_t num_keys, bool decoupled,
                   bool asks) {
    constexpr size_t kPartBytes = 512;
    constexpr size_t kKeysPerBlock = 10;
    table_options_.partition_filters = true;
    const std::unique_ptr<FilterBitsBuilder> builder = NewBuilder();
    const size_t told = builder->ApproximateNumEntries(kPartBytes);
    std::vector<std::unique_ptr<const char[]>> owners;
    std::vector<Slice> blocks;
    Parts parts;
    size_t counted = 0;  // bytes of parts when the last data block ended
    bool requested = false;
    const auto finish_part = [&](const std::string& last_key) {
      builder->EstimateEntriesAdded();
      owners.emplace_back();
      blocks.push_back(builder->Finish(&owners.back()));
      // The key in the index with a sequence number, the place of the block,
      // and what follows the block.
      parts.size += blocks.back().size() + last_key.size() + 8 + 20 + 5;
    };
    const auto ask = [&] {
      built_->is_asked_for_size = true;
      parts.estimate = counted + 2 * builder->EstimateEntriesAdded();
      built_->is_asked_for_size = false;
    };
    for (size_t i = 0; i < num_keys; i++) {
      if (asks) ask();
      const bool ends_block = i > 0 && i % kKeysPerBlock == 0;
      bool cut = ends_block && requested;
      if (ends_block) {
        requested = false;
        counted = 0;
        for (const Slice& block : blocks) counted += block.size();
      }
      const bool full = builder->EstimateEntriesAdded() >= told;
      if (decoupled) {
        cut = full;
      } else if (full) {
        requested = true;
      }
      if (cut) finish_part(keys[i - 1]);
      builder->AddKey(keys[i]);
    }
    if (asks) ask();
    finish_part(keys[num_keys - 1]);
    EXPECT_EQ(0u, builder->EstimateEntriesAdded());
    for (const Slice& block : blocks) parts.blocks.push_back(block.ToString());
    return parts;
  }

  std::shared_ptr<const FilterPolicy> policy_;
  BlockBasedTableOptions table_options_;
  std::shared_ptr<FinishedFilter> built_;
  std::vector<std::shared_ptr<const FilterPolicy>> policies_;
};

TEST_P(SizeEstimatesTest, WholeFiltersAtEveryKey) {
  for (const KeyFamily& family : KeyFamilies(150, 301)) {
    for (size_t i = 1; i <= family.keys.size(); i++) {
      const Whole whole = BuildWhole(family.keys, i);
      ASSERT_GE(whole.estimate, whole.size) << family.name << " " << i;
    }
  }
}

TEST_P(SizeEstimatesTest, PartsAtEveryKey) {
  for (const KeyFamily& family : KeyFamilies(300, 302)) {
    for (const bool decoupled : {false, true}) {
      for (size_t i = 1; i <= family.keys.size(); i += 7) {
        const Parts parts = BuildParts(family.keys, i, decoupled, true);
        ASSERT_GE(parts.estimate, parts.size) << family.name << " " << i;
      }
    }
  }
}

TEST_P(SizeEstimatesTest, AreNotMuchLarger) {
  for (const KeyFamily& family : KeyFamilies(20000, 303)) {
    if (family.keys.size() < 10000) continue;
    const Whole whole = BuildWhole(family.keys, family.keys.size());
    EXPECT_GE(whole.estimate, whole.size) << family.name;
    // A design may take less than the bits per key that it may have.
    const size_t allowed = family.keys.size() * 12 / 8 + 500;
    EXPECT_LE(whole.estimate, std::max(allowed, whole.size * 14 / 10))
        << family.name;
    const Parts parts =
        BuildParts(family.keys, family.keys.size(), /*decoupled=*/true, true);
    EXPECT_GE(parts.estimate, parts.size) << family.name;
    EXPECT_LE(parts.estimate, parts.size * 12 / 10 + 2000) << family.name;
  }
}

TEST_P(SizeEstimatesTest, AskingChangesNothing) {
  for (const KeyFamily& family : KeyFamilies(5000, 304)) {
    for (const bool decoupled : {false, true}) {
      const Parts quiet =
          BuildParts(family.keys, family.keys.size(), decoupled, false);
      const Parts asked =
          BuildParts(family.keys, family.keys.size(), decoupled, true);
      EXPECT_EQ(quiet.blocks.size(), asked.blocks.size()) << family.name;
      EXPECT_TRUE(quiet.blocks == asked.blocks) << family.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, SizeEstimatesTest,
                         testing::Values("surf:0:8", "surf:4:4", "surf:0:0:8",
                                         "proteus:12",
                                         "levels:surf:0:8,proteus:10",
                                         "proteus:1M"));

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
