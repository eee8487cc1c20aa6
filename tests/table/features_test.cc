// SPDX-License-Identifier: Apache-2.0

//  ProteanTable together with other features of RocksDB: other comparators,
//  prefix extractors, other table factories and filters on the same files.

#include <cctype>

#include "rocksdb/comparator.h"
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
void CompareAll(TwinDB* dbs, const Keys& keys,
                const Comparator* order = BytewiseComparator(),
                const ReadOptions& options = {}) {
  WalkOptions walk;
  walk.seeks = 1500;
  walk.order = order;
  CompareReads(dbs, keys, /*snapshot=*/-1, options, walk);
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

}  // namespace

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

  void CompareModes(TwinDB* dbs) {
    CompareGets(dbs, keys_);
    CompareGets(dbs, Targets());
    CompareMultiGets(dbs, Targets());
    ReadOptions total_order;
    total_order.total_order_seek = true;
    ReadOptions automatic;
    automatic.auto_prefix_mode = true;
    ReadOptions same_prefix;
    same_prefix.prefix_same_as_start = true;
    ReadOptions same_prefix_total;
    same_prefix_total.prefix_same_as_start = true;
    same_prefix_total.total_order_seek = true;
    CompareScans(dbs, -1, total_order);
    for (const ReadOptions& mode :
         {total_order, automatic, same_prefix, same_prefix_total}) {
      for (bool closed : {false, true}) CompareSeeks(dbs, mode, closed);
    }
    for (bool closed : {false, true}) CompareWithinPrefixes(dbs, closed);
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

  // Without these modes, RocksDB promises only the keys that share the target's
  // prefix.
  void CompareWithinPrefixes(TwinDB* dbs, bool closed) {
    Random rnd(kSeed);
    for (const std::string& target : Targets()) {
      const std::string hi = Bound(target, &rnd);
      const Slice upper(hi);
      ReadOptions options;
      if (closed) options.iterate_upper_bound = &upper;
      std::array<Keys, 2> found;
      for (TwinDB::Twin twin : TwinDB::kTwins) {
        const std::unique_ptr<Iterator> it(dbs->db(twin)->NewIterator(options));
        for (it->Seek(target); it->Valid(); it->Next()) {
          if (it->key().compare(target.substr(0, kPrefix) + "\xff") > 0) break;
          found[twin].push_back(it->key().ToString());
        }
        ASSERT_OK(it->status());
      }
      ASSERT_EQ(found[TwinDB::kPlain], found[TwinDB::kProtean]) << Hex(target);
    }
  }

  // Inside the target's prefix, at its end, or far after it.
  std::string Bound(const std::string& target, Random* rnd) const {
    const std::string prefix = target.substr(0, kPrefix);
    if (rnd->OneIn(3)) return prefix + "\xff";
    if (rnd->OneIn(2)) return target + "b";
    return Pick(keys_, rnd);
  }

  static std::string Table() {
    return std::string("whole_key_filtering=") +
           (GetParam() ? "true" : "false") + ";block_size=512";
  }
  static Options WithExtractor(const SliceTransform* extractor) {
    Options options = ManySmallFiles(kLevels);
    options.prefix_extractor.reset(extractor);
    return options;
  }
  void CompareWith(const SliceTransform* extractor) {
    TwinDB dbs("prefix", WithExtractor(extractor),
               NewTable("ProteanTable", "filter_policy=surf:4:4;" + Table()),
               NewTable("BlockBasedTable", Table()));
    dbs.Open();
    Fill(&dbs, keys_);
    CompareModes(&dbs);
    // RocksDB's own table reads these files.
    dbs.Close();
    dbs.options(TwinDB::kProtean).table_factory =
        NewTable("BlockBasedTable", "filter_policy=surf:0:8;" + Table());
    dbs.Open();
    CompareModes(&dbs);
    dbs.Compact();
    CompareModes(&dbs);
  }

  Keys keys_;
};

TEST_P(PrefixTest, FixedPrefix) {
  CompareWith(NewFixedPrefixTransform(kPrefix));
}
TEST_P(PrefixTest, CappedPrefix) {
  CompareWith(NewCappedPrefixTransform(kPrefix));
}

