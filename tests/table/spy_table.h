// SPDX-License-Identifier: Apache-2.0

//  A block-based table whose iterators the test creates, to watch what RocksDB
//  asks of a table's iterator, and to answer what the test wants.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "memory/arena.h"
#include "table/protean_table_factory.h"
#include "table/protean_table_reader.h"
#include "table/rocksdb_internals/block_based_file.h"
#include "table/table_builder.h"

namespace ROCKSDB_NAMESPACE::protean {

// Creates the iterator of a file. `inner` is the iterator of the table itself,
// `caller` what it is for. The caller owns the returned iterator.
struct SpiedFile {
  const std::string name;
  std::unique_ptr<InternalIterator> inner;
  const TableReaderCaller caller;
};
using MakeIterator = std::function<std::unique_ptr<InternalIterator>(
    std::unique_ptr<SpiedFile>)>;

// Leaves all calls to an iterator of the test's, wherever it must live.
class SpyIterator : public InternalIterator {
 public:
  explicit SpyIterator(std::unique_ptr<InternalIterator> it)
      : it_(std::move(it)) {}

  bool Valid() const override { return it_->Valid(); }
  void SeekToFirst() override { it_->SeekToFirst(); }
  void SeekToLast() override { it_->SeekToLast(); }
  void Seek(const Slice& target) override { it_->Seek(target); }
  void SeekForPrev(const Slice& target) override { it_->SeekForPrev(target); }
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

 protected:
  const std::unique_ptr<InternalIterator> it_;
};

class SpyTableReader : public ProteanTableReader {
 public:
  SpyTableReader(std::unique_ptr<BlockBasedFile>&& file,
                 const std::string& db_session_id, MakeIterator make)
      : ProteanTableReader(std::move(file), FilterUse::kNone,
                           /*policy=*/nullptr, db_session_id,
                           /*log_period_seconds=*/0,
                           std::make_shared<FilterSwitch>()),
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
        new SpiedFile{file().name(), std::move(inner), caller}));
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
    const Status s = BlockBasedFile::Open(
        *this, ro, table_reader_options, std::move(file), file_size,
        prefetch_index_and_filter_in_cache, &opened);
    if (s.ok()) {
      table_reader->reset(new SpyTableReader(
          std::move(opened), table_reader_options.cur_db_session_id, make_));
    }
    return s;
  }

 private:
  const MakeIterator make_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
