// SPDX-License-Identifier: Apache-2.0

//  Readers of a real DB leave samples of the queries that found nothing in
//  their files, which survive the DB. Files of seeds and samples that are bad,
//  or cannot be saved: sample_store_test.

#include "filter_policy/open_db/open_families.h"
#include "filter_policy/samples/query_file.h"
#include "filter_policy/surf/surf_policy.h"
#include "rocksdb/slice_transform.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

class SampledSurf : public SurfFilterPolicy {
 public:
  SampledSurf(const SampleStoreOptions& samples, uint32_t real_suffix_bits)
      : SurfFilterPolicy({0, real_suffix_bits}),
        store_(std::make_shared<SampleStore>(samples)) {}
  std::shared_ptr<SampleStore> Samples() const override { return store_; }

 private:
  const std::shared_ptr<SampleStore> store_;
};

// A DB with the keys 1000, 2000, ..., in one sorted run of many files.
class SamplingTest : public NumberedDBTest {
 protected:
  static constexpr uint64_t kKeys = 2000;

  SamplingTest() : NumberedDBTest(ManySmallFiles(3)) {
    for (const std::string& file : {file_, file_ + ".other"}) {
      env_->DeleteFile(file).PermitUncheckedError();
    }
  }

  void SetPolicy(uint32_t sample_every, const std::string& samples_file = "") {
    samples_.sample_every = sample_every;
    samples_.samples_file = samples_file;
    policy_ = std::make_shared<SampledSurf>(samples_, real_suffix_bits_);
    UsePolicy(policy_, table_);
  }
  // Opens a DB of one run, where no query has been made.
  void Fill(uint32_t sample_every, const std::string& samples_file = "") {
    SetPolicy(sample_every, samples_file);
    OpenNew();
    WriteNumbers(1, kKeys);
    CompactLevel0Into(2, 8 << 10);
    ASSERT_GE(NumFiles(), 4u);
  }

  // Whether a point query for the key gets to a file.
  bool IsCovered(const std::string& key) {
    const std::vector<LiveFileMetaData> files = Files();
    return std::any_of(files.begin(), files.end(), [&](const auto& file) {
      return file.smallestkey <= key && key <= file.largestkey;
    });
  }

  QueryQueue* queue(const std::string& name = kDefaultColumnFamilyName) {
    queue_ = policy_->Samples()->Queue(name, env_, nullptr);
    return queue_.get();
  }

  // Whether there is a key in [lo, hi).
  bool Seek(const std::string& lo, const std::string& hi,
            const ReadOptions& options = {}) {
    return !FirstIn(lo, hi, options).empty();
  }
  size_t MultiGet(const Keys& keys) {
    std::vector<PinnableSlice> values;
    const std::vector<Status> statuses =
        protean::MultiGet(db_.get(), keys, &values);
    return std::count_if(statuses.begin(), statuses.end(),
                         [](const Status& s) { return s.ok(); });
  }

  // Writes a file of a column family with the keys "a" and "c".
  void WriteFamily(ColumnFamilyHandle* family) {
    for (const char* key : {"a", "c"}) {
      ASSERT_OK(db_->Put(WriteOptions(), family, key, "value"));
    }
    ASSERT_OK(db_->Flush(FlushOptions(), family));
  }
  void GetInVain(ColumnFamilyHandle* family) {
    std::string value;
    EXPECT_TRUE(db_->Get(ReadOptions(), family, "b", &value).IsNotFound());
  }

  Keys SampledBy(const std::function<void()>& reads) {
    const uint64_t before = queue()->recorded();
    reads();
    EXPECT_EQ(0u, queue()->dropped());
    const Queries all = queue()->Snapshot();
    const auto added = static_cast<ptrdiff_t>(queue()->recorded() - before);
    return Lines(Queries(all.end() - added, all.end()));
  }

