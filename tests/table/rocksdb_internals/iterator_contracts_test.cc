// SPDX-License-Identifier: Apache-2.0

//  What RocksDB asks the iterators of files, and how it takes the answers.
//  (That it never takes the markers of ProteanTableIterator for keys, every
//  test of open seeks proves.)

#include "db/column_family.h"
#include "db/version_set.h"
#include "rocksdb/utilities/debug.h"
#include "table/rocksdb_internals/file_iterator.h"
#include "table/rocksdb_internals/handles.h"
#include "tests/table/rocksdb_internals/contract_fixture.h"
#include "util/cast_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The calls that iterators have got, and the answers that the test wants.
struct Script {
  Keys calls;
  // Files that pretend to hold nothing, and their results of the bound check.
  std::map<std::string, IterBoundCheck> filtered;
  // Files whose first seek says that the block is still being read.
  std::set<std::string> slow;
};

class ScriptedIterator : public SpyIterator {
 public:
  ScriptedIterator(std::unique_ptr<SpiedFile> file, const std::string& name,
                   Script* script)
      : SpyIterator(std::move(file->inner)), name_(name), script_(script) {}

  bool Valid() const override { return !hidden_ && SpyIterator::Valid(); }
  Status status() const override {
    return trying_ ? Status::TryAgain() : SpyIterator::status();
  }
  IterBoundCheck UpperBoundCheckResult() override {
    return hidden_ ? result_ : SpyIterator::UpperBoundCheckResult();
  }
  void SetPinnedItersMgr(PinnedIteratorsManager* manager) override {
    if (manager != nullptr) Note("SetPinnedItersMgr");
    SpyIterator::SetPinnedItersMgr(manager);
  }

 private:
  static std::string Describe(const Slice& key) {
    const SequenceNumber sequence = GetInternalKeySeqno(key);
    const char* const at = sequence == kMaxSequenceNumber ? "@max"
                           : sequence == 0                ? "@0"
                                                          : "@snapshot";
    return ExtractUserKey(key).ToString() + at;
  }
  void Note(const std::string& call) {
    script_->calls.push_back(name_ + ": " + call);
  }
  // Refuses a seek that the script wants to find nothing.
  bool MaySeek(const char* seek, const Slice* target) override {
    Note(seek + (target == nullptr ? "" : " " + Describe(*target)));
    trying_ = script_->slow.erase(name_) > 0;
    const auto filtered = script_->filtered.find(name_);
    const bool is_filtered = filtered != script_->filtered.end();
    hidden_ = trying_ || is_filtered;
    result_ = is_filtered ? filtered->second : IterBoundCheck::kUnknown;
    return !hidden_;
  }

  const std::string name_;
  Script* const script_;
  bool hidden_ = false;
  bool trying_ = false;
  IterBoundCheck result_ = IterBoundCheck::kUnknown;
};

// A DB with a level of three files: a1..a3, b1..b3, c1..c3.
class CallsTest : public ContractTest {
 protected:
  CallsTest() {
    SetTable([this](std::unique_ptr<SpiedFile> file) {
      // A file is named by the letter of its first key.
      file->inner->SeekToFirst();
      std::string name = ExtractUserKey(file->inner->key()).ToString();
      name.resize(1);
      return std::make_unique<ScriptedIterator>(std::move(file), name,
                                                &script_);
    });
    Open();
    for (const std::string letter : {"a", "b", "c"}) {
      AddFile(db_.get(), 3, {letter + "1", letter + "2", letter + "3"});
    }
    EXPECT_EQ(3u, NumFiles());
    for (const LiveFileMetaData& file : Files()) EXPECT_EQ(3, file.level);
  }

  // The calls that position a new iterator once, without those that give it a
  // manager of pinned iterators; and then what it has found.
  Keys CallsOf(const std::function<void(Iterator*)>& position,
               const ReadOptions& options = {}) {
    const std::unique_ptr<Iterator> it(db_->NewIterator(options));
    script_.calls.clear();
    position(it.get());
    Keys calls = script_.calls;
    calls.erase(std::remove_if(calls.begin(), calls.end(), SetsManager),
                calls.end());
    calls.push_back(it->Valid() ? it->key().ToString()
                                : it->status().ToString());
    return calls;
  }
  static bool SetsManager(const std::string& call) {
    return call.find("SetPinnedItersMgr") != std::string::npos;
  }

  Script script_;
};

