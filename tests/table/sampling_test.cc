//  Readers of a real DB leave samples of the queries that found nothing in
//  their files, and the queue survives the DB.

#include "filter_policy/open_db/db_session.h"
#include "filter_policy/proteus/proteus_policy.h"
#include "filter_policy/samples/query_file.h"
#include "filter_policy/surf/surf_policy.h"
#include "plugin/filter_properties.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/statistics.h"
#include "tests/table/twin_db.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Queries = std::vector<SampleQuery>;

class SampledSurf : public SurfFilterPolicy {
 public:
  SampledSurf(const SampleStoreOptions& samples, uint32_t real_suffix_bits)
      : SurfFilterPolicy({0, real_suffix_bits}),
        store_(std::make_shared<SampleStore>(samples)) {}
  std::shared_ptr<SampleStore> Samples() const override { return store_; }

 private:
  const std::shared_ptr<SampleStore> store_;
};

// A DB with the keys 1000, 2000, ..., big endian, in one sorted run of many
// files.
class SamplingTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kKeys = 2000;
  static constexpr uint64_t kGap = 1000;

  SamplingTest() {
    options_ = ManySmallFiles(3);
    options_.create_if_missing = true;
    options_.info_log = log_;
    options_.statistics = CreateDBStatistics();
    Destroy();
    for (const std::string& file : {file_, file_ + ".other"}) {
      env_->DeleteFile(file).PermitUncheckedError();
    }
  }
  ~SamplingTest() override { Destroy(); }

  void Destroy() {
    Close();
    EXPECT_OK(env_->CreateDirIfMissing(path_));
    EXPECT_OK(DestroyDB(path_, options_));
  }

  void SetPolicy(uint32_t sample_every, const std::string& samples_file = "") {
    samples_.sample_every = sample_every;
    samples_.samples_file = samples_file;
    policy_ = std::make_shared<SampledSurf>(samples_, real_suffix_bits_);
    table_.filter_policy = policy_;
    options_.table_factory = NewProteanTableFactory(table_);
  }
  void Open() { ASSERT_OK(OpenDB(&db_, options_, path_)); }
  void Close() {
    for (ColumnFamilyHandle* handle : handles_) {
      EXPECT_OK(db_->DestroyColumnFamilyHandle(handle));
    }
    handles_.clear();
    db_.reset();
  }

  // Opens a DB of one run, where no query has been made.
  void Fill(uint32_t sample_every, const std::string& samples_file = "") {
    SetPolicy(sample_every, samples_file);
    Open();
    for (uint64_t i = 1; i <= kKeys; i++) {
      ASSERT_OK(db_->Put(WriteOptions(), BigEndian(kGap * i), "a value"));
    }
    ASSERT_OK(db_->Flush(FlushOptions()));
    std::vector<LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    ASSERT_EQ(1u, files.size());
    CompactionOptions compaction;
    compaction.output_file_size_limit = 16 << 10;
    ASSERT_OK(db_->CompactFiles(compaction, {files[0].name}, 2));
    db_->GetLiveFilesMetaData(&files);
    ASSERT_GE(files.size(), 4u);
  }

  // Whether a point query for the key gets to a file.
  bool IsCovered(const std::string& key) {
    std::vector<LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
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
            ReadOptions options = {}) {
    const Slice upper(hi);
    options.iterate_upper_bound = &upper;
    const std::unique_ptr<Iterator> it(db_->NewIterator(options));
    it->Seek(lo);
    EXPECT_OK(it->status());
    return it->Valid();
  }
  bool Get(const std::string& key) {
    std::string value;
    const Status s = db_->Get(ReadOptions(), key, &value);
    EXPECT_TRUE(s.ok() || s.IsNotFound()) << s.ToString();
    return s.ok();
  }
  size_t MultiGet(const Keys& keys) {
    const std::vector<Slice> slices(keys.begin(), keys.end());
    std::vector<PinnableSlice> values(keys.size());
    std::vector<Status> statuses(keys.size());
    db_->MultiGet(ReadOptions(), db_->DefaultColumnFamily(), keys.size(),
                  slices.data(), values.data(), statuses.data());
    return std::count_if(statuses.begin(), statuses.end(),
                         [](const Status& s) { return s.ok(); });
  }

  // Equal for equal queries, and readable where they are not.
  static Keys Lines(const Queries& queries) {
    Keys lines;
    for (const SampleQuery& query : queries) lines.push_back(QueryLine(query));
    return lines;
  }
  static SampleQuery Point(const std::string& key) { return {key, key, true}; }

  Env* const env_ = Env::Default();
  const std::string path_ = test::PerThreadDBPath("sampling");
  const std::string file_ = path_ + "_samples";
  const std::shared_ptr<RecordingLogger> log_ =
      std::make_shared<RecordingLogger>();
  Options options_;
  BlockBasedTableOptions table_;
  uint32_t real_suffix_bits_ = 16;  // which make the filters exact
  SampleStoreOptions samples_;
  std::shared_ptr<SampledSurf> policy_;
  std::shared_ptr<QueryQueue> queue_;
  std::unique_ptr<DB> db_;
  std::vector<ColumnFamilyHandle*> handles_;
};

}  // namespace

