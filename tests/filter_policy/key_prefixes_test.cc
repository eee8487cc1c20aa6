// SPDX-License-Identifier: Apache-2.0

//  The keys that a builder keeps, and what each shares with the one before it;
//  what is counted of their prefixes, against prefixes that are cut one by one;
//  and the trie of prefixes of one length against a sorted list of them.

#include "filter_policy/proteus/uniform_trie.h"
#include "tests/filter_blocks.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Keys ----

namespace {

// What keys share, whichever are visited.
void ExpectShared(const Keys& keys, const KeyStore& store) {
  Random rnd(10);
  for (int round = 0; round < 5; round++) {
    size_t begin = 0;
    size_t end = keys.size();
    if (round > 0 && end > 0) {
      begin = rnd.Uniform(static_cast<int>(end));
      end = begin + 1 + rnd.Uniform(static_cast<int>(end - begin));
    }
    size_t visited = begin;
    store.ForEach(begin, end, [&](const Slice& key, uint32_t shared) {
      const uint32_t expected =
          visited == begin ? 0 : SharedBits(keys[visited - 1], keys[visited]);
      ASSERT_EQ(Slice(keys[visited]), key) << visited;
      ASSERT_EQ(expected, shared) << visited << " of " << begin;
      visited++;
    });
    EXPECT_EQ(end, visited);
  }
}

void ExpectKeys(const Keys& keys, const KeyStore& store) {
  ASSERT_EQ(keys.size(), store.size());
  for (size_t i = 0; i < keys.size(); i++) {
    ASSERT_EQ(Slice(keys[i]), store[i]) << i;
  }
  ExpectShared(keys, store);
}

class KeepingBuilder : public RangeFilterBuilder {
 public:
  explicit KeepingBuilder(KeyStore* store)
      : RangeFilterBuilder(FilterTask()), store_(store) {}
  void AddAll(const Keys& keys) {
    for (const std::string& key : keys) EXPECT_TRUE(AddKey(key));
    std::vector<PlannedPart> parts;
    EXPECT_TRUE(Finish(KeysEnd(), &parts).ok());
    EXPECT_EQ(keys.size(), num_keys());
  }
  void Write(size_t, char*) override {}
  double ApproximateBitsPerKey() const override { return 1; }
  uint64_t MaxSize() const override { return 0; }

 protected:
  void Add(const Slice& key, size_t shared, size_t next_shared) override {
    EXPECT_EQ(next_shared_, shared);
    const Slice last(last_);
    EXPECT_EQ(SharedBytes(last, key), shared);
    EXPECT_EQ(shared < std::min(last.size(), key.size()) ? SharedBits(last, key)
                                                         : kUnknownBits,
              shared_bits());
    last_ = key.ToString();
    store_->Append(key, shared_bits());
    next_shared_ = next_shared;
  }
  Status Plan(const KeysEnd&, std::vector<PlannedPart>*) override {
    return Status::OK();
  }
  size_t Memory() const override { return 0; }

