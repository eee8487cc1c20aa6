// SPDX-License-Identifier: Apache-2.0

//  Damaged blocks of SuRF are refused and lose no key, or, if the damage gets
//  past the checks, keep what every opened block promises
//  (tests/fuzz/block_contracts.h). Nothing outside of them is read.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "filter_policy/surf/surf.h"
#include "test_util/testharness.h"
#include "tests/damage_stride.h"
#include "tests/filter_policy/small_blocks.h"
#include "tests/fuzz/block_contracts.h"
#include "tests/fuzz/block_layout.h"
#include "tests/guarded_block.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The block is refused, and loses no key for that.
void ExpectDamaged(const Slice& contents, const Keys& keys) {
  const FilterBlock block(contents);
  EXPECT_NOK(block.status());
  ExpectAlwaysTrue(block);
  ExpectNoFalseNegatives(block, keys);
  ExpectReaderFinds(contents, keys);
}

// Asks all there is to ask, about ranges from each query to a few others.
void AskEverything(const FilterBlock& block, const Keys& queries) {
  const BlockExam exam = Examine(block, queries, queries.size() / 3);
  ASSERT_EQ(nullptr, exam.broken) << exam.broken;
}

}  // namespace

// The tests of damage rest on this.
TEST(GuardedBlockTest, ReadsOutsideCrash) {
  const auto byte_at = [](const Slice& bytes, ptrdiff_t offset) {
    return *static_cast<const volatile char*>(bytes.data() + offset);
  };
  for (const size_t size : {0, 1, 7, 100, 4096, 5000}) {
    const std::string bytes(size, 'b');
    GuardedMemory memory(size + 8);
    const Slice at_end = memory.PlaceAtEnd(bytes);
    ASSERT_EQ(bytes, at_end.ToString());
    EXPECT_DEATH(byte_at(at_end, static_cast<ptrdiff_t>(size)), "");
    const Slice at_begin = memory.PlaceAtBegin(bytes);
    ASSERT_EQ(bytes, at_begin.ToString());
    EXPECT_DEATH(byte_at(at_begin, -1), "");
  }
  for (size_t misalignment = 0; misalignment < 8; misalignment++) {
    const GuardedBlock block("a block", misalignment);
    EXPECT_EQ("a block", block.slice().ToString());
    EXPECT_EQ(misalignment,
              reinterpret_cast<uintptr_t>(block.slice().data()) % 8);
  }
}

TEST(SurfDamageTest, EveryTruncation) {
  const Keys keys = SmallSet();
  const std::string bytes = BuildBlock(keys);
  for (size_t length = 0; length < bytes.size(); length++) {
    for (bool fixed : {false, true}) {
      SCOPED_TRACE(length);
      const std::string cut = bytes.substr(0, length);
      const GuardedBlock copy(fixed ? WithRightChecksums(cut) : cut,
                              length % 8);
      ASSERT_NO_FATAL_FAILURE(ExpectDamaged(copy.slice(), keys));
    }
  }
}

// Among the flips are those that turn a block that is asked for prefixes into
// one that takes them for keys: no prefix is lost either.
TEST(SurfDamageTest, EveryBitFlip) {
  const Keys keys = SmallSet();
  const std::unique_ptr<const SliceTransform> first_three(
      NewFixedPrefixTransform(3));
  for (const std::string& bytes :
       {BuildBlock(keys), BuildBlockWithPrefixes(keys, *first_three)}) {
    for (size_t bit = 0; bit < 8 * bytes.size(); bit++) {
      SCOPED_TRACE("byte " + std::to_string(bit / 8) + " bit " +
                   std::to_string(bit % 8));
      const GuardedBlock copy(WithBitFlipped(bytes, bit), bit % 8);
      ASSERT_NO_FATAL_FAILURE(ExpectDamaged(copy.slice(), keys));
      ASSERT_NO_FATAL_FAILURE(ExpectReaderFinds(copy.slice(), {"app", "ban"}));
    }
  }
}

