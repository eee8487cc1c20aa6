// SPDX-License-Identifier: Apache-2.0

//  What RocksDB asks the iterators of files, and how it takes the answers; and
//  that it never takes the markers of ProteanTableIterator for keys.

#include <functional>

#include "db/column_family.h"
#include "db/version_set.h"
#include "rocksdb/snapshot.h"
#include "rocksdb/utilities/debug.h"
#include "table/rocksdb_internals/file_iterator.h"
#include "table/rocksdb_internals/handles.h"
#include "tests/table/rocksdb_internals/contract_fixture.h"
#include "util/cast_util.h"
#include "util/vector_iterator.h"

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
  // manager of pinned iterators.
  Keys CallsOf(const std::function<void(Iterator*)>& position,
               const ReadOptions& options = {}) {
    const std::unique_ptr<Iterator> it(db_->NewIterator(options));
    script_.calls.clear();
    position(it.get());
    found_ = it->Valid() ? it->key().ToString() : it->status().ToString();
    Keys calls = script_.calls;
    calls.erase(std::remove_if(calls.begin(), calls.end(), SetsManager),
                calls.end());
    return calls;
  }
  static bool SetsManager(const std::string& call) {
    return call.find("SetPinnedItersMgr") != std::string::npos;
  }

  Script script_;
  std::string found_;
};

// `Seek` begins a run, and `SeekToFirst` continues it in the next file:
// ProteanTableIterator and RangeCounter tell runs apart by that.
TEST_F(CallsTest, SeekBeginsARun) {
  const auto seek = [](Iterator* it) { it->Seek("a2"); };
  EXPECT_EQ((Keys{"a: Seek a2@snapshot"}), CallsOf(seek));
  EXPECT_EQ("a2", found_);
  script_.filtered["a"] = IterBoundCheck::kUnknown;
  script_.filtered["b"] = IterBoundCheck::kUnknown;
  EXPECT_EQ((Keys{"a: Seek a2@snapshot", "b: SeekToFirst", "c: SeekToFirst"}),
            CallsOf(seek));
  EXPECT_EQ("c1", found_);
}

// kUnknown sends the iterator over the level on to the next file, and
// kOutOfBound ends its search: an empty file past which there are keys of the
// range must say kUnknown.
TEST_F(CallsTest, OutOfBoundEndsTheSearch) {
  const Slice upper = "z";
  ReadOptions options;
  options.iterate_upper_bound = &upper;
  script_.filtered["a"] = IterBoundCheck::kOutOfBound;
  EXPECT_EQ((Keys{"a: Seek a2@snapshot"}),
            CallsOf([](Iterator* it) { it->Seek("a2"); }, options));
  EXPECT_EQ("OK", found_);
  script_.filtered["a"] = IterBoundCheck::kUnknown;
  script_.filtered["b"] = IterBoundCheck::kOutOfBound;
  EXPECT_EQ((Keys{"a: Seek a2@snapshot", "b: SeekToFirst"}),
            CallsOf([](Iterator* it) { it->Seek("a2"); }, options));
  EXPECT_EQ("OK", found_);
}

// Backwards, an invalid iterator sends the search on to the file before,
// whatever its bound check says: that is why iterators wait at markers there.
TEST_F(CallsTest, BackwardsThereIsNoBound) {
  const Slice lower = "b";
  ReadOptions options;
  options.iterate_lower_bound = &lower;
  script_.filtered["c"] = IterBoundCheck::kOutOfBound;
  EXPECT_EQ((Keys{"c: SeekForPrev c2@0", "b: SeekToLast"}),
            CallsOf([](Iterator* it) { it->SeekForPrev("c2"); }, options));
  EXPECT_EQ("b3", found_);
}

// An upper bound, which is not in the range, is sought with the largest
// sequence number, and a target, which is, with 0: see
// ProteanTableIterator::SeekForPrev.
TEST_F(CallsTest, SeekForPrevTellsWhetherItsTargetCounts) {
  EXPECT_EQ((Keys{"b: SeekForPrev b2@0"}),
            CallsOf([](Iterator* it) { it->SeekForPrev("b2"); }));
  const Slice upper = "b2";
  ReadOptions options;
  options.iterate_upper_bound = &upper;
  EXPECT_EQ("b: SeekForPrev b2@max",
            CallsOf([](Iterator* it) { it->SeekToLast(); }, options).front());
  EXPECT_EQ("b1", found_);
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
  EXPECT_EQ("a2", found_);
}