  void ExpectSaved(const Queries& expected, const std::string& file) {
    Queries saved;
    Keys refused;
    ASSERT_OK(ReadQueryFile(env_, file, &saved, &refused));
    EXPECT_EQ(Lines(expected), Lines(saved));
  }
  void ExpectSampled(const Queries& expected) {
    EXPECT_EQ(Lines(expected), Lines(queue()->Snapshot()));
  }

  // Equal for equal queries, and readable where they are not.
  static Keys Lines(const Queries& queries) {
    Keys lines;
    for (const SampleQuery& query : queries) lines.push_back(QueryLine(query));
    return lines;
  }

  Env* const env_ = Env::Default();
  const std::string file_ = path_ + "_samples";
  BlockBasedTableOptions table_;
  uint32_t real_suffix_bits_ = 16;  // which make the filters exact
  SampleStoreOptions samples_;
  std::shared_ptr<SampledSurf> policy_;
  std::shared_ptr<QueryQueue> queue_;
};

TEST_F(SamplingTest, WhatIsSampled) {
  Fill(1);
  Queries expected;
  const auto check = [&](const std::function<void()>& reads) {
    expected.clear();
    const Keys sampled = SampledBy(reads);
    EXPECT_EQ(Lines(expected), sampled);
  };
  check([&] {
    for (uint64_t i = 1; i < kKeys; i += 7) {
      EXPECT_TRUE(Has(Key(i)));
      const std::string absent = Gap(i, 500);
      EXPECT_FALSE(Has(absent));
      if (IsCovered(absent)) expected.push_back(Point(absent));
    }
  });
  size_t found = 0;
  check([&] {
    for (uint64_t i = 1; i + 40 < kKeys; i += 40) {
      Keys batch;
      for (uint64_t j = 0; j < 40; j++) {
        const bool present = j % 3 == 0;
        batch.push_back(Gap(i + j, present ? 0 : 1));
        found += present;
        if (!present && IsCovered(batch.back())) {
          expected.push_back(Point(batch.back()));
        }
      }
      found -= MultiGet(batch);
    }
  });
  EXPECT_EQ(0u, found);
  check([&] {
    for (uint64_t i = 1; i < kKeys; i++) {
      EXPECT_TRUE(Seek(Key(i), Gap(i)));
      EXPECT_FALSE(Seek(Gap(i), Key(i + 1)));
      EXPECT_TRUE(Seek(Gap(i), Key(i + 1) + '\0'));
      expected.push_back({Gap(i), Key(i + 1), false});
    }
  });
  // Nothing is sampled of these.
  check([&] {
    for (uint64_t i = 1; i < kKeys; i += 100) {
      const std::string lo = Gap(i);
      const std::string hi = Gap(i, 2);
      // Open.
      const std::unique_ptr<Iterator> open(db_->NewIterator(ReadOptions()));
      open->Seek(lo);
      open->SeekForPrev(lo);
      open->Seek("\xff");
      open->SeekToFirst();
      // Backward, and without a target.
      ReadOptions options;
      Slice upper(hi);
      options.iterate_upper_bound = &upper;
      const std::unique_ptr<Iterator> closed(db_->NewIterator(options));
      closed->SeekForPrev(lo);
      closed->SeekToLast();
      const std::string before_all = BigEndian(1);
      upper = before_all;
      closed->SeekToFirst();
      EXPECT_FALSE(closed->Valid());
    }
    // A scan that leaves a file at its end goes on in the next one, which has
    // not been asked by the user.
    const std::string last = Key(kKeys);
    const Slice upper(last);
    ReadOptions options;
    options.iterate_upper_bound = &upper;
    const std::unique_ptr<Iterator> it(db_->NewIterator(options));
    for (it->Seek(BigEndian(1)); it->Valid(); it->Next()) found++;
    EXPECT_EQ(kKeys - 1, found);
  });
}