TEST_F(SamplingTest, AbsentGets) {
  Fill(1);
  Queries expected;
  for (uint64_t i = 1; i < kKeys; i += 7) {
    EXPECT_TRUE(Get(BigEndian(kGap * i)));
    const std::string absent = BigEndian(kGap * i + 500);
    EXPECT_FALSE(Get(absent));
    if (IsCovered(absent)) expected.push_back(Point(absent));
  }
  EXPECT_EQ(Lines(expected), Lines(queue()->Snapshot()));
}

TEST_F(SamplingTest, EveryNthAbsentGet) {
  Fill(10);
  // Wherever this thread's count stands.
  uint64_t i = 0;
  const auto miss = [&] {
    do {
      i++;
    } while (!IsCovered(BigEndian(kGap * i + 500)));
    EXPECT_FALSE(Get(BigEndian(kGap * i + 500)));
  };
  while (queue()->recorded() == 0) miss();
  Queries expected = queue()->Snapshot();
  for (int sample = 0; sample < 50; sample++) {
    for (int get = 0; get < 10; get++) {
      EXPECT_TRUE(Get(BigEndian(kGap * i)));  // does not count
      miss();
    }
    expected.push_back(Point(BigEndian(kGap * i + 500)));
    ASSERT_EQ(Lines(expected), Lines(queue()->Snapshot()));
  }
}

TEST_F(SamplingTest, MultiGets) {
  Fill(1);
  Queries expected;
  size_t found = 0;
  for (uint64_t i = 1; i + 40 < kKeys; i += 40) {
    Keys batch;
    for (uint64_t j = 0; j < 40; j++) {
      const bool present = j % 3 == 0;
      batch.push_back(BigEndian(kGap * (i + j) + (present ? 0 : 1)));
      found += present;
      if (!present && IsCovered(batch.back())) {
        expected.push_back(Point(batch.back()));
      }
    }
    found -= MultiGet(batch);
  }
  EXPECT_EQ(0u, found);
  EXPECT_EQ(Lines(expected), Lines(queue()->Snapshot()));
}

TEST_F(SamplingTest, EmptyClosedSeeks) {
  Fill(1);
  Queries expected;
  for (uint64_t i = 1; i < kKeys; i++) {
    EXPECT_TRUE(Seek(BigEndian(kGap * i), BigEndian(kGap * i + 1)));
    const std::string lo = BigEndian(kGap * i + 1);
    const std::string hi = BigEndian(kGap * (i + 1));
    EXPECT_FALSE(Seek(lo, hi));
    EXPECT_TRUE(Seek(lo, hi + '\0'));
    expected.push_back({lo, hi, false});
  }
  EXPECT_EQ(Lines(expected), Lines(queue()->Snapshot()));
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
      Destroy();
      Fill(1);
      Queries expected;
      std::string lo;
      for (uint64_t i = 1; i < kKeys; i += 3) {
        // The filter does not know whether a key goes on.
        lo = BigEndian(kGap * i) + '\x01';
        const std::string hi = BigEndian(kGap * i) + '\x02';
        EXPECT_FALSE(Seek(lo, hi, options));
        expected.push_back({lo, hi, false});
        EXPECT_FALSE(Get(lo));
        if (IsCovered(lo)) expected.push_back(Point(lo));
      }
      EXPECT_EQ(Lines(expected), Lines(queue()->Snapshot()));
      EXPECT_LT(kKeys / 4, options_.statistics->getAndResetTickerCount(
                               LAST_LEVEL_SEEK_FILTER_MATCH));
    }
  }
}

