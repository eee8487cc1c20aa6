// SPDX-License-Identifier: Apache-2.0

//  What Protean relies on in RocksDB without RocksDB promising it: a test for
//  each behaviour whose change would otherwise go unseen. If one of them fails
//  after RocksDB was upgraded, its comment says what to look at.

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <typeinfo>

#include "db/db_impl/db_impl.h"
#include "rocksdb/attribute_groups.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/utilities/checkpoint.h"
#include "rocksdb/utilities/db_ttl.h"
#include "rocksdb/utilities/debug.h"
#include "rocksdb/utilities/optimistic_transaction_db.h"
#include "rocksdb/utilities/transaction_db.h"
#include "rocksdb/utilities/write_batch_with_index.h"
#include "table/block_based/filter_policy_internal.h"
#include "table/block_based/full_filter_block.h"
#include "table/rocksdb_internals/column_family.h"
#include "table/rocksdb_internals/file_iterator.h"
#include "table/rocksdb_internals/self_check.h"
#include "table/rocksdb_internals/versions.h"
#include "tests/table/spy_table.h"
#include "tests/table/twin_db.h"
#include "util/vector_iterator.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class ContractTest : public ::testing::Test {
 protected:
  ContractTest() : path_(test::PerThreadDBPath("rocksdb_contract")) {
    options_ = UnthrottledFiles();
    options_.create_if_missing = true;
    Clean();
  }
  ~ContractTest() override {
    db_.reset();
    Clean();
  }
  void Clean() {
    for (const char* name : {"", "_copy", "_log"}) {
      EXPECT_OK(DestroyDB(path_ + name, Options()));
    }
  }

  void SetTable(MakeIterator make, const BlockBasedTableOptions& table = {}) {
    options_.table_factory =
        std::make_shared<SpyTableFactory>(table, std::move(make));
  }
  void Open() { ASSERT_OK(OpenDB(&db_, options_, path_)); }

  // A file of the keys in that level, which must be empty there.
  static void AddFile(DB* db, int level, const Keys& keys) {
    for (const std::string& key : keys) {
      ASSERT_OK(db->Put(WriteOptions(), key, "value of " + key));
    }
    ASSERT_OK(db->Flush(FlushOptions()));
    if (level > 0) {
      ASSERT_OK(CompactLevel0(db, level, kFileSize));
    }
  }

  const std::string path_;
  Options options_;
  std::unique_ptr<DB> db_;
};

}  // namespace

// What a shared library checks when it is loaded.
TEST(SelfCheckTest, FitsTheRocksDBItWasCompiledFor) {
  EXPECT_OK(CheckInsides());
}

// ---- Markers ----

