// SPDX-License-Identifier: Apache-2.0

//  Damaged blocks are refused and lose no key, or keep what every opened block
//  promises (tests/fuzz/block_contracts.cc). Nothing outside of them is read.

#include "tests/filter_policy/golden_recipes.h"
#include "tests/filter_policy/small_blocks.h"
#include "tests/fuzz/block_layout.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

void ExpectDamaged(const Slice& contents, const Keys& entries) {
  const FilterBlock block(contents);
  EXPECT_NOK(block.status());
  ExpectAlwaysTrue(block);
  ExpectNoFalseNegatives(block, entries);
  ExpectReaderFinds(contents, entries);
}

// ---- Blocks ----

struct Damaged {
  std::string name;
  std::function<Keys()> keys;
  std::function<std::string(const Keys&)> build;
  std::optional<ProteusDesign> design = {};  // of a Proteus
};

void PrintTo(const Damaged& damaged, std::ostream* out) {
  *out << damaged.name;
}

Damaged OfProteus(const char* name, const ProteusDesign& design, size_t family,
                  double bits_per_key = 80) {
  return {name, [=] { return KeyFamilies(24, 71)[family].keys; },
          [=](const Keys& keys) {
            return BuildProteusBlock(keys, design, bits_per_key);
          },
          design};
}

Damaged OfSurf(const char* name, const SurfOptions& options) {
  return {name, SmallSet, [=](const Keys& keys) {
            return BuildBlock(keys, *NewSurfFilterPolicy(options));
          }};
}

std::vector<Damaged> ProteusCases() {
  return {
      OfProteus("no_layer", ProteusDesign(), 0),
      OfProteus("trie", TrieAndSet(19, 0), 0),
      OfProteus("deep_trie", TrieAndSet(200, 0), 3),
      OfProteus("bloom", TrieAndSet(0, 40), 0),
      OfProteus("ribbon", TrieAndSet(0, 40, kRibbonAmq), 0),
      OfProteus("trie_and_bloom", TrieAndSet(12, 50), 0),
      OfProteus("trie_and_ribbon", TrieAndSet(12, 50, kRibbonAmq), 0),
      OfProteus("trie_and_bloom_of_bytes", TrieAndSet(70, 200), 3),
      OfProteus("trie_and_keys", WithKeys(TrieAndSet(12, 0), 0), 0),
      OfProteus("keys_alone", WithKeys(TrieAndSet(12, 40), 0.3, true), 0),
      OfProteus("two_blooms", TwoSets(20, 60), 0),
      OfProteus("two_ribbons", TwoSets(20, 60, kRibbonAmq), 0),
      OfProteus("two_sets_of_bytes", TwoSets(90, 300), 3),
      OfProteus("series", TrieAndSet(0, 64, kBloomAmq, 8), 2),
      OfProteus("trie_and_series", TrieAndSet(20, 64, kRibbonAmq, 16), 2),
      OfProteus("chains", TrieAndSet(9, 30), 4),
      OfProteus("zeros", TrieAndSet(33, 48, kBloomAmq, 24), 6),
      OfProteus("alphabets", TrieAndSet(0, 30), 2, 240),
      OfProteus("trie_and_alphabets", TrieAndSet(10, 24), 2, 240),
      OfProteus("two_sets_of_alphabets", TwoSets(8, 22), 2, 200),
  };
}

std::vector<Damaged> SurfCases() {
  return {OfSurf("bare", {0, 0}),
          OfSurf("both_suffixes", {4, 4}),
          OfSurf("real_suffix", {0, 8}),
          OfSurf("64_suffix_bits", {32, 32}),
          OfSurf("prefix_bits", {0, 4, 12}),
          OfSurf("usual", {4, 8}),
          {"prefixes", SmallSet, BuildBlockWithPrefixes}};
}

// Few edges lead to nodes.
Keys Bushes() {
  const std::string starts[] = {"a", "kk", "z"};
  return MakeKeys(72, [&](size_t i) {
    return starts[i % 3] + static_cast<char>(i / 3 * 4);
  });
}

