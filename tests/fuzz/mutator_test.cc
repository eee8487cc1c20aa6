// SPDX-License-Identifier: Apache-2.0

//  Tests that the mutators locate all parts of a block, that most mutated
//  blocks still open, and that mutations depend on the seed only.

#include <gtest/gtest.h>

#include <map>

#include "tests/filter_blocks.h"
#include "tests/fuzz/block_contracts.h"
#include "tests/fuzz/block_layout.h"
#include "tests/fuzz/block_mutator.h"
#include "tests/fuzz/block_repair.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/string_input.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A substitute for the engine: it knows nothing of the bytes that it changes.
Dice& EngineRandom() {
  static Dice random(99);
  return random;
}

size_t ChangeAnything(uint8_t* data, size_t size, size_t max_size) {
  Dice& random = EngineRandom();
  if (size == 0) return 0;
  for (uint64_t left = 1 + random.Below(3); left > 0; left--) {
    const size_t at = random.Below(size);
    switch (random.Below(4)) {
      case 0:
        data[at] = static_cast<uint8_t>(random.Next());
        break;
      case 1:
        data[at] ^= static_cast<uint8_t>(1u << random.Below(8));
        break;
      case 2: {
        const size_t from = random.Below(size);
        memmove(data + at, data + from,
                random.Below(size - std::max(at, from)) / 2);
        break;
      }
      default:
        if (size < max_size && random.OneIn(2)) {
          memmove(data + at + 1, data + at, size - at);
          size++;
        } else if (size > 1) {
          memmove(data + at, data + at + 1, size - at - 1);
          size--;
        }
        if (at >= size) continue;
    }
  }
  return size;
}

bool Opens(const std::string& block) {
  static GuardedMemory memory(1 << 14);
  return FilterBlock(memory.PlaceAtEnd(block)).status().ok();
}

const std::vector<std::string>& SeedsOf(const FuzzTarget& target) {
  static auto* const seeds =
      new std::map<std::string, std::vector<std::string>>;
  std::vector<std::string>& of_target = (*seeds)[target.name];
  if (of_target.empty()) of_target = target.seeds();
  return of_target;
}

std::vector<BlockInput> BlockSeeds(const FuzzTarget& target) {
  std::vector<BlockInput> inputs;
  for (const std::string& seed : SeedsOf(target)) {
    inputs.push_back(BlockInput::Parse(seed));
  }
  return inputs;
}

constexpr size_t kMaxSize = 4096;

std::string MutateOnce(const FuzzTarget& target, const std::string& input,
                       uint64_t seed) {
  Dice random(seed);
  return target.mutate(input, kMaxSize, &random, ChangeAnything);
}

}  // namespace

class BlockMutatorTest : public testing::TestWithParam<const FuzzTarget*> {};

INSTANTIATE_TEST_SUITE_P(All, BlockMutatorTest,
                         testing::Values(&kSurfTarget, &kProteusTarget,
                                         &kEnvelopeTarget),
                         [](const auto& test) { return test.param->name; });

TEST_P(BlockMutatorTest, LayoutCoversEveryByteOnce) {
  size_t parts = 0;
  for (const BlockInput& input : BlockSeeds(*GetParam())) {
    ASSERT_TRUE(Opens(input.block)) << Hex(input.block);
    const BlockLayout layout{Slice(input.block)};
    EXPECT_TRUE(layout.whole());
    parts = std::max(parts, layout.units().size());
    size_t at = 0;
    for (const BlockPiece& piece : layout.pieces()) {
      EXPECT_EQ(piece.offset, at) << piece.name;
      at += piece.size;
    }
    EXPECT_EQ(at, input.block.size());
    EXPECT_EQ(input.block, SplitBlock(input.block).Join());
  }
  EXPECT_GT(parts, 1u);
}