TEST(SurfDamageTest, UnknownVersionsAndKinds) {
  const std::string whole = BuildBlock(SmallSet());
  for (int value = 0; value < 256; value++) {
    for (const size_t offset : {kVersionOffset, kKindOffset}) {
      if (value == 1 || (offset == kKindOffset && value < 2)) continue;
      std::string bytes = whole;
      bytes[offset] = static_cast<char>(value);
      const std::string fixed = WithRightChecksums(bytes);
      const FilterBlock block(fixed);
      EXPECT_FALSE(block.status().ok()) << value;
      EXPECT_TRUE(offset == kKindOffset || block.status().IsNotSupported());
      ExpectAlwaysTrue(block);
    }
  }
}

TEST(SurfDamageTest, RandomBytes) {
  Random rnd(kBlockSeed);
  const std::string good = BuildBlock(SmallSet());
  const Keys queries = QueriesAround(SmallSet(), 12);
  DamageStride stride;
  GuardedMemory memory(4096);
  for (int round = 0; round < 20000; round++) {
    std::string bytes(rnd.Uniform(300), '\0');
    for (char& c : bytes) c = static_cast<char>(rnd.Uniform(256));
    // Half of them get past the header's first checks.
    if (round % 2 == 0) bytes = good.substr(0, kDirectorySizeOffset) + bytes;
    if (round % 4 == 0) bytes = WithRightChecksums(bytes);
    if (!stride.TryNext()) continue;
    const FilterBlock block(memory.PlaceAtEnd(bytes, round % 8));
    AskEverything(block, queries);
    EXPECT_TRUE(round % 4 == 0 || !block.CanFilter());
  }
}

// ---- Damage under a right checksum ----
//
// No checksum stands before the structural checks of SuRF and FST here. The
// answers may be wrong, the reads must stay inside the block.

TEST(SurfDamageTest, EveryBitFlipUnderARightChecksum) {
  const Keys keys = SmallSet();
  const Keys queries = QueriesAround(keys, 30);
  DamageStride stride;
  for (const auto& [hash_bits, real_bits, prefix_bits] :
       {std::tuple{0u, 0u, 0u},
        {4, 4, 0},
        {0, 8, 0},
        {32, 32, 0},
        {0, 4, 12}}) {
    const std::string bytes = BuildBlock(
        keys, NewSurfFilterPolicy({hash_bits, real_bits, prefix_bits}));
    GuardedMemory memory(bytes.size() + 8);
    for (size_t bit = 0; bit < 8 * bytes.size(); bit++) {
      if (!stride.TryNext()) continue;
      const FilterBlock block(memory.PlaceAtEnd(
          WithRightChecksums(WithBitFlipped(bytes, bit)), bit % 8));
      ASSERT_NO_FATAL_FAILURE(AskEverything(block, queries)) << bit;
    }
  }
}

// One to four changes of the kinds that checks are most likely to let pass.
std::string WithRandomDamage(std::string bytes, Random* rnd) {
  const int size = static_cast<int>(bytes.size());
  for (int change = rnd->Uniform(4); change >= 0; change--) {
    const int pos = rnd->Uniform(size);
    const int kind = rnd->Uniform(5);
    if (kind == 0 || kind == 4) {
      bytes = WithBitFlipped(bytes, 8 * pos + rnd->Uniform(8));
    }
    if (kind == 4) {  // one bit moves: population counts still add up
      bytes = WithBitFlipped(bytes, 8 * pos + rnd->Uniform(8));
    }
    if (kind == 1) bytes[pos] = static_cast<char>(rnd->Uniform(256));
    if (kind == 2) bytes[pos] = rnd->OneIn(2) ? '\0' : '\xff';
    // Two bytes change places: counts still add up.
    if (kind == 3) std::swap(bytes[pos], bytes[rnd->Uniform(size)]);
  }
  return bytes;
}

struct Trie {
  std::string name;
  Keys keys;
  std::string block;
};

// ---- Each field of a trie under a right checksum ----

// A number of a trie, or a word of one of its arrays, and what Open knows of
// it.
struct Field {
  enum Check {
    kFree,   // other values may pass
    kOnes,   // the number of ones is checked, and that none is after the end
    kExact,  // no other value passes
  };

  BlockPiece piece;  // of 1, 2, 4 or 8 bytes
  Check check;
  uint64_t used = ~uint64_t{0};  // the bits that are not after the end
};