// Small tries in every encoding, with runs, terminators, and edges that lead to
// nodes told in every way; and some with more than one entry in every table.
std::vector<Damaged> TrieCases() {
  Random rnd(kBlockSeed);
  std::vector<Damaged> tries;
  auto add = [&](std::string name, const std::function<Keys()>& keys,
                 const std::vector<unsigned>& remainder_bits,
                 bool list_exceptions, bool digits = false) {
    FstOptions options;
    if (digits) options.digits = FstOptions::kIfPossible;
    options.forced = remainder_bits;
    options.list_exceptions = list_exceptions;
    SurfSuffix suffix;
    suffix.hash_bits = rnd.Uniform(4);
    (digits ? suffix.prefix_bits : suffix.real_bits) = rnd.Uniform(9);
    for (unsigned bits : remainder_bits) name += "_" + std::to_string(bits);
    tries.push_back({name, keys, [=](const Keys& of) {
                       return BuildSurfBlock(of, suffix, options);
                     }});
  };
  const auto pairs = [](int count) { return [=] { return Pairs(count); }; };
  // Few edges end in leaves: most keys are terminators.
  const auto chains = [] { return PrefixChains(3, 12); };
  const std::vector<unsigned> encodings[] = {{0}, {2},       {8},
                                             {1}, {0, 3, 8}, {8, 2, 0}};
  for (const auto& remainder_bits : encodings) {
    add("chains", chains, remainder_bits, true);
    add("pairs", pairs(30), remainder_bits, false);
    add("bushes", Bushes, remainder_bits, true);
  }
  add("many_pairs", pairs(600), {2}, true);
  add("many_pairs", pairs(600), {8}, true);
  add("coded_chains", chains, {}, true, /*digits=*/true);
  add("coded_pairs", pairs(30), {}, false, /*digits=*/true);
  add("coded_bushes", Bushes, {0, 1, 2}, true, /*digits=*/true);
  add("many_coded_pairs", pairs(350), {}, true, /*digits=*/true);
  return tries;
}

// ---- What damage is refused ----

// Numbers that must be what the rest of the block tells.
const char kExactNumbers[] =
    "|magic|version|size of the directory|number of keys|number of parts|"
    "kind of a part|number of a part|number of a unit|compression of a part|"
    "trailer of a part|marks of the set|size of the set|hash bits|real bits|"
    "prefix bits|zero of a code|levels|height|nodes|leaves|sections|value bits|"
    "section levels|section nodes|section edges|section children|terminators|"
    "runs|";