 private:
  KeyStore* const store_;
  std::string last_;
  size_t next_shared_ = 0;
};

TEST(KeyStoreTest, NumbersOfKeys) {
  for (const std::string& head : {std::string(), std::string(190, 'p')}) {
    for (int number : {0, 1, 2, 1023, 1024, 1025, 2048, 2049, 5000}) {
      Keys keys;
      for (int i = 0; i < number; i++) keys.push_back(head + Digits(i, 9));
      ExpectKeys(keys, Stored(keys));
    }
  }
}

TEST(KeyStoreTest, KeysThatHurt) {
  // Chunks of all kinds follow each other: short and long keys, similar and
  // different ones, each a prefix of the next, equal ones, and in any order.
  Random rnd(8);
  Keys keys(1500);
  for (int i = 0; i < 3000; i++) {
    keys.push_back(std::string(100, '\0') + Digits(i, 9));
  }
  for (int i = 0; i < 3000; i++) keys.push_back(std::string(i, '\xff'));
  for (int i = 0; i < 3000; i++) keys.push_back(rnd.RandomString(300));
  for (int i = 0; i < 3000; i++) {
    keys.push_back(std::string(rnd.Uniform(600), 'k') + rnd.RandomString(4));
  }
  for (int i = 0; i < 3000; i++) keys.push_back(Digits(i, 9));
  for (int i = 0; i < 3000; i++) keys.push_back(std::string(2000, 's'));
  ExpectKeys(keys, Stored(keys));
  std::reverse(keys.begin(), keys.end());
  ExpectKeys(keys, Stored(keys));
}

TEST(KeyStoreTest, WhatKeysShare) {
  std::vector<KeyFamily> families = KeyFamilies(3000, /*seed=*/11);
  // Keys that differ early and have a long end in common.
  Random rnd(12);
  Keys keys;
  for (int i = 0; i < 5000; i++) {
    keys.push_back(rnd.RandomString(12) + std::string(100, 'e'));
  }
  // Neighbors that share 254 bits, 255, 256 and more.
  for (int bit = 240; bit < 270; bit++) {
    std::string key(40, '\0');
    key[bit / 8] = static_cast<char>(0x80 >> bit % 8);
    keys.push_back(key);
  }
  // Keys that are cut off, and differ before or behind that place.
  for (const char* tail : {"a", "b"}) {
    for (int i = 0; i < 2; i++) {
      std::string key(KeyStore::kMaxKeyBytes + 10, 'z');
      key[i == 0 ? 20 : KeyStore::kMaxKeyBytes - 1] = 'y';
      keys.push_back(key + tail);
    }
  }
  std::sort(keys.begin(), keys.end());
  families.push_back({"long keys", keys});
  for (KeyFamily& family : families) {
    SCOPED_TRACE(family.name);
    KeyStore store;
    KeepingBuilder(&store).AddAll(family.keys);
    for (std::string& key : family.keys) {
      key.resize(std::min(key.size(), KeyStore::kMaxKeyBytes));
    }
    ExpectShared(family.keys, store);
  }
}

TEST(KeyStoreTest, PartsAndKeysThatAreNotTaken) {
  KeyStore store;
  KeepingBuilder first(&store);
  EXPECT_TRUE(first.AddKey("b"));
  EXPECT_TRUE(first.AddKey("b"));
  EXPECT_FALSE(first.AddKey("a"));
  EXPECT_TRUE(first.AddKey("c"));
  EXPECT_FALSE(first.AddKey("bb"));
  std::vector<PlannedPart> parts;
  ASSERT_TRUE(first.Finish(KeysEnd(), &parts).ok());
  // The first key of a part is the first one for its builder only.
  KeepingBuilder(&store).AddAll({"ca", "cb"});
  ExpectShared({"b", "c", "ca", "cb"}, store);
}

TEST(KeyStoreTest, Memory) {
  constexpr int kKeys = 100000;
  KeyStore unlike;
  KeyStore numbers;
  Random rnd(9);
  for (int i = 0; i < kKeys; i++) {
    unlike.Append(rnd.RandomString(197));
    numbers.Append(Digits(i, 8));
  }
  EXPECT_LT(unlike.MemoryUsage(), 220u * kKeys);
  EXPECT_LT(numbers.MemoryUsage(), 10u * kKeys);
  numbers.Clear();
  EXPECT_EQ(0u, numbers.size());
  EXPECT_EQ(0u, numbers.MemoryUsage());
}

// ---- Counts of prefixes ----

std::vector<KeyFamily> Families() {
  std::vector<KeyFamily> families = KeyFamilies(150, 21);
  Random rnd(22);
  for (int i = 0; i < 20; i++) {
    const std::string bytes("\0\x01\x80\xff", i % 2 == 0 ? 4 : 2);
    families.push_back(
        {"random " + std::to_string(i), MakeKeys(60, [&](size_t) {
           return RandomString(&rnd, bytes, 1 + i);
         })});
  }
  return families;
}

TEST(KeyStatisticsTest, CountsOfPrefixesAndSeries) {
  for (const KeyFamily& family : Families()) {
    SCOPED_TRACE(family.name);
    const KeyStore store = Stored(family.keys);
    const KeyStatistics statistics(store);
    EXPECT_EQ(family.keys.size(), statistics.num_keys());
    const auto [shortest_key, longest_key] = std::minmax_element(
        family.keys.begin(), family.keys.end(),
        [](const auto& a, const auto& b) { return a.size() < b.size(); });
    const size_t longest = longest_key->size();
    EXPECT_EQ(shortest_key->size(), statistics.shortest_key());
    EXPECT_EQ(longest, statistics.longest_key());
    const auto last = static_cast<uint32_t>(8 * longest + 20);
    for (uint32_t bits = 0; bits <= last; bits += bits < 300 ? 1 : 41) {
      ASSERT_EQ(PrefixesOf(family.keys, bits).size(), statistics.Prefixes(bits))
          << bits;
    }
    std::map<uint32_t, uint64_t> counts;  // of keys at least as long
    for (size_t bytes = 1; bytes <= longest; bytes++) {
      const auto bits = static_cast<uint32_t>(8 * bytes);
      counts[bits] = PrefixesOf(family.keys, bits, bytes).size();
      ASSERT_EQ(counts[bits], statistics.PrefixesOfLongKeys(bits)) << bits;
    }
    for (uint32_t first = 8; first <= 8 * longest; first += 8) {
      for (uint32_t stride : {0, 8, 16, 24, 64}) {
        uint64_t expected = PrefixesOf(family.keys, first).size();
        for (uint32_t bits = first + stride; stride > 0 && bits <= 8 * longest;
             bits += stride) {
          expected += counts[bits];
        }
        ASSERT_EQ(expected, statistics.PrefixesOfSeries(first, stride))
            << first << "+" << stride;
      }
      if (first > 200) first += 160;
    }
  }
}

TEST(KeyStatisticsTest, NoKeys) {
  const KeyStore store;
  const KeyStatistics none(store);
  EXPECT_EQ(0u, none.num_keys());
  EXPECT_EQ(0u, none.Prefixes(0));
  EXPECT_EQ(0u, none.Prefixes(64));
}

// Keys that differ only after the last bits that are counted are distinct.
TEST(KeyStatisticsTest, LongSharedPrefixes) {
  const KeyStore store = Stored(MakeKeys(256, [](size_t i) {
    return std::string(600, 'x') + static_cast<char>(i) + "y";
  }));
  const KeyStatistics statistics(store);
  EXPECT_EQ(1u, statistics.Prefixes(KeyStatistics::kMaxBits));
  EXPECT_EQ(256u, statistics.Prefixes(8 * 602));
}

// Counts the levels of a trie of prefixes that all differ.
std::vector<FstLevelCounts> CountLevels(const Keys& keys, uint32_t bits,
                                        uint32_t lead) {
  std::vector<FstLevelCounts> levels;
  for (uint32_t begin = 0, end; begin < bits; begin = end) {
    end = std::min(bits, begin == 0 ? 8 - lead : begin + 8);
    std::map<std::string, int> above;
    std::map<std::string, int> below;
    for (const std::string& key : keys) {
      above[PrefixOf(key, begin)]++;
      below[PrefixOf(key, end)]++;
    }
    FstLevelCounts counts;
    for (const auto& [prefix, count] : above) {
      counts.nodes += begin == 0 || count > 1;
    }
    for (const auto& [prefix, count] : below) {
      const bool here = begin == 0 || above[PrefixOf(prefix, begin)] > 1;
      counts.edges += here;
      counts.children += here && count > 1;
    }
    if (counts.nodes == 0) break;
    levels.push_back(counts);
  }
  return levels;
}

TEST(KeyStatisticsTest, LevelsOfTries) {
  size_t compared = 0;
  for (const KeyFamily& family : Families()) {
    const KeyStore store = Stored(family.keys);
    const KeyStatistics statistics(store);
    for (uint32_t bits : {1, 5, 8, 11, 16, 24, 30, 48, 64, 80, 200, 512}) {
      // Keys with the same prefix are counted as if they had different ones.
      if (PrefixesOf(family.keys, bits).size() != family.keys.size()) continue;
      for (uint32_t lead : {0, 3, 7}) {
        SCOPED_TRACE(family.name + ", " + std::to_string(bits) +
                     " bits, lead " + std::to_string(lead));
        const auto expected = CountLevels(family.keys, bits, lead);
        const auto levels = statistics.TrieLevels(bits, lead);
        ASSERT_EQ(expected.size(), levels.size());
        for (size_t i = 0; i < levels.size(); i++) {
          EXPECT_EQ(expected[i].nodes, levels[i].nodes) << i;
          EXPECT_EQ(expected[i].edges, levels[i].edges) << i;
          EXPECT_EQ(expected[i].children, levels[i].children) << i;
        }
        compared++;
      }
    }
  }
  EXPECT_GT(compared, 40u);
}

// ---- The trie of prefixes ----

std::string Build(const Keys& prefixes, uint32_t bits) {
  UniformTrieBuilder builder(bits);
  size_t shared = 0;
  for (size_t i = 0; i + 1 < prefixes.size(); i++) {
    const size_t next = Slice(prefixes[i]).difference_offset(prefixes[i + 1]);
    builder.Add(prefixes[i].data(), shared, next);
    shared = next;
  }
  builder.AddLast(prefixes.back().data(), shared);
  uint64_t size = 0;
  EXPECT_TRUE(builder.Prepare(&size));
  std::string bytes(size + kReadPadding, '\0');
  builder.Write(bytes.data());
  EXPECT_EQ(std::string(kReadPadding, '\0'), bytes.substr(size));
  return bytes;
}

void Compare(const Keys& prefixes, uint32_t bits, const Keys& queries) {
  const GuardedBlock bytes(Build(prefixes, bits), 3);
  Slice input(bytes.slice().data(), bytes.slice().size() - kReadPadding);
  UniformTrie trie;
  ASSERT_OK(trie.Open(&input, /*lead=*/0));
  EXPECT_TRUE(input.empty());
  EXPECT_EQ(bits, trie.prefix_bits());
  const auto contains = [&](const std::string& prefix) {
    return std::binary_search(prefixes.begin(), prefixes.end(), prefix);
  };
  for (const std::string& prefix : prefixes) {
    ASSERT_TRUE(trie.Contains(prefix.data())) << Hex(prefix);
  }
  for (const std::string& lo : queries) {
    ASSERT_EQ(contains(lo), trie.Contains(lo.data())) << Hex(lo);
    const auto above = std::upper_bound(prefixes.begin(), prefixes.end(), lo);
    for (const std::string& hi : queries) {
      if (hi <= lo) continue;
      SCOPED_TRACE(Hex(lo) + " to " + Hex(hi));
      const UniformTrie::Matches matches = trie.Find(lo.data(), hi.data());
      ASSERT_EQ(above != prefixes.end() && *above < hi, matches.between);
      if (matches.between) continue;
      ASSERT_EQ(contains(lo), matches.lo);
      ASSERT_EQ(contains(hi), matches.hi);
    }
  }
}

TEST(UniformTrieTest, AllSetsOfThreeBits) {
  for (int set = 1; set < 256; set++) {
    Keys prefixes;
    Keys all;
    for (int i = 0; i < 8; i++) {
      all.push_back(std::string(1, static_cast<char>(i << 5)));
      if (set >> i & 1) prefixes.push_back(all.back());
    }
    SCOPED_TRACE(set);
    Compare(prefixes, 3, all);
  }
}

TEST(UniformTrieTest, SetsOfTenBits) {
  Keys all;
  for (int i = 0; i < 1024; i += 3) {
    all.push_back({static_cast<char>(i >> 2), static_cast<char>(i << 6)});
  }
  Random rnd(9);
  for (int odds : {1, 2, 10, 100, 400}) {
    Keys prefixes;
    for (const std::string& prefix : all) {
      if (rnd.OneIn(odds)) prefixes.push_back(prefix);
    }
    if (!prefixes.empty()) Compare(prefixes, 10, all);
  }
}

TEST(UniformTrieTest, Families) {
  Random rnd(10);
  for (const KeyFamily& family : KeyFamilies(200, 10)) {
    const Keys strings = AroundEach(
        MakeKeys(8, [&](size_t) { return AnyOf(family.keys, &rnd); }));
    for (uint32_t bits : {1,  7,  8,  9,   20,  56,  57,  63,  64,   65,
                          71, 72, 73, 113, 128, 129, 200, 520, 3999, 4100}) {
      SCOPED_TRACE(family.name + ", " + std::to_string(bits) + " bits");
      Compare(PrefixesOf(family.keys, bits), bits, PrefixesOf(strings, bits));
    }
  }
}

// The estimate before the trie is built is close to its size.
TEST(UniformTrieTest, EstimatedSize) {
  for (const KeyFamily& family : KeyFamilies(5000, 11)) {
    if (family.keys.size() < 1000) continue;
    const KeyStore store = Stored(family.keys);
    const KeyStatistics statistics(store);
    for (uint32_t bits : {8, 12, 16, 24, 31, 40, 64}) {
      const size_t actual =
          Build(PrefixesOf(family.keys, bits), bits).size() - kReadPadding;
      const uint64_t estimate =
          EstimateUniformTrie(bits, statistics.TrieLevels(bits, 0), 8);
      EXPECT_GT(1.15 * estimate + 100, actual) << family.name << " " << bits;
    }
  }
}

// (Tries of which bytes have changed: filter_damage_test.cc.)
TEST(UniformTrieTest, CutShort) {
  const Keys keys = KeyFamilies(60, 12)[2].keys;
  for (uint32_t bits : {5, 16, 27, 100}) {
    const std::string bytes = Build(PrefixesOf(keys, bits), bits);
    for (size_t size = 0; size < bytes.size() - kReadPadding; size++) {
      const GuardedBlock copy(bytes.substr(0, size) +
                              std::string(kReadPadding, '\0'));
      Slice input(copy.slice().data(), size);
      EXPECT_NOK(UniformTrie().Open(&input, /*lead=*/0)) << size;
    }
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