// `Seek` begins a run, and `SeekToFirst` continues it in the next file:
// ProteanTableIterator and RangeCounter tell runs apart by that. kUnknown sends
// the iterator over the level on to the next file, and kOutOfBound ends its
// search: an empty file past which there are keys of the range must say
// kUnknown.
TEST_F(CallsTest, SeekBeginsARunAndOutOfBoundEndsIt) {
  using Check = IterBoundCheck;
  const std::tuple<std::map<std::string, Check>, bool, Keys> cases[] = {
      {{}, false, {"a: Seek a2@snapshot", "a2"}},
      {{{"a", Check::kUnknown}, {"b", Check::kUnknown}},
       false,
       {"a: Seek a2@snapshot", "b: SeekToFirst", "c: SeekToFirst", "c1"}},
      {{{"a", Check::kOutOfBound}}, true, {"a: Seek a2@snapshot", "OK"}},
      {{{"a", Check::kUnknown}, {"b", Check::kOutOfBound}},
       true,
       {"a: Seek a2@snapshot", "b: SeekToFirst", "OK"}}};
  const Slice upper = "z";
  for (const auto& [filtered, bounded, expected] : cases) {
    script_.filtered = filtered;
    ReadOptions options;
    if (bounded) options.iterate_upper_bound = &upper;
    EXPECT_EQ(expected, CallsOf([](Iterator* it) { it->Seek("a2"); }, options));
  }
}

// Backwards, an invalid iterator sends the search on to the file before,
// whatever its bound check says: that is why iterators wait at markers there.
TEST_F(CallsTest, BackwardsThereIsNoBound) {
  const Slice lower = "b";
  ReadOptions options;
  options.iterate_lower_bound = &lower;
  script_.filtered["c"] = IterBoundCheck::kOutOfBound;
  EXPECT_EQ((Keys{"c: SeekForPrev c2@0", "b: SeekToLast", "b3"}),
            CallsOf([](Iterator* it) { it->SeekForPrev("c2"); }, options));
}

// An upper bound, which is not in the range, is sought with the largest
// sequence number, and a target, which is, with 0: see
// ProteanTableIterator::SeekForPrev.
TEST_F(CallsTest, SeekForPrevTellsWhetherItsTargetCounts) {
  EXPECT_EQ((Keys{"b: SeekForPrev b2@0", "b2"}),
            CallsOf([](Iterator* it) { it->SeekForPrev("b2"); }));
  const Slice upper = "b2";
  ReadOptions options;
  options.iterate_upper_bound = &upper;
  const Keys calls = CallsOf([](Iterator* it) { it->SeekToLast(); }, options);
  EXPECT_EQ("b: SeekForPrev b2@max", calls.front());
  EXPECT_EQ("b1", calls.back());
}

// With async_io, a seek whose block is still being read says TryAgain, and is
// repeated with the same target to be completed: see
// ProteanTableIterator::Seek.
TEST_F(CallsTest, AsynchronousSeeksAreRepeated) {
  AddFile(db_.get(), 0, {"b2"});
  ReadOptions options;
  options.async_io = true;
  script_.slow = {"a"};
  const Keys calls = CallsOf([](Iterator* it) { it->Seek("a2"); }, options);
  EXPECT_EQ(2, std::count(calls.begin(), calls.end(), "a: Seek a2@snapshot"));
  EXPECT_EQ("a2", calls.back());
}

// Before it positions them. Only DBIter compares sequence numbers with a
// snapshot, so an iterator without a manager must not wait at a marker.
TEST_F(CallsTest, ManagersOfPinnedIteratorsComeFromDBIter) {
  script_.calls.clear();
  EXPECT_EQ("a2", FirstFrom("a2"));
  EXPECT_EQ((Keys{"a: SetPinnedItersMgr", "a: Seek a2@snapshot"}),
            script_.calls);

  script_.calls.clear();
  {
    const ReadOptions options;
    const ColumnFamilyVersion version(db_.get(), db_->DefaultColumnFamily(),
                                      options);
    version.iterator()->SeekToFirst();
    EXPECT_TRUE(version.iterator()->Valid());
  }
  const size_t calls_of_version = script_.calls.size();
  EXPECT_GT(calls_of_version, 0u);
  std::vector<KeyVersion> versions;
  ASSERT_OK(GetAllKeyVersions(db_.get(), "", "z", 100, &versions));
  EXPECT_EQ(9u, versions.size());
  EXPECT_GT(script_.calls.size(), calls_of_version);
  for (const std::string& call : script_.calls) {
    EXPECT_FALSE(SetsManager(call)) << call;
  }
}

// ---- Searches ----