TEST(BlockLayoutTest, KnowsAlphabets) {
  size_t parts = 0;
  size_t most = 0;
  for (const BlockInput& input : BlockSeeds(kProteusTarget)) {
    const BlockLayout layout{Slice(input.block)};
    for (const BlockLayout::Unit& unit : layout.units()) {
      size_t alphabets = 0;
      for (const PayloadLayout::Set& set : unit.layout.sets()) {
        alphabets += set.alphabets;
      }
      parts += alphabets > 0;
      most = std::max(most, alphabets);
    }
  }
  EXPECT_GE(parts, 8u);
  EXPECT_EQ(3u + kMaxAlphabets, most);
}

// Redundant data is computed again, with the same result.
TEST_P(BlockMutatorTest, RepairRestoresWhatIsRedundant) {
  Dice random(1);
  for (const BlockInput& input : BlockSeeds(*GetParam())) {
    const BlockLayout layout{Slice(input.block)};
    std::string block = input.block;
    const auto clear = [&block](size_t offset, size_t size) {
      for (size_t i = offset; i < offset + size; i++) block[i] = '\x77';
    };
    clear(0, 4);
    clear(kChecksumOffset, 4);
    if (!layout.units().empty()) clear(kNumKeysOffset, 8);
    for (const BlockPiece& piece : layout.pieces()) {
      const std::string name = piece.name;
      if (name == "checksum of a part" || name == "number of a part" ||
          name == "number of a unit") {
        clear(piece.offset, piece.size);
      }
    }
    for (const BlockLayout::Unit& unit : layout.units()) {
      // A trie of one leaf has no nodes to count.
      const auto& trie = unit.layout.trie();
      if (!trie.has_value() || trie->sections.empty()) continue;
      const auto clear_in_part = [&](size_t offset, size_t size) {
        clear(unit.payload + offset, size);
      };
      clear_in_part(trie->header, 8);  // height and nodes
      for (const PayloadLayout::Section& section : trie->sections) {
        clear_in_part(section.header, 4);  // levels
        const bool listed =
            section.fields.child_encoding != FstSectionHeader::kHasChildBits;
        // With lists, only the index knows the length of a group's list.
        if (!listed) clear_in_part(section.arrays, section.layout.labels);
      }
    }
    EXPECT_TRUE(RepairBlock(SplitBlock(block), &random, &block));
    EXPECT_EQ(Hex(block), Hex(input.block));
    // A block of no filter counts keys that it does not hold.
    if (layout.units().empty()) continue;
    SplitBlock sums(input.block);
    sums.directory[kNumKeysOffset] ^= 1;
    RepairSums(&sums);
    EXPECT_EQ(Hex(sums.Join()), Hex(input.block));
  }
}

// A part that is damaged is refused, and the others are not.
TEST(BlockLayoutTest, DamageOfAPartLeavesTheOthers) {
  const auto key_of = [](size_t i) {
    return std::string(1, static_cast<char>('a' + i)) + "key";
  };
  const Keys keys = MakeKeys(13, [&](size_t i) { return key_of(2 * i); });
  const Keys absent = MakeKeys(13, [&](size_t i) { return key_of(2 * i + 1); });
  const std::string blocks[] = {
      BuildPartedSurf(keys, 6, SurfSuffix(), FstOptions()),
      BuildPartedProteus(keys, 6, TrieAndSet(0, 32), 400)};
  for (const std::string& block : blocks) {
    SplitBlock split(block);
    ASSERT_GT(split.units.size(), 1u);
    split.units[1].payload.front() ^= 1;
    const std::string damaged = split.Join();
    const FilterBlock filter(damaged);
    EXPECT_TRUE(filter.status().IsCorruption());
    EXPECT_TRUE(filter.CanFilter());
    for (const std::string& key : keys) EXPECT_TRUE(filter.KeyMayMatch(key));
    const auto passed = std::count_if(
        absent.begin(), absent.end(),
        [&](const std::string& key) { return filter.KeyMayMatch(key); });
    EXPECT_GT(passed, 0);
    EXPECT_LT(passed, 10);
    const BlockExam exam = ExamineParts(filter, damaged, keys);
    EXPECT_EQ(nullptr, exam.broken) << exam.broken;
  }
}

