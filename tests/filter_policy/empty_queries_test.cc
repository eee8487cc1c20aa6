// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "filter_policy/samples/query_queue.h"
#include "test_util/testharness.h"
#include "tests/key_families.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Whether no key lies in the range, by a walk over all.
bool IsEmpty(const Keys& keys, const SampleQuery& query) {
  return std::none_of(keys.begin(), keys.end(), [&](const std::string& key) {
    return key >= query.lo && !IsInverted(key, query.hi, query.hi_inclusive);
  });
}

}  // namespace

TEST(EmptyQueriesTest, SamplesThatAreEmpty) {
  Random rnd(3);
  for (const KeyFamily& family : KeyFamilies(200, 7)) {
    SCOPED_TRACE(family.name);
    std::vector<SampleQuery> samples;
    for (const std::string& key : family.keys) {
      const Keys around = Around(key);
      for (int i = 0; i < 3; i++) {
        const SampleQuery query = {AnyOf(around, &rnd), AnyOf(around, &rnd),
                                   rnd.OneIn(2)};
        if (!IsInverted(query.lo, query.hi, query.hi_inclusive)) {
          samples.push_back(query);
        }
      }
    }
    std::sort(samples.begin(), samples.end(),
              [](const auto& a, const auto& b) { return a.lo < b.lo; });
    std::vector<const SampleQuery*> given;
    for (const SampleQuery& sample : samples) given.push_back(&sample);
    EmptySamples empty(given);
    for (const std::string& key : family.keys) {
      empty.Pass(key);
      if (rnd.OneIn(3)) empty.Pass(key);
    }
    const std::vector<const SampleQuery*> found = empty.Finish();
    for (const SampleQuery& sample : samples) {
      EXPECT_EQ(IsEmpty(family.keys, sample),
                std::count(found.begin(), found.end(), &sample) == 1)
          << Hex(sample.lo) << " " << Hex(sample.hi);
    }
  }
}

TEST(EmptyQueriesTest, GapsAreEmpty) {
  for (const KeyFamily& family : KeyFamilies(3000, 7)) {
    SCOPED_TRACE(family.name);
    GapQueries gaps(family.keys.size());
    for (const std::string& key : family.keys) {
      gaps.Pass(key);
      gaps.Pass(key);
    }
    const std::vector<SampleQuery> queries = gaps.Finish();
    EXPECT_LE(queries.size(), 2 * GapQueries::kMaxQueries);
    if (family.name == "random integers") {
      EXPECT_GT(queries.size(), 700u);
    }
    for (const SampleQuery& query : queries) {
      ASSERT_LE(query.lo, query.hi);
      ASSERT_TRUE(query.hi_inclusive);
      ASSERT_TRUE(IsEmpty(family.keys, query))
          << Hex(query.lo) << " " << Hex(query.hi);
      ASSERT_GT(query.lo, family.keys.front());
      ASSERT_LT(query.hi, family.keys.back());
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
