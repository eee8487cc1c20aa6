// SPDX-License-Identifier: Apache-2.0

//  For the tests of what Protean relies on in RocksDB without RocksDB promising
//  it. There is one for each behavior whose change would otherwise go
//  unnoticed. If one of them fails after an upgrade of RocksDB, its comment
//  says what to look at. Tests need not include what this header includes.

#pragma once

#include <functional>
#include <typeinfo>

#include "memory/arena.h"
#include "table/protean_table_factory.h"
#include "table/protean_table_reader.h"
#include "table/rocksdb_internals/block_based_file.h"
#include "table/table_builder.h"
#include "tests/protean_db.h"

// Without RTTI, as RocksDB is often compiled, a class cannot be told.
#if defined(__cpp_rtti)
#define EXPECT_CLASS(expected, object) \
  EXPECT_TRUE(typeid(object) == typeid(expected))
#else
#define EXPECT_CLASS(expected, object) (void)(object)
#endif

namespace ROCKSDB_NAMESPACE::protean {

// ---- Iterators of the test's own ----

// A file whose iterator is made: `inner` is the iterator of the table itself,
// `caller` what it is for, with these ReadOptions.
struct SpiedFile {
  std::unique_ptr<InternalIterator> inner;
  const TableReaderCaller caller;
  const ReadOptions* read_options;
};
using MakeIterator = std::function<std::unique_ptr<InternalIterator>(
    std::unique_ptr<SpiedFile>)>;

class SpyIterator : public InternalIterator {
 public:
  explicit SpyIterator(std::unique_ptr<InternalIterator> it)
      : it_(std::move(it)) {}

  bool Valid() const override { return it_->Valid(); }
  void SeekToFirst() override {
    if (MaySeek("SeekToFirst", nullptr)) it_->SeekToFirst();
  }
  void SeekToLast() override {
    if (MaySeek("SeekToLast", nullptr)) it_->SeekToLast();
  }
  void Seek(const Slice& target) override {
    if (MaySeek("Seek", &target)) it_->Seek(target);
  }
  void SeekForPrev(const Slice& target) override {
    if (MaySeek("SeekForPrev", &target)) it_->SeekForPrev(target);
  }
  void Next() override { it_->Next(); }
  bool NextAndGetResult(IterateResult* result) override {
    return it_->NextAndGetResult(result);
  }
  void Prev() override { it_->Prev(); }
  Slice key() const override { return it_->key(); }
  Slice value() const override { return it_->value(); }
  bool PrepareValue() override { return it_->PrepareValue(); }
  Status status() const override { return it_->status(); }
  IterBoundCheck UpperBoundCheckResult() override {
    return it_->UpperBoundCheckResult();
  }
  void SetPinnedItersMgr(PinnedIteratorsManager* manager) override {
    it_->SetPinnedItersMgr(manager);
  }
  bool IsKeyPinned() const override { return it_->IsKeyPinned(); }
  bool IsValuePinned() const override { return it_->IsValuePinned(); }

 private:
  // Whether a seek is made, which is about to begin.
  virtual bool MaySeek(const char* /*seek*/, const Slice* /*target*/) {
    return true;
  }

  const std::unique_ptr<InternalIterator> it_;
};

class SpyTableReader : public ProteanTableReader {
 public:
  SpyTableReader(std::unique_ptr<BlockBasedFile>&& file,
                 const std::string& db_session_id, MakeIterator make)
      : ProteanTableReader(std::move(file), FilterUse::kNone,
                           /*policy=*/nullptr, db_session_id,
                           /*log_period_seconds=*/0,
                           std::make_shared<FilterSwitch>(),
                           /*miss_cache_size=*/0),
        make_(std::move(make)) {}

