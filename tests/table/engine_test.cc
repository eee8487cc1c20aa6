// SPDX-License-Identifier: Apache-2.0

//  A RocksDB with ProteanTable answers everything as a plain RocksDB does.

#include "tests/table/feature_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint32_t kSeed = 4711;
constexpr size_t kFamilySize = 1500;

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
  WriteRound(dbs, keys, 0, rnd);
  dbs->Flush();
  dbs->CompactLevel0Into(3, kFileSize);
  dbs->TakeSnapshot();
  WriteRound(dbs, keys, 1, rnd);
  dbs->Flush();
  dbs->CompactLevel0Into(2, kFileSize);
  dbs->TakeSnapshot();
  WriteRound(dbs, keys, 2, rnd);
  dbs->Flush();
  const Slice begin = keys[keys.size() / 3];
  const Slice end = keys[keys.size() / 2];
  dbs->Compact(CompactRangeOptions(), &begin, &end);
  for (int round : {3, 4, 5, 6}) {
    WriteRound(dbs, keys, round, rnd);
    if (round < 6) dbs->Flush();
    if (round == 3) dbs->CompactLevel0Into(1, kFileSize);
  }
}

// Seeks with an upper bound: around keys, into gaps, empty and reversed ranges.
// The bounds of an iterator change all the time.
void CompareClosedSeeks(TwinDB* dbs, const Keys& keys, int count, Random* rnd,
                        int snapshot) {
  TwinIterator it(dbs, {}, /*lower=*/false, /*upper=*/true, snapshot);
  for (int i = 0; i < count && !::testing::Test::HasFailure(); i++) {
    const std::string lo = PickAround(keys, rnd);
    switch (rnd->Uniform(4)) {
      case 0:
        it.SetUpper(PickAround(keys, rnd));  // reversed half of the time
        break;
      case 1:
        it.SetUpper(Pick(Around(lo), rnd));
        break;
      case 2:
        it.SetUpper(lo + std::string(1 + rnd->Uniform(2), '\0'));
        break;
      case 3: {
        const auto from = std::lower_bound(keys.begin(), keys.end(), lo);
        const auto left = static_cast<int>(keys.end() - from);
        it.SetUpper(
            left == 0 ? lo + "\xff"
                      : Pick(Around(from[rnd->Uniform(left) % 5 % left]), rnd));
        break;
      }
    }
    bool valid = rnd->OneIn(8) ? it.SeekToFirst() : it.Seek(lo);
    for (int step = rnd->Uniform(8); valid && step > 0; step--) {
      valid = it.Next();
    }
  }
}

// Full scans with an upper bound, from SeekToFirst and from Seek.
void CompareClosedScans(TwinDB* dbs, const Keys& keys, Random* rnd,
                        int snapshot) {
  TwinIterator it(dbs, {}, /*lower=*/false, /*upper=*/true, snapshot);
  for (const std::string& hi : {std::string(100, '\xff'), PickAround(keys, rnd),
                                keys.front(), std::string()}) {
    it.SetUpper(hi);
    for (bool valid = it.SeekToFirst(); valid;) valid = it.Next();
    for (bool valid = it.Seek(PickAround(keys, rnd)); valid;) valid = it.Next();
  }
}

// Every way of reading, of the present state and of every snapshot.
void CompareAll(TwinDB* dbs, const Keys& keys, Random* rnd) {
  const int queries = keys.size() < 10 ? 100 : 250;
  for (int snapshot = -1; snapshot < dbs->num_snapshots(); snapshot++) {
    SCOPED_TRACE("snapshot " + std::to_string(snapshot));
    Keys gets = keys;
    for (int i = 0; i < 2 * queries; i++) gets.push_back(PickAround(keys, rnd));
    CompareGets(dbs, gets, snapshot);
    RandomShuffle(gets.begin(), gets.end(), kSeed);
    CompareMultiGets(dbs, gets, snapshot);
    CompareScans(dbs, snapshot);
    CompareClosedScans(dbs, keys, rnd, snapshot);
    CompareClosedSeeks(dbs, keys, 4 * queries, rnd, snapshot);
    WalkOptions walk;
    walk.seeks = queries;
    CompareWalks(dbs, gets, snapshot, {}, walk);
    if (::testing::Test::HasFailure()) return;
  }
}

// Fills a tree and compares it as it is, after reopening, and after compaction.
void CompareThroughLife(TwinDB* dbs, const Keys& keys) {
  Random rnd(kSeed);
  dbs->Open();
  FillDeepTree(dbs, keys, &rnd);
  if (keys.size() > 1000) {
    ASSERT_GE(dbs->NumLevels(), 3u);
    ASSERT_GE(dbs->NumFiles(), 8u);
  }
  CompareAll(dbs, keys, &rnd);
  dbs->Reopen();  // the snapshots end here
  CompareAll(dbs, keys, &rnd);
  dbs->Compact();
  CompareAll(dbs, keys, &rnd);
}

}  // namespace

// ---- The same answers as a plain RocksDB ----

class EngineTest : public FeatureTest {};
PROTEAN_FEATURE_TEST(EngineTest);

// Every family of keys, under each policy. The options of the table alternate,
// and so do the suffixes of SuRF.
TEST_P(EngineTest, AllFamilies) {
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
  printf("seed %u\n", kSeed);
  size_t turn = strlen(GetParam().name);
  for (const KeyFamily& family : KeyFamilies(kFamilySize, kSeed)) {
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
    CompareThroughLife(&dbs, family.keys);
    if (HasFailure()) return;
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
