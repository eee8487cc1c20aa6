//  The reader of an SST file that has a filter of Protean. Everything is left
//  to RocksDB's block-based table, which also asks the filter for Get and
//  MultiGet; only iterators for users are wrapped (protean_table_iterator.h).

#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "filter_policy/filter_block.h"
#include "table/block_based/block_based_table_reader.h"
#include "table/block_based/cachable_entry.h"
#include "table/block_based/parsed_full_filter_block.h"
#include "table/table_reader.h"

namespace ROCKSDB_NAMESPACE::protean {

class ProteanTableReader : public TableReader {
 public:
  // `table` has a full filter block that was opened by a policy of Protean, and
  // its user keys are in bytewise order.
  explicit ProteanTableReader(std::unique_ptr<BlockBasedTable>&& table);

  // Gets the file's filter as RocksDB keeps it: owned by the table, pinned, or
  // through the block cache. `*entry` holds it in memory for the caller.
  // Returns nullptr if it cannot be had, for instance because it would have to
  // be read and `read_options` forbids that; then the file may hold anything.
  const FilterBlock* GetFilter(
      const ReadOptions& read_options, BlockCacheLookupContext* lookup_context,
      CachableEntry<ParsedFullFilterBlock>* entry) const;

  BlockBasedTable* table() const { return table_.get(); }

  InternalIterator* NewIterator(const ReadOptions& read_options,
                                const SliceTransform* prefix_extractor,
                                Arena* arena, bool skip_filters,
                                TableReaderCaller caller,
                                size_t compaction_readahead_size,
                                bool allow_unprepared_value) override;

  // All that follows is the block-based table's.

  FragmentedRangeTombstoneIterator* NewRangeTombstoneIterator(
      const ReadOptions& read_options) override {
    return table_->NewRangeTombstoneIterator(read_options);
  }
  FragmentedRangeTombstoneIterator* NewRangeTombstoneIterator(
      SequenceNumber read_seqno, const Slice* timestamp) override {
    return table_->NewRangeTombstoneIterator(read_seqno, timestamp);
  }
  uint64_t ApproximateOffsetOf(const ReadOptions& read_options,
                               const Slice& key,
                               TableReaderCaller caller) override {
    return table_->ApproximateOffsetOf(read_options, key, caller);
  }
  uint64_t ApproximateSize(const ReadOptions& read_options, const Slice& start,
                           const Slice& end,
                           TableReaderCaller caller) override {
    return table_->ApproximateSize(read_options, start, end, caller);
  }
  Status ApproximateKeyAnchors(const ReadOptions& read_options,
                               std::vector<Anchor>& anchors) override {
    return table_->ApproximateKeyAnchors(read_options, anchors);
  }
  void SetupForCompaction() override { table_->SetupForCompaction(); }
  std::shared_ptr<const TableProperties> GetTableProperties() const override {
    return table_->GetTableProperties();
  }
  void Prepare(const Slice& target) override {
    static_cast<TableReader*>(table_.get())->Prepare(target);
  }
  size_t ApproximateMemoryUsage() const override {
    return sizeof(*this) + table_->ApproximateMemoryUsage();
  }
  Status Get(const ReadOptions& read_options, const Slice& key,
             GetContext* get_context, const SliceTransform* prefix_extractor,
             bool skip_filters) override {
    return table_->Get(read_options, key, get_context, prefix_extractor,
                       skip_filters);
  }
  Status MultiGetFilter(const ReadOptions& read_options,
                        const SliceTransform* prefix_extractor,
                        MultiGetContext::Range* range) override {
    return table_->MultiGetFilter(read_options, prefix_extractor, range);
  }
  void MultiGet(const ReadOptions& read_options,
                const MultiGetContext::Range* range,
                const SliceTransform* prefix_extractor,
                bool skip_filters) override {
    table_->MultiGet(read_options, range, prefix_extractor, skip_filters);
  }
#if USE_COROUTINES
  folly::coro::Task<void> MultiGetCoroutine(
      const ReadOptions& read_options, const MultiGetContext::Range* range,
      const SliceTransform* prefix_extractor, bool skip_filters) override {
    return table_->MultiGetCoroutine(read_options, range, prefix_extractor,
                                     skip_filters);
  }
#endif  // USE_COROUTINES
  Status Prefetch(const ReadOptions& read_options, const Slice* begin,
                  const Slice* end) override {
    return table_->Prefetch(read_options, begin, end);
  }
  Status DumpTable(WritableFile* out_file) override {
    return table_->DumpTable(out_file);
  }
  Status VerifyChecksum(const ReadOptions& read_options,
                        TableReaderCaller caller) override {
    return table_->VerifyChecksum(read_options, caller);
  }
  void MarkObsolete(uint32_t uncache_aggressiveness) override {
    table_->MarkObsolete(uncache_aggressiveness);
  }

 private:
  void ReportDamage(const Status& status) const;

  const std::unique_ptr<BlockBasedTable> table_;
  mutable std::atomic<bool> damage_reported_{false};
};

}  // namespace ROCKSDB_NAMESPACE::protean
