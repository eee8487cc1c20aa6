// SPDX-License-Identifier: Apache-2.0

//  Sets that keep neighbours together answer for several of them as they would
//  one by one, with no more false positives than planned, however the stored
//  ones lie.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "filter_policy/amq/amq.h"
#include "filter_policy/amq/bloom.h"
#include "test_util/testharness.h"
#include "tests/filter_blocks.h"
#include "tests/key_families.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kGroupSize = 1 << kNeighbourBits;

// Numbers that follow each other, as prefixes do, and their hashes.
using Numbers = std::vector<uint64_t>;

uint64_t HashOf(uint64_t number) {
  const uint64_t last = number % kGroupSize;
  return (NeighbourGroups::Mix(number / kGroupSize + 1) & ~(kGroupSize - 1)) |
         last;
}

void SortUniqueNumbers(Numbers* numbers) {
  std::sort(numbers->begin(), numbers->end());
  numbers->erase(std::unique(numbers->begin(), numbers->end()), numbers->end());
}

// How stored numbers may lie.
struct Shape {
  const char* name;
  std::function<Numbers(size_t)> make;
};

// Distinct numbers, each `step` after another.
Numbers Progression(size_t count, uint64_t first, uint64_t step) {
  Numbers numbers;
  for (uint64_t i = 0; i < count; i++) numbers.push_back(first + step * i);
  return numbers;
}

std::vector<Shape> Shapes() {
  return {
      {"sparse",
       [](size_t count) {
         std::mt19937_64 random(1);
         Numbers numbers(count);
         for (uint64_t& number : numbers) number = random();
         SortUniqueNumbers(&numbers);
         return numbers;
       }},
      // All neighbours, or all second ones, or one of each group.
      {"full", [](size_t count) { return Progression(count, 17, 1); }},
      {"half", [](size_t count) { return Progression(count, 0, 2); }},
      {"aligned",
       [](size_t count) { return Progression(count, 63, kGroupSize); }},
      {"runs",
       [](size_t count) {
         std::mt19937_64 random(2);
         Numbers numbers;
         while (numbers.size() < count) {
           const uint64_t begin = random();
           for (uint64_t size = 1 + random() % 200; size > 0; size--)
             numbers.push_back(begin + size);
         }
         numbers.resize(count);
         SortUniqueNumbers(&numbers);
         return numbers;
       }},
      // Nearly all are alone, and some groups are full.
      {"mixed",
       [](size_t count) {
         std::mt19937_64 random(3);
         Numbers numbers = Progression(count / 50, 1000, 1);
         while (numbers.size() < count) numbers.push_back(random());
         SortUniqueNumbers(&numbers);
         return numbers;
       }},
  };
}

// A set of the hashes of some numbers, which is read at an odd address.
class Set {
 public:
  Set(const Numbers& numbers, double bits_per_hash)
      : plan_(PlanAmq(
            kRibbonAmq, numbers.size(),
            static_cast<uint64_t>(
                bits_per_hash / 8 * static_cast<double>(numbers.size()) + 64))),
        header_(Amq::kHeaderSize, '\0'),
        data_(plan_.bytes, '\0') {
    AmqBuilder builder(plan_, /*in_second_unit=*/false, header_.data(),
                       data_.data());
    EXPECT_TRUE(builder.TakesNeighbours());
    for (const uint64_t number : numbers) builder.Add(HashOf(number));
    builder.Finish();
    copy_ = std::make_unique<GuardedBlock>(data_, /*misalignment=*/1);
    EXPECT_OK(amq_.DecodeHeader(header_.data()));
    Slice input = copy_->slice();
    EXPECT_TRUE(amq_.Open(&input));
    EXPECT_TRUE(amq_.TakesNeighbours());
  }

  const AmqPlan& plan() const { return plan_; }
  const std::string& header() const { return header_; }
  const std::string& data() const { return data_; }
  const Amq& operator*() const { return amq_; }
  const Amq* operator->() const { return &amq_; }

