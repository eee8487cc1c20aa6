// SPDX-License-Identifier: Apache-2.0

//  Filters of all kinds that several threads ask at once, as the iterators of a
//  DB do: no question changes a filter. ThreadSanitizer sees what the answers
//  do not show.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "db_bench_ext/memory_filter.h"
#include "rocksdb/convenience.h"
#include "test_util/testharness.h"
#include "tests/key_families.h"

namespace ROCKSDB_NAMESPACE::protean {

class SharedFilterTest : public ::testing::TestWithParam<const char*> {};

TEST_P(SharedFilterTest, QuestionsShareNoState) {
  std::shared_ptr<const FilterPolicy> policy;
  ASSERT_OK(
      FilterPolicy::CreateFromString(ConfigOptions(), GetParam(), &policy));
  for (const KeyFamily& family : KeyFamilies(3000, 31)) {
    SCOPED_TRACE(family.name);
    const std::vector<std::string>& keys = family.keys;
    const MemoryFilter filter(policy, keys);
    const FilterBlock& block = *filter.block();
    std::vector<std::thread> threads;
    std::atomic<int> failures{0};
    for (size_t thread = 0; thread < 4; thread++) {
      threads.emplace_back([&, thread] {
        for (size_t i = thread / 2; i < keys.size(); i += 2) {
          const Slice key = keys[i];
          std::string bound;
          RangeCount count;
          const bool right =
              block.KeyMayMatch(key) && block.PrefixMayMatch(key) &&
              block.RangeMayMatch(key, key, /*hi_inclusive=*/true) &&
              block.LowerBound(key, &bound) && key.compare(bound) == 0 &&
              (!block.CountRange(key, key, /*hi_inclusive=*/true, &count) ||
               count.count == 1);
          if (!right) failures++;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(0, failures);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, SharedFilterTest,
                         ::testing::Values("surf:4:4", "surf:0:8", "proteus:12",
                                           "prefixbloom:12",
                                           "prefixbloom2:14:ribbon"));

}  // namespace ROCKSDB_NAMESPACE::protean
