// SPDX-License-Identifier: Apache-2.0

//  A RocksDB with ProteanTable answers everything as a plain RocksDB does: all
//  families of keys, and other features of RocksDB beside it, which are other
//  comparators and prefix extractors.

#include <cctype>

#include "rocksdb/slice_transform.h"
#include "tests/table/feature_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint32_t kSeed = 77;
constexpr int kLevels = 3;

void Fill(TwinDB* dbs, const Keys& keys) {
  FillTree(dbs, keys);
  ASSERT_GE(dbs->NumFiles(), 8u);
}

// All ways to read, with many walks between bounds of `order`.
void CompareAll(TwinDB* dbs, const Keys& keys, const Comparator* order) {
  WalkOptions walk;
  walk.seeks = 1500;
  walk.order = order;
  CompareReads(dbs, keys, /*snapshot=*/-1, {}, walk);
}

// Orders letters without regard to case.
class CaseInsensitiveComparator : public Comparator {
 public:
  const char* Name() const override { return "test.CaseInsensitive"; }
  int Compare(const Slice& a, const Slice& b) const override {
    return Slice(Lower(a)).compare(Lower(b));
  }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  static std::string Lower(const Slice& s) {
    std::string lower = s.ToString();
    for (char& c : lower) c = static_cast<char>(std::tolower(c));
    return lower;
  }
};

std::string RandomCase(std::string s, Random* rnd) {
  for (char& c : s) {
    if (rnd->OneIn(2)) c = static_cast<char>(std::toupper(c));
  }
  return s;
}

// A key, or a string close to one.
std::string PickAround(const Keys& keys, Random* rnd) {
  const Keys around = Around(Pick(keys, rnd));
  return Pick(around, rnd);
}

// Overwrites some of the keys, and deletes some of them singly and in ranges.
void WriteRound(TwinDB* dbs, const Keys& keys, int round, Random* rnd) {
  const auto size = static_cast<int>(keys.size());
  for (int i = 0; i < size; i++) {
    const std::string value = "round " + std::to_string(round) + " key " +
                              std::to_string(i) + std::string(i % 40, '.');
    if (round == 0 ? !rnd->OneIn(6) : rnd->OneIn(4)) {
      dbs->Put(keys[i], value);
    } else if (round > 0 && rnd->OneIn(8)) {
      dbs->Delete(keys[i]);
    }
  }
  if (round == 0 || size < 2) return;
  for (int ranges = 0; ranges < 3; ranges++) {
    std::string begin = PickAround(keys, rnd);
    std::string end =
        rnd->OneIn(3) ? PickAround(keys, rnd)
                      : keys[std::min<int>(size - 1, rnd->Uniform(size) / 8 +
                                                         rnd->Uniform(size))];
    // Mostly short ranges, so that something is left.
    const auto from = std::lower_bound(keys.begin(), keys.end(), begin);
    if (from != keys.end() && keys.end() - from > 20 && ranges > 0) {
      end = *(from + 1 + rnd->Uniform(19));
    }
    if (begin < end) dbs->DeleteRange(begin, end);
  }
}

// A tree with data on at least three levels, two overlapping files on level 0,
// range tombstones everywhere, snapshots, and unflushed writes.
void FillDeepTree(TwinDB* dbs, const Keys& keys, Random* rnd) {
  for (int round = 0; round < 7; round++) {
    WriteRound(dbs, keys, round, rnd);
    if (round == 6) break;
    dbs->Flush();
    if (round < 2) {
      dbs->CompactLevel0Into(3 - round, kFileSize);
      dbs->TakeSnapshot();
    } else if (round == 2) {
      const Slice begin = keys[keys.size() / 3];
      const Slice end = keys[keys.size() / 2];
      dbs->Compact(CompactRangeOptions(), &begin, &end);
    } else if (round == 3) {
      dbs->CompactLevel0Into(1, kFileSize);
    }
  }
  if (keys.size() > 1000) {
    ASSERT_GE(dbs->NumLevels(), 3u);
    ASSERT_GE(dbs->NumFiles(), 8u);
  }
}

