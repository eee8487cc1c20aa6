// SPDX-License-Identifier: Apache-2.0

//  The public quotient filter, beside a std::map of the keys and their copies.

#include "sets/experimental/quotient_filter.h"

#include <gtest/gtest.h>

#include <map>

#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Copies = std::map<std::string, uint64_t>;

std::unique_ptr<QuotientFilter> NewFilter(
    const QuotientFilterOptions& options) {
  std::unique_ptr<QuotientFilter> filter;
  const Status s = QuotientFilter::Create(options, &filter);
  EXPECT_TRUE(s.ok()) << s.ToString();
  return filter;
}

QuotientFilterOptions Capacity(uint64_t capacity, uint32_t remainder_bits = 30,
                               uint64_t seed = 7) {
  QuotientFilterOptions options;
  options.capacity = capacity;
  options.remainder_bits = remainder_bits;
  options.seed = seed;
  return options;
}

// Keys that hurt, and others.
std::string KeyOf(uint64_t number) {
  switch (number) {
    case 0:
      return "";
    case 1:
      return std::string(1, '\0');
    case 2:
      return std::string(2, '\0');
    case 3:
      return std::string(300, '\xff');
    default:
      return "key " + std::to_string(number);
  }
}

uint64_t SumOf(const Copies& copies) {
  uint64_t sum = 0;
  for (const auto& key : copies) sum += key.second;
  return sum;
}

// With fingerprints this long, different keys do not collide here.
void ExpectHolds(const QuotientFilter& filter, const Copies& copies) {
  ASSERT_EQ(SumOf(copies), filter.size());
  for (const auto& key : copies) {
    ASSERT_TRUE(filter.MayContain(key.first));
    ASSERT_EQ(key.second, filter.Count(key.first)) << key.first;
  }
  uint64_t last = 0, visited = 0, keys = 0;
  filter.ForEach([&](uint64_t fingerprint, uint64_t n) {
    EXPECT_TRUE(keys == 0 || fingerprint > last);
    EXPECT_EQ(0, fingerprint >> filter.fingerprint_bits());
    last = fingerprint;
    visited += n;
    keys++;
  });
  ASSERT_EQ(copies.size(), keys);
  ASSERT_EQ(filter.size(), visited);
}

TEST(QuotientFilterTest, CountsWhatWasInsertedAndDeleted) {
  const auto filter = NewFilter(Capacity(1000));
  Copies copies;
  Random64 rnd(1);
  for (int i = 0; i < 20'000; i++) {
    const std::string key = KeyOf(rnd.Uniform(600));
    const auto found = copies.find(key);
    if (rnd.OneIn(2)) {
      ASSERT_EQ(filter->size() < filter->capacity(), filter->Insert(key));
      copies[key]++;
    } else if (found != copies.end()) {
      ASSERT_TRUE(filter->Delete(key));
      if (--found->second == 0) copies.erase(found);
    } else {
      ASSERT_FALSE(filter->MayContain(key));
      ASSERT_FALSE(filter->Delete(key));
    }
    if (i % 1000 == 0) {
      ASSERT_NO_FATAL_FAILURE(ExpectHolds(*filter, copies));
    }
    if (SumOf(copies) > 900) {
      for (const auto& [old, n] : copies) {
        for (uint64_t c = 0; c < n; c++) ASSERT_TRUE(filter->Delete(old));
      }
      copies.clear();
    }
  }
}