// The extractor is set after files were written without one, and removed again.
TEST_P(PrefixTest, ExtractorThatChanges) {
  TwinDB dbs("prefix", ManySmallFiles(kLevels),
             NewTable("ProteanTable", "filter_policy=surf:4:4;" + Table()),
             NewTable("BlockBasedTable", Table()));
  dbs.Open();
  Fill(&dbs, keys_);
  for (size_t length : {kPrefix, kPrefix - 1, size_t{0}}) {
    dbs.Close();
    for (TwinDB::Twin twin : TwinDB::kTwins) {
      dbs.options(twin).prefix_extractor.reset(
          length == 0 ? nullptr : NewFixedPrefixTransform(length));
    }
    dbs.Open();
    CompareModes(&dbs);
    for (size_t i = length; i < keys_.size(); i += 7) {
      dbs.Put(keys_[i], "written with a prefix of " + std::to_string(length));
    }
    dbs.Flush();
    CompareModes(&dbs);
  }
}

// Keys shorter than a prefix have no prefix, but they are in the filter.
TEST_P(PrefixTest, KeysOutOfTheDomain) {
  Random rnd(kSeed);
  for (int i = 0; i < 300; i++) {
    keys_.push_back(BigEndian(rnd.Uniform(3000)).substr(4, rnd.Uniform(4)));
  }
  SortUnique(&keys_);
  for (bool capped : {false, true}) {
    TwinDB dbs("prefix",
               WithExtractor(capped ? NewCappedPrefixTransform(kPrefix)
                                    : NewFixedPrefixTransform(kPrefix)),
               NewTable("ProteanTable", "filter_policy=surf:0:4;" + Table()),
               NewTable("BlockBasedTable", Table()));
    dbs.Open();
    Fill(&dbs, keys_);
    ReadOptions total_order;
    total_order.total_order_seek = true;
    CompareAll(&dbs, keys_, BytewiseComparator(), total_order);
  }
}

INSTANTIATE_TEST_SUITE_P(WholeKeys, PrefixTest, ::testing::Bool());

// ---- Files outlive the plugin ----

class OutliveTest : public ::testing::Test {
 protected:
  const Keys keys_ = KeyFamilies(3000, kSeed)[2].keys;

  void ReopenWith(TwinDB* dbs, std::shared_ptr<TableFactory> factory) {
    dbs->Close();
    dbs->options(TwinDB::kProtean).table_factory = std::move(factory);
    dbs->Open();
  }
};

TEST_F(OutliveTest, StockRocksDBAndBack) {
  const auto protean = NewTable("ProteanTable", "filter_policy=surf:4:8");
  TwinDB dbs("outlive", ManySmallFiles(kLevels), protean);
  dbs.Open();
  Fill(&dbs, keys_);
  CompareAll(&dbs, keys_);

  ReopenWith(&dbs, NewTable("BlockBasedTable", ""));
  ASSERT_OK(dbs.protean()->VerifyChecksum());
  CompareAll(&dbs, keys_);
  dbs.Put("written without the plugin", "value");
  dbs.Flush();

  // Some files have a filter, one has none.
  ReopenWith(&dbs, protean);
  ASSERT_OK(dbs.protean()->VerifyChecksum());
  CompareAll(&dbs, keys_);

  ReopenWith(&dbs, NewTable("BlockBasedTable", ""));
  dbs.Compact();
  CompareAll(&dbs, keys_);

  ReopenWith(&dbs, protean);
  CompareAll(&dbs, keys_);
}

TEST_F(OutliveTest, AnyPolicyReadsAnyBlock) {
  TwinDB dbs("outlive", ManySmallFiles(kLevels),
             NewTable("ProteanTable", "filter_policy=surf:4:8"));
  dbs.Open();
  Fill(&dbs, keys_);
  ReopenWith(&dbs, NewTable("ProteanTable", "filter_policy=surf:0:0"));
  CompareAll(&dbs, keys_);
  dbs.Compact();
  CompareAll(&dbs, keys_);
}

// Files with RocksDB's own filters are read correctly, and get range filters
// when they are rewritten.
TEST_F(OutliveTest, FilesWithBloomFilters) {
  Options options = ManySmallFiles(kLevels);
  options.statistics = CreateDBStatistics();
  TwinDB dbs("outlive", options,
             NewTable("BlockBasedTable", "filter_policy=bloomfilter:10"));
  dbs.Open();
  Fill(&dbs, keys_);
  const auto protean = NewTable("ProteanTable", "filter_policy=surf:4:8");
  ReopenWith(&dbs, protean);
  CompareAll(&dbs, keys_);

  dbs.Put(keys_[0], "the first file with a range filter");
  dbs.Flush();
  CompareAll(&dbs, keys_);
  dbs.Compact();
  CompareAll(&dbs, keys_);
  ReopenWith(&dbs, NewTable("BlockBasedTable", "filter_policy=bloomfilter:10"));
  CompareAll(&dbs, keys_);
}

}  // namespace ROCKSDB_NAMESPACE::protean