// The purpose of the mutators: most blocks still open after one or more
// mutations. Compared with mutations by the engine.
TEST_P(BlockMutatorTest, MostMutantsOpen) {
  const bool envelope = GetParam() == &kEnvelopeTarget;
  const std::vector<std::string>& seeds = SeedsOf(*GetParam());
  constexpr int kSteps = 6;
  constexpr int kRounds = 20;
  int mutants = 0;
  std::map<std::string, int> opened;
  for (int round = 0; round < kRounds; round++) {
    for (size_t i = 0; i < seeds.size(); i++) {
      std::string aware = seeds[i];
      std::string blind = seeds[i];
      std::string checked = seeds[i];
      for (uint64_t step = 0; step < kSteps; step++) {
        mutants++;
        const std::string next =
            MutateOnce(*GetParam(), aware, (round * 1000 + i) * kSteps + step);
        // An engine goes on from inputs that have opened.
        if (Opens(BlockInput::Parse(next).block)) {
          opened["aware"]++;
          aware = next;
        }

        for (std::string* bytes : {&blind, &checked}) {
          BlockInput input = BlockInput::Parse(*bytes);
          input.block = MutateGenerically(input.block, input.block.size() + 8,
                                          ChangeAnything);
          if (bytes == &checked) RepairChecksums(&input.block);
          const bool opens = Opens(input.block);
          opened[bytes == &blind ? "blind" : "with a checksum"] += opens;
          if (opens) *bytes = input.Join();
        }
      }
    }
  }
  for (const auto& [how, count] : opened) {
    printf("%s: %.1f %% of %d mutants open\n", how.c_str(),
           100.0 * count / mutants, mutants);
  }
  EXPECT_GT(opened["aware"], (envelope ? 0.25 : 0.6) * mutants);
  EXPECT_LT(opened["blind"], 0.1 * mutants);
  if (!envelope) {
    EXPECT_GT(opened["aware"], opened["with a checksum"]);
  }
}

class MutatorTest : public testing::TestWithParam<const FuzzTarget*> {};

INSTANTIATE_TEST_SUITE_P(All, MutatorTest, testing::ValuesIn(FuzzTargets()),
                         [](const auto& test) { return test.param->name; });

// Inputs are arbitrary bytes, or empty.
TEST_P(MutatorTest, TakesAnythingAndStaysWithinItsSize) {
  Dice random(5);
  std::vector<std::string> inputs = SeedsOf(*GetParam());
  inputs.emplace_back();
  for (int i = 0; i < 200; i++) {
    std::string bytes(random.Below(300), '\0');
    for (char& byte : bytes) byte = random.Byte();
    inputs.push_back(bytes);
  }
  for (size_t i = 0; i < inputs.size(); i++) {
    std::string input = inputs[i];
    for (uint64_t step = 0; step < 30; step++) {
      const size_t max_size = std::max<size_t>(input.size() + 2, 64);
      Dice lots(step + 100 * i);
      input = GetParam()->mutate(input, max_size, &lots, ChangeAnything);
      ASSERT_LE(input.size(), max_size);
      const std::string& other = inputs[lots.Below(inputs.size())];
      const std::string crossed =
          GetParam()->cross(input, other, max_size, &lots);
      ASSERT_LE(crossed.size(), max_size);
      GetParam()->run(crossed);
    }
  }
}

TEST_P(MutatorTest, IsTheSameForTheSameSeed) {
  for (const std::string& seed : SeedsOf(*GetParam())) {
    EngineRandom() = Dice(1);
    const std::string once = MutateOnce(*GetParam(), seed, 17);
    EngineRandom() = Dice(1);
    EXPECT_EQ(MutateOnce(*GetParam(), seed, 17), once);
  }
}

TEST(ListInputTest, JoinsWhatItParses) {
  const Strings strings = {"", "a", std::string(FuzzInput::kMaxLength, 'b'),
                           std::string(55 * FuzzInput::kRepeatUnit, 'c')};
  EXPECT_EQ(strings, ParseStrings(FuzzInput(StoreStrings(strings))));
  for (const FuzzTarget* target : {&kSurfBuildTarget, &kProteusBuildTarget}) {
    for (const std::string& seed : SeedsOf(*target)) {
      EXPECT_EQ(ListInput::Parse(seed).Join(seed.size()), seed);
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