// Empty queries that a filter lets through are found empty by the table.
TEST_F(SamplingTest, FalsePositives) {
  real_suffix_bits_ = 0;
  for (const char* index : {"kBinarySearch", "kBinarySearchWithFirstKey"}) {
    SCOPED_TRACE(index);
    ASSERT_OK(GetBlockBasedTableOptionsFromString(
        ConfigOptions(), table_, "index_type=" + std::string(index), &table_));
    for (bool async_io : {false, true}) {
      ReadOptions options;
      options.async_io = async_io;
      Fill(1);
      Queries expected;
      std::string lo;
      for (uint64_t i = 1; i < kKeys; i += 3) {
        // The filter does not know whether a key goes on.
        lo = Key(i) + '\x01';
        const std::string hi = Key(i) + '\x02';
        EXPECT_FALSE(Seek(lo, hi, options));
        expected.push_back({lo, hi, false});
        EXPECT_FALSE(Has(lo));
        if (IsCovered(lo)) expected.push_back(Point(lo));
      }
      ExpectSampled(expected);
      EXPECT_LT(kKeys / 4, options_.statistics->getAndResetTickerCount(
                               LAST_LEVEL_SEEK_FILTER_MATCH));
    }
  }
}

TEST_F(SamplingTest, NothingIsKnownWithoutReading) {
  table_.no_block_cache = true;
  real_suffix_bits_ = 0;
  Fill(1);
  ReadOptions options;
  options.read_tier = kBlockCacheTier;
  const std::string lo = Key(1) + '\x01';
  const std::string hi = Key(1) + '\x02';
  const Slice upper(hi);
  options.iterate_upper_bound = &upper;
  const std::unique_ptr<Iterator> it(db_->NewIterator(options));
  it->Seek(lo);
  EXPECT_TRUE(it->status().IsIncomplete());
  std::string value;
  // This key is as long as the stored ones, and the same as far as the trie.
  EXPECT_TRUE(db_->Get(options, Gap(1), &value).IsIncomplete());
  EXPECT_EQ(0u, queue()->recorded());
}

// Three sorted runs, of which each holds every third key.
class OpenSeekSamplingTest : public SamplingTest {
 protected:
  static constexpr uint64_t kRuns = 3;

  OpenSeekSamplingTest() {
    SetPolicy(1);
    Open();
    for (uint64_t run = 0; run < kRuns; run++) {
      WriteNumbers(run, kKeys - 1, kRuns);
    }
  }

  // What a new iterator leaves when it is destroyed; it samples nothing before.
  Keys SampledBy(const std::function<void(Iterator*)>& walk) {
    return SamplingTest::SampledBy([&] {
      const uint64_t before = queue()->recorded();
      const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
      walk(it.get());
      EXPECT_OK(it->status());
      EXPECT_EQ(before, queue()->recorded());
    });
  }
};

TEST_F(OpenSeekSamplingTest, UpToWhereTheSearchEnds) {
  const std::string target = Gap(99);
  const std::string to_next = QueryLine({target, Key(100), true});
  // The run of the next key is not sampled; the others were asked in vain.
  EXPECT_EQ(Keys(kRuns - 1, to_next), SampledBy([&](Iterator* it) {
              it->Seek(target);
              EXPECT_EQ(Key(100), it->key());
            }));
  // An upper bound that the search does not come to changes nothing.
  EXPECT_EQ(Keys(kRuns - 1, to_next), SamplingTest::SampledBy([&] {
              EXPECT_TRUE(Seek(target, Key(110)));
            }));
  // A run whose key was passed by was of use.
  EXPECT_EQ(Keys(), SampledBy([&](Iterator* it) {
              it->Seek(target);
              for (uint64_t i = 0; i < 3 * kRuns; i++) it->Next();
            }));
  // Backwards, the search steps over the key that it finds, to be sure that
  // there is no newer version of it: it ends at the key before.
  const std::string above = Gap(99, kGap - 1);
  EXPECT_EQ(Keys(kRuns - 2, QueryLine({Key(98), above, true})),
            SampledBy([&](Iterator* it) {
              it->SeekForPrev(above);
              EXPECT_EQ(Key(99), it->key());
            }));
  // Another seek of the iterator ends the search, too.
  const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
  EXPECT_EQ(Keys(1, QueryLine({target, Key(101), true})),
            SamplingTest::SampledBy([&] {
              it->Seek(target);
              it->Next();
              EXPECT_EQ(Key(101), it->key());
              it->Seek(Key(500));
            }));
}

