// SPDX-License-Identifier: Apache-2.0

//  Difficult keys, a tree of them under each policy, every way to read it, and
//  the proof that filters took part in the answers.

#pragma once

#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Data ----

// The empty key, runs of 0x00 and 0xff, chains of keys that are prefixes of
// each other, long shared prefixes, and random integers.
inline Keys HurtfulKeys(size_t size = 800) {
  Keys keys = {""};
  for (const KeyFamily& family : KeyFamilies(size / 4, 99)) {
    if (family.name == "random integers" || family.name == "emails" ||
        family.name == "prefix chains" || family.name == "runs of 00 and ff") {
      keys.insert(keys.end(), family.keys.begin(), family.keys.end());
    }
  }
  SortUnique(&keys);
  return keys;
}

// The keys, and strings close to them, most of which are not keys.
inline Keys WithNeighbours(const Keys& keys) {
  Random rnd(5);
  Keys all = keys;
  for (const std::string& key : keys) all.push_back(AnyOf(Around(key), &rnd));
  SortUnique(&all);
  return all;
}

// Writes and deletes some of the keys in four rounds: two sorted runs of many
// files, one file in level 0, and a memtable. `after_round` may read or write
// more.
inline void FillTree(
    TwinDB* dbs, const Keys& keys,
    const std::function<void(int round)>& after_round = [](int) {}) {
  Random rnd(77);
  for (int round = 0; round < 4; round++) {
    for (const std::string& key : keys) {
      if (rnd.OneIn(2)) {
        dbs->Put(key,
                 "a value of some length, of round " + std::to_string(round));
      }
      if (rnd.OneIn(10)) dbs->Delete(key);
    }
    after_round(round);
    if (round == 3) break;
    dbs->Flush();
    if (round < 2) dbs->CompactLevel0Into(2 - round, kFileSize);
  }
  ASSERT_GE(dbs->NumFiles(), keys.size() < 500 ? 0u : 4u);
}

// ---- Reading ----

struct WalkOptions {
  int seeks = 120;
  bool lower = false;
  bool upper = false;
  bool backwards = true;
  const Comparator* order = BytewiseComparator();
};

// Seeks of all kinds, each with different bounds and a few steps back and
// forth. Half of the ranges are so narrow that they are empty in most files.
inline void WalkBoth(TwinIterator* it, const Keys& keys,
                     const WalkOptions& options, uint32_t seed = 77) {
  Random rnd(seed);
  for (int i = 0; i < options.seeks; i++) {
    if (::testing::Test::HasFailure()) return;
    std::string lo = AnyOf(keys, &rnd);
    std::string hi = rnd.OneIn(2) ? AnyOf(keys, &rnd) : AnyOf(Around(lo), &rnd);
    if (options.order->Compare(lo, hi) > 0) std::swap(lo, hi);
    it->SetLower(lo);
    it->SetUpper(hi);
    bool valid = false;
    if (options.backwards && rnd.OneIn(3)) {
      valid = rnd.OneIn(2)   ? it->SeekForPrev(hi)
              : rnd.OneIn(3) ? it->SeekToLast()
                             : it->SeekForPrev(AnyOf(keys, &rnd));
    } else {
      valid = rnd.OneIn(9)   ? it->SeekToFirst()
              : rnd.OneIn(5) ? it->Seek(AnyOf(keys, &rnd))
                             : it->Seek(lo);
    }
    for (int step = rnd.Uniform(9); valid && step > 0; step--) {
      valid = options.backwards && rnd.OneIn(3) ? it->Prev() : it->Next();
    }
  }
}

// Walks without bounds, with one bound, and with both, by iterators of
// `source`, of which `also` is compared as well.
inline void CompareWalks(const TwinIterator::Source& source, const Keys& keys,
                         const ReadOptions& options = {}, WalkOptions walk = {},
                         const TwinIterator::Describer& also = {}) {
  for (int bounds = 0; bounds < 4; bounds++) {
    walk.lower = bounds & 1;
    walk.upper = bounds & 2;
    TwinIterator it(source, options, walk.lower, walk.upper);
    if (also) it.CompareAlso(also);
    WalkBoth(&it, keys, walk);
  }
}

inline void CompareWalks(TwinDB* dbs, const Keys& keys, int snapshot = -1,
                         const ReadOptions& options = {},
                         const WalkOptions& walk = {}) {
  CompareWalks(TwinIterator::Of(dbs, snapshot), keys, options, walk);
}