TEST_F(SamplingTest, OtherSeeksAreNotSampled) {
  Fill(1);
  for (uint64_t i = 1; i < kKeys; i += 100) {
    const std::string lo = BigEndian(kGap * i + 1);
    const std::string hi = BigEndian(kGap * i + 2);
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
  EXPECT_EQ(0u, queue()->recorded());
  EXPECT_EQ(0u, queue()->dropped());
}

TEST_F(SamplingTest, NothingIsKnownWithoutReading) {
  table_.no_block_cache = true;
  real_suffix_bits_ = 0;
  Fill(1);
  ReadOptions options;
  options.read_tier = kBlockCacheTier;
  const std::string lo = BigEndian(kGap) + '\x01';
  const std::string hi = BigEndian(kGap) + '\x02';
  const Slice upper(hi);
  options.iterate_upper_bound = &upper;
  const std::unique_ptr<Iterator> it(db_->NewIterator(options));
  it->Seek(lo);
  EXPECT_TRUE(it->status().IsIncomplete());
  std::string value;
  // As long as the keys, and the same up to where the trie ends.
  EXPECT_TRUE(db_->Get(options, BigEndian(kGap + 1), &value).IsIncomplete());
  EXPECT_EQ(0u, queue()->recorded());
}

// A scan that leaves a file at its end goes on in the next one, which has not
// been asked by the user.
TEST_F(SamplingTest, ScansAreNotSampled) {
  Fill(1);
  const std::string hi = BigEndian(kGap * kKeys);
  const Slice upper(hi);
  ReadOptions options;
  options.iterate_upper_bound = &upper;
  const std::unique_ptr<Iterator> it(db_->NewIterator(options));
  size_t found = 0;
  for (it->Seek(BigEndian(1)); it->Valid(); it->Next()) found++;
  EXPECT_EQ(kKeys - 1, found);
  EXPECT_EQ(0u, queue()->recorded());
}

// Three sorted runs, of which each holds every third key.
class OpenSeekSamplingTest : public SamplingTest {
 protected:
  static constexpr uint64_t kRuns = 3;

  OpenSeekSamplingTest() {
    options_.disable_auto_compactions = true;
    SetPolicy(1);
    Open();
    for (uint64_t run = 0; run < kRuns; run++) {
      for (uint64_t i = run; i < kKeys; i += kRuns) {
        EXPECT_OK(db_->Put(WriteOptions(), BigEndian(kGap * i), "a value"));
      }
      EXPECT_OK(db_->Flush(FlushOptions()));
    }
  }

  // Checks that there are `count` samples, and that all of them lie in [lo, hi]
  // and end at `hi`.
  void ExpectSamples(size_t count, const std::string& lo,
                     const std::string& hi) {
    const Queries samples = queue()->Snapshot();
    EXPECT_EQ(count, samples.size());
    for (const SampleQuery& sample : samples) {
      EXPECT_EQ(lo, sample.lo) << QueryLine(sample);
      EXPECT_EQ(hi, sample.hi) << QueryLine(sample);
      EXPECT_TRUE(sample.hi_inclusive);
    }
  }
};

// The run that has the next key is not sampled; the others were asked in vain.
TEST_F(OpenSeekSamplingTest, UpToTheNextKey) {
  const std::string target = BigEndian(kGap * 99 + 1);
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    it->Seek(target);
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(0u, queue()->recorded());
  }
  ExpectSamples(kRuns - 1, target, BigEndian(kGap * 100));
}

// A run whose key was passed by was of use.
TEST_F(OpenSeekSamplingTest, UpToWhereTheScanEnds) {
  const std::string target = BigEndian(kGap * 99 + 1);
  const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
  it->Seek(target);
  it->Next();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(BigEndian(kGap * 101), it->key());
  it->Seek(BigEndian(kGap * 500));
  ASSERT_GE(queue()->recorded(), 1u);
  const SampleQuery sample = queue()->Snapshot().front();
  EXPECT_EQ(target, sample.lo);
  EXPECT_EQ(BigEndian(kGap * 101), sample.hi);
}