// Samples are empty for the run that has been asked: the truth of all of them,
// on any searches.
TEST_F(OpenSeekSamplingTest, AllAreEmptyForARun) {
  Random64 rnd(5);
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    for (int i = 0; i < 2000; i++) {
      const std::string target = BigEndian(rnd.Uniform(kGap * kKeys));
      rnd.OneIn(3) ? it->SeekForPrev(target) : it->Seek(target);
      for (uint64_t n = rnd.Uniform(4); n > 0 && it->Valid(); n--) {
        rnd.OneIn(3) ? it->Prev() : it->Next();
      }
    }
  }
  const Queries samples = queue()->Snapshot();
  EXPECT_GT(samples.size(), 1000u);
  for (const SampleQuery& sample : samples) {
    std::set<uint64_t> with_keys;
    for (uint64_t i = 0; i < kKeys; i++) {
      if (sample.lo <= Key(i) && Key(i) <= sample.hi) {
        with_keys.insert(i % kRuns);
      }
    }
    ASSERT_LT(with_keys.size(), kRuns) << QueryLine(sample);
  }
}

// Prefix seeks are asked for the rest of the prefix.
TEST_F(SamplingTest, PrefixSeeks) {
  options_.prefix_extractor.reset(NewFixedPrefixTransform(7));
  SetPolicy(1);
  Open();
  for (uint64_t i = 0; i < kKeys; i++) Put(BigEndian(1024 * i), "a value");
  Flush();
  EXPECT_EQ("", FirstFrom(BigEndian(1024 * 5 + 256 + 7)));
  ExpectSampled({{BigEndian(1024 * 5 + 256 + 7),
                  BigEndian(1024 * 5 + 512).substr(0, 7), false}});
}

// A prefix seek without a bound asks the filter for the rest of the prefix, and
// teaches it.
TEST_F(SamplingTest, PrefixSeeksEndWithThePrefix) {
  options_.prefix_extractor.reset(NewFixedPrefixTransform(4));
  const auto key = [](uint64_t prefix, uint64_t rest) {
    return BigEndian(prefix).substr(4) + BigEndian(rest * 1000).substr(4);
  };
  for (const char* policy :
       {"surf:0:8", "{id=protean.Proteus;sample_every=1}"}) {
    SetTable(std::string("block_size=256;filter_policy=") + policy);
    OpenNew();
    for (const uint64_t first : {0, 2}) {
      Keys keys;
      for (uint64_t i = first; i < 1200; i += 4) {
        for (uint64_t rest = 1; rest < 5; rest++) keys.push_back(key(i, rest));
      }
      WriteFile(keys, /*level=*/1 + static_cast<int>(first / 2));
    }
    for (const bool taught : {false, true}) {
      uint64_t blocks = 0;
      for (const bool same_prefix : {false, true}) {
        ReadOptions read;
        read.prefix_same_as_start = same_prefix;
        for (uint64_t i = 0; i < 1200; i++) {
          const std::string target = key(i, i % 3 == 0 ? 6 : i % 3);
          const uint64_t before = DataBlocks();
          const std::string found = FirstFrom(target, read);
          if (i % 2 == 0 && i % 3 > 0) {
            ASSERT_EQ(target, found);
          } else {
            ASSERT_TRUE(!same_prefix || found.empty());
            ASSERT_FALSE(Slice(found).starts_with(target.substr(0, 4)));
            // No set of prefixes tells what follows the last key of a prefix.
            if (i % 2 == 1) blocks += DataBlocks() - before;
          }
        }
      }
      EXPECT_TRUE(!taught || blocks < 100) << policy << blocks;
      Compact();
    }
  }
}