// Files of one search find each other by the address of their ReadOptions
// (table/seek/run_search.h).
TEST_F(ContractTest, ReadOptionsNameASearch) {
  // The ReadOptions that iterators over files have been made with, by address.
  std::multiset<const ReadOptions*> addresses;
  SetTable([&](std::unique_ptr<SpiedFile> file) {
    if (file->caller == TableReaderCaller::kUserIterator) {
      addresses.insert(file->read_options);
    }
    return std::move(file->inner);
  });
  Open();
  for (const char* key : {"a", "b", "c"}) AddFile(db_.get(), 3, {key});
  AddFile(db_.get(), 0, {"a", "d"});
  AddFile(db_.get(), 0, {"b", "e"});
  constexpr size_t kFiles = 5;

  // All files that one iterator reads, also those that it comes to later.
  const ReadOptions given;
  std::unique_ptr<Iterator> one(db_->NewIterator(given));
  for (one->SeekToFirst(); one->Valid();) one->Next();
  EXPECT_OK(one->status());
  ASSERT_LE(kFiles, addresses.size());
  const ReadOptions* const first = *addresses.begin();
  EXPECT_EQ(addresses.size(), addresses.count(first));
  EXPECT_NE(&given, first) << "the iterator has a copy";

  // Another iterator has another address while the first one lives.
  addresses.clear();
  const std::unique_ptr<Iterator> other(db_->NewIterator(given));
  for (other->SeekToFirst(); other->Valid(); other->Next()) one->Seek("c");
  EXPECT_OK(other->status());
  EXPECT_LE(kFiles, addresses.size());
  addresses.erase(first);
  ASSERT_FALSE(addresses.empty());
  EXPECT_EQ(addresses.size(), addresses.count(*addresses.begin()));
}

// ---- RocksDB's samples of reads ----

// Samples say the same as without Protean.

#if PROTEAN_SAMPLES_SEEKS

TEST(SampledSeekTest, IsKnownBeforeRocksDBDecides) {
  int sampled = 0;
  for (int i = 0; i < 100 * static_cast<int>(kFileReadSampleRate); i++) {
    const bool expected = IsSampledSeek();
    EXPECT_EQ(expected, IsSampledSeek());
    ASSERT_EQ(expected, should_sample_file_read());
    sampled += expected ? 1 : 0;
  }
  EXPECT_GT(sampled, 50);
  EXPECT_LT(sampled, 200);
}

using ReadSamplesTest = NumberedDBTest;

TEST_F(ReadSamplesTest, AreThoseOfStock) {
  constexpr uint64_t kKeys = 20'000;
  constexpr int kSeeks = 50'000;
  struct Samples {
    uint64_t reads = 0;
    uint64_t collapsible = 0;
  };
  // A level of deletions over one of values that are not deleted; returns what
  // is sampled of the first while seeks come to the second.
  const auto samples_with = [&](const std::string& id,
                                const std::string& policy) {
    SetTable("filter_policy=" + policy, id);
    OpenNew();
    for (const bool deletions : {false, true}) {
      for (uint64_t i = 0; i < kKeys; i++) {
        deletions ? Delete(Key(2 * i + 1)) : Put(Key(2 * i));
      }
      Flush();
      // A range of its own keeps the compaction from the level below.
      CompactLevel0Into(deletions ? 1 : 2, 1 << 30);
    }
    Random::GetTLSInstance()->Reset(301);
    {
      const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
      for (int i = 0; i < kSeeks; i++) {
        it->Seek(
            Key(static_cast<uint64_t>(i) * 7919 % (2 * kKeys - 2) / 2 * 2 + 1));
        EXPECT_TRUE(it->Valid());
      }
    }
    Samples samples;
    auto* const family = static_cast_with_check<ColumnFamilyHandleImpl>(
                             db_->DefaultColumnFamily())
                             ->cfd();
    const auto& files = family->current()->storage_info()->LevelFiles(1);
    EXPECT_FALSE(files.empty());
    for (const FileMetaData* file : files) {
      samples.reads += file->stats.num_reads_sampled;
      samples.collapsible += file->stats.num_collapsible_entry_reads_sampled;
    }
    return samples;
  };
  const Samples stock = samples_with("BlockBasedTable", "bloomfilter:12");
  ASSERT_GT(stock.collapsible, 10u * kFileReadSampleRate);
  for (const std::string policy : {"proteus:12", "surf:0:8"}) {
    const Samples samples = samples_with("ProteanTable", policy);
    EXPECT_NEAR(stock.collapsible, samples.collapsible, .3 * stock.collapsible)
        << policy;
    EXPECT_NEAR(stock.reads, samples.reads, .3 * stock.reads) << policy;
  }
}

#endif

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