// The fields of a SuRF's block, one after the other.
class FieldList {
 public:
  explicit FieldList(const std::string& block) {
    const BlockLayout layout{Slice(block)};
    const BlockLayout::Unit& unit = layout.units().at(0);
    EXPECT_TRUE(layout.whole());
    const std::vector<PayloadLayout::Section>& sections =
        unit.layout.trie()->sections;
    for (BlockPiece piece : unit.layout.pieces()) {
      size_t section = 0;
      while (section + 1 < sections.size() &&
             sections[section + 1].arrays <= piece.offset) {
        section++;
      }
      piece.offset += unit.payload;
      if (piece.kind == BlockPiece::kNumber) {
        fields_.push_back(
            {piece, IsFree(piece.name) ? Field::kFree : Field::kExact});
      } else {
        AddArray(piece,
                 section < sections.size() ? &sections[section] : nullptr);
      }
    }
  }

  const std::vector<Field>& all() const { return fields_; }

  // The counts in the headers.
  std::vector<Field> counts() const {
    std::vector<Field> counts;
    std::copy_if(fields_.begin(), fields_.end(), std::back_inserter(counts),
                 [](const Field& field) {
                   return field.piece.kind == BlockPiece::kNumber &&
                          field.piece.size == 4 &&
                          !Slice(field.piece.name).starts_with("zero");
                 });
    return counts;
  }

 private:
  // How many codes the last run has is known from its number of codes alone.
  static bool IsFree(const std::string& number) {
    static const auto* const free = new std::set<std::string>{
        "prefix step",    "zeros",          "longest path", "bytes that occur",
        "codes",          "zero",           "run codes",    "remainder bits",
        "child encoding", "exception bits", "group shift"};
    return free->count(number) > 0;
  }

  void AddWords(const BlockPiece& array, size_t size, uint64_t bytes,
                Field::Check check) {
    for (uint64_t at = 0; at < bytes; at += size) {
      fields_.push_back({{array.name, array.kind, offset_, size}, check});
      offset_ += size;
    }
  }
  // An array of that many bits, and `entries` of a table behind it.
  void AddBits(const BlockPiece& array, uint64_t bits, uint64_t entries = 0) {
    AddWords(array, 8, BitArrayBytes(bits), Field::kOnes);
    if (bits % 64 != 0) fields_.back().used = LowBits(bits % 64);
    AddWords(array, 4, 4 * entries, Field::kExact);
  }
  void AddArray(const BlockPiece& array,
                const PayloadLayout::Section* section) {
    offset_ = array.offset;
    const std::string name = array.name;
    if (name == "index") {
      const bool listed =
          section->fields.child_encoding != FstSectionHeader::kHasChildBits;
      for (uint64_t group = 0; group <= section->layout.groups; group++) {
        AddWords(array, 4, 4, Field::kExact);
        // What is listed for a group may pass for the next one's.
        const bool free = listed && group > 0 && group < section->layout.groups;
        AddWords(array, 4, 4, free ? Field::kFree : Field::kExact);
      }
    } else if (name == "labels") {
      AddBits(array, section->layout.label_bits);
    } else if (name == "terminator marks" || name == "run marks") {
      const uint64_t nodes = section->fields.nodes;
      AddBits(array, nodes,
              (nodes + RankVector::kBlockBits - 1) / RankVector::kBlockBits);
    } else if (name == "run starts") {
      AddBits(array, section->fields.run_codes,
              (section->fields.runs + SelectVector::kSampleRate - 1) /
                  SelectVector::kSampleRate);
    } else {
      AddWords(array, 8, array.size, Field::kFree);
    }
  }

  size_t offset_ = 0;
  std::vector<Field> fields_;
};

// Values that a field could be mistaken for.
std::set<uint64_t> OtherValues(const BlockPiece& piece, uint64_t value) {
  const unsigned bits = 8 * static_cast<unsigned>(piece.size);
  const uint64_t all = ~uint64_t{0} >> (64 - bits);
  // The last two have as many ones.
  std::set<uint64_t> values = {0,
                               1,
                               all,
                               value - 1,
                               value + 1,
                               2 * value,
                               ~value,
                               value << 1 | value >> (bits - 1),
                               value >> 1 | (value & 1) << (bits - 1)};
  for (unsigned bit = 0; bit < bits; bit++) {
    values.insert(value ^ uint64_t{1} << bit);
  }
  std::set<uint64_t> result;
  for (uint64_t other : values) result.insert(other & all);
  result.erase(value);
  return result;
}

