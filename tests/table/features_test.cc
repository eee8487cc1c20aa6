// SPDX-License-Identifier: Apache-2.0

//  A RocksDB with ProteanTable answers everything as a plain RocksDB does: all
//  families of keys, and other comparators. (Prefix extractors:
//  differential_test.)

#include <cctype>

#include "tests/table/feature_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint32_t kSeed = 77;

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

// Range tombstones, mostly of short ranges, so that something is left.
void DeleteRanges(TwinDB* dbs, const Keys& keys, Random* rnd) {
  for (int ranges = 0; ranges < 3; ranges++) {
    const std::string begin = PickAround(keys, rnd);
    std::string end = PickAround(keys, rnd);
    const auto from = std::lower_bound(keys.begin(), keys.end(), begin);
    if (ranges > 0 && keys.end() - from > 20) end = from[1 + rnd->Uniform(19)];
    if (begin < end) dbs->DeleteRange(begin, end);
  }
}

// Every way of reading, of the present state and of every snapshot.
void CompareSnapshots(TwinDB* dbs, const Keys& keys, Random* rnd) {
  WalkOptions walk;
  walk.seeks = keys.size() < 10 ? 100 : 150;
  WalkOptions narrow;
  narrow.seeks = walk.seeks / 5;
  for (int snapshot = -1; snapshot < dbs->num_snapshots(); snapshot++) {
    SCOPED_TRACE("snapshot " + std::to_string(snapshot));
    Keys asked = keys;
    for (int i = 0; i < 500; i++) asked.push_back(PickAround(keys, rnd));
    RandomShuffle(asked.begin(), asked.end(), kSeed);
    CompareGets(dbs, asked, snapshot);
    CompareMultiGets(dbs, asked, snapshot);
    CompareScans(dbs, snapshot);
    CompareWalks(dbs, asked, snapshot, {}, walk);
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
    FillTree(&dbs, family.keys, [&](int round) {
      if (round > 0) DeleteRanges(&dbs, family.keys, &rnd);
      if (round < 2) dbs.TakeSnapshot();
    });
    CompareSnapshots(&dbs, family.keys, &rnd);
    dbs.Reopen();  // the snapshots end here
    CompareSnapshots(&dbs, family.keys, &rnd);
    dbs.Compact();
    CompareSnapshots(&dbs, family.keys, &rnd);
    if (HasFailure()) return;
  }
}

// ---- Other comparators ----

class ComparatorTest : public ::testing::TestWithParam<const char*> {};

// All reads are right, and exactly one line says that ranges are not filtered,
// however many files there are.
TEST_P(ComparatorTest, RangesAreNotFiltered) {
  static const CaseInsensitiveComparator case_insensitive;
  Random rnd(kSeed);
  Keys keys;
  Keys queries;
  const KeyFamily emails = KeyFamilies(1500, kSeed)[2];
  for (const std::string& key : emails.keys) {
    keys.push_back(RandomCase(key, &rnd));
    queries.push_back(rnd.OneIn(2) ? keys.back() : RandomCase(key, &rnd));
  }
  for (const Comparator* order :
       {ReverseBytewiseComparator(),
        static_cast<const Comparator*>(&case_insensitive)}) {
    SCOPED_TRACE(order->Name());
    const auto logger = std::make_shared<RecordingLogger>();
    Options options = ManySmallFiles(/*num_levels=*/3);
    options.comparator = order;
    TwinDB dbs("comparator", options, NewTable("ProteanTable", GetParam()));
    dbs.options(TwinDB::kProtean).info_log = logger;
    WalkOptions walk;
    walk.seeks = 1500;
    walk.order = order;
    dbs.Open();
    FillTree(&dbs, keys);
    ASSERT_GE(dbs.NumFiles(), 8u);
    CompareReads(&dbs, queries, /*snapshot=*/-1, {}, walk);
    dbs.Compact();
    CompareReads(&dbs, queries, /*snapshot=*/-1, {}, walk);
    dbs.Reopen();
    CompareReads(&dbs, queries, /*snapshot=*/-1, {}, walk);
    const Keys warnings = logger->Lines({"ProteanTable:"});
    ASSERT_EQ(1u, warnings.size());
    ExpectHas(warnings[0], {"range filters", order->Name()});
  }
}

INSTANTIATE_TEST_SUITE_P(
    TableOptions, ComparatorTest,
    ::testing::Values("filter_policy=surf:4:4;block_size=512",
                      "filter_policy=surf:0:8;block_size=512;"
                      "cache_index_and_filter_blocks=true"));

}  // namespace ROCKSDB_NAMESPACE::protean