// Every way of reading, of the present state and of every snapshot.
void CompareSnapshots(TwinDB* dbs, const Keys& keys, Random* rnd) {
  WalkOptions walk;
  walk.seeks = keys.size() < 10 ? 100 : 250;
  WalkOptions narrow;
  narrow.seeks = walk.seeks / 5;
  for (int snapshot = -1; snapshot < dbs->num_snapshots(); snapshot++) {
    SCOPED_TRACE("snapshot " + std::to_string(snapshot));
    Keys gets = keys;
    for (int i = 0; i < 2 * walk.seeks; i++) {
      gets.push_back(PickAround(keys, rnd));
    }
    RandomShuffle(gets.begin(), gets.end(), kSeed);
    CompareGets(dbs, gets, snapshot);
    CompareMultiGets(dbs, gets, snapshot);
    CompareScans(dbs, snapshot);
    CompareWalks(dbs, gets, snapshot, {}, walk);
    // Among a few neighbors, so that ranges hold few keys or none.
    for (int i = 0; i < 10; i++) {
      const size_t from = rnd->Uniform(static_cast<int>(keys.size()));
      const size_t to = std::min(keys.size(), from + 10);
      const Keys few(keys.begin() + from, keys.begin() + to);
      CompareWalks(dbs, few, snapshot, {}, narrow);
    }
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace

// ---- All families of keys ----

class FamiliesTest : public FeatureTest {};
PROTEAN_FEATURE_TEST(FamiliesTest);

// Every family of keys, under each policy. The options of the table alternate,
// and so do the suffixes of SuRF.
TEST_P(FamiliesTest, AllFamilies) {
  const char* const tables[] = {
      "block_size=4096",
      "block_size=256;cache_index_and_filter_blocks=true",
      "block_size=512;cache_index_and_filter_blocks=true;"
      "pin_l0_filter_and_index_blocks_in_cache=true",
      "block_size=512;index_type=kBinarySearchWithFirstKey",
      "block_size=128;index_type=kBinarySearchWithFirstKey;block_cache=64K;"
      "cache_index_and_filter_blocks=true",
      "block_size=300;no_block_cache=true;index_type=kBinarySearch"};
  const char* const surfs[] = {"surf:0:4", "surf:0:0", "surf:4:0", "surf:4:4",
                               "surf:0:16"};
  size_t turn = strlen(GetParam().name);
  for (const KeyFamily& family : KeyFamilies(1500, kSeed)) {
    const std::string table = tables[turn % std::size(tables)];
    const std::string policy = std::string(GetParam().name) == "Surf"
                                   ? surfs[turn % std::size(surfs)]
                                   : GetParam().filter_policy;
    turn++;
    SCOPED_TRACE(family.name + ", " + policy + ", " + table);
    TwinDB dbs("engine", UnthrottledFiles(),
               NewTable("ProteanTable",
                        "filter_policy=" + policy + ";block_cache=8K;" + table),
               NewTable("BlockBasedTable", table));
    Random rnd(kSeed);
    dbs.Open();
    FillDeepTree(&dbs, family.keys, &rnd);
    CompareSnapshots(&dbs, family.keys, &rnd);
    dbs.Reopen();  // the snapshots end here
    CompareSnapshots(&dbs, family.keys, &rnd);
    dbs.Compact();
    CompareSnapshots(&dbs, family.keys, &rnd);
    if (HasFailure()) return;
  }
}

// ---- Other comparators ----

class ComparatorTest : public ::testing::TestWithParam<const char*> {
 protected:
  // All reads are right, and exactly one line says that ranges are not
  // filtered, however many files there are.
  void CompareWith(const Comparator* comparator, const Keys& keys,
                   const Keys& queries) {
    const auto logger = std::make_shared<RecordingLogger>();
    Options options = ManySmallFiles(kLevels);
    options.comparator = comparator;
    TwinDB dbs("comparator", options, NewTable("ProteanTable", GetParam()));
    dbs.options(TwinDB::kProtean).info_log = logger;
    dbs.Open();
    Fill(&dbs, keys);
    CompareAll(&dbs, queries, comparator);
    dbs.Compact();
    CompareAll(&dbs, queries, comparator);
    dbs.Reopen();
    CompareAll(&dbs, queries, comparator);
    const Keys warnings = logger->Lines({"ProteanTable", "range filters"});
    ASSERT_EQ(1u, warnings.size());
    EXPECT_NE(std::string::npos, warnings[0].find(comparator->Name()));
    EXPECT_EQ(1u, logger->Lines({"ProteanTable:"}).size());
  }
};

TEST_P(ComparatorTest, ReverseBytewise) {
  for (int family : {0, 2, 4}) {
    const Keys keys = KeyFamilies(1500, kSeed)[family].keys;
    CompareWith(ReverseBytewiseComparator(), keys, keys);
  }
}

TEST_P(ComparatorTest, CaseInsensitive) {
  static const CaseInsensitiveComparator comparator;
  Random rnd(kSeed);
  Keys keys;
  Keys queries;
  const KeyFamily emails = KeyFamilies(1500, kSeed)[2];
  for (const std::string& key : emails.keys) {
    keys.push_back(RandomCase(key, &rnd));
    queries.push_back(RandomCase(key, &rnd));
  }
  CompareWith(&comparator, keys, queries);
}

INSTANTIATE_TEST_SUITE_P(
    TableOptions, ComparatorTest,
    ::testing::Values("filter_policy=surf:4:4;block_size=512",
                      "filter_policy=surf:0:8;block_size=512;"
                      "cache_index_and_filter_blocks=true"));

// ---- Prefix extractors ----

class PrefixTest : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr size_t kPrefix = 4;

  // Some hundred prefixes with some keys each. All keys have a whole prefix:
  // what RocksDB's automatic prefix mode does with shorter keys does not
  // concern Protean.
  PrefixTest() {
    Random rnd(kSeed);
    for (int prefix = 0; prefix < 200; prefix++) {
      const std::string start = BigEndian(rnd.Uniform(1000) * 3).substr(4);
      const int count = 1 + rnd.Uniform(15);
      for (int i = 0; i < count; i++) {
        keys_.push_back(start + RandomString(&rnd, "abc", 8));
      }
    }
    SortUnique(&keys_);
  }

  // Keys, neighbors of keys, and prefixes that no key has.
  Keys Targets() const {
    Random rnd(kSeed);
    Keys targets;
    for (int i = 0; i < 1500; i++) {
      if (rnd.OneIn(4)) {
        targets.push_back(BigEndian(rnd.Uniform(3000)).substr(4) + "b");
        continue;
      }
      const std::string target = Pick(Around(Pick(keys_, &rnd)), &rnd);
      if (target.size() >= kPrefix) targets.push_back(target);
    }
    return targets;
  }

  // All modes but the default one, in which RocksDB promises only keys with the
  // prefix of the target.
  void CompareModes(TwinDB* dbs) {
    CompareGets(dbs, keys_);
    CompareGets(dbs, Targets());
    CompareMultiGets(dbs, Targets());
    ReadOptions modes[4];
    modes[0].total_order_seek = true;
    modes[1].auto_prefix_mode = true;
    modes[2].prefix_same_as_start = true;
    modes[3].prefix_same_as_start = modes[3].total_order_seek = true;
    CompareScans(dbs, -1, modes[0]);
    for (const ReadOptions& mode : modes) {
      for (bool closed : {false, true}) CompareSeeks(dbs, mode, closed);
    }
  }

  void CompareSeeks(TwinDB* dbs, const ReadOptions& mode, bool closed) {
    Random rnd(kSeed);
    TwinIterator it(dbs, mode, /*lower=*/false, /*upper=*/closed);
    for (const std::string& target : Targets()) {
      it.SetUpper(Bound(target, &rnd));
      bool valid = it.Seek(target);
      for (int step = rnd.Uniform(5); valid && step > 0; step--) {
        valid = it.Next();
      }
      if (HasFailure()) return;
    }
  }

  // Inside the target's prefix, at its end, or far after it.
  std::string Bound(const std::string& target, Random* rnd) const {
    const std::string prefix = target.substr(0, kPrefix);
    if (rnd->OneIn(3)) return prefix + "\xff";
    if (rnd->OneIn(2)) return target + "b";
    return Pick(keys_, rnd);
  }

  Keys keys_;
};

// Under an extractor that changes from one opening to the next, and for keys
// out of its domain: differential_test.
TEST_P(PrefixTest, ExtractorThatStays) {
  const std::string table = std::string("whole_key_filtering=") +
                            (GetParam() ? "true" : "false") + ";block_size=512";
  for (const bool capped : {false, true}) {
    Options options = ManySmallFiles(kLevels);
    options.prefix_extractor.reset(capped ? NewCappedPrefixTransform(kPrefix)
                                          : NewFixedPrefixTransform(kPrefix));
    TwinDB dbs("prefix", options,
               NewTable("ProteanTable", "filter_policy=surf:4:4;" + table),
               NewTable("BlockBasedTable", table));
    dbs.Open();
    Fill(&dbs, keys_);
    CompareModes(&dbs);
    // RocksDB's own table reads these files.
    dbs.Close();
    dbs.options(TwinDB::kProtean).table_factory =
        NewTable("BlockBasedTable", "filter_policy=surf:0:8;" + table);
    dbs.Open();
    CompareModes(&dbs);
    dbs.Compact();
    CompareModes(&dbs);
  }
}

INSTANTIATE_TEST_SUITE_P(WholeKeys, PrefixTest, ::testing::Bool());

}  // namespace ROCKSDB_NAMESPACE::protean
