//  The filter block: what a policy's builder writes, its reader reads, and no
//  damage turns into a wrong answer, a crash or a read outside the block.

#include "filter_policy/filter_block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/surf/surf.h"
#include "plugin/protean.h"
#include "rocksdb/advanced_cache.h"
#include "rocksdb/slice_transform.h"
#include "test_util/testharness.h"
#include "tests/filter_blocks.h"
#include "tests/key_families.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Keys = std::vector<std::string>;
using Policy = std::shared_ptr<const FilterPolicy>;

constexpr uint32_t kSeed = 301;

std::string BuildBlock(const Keys& keys,
                       const Policy& policy = NewSurfFilterPolicy(4, 8)) {
  const auto builder = NewBuilder(*policy);
  for (const std::string& key : keys) builder->AddKey(key);
  return Finish(builder.get());
}

// As FullFilterBlockBuilder does for a table with a prefix extractor.
std::string BuildBlockWithPrefixes(const Keys& keys,
                                   const SliceTransform& prefix_extractor) {
  const auto builder = NewBuilder(*NewSurfFilterPolicy(4, 8));
  for (const std::string& key : keys) {
    if (prefix_extractor.InDomain(key)) {
      builder->AddKeyAndAlt(key, prefix_extractor.Transform(key));
    } else {
      builder->AddKey(key);
    }
  }
  return Finish(builder.get());
}

std::string WithBitFlipped(std::string block, size_t bit) {
  block[bit / 8] = static_cast<char>(block[bit / 8] ^ (1 << (bit % 8)));
  return block;
}

// A few keys that give every structure of the trie something to hold: shared
// prefixes, a key that is a prefix of others, 0x00 and 0xff.
Keys SmallSet() {
  Keys keys = {"",        std::string(1, '\0'), "app", "apple", "apply", "band",
               "bandana", "\xff\xff",           "\xff"};
  SortUnique(&keys);
  return keys;
}

// Few enough keys for small blocks, but with LOUDS-Dense levels: a wide and
// bushy lower part pays for them.
Keys SetWithDenseLevels() {
  Keys keys;
  for (int first : {'a', 'q'}) {
    for (int second = 0; second < 256; second++) {
      for (int third = 0; third < 8; third++) {
        keys.push_back({static_cast<char>(first), static_cast<char>(second),
                        static_cast<char>(30 * third)});
      }
    }
  }
  SortUnique(&keys);
  return keys;
}

// All that was stored must be found, in every way to ask for it.
void ExpectNoFalseNegatives(const FilterBlock& block, const Keys& keys) {
  for (const std::string& key : keys) {
    ASSERT_TRUE(block.KeyMayMatch(key)) << Hex(key);
    ASSERT_TRUE(block.RangeMayMatch(key, key, true)) << Hex(key);
    ASSERT_TRUE(block.RangeMayMatch(key, key + '\0', false)) << Hex(key);
    ASSERT_TRUE(block.RangeMayMatch("", key, true)) << Hex(key);
    for (size_t length = 0; length <= key.size(); length++) {
      ASSERT_TRUE(block.PrefixMayMatch(Slice(key.data(), length))) << Hex(key);
    }
  }
}

// The same through the interface by which the block-based table asks.
void ExpectReaderFinds(const Slice& block, const Keys& entries) {
  const std::unique_ptr<FilterBitsReader> reader(
      static_cast<const ProteanFilterPolicy&>(*NewSurfFilterPolicy(0, 0))
          .GetFilterBitsReader(block));
  for (const std::string& entry : entries) {
    ASSERT_TRUE(reader->MayMatch(entry)) << Hex(entry);
  }
}

// A block that cannot be read answers "may match" to everything.
void ExpectAlwaysTrue(const FilterBlock& block) {
  EXPECT_FALSE(block.CanFilter());
  EXPECT_FALSE(block.HasKeyAtOrAbove("a"));
  ExpectNoFalseNegatives(block, {"", "no such key", "\xff\xff\xff"});
}

// Many lookups at once answer what each of them does.
void ExpectSameAnswersAtOnce(const FilterBlock& block, const Keys& keys) {
  std::vector<Slice> slices(keys.begin(), keys.end());
  std::vector<Slice*> pointers;
  for (Slice& slice : slices) pointers.push_back(&slice);
  const std::unique_ptr<bool[]> answers(new bool[keys.size()]);
  block.KeysMayMatch(keys.size(), pointers.data(), answers.get());
  for (size_t i = 0; i < keys.size(); i++) {
    ASSERT_EQ(block.KeyMayMatch(keys[i]), answers[i]) << Hex(keys[i]);
  }
}