  InternalIterator* NewIterator(const ReadOptions& read_options,
                                const SliceTransform* prefix_extractor,
                                Arena* arena, bool skip_filters,
                                TableReaderCaller caller,
                                size_t compaction_readahead_size,
                                bool allow_unprepared_value) override {
    std::unique_ptr<InternalIterator> inner(file().table()->NewIterator(
        read_options, prefix_extractor, /*arena=*/nullptr, skip_filters, caller,
        compaction_readahead_size, allow_unprepared_value));
    auto it = make_(std::unique_ptr<SpiedFile>(
        new SpiedFile{std::move(inner), caller, &read_options}));
    if (arena == nullptr) return new SpyIterator(std::move(it));
    return new (arena->AllocateAligned(sizeof(SpyIterator)))
        SpyIterator(std::move(it));
  }

 private:
  const MakeIterator make_;
};

class SpyTableFactory : public ProteanTableFactory {
 public:
  SpyTableFactory(const BlockBasedTableOptions& options, MakeIterator make)
      : ProteanTableFactory(options), make_(std::move(make)) {}

  std::unique_ptr<TableFactory> Clone() const override {
    return std::make_unique<SpyTableFactory>(*this);
  }

  using ProteanTableFactory::NewTableReader;
  Status NewTableReader(
      const ReadOptions& ro, const TableReaderOptions& table_reader_options,
      std::unique_ptr<RandomAccessFileReader>&& file, uint64_t file_size,
      std::unique_ptr<TableReader>* table_reader,
      bool prefetch_index_and_filter_in_cache) const override {
    std::unique_ptr<BlockBasedFile> opened;
    const Status s =
        BlockBasedFile::Open({*this, ro, table_reader_options, file_size,
                              prefetch_index_and_filter_in_cache},
                             std::move(file), &opened);
    if (s.ok()) {
      table_reader->reset(new SpyTableReader(
          std::move(opened), table_reader_options.cur_db_session_id, make_));
    }
    return s;
  }

 private:
  const MakeIterator make_;
};

// ---- Fixture ----

// A table factory that shows the readers that it makes.
using ShowReader = std::function<void(const TableReaderOptions&, TableReader*)>;
template <class Base>
class ShowingFactory : public Base {
 public:
  ShowingFactory(const BlockBasedTableOptions& options, ShowReader show)
      : Base(options), show_(std::move(show)) {}
  std::unique_ptr<TableFactory> Clone() const override {
    return std::make_unique<ShowingFactory>(*this);
  }
  using Base::NewTableReader;
  Status NewTableReader(const ReadOptions& read_options,
                        const TableReaderOptions& options,
                        std::unique_ptr<RandomAccessFileReader>&& file,
                        uint64_t file_size,
                        std::unique_ptr<TableReader>* reader,
                        bool prefetch) const override {
    const Status s = Base::NewTableReader(
        read_options, options, std::move(file), file_size, reader, prefetch);
    if (s.ok()) show_(options, reader->get());
    return s;
  }

 private:
  const ShowReader show_;
};

class ContractTest : public OwnDBTest {
 protected:
  void SetTable(MakeIterator make, const BlockBasedTableOptions& table = {}) {
    options_.table_factory =
        std::make_shared<SpyTableFactory>(table, std::move(make));
  }
  // Shows the readers that a factory of that class makes.
  template <class Factory = ProteanTableFactory>
  void ShowReaders(const ShowReader& show,
                   const BlockBasedTableOptions& table = {}) {
    options_.table_factory =
        std::make_shared<ShowingFactory<Factory>>(table, show);
  }
  // Writes a file with these keys to a level that has none of them.
  static void AddFile(DB* db, int level, const Keys& keys) {
    for (const std::string& key : keys) {
      ASSERT_OK(db->Put(WriteOptions(), key, "value of " + key));
    }
    ASSERT_OK(db->Flush(FlushOptions()));
    if (level > 0) {
      ASSERT_OK(CompactLevel0(db, level, kFileSize));
    }
  }
};

}  // namespace ROCKSDB_NAMESPACE::protean