// Few edges end in leaves: most keys are terminators on long chains.
Keys Chains() {
  Random rnd(kBlockSeed);
  Keys keys;
  for (std::string key : {"a", "kk", "z"}) {
    for (int link = 0; link < 12; link++) {
      keys.push_back(key);
      key += RandomString(&rnd, "aeiou", 2) + "k";
    }
  }
  SortUnique(&keys);
  return keys;
}

// A run above each pair of keys.
Keys Pairs(int count) {
  Random rnd(kBlockSeed);
  Keys keys;
  for (int i = 0; i < count; i++) {
    const std::string word = RandomString(&rnd, "abcdefg", 5) + "/run/";
    for (const char* end : {"1", "2"}) keys.push_back(word + end);
    if (i % 3 == 0) keys.push_back(word);
  }
  SortUnique(&keys);
  return keys;
}

// Few edges lead to nodes.
Keys Bushes() {
  Keys keys;
  for (const std::string start : {"a", "kk", "z"}) {
    for (int i = 0; i < 96; i += 4)
      keys.push_back(start + static_cast<char>(i));
  }
  SortUnique(&keys);
  return keys;
}

// Small tries in every encoding, with runs, terminators, and edges that lead to
// nodes told in every way; and two with more than one entry in every table.
std::vector<Trie> TriesOfEveryEncoding() {
  Random rnd(kBlockSeed);
  std::vector<Trie> tries;
  auto add = [&](std::string name, const Keys& keys,
                 const std::vector<unsigned>& remainder_bits,
                 bool list_exceptions, bool digits = false) {
    FstOptions options;
    if (digits) options.digits = FstOptions::kIfPossible;
    options.forced = remainder_bits;
    options.list_exceptions = list_exceptions;
    SurfSuffix suffix;
    suffix.hash_bits = rnd.Uniform(4);
    (digits ? suffix.prefix_bits : suffix.real_bits) = rnd.Uniform(9);
    for (unsigned bits : remainder_bits) name += " " + std::to_string(bits);
    tries.push_back({name, keys, BuildSurfBlock(keys, suffix, options)});
  };
  const std::vector<unsigned> encodings[] = {{0}, {2},       {8},
                                             {1}, {0, 3, 8}, {8, 2, 0}};
  for (const auto& remainder_bits : encodings) {
    add("chains", Chains(), remainder_bits, true);
    add("pairs", Pairs(30), remainder_bits, false);
    add("bushes", Bushes(), remainder_bits, true);
  }
  add("many pairs", Pairs(800), {2}, true);
  add("many pairs", Pairs(800), {8}, true);
  add("coded chains", Chains(), {}, true, /*digits=*/true);
  add("coded pairs", Pairs(30), {}, false, /*digits=*/true);
  add("coded bushes", Bushes(), {0, 1, 2}, true, /*digits=*/true);
  add("many coded pairs", Pairs(400), {}, true, /*digits=*/true);
  return tries;
}

bool MustBeRefused(const Field& field, uint64_t value, uint64_t other) {
  return field.check == Field::kExact ||
         (field.check == Field::kOnes &&
          (PopCount(value) != PopCount(other) || (other & ~field.used) != 0));
}

