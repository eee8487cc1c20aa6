// SPDX-License-Identifier: Apache-2.0

//  Damaged blocks of Proteus are refused, or keep what every opened block
//  promises: tests/fuzz/block_contracts.h. Nothing outside of them is read.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "test_util/testharness.h"
#include "tests/damage_stride.h"
#include "tests/filter_blocks.h"
#include "tests/fuzz/block_contracts.h"
#include "tests/fuzz/block_layout.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

struct Damaged {
  const char* name;
  ProteusDesign design;
  size_t family;
  double bits_per_key = 80;
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
    {"trie_and_keys", WithKeys(TrieAndSet(12, 0), 0), 0},
    {"keys_alone", WithKeys(TrieAndSet(12, 40), 0.3, /*alone=*/true), 0},
    {"two_blooms", TwoSets(20, 60), 0},
    {"two_ribbons", TwoSets(20, 60, kRibbonAmq), 0},
    {"two_sets_of_bytes", TwoSets(90, 300), 3},
    {"series", TrieAndSet(0, 64, kBloomAmq, 8), 2},
    {"trie_and_series", TrieAndSet(20, 64, kRibbonAmq, 16), 2},
    {"chains", TrieAndSet(9, 30), 4},
    {"zeros", TrieAndSet(33, 48, kBloomAmq, 24), 6},
    {"alphabets", TrieAndSet(0, 30), 2, 240},
    {"trie_and_alphabets", TrieAndSet(10, 24), 2, 240},
    {"two_sets_of_alphabets", TwoSets(8, 22), 2, 200},
};

// Numbers of which no other value is accepted: the rest of the block tells what
// they must be.
const char* const kExactNumbers[] = {"magic",
                                     "version",
                                     "size of the directory",
                                     "number of keys",
                                     "number of parts",
                                     "kind of a part",
                                     "number of a part",
                                     "compression of a part",
                                     "trailer of a part",
                                     "size of the set",
                                     "prefix bits",
                                     "levels",
                                     "height",
                                     "nodes",
                                     "leaves",
                                     "sections",
                                     "value bits",
                                     "section levels",
                                     "section nodes",
                                     "section edges",
                                     "section children",
                                     "terminators",
                                     "runs"};

uint64_t NumberAt(const std::string& block, const BlockPiece& piece) {
  uint64_t number = 0;
  for (size_t i = piece.size; i-- > 0;) {
    number = number << 8 | static_cast<uint8_t>(block[piece.offset + i]);
  }
  return number;
}

std::string WithNumber(std::string block, const BlockPiece& piece,
                       uint64_t number) {
  for (size_t i = 0; i < piece.size; i++) {
    block[piece.offset + i] = static_cast<char>(number >> (8 * i));
  }
  return block;
}

// Numbers that do not fit, and some that nearly do.
std::set<uint64_t> OtherNumbers(uint64_t number, size_t size) {
  std::set<uint64_t> others = {0,          1,          7,          8,
                               63,         64,         65,         number - 1,
                               number + 1, number - 8, number + 8, 2 * number,
                               number / 2, ~number};
  for (const int bit : {15, 20, 30, 31, 32, 40, 63, 64}) {
    const uint64_t power = bit < 64 ? uint64_t{1} << bit : 0;
    others.insert({power, power - 1});
  }
  others.erase(others.upper_bound(~uint64_t{0} >> (64 - 8 * size)),
               others.end());
  others.erase(number);
  return others;
}

class ProteusDamageTest : public testing::TestWithParam<Damaged> {
 protected:
  ProteusDamageTest()
      : keys_(KeyFamilies(24, 71)[GetParam().family].keys),
        block_(BuildProteusBlock(keys_, GetParam().design,
                                 GetParam().bits_per_key)),
        payload_(PayloadOffset(block_)),
        memory_(block_.size() + 8) {
    for (size_t i = 0; i < keys_.size(); i += 9) {
      for (const std::string& query : Around(keys_[i])) {
        queries_.push_back(query);
      }
    }
    queries_.push_back("");
    queries_.push_back(std::string(70, '\xff'));
    SortUnique(&queries_);
  }

  // Asks the block where it ends before an unreadable page, and where it begins
  // after one. What it says is stored as `*status`.
  void Expect(const std::string& bytes, Status* status) {
    BlockExam exam;
    {
      const FilterBlock block(memory_.PlaceAtEnd(bytes));
      *status = block.status();
      exam = Examine(block, queries_, kRangeStep);
    }
    ASSERT_EQ(nullptr, exam.broken) << exam.broken;
    const FilterBlock block(memory_.PlaceAtBegin(bytes));
    const BlockExam again = Examine(block, queries_, kRangeStep);
    ASSERT_EQ(status->ToString(), block.status().ToString());
    ASSERT_EQ(exam.answers, again.answers)
        << "the answers depend on what lies outside of the block";
  }
  // Gives the damaged bytes a right checksum, asks them, and returns what they
  // say.
  Status OfDamaged(const std::string& bytes) {
    Status status;
    Expect(WithRightChecksums(bytes), &status);
    return status;
  }