  // Whether any number of [first, last] may be there, by groups.
  bool AnyOf(uint64_t first, uint64_t last) const {
    for (uint64_t at = first;;) {
      const uint64_t left = kGroupSize - 1 - at % kGroupSize;
      const uint64_t count = std::min(last - at, left) + 1;
      if (amq_.FindNeighbours(HashOf(at), count) != 0) return true;
      if (count > last - at) return false;
      at += count;
    }
  }

 private:
  const AmqPlan plan_;
  std::string header_;
  std::string data_;
  std::unique_ptr<GuardedBlock> copy_;
  Amq amq_;
};

bool Holds(const Numbers& numbers, uint64_t first, uint64_t last) {
  const auto at = std::lower_bound(numbers.begin(), numbers.end(), first);
  return at != numbers.end() && *at <= last;
}

TEST(NeighboursTest, AnswersAsOneByOne) {
  std::mt19937_64 random(4);
  for (const Shape& shape : Shapes()) {
    for (const size_t count : {1, 2, 60, 1000, 20000, 200000}) {
      for (const double bits : {4.0, 9.0, 14.0, 21.0}) {
        SCOPED_TRACE(shape.name + (" " + std::to_string(count)) + " " +
                     std::to_string(bits));
        const Numbers numbers = shape.make(count);
        const Set set(numbers, bits);
        for (const uint64_t number : numbers) {
          ASSERT_TRUE(set->MayContain(HashOf(number)));
        }
        for (int i = 0; i < 300; i++) {
          const uint64_t near =
              numbers[random() % numbers.size()] + random() % 256 - 128;
          const uint64_t first = i % 3 == 0 ? random() : near;
          const uint64_t most = kGroupSize - first % kGroupSize;
          const uint64_t asked = 1 + random() % most;
          const uint64_t found = set->FindNeighbours(HashOf(first), asked);
          for (uint64_t j = 0; j < kGroupSize; j++) {
            ASSERT_EQ(j < asked && set->MayContain(HashOf(first + j)),
                      (found >> j & 1) != 0);
          }
        }
      }
    }
  }
}

// Ranges over dense, sparse and crowded keys, as a sorted vector answers them:
// with words and with bytes as keys, a trie, two sets, and prefixes so long
// that a group begins in one byte and ends in another.
TEST(NeighboursTest, FiltersMissNoKeyInARange) {
  std::mt19937_64 random(8);
  for (const char* const tail : {"", "-tail"}) {
    for (const Shape& shape : Shapes()) {
      Numbers numbers = shape.make(2000);
      std::vector<std::string> keys;
      for (const uint64_t number : numbers) {
        keys.push_back(BigEndian(number) + tail);
      }
      for (const ProteusDesign& design :
           {TrieAndSet(0, 64, kRibbonAmq), TrieAndSet(0, 61, kRibbonAmq),
            TrieAndSet(9, 63, kRibbonAmq), TwoSets(57, 64, kRibbonAmq),
            TwoSets(60, 62, kRibbonAmq), TwoSets(3, 59, kRibbonAmq)}) {
        SCOPED_TRACE(std::string(shape.name) + tail + " " + design.Describe());
        const ForcedProteus filter(keys, design, 16);
        for (int i = 0; i < 2000; i++) {
          const uint64_t size = random() >> (53 + random() % 11);
          const uint64_t first =
              numbers[random() % numbers.size()] - random() % (size + 2);
          const uint64_t last =
              first > ~uint64_t{0} - size ? ~uint64_t{0} : first + size;
          if (!Holds(numbers, first, last)) continue;
          ASSERT_TRUE(filter.block().RangeMayMatch(
              BigEndian(first), BigEndian(last) + "\xff", true));
        }
      }
    }
  }
}