TEST(SurfDamageTest, EveryFieldUnderARightChecksum) {
  DamageStride stride;
  int opened = 0;
  for (const Trie& trie : TriesOfEveryEncoding()) {
    SCOPED_TRACE(trie.name);
    const Keys queries = QueriesAround(trie.keys, 12);
    const FieldList fields(trie.block);
    GuardedMemory memory(trie.block.size() + 8);
    for (const Field& field : fields.all()) {
      const uint64_t value = NumberAt(trie.block, field.piece);
      for (uint64_t other : OtherValues(field.piece, value)) {
        if (!stride.TryNext()) continue;
        SCOPED_TRACE(std::string(field.piece.name) + " at " +
                     std::to_string(field.piece.offset) + ": " +
                     std::to_string(value) + " -> " + std::to_string(other));
        const FilterBlock block(memory.PlaceAtEnd(
            WithRightChecksums(WithNumber(trie.block, field.piece, other)),
            other % 8));
        opened += block.CanFilter();
        if (MustBeRefused(field, value, other)) {
          ASSERT_TRUE(block.status().IsCorruption());
        }
        ASSERT_TRUE(block.status().ok() || block.status().IsCorruption());
        if (!block.CanFilter()) continue;
        ASSERT_NO_FATAL_FAILURE(AskEverything(block, queries));
      }
    }
  }
  // Not all fields can be checked.
  EXPECT_GT(opened * stride.stride(), 1000);
}

// Counts that are wrong together: what one check adds up, another one must
// still find.
TEST(SurfDamageTest, CountsInPairsAndTriplesUnderARightChecksum) {
  DamageStride stride;
  for (const Trie& trie : TriesOfEveryEncoding()) {
    SCOPED_TRACE(trie.name);
    const Keys queries = QueriesAround(trie.keys, 12);
    const std::vector<Field> counts = FieldList(trie.block).counts();
    GuardedMemory memory(trie.block.size() + 8);
    auto moved = [](const std::string& block, const Field& field, bool up) {
      return WithNumber(block, field.piece,
                        NumberAt(block, field.piece) + (up ? 1 : -1));
    };
    for (size_t i = 0; i < counts.size(); i++) {
      for (size_t j = i + 1; j < counts.size(); j++) {
        for (size_t k = j; k < counts.size(); k++) {
          for (int up = 0; up < 8; up++) {
            if (!stride.TryNext()) continue;
            std::string damaged = moved(trie.block, counts[i], up & 1);
            damaged = moved(damaged, counts[j], up & 2);
            if (k > j) damaged = moved(damaged, counts[k], up & 4);
            const FilterBlock block(
                memory.PlaceAtEnd(WithRightChecksums(damaged), up));
            if (!block.CanFilter()) continue;
            ASSERT_NO_FATAL_FAILURE(AskEverything(block, queries));
          }
        }
      }
    }
  }
}

// Tries of all families of keys with suffixes of all kinds, and in every
// encoding. The queries must not all end at the checks of Open.
TEST(SurfDamageTest, RandomDamageUnderARightChecksum) {
  Random rnd(kBlockSeed);
  std::vector<Trie> tries;
  std::vector<KeyFamily> families = KeyFamilies(60, kBlockSeed);
  families.push_back({"dense levels", SetWithDenseLevels()});
  for (const KeyFamily& family : families) {
    tries.push_back(
        {family.name, family.keys,
         BuildBlock(family.keys,
                    NewSurfFilterPolicy(
                        {static_cast<uint32_t>(rnd.Uniform(5)),
                         static_cast<uint32_t>(4 * rnd.Uniform(5)),
                         static_cast<uint32_t>(8 * rnd.Uniform(3))}))});
  }
  const size_t num_families = tries.size();
  for (Trie& trie : TriesOfEveryEncoding()) tries.push_back(std::move(trie));
  DamageStride stride;
  int opened[2] = {};
  for (size_t i = 0; i < tries.size(); i++) {
    const bool of_family = i < num_families;
    SCOPED_TRACE(tries[i].name);
    const Keys queries = QueriesAround(tries[i].keys, 16);
    GuardedMemory memory(tries[i].block.size() + 8);
    for (int round = 0; round < (of_family ? 1500 : 1000); round++) {
      const std::string damaged = WithRandomDamage(tries[i].block, &rnd);
      if (!stride.TryNext()) continue;
      const FilterBlock block(
          memory.PlaceAtEnd(WithRightChecksums(damaged), round % 8));
      ASSERT_NO_FATAL_FAILURE(AskEverything(block, queries)) << round;
      opened[of_family] += block.CanFilter();
    }
  }
  for (const int count : opened) EXPECT_GT(count * stride.stride(), 1000);
}

}  // namespace ROCKSDB_NAMESPACE::protean