TEST(QuotientFilterTest, MergesAndResizesWithoutTheKeys) {
  const auto a = NewFilter(Capacity(100, 34));
  const auto b = NewFilter(Capacity(1000, 30));
  ASSERT_EQ(a->fingerprint_bits(), b->fingerprint_bits());
  Copies copies;
  for (uint64_t i = 0; i < 100; i++) {
    ASSERT_TRUE(a->Insert(KeyOf(i)));
    copies[KeyOf(i)]++;
  }
  for (uint64_t i = 50; i < 900; i++) {
    ASSERT_TRUE(b->Insert(KeyOf(i)));
    copies[KeyOf(i)]++;
  }
  std::unique_ptr<QuotientFilter> merged, resized, loaded;
  ASSERT_TRUE(QuotientFilter::Merge({a.get(), b.get()}, &merged).ok());
  ASSERT_NO_FATAL_FAILURE(ExpectHolds(*merged, copies));
  for (const uint64_t capacity : {100'000, 950}) {
    ASSERT_TRUE(merged->Resize(capacity, &resized).ok());
    ASSERT_GE(resized->capacity(), capacity);
    ASSERT_NO_FATAL_FAILURE(ExpectHolds(*resized, copies));
    ASSERT_EQ(merged->fingerprint_bits(), resized->fingerprint_bits());
  }
  EXPECT_TRUE(merged->Resize(900, &resized).IsNoSpace() ||
              resized->capacity() >= 950);
  EXPECT_TRUE(merged->Resize(100, &resized).IsNoSpace());
  EXPECT_EQ(nullptr, resized);

  std::string bytes, again;
  merged->Save(&bytes);
  ASSERT_TRUE(QuotientFilter::Load(bytes, &loaded).ok());
  ASSERT_NO_FATAL_FAILURE(ExpectHolds(*loaded, copies));
  loaded->Save(&again);
  EXPECT_EQ(bytes, again);
  bytes.back() ^= 1;
  EXPECT_TRUE(QuotientFilter::Load(bytes, &loaded).IsCorruption());
}

TEST(QuotientFilterTest, BatchesDoTheSame) {
  const auto filter = NewFilter(Capacity(2000));
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < filter->capacity() + 100; i++) {
    keys.push_back(KeyOf(i));
  }
  const std::vector<Slice> slices(keys.begin(), keys.end());
  ASSERT_EQ(filter->capacity(), filter->InsertEach(slices.data(), keys.size()));
  const std::unique_ptr<bool[]> answers(new bool[keys.size()]);
  filter->MayContainEach(slices.data(), keys.size(), answers.get());
  for (size_t i = 0; i < keys.size(); i++) {
    ASSERT_EQ(i < filter->capacity(), answers[i]);
    ASSERT_EQ(i < filter->capacity(), filter->MayContain(keys[i]));
  }
}

// The paper, section 2: the rate at load a is 1 - e^(-a / 2^r).
TEST(QuotientFilterTest, FalsePositives) {
  const auto filter = NewFilter(Capacity(60'000, 7));
  for (uint64_t i = 0; i < filter->capacity(); i++) {
    ASSERT_TRUE(filter->Insert(KeyOf(i)));
  }
  constexpr int kQueries = 400'000;
  int found = 0;
  for (uint64_t i = 0; i < kQueries; i++) {
    found += filter->MayContain(KeyOf(filter->capacity() + i));
  }
  EXPECT_NEAR(0.95 / 128, 1.0 * found / kQueries, 0.0005);
}

TEST(QuotientFilterTest, BadArguments) {
  std::unique_ptr<QuotientFilter> filter;
  for (const QuotientFilterOptions& options :
       {Capacity(0), Capacity(1000, 0), Capacity(1000, 57),
        Capacity(uint64_t{1} << 40), Capacity(1 << 20, 50)}) {
    EXPECT_TRUE(QuotientFilter::Create(options, &filter).IsInvalidArgument());
    EXPECT_EQ(nullptr, filter);
  }
  EXPECT_TRUE(QuotientFilter::Merge({}, &filter).IsInvalidArgument());
  const auto a = NewFilter(Capacity(1000));
  for (const QuotientFilterOptions& other :
       {Capacity(1000, 30, 8), Capacity(1000, 31)}) {
    const auto b = NewFilter(other);
    EXPECT_TRUE(
        QuotientFilter::Merge({a.get(), b.get()}, &filter).IsInvalidArgument());
  }
  // The seed is in the hashes.
  const auto b = NewFilter(Capacity(1000, 30, 8));
  a->Insert("key");
  b->Insert("key");
  uint64_t of_a = 0, of_b = 0;
  a->ForEach([&](uint64_t fingerprint, uint64_t) { of_a = fingerprint; });
  b->ForEach([&](uint64_t fingerprint, uint64_t) { of_b = fingerprint; });
  EXPECT_NE(of_a, of_b);
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