TEST_F(OpenSeekSamplingTest, ScanThroughAllRuns) {
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    it->Seek(BigEndian(kGap * 99 + 1));
    for (uint64_t i = 0; i < 3 * kRuns; i++) it->Next();
  }
  EXPECT_EQ(0u, queue()->recorded());
}

// Where an iterator comes to another file of each level in each search, one
// search is told from the next by its target.
TEST_F(OpenSeekSamplingTest, OtherFilesInEverySearch) {
  std::vector<LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  ASSERT_EQ(kRuns, files.size());
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
    return a.file_number < b.file_number;
  });
  CompactionOptions compaction;
  compaction.output_file_size_limit = 2 << 10;
  ASSERT_OK(db_->CompactFiles(compaction, {files[0].name}, 2));
  ASSERT_OK(db_->CompactFiles(compaction, {files[1].name, files[2].name}, 1));
  db_->GetLiveFilesMetaData(&files);
  ASSERT_GT(files.size(), 10u);
  constexpr uint64_t kSeeks = 1000;
  Random64 rnd(7);
  std::set<std::string> expected;
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    for (uint64_t i = 0; i < kSeeks; i++) {
      const std::string target =
          BigEndian(kGap * (1 + rnd.Uniform(kKeys - kRuns)) + 1 + i % 99);
      it->Seek(target);
      ASSERT_TRUE(it->Valid());
      expected.insert(QueryLine({target, it->key().ToString(), true}));
    }
  }
  EXPECT_EQ(0u, queue()->dropped());
  EXPECT_EQ(kSeeks, queue()->recorded());
  for (const SampleQuery& sample : queue()->Snapshot()) {
    EXPECT_EQ(1u, expected.count(QueryLine(sample))) << QueryLine(sample);
  }
}

// Backwards, the search steps over the key that it finds, to be sure that there
// is no newer version of it: it ends at the key before.
TEST_F(OpenSeekSamplingTest, Backwards) {
  const std::string target = BigEndian(kGap * 100 - 1);
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    it->SeekForPrev(target);
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(BigEndian(kGap * 99), it->key());
  }
  ExpectSamples(kRuns - 2, BigEndian(kGap * 98), target);
}

// An open seek under an upper bound that the search does not come to.
TEST_F(OpenSeekSamplingTest, UnderABound) {
  const std::string target = BigEndian(kGap * 99 + 1);
  const std::string hi = BigEndian(kGap * 110);
  EXPECT_TRUE(Seek(target, hi));
  ExpectSamples(kRuns - 1, target, BigEndian(kGap * 100));
}

// Samples are empty for the run that has been asked: the truth of all of them,
// on any searches.
TEST_F(OpenSeekSamplingTest, AllAreEmptyForARun) {
  Random64 rnd(5);
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    for (int i = 0; i < 2000; i++) {
      const std::string target = BigEndian(rnd.Uniform(kGap * kKeys));
      if (rnd.OneIn(3)) {
        it->SeekForPrev(target);
      } else {
        it->Seek(target);
      }
      for (uint64_t n = rnd.Uniform(4); n > 0 && it->Valid(); n--) {
        if (rnd.OneIn(3)) {
          it->Prev();
        } else {
          it->Next();
        }
      }
    }
  }
  const Queries samples = queue()->Snapshot();
  EXPECT_GT(samples.size(), 1000u);
  for (const SampleQuery& sample : samples) {
    size_t empty = 0;
    for (uint64_t run = 0; run < kRuns; run++) {
      bool found = false;
      for (uint64_t i = run; i < kKeys && !found; i += kRuns) {
        const std::string key = BigEndian(kGap * i);
        found = sample.lo <= key && key <= sample.hi;
      }
      empty += !found;
    }
    ASSERT_GT(empty, 0u) << QueryLine(sample);
  }
}

