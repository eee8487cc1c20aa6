// SPDX-License-Identifier: Apache-2.0

//  Most mutated blocks still open, mutations depend on the seed alone, and
//  targets keep their promises for mutants.

#include <map>

#include "tests/filter_blocks.h"
#include "tests/fuzz/fuzz_input.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A substitute for the engine, which knows only the words of a dictionary.
struct Engine {
  Dice random{99};
  std::vector<std::string> words;
} engine;

size_t ChangeAnything(uint8_t* data, size_t size, size_t max_size) {
  auto& [random, words] = engine;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  for (uint64_t left = 1 + random.Below(3); left > 0 && !bytes.empty();
       left--) {
    const size_t at = random.Below(bytes.size());
    switch (random.Below(5)) {
      case 0:
        bytes[at] = random.Byte();
        break;
      case 1:
        bytes[at] ^= static_cast<char>(1u << random.Below(8));
        break;
      case 2: {
        const std::string copy = bytes.substr(random.Below(bytes.size()));
        const size_t copied = random.Below(copy.size() / 2);
        bytes.replace(at, copied, copy, 0, copied);
        break;
      }
      case 3:
        bytes.erase(at, 1);
        break;
      default:
        bytes.insert(at, words.empty() ? std::string(1, random.Byte())
                                       : random.In(words));
    }
  }
  bytes.resize(std::min(bytes.size(), max_size));
  memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

bool Opens(const std::string& block) {
  static GuardedMemory memory(1 << 14);
  return FilterBlock(memory.PlaceAtEnd(block)).status().ok();
}

}  // namespace

class BlockMutatorTest : public testing::TestWithParam<const FuzzTarget*> {};

INSTANTIATE_TEST_SUITE_P(All, BlockMutatorTest,
                         testing::Values(&kSurfTarget, &kProteusTarget,
                                         &kEnvelopeTarget),
                         [](const auto& test) { return test.param->name; });

// Most blocks still open after mutations. Compared with those by the engine.
TEST_P(BlockMutatorTest, MostMutantsOpen) {
  const bool envelope = GetParam() == &kEnvelopeTarget;
  const std::vector<std::string> seeds = GetParam()->seeds();
  constexpr int kSteps = 6;
  constexpr int kRounds = 10;
  int mutants = 0;
  std::map<std::string, int> opened;
  for (int round = 0; round < kRounds; round++) {
    for (size_t i = 0; i < seeds.size(); i++) {
      std::string aware = seeds[i];
      std::string blind = seeds[i];
      std::string checked = seeds[i];
      for (uint64_t step = 0; step < kSteps; step++) {
        mutants++;
        Dice random((round * 1000 + i) * kSteps + step);
        const std::string next = GetParam()->Mutate(aware, /*max_size=*/4096,
                                                    &random, ChangeAnything);
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
  std::vector<std::string> inputs = GetParam()->seeds();
  inputs.emplace_back();
  for (int i = 0; i < 200; i++) {
    std::string bytes(random.Below(300), '\0');
    for (char& byte : bytes) byte = random.Byte();
    inputs.push_back(bytes);
  }
  if (GetParam()->words != nullptr) engine.words = GetParam()->words();
  for (size_t i = 0; i < inputs.size(); i++) {
    std::string input = inputs[i];
    for (uint64_t step = 0; step < 30; step++) {
      const size_t max_size = std::max<size_t>(input.size() + 2, 64);
      Dice lots(step + 100 * i);
      input = GetParam()->Mutate(input, max_size, &lots, ChangeAnything);
      ASSERT_LE(input.size(), max_size);
      GetParam()->run(GuardedBlock(input).slice());
    }
  }
  engine.words.clear();
}

TEST_P(MutatorTest, IsTheSameForTheSameSeed) {
  for (const std::string& seed : GetParam()->seeds()) {
    std::string mutants[2];
    for (std::string& mutant : mutants) {
      engine.random = Dice(1);
      Dice random(17);
      mutant =
          GetParam()->Mutate(seed, /*max_size=*/4096, &random, ChangeAnything);
    }
    EXPECT_EQ(mutants[0], mutants[1]);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