namespace {

// The sequence number of Protean's markers, see protean_table_iterator.cc.
constexpr SequenceNumber kMarkerSequence = kMaxSequenceNumber - 1;
static_assert(kMarkerSequence == (uint64_t{1} << 56) - 2);

uint64_t markers_made = 0;

// The entries of a file, with a marker after the last version of each key but
// where the next key leaves no room.
std::unique_ptr<InternalIterator> WithMarkers(std::unique_ptr<SpiedFile> file) {
  InternalIterator* const it = file->inner.get();
  it->SeekToFirst();
  std::vector<std::string> keys;
  std::vector<std::string> values;
  for (; it->Valid(); it->Next()) {
    keys.push_back(it->key().ToString());
    values.push_back(it->value().ToString());
  }
  EXPECT_OK(it->status());
  static const InternalKeyComparator comparator(BytewiseComparator());
  for (size_t i = 0, size = keys.size(); i < size; i++) {
    const std::string after = ExtractUserKey(keys[i]).ToString() + '\0';
    if (i + 1 < size && ExtractUserKey(keys[i + 1]).compare(after) <= 0) {
      continue;
    }
    std::string marker = after;
    PutFixed64(&marker, PackSequenceAndType(kMarkerSequence, kTypeValue));
    keys.push_back(marker);
    values.push_back("a marker");
    markers_made++;
  }
  return std::make_unique<VectorIterator>(std::move(keys), std::move(values),
                                          &comparator);
}

std::unique_ptr<InternalIterator> MarkedForUsers(
    std::unique_ptr<SpiedFile> file) {
  if (file->caller == TableReaderCaller::kUserIterator) {
    return WithMarkers(std::move(file));
  }
  return std::make_unique<SpyIterator>(std::move(file->inner));
}

using Truth = std::map<std::string, std::string>;

// Walks and seeks both ways: nothing but the truth. `It` is an iterator of any
// kind, whose values `value` tells.
template <typename It, typename Value>
void ExpectTruth(const Truth& truth, It* it, const Value& value) {
  const uint64_t before = markers_made;
  auto expected = truth.begin();
  for (it->SeekToFirst(); it->Valid(); it->Next(), ++expected) {
    ASSERT_NE(truth.end(), expected) << it->key().ToString(/*hex=*/true);
    ASSERT_EQ(expected->first, it->key().ToString());
    ASSERT_EQ(expected->second, value(it));
  }
  EXPECT_OK(it->status());
  EXPECT_EQ(truth.end(), expected);
  auto back = truth.rbegin();
  for (it->SeekToLast(); it->Valid(); it->Prev(), ++back) {
    ASSERT_NE(truth.rend(), back) << it->key().ToString(/*hex=*/true);
    ASSERT_EQ(back->first, it->key().ToString());
  }
  EXPECT_EQ(truth.rend(), back);
  for (const auto& [key, unused] : truth) {
    for (const std::string& target : Around(key)) {
      it->Seek(target);
      const auto next = truth.lower_bound(target);
      ASSERT_EQ(next != truth.end(), it->Valid());
      if (it->Valid()) {
        ASSERT_EQ(next->first, it->key().ToString());
      }
      it->SeekForPrev(target);
      auto last = truth.upper_bound(target);
      ASSERT_EQ(last != truth.begin(), it->Valid());
      if (it->Valid()) {
        ASSERT_EQ((--last)->first, it->key().ToString());
      }
    }
  }
  EXPECT_LT(before, markers_made) << "no marker has been met";
}

void ExpectOnly(const Truth& truth, std::unique_ptr<Iterator> it) {
  ExpectTruth(truth, it.get(),
              [](Iterator* i) { return i->value().ToString(); });
}

void ExpectOnly(const Truth& truth, DB* db, const ReadOptions& options = {}) {
  ExpectOnly(truth, std::unique_ptr<Iterator>(db->NewIterator(options)));
}

}  // namespace

// A write with the sequence number 2^56-2 is seen by nobody. Else markers of
// ProteanTableIterator would be taken for keys: look at DBIter::IsVisible and
// the read callbacks.
class MarkersTest : public ContractTest {
 protected:
  MarkersTest() { SetTable(MarkedForUsers); }

  // Overwritten and deleted keys, on several levels and in the memtable.
  void Fill(DB* db, bool delete_ranges = true) {
    AddFile(db, 3, {"", "a", "b", "bb", "c", "d", "f", std::string("g\0", 2)});
    snapshot_truth_ = Read(db);
    snapshot_ = db->GetSnapshot();
    AddFile(db, 2, {"ab", "b", "e", "ee", "\xff"});
    ASSERT_OK(db->Delete(WriteOptions(), "c"));
    if (delete_ranges) {
      ASSERT_OK(db->DeleteRange(WriteOptions(), "e", "ef"));
    }
    AddFile(db, 0, {"bc", "f"});
    ASSERT_OK(db->Put(WriteOptions(), "in the memtable", "value"));
    ASSERT_OK(db->Delete(WriteOptions(), "d"));
    truth_ = Read(db);
  }

  // By Get, which knows no markers.
  static Truth Read(DB* db) {
    Truth truth;
    const Keys keys = {"",     "a",
                       "ab",   "b",
                       "bb",   "bc",
                       "c",    "d",
                       "e",    "ee",
                       "f",    "in the memtable",
                       "\xff", std::string("g\0", 2)};
    for (const std::string& key : keys) {
      std::string value;
      if (db->Get(ReadOptions(), key, &value).ok()) truth[key] = value;
    }
    return truth;
  }

  void ExpectHidden(DB* db) {
    EXPECT_LT(8u, truth_.size());
    ExpectOnly(truth_, db);
    if (snapshot_ == nullptr) return;
    ReadOptions options;
    options.snapshot = snapshot_;
    ExpectOnly(snapshot_truth_, db, options);
  }
  void Release(DB* db) {
    if (snapshot_ != nullptr) db->ReleaseSnapshot(snapshot_);
    snapshot_ = nullptr;
  }

  Truth truth_;
  Truth snapshot_truth_;
  const Snapshot* snapshot_ = nullptr;
};

TEST_F(MarkersTest, Snapshots) {
  Open();
  Fill(db_.get());
  ExpectHidden(db_.get());
  Release(db_.get());
}