// Prefix seeks are asked for all keys with a prefix.
TEST_F(SamplingTest, PrefixSeeks) {
  options_.prefix_extractor.reset(NewFixedPrefixTransform(7));
  SetPolicy(1);
  Open();
  for (uint64_t i = 0; i < kKeys; i++) {
    ASSERT_OK(db_->Put(WriteOptions(), BigEndian(1024 * i), "a value"));
  }
  ASSERT_OK(db_->Flush(FlushOptions()));
  const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
  it->Seek(BigEndian(1024 * 5 + 256 + 7));
  EXPECT_FALSE(it->Valid());
  ASSERT_EQ(1u, queue()->recorded());
  const SampleQuery sample = queue()->Snapshot().front();
  EXPECT_EQ(BigEndian(1024 * 5 + 256).substr(0, 7), sample.lo);
  EXPECT_EQ(BigEndian(1024 * 5 + 512).substr(0, 7), sample.hi);
  EXPECT_FALSE(sample.hi_inclusive);
}

TEST_F(SamplingTest, PolicyWithoutSamples) {
  Fill(1);
  Close();
  table_.filter_policy = NewSurfFilterPolicy(0, 16);
  options_.table_factory = NewProteanTableFactory(table_);
  Open();
  EXPECT_FALSE(Get(BigEndian(1)));
  EXPECT_FALSE(Seek(BigEndian(kGap + 1), BigEndian(kGap + 2)));
  EXPECT_EQ(0u, MultiGet({BigEndian(1), BigEndian(kGap + 1)}));
  EXPECT_EQ(0u, queue()->recorded());
}

// The Options, and the policy with them, outlive the DB.
TEST_F(SamplingTest, SavedAtCloseAndRestored) {
  Fill(1, file_);
  EXPECT_FALSE(Get(BigEndian(kGap + 500)));
  EXPECT_FALSE(Seek(BigEndian(kGap + 1), BigEndian(kGap + 9)));
  Queries expected = {Point(BigEndian(kGap + 500)),
                      {BigEndian(kGap + 1), BigEndian(kGap + 9), false}};
  EXPECT_TRUE(env_->FileExists(file_).IsNotFound());
  Close();
  Queries saved;
  Keys refused;
  ASSERT_OK(ReadQueryFile(env_, file_, &saved, &refused));
  EXPECT_EQ(Lines(expected), Lines(saved));

  for (bool same_policy : {true, false}) {
    if (!same_policy) SetPolicy(1, file_);
    Open();
    EXPECT_EQ(Lines(expected), Lines(queue()->Snapshot()));
    EXPECT_FALSE(Get(BigEndian(kGap + 501 + same_policy)));
    expected.push_back(Point(BigEndian(kGap + 501 + same_policy)));
    EXPECT_EQ(Lines(expected), Lines(queue()->Snapshot()));
    Close();
  }
  saved.clear();
  ASSERT_OK(ReadQueryFile(env_, file_, &saved, &refused));
  EXPECT_EQ(Lines(expected), Lines(saved));
}

TEST_F(SamplingTest, ColumnFamilies) {
  Fill(1, file_);
  ColumnFamilyHandle* other = nullptr;
  ASSERT_OK(db_->CreateColumnFamily(options_, "other", &other));
  handles_.push_back(other);
  ASSERT_OK(db_->Put(WriteOptions(), other, "a", "value"));
  ASSERT_OK(db_->Put(WriteOptions(), other, "c", "value"));
  ASSERT_OK(db_->Flush(FlushOptions(), other));
  std::string value;
  EXPECT_TRUE(db_->Get(ReadOptions(), other, "b", &value).IsNotFound());
  EXPECT_FALSE(Get(BigEndian(kGap + 1)));
  EXPECT_EQ(Lines(Queries{Point(BigEndian(kGap + 1))}),
            Lines(queue()->Snapshot()));
  EXPECT_EQ(Lines(Queries{Point("b")}), Lines(queue("other")->Snapshot()));
  Close();
  Queries saved;
  Keys refused;
  ASSERT_OK(ReadQueryFile(env_, file_ + ".other", &saved, &refused));
  EXPECT_EQ(Lines(Queries{Point("b")}), Lines(saved));
}