// ---- Files of RocksDB alone ----

// Learning starts before the first filter: reads of files that have RocksDB's
// Bloom filters (the parameter), or none, are sampled as those of Protean's.
class StockFilesSamplingTest : public SamplingTest,
                               public ::testing::WithParamInterface<bool> {
 protected:
  // Opens a DB whose files RocksDB has written without Protean.
  void FillWithStock() {
    SetPolicy(1);
    const std::shared_ptr<TableFactory> own = options_.table_factory;
    options_.table_factory = NewTable(
        "BlockBasedTable", GetParam() ? "filter_policy=bloomfilter:12" : "");
    FillRuns();
    options_.table_factory = own;
    Open();
    for (const auto& [name, properties] : PropertiesOf(db_.get())) {
      EXPECT_EQ(GetParam() ? "bloomfilter" : "", properties->filter_policy_name)
          << name;
    }
  }

  // A sorted run of many files, and two of one, each of a third of the keys.
  void FillRuns() {
    OpenNew();
    for (uint64_t run = 0; run < 3; run++) {
      WriteNumbers(1 + run, kKeys, 3);
      if (run == 0) CompactLevel0Into(2, 2 << 10);
    }
    ASSERT_GE(NumFiles(), 5u);
  }

  // Random reads of each kind; the same ones each time.
  void PointReads() {
    for (uint64_t i = 1; i < kKeys; i += 3) {
      EXPECT_FALSE(Has(Gap(i, 500)));
      EXPECT_TRUE(Has(Key(i)));
    }
    for (uint64_t i = 1; i + 10 < kKeys; i += 10) {
      Keys batch;
      for (uint64_t j = 0; j < 10; j++) {
        batch.push_back(BigEndian(kGap * (i + j) + j % 2));
      }
      EXPECT_EQ(5u, MultiGet(batch));
    }
  }
  void ClosedSeeks() {
    Random64 forward(3);
    Random64 backward(4);
    for (int i = 0; i < 500; i++) {
      const uint64_t lo = forward.Uniform(kGap * kKeys);
      Seek(BigEndian(lo), BigEndian(lo + 1 + forward.Uniform(2 * kGap)));
      const uint64_t hi = kGap + backward.Uniform(kGap * (kKeys - 1));
      LastIn(BigEndian(hi - backward.Uniform(kGap)), BigEndian(hi));
    }
  }
  void OpenSeeksAndScans() {
    Random64 random(5);
    for (int i = 0; i < 500; i++) {
      const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
      it->Seek(BigEndian(1 + random.Uniform(kGap * (kKeys - 1))));
      for (uint64_t n = random.Uniform(3); n > 0 && it->Valid(); n--) {
        it->Next();
      }
      EXPECT_OK(it->status());
    }
    EXPECT_EQ(kKeys, AllRecords(db_.get()).size());
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    for (it->SeekToLast(); it->Valid();) it->Prev();
    EXPECT_OK(it->status());
  }
};

INSTANTIATE_TEST_SUITE_P(Bloom, StockFilesSamplingTest, ::testing::Bool());

TEST_P(StockFilesSamplingTest, SamplesOfOwnFiles) {
  const std::vector<std::pair<const char*, std::function<void()>>> kinds = {
      {"point reads", [this] { PointReads(); }},
      {"closed seeks", [this] { ClosedSeeks(); }},
      {"open seeks", [this] { OpenSeeksAndScans(); }}};
  SetPolicy(1);
  FillRuns();
  std::vector<Keys> own;
  for (const auto& [name, reads] : kinds) {
    own.push_back(SampledBy(reads));
    EXPECT_GT(own.back().size(), 100u) << name;
  }
  FillWithStock();
  for (size_t i = 0; i < kinds.size(); i++) {
    SCOPED_TRACE(kinds[i].first);
    EXPECT_EQ(own[i], SampledBy(kinds[i].second));
  }
}

