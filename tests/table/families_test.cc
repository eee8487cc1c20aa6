// SPDX-License-Identifier: Apache-2.0

//  A RocksDB with ProteanTable answers every read as a plain RocksDB does, with
//  range deletions and snapshots. (Other features: features_test.)

#include "tests/table/feature_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint32_t kSeed = 77;

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

class FamiliesTest : public FeatureTest {};
PROTEAN_FEATURE_TEST(FamiliesTest);

// Under each policy. The options of the table alternate, and so do the suffixes
// of SuRF.
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
  for (const KeyFamily& family : KeyFamilies(1000, kSeed)) {
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

}  // namespace ROCKSDB_NAMESPACE::protean