  static constexpr size_t kRangeStep = 9;

  const Keys keys_;
  const std::string block_;
  const size_t payload_;
  GuardedMemory memory_;
  Keys queries_;
};

INSTANTIATE_TEST_SUITE_P(Designs, ProteusDamageTest, testing::ValuesIn(kCases),
                         [](const auto& test) { return test.param.name; });

TEST_P(ProteusDamageTest, NoDamage) {
  EXPECT_OK(OfDamaged(block_));
  const FilterBlock block(memory_.PlaceAtEnd(block_));
  for (const std::string& key : keys_) EXPECT_TRUE(block.KeyMayMatch(key));
  for (const std::string& query : queries_) {
    EXPECT_TRUE(LowerBoundHolds(block, keys_, query)) << Hex(query);
  }
}

TEST_P(ProteusDamageTest, CutShort) {
  for (size_t size = 0; size < block_.size(); size++) {
    SCOPED_TRACE(size);
    const std::string cut = block_.substr(0, size);
    EXPECT_TRUE(OfDamaged(cut).IsCorruption());
    Status status;
    Expect(cut, &status);
    EXPECT_TRUE(status.IsCorruption());
    if (HasFailure()) return;
  }
}

// Bytes of a filter are neither inserted nor appended without notice.
TEST_P(ProteusDamageTest, TooLong) {
  for (const size_t more : {1, 8, 64}) {
    const std::string zeros(more, '\0');
    EXPECT_TRUE(OfDamaged(block_ + zeros).IsCorruption()) << more;
    std::string damaged = block_;
    damaged.insert(block_.size() - kReadPadding, zeros);
    EXPECT_TRUE(OfDamaged(damaged).IsCorruption()) << more;
  }
}

// The checksum sees every change of a byte.
TEST_P(ProteusDamageTest, FlippedBits) {
  DamageStride stride;
  int opened = 0;
  for (size_t byte = 0; byte < block_.size(); byte++) {
    for (int flip : {1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80, 0xff}) {
      SCOPED_TRACE("byte " + std::to_string(byte) + " flips " +
                   std::to_string(flip));
      std::string damaged = block_;
      damaged[byte] = static_cast<char>(damaged[byte] ^ flip);
      const FilterBlock block(memory_.PlaceAtEnd(damaged));
      ASSERT_TRUE(block.status().IsCorruption() ||
                  (byte == kVersionOffset && block.status().IsNotSupported()))
          << block.status().ToString();
      ASSERT_EQ(nullptr, block.filter());
      ASSERT_TRUE(block.KeyMayMatch("anything"));
      ASSERT_TRUE(block.RangeMayMatch("a", "b", true));

      if (!stride.TryNext()) continue;
      const Status status = OfDamaged(damaged);
      // Only the directory can name what is not known.
      ASSERT_TRUE(!status.IsNotSupported() || byte < payload_);
      if (HasFailure()) return;
      opened += status.ok();
    }
  }
  // The questions are not all answered by the checks of Open.
  EXPECT_GT(opened * stride.stride(), 100);
}

TEST_P(ProteusDamageTest, OtherNumbersUnderARightChecksum) {
  const BlockLayout layout(block_);
  ASSERT_TRUE(layout.whole());
  std::set<std::string> seen;
  DamageStride stride;
  for (const BlockPiece& piece : layout.pieces()) {
    const std::string name = piece.name;
    if (piece.kind != BlockPiece::kNumber || name.find("checksum") == 0) {
      continue;
    }
    seen.insert(name);
    const bool is_exact =
        std::find(std::begin(kExactNumbers), std::end(kExactNumbers), name) !=
        std::end(kExactNumbers);
    const uint64_t number = NumberAt(block_, piece);
    for (const uint64_t other : OtherNumbers(number, piece.size)) {
      if (!stride.TryNext()) continue;
      SCOPED_TRACE(name + " is " + std::to_string(other) + " instead of " +
                   std::to_string(number));
      const Status status = OfDamaged(WithNumber(block_, piece, other));
      EXPECT_FALSE(is_exact && status.ok());
      EXPECT_FALSE(name == "kind" && other > 2 && status.ok());
      if (HasFailure()) return;
    }
  }
  EXPECT_EQ(GetParam().design.num_sets() > 0,
            seen.count("size of the set") > 0);
  EXPECT_EQ(GetParam().design.trie_bits() > 0, seen.count("section edges") > 0);
}

