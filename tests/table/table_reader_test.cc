// SPDX-License-Identifier: Apache-2.0

//  A table reader and its iterators as RocksDB may call them, but does not in
//  every version, or only from its tools: step by step without results, and
//  what is the block-based table's.

#include "db/pinned_iterators_manager.h"
#include "rocksdb/sst_file_reader.h"
#include "table/protean_table_factory.h"
#include "table/protean_table_reader.h"
#include "table/rocksdb_internals/versions.h"
#include "table/seek/run_search.h"
#include "tests/table/rocksdb_internals/contract_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class TableReaderTest : public ::testing::Test {
 protected:
  static constexpr int kKeys = 500;

  TableReaderTest() {
    BlockBasedTableOptions table;
    table.block_size = 256;
    table.filter_policy = NewSurfFilterPolicy({0, 8});
    options_.compression = kNoCompression;
    options_.table_factory =
        std::make_shared<ShowingFactory<ProteanTableFactory>>(
            table, [this](const TableReaderOptions&, TableReader* reader) {
              reader_ = reader;
            });
    SstFileWriter writer(EnvOptions(), options_);
    EXPECT_OK(writer.Open(path_));
    for (int i = 0; i < kKeys; i++) {
      EXPECT_OK(writer.Put(Key(2 * i + 1), "value " + std::to_string(i)));
    }
    EXPECT_OK(writer.Finish());
    file_ = std::make_unique<SstFileReader>(options_);
    EXPECT_OK(file_->Open(path_));
  }
  ~TableReaderTest() override {
    file_.reset();
    EXPECT_OK(Env::Default()->DeleteFile(path_));
  }

  // Odd ones are in the file.
  static std::string Key(int i) { return BigEndian(1000 * i) + "tail"; }
  // What a seek to it looks for.
  static std::string Target(int i) {
    std::string target = Key(i);
    PutFixed64(&target,
               PackSequenceAndType(kMaxSequenceNumber, kValueTypeForSeek));
    return target;
  }

  TableReader* plain() const {
    return static_cast<ProteanTableReader*>(reader_)->file().table();
  }
  std::unique_ptr<InternalIterator> NewIterator(TableReader* reader) const {
    return std::unique_ptr<InternalIterator>(reader->NewIterator(
        read_options_, /*prefix_extractor=*/nullptr, /*arena=*/nullptr,
        /*skip_filters=*/false, TableReaderCaller::kUserIterator,
        /*compaction_readahead_size=*/0, /*allow_unprepared_value=*/false));
  }

  const std::string path_ = test::PerThreadDBPath("table_reader.sst");
  const ReadOptions read_options_;
  Options options_;
  TableReader* reader_ = nullptr;
  std::unique_ptr<SstFileReader> file_;
};

void ExpectSame(const InternalIterator& expected, const InternalIterator& it) {
  ASSERT_EQ(expected.Valid(), it.Valid());
  if (!expected.Valid()) return;
  EXPECT_EQ(expected.key(), it.key());
  EXPECT_EQ(expected.user_key(), it.user_key());
  EXPECT_EQ(expected.value(), it.value());
}

}  // namespace

// A marker is passed by in both directions, and no key is lost.
TEST_F(TableReaderTest, StepsFromMarkers) {
  PinnedIteratorsManager pinned;
  const auto it = NewIterator(reader_);
  it->SetPinnedItersMgr(&pinned);
  const auto expected = NewIterator(plain());
  Random rnd(61);
  int markers = 0;
  for (int i = 0; i < 2000; i++) {
    const int target = static_cast<int>(rnd.Uniform(2 * kKeys + 1));
    SCOPED_TRACE(target);
    it->Seek(Target(target));
    expected->Seek(Target(target));
    if (it->Valid() && GetInternalKeySeqno(it->key()) != 0) {
      markers++;
      // The marker is not behind the next key, and nothing that a caller reads.
      EXPECT_GT(it->user_key().compare(Key(target)), 0);
      EXPECT_LE(it->user_key().compare(expected->user_key()), 0);
      EXPECT_TRUE(it->PrepareValue());
      EXPECT_EQ("", it->value());
      EXPECT_FALSE(it->IsKeyPinned());
      EXPECT_FALSE(it->IsValuePinned());
      EXPECT_EQ(IterBoundCheck::kUnknown, it->UpperBoundCheckResult());
      if (rnd.OneIn(2)) {
        it->Prev();
        expected->Prev();
      } else {
        it->Next();
      }
    }
    ExpectSame(*expected, *it);
    for (int step = rnd.Uniform(5); step > 0 && expected->Valid(); step--) {
      const bool forward = rnd.OneIn(2);
      for (InternalIterator* const both : {it.get(), expected.get()}) {
        forward ? both->Next() : both->Prev();
      }
      ExpectSame(*expected, *it);
    }
    if (HasFailure()) return;
    if (it->Valid()) {
      EXPECT_EQ(expected->write_unix_time(), it->write_unix_time());
      EXPECT_EQ(expected->IsKeyPinned(), it->IsKeyPinned());
    }
    ASSERT_OK(it->status());
  }
  EXPECT_GT(markers, 100);
}

