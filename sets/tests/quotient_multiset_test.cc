// SPDX-License-Identifier: Apache-2.0

//  Large quotient filters against a multiset: random operations up to the
//  capacity, merges and sizes, long runs, false positives, and bad arguments.

#include <algorithm>
#include <vector>

#include "sets/quotient/quotient_merge.h"
#include "sets/tests/checked_filter.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

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