inline void CompareReads(TwinDB* dbs, const Keys& keys, int snapshot = -1,
                         const ReadOptions& options = {},
                         const WalkOptions& walk = {}) {
  CompareGets(dbs, keys, snapshot, options);
  CompareMultiGets(dbs, keys, snapshot, options);
  EXPECT_GT(CompareScans(dbs, snapshot, options), 0u);
  CompareWalks(dbs, keys, snapshot, options, walk);
}

inline std::string DescribeColumns(const WideColumns& columns) {
  std::string described;
  for (const WideColumn& column : columns) {
    described +=
        " " + column.name().ToString() + ":" + column.value().ToString();
  }
  return described;
}

// ---- The fixture ----

struct FeaturePolicy {
  const char* name;
  const char* filter_policy;
};

// Policies sample every query, since the tests make few.
constexpr FeaturePolicy kFeaturePolicies[] = {
    {"Surf", "surf:0:4"},
    {"Proteus", "{id=protean.Proteus;bits_per_key=12;sample_every=1}"},
    {"PrefixBloom", "{id=protean.PrefixBloom;bits_per_key=10;sample_every=1}"}};

inline void PrintTo(const FeaturePolicy& policy, std::ostream* out) {
  *out << policy.name;
}

// Each test runs with each policy: keys_ are written, and queries_ are asked.
class FeatureTest : public ::testing::TestWithParam<FeaturePolicy> {
 protected:
  static constexpr int kLevels = 3;

  // ProteanTable with the policy, and the plain table without a filter, with
  // otherwise equal options. The cache is so small that reads are worth saving:
  // otherwise slow filters would not be asked where the next key is.
  std::unique_ptr<TwinDB> NewTwins(
      const Options& options = ManySmallFiles(kLevels),
      const std::string& table = "block_size=512") {
    const std::string policy = GetParam().filter_policy;
    auto dbs = std::make_unique<TwinDB>(
        "features", options,
        NewTable("ProteanTable",
                 "filter_policy=" + policy + ";block_cache=8K;" + table),
        NewTable("BlockBasedTable", table));
    dbs->options(TwinDB::kProtean).statistics = statistics_;
    return dbs;
  }

  std::unique_ptr<TwinDB> NewTree(
      const Options& options = ManySmallFiles(kLevels)) {
    std::unique_ptr<TwinDB> dbs = NewTwins(options);
    dbs->Open();
    Fill(dbs.get());
    return dbs;
  }

  // A snapshot is taken in each round. After the first round, queries teach the
  // policies, which then design the filters of later files.
  void Fill(TwinDB* dbs) {
    FillTree(dbs, keys_, [&](int round) {
      dbs->TakeSnapshot();
      if (round != 0) return;
      dbs->Flush();
      CompareGets(dbs, queries_);
      CompareWalks(dbs, queries_);
    });
  }

  uint64_t Ticks(Tickers ticker) const {
    return statistics_->getTickerCount(ticker);
  }
  uint64_t FilteredSeeks() const {
    return Ticks(LAST_LEVEL_SEEK_FILTERED) +
           Ticks(NON_LAST_LEVEL_SEEK_FILTERED);
  }

  // Otherwise the test would prove nothing.
  void ExpectFilteredGets(const std::function<void()>& read) const {
    const uint64_t before = Ticks(BLOOM_FILTER_USEFUL);
    read();
    EXPECT_GT(Ticks(BLOOM_FILTER_USEFUL), before);
  }
  void ExpectFilteredSeeks(const std::function<void()>& read) const {
    const uint64_t before = FilteredSeeks();
    read();
    EXPECT_GT(FilteredSeeks(), before);
  }
  void ExpectFiltered(const std::function<void()>& read) const {
    ExpectFilteredGets([&] { ExpectFilteredSeeks(read); });
  }

  const Keys keys_ = HurtfulKeys();
  const Keys queries_ = WithNeighbours(keys_);
  std::shared_ptr<Statistics> statistics_ = CreateDBStatistics();
};

#define PROTEAN_FEATURE_TEST(suite)                               \
  INSTANTIATE_TEST_SUITE_P(Policies, suite,                       \
                           ::testing::ValuesIn(kFeaturePolicies), \
                           ::testing::PrintToStringParamName())

}  // namespace ROCKSDB_NAMESPACE::protean