// Every word of the payload, whatever it is a part of.
TEST_P(ProteusDamageTest, ImpossibleNumbersUnderARightChecksum) {
  DamageStride stride;
  for (size_t offset = payload_; offset + 4 < block_.size(); offset += 4) {
    for (uint32_t number : {0u, 1u, 7u, 64u, 65u, 1u << 15, 1u << 20, 1u << 30,
                            0x7fffffffu, 0xffffffffu}) {
      if (!stride.TryNext()) continue;
      SCOPED_TRACE(std::to_string(number) + " at " + std::to_string(offset));
      std::string damaged = block_;
      EncodeFixed32(&damaged[offset], number);
      const Status status = OfDamaged(damaged);
      ASSERT_TRUE(status.ok() || status.IsCorruption()) << status.ToString();
      if (HasFailure()) return;
    }
  }
}

// A set of prefixes has as many alphabets as bytes follow the sets.
TEST_P(ProteusDamageTest, AlphabetsThatDoNotFit) {
  const ProteusDesign& design = GetParam().design;
  const BlockLayout layout(block_);
  size_t alphabets = 0;
  size_t number = 0;
  for (const Layer& layer : design) {
    if (!layer.is_set()) continue;
    const PayloadLayout::Set& set =
        layout.units().at(0).layout.sets().at(number++);
    alphabets += set.alphabets;
    for (unsigned other = 0; other < 256; other++) {
      if (other == set.alphabets) continue;
      std::string damaged = block_;
      damaged[payload_ + set.header + ProteusHeader::kSetAlphabets] =
          static_cast<char>(other);
      EXPECT_TRUE(OfDamaged(damaged).IsCorruption()) << other;
    }
  }
  const std::string name = GetParam().name;
  EXPECT_EQ(name.find("alphabets") != std::string::npos, alphabets > 0);
}

TEST_P(ProteusDamageTest, LengthsThatDoNotFit) {
  const FilterBlock intact(block_);
  const FilterPart& part = intact.directory().parts().at(0);
  const auto status = [&](const std::function<void(ProteusDesign*)>& change) {
    ProteusHeader header;
    EXPECT_TRUE(header.DecodeFrom(part.design));
    change(&header.design);
    FilterBlockWriter writer;
    memcpy(writer.AddPart(part.num_keys, part.begin, header.Encode(),
                          part.first.payload_size),
           &block_[payload_], part.first.payload_size);
    std::string damaged(writer.Size(intact.header()), '\0');
    writer.Write(intact.header(), damaged.data());
    Status s;
    Expect(damaged, &s);
    return s;
  };
  EXPECT_OK(status([](ProteusDesign*) {}));
  using Kind = Layer::Kind;
  const ProteusDesign& design = GetParam().design;
  for (size_t i = 0; i < design.size(); i++) {
    SCOPED_TRACE(i);
    const auto expect_refused = [&](Layer changed) {
      EXPECT_TRUE(status([&](ProteusDesign* to) {
                    (*to)[i] = changed;
                  }).IsCorruption());
    };
    const auto expect_kind_refused = [&](Kind kind, uint32_t stride) {
      Layer other = design[i];
      other.kind = kind;
      other.stride = stride;
      expect_refused(other);
    };
    Layer layer = design[i];
    layer.asked_by_points = !layer.asked_by_points;
    if (layer.kind == Kind::kKeys) {
      if (!layer.asked_by_points) expect_refused(layer);
      continue;
    }
    // Points ask all of these layers or none.
    if (design.keys() == nullptr || design.size() > 2) expect_refused(layer);
    layer = design[i];
    std::vector<uint32_t> bits = {0, ~uint32_t{0}};
    if (i > 0 && design[i - 1].bits > 0) bits.push_back(design[i - 1].bits);
    if (layer.kind == Kind::kTrie) bits.push_back(layer.bits + 1);
    for (const uint32_t other : bits) {
      layer.bits = other;
      expect_refused(layer);
    }
    expect_kind_refused(Kind(5), layer.stride);
    if (layer.kind == Kind::kTrie) {
      expect_kind_refused(Kind::kPrefixes, layer.stride);
    } else {
      expect_kind_refused(Kind::kSeries, 7);
      expect_kind_refused(Kind::kTrie, layer.stride);
    }
  }
  EXPECT_TRUE(status([](ProteusDesign* to) {
                to->Add(Layer::Prefixes(kMaxPrefixBits));
              }).IsCorruption());
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