TEST_F(MarkersTest, BoundsAndOptions) {
  Open();
  Fill(db_.get());
  const Slice lower = "b";
  const Slice upper = "f";
  for (int bits = 0; bits < 16; bits++) {
    ReadOptions options;
    if (bits & 1) options.iterate_lower_bound = &lower;
    if (bits & 2) options.iterate_upper_bound = &upper;
    options.pin_data = (bits & 4) != 0;
    options.total_order_seek = (bits & 8) != 0;
    const Truth within(bits & 1 ? truth_.lower_bound("b") : truth_.begin(),
                       bits & 2 ? truth_.lower_bound("f") : truth_.end());
    const std::unique_ptr<Iterator> it(db_->NewIterator(options));
    auto expected = within.begin();
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++expected) {
      ASSERT_NE(within.end(), expected);
      ASSERT_EQ(expected->first, it->key().ToString());
    }
    EXPECT_EQ(within.end(), expected);
    auto back = within.rbegin();
    for (it->SeekToLast(); it->Valid(); it->Prev(), ++back) {
      ASSERT_NE(within.rend(), back);
      ASSERT_EQ(back->first, it->key().ToString());
    }
    EXPECT_EQ(within.rend(), back);
  }
  Release(db_.get());
}

TEST_F(MarkersTest, ReadOnlyAndSecondaryInstancesAndCheckpoints) {
  Open();
  Fill(db_.get());
  Release(db_.get());
  Checkpoint* made;
  ASSERT_OK(Checkpoint::Create(db_.get(), &made));
  const std::unique_ptr<Checkpoint> checkpoint(made);
  ASSERT_OK(checkpoint->CreateCheckpoint(path_ + "_copy"));
  {
    std::unique_ptr<DB> copy;
    ASSERT_OK(OpenDB(&copy, options_, path_ + "_copy"));
    ExpectHidden(copy.get());
  }
  ASSERT_OK(db_->Flush(FlushOptions()));
  {
    Options options = options_;
    options.max_open_files = -1;
    std::unique_ptr<DB> secondary;
    ASSERT_OK(OpenSecondary(&secondary, options, path_, path_ + "_log"));
    ExpectHidden(secondary.get());
  }
  db_.reset();
  std::unique_ptr<DB> read_only;
  ASSERT_OK(OpenReadOnly(&read_only, options_, path_));
  ExpectHidden(read_only.get());
}

TEST_F(MarkersTest, Transactions) {
  for (const TxnDBWritePolicy policy :
       {WRITE_COMMITTED, WRITE_PREPARED, WRITE_UNPREPARED}) {
    SCOPED_TRACE(policy);
    TransactionDBOptions transaction_options;
    transaction_options.write_policy = policy;
    TransactionDB* opened;
    ASSERT_OK(
        TransactionDB::Open(options_, transaction_options, path_, &opened));
    std::unique_ptr<TransactionDB> db(opened);
    AddFile(db.get(), 3, {"a", "b", "bb", "c", "d"});
    AddFile(db.get(), 2, {"ab", "b", "e", "ee"});
    AddFile(db.get(), 0, {"bc", "f"});
    truth_ = Read(db.get());
    ASSERT_EQ(10u, truth_.size());
    ExpectOnly(truth_, db.get());

    std::unique_ptr<Transaction> open(db->BeginTransaction(WriteOptions()));
    ASSERT_OK(open->Put("aa", "mine"));
    ASSERT_OK(open->Delete("e"));
    Truth mine = truth_;
    mine["aa"] = "mine";
    mine.erase("e");
    ExpectOnly(mine,
               std::unique_ptr<Iterator>(open->GetIterator(ReadOptions())));
    // Nobody else sees them, even where they are in the DB already.
    ASSERT_OK(open->SetName("open"));
    ASSERT_OK(open->Prepare());
    ExpectOnly(truth_, db.get());
    ASSERT_OK(open->Commit());
    ExpectOnly(mine, db.get());
    {
      ManagedSnapshot snapshot(db.get());
      ASSERT_OK(db->Delete(WriteOptions(), "f"));
      ReadOptions old;
      old.snapshot = snapshot.snapshot();
      ExpectOnly(mine, db.get(), old);
    }
    open.reset();
    db.reset();
    ASSERT_OK(DestroyDB(path_, options_));
  }
}

