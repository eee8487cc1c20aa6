// SPDX-License-Identifier: Apache-2.0

//  Quotient filters against multisets of fingerprints: after every sequence of
//  insertions and deletions if they are small, and after random operations up
//  to the capacity if they are large; merges and sizes, long runs, and bad
//  arguments.

#include <algorithm>
#include <functional>
#include <vector>

#include "sets/quotient/quotient_merge.h"
#include "sets/tests/checked_filter.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- Every state ----

// The bytes of a filter depend only on the multiset that it holds. These tests
// show so for each multiset and each operation on it: the bytes after the
// operation are those of a filter that was filled in order. So every sequence
// of operations, of any length, ends in a state that is examined here.

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

TEST(QuotientStatesTest, AllStatesOfSmallFilters) {
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
TEST(QuotientStatesTest, ClustersAcrossBlocks) {
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

TEST(QuotientStatesTest, MergesAndSizes) {
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

// ---- Random operations ----

// A filter, the fingerprints that it holds, and those added in turn.
class Checked {
 public:
  Checked(const QuotientShape& shape, Random64* rnd)
      : filter_(NewQuotientFilter(shape)), rnd_(rnd) {}

  QuotientMultiset* filter() { return filter_.get(); }
  const Fingerprints& held() const { return held_; }

  // Inserts random hashes up to `size` of them. One of eight is a copy.
  void FillTo(uint64_t size) {
    while (held_.size() < size) {
      const uint64_t hash = !added_.empty() && rnd_->OneIn(8)
                                ? added_[rnd_->Uniform(added_.size())]
                                : rnd_->Next();
      ASSERT_TRUE(filter_->Insert(hash));
      Held(hash);
    }
  }
  // Inserts a batch of random hashes. Those that find no room are left out.
  void InsertBatch(size_t count) {
    std::vector<uint64_t> hashes(count);
    for (uint64_t& hash : hashes) hash = rnd_->Next();
    const uint64_t room = filter_->capacity() - held_.size();
    const size_t inserted = filter_->InsertBatch(hashes.data(), count);
    ASSERT_EQ(std::min<uint64_t>(count, room), inserted);
    hashes.resize(inserted);
    for (const uint64_t hash : hashes) Held(hash);
  }
  void DeleteSome(size_t count) {
    for (; count > 0 && !added_.empty(); count--) {
      std::swap(added_[rnd_->Uniform(added_.size())], added_.back());
      ASSERT_TRUE(filter_->Delete(added_.back()));
      held_.erase(held_.find(filter_->shape().Fingerprint(added_.back())));
      added_.pop_back();
    }
  }

  void Check() {
    ASSERT_NO_FATAL_FAILURE(ExpectHolds(*filter_, held_));
    ASSERT_NO_FATAL_FAILURE(ExpectCanonical(*filter_, held_));
    std::vector<uint64_t> hashes = added_;
    for (size_t i = 0; i < 1000; i++) hashes.push_back(rnd_->Next());
    const std::unique_ptr<bool[]> contained(new bool[hashes.size()]);
    filter_->ContainsBatch(hashes.data(), hashes.size(), contained.get());
    QuotientCursor cursor(filter_->blocks());
    for (size_t i = 0; i < hashes.size(); i++) {
      const uint64_t fingerprint = filter_->shape().Fingerprint(hashes[i]);
      const uint64_t count = held_.count(fingerprint);
      ASSERT_EQ(count, filter_->Count(hashes[i]));
      ASSERT_EQ(count > 0, filter_->Contains(hashes[i]));
      ASSERT_EQ(count > 0, contained[i]);
      if (count == 0) {
        ASSERT_FALSE(filter_->Delete(hashes[i]));
      }
      cursor.Seek(fingerprint);
      const auto next = held_.lower_bound(fingerprint);
      ASSERT_EQ(next != held_.end(), cursor.Valid());
      if (cursor.Valid()) {
        ASSERT_EQ(*next, cursor.Fingerprint());
      }
    }
  }

  // Gives the filter another number of quotient bits.
  void Resize(unsigned quotient_bits) {
    std::unique_ptr<QuotientMultiset> resized;
    const Status s = ResizeQuotientMultiset(*filter_, quotient_bits, &resized);
    ASSERT_TRUE(s.ok()) << s.ToString();
    filter_ = std::move(resized);
  }

 private:
  void Held(uint64_t hash) {
    held_.insert(filter_->shape().Fingerprint(hash));
    added_.push_back(hash);
  }

  std::unique_ptr<QuotientMultiset> filter_;
  Fingerprints held_;
  std::vector<uint64_t> added_;
  Random64* const rnd_;
};

TEST(QuotientMultisetTest, RandomOperationsUpToCapacity) {
  Random64 rnd(1);
  for (const QuotientShape shape :
       {QuotientShape{11, 1}, QuotientShape{11, 8}, QuotientShape{10, 11},
        QuotientShape{9, 16}, QuotientShape{9, 32}, QuotientShape{8, 56}}) {
    Checked checked(shape, &rnd);
    const uint64_t capacity = shape.capacity();
    for (int round = 0; round < 12; round++) {
      checked.FillTo(capacity - rnd.Uniform(capacity / 8));
      checked.InsertBatch(rnd.Uniform(capacity / 4));
      if (round % 4 == 3) checked.FillTo(capacity);
      ASSERT_NO_FATAL_FAILURE(checked.Check()) << round;
      if (round % 4 == 3) {
        ASSERT_FALSE(checked.filter()->Insert(rnd.Next()));
      }
      checked.DeleteSome(rnd.Uniform(capacity));
      ASSERT_NO_FATAL_FAILURE(checked.Check()) << round;
    }
    checked.DeleteSome(capacity);
    ASSERT_NO_FATAL_FAILURE(checked.Check());
    ASSERT_EQ("", BlockBytes(*checked.filter()));
  }
}

TEST(QuotientMultisetTest, GrowsAndShrinks) {
  Random64 rnd(2);
  Checked checked({4, 30}, &rnd);
  for (unsigned quotient_bits = 4; quotient_bits < 12; quotient_bits++) {
    checked.FillTo(checked.filter()->capacity());
    checked.Resize(quotient_bits + 1);
    ASSERT_EQ(34u, checked.filter()->shape().fingerprint_bits());
    ASSERT_NO_FATAL_FAILURE(checked.Check());
  }
  for (unsigned quotient_bits = 12; quotient_bits > 4; quotient_bits--) {
    const uint64_t half = QuotientShape{quotient_bits - 1, 1}.capacity();
    std::unique_ptr<QuotientMultiset> resized;
    ASSERT_TRUE(
        checked.held().size() <= half ||
        ResizeQuotientMultiset(*checked.filter(), quotient_bits - 1, &resized)
            .IsNoSpace());
    checked.DeleteSome(checked.held().size() - half);
    checked.Resize(quotient_bits - 1);
    ASSERT_NO_FATAL_FAILURE(checked.Check());
  }
}

TEST(QuotientMultisetTest, MergesFiltersOfAllSizes) {
  Random64 rnd(3);
  for (size_t num_filters = 1; num_filters <= 6; num_filters++) {
    std::vector<Checked> parts;
    std::vector<const QuotientMultiset*> filters;
    Fingerprints all;
    unsigned largest = 0;
    for (size_t i = 0; i < num_filters; i++) {
      const auto quotient_bits = static_cast<unsigned>(5 + rnd.Uniform(6));
      largest = std::max(largest, quotient_bits);
      parts.emplace_back(QuotientShape{quotient_bits, 20 - quotient_bits},
                         &rnd);
      parts.back().FillTo(rnd.Uniform(parts.back().filter()->capacity() + 1));
      all.insert(parts.back().held().begin(), parts.back().held().end());
    }
    for (Checked& part : parts) filters.push_back(part.filter());
    std::unique_ptr<QuotientMultiset> merged;
    const Status s = MergeQuotientMultisets(filters, &merged);
    ASSERT_TRUE(s.ok()) << s.ToString();
    ASSERT_LE(largest, merged->shape().quotient_bits);
    ASSERT_LE(all.size(), merged->capacity());
    ASSERT_NO_FATAL_FAILURE(ExpectHolds(*merged, all));
    ASSERT_NO_FATAL_FAILURE(ExpectCanonical(*merged, all));
  }
}

// Copies of one fingerprint, or runs of the last quotients, lead far into the
// tail, which becomes longer.
TEST(QuotientMultisetTest, LongRunsAtTheEnd) {
  const QuotientShape shape{11, 9};
  for (const uint64_t quotient : {0, 1000, 2047}) {
    const std::unique_ptr<QuotientMultiset> filter = NewQuotientFilter(shape);
    Fingerprints held;
    while (held.size() < shape.capacity()) {
      held.insert(shape.Join(quotient, held.size() % 5));
      ASSERT_TRUE(filter->Insert(
          HashFor(shape, shape.Join(quotient, (held.size() - 1) % 5))));
    }
    ASSERT_NO_FATAL_FAILURE(ExpectHolds(*filter, held));
    ASSERT_NO_FATAL_FAILURE(ExpectCanonical(*filter, held));
    ASSERT_FALSE(filter->Insert(0));
    while (!held.empty()) {
      const uint64_t fingerprint = *held.begin();
      ASSERT_EQ(held.count(fingerprint),
                filter->Count(HashFor(shape, fingerprint)));
      ASSERT_TRUE(filter->Delete(HashFor(shape, fingerprint)));
      held.erase(held.begin());
    }
    ASSERT_EQ("", BlockBytes(*filter));
  }
}

TEST(QuotientMultisetTest, MemoryIsNearlyThatOfTheBits) {
  const QuotientShape shape{20, 11};
  const double bits = 8.0 * NewQuotientFilter(shape)->MemoryUsage();
  EXPECT_LT(bits / shape.num_quotients(), 13.51);
}

TEST(QuotientMultisetTest, BadArguments) {
  std::unique_ptr<QuotientMultiset> filter;
  for (const QuotientShape shape :
       {QuotientShape{0, 8}, QuotientShape{33, 8}, QuotientShape{8, 0},
        QuotientShape{8, 57}, QuotientShape{32, 33}, QuotientShape{}}) {
    EXPECT_TRUE(QuotientMultiset::Create(shape, FilterSalt(), &filter)
                    .IsInvalidArgument());
    EXPECT_EQ(nullptr, filter);
  }

  const auto some = NewQuotientFilter({8, 8}, {1, 2});
  const auto others_salt = NewQuotientFilter({8, 8}, {1, 3});
  const auto other_bits = NewQuotientFilter({8, 9}, {1, 2});
  EXPECT_TRUE(MergeQuotientMultisets({}, &filter).IsInvalidArgument());
  EXPECT_TRUE(MergeQuotientMultisets({some.get(), others_salt.get()}, &filter)
                  .IsInvalidArgument());
  EXPECT_TRUE(MergeQuotientMultisets({some.get(), other_bits.get()}, &filter)
                  .IsInvalidArgument());
  for (const unsigned quotient_bits : {0u, 16u, 17u, ~0u}) {
    EXPECT_TRUE(ResizeQuotientMultiset(*some, quotient_bits, &filter)
                    .IsInvalidArgument());
  }

  // One remainder bit is the least, so fingerprints of two bits allow two
  // slots, of which one may be taken.
  const auto full = NewQuotientFilter({1, 1});
  ASSERT_TRUE(full->Insert(0));
  EXPECT_FALSE(full->Insert(0));
  EXPECT_TRUE(MergeQuotientMultisets({full.get(), full.get()}, &filter)
                  .IsInvalidArgument());
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
