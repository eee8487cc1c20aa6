// SPDX-License-Identifier: Apache-2.0

//  Quotient filters after every sequence of insertions and deletions.
//
//  The bytes of a filter depend only on the multiset that it holds. These tests
//  show so for each multiset and each operation on it: the bytes after the
//  operation are those of a filter that was filled in order. So every sequence
//  of operations, of any length, ends in a state that is examined here.

#include <functional>
#include <vector>

#include "sets/quotient/quotient_merge.h"
#include "sets/tests/checked_filter.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Tries each operation on a filter that holds `held`.
void TryEachOperation(const QuotientShape& shape, const Fingerprints& held,
                      const std::vector<uint64_t>& fingerprints) {
  const std::unique_ptr<QuotientMultiset> filter = AppendedFilter(shape, held);
  ASSERT_NO_FATAL_FAILURE(ExpectHolds(*filter, held));
  const std::string before = BlockBytes(*filter);
  for (const uint64_t fingerprint : fingerprints) {
    const uint64_t hash = HashFor(shape, fingerprint);
    const uint64_t count = held.count(fingerprint);
    ASSERT_EQ(count > 0, filter->Contains(hash));
    ASSERT_EQ(count, filter->Count(hash));
    if (count == 0) {
      ASSERT_FALSE(filter->Delete(hash));
      ASSERT_EQ(before, BlockBytes(*filter));
    }
    if (held.size() == shape.capacity()) {
      ASSERT_FALSE(filter->Insert(hash));
      ASSERT_EQ(before, BlockBytes(*filter));
      continue;
    }
    Fingerprints more = held;
    more.insert(fingerprint);
    ASSERT_TRUE(filter->Insert(hash));
    ASSERT_NO_FATAL_FAILURE(ExpectCanonical(*filter, more));
    // Every state that holds something is reached in this way, for each of the
    // fingerprints that can be deleted from it.
    ASSERT_TRUE(filter->Delete(hash));
    ASSERT_EQ(before, BlockBytes(*filter));
    ASSERT_EQ(held.size(), filter->size());
  }
}

// Calls `visit` for `held` with each multiset of at most `most` of the
// fingerprints added.
void ForEachMultiset(const std::vector<uint64_t>& fingerprints, size_t most,
                     Fingerprints* held,
                     const std::function<void(const Fingerprints&)>& visit,
                     size_t first = 0) {
  visit(*held);
  if (most == 0 || testing::Test::HasFatalFailure()) return;
  for (size_t i = first; i < fingerprints.size(); i++) {
    const auto added = held->insert(fingerprints[i]);
    ForEachMultiset(fingerprints, most - 1, held, visit, i);
    held->erase(added);
  }
}

std::vector<uint64_t> AllFingerprints(const QuotientShape& shape) {
  std::vector<uint64_t> all;
  for (uint64_t f = 0; f < uint64_t{1} << shape.fingerprint_bits(); f++) {
    all.push_back(f);
  }
  return all;
}

TEST(QuotientExhaustiveTest, AllStatesOfSmallFilters) {
  for (const QuotientShape shape :
       {QuotientShape{1, 1}, QuotientShape{1, 3}, QuotientShape{2, 1},
        QuotientShape{2, 2}, QuotientShape{2, 3}, QuotientShape{3, 1}}) {
    const std::vector<uint64_t> all = AllFingerprints(shape);
    Fingerprints held;
    size_t states = 0;
    ForEachMultiset(all, shape.capacity(), &held, [&](const Fingerprints& f) {
      TryEachOperation(shape, f, all);
      states++;
    });
    ASSERT_FALSE(HasFatalFailure());
    // The multisets of at most 7 out of 16.
    if (shape == QuotientShape{3, 1}) {
      EXPECT_EQ(245'157u, states);
    }
  }
}

// Clusters that lead over one or several borders of blocks, and into the tail.
TEST(QuotientExhaustiveTest, ClustersAcrossBlocks) {
  for (const unsigned remainder_bits : {1u, 7u, 32u, 37u, 56u}) {
    const QuotientShape shape{8, remainder_bits};
    const auto join = [&](uint64_t quotient, uint64_t remainder) {
      return shape.Join(quotient, remainder);
    };
    const uint64_t largest = shape.Remainder(~uint64_t{0});
    std::vector<uint64_t> tried;
    for (const uint64_t quotient : {0, 61, 63, 64, 65, 127, 128, 255}) {
      tried.push_back(join(quotient, largest / 2));
      tried.push_back(join(quotient, largest));
    }
    for (const uint64_t quotient : {60, 63, 64, 253, 255}) {
      for (const size_t copies : {0, 1, 3, 4, 61, 64, 65, 128, 190}) {
        Fingerprints held;
        for (size_t i = 0; i < copies; i++) held.insert(join(quotient, i % 3));
        // Runs of one in all slots between.
        if (copies == 3) {
          for (uint64_t q = 50; q < 140; q++) held.insert(join(q, q % 2));
        }
        const size_t most = copies % 2 == 1 ? 2 : 1;
        ForEachMultiset(tried, most, &held, [&](const Fingerprints& f) {
          TryEachOperation(shape, f, tried);
        });
        ASSERT_FALSE(HasFatalFailure());
      }
    }
  }
}

TEST(QuotientExhaustiveTest, MergesAndSizes) {
  const QuotientShape shape{2, 2};
  const std::vector<uint64_t> all = AllFingerprints(shape);
  std::vector<Fingerprints> states;
  Fingerprints none;
  ForEachMultiset(all, shape.capacity(), &none,
                  [&](const Fingerprints& f) { states.push_back(f); });
  for (const Fingerprints& a : states) {
    const std::unique_ptr<QuotientMultiset> of_a = AppendedFilter(shape, a);
    for (unsigned quotient_bits = 1; quotient_bits <= 3; quotient_bits++) {
      const QuotientShape other{quotient_bits, 4 - quotient_bits};
      std::unique_ptr<QuotientMultiset> resized;
      const Status s = ResizeQuotientMultiset(*of_a, quotient_bits, &resized);
      ASSERT_EQ(a.size() > other.capacity(), s.IsNoSpace()) << s.ToString();
      if (!s.ok()) continue;
      ASSERT_EQ(other, resized->shape());
      ASSERT_NO_FATAL_FAILURE(ExpectHolds(*resized, a));
      ASSERT_NO_FATAL_FAILURE(ExpectCanonical(*resized, a));
    }
    for (const Fingerprints& b : states) {
      const std::unique_ptr<QuotientMultiset> of_b = AppendedFilter(shape, b);
      Fingerprints both = a;
      both.insert(b.begin(), b.end());
      std::unique_ptr<QuotientMultiset> merged;
      const Status s =
          MergeQuotientMultisets({of_a.get(), of_b.get()}, &merged);
      ASSERT_TRUE(s.ok()) << s.ToString();
      ASSERT_EQ(both.size() > shape.capacity() ? 3u : 2u,
                merged->shape().quotient_bits);
      ASSERT_NO_FATAL_FAILURE(ExpectHolds(*merged, both));
      ASSERT_NO_FATAL_FAILURE(ExpectCanonical(*merged, both));
    }
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