TEST_F(MarkersTest, OptimisticTransactionsAndTimeToLive) {
  {
    OptimisticTransactionDB* opened;
    ASSERT_OK(OptimisticTransactionDB::Open(options_, path_, &opened));
    const std::unique_ptr<OptimisticTransactionDB> db(opened);
    Fill(db.get(), /*delete_ranges=*/false);
    ExpectHidden(db.get());
    const std::unique_ptr<Transaction> open(
        db->BeginTransaction(WriteOptions()));
    ASSERT_OK(open->Put("aa", "mine"));
    truth_["aa"] = "mine";
    ExpectOnly(truth_,
               std::unique_ptr<Iterator>(open->GetIterator(ReadOptions())));
    Release(db.get());
  }
  ASSERT_OK(DestroyDB(path_, options_));
  DBWithTTL* opened;
  ASSERT_OK(DBWithTTL::Open(options_, path_, &opened));
  const std::unique_ptr<DBWithTTL> db(opened);
  snapshot_truth_.clear();
  Fill(db.get());
  ExpectHidden(db.get());
  Release(db.get());
}

TEST_F(MarkersTest, IteratorsOverColumnFamilies) {
  Open();
  Fill(db_.get());
  Release(db_.get());
  ColumnFamilyHandle* other;
  ASSERT_OK(db_->CreateColumnFamily(options_, "other", &other));
  ASSERT_OK(db_->Put(WriteOptions(), other, "only here", "value"));
  ASSERT_OK(db_->Flush(FlushOptions(), other));
  Truth both = truth_;
  both["only here"] = "value";
  const std::vector<ColumnFamilyHandle*> families = {db_->DefaultColumnFamily(),
                                                     other};
  ExpectOnly(both, db_->NewCoalescingIterator(ReadOptions(), families));
  const auto groups = db_->NewAttributeGroupIterator(ReadOptions(), families);
  ExpectTruth(both, groups.get(), [](AttributeGroupIterator* it) {
    EXPECT_EQ(1u, it->attribute_groups().size());
    return it->attribute_groups()[0].columns()[0].value().ToString();
  });
  WriteBatchWithIndex batch(BytewiseComparator(), 0, /*overwrite_key=*/true);
  ASSERT_OK(batch.Put("aa", "mine"));
  truth_["aa"] = "mine";
  ExpectOnly(truth_, std::unique_ptr<Iterator>(batch.NewIteratorWithBase(
                         db_->NewIterator(ReadOptions()))));
  ASSERT_OK(db_->DestroyColumnFamilyHandle(other));
}

// ---- What iterators of files are asked ----

namespace {

// Writes down what an iterator is asked, and answers as the test wants.
struct Script {
  Keys calls;
  // By the number of the file in the order of its keys: pretends to hold
  // nothing, with this result.
  std::map<std::string, IterBoundCheck> filtered;
  // Files whose first seek says that their block is on its way.
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
  void Seek(const Slice& target) override {
    Note("Seek " + Describe(target));
    Hide();
    trying_ = script_->slow.erase(name_) > 0;
    if (trying_) {
      hidden_ = true;
      result_ = IterBoundCheck::kUnknown;
    }
    if (!hidden_) SpyIterator::Seek(target);
  }
  void SeekToFirst() override {
    Note("SeekToFirst");
    Hide();
    if (!hidden_) SpyIterator::SeekToFirst();
  }
  void SeekForPrev(const Slice& target) override {
    Note("SeekForPrev " + Describe(target));
    Hide();
    if (!hidden_) SpyIterator::SeekForPrev(target);
  }
  void SeekToLast() override {
    Note("SeekToLast");
    Hide();
    if (!hidden_) SpyIterator::SeekToLast();
  }
  void SetPinnedItersMgr(PinnedIteratorsManager* manager) override {
    if (manager != nullptr) Note("SetPinnedItersMgr");
    SpyIterator::SetPinnedItersMgr(manager);
  }

 private:
  static std::string Describe(const Slice& key) {
    const SequenceNumber sequence = GetInternalKeySeqno(key);
    return ExtractUserKey(key).ToString() + (sequence == kMaxSequenceNumber
                                                 ? "@max"
                                             : sequence == 0 ? "@0"
                                                             : "@snapshot");
  }
  void Note(const std::string& call) {
    script_->calls.push_back(name_ + ": " + call);
  }
  void Hide() {
    trying_ = false;
    const auto filtered = script_->filtered.find(name_);
    hidden_ = filtered != script_->filtered.end();
    if (hidden_) result_ = filtered->second;
  }

  const std::string name_;
  Script* const script_;
  bool hidden_ = false;
  bool trying_ = false;
  IterBoundCheck result_ = IterBoundCheck::kUnknown;
};

}  // namespace