// A policy that takes another one's place, with the same samples file: what
// both have sampled stays.
TEST_F(SamplingTest, ChangedPolicies) {
  Fill(1, file_);
  EXPECT_FALSE(Get(BigEndian(kGap + 1)));
  ASSERT_OK(db_->SetOptions({{"table_factory.filter_policy",
                              "{id=protean.Proteus;sample_every=1;"
                              "samples_file=" +
                                  file_ + "}"}}));
  ASSERT_OK(db_->Put(WriteOptions(), BigEndian(1), "value"));
  ASSERT_OK(db_->Put(WriteOptions(), BigEndian(9), "value"));
  ASSERT_OK(db_->Flush(FlushOptions()));
  // The new file's reader samples for the new policy, the others for the old.
  EXPECT_FALSE(Get(BigEndian(5)));
  EXPECT_FALSE(Get(BigEndian(kGap + 2)));
  Close();
  Queries saved;
  Keys refused;
  ASSERT_OK(ReadQueryFile(env_, file_, &saved, &refused));
  EXPECT_EQ(Lines(Queries{Point(BigEndian(kGap + 1)),
                          Point(BigEndian(kGap + 2)), Point(BigEndian(5))}),
            Lines(saved));
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
  ColumnFamilyHandle* other = nullptr;
  ASSERT_OK(db_->CreateColumnFamily(options_, "other", &other));
  handles_.push_back(other);
  for (const char* key : {"a", "c"}) {
    ASSERT_OK(db_->Put(WriteOptions(), other, key, "value"));
  }
  ASSERT_OK(db_->Flush(FlushOptions(), other));
  for (int i = 0; i < kFiles; i++) {
    ASSERT_OK(db_->Put(WriteOptions(), BigEndian(10 * i), "value"));
    ASSERT_OK(db_->Put(WriteOptions(), BigEndian(10 * i + 5), "value"));
    ASSERT_OK(db_->Flush(FlushOptions()));
  }
  for (int round = 0; round < 3; round++) {
    std::string value;
    EXPECT_TRUE(db_->Get(ReadOptions(), other, "b", &value).IsNotFound());
    for (int i = 0; i < kFiles; i++) EXPECT_FALSE(Get(BigEndian(10 * i + 1)));
  }
  // Nothing has been written, or lost, by a reader.
  EXPECT_TRUE(env_->FileExists(file_).IsNotFound());
  EXPECT_TRUE(env_->FileExists(file_ + ".other").IsNotFound());
  EXPECT_EQ(3u, queue("other")->recorded());
  EXPECT_EQ(3u * kFiles, queue()->recorded());
  Close();
  EXPECT_OK(env_->FileExists(file_));
  EXPECT_OK(env_->FileExists(file_ + ".other"));
}

// An Env that says when it is used although its DB is closed.
class MortalEnv : public EnvWrapper {
 public:
  explicit MortalEnv(Env* base) : EnvWrapper(base) {}
  static const char* kClassName() { return "MortalEnv"; }
  const char* Name() const override { return kClassName(); }

  void Die() { dead_ = true; }
  void Live() { dead_ = false; }
  Status FileExists(const std::string& name) override {
    EXPECT_FALSE(dead_) << name;
    return EnvWrapper::FileExists(name);
  }

 private:
  bool dead_ = false;
};

TEST_F(SamplingTest, ThePolicyOutlivesTheEnv) {
  MortalEnv env(env_);
  ProteusPolicyOptions proteus;
  proteus.samples_file = file_;
  table_.filter_policy =
      std::make_shared<ProteusFilterPolicy>(DesignSpace::kProteus, proteus);
  options_.table_factory = NewProteanTableFactory(table_);
  for (const bool flushed : {false, true}) {
    env.Live();
    options_.env = &env;
    Open();
    if (flushed) {
      ASSERT_OK(db_->Put(WriteOptions(), "a", "a value"));
      ASSERT_OK(db_->Flush(FlushOptions()));
    }
    Close();
    env.Die();
    options_.env = env_;
    SstFileWriter writer(EnvOptions(), options_);
    const std::string file = path_ + ".sst";
    ASSERT_OK(writer.Open(file));
    ASSERT_OK(writer.Put("b", "a value"));
    ASSERT_OK(writer.Finish());
    ASSERT_OK(env_->DeleteFile(file));
  }
}

