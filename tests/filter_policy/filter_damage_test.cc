// SPDX-License-Identifier: Apache-2.0

//  Damaged blocks are refused and lose no key, or, if the damage gets past the
//  checks, keep what every opened block promises
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

// The block is refused, and loses no key or prefix for that.
void ExpectDamaged(const Slice& contents, const Keys& entries) {
  const FilterBlock block(contents);
  EXPECT_NOK(block.status());
  ExpectAlwaysTrue(block);
  ExpectNoFalseNegatives(block, entries);
  ExpectReaderFinds(contents, entries);
}

struct Damaged {
  const char* name;
  ProteusDesign design;
  size_t family;
  double bits_per_key = 80;
  // A SuRF of a few keys instead, and of prefixes.
  bool is_surf = false;
  uint32_t suffix[3] = {};  // hash bits, real bits, prefix bits
  bool has_prefixes = false;
};

Damaged SurfWith(const char* name, uint32_t hash_bits, uint32_t real_bits,
                 uint32_t prefix_bits = 0, bool has_prefixes = false) {
  return {name,        {}, 0, 0, true, {hash_bits, real_bits, prefix_bits},
          has_prefixes};
}

void PrintTo(const Damaged& damaged, std::ostream* out) {
  *out << damaged.name;
}

const Damaged kProteusCases[] = {
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

const Damaged kSurfCases[] = {SurfWith("bare", 0, 0),
                              SurfWith("both_suffixes", 4, 4),
                              SurfWith("real_suffix", 0, 8),
                              SurfWith("64_suffix_bits", 32, 32),
                              SurfWith("prefix_bits", 0, 4, 12),
                              SurfWith("usual", 4, 8),
                              SurfWith("prefixes", 4, 8, 0, true)};

std::string BlockOf(const Damaged& damaged, const Keys& keys) {
  if (!damaged.is_surf) {
    return BuildProteusBlock(keys, damaged.design, damaged.bits_per_key);
  }
  if (damaged.has_prefixes) {
    const std::unique_ptr<const SliceTransform> first_three(
        NewFixedPrefixTransform(3));
    return BuildBlockWithPrefixes(keys, *first_three);
  }
  const auto& [hash_bits, real_bits, prefix_bits] = damaged.suffix;
  return BuildBlock(keys,
                    NewSurfFilterPolicy({hash_bits, real_bits, prefix_bits}));
}

// Numbers of which no other value is accepted: the rest of the block tells what
// they must be.
const char kExactNumbers[] =
    "|magic|version|size of the directory|number of keys|number of parts|"
    "kind of a part|number of a part|compression of a part|trailer of a part|"
    "size of the set|prefix bits|levels|height|nodes|leaves|sections|"
    "value bits|section levels|section nodes|section edges|section children|"
    "terminators|runs|";

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

class DamageTest : public testing::TestWithParam<Damaged> {
 protected:
  DamageTest()
      : keys_(GetParam().is_surf ? SmallSet()
                                 : KeyFamilies(24, 71)[GetParam().family].keys),
        block_(BlockOf(GetParam(), keys_)),
        payload_(PayloadOffset(block_)),
        memory_(block_.size() + 8),
        queries_(AroundEach(keys_, GetParam().is_surf ? 3 : 9)) {
    queries_.push_back(std::string(70, '\xff'));
    queries_.push_back("");
    SortUnique(&queries_);
    for (size_t i = 0; i < keys_.size(); i += GetParam().is_surf ? 1 : 9) {
      entries_.push_back(keys_[i]);
    }
    if (!GetParam().has_prefixes) return;
    entries_.insert(entries_.end(), {"app", "ban"});
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
  Keys entries_;  // some keys, and prefixes
};
class ProteusDamageTest : public DamageTest {};

std::string NameOf(const testing::TestParamInfo<Damaged>& test) {
  return test.param.name;
}
INSTANTIATE_TEST_SUITE_P(Proteus, DamageTest, testing::ValuesIn(kProteusCases),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Surf, DamageTest, testing::ValuesIn(kSurfCases),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Designs, ProteusDamageTest,
                         testing::ValuesIn(kProteusCases), NameOf);

TEST_P(DamageTest, NoDamage) {
  EXPECT_OK(OfDamaged(block_));
  const FilterBlock block(memory_.PlaceAtEnd(block_));
  for (const std::string& key : keys_) EXPECT_TRUE(block.KeyMayMatch(key));
  for (const std::string& query : queries_) {
    EXPECT_TRUE(LowerBoundHolds(block, keys_, query)) << Hex(query);
  }
}

TEST_P(DamageTest, CutShort) {
  for (size_t size = 0; size < block_.size(); size++) {
    SCOPED_TRACE(size);
    const std::string cut = block_.substr(0, size);
    for (const std::string& damaged : {cut, WithRightChecksums(cut)}) {
      Status status;
      Expect(damaged, &status);
      EXPECT_TRUE(status.IsCorruption());
      ExpectDamaged(memory_.PlaceAtEnd(damaged, size % 8), entries_);
    }
    if (HasFailure()) return;
  }
}

// Bytes of a filter are neither inserted nor appended without notice.
TEST_P(DamageTest, TooLong) {
  for (const size_t more : {1, 8, 64}) {
    const std::string zeros(more, '\0');
    EXPECT_TRUE(OfDamaged(block_ + zeros).IsCorruption()) << more;
    std::string damaged = block_;
    damaged.insert(block_.size() - kReadPadding, zeros);
    EXPECT_TRUE(OfDamaged(damaged).IsCorruption()) << more;
  }
}

// The checksum sees every change of a byte, also one that turns a block that is
// asked for prefixes into one that takes them for keys.
TEST_P(DamageTest, FlippedBits) {
  DamageStride stride;
  int opened = 0;
  for (size_t byte = 0; byte < block_.size(); byte++) {
    for (int flip : {1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80, 0xff}) {
      SCOPED_TRACE("byte " + std::to_string(byte) + " flips " +
                   std::to_string(flip));
      std::string damaged = block_;
      damaged[byte] = static_cast<char>(damaged[byte] ^ flip);
      const Slice contents = memory_.PlaceAtEnd(damaged, byte % 8);
      const Status s = FilterBlock(contents).status();
      ASSERT_TRUE(s.IsCorruption() ||
                  (byte == kVersionOffset && s.IsNotSupported()))
          << s.ToString();
      ExpectDamaged(contents, entries_);

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

TEST_P(DamageTest, OtherNumbersUnderARightChecksum) {
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
        std::string(kExactNumbers).find("|" + name + "|") != std::string::npos;
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
  EXPECT_EQ(GetParam().is_surf || GetParam().design.trie_bits() > 0,
            seen.count("section edges") > 0);
}

// Every word of the payload, whatever it is a part of.
TEST_P(DamageTest, ImpossibleNumbersUnderARightChecksum) {
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

// ---- Tries under a right checksum ----
//
// No checksum stands before the structural checks of SuRF and FST here. The
// answers may be wrong, the reads must stay inside the block.

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