// Whether no bit in this byte of an array can be another one, since the rest of
// the trie tells how many are set, or counts what lies before a group. Behind
// an odd number of entries of a table, there are four bytes of padding.
bool IsCounted(const std::string& block, const BlockPiece& array, size_t byte,
               bool children_listed) {
  const std::string name = array.name;
  if (name == "labels") return true;
  if (name == "index") return !children_listed || (byte - array.offset) % 8 < 4;
  const size_t last = array.offset + array.size - 4;
  return (name == "terminator marks" || name == "run marks" ||
          name == "run starts") &&
         (byte < last || DecodeFixed32(&block[last]) != 0);
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

class DamageTest : public testing::TestWithParam<Damaged> {
 protected:
  DamageTest()
      : keys_(GetParam().keys()),
        block_(GetParam().build(keys_)),
        payload_(PayloadOffset(block_)),
        layout_(Slice(block_)),
        memory_(block_.size() + 100),
        queries_(QueriesAround(keys_, 20)) {
    queries_.push_back(std::string(70, '\xff'));
    for (size_t i = 0; i < keys_.size(); i += 1 + keys_.size() / 8) {
      entries_.push_back(keys_[i]);
    }
    entries_.push_back("ban");  // a prefix
    EXPECT_TRUE(layout_.whole());
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
    ASSERT_EQ(status->ToString(), block.status().ToString());
    if (!block.CanFilter()) return;
    const BlockExam again = Examine(block, queries_, kRangeStep);
    ASSERT_EQ(exam.answers, again.answers)
        << "the answers depend on what lies outside of the block";
  }
  // Returns what opening these bytes says once their checksums are right.
  Status OfDamaged(const std::string& bytes) {
    Status status;
    Expect(WithRightChecksums(bytes), &status);
    return status;
  }

  static constexpr size_t kRangeStep = 9;

  const Keys keys_;
  const std::string block_;
  const size_t payload_;
  const BlockLayout layout_;
  GuardedMemory memory_;
  Keys queries_;
  Keys entries_;  // some keys, and prefixes
};
class ProteusDamageTest : public DamageTest {};
class TrieDamageTest : public DamageTest {};

const testing::PrintToStringParamName kNames{};
INSTANTIATE_TEST_SUITE_P(Proteus, DamageTest, testing::ValuesIn(ProteusCases()),
                         kNames);
INSTANTIATE_TEST_SUITE_P(Surf, DamageTest, testing::ValuesIn(SurfCases()),
                         kNames);
INSTANTIATE_TEST_SUITE_P(Tries, DamageTest, testing::ValuesIn(TrieCases()),
                         kNames);
INSTANTIATE_TEST_SUITE_P(Designs, ProteusDamageTest,
                         testing::ValuesIn(ProteusCases()), kNames);
INSTANTIATE_TEST_SUITE_P(Encodings, TrieDamageTest,
                         testing::ValuesIn(TrieCases()), kNames);

TEST_P(DamageTest, NoDamage) {
  EXPECT_OK(OfDamaged(block_));
  const FilterBlock block(memory_.PlaceAtEnd(block_));
  for (const std::string& key : keys_) EXPECT_TRUE(block.KeyMayMatch(key));
  for (const std::string& query : queries_) {
    EXPECT_TRUE(LowerBoundHolds(block, keys_, query)) << Hex(query);
  }
}

TEST_P(DamageTest, CutShort) {
  const size_t step = block_.size() < 2000 ? 1 : 7;
  for (size_t size = 0; size < block_.size(); size += step) {
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
// asked for prefixes into one that takes them for keys. In an array, a key and
// a salt, all bits are alike, and one of each byte is enough.
TEST_P(DamageTest, FlippedBits) {
  const auto& trie =
      layout_.units().empty() ? std::nullopt : layout_.units()[0].layout.trie();
  const bool children_listed =
      trie.has_value() &&
      std::any_of(trie->sections.begin(), trie->sections.end(),
                  [](const PayloadLayout::Section& section) {
                    return section.fields.child_encoding !=
                           FstSectionHeader::kHasChildBits;
                  });
  DamageStride stride;
  int opened = 0;
  const auto flip_byte = [&](const BlockPiece& piece, size_t byte, int flip) {
    std::string damaged = block_;
    damaged[byte] = static_cast<char>(damaged[byte] ^ flip);
    const Slice contents = memory_.PlaceAtEnd(damaged, byte % 8);
    const Status s = FilterBlock(contents).status();
    ASSERT_TRUE(s.IsCorruption() ||
                (byte == kVersionOffset && s.IsNotSupported()))
        << s.ToString();
    ExpectDamaged(contents, entries_);

    // A right checksum is none that is damaged.
    if (Slice(piece.name).starts_with("checksum") || !stride.TryNext()) return;
    const Status status = OfDamaged(damaged);
    // Only the directory can name what is not known.
    ASSERT_TRUE(!status.IsNotSupported() || byte < payload_);
    ASSERT_FALSE(status.ok() && flip < 0xff &&
                 IsCounted(block_, piece, byte, children_listed));
    opened += status.ok();
  };
  for (const BlockPiece& piece : layout_.pieces()) {
    const Slice name(piece.name);
    const bool is_alike =
        piece.kind == BlockPiece::kBits || name.starts_with("salt") ||
        (piece.kind == BlockPiece::kBytes && name != Slice("code"));
    for (size_t i = 0; i < piece.size; i++) {
      const size_t byte = piece.offset + i;
      for (int flip : {1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80, 0xff}) {
        const bool is_next = flip == 0xff || flip == 1 << byte % 8;
        if (is_alike && !is_next) continue;
        SCOPED_TRACE("byte " + std::to_string(byte) + " in the " + piece.name +
                     " flips " + std::to_string(flip));
        flip_byte(piece, byte, flip);
        if (HasFailure()) return;
      }
    }
  }
  // The questions are not all answered by the checks of Open.
  EXPECT_GT(opened * stride.stride(), 100);
}

TEST_P(DamageTest, OtherNumbersUnderARightChecksum) {
  std::set<std::string> seen;
  DamageStride stride;
  for (const BlockPiece& piece : layout_.pieces()) {
    const std::string name = piece.name;
    if (piece.kind != BlockPiece::kNumber || name.find("checksum") == 0 ||
        name.find("salt") == 0) {
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
      EXPECT_EQ(name == "version", status.IsNotSupported());
      if (HasFailure()) return;
    }
  }
  const std::optional<ProteusDesign>& design = GetParam().design;
  EXPECT_EQ(design.has_value() && design->num_sets() > 0,
            seen.count("size of the set") > 0);
  EXPECT_EQ(!design.has_value() || design->trie_bits() > 0,
            seen.count("section edges") > 0);
  EXPECT_EQ(GetParam().name.find("alphabets") != std::string::npos,
            seen.count("alphabet of a place") > 0);
}

// Every word of the payload, or some of a large block, whatever they are.
TEST_P(DamageTest, ImpossibleNumbersUnderARightChecksum) {
  DamageStride stride;
  const size_t step = block_.size() < 2000 ? 4 : 44;
  for (size_t offset = payload_; offset + 4 < block_.size(); offset += step) {
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
  const ProteusDesign& design = *GetParam().design;
  for (size_t i = 0; i < design.size(); i++) {
    const Layer& layer = design[i];
    const bool is_keys = layer.kind == Kind::kKeys;
    const bool is_trie = layer.kind == Kind::kTrie;
    std::vector<Layer> wrong;
    const auto add = [&](Kind kind, uint32_t bits, uint32_t stride) {
      wrong.push_back(layer);
      wrong.back().kind = kind;
      wrong.back().bits = bits;
      wrong.back().stride = stride;
    };
    // Points ask the set of keys, and all of the other layers or none.
    if (is_keys ? layer.asked_by_points
                : design.keys() == nullptr || design.size() > 2) {
      wrong.push_back(layer);
      wrong.back().asked_by_points = !layer.asked_by_points;
    }
    if (!is_keys) {
      for (const uint32_t bits : {uint32_t{0}, ~uint32_t{0}}) {
        add(layer.kind, bits, layer.stride);
      }
      if (i > 0 && design[i - 1].bits > 0) {
        add(layer.kind, design[i - 1].bits, layer.stride);
      }
      add(Kind(5), layer.bits, layer.stride);
      add(is_trie ? Kind::kPrefixes : Kind::kTrie, layer.bits, layer.stride);
      if (is_trie) {
        add(Kind::kTrie, layer.bits + 1, layer.stride);
      } else {
        add(Kind::kSeries, layer.bits, 7);
      }
    }
    for (size_t j = 0; j < wrong.size(); j++) {
      EXPECT_TRUE(status([&](ProteusDesign* to) {
                    (*to)[i] = wrong[j];
                  }).IsCorruption())
          << "layer " << i << ", change " << j;
    }
  }
  EXPECT_TRUE(status([](ProteusDesign* to) {
                to->Add(Layer::Prefixes(kMaxPrefixBits));
              }).IsCorruption());
}

void AskEverything(const FilterBlock& block, const Keys& queries) {
  const BlockExam exam = Examine(block, queries, queries.size() / 3);
  ASSERT_EQ(nullptr, exam.broken) << exam.broken;
}

// Counts are changed so that the sum which one check compares stays the same:
// another check must find the damage.
TEST_P(TrieDamageTest, CountsInPairsAndTriplesUnderARightChecksum) {
  const BlockLayout::Unit& unit = layout_.units().at(0);
  std::vector<BlockPiece> counts;
  for (BlockPiece piece : unit.layout.pieces()) {
    if (piece.kind != BlockPiece::kNumber || piece.size != 4) continue;
    if (Slice(piece.name).starts_with("zero")) continue;
    piece.offset += unit.payload;
    counts.push_back(piece);
  }
  const auto moved = [](const std::string& block, const BlockPiece& count,
                        bool up) {
    return WithNumber(block, count, NumberAt(block, count) + (up ? 1 : -1));
  };
  DamageStride stride;
  for (size_t i = 0; i < counts.size(); i++) {
    for (size_t j = i + 1; j < counts.size(); j++) {
      for (size_t k = j; k < counts.size(); k++) {
        for (int up = 0; up < (k > j ? 8 : 4); up++) {
          if (!stride.TryNext()) continue;
          std::string damaged = moved(block_, counts[i], up & 1);
          damaged = moved(damaged, counts[j], up & 2);
          if (k > j) damaged = moved(damaged, counts[k], up & 4);
          const FilterBlock block(
              memory_.PlaceAtEnd(WithRightChecksums(damaged), up));
          if (!block.CanFilter()) continue;
          ASSERT_NO_FATAL_FAILURE(AskEverything(block, queries_));
        }
      }
    }
  }
}

}  // namespace

// The tests of damage rest on this.
TEST(GuardedBlockTest, ReadsOutsideCrash) {
  const auto byte_at = [](const Slice& bytes, ptrdiff_t offset) {
    return *static_cast<const volatile char*>(bytes.data() + offset);
  };
  for (const size_t size : {0, 7, 4096, 5000}) {
    GuardedMemory memory(size + 8);
    const Slice at_end = memory.PlaceAtEnd(std::string(size, 'b'));
    EXPECT_DEATH(byte_at(at_end, static_cast<ptrdiff_t>(size)), "");
    const Slice at_begin = memory.PlaceAtBegin(std::string(size, 'b'));
    EXPECT_DEATH(byte_at(at_begin, -1), "");
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

// Tries in every encoding, and all families of keys with any suffixes.
TEST(SurfDamageTest, RandomDamageUnderARightChecksum) {
  Random rnd(kBlockSeed);
  std::vector<Damaged> cases = TrieCases();
  const size_t num_tries = cases.size();
  std::vector<KeyFamily> families = KeyFamilies(60, kBlockSeed);
  families.push_back({"dense levels", WideTop()});
  for (const KeyFamily& family : families) {
    cases.push_back(OfSurf("", {static_cast<uint32_t>(rnd.Uniform(5)),
                                static_cast<uint32_t>(4 * rnd.Uniform(5)),
                                static_cast<uint32_t>(8 * rnd.Uniform(3))}));
    cases.back().name = family.name;
    cases.back().keys = [keys = family.keys] { return keys; };
  }
  DamageStride stride;
  int opened[2] = {};
  for (size_t i = 0; i < cases.size(); i++) {
    const bool of_family = i >= num_tries;
    SCOPED_TRACE(cases[i].name);
    const Keys keys = cases[i].keys();
    const std::string block = cases[i].build(keys);
    const Keys queries = QueriesAround(keys, 16);
    GuardedMemory memory(block.size() + 8);
    for (int round = 0; round < (of_family ? 1500 : 1000); round++) {
      const std::string bytes = WithRandomDamage(block, &rnd);
      if (!stride.TryNext()) continue;
      const FilterBlock damaged(
          memory.PlaceAtEnd(WithRightChecksums(bytes), round % 8));
      ASSERT_NO_FATAL_FAILURE(AskEverything(damaged, queries)) << round;
      opened[of_family] += damaged.CanFilter();
    }
  }
  // The queries do not all end at the checks of Open.
  for (const int count : opened) EXPECT_GT(count * stride.stride(), 1000);
}

}  // namespace ROCKSDB_NAMESPACE::protean