// The first file that a DB writes is designed from samples of the DB's Env.
TEST_F(SamplingTest, SamplesAreInTheEnvOfTheDB) {
  const std::unique_ptr<Env> env(NewMemEnv(env_));
  ASSERT_OK(WriteQueryFile(env.get(), "/samples", {{"b", "c", true}}));
  ProteusPolicyOptions proteus;
  proteus.samples_file = "/samples";
  table_.filter_policy =
      std::make_shared<ProteusFilterPolicy>(DesignSpace::kProteus, proteus);
  options_.table_factory = NewProteanTableFactory(table_);
  options_.env = env.get();
  ASSERT_OK(OpenDB(&db_, options_, "/db"));
  ASSERT_OK(db_->Put(WriteOptions(), "a", "a value"));
  ASSERT_OK(db_->Put(WriteOptions(), "d", "a value"));
  ASSERT_OK(db_->Flush(FlushOptions()));
  std::map<std::string, FilterProperties> files;
  ASSERT_OK(GetFilterProperties(db_.get(), db_->DefaultColumnFamily(), &files));
  ASSERT_EQ(1u, files.size());
  EXPECT_EQ(1u, files.begin()->second.samples);
  Close();
  options_.env = env_;
}

// What column families have left behind, when they are dropped, is saved long
// before the DB is closed.
TEST_F(SamplingTest, ColumnFamiliesThatGo) {
  constexpr int kFamilies = DBSession::kMaxIdleQueues + 8;
  SetPolicy(1, file_);
  Open();
  // One stays.
  ASSERT_OK(db_->Put(WriteOptions(), "a", "a value"));
  ASSERT_OK(db_->Flush(FlushOptions()));
  const auto name = [](int i) { return "family" + std::to_string(i); };
  for (int i = 0; i < kFamilies; i++) {
    ColumnFamilyHandle* family;
    ASSERT_OK(db_->CreateColumnFamily(options_, name(i), &family));
    for (const uint64_t key : {1, 3}) {
      ASSERT_OK(db_->Put(WriteOptions(), family, BigEndian(key), "a value"));
    }
    ASSERT_OK(db_->Flush(FlushOptions(), family));
    std::string value;
    ASSERT_TRUE(
        db_->Get(ReadOptions(), family, BigEndian(2), &value).IsNotFound());
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
  const std::string name = path_ + "/ingested";
  SstFileWriter writer(EnvOptions(), options_);
  ASSERT_OK(writer.Open(name));
  ASSERT_OK(writer.Put("a", "value"));
  ASSERT_OK(writer.Put("c", "value"));
  ASSERT_OK(writer.Finish());
  ASSERT_OK(db_->IngestExternalFile({name}, IngestExternalFileOptions()));
  EXPECT_FALSE(Get("b"));
  EXPECT_EQ(Lines(Queries{Point("b")}), Lines(queue()->Snapshot()));
}

TEST_F(SamplingTest, BadFilesAreRefusedAtOpen) {
  SetPolicy(1, file_);
  for (const char* contents : {"a\tb\tc\n", "0x1\n"}) {
    ASSERT_OK(WriteStringToFile(env_, contents, file_));
    std::unique_ptr<DB> db;
    const Status s = OpenDB(&db, options_, path_);
    EXPECT_TRUE(s.IsInvalidArgument());
    EXPECT_NE(std::string::npos, s.ToString().find(file_ + ", line 1 "));
  }
}

TEST_F(SamplingTest, SeedsAndRefusedLinesOfThem) {
  samples_.seed_file = file_;
  ASSERT_OK(WriteStringToFile(env_, "a\tb\nz\ty\n", file_));
  Fill(1);
  EXPECT_EQ(Lines({{"a", "b", true}}), Lines(queue()->Snapshot()));
  EXPECT_EQ(1u, log_->Lines({file_ + ", line 2 "}).size());
}

TEST_F(SamplingTest, FailingSaveIsLogged) {
  Fill(1);
  Close();
  SetPolicy(1, path_ + "/missing/samples");
  Open();
  EXPECT_FALSE(Get(BigEndian(kGap + 1)));
  Close();
  EXPECT_EQ(1u, log_->Lines({"samples of column family default are not saved",
                             samples_.samples_file})
                    .size());
}

}  // namespace ROCKSDB_NAMESPACE::protean
