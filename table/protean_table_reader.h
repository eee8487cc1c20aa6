//  The reader of an SST file. RocksDB's block-based table does the work, and
//  asks the filter for Get and MultiGet. Only iterators for users are wrapped,
//  if the file has a range filter (protean_table_iterator.h) or if keys are
//  being counted (range_counter.h).
//
//  If the policy uses sample queries, the queries that find nothing in this
//  file are sampled: the filter is asked for them, and should deny them. Each
//  of several files may sample the same query of a user.

#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "filter_policy/filter_block.h"
#include "filter_policy/open_db/open_file.h"
#include "table/rocksdb_internals/block_based_file.h"
#include "table/rocksdb_internals/versions.h"

namespace ROCKSDB_NAMESPACE::protean {

class ProteanTableReader : public TableReader {
 public:
  // `use` is kUsed if `file` has a full filter block that was opened by a
  // policy of Protean, and its user keys are in bytewise order when their
  // timestamps are taken away. `db_session_id` names the open DB that the
  // reader is for; empty if there is none. `log_period_seconds` is how often
  // the DB's log tells of the filters (open_families.h).
  ProteanTableReader(std::unique_ptr<BlockBasedFile>&& file, FilterUse use,
                     const std::string& db_session_id,
                     uint64_t log_period_seconds);

  // Gets the file's filter as RocksDB keeps it: owned by the table, pinned, or
  // through the block cache. `*hold` keeps it in memory for the caller.
  // Returns nullptr if the filter is not available, for instance because it
  // would have to be read and `read_options` forbids that; then the file may
  // hold any key.
  const FilterBlock* GetRangeFilter(const ReadOptions& read_options,
                                    BlockCacheLookupContext* lookup_context,
                                    FilterHold* hold) const;

  // The user key without its timestamp, as filters know it.
  Slice UserKey(const Slice& internal_key) const {
    return ExtractUserKeyAndStripTimestamp(internal_key, timestamp_size_);
  }

  const BlockBasedFile& file() const { return *file_; }

  // The sequence number of markers (protean_table_iterator.h), which no write
  // has.
  SequenceNumber marker_sequence() const { return marker_sequence_; }

  // A new iterator's knowledge of whether waiting at markers pays.
  SeekBackoff NewBackoff() const { return open_file_.NewBackoff(); }

  // Whether an iterator has noted that the filter is slow to find the next key
  // (LowerBoundIsSlow).
  bool IsSlow() const { return is_slow_.load(std::memory_order_relaxed); }
  void NoteSlow() { is_slow_.store(true, std::memory_order_relaxed); }

  // The queue that samples queries that found nothing in this file, or nullptr.
  QueryQueue* queue() const { return queue_; }

  // Adds an iterator's counts of seeks, `events` in all.
  void Add(const SeekTally& seeks, uint32_t events) {
    open_file_.Add(seeks, events);
  }

  InternalIterator* NewIterator(const ReadOptions& read_options,
                                const SliceTransform* prefix_extractor,
                                Arena* arena, bool skip_filters,
                                TableReaderCaller caller,
                                size_t compaction_readahead_size,
                                bool allow_unprepared_value) override;

  Status Get(const ReadOptions& read_options, const Slice& key,
             GetContext* get_context, const SliceTransform* prefix_extractor,
             bool skip_filters) override {
    Status s = table_->Get(read_options, key, get_context, prefix_extractor,
                           skip_filters);
    if (queue_ != nullptr && s.ok()) Sample(key, *get_context);
    return s;
  }
  void MultiGet(const ReadOptions& read_options,
                const MultiGetContext::Range* range,
                const SliceTransform* prefix_extractor,
                bool skip_filters) override {
    table_->MultiGet(read_options, range, prefix_extractor, skip_filters);
    if (queue_ != nullptr) Sample(*range);
  }
#if USE_COROUTINES
  folly::coro::Task<void> MultiGetCoroutine(
      const ReadOptions& read_options, const MultiGetContext::Range* range,
      const SliceTransform* prefix_extractor, bool skip_filters) override {
    co_await table_->MultiGetCoroutine(read_options, range, prefix_extractor,
                                       skip_filters);
    if (queue_ != nullptr) Sample(*range);
  }
#endif  // USE_COROUTINES
#if USE_COROUTINES && PROTEAN_ROCKSDB_AT_LEAST(11, 8)
  folly::coro::Task<Status> GetCoroutine(const ReadOptions& read_options,
                                         const Slice& key,
                                         GetContext* get_context,
                                         const SliceTransform* prefix_extractor,
                                         bool skip_filters) override {
    Status s = co_await table_->GetCoroutine(read_options, key, get_context,
                                             prefix_extractor, skip_filters);
    if (queue_ != nullptr && s.ok()) Sample(key, *get_context);
    co_return s;
  }
#endif
  // Called before MultiGet where reads are asynchronous. MultiGet is then not
  // called for the keys that the filter drops here.
  Status MultiGetFilter(const ReadOptions& read_options,
                        const SliceTransform* prefix_extractor,
                        MultiGetContext::Range* range) override;

  // The functions below forward to the block-based table.

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
  void Prepare(const Slice& target) override { table_->Prepare(target); }
  size_t ApproximateMemoryUsage() const override {
    return sizeof(*this) + table_->ApproximateMemoryUsage();
  }
  Status Prefetch(const ReadOptions& read_options, const Slice* begin,
                  const Slice* end) override {
    return table_->Prefetch(read_options, begin, end);
  }
  Status DumpTable(
      WritableFile* out_file PROTEAN_SINCE_10_10(, bool show_types)) override {
    return table_->DumpTable(out_file PROTEAN_SINCE_10_10(, show_types));
  }
  Status VerifyChecksum(const ReadOptions& read_options,
                        TableReaderCaller caller
                            PROTEAN_SINCE_10_8(, bool meta_only)) override {
    return table_->VerifyChecksum(read_options,
                                  caller PROTEAN_SINCE_10_8(, meta_only));
  }
  void MarkObsolete(uint32_t uncache_aggressiveness) override {
    table_->MarkObsolete(uncache_aggressiveness);
  }

 private:
  // Returns the filter that a policy of Protean has opened, or nullptr if it is
  // damaged or does not hold the keys.
  const FilterBlock* Checked(FilterBitsReader* filter) const;
  void NoteUseless(const FilterBlock& filter) const;

  // Samples a point query that found nothing. A key that is in the file but too
  // new for the snapshot counts as not found; a filter's builder ignores
  // samples that are not empty for its file.
  void Sample(const Slice& internal_key, const GetContext& result) {
    if (result.State() == GetContext::kNotFound && queue_->Tick()) {
      const Slice key = UserKey(internal_key);
      queue_->Record(key, key, /*hi_inclusive=*/true);
    }
  }
  void Sample(const MultiGetContext::Range& range);

  const std::unique_ptr<BlockBasedFile> file_;
  mutable OpenFile open_file_;
  // These members share a cache line, on which reads do not write.
  TableReader* const table_;
  const bool has_range_filter_;
  const size_t timestamp_size_;
  const SequenceNumber marker_sequence_;
  QueryQueue* const queue_;
  std::atomic<bool> is_slow_{false};
};

}  // namespace ROCKSDB_NAMESPACE::protean