// With ReadOptions::pin_data, RocksDB keeps the iterator over each file that it
// has left. A search does not look at all of them for ever.
TEST_F(TableReaderTest, SetsIteratorsAsideThatAreLeft) {
  PinnedIteratorsManager pinned;
  std::shared_ptr<RunSearch> search = RunSearch::Of(read_options_);
  std::vector<std::unique_ptr<InternalIterator>> iterators;
  const auto seek = [&](InternalIterator* it, int target) {
    it->Seek(Target(target));
    while (it->Valid() && GetInternalKeySeqno(it->key()) != 0) it->Next();
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(Key(target | 1), ExtractUserKey(it->key()));
  };
  const auto new_iterator = [&] {
    iterators.push_back(NewIterator(reader_));
    iterators.back()->SetPinnedItersMgr(&pinned);
    return iterators.back().get();
  };
  InternalIterator* const first = new_iterator();
  size_t most_runs = 0;
  for (int i = 0; i < 2 * kKeys; i++) {
    seek(first, i);
    seek(new_iterator(), i);
    most_runs = std::max(most_runs, search->runs.size());
  }
  EXPECT_GE(most_runs, 3);
  EXPECT_LE(most_runs, 50);
  // All iterators take part again when they are sought.
  for (int round = 0; round < 3; round++) {
    for (const auto& it : iterators) seek(it.get(), 77 + round);
    EXPECT_EQ(iterators.size(), search->runs.size());
  }
  iterators.resize(10);
  EXPECT_EQ(10, search->runs.size());
  for (int round = 0; round < 100; round++) seek(first, round);
  iterators.clear();
  EXPECT_EQ(0, search->runs.size());
  // Iterators of earlier searches, two for each key, which are not sought any
  // more.
  search.reset();
  search = RunSearch::Of(read_options_);
  for (int i = 0; i < 4 * kKeys; i++) {
    new_iterator()->Seek(Target(i / 2));
    EXPECT_LE(search->runs.size(), 50u) << i;
  }
}

// Functions that are not Protean's business are the block-based table's.
TEST_F(TableReaderTest, LeavesTheRestToTheTable) {
  const std::string low = Target(100);
  const std::string high = Target(800);
  const Slice low_slice(low);
  const Slice high_slice(high);
  constexpr auto kCaller = TableReaderCaller::kUserApproximateSize;
  EXPECT_GT(reader_->ApproximateOffsetOf(read_options_, high, kCaller), 0u);
  EXPECT_EQ(plain()->ApproximateOffsetOf(read_options_, high, kCaller),
            reader_->ApproximateOffsetOf(read_options_, high, kCaller));
  EXPECT_EQ(plain()->ApproximateSize(read_options_, low, high, kCaller),
            reader_->ApproximateSize(read_options_, low, high, kCaller));
  std::vector<TableReader::Anchor> anchors;
  ASSERT_OK(reader_->ApproximateKeyAnchors(read_options_, anchors));
  EXPECT_GT(anchors.size(), 2u);
  EXPECT_EQ(plain()->GetTableProperties(), reader_->GetTableProperties());
  EXPECT_GT(reader_->ApproximateMemoryUsage(),
            plain()->ApproximateMemoryUsage());
  EXPECT_OK(reader_->Prefetch(read_options_, &low_slice, &high_slice));
  reader_->Prepare(low);
  reader_->SetupForCompaction();
  EXPECT_OK(reader_->VerifyChecksum(read_options_,
                                    kCaller PROTEAN_SINCE_10_8(, false)));

  const std::string dump = path_ + ".dump";
  std::unique_ptr<WritableFile> out;
  ASSERT_OK(Env::Default()->NewWritableFile(dump, &out, EnvOptions()));
  EXPECT_OK(reader_->DumpTable(out.get() PROTEAN_SINCE_10_10(, false)));
  ASSERT_OK(out->Close());
  ExpectHas(ContentsOf(dump), {"Index Details"});
  EXPECT_OK(Env::Default()->DeleteFile(dump));
}

}  // namespace ROCKSDB_NAMESPACE::protean