// Asks all there is to ask. No answer is expected, only that there is one, and
// that no search goes back: of a damaged block whose checksum is right, nothing
// else can be said.
void AskEverything(const Slice& bytes, const Keys& queries) {
  const FilterBlock block(bytes);
  for (const std::string& lo : queries) {
    block.KeyMayMatch(lo);
    block.PrefixMayMatch(lo);
    block.HasKeyAtOrAbove(lo);
    std::string bound;
    if (block.LowerBound(lo, &bound)) ASSERT_GE(bound, lo);
  }
  ExpectSameAnswersAtOnce(block, queries);
  for (size_t i = 0; i + 1 < queries.size(); i++) {
    block.RangeMayMatch(queries[i], queries[i + 1], i % 2 == 0);
    block.RangeMayMatch(queries[0], queries[i], i % 2 == 0);
  }
  if (!block.CanFilter()) return;

  const auto& surf = static_cast<const Surf&>(*block.filter());
  // Count visits every level, so their number must be a possible one.
  ASSERT_LE(surf.fst().height(), surf.fst().num_nodes());
  constexpr int kMaxSteps = 200;
  Surf::Iterator it(&surf);
  uint64_t seen = 0;
  auto walk = [&](bool forward) {
    for (int step = 0; it.Valid() && step < kMaxSteps; step++) {
      seen += it.key_prefix().size() + it.real_suffix() + it.IsWholeKey();
      forward ? it.Next() : it.Prev();
    }
  };
  it.SeekToFirst();
  walk(/*forward=*/true);
  it.SeekToLast();
  walk(/*forward=*/false);
  for (size_t i = 0; i + 1 < queries.size(); i += 4) {
    it.Seek(queries[i]);
    if (it.Valid()) it.Next();
    surf.Count(queries[i], queries[i + 1]);
  }
}

// Keys, their neighbours, and strings that lead out of the trie.
Keys QueriesAround(const Keys& keys, size_t count) {
  Random rnd(kSeed);
  Keys queries = {"", "\xff\xff\xff\xff", std::string(100, 'a')};
  while (queries.size() < count) {
    const Keys around =
        Around(keys[rnd.Uniform(static_cast<int>(keys.size()))]);
    queries.push_back(around[rnd.Uniform(static_cast<int>(around.size()))]);
  }
  return queries;
}

// The block is refused, and loses no key for that.
void ExpectDamaged(const Slice& contents, const Keys& keys) {
  const FilterBlock block(contents);
  EXPECT_NOK(block.status());
  ExpectAlwaysTrue(block);
  ExpectNoFalseNegatives(block, keys);
  ExpectReaderFinds(contents, keys);
}

}  // namespace

// ---- What an intact block says ----