// Only DBIter gives iterators a manager of pinned iterators, before it
// positions them, and only DBIter compares sequence numbers with a snapshot. So
// an iterator without a manager must not wait at a marker.
TEST_F(CallsTest, ManagersOfPinnedIteratorsComeFromDBIter) {
  script_.calls.clear();
  EXPECT_EQ("a2", FirstFrom("a2"));
  EXPECT_EQ((Keys{"a: SetPinnedItersMgr", "a: Seek a2@snapshot"}),
            script_.calls);

  script_.calls.clear();
  {
    Arena arena;
    const ReadOptions options;
    ColumnFamilyVersion version(db_.get(), db_->DefaultColumnFamily());
    const ScopedArenaPtr<InternalIterator> it(
        version.NewIterator(options, &arena));
    it->SeekToFirst();
    EXPECT_TRUE(it->Valid());
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
  for (one->SeekToFirst(); one->Valid(); one->Next()) {
  }
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

// A file's samples say the same as without Protean, of whatever the file's
// iterator would have waited at.

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

class ReadSamplesTest : public NumberedDBTest {
 protected:
  static constexpr uint64_t kKeys = 20'000;
  static constexpr int kSeeks = 50'000;
  struct Samples {
    uint64_t reads = 0;
    uint64_t collapsible = 0;
  };

  // A level of deletions over one of values that are not deleted; returns what
  // is sampled of the first while seeks come to the second.
  Samples SamplesWith(const std::string& id, const std::string& table) {
    SetTable(table, id);
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
  }
};

TEST_F(ReadSamplesTest, AreThoseOfStock) {
  const Samples stock =
      SamplesWith("BlockBasedTable", "filter_policy=bloomfilter:12");
  ASSERT_GT(stock.collapsible, 10u * kFileReadSampleRate);
  for (const std::string policy : {"proteus:12", "surf:0:8"}) {
    const Samples samples =
        SamplesWith("ProteanTable", "filter_policy=" + policy);
    EXPECT_NEAR(stock.collapsible, samples.collapsible, .3 * stock.collapsible)
        << policy;
    EXPECT_NEAR(stock.reads, samples.reads, .3 * stock.reads) << policy;
  }
}

#endif

// ---- Markers ----

// The sequence number of Protean's markers; see protean_table_iterator.cc.
constexpr SequenceNumber kMarkerSequence = kMaxSequenceNumber - 1;
static_assert(kMarkerSequence == (uint64_t{1} << 56) - 2);

uint64_t markers_made = 0;

// For users, an iterator over the entries of a file, with a marker after the
// last version of each key unless the next key leaves no room for one.
std::unique_ptr<InternalIterator> WithMarkers(std::unique_ptr<SpiedFile> file) {
  if (file->caller != TableReaderCaller::kUserIterator) {
    return std::move(file->inner);
  }
  InternalIterator* const it = file->inner.get();
  Keys keys;
  Keys values;
  for (it->SeekToFirst(); it->Valid();) {
    keys.push_back(it->key().ToString());
    values.push_back(it->value().ToString());
    it->Next();
    std::string marker = ExtractUserKey(keys.back()).ToString() + '\0';
    if (it->Valid() && it->user_key().compare(marker) <= 0) continue;
    PutFixed64(&marker, PackSequenceAndType(kMarkerSequence, kTypeValue));
    keys.push_back(marker);
    values.push_back("a marker");
    markers_made++;
  }
  EXPECT_OK(it->status());
  static const InternalKeyComparator comparator(BytewiseComparator());
  return std::make_unique<VectorIterator>(std::move(keys), std::move(values),
                                          &comparator);
}

// Walks and seeks in both directions and expects to find the truth and nothing
// else.
void ExpectOnly(const Records& truth, DB* db, const ReadOptions& options = {}) {
  const std::unique_ptr<Iterator> it(db->NewIterator(options));
  const uint64_t before = markers_made;
  ASSERT_NO_FATAL_FAILURE(ExpectRecords(it.get(), truth));
  const auto found = [&] {
    return it->Valid() ? it->key().ToString() : "nothing";
  };
  for (const auto& [key, unused] : truth) {
    for (const std::string& target : Around(key)) {
      it->Seek(target);
      const auto next = truth.lower_bound(target);
      ASSERT_EQ(next == truth.end() ? "nothing" : next->first, found());
      it->SeekForPrev(target);
      const auto above = truth.upper_bound(target);
      ASSERT_EQ(above == truth.begin() ? "nothing" : std::prev(above)->first,
                found());
    }
  }
  EXPECT_LT(before, markers_made) << "no marker has been met";
}

// No reader sees a write with the sequence number 2^56-2. Otherwise, markers of
// ProteanTableIterator would be taken for keys: look at DBIter::IsVisible and
// the read callbacks. TransactionsTest has the other readers.
TEST_F(ContractTest, MarkersAreNeverTakenForKeys) {
  SetTable(WithMarkers);
  Open();
  DB* const db = db_.get();
  // Reads all keys by Get, which knows no markers.
  const auto read = [db] {
    Records truth;
    for (const std::string& key :
         Keys{"", "a", "ab", "b", "bb", "bc", "c", "d", "e", "ee", "f",
              std::string("g\0", 2), "in the memtable", "\xff"}) {
      std::string value;
      if (db->Get(ReadOptions(), key, &value).ok()) truth[key] = value;
    }
    return truth;
  };
  AddFile(db, 3, {"", "a", "b", "bb", "c", "d", "f", std::string("g\0", 2)});
  ManagedSnapshot snapshot(db);
  ReadOptions at_snapshot;
  at_snapshot.snapshot = snapshot.snapshot();
  const Records older = read();
  AddFile(db, 2, {"ab", "b", "e", "ee", "\xff"});
  Delete("c");
  ASSERT_OK(db->DeleteRange(WriteOptions(), "e", "ef"));
  AddFile(db, 0, {"bc", "f"});
  Put("in the memtable");
  Delete("d");
  const Records truth = read();
  EXPECT_LT(8u, truth.size());
  ExpectOnly(truth, db);
  ExpectOnly(older, db, at_snapshot);
  const Slice lower = "b";
  const Slice upper = "f";
  for (int bits = 0; bits < 16; bits++) {
    ReadOptions options;
    if (bits & 1) options.iterate_lower_bound = &lower;
    if (bits & 2) options.iterate_upper_bound = &upper;
    options.pin_data = (bits & 4) != 0;
    options.total_order_seek = (bits & 8) != 0;
    const Records within(bits & 1 ? truth.lower_bound("b") : truth.begin(),
                         bits & 2 ? truth.lower_bound("f") : truth.end());
    SCOPED_TRACE(bits);
    ExpectOnly(within, db, options);
  }
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