// A level of three files: a1..a3, b1..b3, c1..c3.
class CallsTest : public ContractTest {
 protected:
  CallsTest() {
    SetTable([this](std::unique_ptr<SpiedFile> file) {
      // Named by their first keys' letters.
      file->inner->SeekToFirst();
      std::string name = ExtractUserKey(file->inner->key()).ToString();
      name.resize(1);
      return std::make_unique<ScriptedIterator>(std::move(file), name,
                                                &script_);
    });
    Open();
    for (const char* letter : {"a", "b", "c"}) {
      Keys keys;
      for (const char* digit : {"1", "2", "3"}) {
        keys.push_back(std::string(letter) + digit);
      }
      AddFile(db_.get(), 3, keys);
    }
    std::vector<LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    EXPECT_EQ(3u, files.size());
    for (const LiveFileMetaData& file : files) EXPECT_EQ(3, file.level);
  }

  // What is asked by one positioning of a new iterator, without the managers.
  Keys CallsOf(const std::function<void(Iterator*)>& position,
               const ReadOptions& options = {}) {
    const std::unique_ptr<Iterator> it(db_->NewIterator(options));
    script_.calls.clear();
    position(it.get());
    found_ = it->Valid() ? it->key().ToString() : it->status().ToString();
    Keys calls;
    for (const std::string& call : script_.calls) {
      if (call.find("SetPinnedItersMgr") == std::string::npos) {
        calls.push_back(call);
      }
    }
    return calls;
  }

  Script script_;
  std::string found_;
};

// `Seek` begins a run and `SeekToFirst` goes on with it in the next file:
// FilterRange and RangeCounter tell runs apart by that.
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

// kUnknown sends the iterator over the level on to the next file; kOutOfBound
// ends the search there: see SetFilteredBelow.
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

// Backwards, an iterator that is invalid sends the search on to the file
// before, whatever it says of bounds: hence the markers of FilterBackwards.
TEST_F(CallsTest, BackwardsThereIsNoBound) {
  const Slice lower = "b";
  ReadOptions options;
  options.iterate_lower_bound = &lower;
  script_.filtered["c"] = IterBoundCheck::kOutOfBound;
  EXPECT_EQ((Keys{"c: SeekForPrev c2@0", "b: SeekToLast"}),
            CallsOf([](Iterator* it) { it->SeekForPrev("c2"); }, options));
  EXPECT_EQ("b3", found_);
}

// A bound that does not belong to the range is looked for with the largest
// sequence number, a target that does with 0: see SeekForPrev.
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

// With async_io, a seek whose block is on its way says so by TryAgain, and is
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

// DBIter alone gives iterators for users a manager of pinned iterators, before
// it positions them; nobody else compares sequence numbers with a snapshot. See
// CanWait.
TEST_F(CallsTest, ManagersOfPinnedIteratorsComeFromDBIter) {
  const auto managers = [this] {
    size_t count = 0;
    for (const std::string& call : script_.calls) {
      count += call.find("SetPinnedItersMgr") != std::string::npos;
    }
    return count;
  };
  script_.calls.clear();
  {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    it->Seek("a2");
  }
  ASSERT_EQ(2u, script_.calls.size());
  EXPECT_EQ("a: SetPinnedItersMgr", script_.calls[0]);

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
  EXPECT_FALSE(script_.calls.empty());
  EXPECT_EQ(0u, managers());

  script_.calls.clear();
  std::vector<KeyVersion> versions;
  ASSERT_OK(GetAllKeyVersions(db_.get(), "", "z", 100, &versions));
  EXPECT_EQ(9u, versions.size());
  EXPECT_FALSE(script_.calls.empty());
  EXPECT_EQ(0u, managers());
}

// ---- What filters are asked ----

namespace {

// A policy that writes down what its builders and readers are given.
class RecordingPolicy : public FilterPolicy {
 public:
  explicit RecordingPolicy(Keys* calls) : calls_(calls) {}

  const char* Name() const override { return "RecordingPolicy"; }
  const char* CompatibilityName() const override { return Name(); }

  FilterBitsBuilder* GetBuilderWithContext(
      const FilterBuildingContext&) const override {
    return new Builder(calls_);
  }
  FilterBitsReader* GetFilterBitsReader(const Slice&) const override {
    return new Reader(calls_);
  }

 private:
  class Builder : public FilterBitsBuilder {
   public:
    explicit Builder(Keys* calls) : calls_(calls) {}
    void AddKey(const Slice& key) override {
      calls_->push_back("add " + key.ToString());
    }
    void AddKeyAndAlt(const Slice& key, const Slice& alt) override {
      calls_->push_back("add " + key.ToString() + " and " + alt.ToString());
    }
    size_t EstimateEntriesAdded() override { return 1; }
    using FilterBitsBuilder::Finish;
    Slice Finish(std::unique_ptr<const char[]>* buf) override {
      buf->reset(new char[1]());
      return Slice(buf->get(), 1);
    }
    size_t ApproximateNumEntries(size_t) override { return 1; }
    // Of versions that have them.
    virtual size_t CalculateSpace(size_t) { return 1; }
    virtual double EstimatedFpRate(size_t, size_t) { return 1; }