TEST(FilterBlockTest, RoundTripOfAllFamilies) {
  for (const KeyFamily& family : KeyFamilies(2000, kSeed)) {
    SCOPED_TRACE(family.name);
    for (const auto& [hash_bits, real_bits] :
         {std::pair{0, 0}, {0, 4}, {4, 0}, {4, 4}, {0, 16}, {32, 32}}) {
      const std::string bytes =
          BuildBlock(family.keys, NewSurfFilterPolicy(hash_bits, real_bits));
      const FilterBlock block(bytes);
      ASSERT_OK(block.status());
      EXPECT_TRUE(block.CanFilter());
      EXPECT_EQ(kSurfKind, block.header().kind);
      EXPECT_EQ(family.keys.size(), block.header().num_keys);
      ExpectNoFalseNegatives(block, family.keys);
      ExpectReaderFinds(bytes, family.keys);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(FilterBlockTest, Header) {
  const Keys keys = {"apple", "band", "cherry"};
  const std::string bytes = BuildBlock(keys, NewSurfFilterPolicy(0, 8));
  EXPECT_EQ("PRTN", bytes.substr(0, 4));
  EXPECT_EQ(1, bytes[kVersionOffset]);
  EXPECT_EQ(1, bytes[kKindOffset]);
  EXPECT_EQ(0u, DecodeFixed32(&bytes[12]) % 8);
  EXPECT_EQ(3u, DecodeFixed64(&bytes[16]));
  EXPECT_EQ("applecherry", bytes.substr(kHeaderSize, 11));
  EXPECT_EQ(std::string(16, '\0'), bytes.substr(bytes.size() - 16));
  EXPECT_EQ(bytes, WithRightChecksum(bytes));

  const FilterBlock block(bytes);
  EXPECT_EQ("apple", block.header().smallest.ToString());
  EXPECT_EQ("cherry", block.header().largest.ToString());
  EXPECT_EQ(0, block.header().flags);
  EXPECT_TRUE(block.header().salt.IsNone());

  const std::string salted = BuildBlock(keys, NewSurfFilterPolicy(4, 8));
  const FilterSalt salt = FilterSalt::Draw();  // the same each time
  EXPECT_EQ(2, salted[kVersionOffset]);
  EXPECT_EQ(salt.file, DecodeFixed64(&salted[kHeaderSize]));
  EXPECT_EQ(salt.process, DecodeFixed64(&salted[kHeaderSize + 8]));
  EXPECT_EQ("applecherry", salted.substr(kSaltedHeaderSize, 11));
  const FilterBlock salted_block(salted);
  EXPECT_EQ("apple", salted_block.header().smallest.ToString());
  EXPECT_EQ("cherry", salted_block.header().largest.ToString());
  EXPECT_EQ(salt.file, salted_block.header().salt.file);
  EXPECT_EQ(salt.process, salted_block.header().salt.process);
}

// Of each pair, the trie would hold all that the two share.
TEST(FilterBlockTest, NoTrieOfKeysThatDifferLate) {
  Random random(kSeed);
  Keys pairs;
  Keys halves;
  for (int i = 0; i < 400; i++) {
    const std::string path = random.RandomBinaryString(1000);
    halves.push_back(path + "1");
    pairs.push_back(path + "1");
    pairs.push_back(path + "2");
  }
  SortUnique(&halves);
  SortUnique(&pairs);
  const std::string of_halves = BuildBlock(halves);
  EXPECT_TRUE(FilterBlock(of_halves).CanFilter());
  EXPECT_LT(of_halves.size(), 4 * halves.size());
  const std::string of_pairs = BuildBlock(pairs);
  const FilterBlock block(of_pairs);
  ASSERT_OK(block.status());
  ExpectAlwaysTrue(block);
  EXPECT_EQ(pairs.size(), block.header().num_keys);
  EXPECT_LT(of_pairs.size(), 100u);
  // Few pairs take little, whatever they are.
  pairs.resize(100);
  EXPECT_TRUE(FilterBlock(BuildBlock(pairs)).CanFilter());
}

TEST(FilterBlockTest, IsReadAtAnyAlignment) {
  const Keys keys = SetWithDenseLevels();
  const std::string bytes = BuildBlock(keys);
  for (size_t misalignment = 0; misalignment < 9; misalignment++) {
    const GuardedBlock copy(bytes, misalignment);
    const FilterBlock block(copy.slice());
    ASSERT_OK(block.status());
    ASSERT_NE(std::string::npos, static_cast<const Surf&>(*block.filter())
                                     .fst()
                                     .Describe()
                                     .find("dense"));
    ExpectNoFalseNegatives(block, keys);
    EXPECT_FALSE(block.KeyMayMatch("b"));
    EXPECT_FALSE(block.RangeMayMatch("b", "c", true));
    AskEverything(copy.slice(), QueriesAround(keys, 40));
  }
}

TEST(FilterBlockTest, NoKeys) {
  const std::string bytes = BuildBlock({});
  const FilterBlock block(bytes);
  ASSERT_OK(block.status());
  EXPECT_EQ(0u, block.header().num_keys);
  EXPECT_FALSE(block.KeyMayMatch(""));
  EXPECT_FALSE(block.RangeMayMatch("", "\xff", true));
  EXPECT_FALSE(block.PrefixMayMatch("a"));
  EXPECT_FALSE(block.HasKeyAtOrAbove(""));
}

// RocksDB adds a user key once for each of its versions.
TEST(FilterBlockTest, DuplicatesCountOnce) {
  const std::string once = BuildBlock({"", "a", "ab", "b"});
  const std::string twice =
      BuildBlock({"", "", "a", "ab", "ab", "ab", "b", "b"});
  EXPECT_EQ(Hex(once), Hex(twice));
  EXPECT_EQ(4u, FilterBlock(twice).header().num_keys);
}

// The keys of a table with another comparator come in another order.
TEST(FilterBlockTest, UnsortedKeysGiveAnAlwaysTrueBlock) {
  const std::string bytes = BuildBlock({"a", "c", "b", "d"});
  const FilterBlock block(bytes);
  EXPECT_OK(block.status());
  EXPECT_EQ(FilterKind::kAlwaysTrue, block.header().kind);
  EXPECT_EQ(4u, block.header().num_keys);
  ExpectAlwaysTrue(block);
}

TEST(FilterBlockTest, HasKeyAtOrAbove) {
  const std::string bytes = BuildBlock({"b", "d"});
  const FilterBlock block(bytes);
  for (const char* bound : {"", "a", "b", "c", "d"}) {
    EXPECT_TRUE(block.HasKeyAtOrAbove(bound)) << bound;
  }
  EXPECT_FALSE(block.HasKeyAtOrAbove(Slice("d\0", 2)));
  EXPECT_FALSE(block.HasKeyAtOrAbove("e"));
}

// Only the first 64 bytes of the smallest and of the largest key are stored:
// what lies after them must never be taken for known.
TEST(FilterBlockTest, LongKeysAreStoredInPart) {
  const std::string stored(FilterBlockHeader::kMaxStoredKey, 'm');
  const Keys keys = {stored + "b", stored + "d"};
  const std::string bytes = BuildBlock(keys, NewSurfFilterPolicy(0, 0));
  const FilterBlock block(bytes);
  ASSERT_OK(block.status());
  EXPECT_EQ(stored, block.header().smallest.ToString());
  EXPECT_EQ(stored, block.header().largest.ToString());
  ExpectNoFalseNegatives(block, keys);

  EXPECT_TRUE(block.HasKeyAtOrAbove(stored));
  EXPECT_FALSE(block.HasKeyAtOrAbove(stored + "a")) << "unknown, hence no";
  EXPECT_FALSE(block.HasKeyAtOrAbove("n"));

  // Below and above the stored parts: settled by them.
  EXPECT_FALSE(block.RangeMayMatch("", stored, false));
  EXPECT_FALSE(block.RangeMayMatch("", "ma", true));
  EXPECT_FALSE(block.RangeMayMatch("mn", "z", true));
  EXPECT_FALSE(block.RangeMayMatch("n", "z", true));
  // Among what shares them: left to the trie, which knows the next byte.
  EXPECT_FALSE(block.RangeMayMatch(stored, stored + "a", true));
  EXPECT_TRUE(block.RangeMayMatch(stored, stored + "b", true));
  EXPECT_FALSE(block.RangeMayMatch(stored + "b\xff", stored + "c", true) &&
               block.RangeMayMatch(stored + "c", stored + "c\xff", true));
  EXPECT_TRUE(block.RangeMayMatch(stored + "d", "z", true));
  EXPECT_FALSE(block.RangeMayMatch(stored + "e", "z", true));
}

// Keys of just the stored length and one byte more or less.
TEST(FilterBlockTest, KeysAboutAsLongAsTheStoredPart) {
  for (size_t length = 62; length <= 67; length++) {
    const std::string base(length - 1, 'm');
    const Keys keys = {base + "b", base + "d"};
    const std::string bytes = BuildBlock(keys);
    const FilterBlock block(bytes);
    ASSERT_OK(block.status());
    ExpectNoFalseNegatives(block, keys);
    for (const std::string& lo : QueriesAround(keys, 60)) {
      for (const std::string& hi : QueriesAround(keys, 60)) {
        for (const std::string& key : keys) {
          if (lo <= key && key <= hi) {
            ASSERT_TRUE(block.RangeMayMatch(lo, hi, true));
          }
          if (lo <= key && key < hi) {
            ASSERT_TRUE(block.RangeMayMatch(lo, hi, false));
          }
        }
      }
      ASSERT_TRUE(keys.back() >= lo || !block.HasKeyAtOrAbove(lo)) << Hex(lo);
    }
  }
}

// ---- Prefixes ----

TEST(FilterBlockTest, LiteralPrefixesAreAskedOfTheTrie) {
  const std::unique_ptr<const SliceTransform> first_three(
      NewFixedPrefixTransform(3));
  const Keys keys = {"ab", "abc", "abcde", "b", "xyz1", "xyz2"};
  const std::string bytes = BuildBlockWithPrefixes(keys, *first_three);
  const FilterBlock block(bytes);
  ASSERT_OK(block.status());
  EXPECT_EQ(FilterBlockHeader::kAskedForPrefixes, block.header().flags);
  ExpectNoFalseNegatives(block, keys);
  // Whole keys and prefixes come through the same function, unmarked.
  ExpectReaderFinds(bytes, {"ab", "abc", "abcde", "b", "xyz1", "xyz2", "xyz"});
  ProteanFilterBitsReader reader{Slice(bytes)};
  EXPECT_FALSE(reader.MayMatch("acc"));
  EXPECT_FALSE(block.PrefixMayMatch("y"));
}

TEST(FilterBlockTest, OtherPrefixesAreUnknown) {
  const auto builder = NewBuilder(*NewSurfFilterPolicy(0, 8));
  const Keys keys = {"key1", "key2"};
  for (const std::string& key : keys) {
    builder->AddKeyAndAlt(key, "not a prefix of the key");
  }
  const std::string bytes = Finish(builder.get());
  const FilterBlock block(bytes);
  ASSERT_OK(block.status());
  EXPECT_TRUE(block.PrefixMayMatch("anything"));
  ExpectReaderFinds(bytes, {"key1", "key2", "not a prefix of the key"});
  EXPECT_FALSE(block.RangeMayMatch("a", "b", true)) << "ranges still work";
}

TEST(FilterBlockTest, PrefixesOfFfBytes) {
  const std::string bytes = BuildBlock({"a", "\xff\xff", "\xff\xff\xff z"});
  const FilterBlock block(bytes);
  EXPECT_TRUE(block.PrefixMayMatch(""));
  EXPECT_TRUE(block.PrefixMayMatch("\xff"));
  EXPECT_TRUE(block.PrefixMayMatch("\xff\xff\xff"));
  EXPECT_FALSE(block.PrefixMayMatch("b\xff\xff"));
}

// ---- The builder ----

TEST(FilterBlockTest, BuilderChargesTheBlockCache) {
  for (bool charged : {false, true}) {
    BlockBasedTableOptions options;
    options.block_cache = NewLRUCache(64 << 20);
    options.cache_usage_options
        .options_overrides[CacheEntryRole::kFilterConstruction]
        .charged = charged ? CacheEntryRoleOptions::Decision::kEnabled
                           : CacheEntryRoleOptions::Decision::kDisabled;
    auto builder = NewBuilder(*NewSurfFilterPolicy(0, 8), options);
    for (uint64_t i = 0; i < 300000; i++) builder->AddKey(BigEndian(i * i));
    const size_t while_adding = options.block_cache->GetPinnedUsage();
    std::unique_ptr<const char[]> buffer;
    const size_t size = builder->Finish(&buffer).size();
    const size_t finished = options.block_cache->GetPinnedUsage();
    if (charged) {
      EXPECT_GE(while_adding, size / 2);
      EXPECT_GE(finished, size);
      EXPECT_LE(finished, 2 * size);
    } else {
      EXPECT_EQ(0u, while_adding);
      EXPECT_EQ(0u, finished);
    }
    builder.reset();
    EXPECT_EQ(0u, options.block_cache->GetPinnedUsage());
  }
}

// Few keys can be large.
TEST(FilterBlockTest, BuilderChargesForLongKeys) {
  BlockBasedTableOptions options;
  options.block_cache = NewLRUCache(256 << 20);
  options.cache_usage_options
      .options_overrides[CacheEntryRole::kFilterConstruction]
      .charged = CacheEntryRoleOptions::Decision::kEnabled;
  auto builder = NewBuilder(*NewSurfFilterPolicy(0, 8), options);
  for (int i = 0; i < 100; i++) {
    std::string key(100000, static_cast<char>('a' + i / 2));
    key.back() = static_cast<char>('0' + i % 2);
    builder->AddKey(key);
  }
  EXPECT_GE(options.block_cache->GetPinnedUsage(), 4000000u);
}

TEST(FilterBlockTest, BuilderVerifiesItsBlockIfAskedTo) {
  BlockBasedTableOptions options;
  for (bool verify : {false, true}) {
    options.detect_filter_construct_corruption = verify;
    const auto builder = NewBuilder(*NewSurfFilterPolicy(0, 8), options);
    for (const std::string& key : SmallSet()) builder->AddKey(key);
    std::string bytes = Finish(builder.get());
    EXPECT_OK(builder->MaybePostVerify(bytes));
    bytes[bytes.size() / 2] ^= 1;
    EXPECT_EQ(verify, builder->MaybePostVerify(bytes).IsCorruption());
  }
}

// ---- Damage ----

TEST(FilterBlockTest, EveryTruncation) {
  const Keys keys = SmallSet();
  const std::string bytes = BuildBlock(keys);
  for (size_t length = 0; length < bytes.size(); length++) {
    for (bool fixed : {false, true}) {
      SCOPED_TRACE(length);
      const std::string cut = bytes.substr(0, length);
      const GuardedBlock copy(fixed ? WithRightChecksum(cut) : cut, length % 8);
      ExpectDamaged(copy.slice(), keys);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(FilterBlockTest, EveryBitFlip) {
  const Keys keys = SmallSet();
  const std::unique_ptr<const SliceTransform> first_three(
      NewFixedPrefixTransform(3));
  for (const std::string& bytes :
       {BuildBlock(keys), BuildBlockWithPrefixes(keys, *first_three)}) {
    for (size_t bit = 0; bit < 8 * bytes.size(); bit++) {
      SCOPED_TRACE("byte " + std::to_string(bit / 8) + " bit " +
                   std::to_string(bit % 8));
      const GuardedBlock copy(WithBitFlipped(bytes, bit), bit % 8);
      ExpectDamaged(copy.slice(), keys);
      if (HasFatalFailure()) return;
    }
  }
}

// A bit flip must not turn a block that is asked for prefixes into one that
// takes them for keys.
TEST(FilterBlockTest, BitFlipsDoNotLosePrefixes) {
  const Keys keys = {"abcd", "abce", "xyz1", "xyz2"};
  const std::unique_ptr<const SliceTransform> first_three(
      NewFixedPrefixTransform(3));
  const std::string bytes = BuildBlockWithPrefixes(keys, *first_three);
  for (size_t bit = 0; bit < 8 * bytes.size(); bit++) {
    SCOPED_TRACE("byte " + std::to_string(bit / 8) + " bit " +
                 std::to_string(bit % 8));
    ExpectReaderFinds(WithBitFlipped(bytes, bit), {"abc", "xyz"});
    if (HasFatalFailure()) return;
  }
}

TEST(FilterBlockTest, UnknownVersion) {
  std::string bytes = BuildBlock(SmallSet());
  for (int version = 0; version < 256; version++) {
    if (version == 1 || version == 2) continue;
    bytes[kVersionOffset] = static_cast<char>(version);
    const std::string fixed = WithRightChecksum(bytes);
    const FilterBlock block(fixed);
    EXPECT_TRUE(block.status().IsNotSupported()) << version;
    ExpectAlwaysTrue(block);
  }
}

TEST(FilterBlockTest, UnknownKind) {
  std::string bytes = BuildBlock(SmallSet());
  for (int kind = 2; kind < 256; kind++) {
    bytes[kKindOffset] = static_cast<char>(kind);
    const std::string fixed = WithRightChecksum(bytes);
    const FilterBlock block(fixed);
    EXPECT_FALSE(block.status().ok()) << kind;
    ExpectAlwaysTrue(block);
  }
}

TEST(FilterBlockTest, RandomBytes) {
  Random rnd(kSeed);
  const std::string good = BuildBlock(SmallSet());
  const Keys queries = QueriesAround(SmallSet(), 12);
  for (int round = 0; round < 20000; round++) {
    std::string bytes(rnd.Uniform(300), '\0');
    for (char& c : bytes) c = static_cast<char>(rnd.Uniform(256));
    // Half of them get past the header's first checks.
    if (round % 2 == 0) bytes = good.substr(0, kCheckedOffset) + bytes;
    if (round % 4 == 0) bytes = WithRightChecksum(bytes);
    const GuardedBlock copy(bytes, round % 8);
    AskEverything(copy.slice(), queries);
    if (round % 4 != 0) {
      EXPECT_FALSE(FilterBlock(copy.slice()).CanFilter());
    }
  }
}

// ---- Damage under a right checksum ----
//
// No checksum stands before the structural checks of SuRF and FST here. The
// answers may be wrong, the reads must stay inside the block.

TEST(FilterBlockTest, EveryBitFlipUnderARightChecksum) {
  const Keys keys = SmallSet();
  const Keys queries = QueriesAround(keys, 30);
  for (const auto& [hash_bits, real_bits] :
       {std::pair{0, 0}, {4, 4}, {0, 8}, {32, 32}}) {
    const std::string bytes =
        BuildBlock(keys, NewSurfFilterPolicy(hash_bits, real_bits));
    for (size_t bit = 0; bit < 8 * bytes.size(); bit++) {
      const GuardedBlock copy(WithRightChecksum(WithBitFlipped(bytes, bit)),
                           bit % 8);
      AskEverything(copy.slice(), queries);
      if (HasFatalFailure()) return;
    }
  }
}

// One to four changes of the kinds that checks are most likely to let pass.
std::string WithRandomDamage(std::string bytes, Random* rnd) {
  const int size = static_cast<int>(bytes.size());
  for (int change = rnd->Uniform(4); change >= 0; change--) {
    const int pos = rnd->Uniform(size);
    switch (rnd->Uniform(5)) {
      case 0:
        bytes = WithBitFlipped(bytes, 8 * pos + rnd->Uniform(8));
        break;
      case 1:
        bytes[pos] = static_cast<char>(rnd->Uniform(256));
        break;
      case 2:
        bytes[pos] = rnd->OneIn(2) ? '\0' : '\xff';
        break;
      case 3:  // two bytes change places: counts still add up
        std::swap(bytes[pos], bytes[rnd->Uniform(size)]);
        break;
      case 4:  // one bit moves: population counts still add up
        bytes = WithBitFlipped(bytes, 8 * pos + rnd->Uniform(8));
        bytes = WithBitFlipped(bytes, 8 * pos + rnd->Uniform(8));
        break;
    }
  }
  return bytes;
}

TEST(FilterBlockTest, DamagedTriesUnderARightChecksum) {
  Random rnd(kSeed);
  std::vector<KeyFamily> families = KeyFamilies(60, kSeed);
  families.push_back({"dense levels", SetWithDenseLevels()});
  int opened = 0;
  for (const KeyFamily& family : families) {
    SCOPED_TRACE(family.name);
    const Keys queries = QueriesAround(family.keys, 16);
    const std::string bytes = BuildBlock(
        family.keys, NewSurfFilterPolicy(rnd.Uniform(5), 4 * rnd.Uniform(5)));
    for (int round = 0; round < 1500; round++) {
      const std::string damaged = WithRandomDamage(bytes, &rnd);
      const GuardedBlock copy(WithRightChecksum(damaged), round % 8);
      AskEverything(copy.slice(), queries);
      if (HasFatalFailure()) return;
      opened += FilterBlock(copy.slice()).CanFilter();
    }
  }
  // The queries above must not all have ended at the checks of Open.
  EXPECT_GT(opened, 1000);
}

// ---- Each field of a trie under a right checksum ----

// A piece of a trie that means one thing, and what Open knows of it.
struct Field {
  enum Check {
    kFree,   // other values may pass
    kOnes,   // the number of ones is checked, and that none is after the end
    kExact,  // no other value passes
  };

  std::string name;
  size_t offset;
  size_t size;  // in bytes: 1, 4 or 8
  Check check;
  uint64_t used = ~uint64_t{0};  // the bits that are not after the end
};

// The fields of a SuRF's block, one after the other.
class FieldList {
 public:
  explicit FieldList(const std::string& block) : block_(block) {
    offset_ = DecodeFixed32(&block[kPayloadOffset]);
    Add("hash bits", 1, Field::kExact);
    Add("real bits", 1, Field::kExact);
    offset_ += 6;
    for (const char* name :
         {"height", "nodes", "leaves", "sections", "value bits"}) {
      Add(name, 4, Field::kExact);
    }
    const uint32_t num_sections = Number(offset_ - 8);
    const uint32_t value_bits = Number(offset_ - 4);
    const uint32_t leaves = Number(offset_ - 12);
    Add("zero", 4, Field::kFree);
    const Alphabet alphabet(&block[offset_]);
    AddArray("alphabet", Alphabet::kSize, Field::kFree);
    std::vector<FstSectionHeader> headers(num_sections);
    for (FstSectionHeader& header : headers) AddSectionHeader(&header);
    counts_ = fields_.size();
    for (const FstSectionHeader& header : headers) {
      AddArrays(header, alphabet.code_bits());
    }
    AddArray("values", PackedArray::Bytes(leaves, value_bits), Field::kFree);
    EXPECT_EQ(block.size() - kReadPadding, offset_);
  }

  const std::vector<Field>& all() const { return fields_; }

  // The counts in the headers.
  std::vector<Field> counts() const {
    std::vector<Field> counts;
    std::copy_if(fields_.begin(), fields_.begin() + counts_,
                 std::back_inserter(counts), [](const Field& field) {
                   return field.size == 4 && field.name != "zero";
                 });
    return counts;
  }

 private:
  uint32_t Number(size_t offset) const {
    return DecodeFixed32(&block_[offset]);
  }

  void Add(const std::string& name, size_t size, Field::Check check) {
    fields_.push_back({name, offset_, size, check});
    offset_ += size;
  }
  void AddArray(const std::string& name, uint64_t size, Field::Check check) {
    for (uint64_t i = 0; i < size / 8; i++) {
      Add(name + " " + std::to_string(i), 8, check);
    }
  }
  // An array of that many bits.
  void AddBits(const std::string& name, uint64_t bits) {
    AddArray(name, BitArrayBytes(bits), Field::kOnes);
    if (bits % 64 != 0) fields_.back().used = LowBits(bits % 64);
  }
  // The entries of a table and what fills its last word.
  void AddTable(const std::string& name, uint64_t entries) {
    for (uint64_t i = 0; i < entries; i++) {
      Add(name + " " + std::to_string(i), 4, Field::kExact);
    }
    offset_ += entries % 2 * 4;
  }
  void AddRankVector(const std::string& name, uint64_t bits) {
    AddBits(name, bits);
    AddTable(name + " table",
             (bits + RankVector::kBlockBits - 1) / RankVector::kBlockBits);
  }

  void AddSectionHeader(FstSectionHeader* header) {
    header->DecodeFrom(&block_[offset_]);
    for (const char* name :
         {"levels", "nodes", "edges", "children", "terminators", "runs"}) {
      Add(name, 4, Field::kExact);
    }
    // How many codes the last run has is known from this alone.
    Add("run codes", 4, Field::kFree);
    for (const char* name :
         {"remainder bits", "child encoding", "exception bits", "zero"}) {
      Add(name, 1, Field::kFree);
    }
  }

  void AddArrays(const FstSectionHeader& header, unsigned code_bits) {
    const FstSectionLayout layout(header, code_bits);
    const bool listed =
        header.child_encoding != FstSectionHeader::kHasChildBits;
    for (uint64_t group = 0; group <= layout.groups; group++) {
      Add("edges before group " + std::to_string(group), 4, Field::kExact);
      // What is listed for a group may pass for the next one's.
      const bool free = listed && group > 0 && group < layout.groups;
      Add("children before group " + std::to_string(group), 4,
          free ? Field::kFree : Field::kExact);
    }
    AddBits("labels", layout.label_bits);
    AddArray("remainders", layout.children - layout.remainders, Field::kFree);
    AddArray("children", layout.terminators - layout.children, Field::kFree);
    if (header.terminators > 0) AddRankVector("terminators", header.nodes);
    if (header.runs > 0) {
      AddRankVector("run marks", header.nodes);
      AddBits("run starts", header.run_codes);
      AddTable("run starts table",
               (header.runs + SelectVector::kSampleRate - 1) /
                   SelectVector::kSampleRate);
      AddArray("run codes", PackedArray::Bytes(header.run_codes, code_bits),
               Field::kFree);
    }
  }

  const std::string& block_;
  size_t offset_;
  std::vector<Field> fields_;
  size_t counts_ = 0;
};

uint64_t ValueOf(const Field& field, const std::string& block) {
  const char* at = &block[field.offset];
  return field.size == 1   ? static_cast<uint8_t>(*at)
         : field.size == 4 ? DecodeFixed32(at)
                           : DecodeFixed64(at);
}

// With that many of the lowest bytes of `value`.
std::string WithValue(std::string block, const Field& field, uint64_t value) {
  char bytes[8];
  EncodeFixed64(bytes, value);
  std::copy(bytes, bytes + field.size, &block[field.offset]);
  return block;
}

// Values that a field could be mistaken for.
std::set<uint64_t> OtherValues(const Field& field, uint64_t value) {
  const unsigned bits = 8 * static_cast<unsigned>(field.size);
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

struct Trie {
  std::string name;
  Keys keys;
  std::string block;
};

// Few edges end in leaves: most keys are terminators on long chains.
Keys Chains() {
  Random rnd(kSeed);
  Keys keys;
  for (std::string key : {"a", "kk", "z"}) {
    for (int link = 0; link < 12; link++) {
      keys.push_back(key);
      key += RandomString(&rnd, "aeiou", 2);
      key += "k";
    }
  }
  SortUnique(&keys);
  return keys;
}

// A run above each pair of keys.
Keys Pairs(int count) {
  Random rnd(kSeed);
  Keys keys;
  for (int i = 0; i < count; i++) {
    const std::string word = RandomString(&rnd, "abcdefg", 5) + "/run/";
    keys.push_back(word + "1");
    keys.push_back(word + "2");
    if (i % 3 == 0) keys.push_back(word);
  }
  SortUnique(&keys);
  return keys;
}

// Few edges lead to nodes.
Keys Bushes() {
  Keys keys;
  for (const std::string start : {"a", "kk", "z"}) {
    for (int i = 0; i < 24; i++) {
      keys.push_back(start + static_cast<char>(4 * i));
    }
  }
  SortUnique(&keys);
  return keys;
}

// Small tries in every encoding, with runs, terminators, and edges that lead to
// nodes told in every way; and two with more than one entry in every table.
std::vector<Trie> TriesOfEveryEncoding() {
  Random rnd(kSeed);
  std::vector<Trie> tries;
  auto add = [&](std::string name, const Keys& keys,
                 const std::vector<unsigned>& remainder_bits,
                 bool list_exceptions) {
    FstOptions options;
    options.forced = remainder_bits;
    options.list_exceptions = list_exceptions;
    SurfSuffix suffix;
    suffix.hash_bits = rnd.Uniform(4);
    suffix.real_bits = rnd.Uniform(9);
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
  return tries;
}

bool MustBeRefused(const Field& field, uint64_t value, uint64_t other) {
  return field.check == Field::kExact ||
         (field.check == Field::kOnes &&
          (PopCount(value) != PopCount(other) || (other & ~field.used) != 0));
}

TEST(FilterBlockTest, EveryFieldUnderARightChecksum) {
  int opened = 0;
  for (const Trie& trie : TriesOfEveryEncoding()) {
    SCOPED_TRACE(trie.name);
    const Keys queries = QueriesAround(trie.keys, 12);
    const FieldList fields(trie.block);
    for (const Field& field : fields.all()) {
      const uint64_t value = ValueOf(field, trie.block);
      for (uint64_t other : OtherValues(field, value)) {
        SCOPED_TRACE(field.name + ": " + std::to_string(value) + " -> " +
                     std::to_string(other));
        const GuardedBlock copy(
            WithRightChecksum(WithValue(trie.block, field, other)), other % 8);
        const FilterBlock block(copy.slice());
        opened += block.CanFilter();
        if (MustBeRefused(field, value, other)) {
          ASSERT_TRUE(block.status().IsCorruption());
        }
        ASSERT_TRUE(block.status().ok() || block.status().IsCorruption());
        if (block.CanFilter()) AskEverything(copy.slice(), queries);
        if (HasFatalFailure()) return;
      }
    }
  }
  // Not all fields can be checked.
  EXPECT_GT(opened, 1000);
}

// Counts that are wrong together: what one check adds up, another one must
// still find.
TEST(FilterBlockTest, CountsInPairsAndTriplesUnderARightChecksum) {
  for (const Trie& trie : TriesOfEveryEncoding()) {
    SCOPED_TRACE(trie.name);
    const Keys queries = QueriesAround(trie.keys, 12);
    const std::vector<Field> counts = FieldList(trie.block).counts();
    auto moved = [](const std::string& block, const Field& field, bool up) {
      return WithValue(block, field, ValueOf(field, block) + (up ? 1 : -1));
    };
    for (size_t i = 0; i < counts.size(); i++) {
      for (size_t j = i + 1; j < counts.size(); j++) {
        for (size_t k = j; k < counts.size(); k++) {
          for (int up = 0; up < 8; up++) {
            std::string damaged = moved(trie.block, counts[i], up & 1);
            damaged = moved(damaged, counts[j], up & 2);
            if (k > j) damaged = moved(damaged, counts[k], up & 4);
            const GuardedBlock copy(WithRightChecksum(damaged), up);
            if (!FilterBlock(copy.slice()).CanFilter()) continue;
            AskEverything(copy.slice(), queries);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST(FilterBlockTest, RandomDamageOfEveryEncodingUnderARightChecksum) {
  Random rnd(kSeed);
  int opened = 0;
  for (const Trie& trie : TriesOfEveryEncoding()) {
    SCOPED_TRACE(trie.name);
    const Keys queries = QueriesAround(trie.keys, 16);
    for (int round = 0; round < 1000; round++) {
      const GuardedBlock copy(
          WithRightChecksum(WithRandomDamage(trie.block, &rnd)), round % 8);
      AskEverything(copy.slice(), queries);
      if (HasFatalFailure()) return;
      opened += FilterBlock(copy.slice()).CanFilter();
    }
  }
  EXPECT_GT(opened, 1000);
}

}  // namespace ROCKSDB_NAMESPACE::protean