// A range of m numbers that are not there is let through as often as m hashes
// are, whatever the stored numbers have in common.
TEST(NeighboursTest, RateIsThatOfSingleHashes) {
  std::mt19937_64 random(6);
  for (const Shape& shape : Shapes()) {
    for (const double bits : {7.0, 14.0}) {
      SCOPED_TRACE(shape.name + (" " + std::to_string(bits)));
      const Numbers numbers = shape.make(100000);
      const Set set(numbers, bits);
      constexpr size_t kQueries = 100000;
      for (const uint64_t size : {1, 20, 200}) {
        double expected = 0;
        double found = 0;
        for (size_t i = 0; i < kQueries; i++) {
          // Half of the queries are near stored numbers, and all end as the
          // stored ones may.
          uint64_t first = random();
          if (i % 2 == 0) {
            first = numbers[random() % numbers.size()] + 1 + random() % 2000;
          }
          if (size == 1) first |= kGroupSize - 1;
          if (Holds(numbers, first, first + size - 1)) continue;
          expected += -std::expm1(static_cast<double>(size) *
                                  std::log1p(-set.plan().false_positive_rate));
          found += set.AnyOf(first, first + size - 1);
        }
        EXPECT_LE(found, 1.15 * expected + 5 * std::sqrt(expected) + 5);
      }
    }
  }
}

TEST(NeighboursTest, CrowdedGroupsAreSmaller) {
  const Shape& full = Shapes()[1];
  EXPECT_STREQ("full", full.name);
  const Set ribbon(full.make(20000), 14);
  EXPECT_EQ(kRibbonAmq, ribbon->kind());

  for (unsigned bits = 0; bits <= kNeighbourBits; bits++) {
    Numbers hashes;
    for (uint64_t i = 0; i < kGroupSize; i += uint64_t{1} << bits) {
      hashes.push_back(i);
    }
    EXPECT_EQ(bits, LargestGroups(hashes, kNeighbourBits, 1).bits);
    EXPECT_EQ(std::min(bits + 1, kNeighbourBits),
              LargestGroups(hashes, kNeighbourBits, 2).bits);
    EXPECT_EQ(std::min(bits, 2u), LargestGroups(hashes, 2, 1).bits);
  }
  EXPECT_EQ(kNeighbourBits, LargestGroups({}, kNeighbourBits, 1).bits);
}

// Whatever the data say, no query for neighbours reads beyond them.
TEST(NeighboursTest, DamagedData) {
  const Numbers numbers = Shapes()[5].make(600);
  std::mt19937_64 random(7);
  const Set built(numbers, 14);
  GuardedMemory memory(built.data().size());
  for (size_t round = 0; round < 4000; round++) {
    std::string data = built.data();
    // The tables are in front.
    const size_t at = random() % (round % 2 == 0 ? 40 : data.size());
    data[at] = static_cast<char>(random());
    std::string header = built.header();
    if (round % 5 == 0) header[1 + random() % 7] = static_cast<char>(random());
    Slice input = memory.PlaceAtEnd(data);
    Amq amq;
    if (!amq.DecodeHeader(header.data()).ok() || !amq.Open(&input)) continue;
    for (uint64_t i = 0; i < 50; i++) {
      const uint64_t hash = random() & ~(kGroupSize - 1);
      amq.FindNeighbours(hash, 1 + random() % kGroupSize);
      amq.MayContain(hash + random() % kGroupSize);
    }
  }
}

// More hashes than planned make a Bloom set of neighbours.
TEST(NeighboursTest, BloomInPlaceOfWhatDoesNotFit) {
  const Numbers numbers = Shapes()[0].make(3000);
  const AmqPlan plan = PlanAmq(kRibbonAmq, 300, 2000);
  std::string header(Amq::kHeaderSize, '\0');
  std::string data(plan.bytes, '\0');
  AmqBuilder builder(plan, /*in_second_unit=*/false, header.data(),
                     data.data());
  for (const uint64_t number : numbers) builder.Add(HashOf(number));
  builder.Finish();
  Amq amq;
  ASSERT_OK(amq.DecodeHeader(header.data()));
  const GuardedBlock copy(data);
  Slice input = copy.slice();
  ASSERT_TRUE(amq.Open(&input));
  EXPECT_TRUE(amq.TakesNeighbours());
  std::vector<Amq::Lookup> lookups;
  for (const uint64_t number : numbers) {
    ASSERT_TRUE(amq.MayContain(HashOf(number)));
    const uint64_t first = number - number % kGroupSize;
    ASSERT_TRUE(amq.FindNeighbours(HashOf(first), kGroupSize) >>
                    (number % kGroupSize) &
                1);
    lookups.push_back({HashOf(number), 0});
  }
  ASSERT_EQ(lookups.size(), amq.Keep(lookups.size(), lookups.data()));
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