   private:
    Keys* const calls_;
  };

  class Reader : public FilterBitsReader {
   public:
    explicit Reader(Keys* calls) : calls_(calls) {}
    using FilterBitsReader::MayMatch;
    bool MayMatch(const Slice& entry) override {
      calls_->push_back("ask " + entry.ToString());
      return true;
    }
    void MayMatch(int num_keys, Slice** keys, bool* may_match) override {
      std::string call = "ask";
      for (int i = 0; i < num_keys; i++) {
        call += " " + keys[i]->ToString();
        may_match[i] = true;
      }
      calls_->push_back(call);
    }

   private:
    Keys* const calls_;
  };

  Keys* const calls_;
};

}  // namespace

// Builders get the keys in order, without a prefix extractor alone and with one
// together with their prefixes; readers are asked for whole keys by Get, and
// for prefixes, without a word, by Get of keys that may only be known by these
// and by prefix seeks. FilterBlockHeader::kAskedForPrefixes rests on it.
TEST_F(ContractTest, KeysAndPrefixes) {
  for (const bool prefixes : {false, true}) {
    for (const bool whole_keys : {true, false}) {
      if (!prefixes && !whole_keys) continue;
      SCOPED_TRACE(prefixes ? "with prefixes" : "without prefixes");
      SCOPED_TRACE(whole_keys ? "with whole keys" : "without whole keys");
      Keys calls;
      BlockBasedTableOptions table;
      table.filter_policy = std::make_shared<RecordingPolicy>(&calls);
      table.whole_key_filtering = whole_keys;
      options_.table_factory = NewProteanTableFactory(table);
      if (prefixes) {
        options_.prefix_extractor.reset(NewFixedPrefixTransform(1));
      }
      Open();
      AddFile(db_.get(), 0, {"a1", "a2", "b1"});
      EXPECT_EQ(!prefixes ? (Keys{"add a1", "add a2", "add b1"})
                : whole_keys
                    ? (Keys{"add a1 and a", "add a2 and a", "add b1 and b"})
                    : (Keys{"add a", "add a", "add b"}),
                calls);

      const std::string asked = whole_keys ? "ask a2" : "ask a";
      calls.clear();
      std::string value;
      ASSERT_OK(db_->Get(ReadOptions(), "a2", &value));
      EXPECT_EQ(Keys{asked}, calls);

      calls.clear();
      const Slice keys[] = {"a2", "b1"};
      PinnableSlice values[2];
      Status statuses[2];
      db_->MultiGet(ReadOptions(), db_->DefaultColumnFamily(), 2, keys, values,
                    statuses);
      EXPECT_EQ(Keys{whole_keys ? "ask a2 b1" : "ask a b"}, calls);

      calls.clear();
      std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
      it->Seek("a2");
      EXPECT_EQ(prefixes ? Keys{"ask a"} : Keys{}, calls);
      ReadOptions total;
      total.total_order_seek = true;
      calls.clear();
      it.reset(db_->NewIterator(total));
      it->Seek("a2");
      EXPECT_EQ(Keys{}, calls);

      it.reset();
      db_.reset();
      ASSERT_OK(DestroyDB(path_, Options()));
      options_.prefix_extractor.reset();
    }
  }
}

// ---- Classes and calls ----

// Where RocksDB is compiled without RTTI, this cannot be told.
#if defined(__cpp_rtti)
#define EXPECT_CLASS(expected, object) \
  EXPECT_TRUE(typeid(object) == typeid(expected))
#else
#define EXPECT_CLASS(expected, object) (void)(object)
#endif

