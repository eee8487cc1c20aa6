//  Blocks of Proteus that are damaged under a right checksum: they are refused,
//  or answer anything, soon, and nothing outside of them is read.

#include <gtest/gtest.h>

#include "filter_policy/proteus/proteus.h"
#include "test_util/testharness.h"
#include "tests/filter_blocks.h"
#include "tests/fuzz/fuzz_targets.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Keys = std::vector<std::string>;

struct Damaged {
  const char* name;
  ProteusDesign design;
  size_t family;
};

void PrintTo(const Damaged& damaged, std::ostream* out) {
  *out << damaged.name;
}

const Damaged kCases[] = {
    {"no_layer", ProteusDesign(), 0},
    {"trie", TrieAndSet(19, 0), 0},
    {"deep_trie", TrieAndSet(200, 0), 3},
    {"bloom", TrieAndSet(0, 40), 0},
    {"ribbon", TrieAndSet(0, 40, kRibbonAmq), 0},
    {"trie_and_bloom", TrieAndSet(12, 50), 0},
    {"trie_and_ribbon", TrieAndSet(12, 50, kRibbonAmq), 0},
    {"trie_and_bloom_of_bytes", TrieAndSet(70, 200), 3},
    {"two_blooms", TwoSets(20, 60), 0},
    {"two_ribbons", TwoSets(20, 60, kRibbonAmq), 0},
    {"two_sets_of_bytes", TwoSets(90, 300), 3},
    {"series", TrieAndSet(0, 64, kBloomAmq, 8), 2},
    {"trie_and_series", TrieAndSet(20, 64, kRibbonAmq, 16), 2},
    {"chains", TrieAndSet(9, 30), 4},
    {"zeros", TrieAndSet(33, 48, kBloomAmq, 24), 6},
};

class ProteusDamageTest : public testing::TestWithParam<Damaged> {
 protected:
  ProteusDamageTest()
      : keys_(KeyFamilies(24, 71)[GetParam().family].keys),
        block_(BuildProteusBlock(keys_, GetParam().design, 80)),
        payload_(DecodeFixed32(&block_[kPayloadOffset])) {
    for (size_t i = 0; i < keys_.size(); i += 9) {
      for (const std::string& query : Around(keys_[i])) {
        queries_.push_back(query);
      }
    }
    queries_.push_back("");
    queries_.push_back(std::string(70, '\xff'));
  }

  void AskEverything(const std::string& damaged) const {
    const ExactCopy copy(WithRightChecksum(damaged), 1);
    const FilterBlock block(copy.slice());
    for (const std::string& lo : queries_) {
      block.KeyMayMatch(lo);
      for (size_t i = 0; i < queries_.size(); i += 5) {
        block.RangeMayMatch(lo, queries_[i], i % 2 == 0);
      }
    }
    if (block.filter() != nullptr) block.filter()->Report();
  }

  const Keys keys_;
  const std::string block_;
  const size_t payload_;
  Keys queries_;
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(Designs, ProteusDamageTest, testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.name; });

TEST_P(ProteusDamageTest, CutShort) {
  for (size_t size = 0; size < block_.size(); size++) {
    const ExactCopy copy(WithRightChecksum(block_.substr(0, size)));
    const FilterBlock block(copy.slice());
    EXPECT_TRUE(block.status().IsCorruption()) << size;
    EXPECT_FALSE(block.CanFilter());
    EXPECT_TRUE(block.KeyMayMatch("anything"));
    EXPECT_TRUE(block.RangeMayMatch("a", "b", true));
  }
}

TEST_P(ProteusDamageTest, FlippedBits) {
  for (size_t byte = payload_; byte < block_.size(); byte++) {
    for (int flip : {1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80, 0xff}) {
      std::string damaged = block_;
      damaged[byte] = static_cast<char>(damaged[byte] ^ flip);
      AskEverything(damaged);
    }
  }
}

TEST_P(ProteusDamageTest, ImpossibleNumbers) {
  for (size_t offset = payload_; offset + 4 < block_.size(); offset += 4) {
    for (uint32_t number : {0u, 1u, 7u, 64u, 65u, 1u << 15, 1u << 20, 1u << 30,
                            0x7fffffffu, 0xffffffffu}) {
      std::string damaged = block_;
      EncodeFixed32(&damaged[offset], number);
      AskEverything(damaged);
    }
  }
}

TEST_P(ProteusDamageTest, LengthsThatDoNotFit) {
  const auto status = [&](size_t offset, uint32_t number) {
    std::string damaged = block_;
    EncodeFixed32(&damaged[payload_ + offset], number);
    const ExactCopy copy(WithRightChecksum(damaged));
    return FilterBlock(copy.slice()).status();
  };
  const ProteusDesign& design = GetParam().design;
  if (design.prefix_bits > 0) {
    EXPECT_TRUE(status(8, 0).IsCorruption() || design.stride_bits == 0);
    if (design.first_bits() > 0) {
      EXPECT_TRUE(status(8, design.first_bits()).IsCorruption());
    }
    EXPECT_TRUE(status(12, 7).IsCorruption());
    EXPECT_TRUE(status(8, ~uint32_t{0}).IsCorruption());
  }
  if (design.trie_bits > 0) {
    EXPECT_TRUE(status(0, 0).IsCorruption());
    EXPECT_TRUE(status(0, design.trie_bits + 1).IsCorruption());
    EXPECT_TRUE(status(4, 3).IsCorruption());
  } else {
    EXPECT_TRUE(status(0, 5).IsCorruption());
  }
}

TEST_P(ProteusDamageTest, KeepsWhatFuzzersCheck) {
  kProteusTarget.run(reinterpret_cast<const uint8_t*>(block_.data()),
                     block_.size());
}

}  // namespace ROCKSDB_NAMESPACE::protean