// A Bloom filter denies the prefix, for which there are no keys. Without a
// filter, the search comes to the next key, of another prefix.
TEST_P(StockFilesSamplingTest, PrefixSeeks) {
  options_.prefix_extractor.reset(NewFixedPrefixTransform(7));
  FillWithStock();
  const std::string target = BigEndian(kGap * 5 + 300);
  EXPECT_EQ(GetParam(), FirstFrom(target).empty());
  ASSERT_GE(queue()->recorded(), 1u);
  for (const SampleQuery& sample : queue()->Snapshot()) {
    EXPECT_EQ(target, sample.lo);
    EXPECT_LT(target, sample.hi);
    EXPECT_EQ(7u, sample.hi.size());
    EXPECT_FALSE(sample.hi_inclusive);
  }
}

// What no filter of Protean's would be asked is not sampled.
TEST_P(StockFilesSamplingTest, NotWhereFiltersAreOff) {
  FillWithStock();
  const auto expect_none = [this](const char* what) {
    SCOPED_TRACE(what);
    Open();
    PointReads();
    ClosedSeeks();
    EXPECT_EQ(0u, queue()->recorded());
  };
  table_.whole_key_filtering = false;
  SetPolicy(1);
  expect_none("partial keys");
  OwnDB::SetPolicy("bloomfilter:12");
  expect_none("a policy of RocksDB");
}

// ---- Samples that outlive the DB, in memory or in a file ----

// The Options, and the policy with them, outlive the DB.
TEST_F(SamplingTest, SavedAtCloseAndRestored) {
  Fill(1, file_);
  EXPECT_FALSE(Has(Gap(1, 500)));
  EXPECT_FALSE(Seek(Gap(1), Gap(1, 9)));
  Queries expected = {Point(Gap(1, 500)), {Gap(1), Gap(1, 9), false}};
  EXPECT_TRUE(env_->FileExists(file_).IsNotFound());
  Close();
  ExpectSaved(expected, file_);

  for (bool same_policy : {true, false}) {
    if (!same_policy) SetPolicy(1, file_);
    Open();
    ExpectSampled(expected);
    EXPECT_FALSE(Has(BigEndian(kGap + 501 + same_policy)));
    expected.push_back(Point(BigEndian(kGap + 501 + same_policy)));
    ExpectSampled(expected);
    Close();
  }
  ExpectSaved(expected, file_);
}

// A policy that takes another one's place, with the same samples file: what
// both have sampled stays.
TEST_F(SamplingTest, ChangedPolicies) {
  Fill(1, file_);
  EXPECT_FALSE(Has(Gap(1)));
  ChangePolicy("{id=protean.Proteus;sample_every=1;samples_file=" + file_ +
               "}");
  Put(BigEndian(1));
  Put(BigEndian(9));
  Flush();
  // The new file's reader samples for the new policy, the others for the old.
  EXPECT_FALSE(Has(BigEndian(5)));
  EXPECT_FALSE(Has(Gap(1, 2)));
  Close();
  ExpectSaved(Queries{Point(Gap(1)), Point(Gap(1, 2)), Point(BigEndian(5))},
              file_);
}