// The factory's readers are BlockBasedTables, and their filter readers, where
// the filter is not partitioned, FullFilterBlockReaders: BlockBasedFile takes
// them for that.
TEST_F(ContractTest, ClassesOfTablesAndFilters) {
  class Factory : public BlockBasedTableFactory {
   public:
    using BlockBasedTableFactory::BlockBasedTableFactory;
    Status NewTableReader(const ReadOptions& ro,
                          const TableReaderOptions& options,
                          std::unique_ptr<RandomAccessFileReader>&& file,
                          uint64_t file_size,
                          std::unique_ptr<TableReader>* reader,
                          bool prefetch) const override {
      const Status s = BlockBasedTableFactory::NewTableReader(
          ro, options, std::move(file), file_size, reader, prefetch);
      const TableReader& opened = **reader;
      EXPECT_CLASS(BlockBasedTable, opened);
      const FilterBlockReader& filter =
          *static_cast<const BlockBasedTable&>(opened).get_rep()->filter;
      EXPECT_CLASS(FullFilterBlockReader, filter);
      return s;
    }
  };
  for (const bool cached : {false, true}) {
    BlockBasedTableOptions table;
    table.filter_policy = NewSurfFilterPolicy(0, 8);
    table.cache_index_and_filter_blocks = cached;
    options_.table_factory = std::make_shared<Factory>(table);
    Open();
    AddFile(db_.get(), 0, {"a"});
    db_.reset();
    ASSERT_OK(DestroyDB(path_, Options()));
  }
}

// BlockBasedTable::NewIterator makes a BlockBasedTableIterator for all files
// but those with embedded blobs, and FileIterator tells. If it made another
// one, all would work, but slower.
TEST_F(ContractTest, IteratorsOfFilesAreExact) {
  size_t iterators = 0;
  SetTable([&](std::unique_ptr<SpiedFile> file) {
    const InternalIterator& inner = *file->inner;
    EXPECT_CLASS(BlockBasedTableIterator, inner);
    iterators++;
    return std::make_unique<SpyIterator>(std::move(file->inner));
  });
  Open();
  AddFile(db_.get(), 0, {"a"});
  EXPECT_EQ("a", [&] {
    const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
    it->SeekToFirst();
    return it->key().ToString();
  }());
  EXPECT_LE(1u, iterators);
}

TEST_F(ContractTest, FileIteratorKnowsItsClass) {
  class Reader : public SpyTableReader {
   public:
    using SpyTableReader::SpyTableReader;
    InternalIterator* NewIterator(const ReadOptions& read_options,
                                  const SliceTransform* prefix_extractor,
                                  Arena* arena, bool, TableReaderCaller caller,
                                  size_t readahead, bool unprepared) override {
      FileIterator it;
      it.Make(file(), read_options, prefix_extractor, nullptr, caller,
              readahead, unprepared);
      EXPECT_EQ(it.get(), it.exact());
      Arena own;
      FileIterator in_arena;
      in_arena.Make(file(), read_options, prefix_extractor, &own, caller,
                    readahead, unprepared);
      EXPECT_EQ(in_arena.get(), in_arena.exact());
      return file().table()->NewIterator(read_options, prefix_extractor, arena,
                                         false, caller, readahead, unprepared);
    }
  };
  class Factory : public ProteanTableFactory {
   public:
    Status NewTableReader(const ReadOptions& ro,
                          const TableReaderOptions& options,
                          std::unique_ptr<RandomAccessFileReader>&& file,
                          uint64_t file_size,
                          std::unique_ptr<TableReader>* reader,
                          bool prefetch) const override {
      std::unique_ptr<BlockBasedFile> opened;
      const Status s = BlockBasedFile::Open(*this, ro, options, std::move(file),
                                            file_size, prefetch, &opened);
      if (s.ok()) {
        reader->reset(new Reader(std::move(opened), "", nullptr));
      }
      return s;
    }
  };
  options_.table_factory = std::make_shared<Factory>();
  Open();
  AddFile(db_.get(), 0, {"a"});
  const std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
  it->SeekToFirst();
  EXPECT_TRUE(it->Valid());
}

// All readers of an open DB are told the same session id, and each time it is
// opened another one: see DBSession.
TEST_F(ContractTest, ReadersKnowTheirDB) {
  class Factory : public ProteanTableFactory {
   public:
    explicit Factory(std::multiset<std::string>* ids) : ids_(ids) {}
    Status NewTableReader(const ReadOptions& ro,
                          const TableReaderOptions& options,
                          std::unique_ptr<RandomAccessFileReader>&& file,
                          uint64_t file_size,
                          std::unique_ptr<TableReader>* reader,
                          bool prefetch) const override {
      ids_->insert(options.cur_db_session_id);
      return ProteanTableFactory::NewTableReader(ro, options, std::move(file),
                                                 file_size, reader, prefetch);
    }

   private:
    std::multiset<std::string>* const ids_;
  };
  std::multiset<std::string> ids;
  options_.table_factory = std::make_shared<Factory>(&ids);
  for (int opened = 1; opened <= 2; opened++) {
    Open();
    std::string id;
    ASSERT_OK(db_->GetDbSessionId(id));
    ids.clear();
    AddFile(db_.get(), 0, {"a"});
    ColumnFamilyHandle* other;
    ASSERT_OK(
        db_->CreateColumnFamily(options_, std::to_string(opened), &other));
    ASSERT_OK(db_->Put(WriteOptions(), other, "a", "value"));
    ASSERT_OK(db_->Flush(FlushOptions(), other));
    EXPECT_LE(2u, ids.size());
    EXPECT_EQ(ids.size(), ids.count(id));
    ASSERT_OK(db_->DropColumnFamily(other));
    ASSERT_OK(db_->DestroyColumnFamilyHandle(other));
    db_.reset();
  }
}

