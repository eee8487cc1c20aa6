// SPDX-License-Identifier: Apache-2.0

//  Bit arrays against a vector of bools.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "filter_policy/bits/bit_array.h"
#include "filter_policy/bits/checksum.h"
#include "util/crc32c.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Bits at an odd address, with zeros after them that may be read. About one bit
// in `one_in` is set.
class RandomBits {
 public:
  RandomBits(size_t size, int one_in, Random* rnd)
      : bits_(size), bytes_(1 + BitArrayBytes(size) + kReadPadding, '\0') {
    for (size_t i = 0; i < size; i++) {
      bits_[i] = rnd->OneIn(one_in);
      if (bits_[i]) SetBit(words(), i);
    }
  }
  char* words() { return bytes_.data() + 1; }
  size_t size() const { return bits_.size(); }
  bool operator[](size_t i) const { return bits_[i]; }

 private:
  std::vector<bool> bits_;
  std::string bytes_;
};

void CompareWithTruth(RandomBits* bits) {
  const size_t size = bits->size();
  char* const words = bits->words();
  size_t ones = 0;
  for (size_t begin = 0; begin <= size; begin += 1 + begin / 7) {
    size_t rank = 0;
    for (size_t i = begin; i < size; i++) {
      ASSERT_EQ((*bits)[i], GetBit(words, i));
      ASSERT_EQ(rank, CountOnes(words, begin, i));
      if (!(*bits)[i]) continue;
      ASSERT_EQ(i, SelectFrom(words, begin, rank++));
    }
    ASSERT_EQ(rank, CountOnes(words, begin, size));
    if (begin == 0) ones = rank;
  }
  for (size_t pos = 0; pos <= size; pos++) {
    size_t one = pos;
    while (one < size && !(*bits)[one]) one++;
    ASSERT_EQ(one, NextOne(words, size, pos));
    size_t zero = pos;
    while (zero < size && (*bits)[zero]) zero++;
    ASSERT_EQ(zero, NextZero(words, size, pos));
    for (size_t begin : {size_t{0}, pos / 2, pos}) {
      size_t before = pos;
      while (before > begin && !(*bits)[before - 1]) before--;
      ASSERT_EQ(before > begin ? before - 1 : pos, PrevOne(words, begin, pos));
    }
    size_t before = pos;
    while (before > 0 && (*bits)[before - 1]) before--;
    ASSERT_EQ(before > 0 ? before - 1 : pos, PrevZero(words, pos));
  }

  std::string vector(words, BitArrayBytes(size));
  vector.resize(RankVector::Bytes(size) + kReadPadding);
  RankVector::Complete(vector.data(), size);
  RankVector rank;
  ASSERT_TRUE(rank.Open(vector.data(), size, ones));
  for (size_t i = 0; i <= size; i++) {
    ASSERT_EQ(CountOnes(words, 0, i), rank.Rank(i));
  }

  vector.assign(words, BitArrayBytes(size));
  vector.resize(SelectVector::Bytes(size, ones) + kReadPadding);
  SelectVector::Complete(vector.data(), size);
  SelectVector select;
  ASSERT_TRUE(select.Open(vector.data(), size, ones));
  for (size_t i = 0; i < ones; i++) {
    ASSERT_EQ(SelectFrom(words, 0, i), select.Select(i));
  }
}

}  // namespace

TEST(BitsTest, Arrays) {
  Random rnd(11);
  for (size_t size : {0, 1, 63, 64, 65, 511, 512, 513, 1500}) {
    for (int one_in : {1, 2, 30, 1000000}) {
      SCOPED_TRACE(std::to_string(size) + " " + std::to_string(one_in));
      RandomBits bits(size, one_in, &rnd);
      CompareWithTruth(&bits);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(BitsTest, SelectInWord) {
  Random64 rnd(12);
  for (int i = 0; i < 10000; i++) {
    uint64_t word = rnd.Next();
    for (uint64_t density = i % 4; density > 0; density--) word &= rnd.Next();
    unsigned rank = 0;
    for (unsigned bit = 0; bit < 64; bit++) {
      if ((word >> bit & 1) == 0) continue;
      ASSERT_EQ(bit, PortableSelectInWord(word, rank));
      ASSERT_EQ(bit, SelectInWord(word, rank));
      rank++;
    }
    ASSERT_EQ(static_cast<int>(rank), PopCount(word));
  }
}

TEST(BitsTest, LowerBoundLabel) {
  Random rnd(14);
  for (int i = 0; i < 2000; i++) {
    // What is before and behind the range is in no order.
    const uint32_t begin = rnd.Uniform(20);
    const uint32_t end = begin + rnd.Uniform(60);
    std::string labels;
    for (uint32_t j = 0; j < end + kReadPadding; j++) {
      labels += static_cast<char>(rnd.Uniform(256));
    }
    const auto less = [](char a, char b) {
      return static_cast<uint8_t>(a) < static_cast<uint8_t>(b);
    };
    std::sort(labels.begin() + begin, labels.begin() + end, less);
    for (int label = 0; label < 256; label++) {
      const auto found =
          std::lower_bound(labels.begin() + begin, labels.begin() + end,
                           static_cast<char>(label), less);
      ASSERT_EQ(static_cast<uint32_t>(found - labels.begin()),
                LowerBoundLabel(labels.data(), begin, end,
                                static_cast<uint8_t>(label)));
    }
  }
}

// Any length, at any alignment, in one piece and in two.
TEST(BitsTest, ChecksumIsThatOfRocksDB) {
  Random rnd(7);
  const std::string bytes = rnd.RandomBinaryString(300);
  for (size_t begin = 0; begin < 9; begin++) {
    for (size_t size = 0; begin + size <= bytes.size(); size++) {
      const Slice all(bytes.data() + begin, size);
      const uint32_t expected = crc32c::Value(all.data(), all.size());
      ASSERT_EQ(ExtendCrc32c(0, all), expected) << begin << " " << size;
      const size_t first = size / 3;
      const uint32_t before = ExtendCrc32c(0, Slice(all.data(), first));
      ASSERT_EQ(ExtendCrc32c(before, Slice(all.data() + first, size - first)),
                expected);
    }
  }
}

TEST(BitsTest, NumbersOfAnyWidth) {
  Random64 rnd(13);
  for (unsigned width = 0; width <= 64; width++) {
    constexpr size_t kNumbers = 200;
    std::vector<uint64_t> numbers(kNumbers);
    for (uint64_t& number : numbers) {
      number = width == 0 ? 0 : rnd.Next() >> (64 - width);
    }
    std::string bytes(PackedArray::Bytes(kNumbers, width) + kReadPadding, '\0');
    // The numbers are written from the end, in two parts, as in a trie.
    constexpr size_t kHalf = kNumbers / 2 + 3;
    for (const auto& [begin, end] : {std::pair{kHalf, kNumbers}, {0, kHalf}}) {
      BitWriter writer(bytes.data(), begin * width);
      for (size_t i = begin; i < end; i++) writer.Write(numbers[i], width);
    }
    const PackedArray array(bytes.data(), width);
    for (size_t i = 0; i < kNumbers; i++) {
      ASSERT_EQ(numbers[i], array.Get(i)) << width << " " << i;
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