// More files than may be open: their readers come and go, but the DB stays.
TEST_F(SamplingTest, SmallTableCache) {
  constexpr int kFiles = 40;
  options_.max_open_files = 20;
  options_.table_cache_numshardbits = 0;
  options_.level0_slowdown_writes_trigger = 1000;
  options_.level0_stop_writes_trigger = 1000;
  SetPolicy(1, file_);
  Open();
  ColumnFamilyHandle* const other = NewFamily("other");
  WriteFamily(other);
  for (int i = 0; i < kFiles; i++) {
    WriteFile({BigEndian(10 * i), BigEndian(10 * i + 5)});
  }
  for (int round = 0; round < 3; round++) {
    GetInVain(other);
    for (int i = 0; i < kFiles; i++) EXPECT_FALSE(Has(BigEndian(10 * i + 1)));
  }
  // Nothing has been written, or lost, by a reader.
  EXPECT_TRUE(env_->FileExists(file_).IsNotFound());
  EXPECT_TRUE(env_->FileExists(file_ + ".other").IsNotFound());
  EXPECT_EQ(3u, queue("other")->recorded());
  EXPECT_EQ(3u * kFiles, queue()->recorded());
  Close();
  EXPECT_OK(env_->FileExists(file_));
  ExpectSaved(Queries(3, Point("b")), file_ + ".other");
}

// An Env that says when it is used although its DB is closed.
class MortalEnv : public EnvWrapper {
 public:
  using EnvWrapper::EnvWrapper;
  const char* Name() const override { return "MortalEnv"; }
  Status FileExists(const std::string& name) override {
    EXPECT_FALSE(is_dead) << name;
    return EnvWrapper::FileExists(name);
  }

  bool is_dead = false;
};

TEST_F(SamplingTest, ThePolicyOutlivesTheEnv) {
  MortalEnv env(env_);
  OwnDB::SetPolicy("{id=protean.Proteus;samples_file=" + file_ + "}");
  for (const bool flushed : {false, true}) {
    env.is_dead = false;
    options_.env = &env;
    Open();
    if (flushed) WriteFile({"a"});
    Close();
    env.is_dead = true;
    options_.env = env_;
    WriteSstFile(options_, path_ + ".sst", {"b"});
  }
}

// The first file that a DB writes is designed from samples of the DB's Env.
TEST_F(SamplingTest, SamplesAreInTheEnvOfTheDB) {
  const std::unique_ptr<Env> env(NewMemEnv(env_));
  ASSERT_OK(WriteQueryFile(env.get(), "/samples", {{"b", "c", true}}));
  OwnDB::SetPolicy("{id=protean.Proteus;samples_file=/samples}");
  options_.env = env.get();
  ASSERT_OK(OpenDB(&db_, options_, "/db"));
  // A handful of keys is not worth a look at samples.
  for (int i = 0; i < 20; i++) Put("a" + std::to_string(i));
  WriteFile({"d"});
  const auto files = FilterPropertiesOf(db_.get());
  ASSERT_EQ(1u, files.size());
  EXPECT_EQ(1u, files.begin()->second.samples);
  Close();
  options_.env = env_;
}

// What dropped column families leave is saved long before the DB is closed.
TEST_F(SamplingTest, ColumnFamiliesThatGo) {
  constexpr int kFamilies = DBSession::kMaxIdleQueues + 8;
  SetPolicy(1, file_);
  Open();
  WriteFile({"a"});  // in a family that stays
  const auto name = [](int i) { return "family" + std::to_string(i); };
  for (int i = 0; i < kFamilies; i++) {
    ColumnFamilyHandle* family;
    ASSERT_OK(db_->CreateColumnFamily(options_, name(i), &family));
    WriteFamily(family);
    GetInVain(family);
    ASSERT_OK(db_->DropColumnFamily(family));
    ASSERT_OK(db_->DestroyColumnFamilyHandle(family));
  }
  EXPECT_OK(env_->FileExists(file_ + "." + name(0)));
  EXPECT_TRUE(env_->FileExists(file_ + "." + name(kFamilies - 2)).IsNotFound());
  Close();
  for (int i = 0; i < kFamilies; i++) {
    EXPECT_OK(env_->DeleteFile(file_ + "." + name(i))) << i;
  }
}

TEST_F(SamplingTest, FilesFromOutside) {
  SetPolicy(1);
  Open();
  Ingest({"a", "c"});
  EXPECT_FALSE(Has("b"));
  ExpectSampled({Point("b")});
}

}  // namespace ROCKSDB_NAMESPACE::protean