// ---- Virtual functions ----

namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  std::ostringstream text;
  text << in.rdbuf();
  // Without comments and preprocessor lines.
  return std::regex_replace(text.str(), std::regex("//[^\n]*|#[^\n]*"), "");
}

// How often each virtual function is declared in a class, by its name. The
// class ends where a line begins with "};".
std::map<std::string, int> Declared(const std::string& text,
                                    const std::string& class_name) {
  const size_t begin = text.find("class " + class_name);
  EXPECT_NE(std::string::npos, begin) << class_name;
  const std::string body = text.substr(begin, text.find("\n};", begin) - begin);
  std::map<std::string, int> names;
  const std::regex declaration(R"(\bvirtual\s[^;{(]*?(\w+)\()");
  for (std::sregex_iterator it(body.begin(), body.end(), declaration), end;
       it != end; ++it) {
    names[(*it)[1]]++;
  }
  return names;
}

// How often each is overridden.
std::map<std::string, int> Overridden(const std::string& text,
                                      const std::string& class_name) {
  const size_t begin = text.find("class " + class_name);
  EXPECT_NE(std::string::npos, begin) << class_name;
  const std::string body = text.substr(begin, text.find("\n};", begin) - begin);
  std::map<std::string, int> names;
  const std::regex declaration(
      R"((\w+)\(([^;{}]|\(\))*\)\s*(const\s*)?override)");
  for (std::sregex_iterator it(body.begin(), body.end(), declaration), end;
       it != end; ++it) {
    names[(*it)[1]]++;
  }
  return names;
}

struct Extension {
  const char* base_file;
  const char* base;
  const char* file;
  const char* name;
  // What is left to the base class, for a reason.
  std::set<std::string> inherited;
};

}  // namespace

// A new virtual function of a class that Protean extends must be forwarded, or
// left to the base class for a reason; its default body would drop silently
// what the block-based table does.
TEST(VirtualFunctionsTest, NoneIsDropped) {
  const std::string rocksdb = std::string(PROTEAN_ROCKSDB_DIR) + "/";
  const std::string protean = std::string(PROTEAN_SOURCE_DIR) + "/";
  const Extension extensions[] = {
      {"table/table_reader.h",
       "TableReader",
       "table/protean_table_reader.h",
       "ProteanTableReader",
       {}},
      {"table/internal_iterator.h",
       "InternalIteratorBase",
       "table/protean_table_iterator.h",
       "ProteanTableIterator",
       // For range tombstones within a level, which have iterators of their
       // own.
       {"IsDeleteRangeSentinelKey", "SetRangeDelReadSeqno"}},
      {"table/block_based/filter_policy_internal.h",
       "FilterBitsBuilder",
       "filter_policy/protean_filter_policy.cc",
       "ProteanFilterBitsBuilder",
       {}},
      {"table/block_based/filter_policy_internal.h",
       "FilterBitsReader",
       "filter_policy/protean_filter_policy.h",
       "ProteanFilterBitsReader",
       // For filters that take hashes instead of keys.
       {"HashMayMatch"}},
      {"include/rocksdb/filter_policy.h",
       "FilterPolicy",
       "table/rocksdb_internals/table_builder.cc",
       "PolicyOfFile",
       {}},
      {"db/table_properties_collector.h",
       "InternalTblPropCollFactory",
       "table/rocksdb_internals/table_builder.cc",
       "BorrowedCollFactory",
       {}},
  };
  for (const Extension& extension : extensions) {
    SCOPED_TRACE(extension.name);
    const auto declared =
        Declared(ReadFile(rocksdb + extension.base_file), extension.base);
    const auto overridden =
        Overridden(ReadFile(protean + extension.file), extension.name);
    EXPECT_FALSE(declared.empty());
    for (const auto& [name, count] : declared) {
      if (name == extension.base || extension.inherited.count(name) > 0) {
        continue;
      }
      const auto found = overridden.find(name);
      EXPECT_EQ(count, found == overridden.end() ? 0 : found->second)
          << name << " of " << extension.base;
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
