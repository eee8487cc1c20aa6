// SPDX-License-Identifier: Apache-2.0

//  The reader of an SST file. RocksDB's block-based table does the work. A Get
//  asks the filter, has the table look the key up, and counts what the file has
//  told (docs/internals/reads.md). If the table keeps the whole filter in
//  memory, the reader asks it in the table's place, and counts the answer as
//  the table would: with the way to the filter through the table, a Get takes
//  3 % more instructions over one run, and 10 % more over four
//  (scripts/count_instructions.sh --paths=point proteus:12).
//
//  MultiGet leaves all but the counting to the table. Only iterators for users
//  are wrapped (protean_table_iterator.h), or replaced while keys are being
//  counted, or an existence check asks the filters alone (at_work.h).
//
//  If the policy uses sample queries, the queries that find nothing in this
//  file are sampled: its filter should deny them, or the one that it gets when
//  it is compacted. Each of several files may sample the same query of a user.
//
//  While a coroutine waits, its thread asks other filters, so only those
//  answers of coroutines are counted that MultiGetFilter gets.

#pragma once

#include <array>
#include <memory>
#include <vector>

#include "filter_policy/protean_filter_policy.h"
#include "table/at_work.h"
#include "table/filtered_file.h"
#include "table/protean_table_iterator.h"
#include "table/rocksdb_internals/versions.h"

namespace ROCKSDB_NAMESPACE::protean {

class ProteanTableReader : public TableReader, public FilteredFile {
 public:
  using FilteredFile::FilteredFile;

  InternalIterator* NewIterator(const ReadOptions& read_options,
                                const SliceTransform* prefix_extractor,
                                Arena* arena, bool skip_filters,
                                TableReaderCaller caller,
                                size_t compaction_readahead_size,
                                bool allow_unprepared_value) override {
    skip_filters = Skips(skip_filters);
    if (caller == TableReaderCaller::kUserIterator ||
        caller == TableReaderCaller::kSSTFileReader) {
      if (AtWork::current != nullptr) {
        return NewIn<AskedFileIterator>(arena, AtWork::current, *this,
                                        read_options);
      }
      const bool is_asked =
          !skip_filters && IsOn() && (has_range_filter() || queue() != nullptr);
      // Where scans may skip deletions, all files of a search are part of it:
      // those that are not asked may have values that the deletions hide.
      if (is_asked || is_bytewise()) {
        return NewProteanTableIterator(this, read_options,
                                       {prefix_extractor, arena, caller,
                                        allow_unprepared_value, skip_filters});
      }
    }
    return table_->NewIterator(read_options, prefix_extractor, arena,
                               skip_filters, caller, compaction_readahead_size,
                               allow_unprepared_value);
  }

  Status Get(const ReadOptions& read_options, const Slice& key,
             GetContext* get_context, const SliceTransform* prefix_extractor,
             bool skip_filters) override {
    skip_filters = Skips(skip_filters);
    if (AtWork::current != nullptr && AtWork::current->asks_in_gets) {
      return GetExistence(read_options, key, get_context, prefix_extractor,
                          skip_filters);
    }
    const size_t before = ProgressOf(*get_context);
    FilterAnswers answer;
    const bool asks = filter_of_keys_ != nullptr && !skip_filters;
    const bool may_match =
        skip_filters ||
        ((!asks || filter_of_keys_->EntryMayMatch(UserKey(key))) &&
         !IsKnownMiss(key));
    // In statistics, or by levels.
    const bool counts_more = asks && (answer.Add(may_match) || has_statistics_);
    if (counts_more) file().CountAnswer(may_match);
    Status s = may_match ? table_->Get(read_options, key, get_context,
                                       prefix_extractor, skip_filters || asks)
                         : Status::OK();
    const bool found = ProgressOf(*get_context) != before;
    if (counts_more && found) file().CountTruePositive();
    gets()->Count(answer, found);
    if (s.ok() && get_context->State() == GetContext::kNotFound) {
      // A callback, of a transaction, may hide what the file has.
      if (answer.positives() > 0 && !get_context->has_callback() &&
          SeesAllVersions(ExtractInternalKeyFooter(key))) {
        const Slice user_key = UserKey(key);
        AddMiss(user_key, user_key.ToString() + '\0');
      }
      if (IsSampled()) Sample(key);
    }
    return s;
  }
  void MultiGet(const ReadOptions& read_options,
                const MultiGetContext::Range* range,
                const SliceTransform* prefix_extractor,
                bool skip_filters) override {
    const BatchProgress before(*range);
    const FilterAnswers answers;
    table_->MultiGet(read_options, range, prefix_extractor,
                     Skips(skip_filters));
    gets()->CountBatch(answers, before.keys(), before.CountFound());
    if (IsSampled()) Sample(*range);
  }
#ifdef USE_COROUTINES
  folly::coro::Task<void> MultiGetCoroutine(
      const ReadOptions& read_options, const MultiGetContext::Range* range,
      const SliceTransform* prefix_extractor, bool skip_filters) override {
    const BatchProgress before(*range);
    skip_filters = Skips(skip_filters);
    co_await table_->MultiGetCoroutine(read_options, range, prefix_extractor,
                                       skip_filters);
    if (skip_filters && file().HasFilter()) {
      gets()->CountFound(before.CountFound());
    }
    if (IsSampled()) Sample(*range);
  }
#endif  // USE_COROUTINES
#if defined(USE_COROUTINES) && PROTEAN_ROCKSDB_AT_LEAST(11, 8)
  folly::coro::Task<Status> GetCoroutine(const ReadOptions& read_options,
                                         const Slice& key,
                                         GetContext* get_context,
                                         const SliceTransform* prefix_extractor,
                                         bool skip_filters) override {
    Status s = co_await table_->GetCoroutine(
        read_options, key, get_context, prefix_extractor, Skips(skip_filters));
    if (IsSampled() && s.ok() &&
        get_context->State() == GetContext::kNotFound) {
      Sample(key);
    }
    co_return s;
  }
#endif
  // Called before MultiGet where reads are asynchronous. MultiGet is then not
  // called for the keys that the filter drops here.
  Status MultiGetFilter(const ReadOptions& read_options,
                        const SliceTransform* prefix_extractor,
                        MultiGetContext::Range* range) override {
    // RocksDB then reads the keys by MultiGet.
    if (Skips(false)) return Status::NotSupported();
    MultiGetContext::Range dropped(*range, range->begin(), range->end());
    const FilterAnswers answers;
    Status s = table_->MultiGetFilter(read_options, prefix_extractor, range);
    gets()->CountBatchOfFilter(answers);
    if (s.ok() && IsSampled()) {
      for (auto key = range->begin(); key != range->end(); ++key) {
        dropped.SkipKey(key);
      }
      Sample(dropped);
    }
    return s;
  }

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
  // How far the look-ups of a batch are before a file is asked.
  class BatchProgress {
   public:
    explicit BatchProgress(const MultiGetContext::Range& range) {
      for (auto key = range.begin(); key != range.end(); ++key) {
        gets_[keys_] = key->get_context;
        progress_[keys_] = ProgressOf(*key->get_context);
        keys_++;
      }
    }
    size_t keys() const { return keys_; }
    // The keys of which the file has told something since.
    size_t CountFound() const {
      size_t found = 0;
      for (size_t i = 0; i < keys_; i++) {
        if (ProgressOf(*gets_[i]) != progress_[i]) found++;
      }
      return found;
    }

   private:
    size_t keys_ = 0;
    std::array<const GetContext*, MultiGetContext::MAX_BATCH_SIZE> gets_;
    std::array<size_t, MultiGetContext::MAX_BATCH_SIZE> progress_;
  };

  // Returns true if a read leaves out the filter that the file has: where it is
  // told to, and where Protean's filters are switched off.
  bool Skips(bool skip_filters) const {
    return skip_filters || (has_own_filter_ && !IsOn());
  }
  bool IsSampled() const { return queue() != nullptr && IsOn(); }

  // Does what Get does while an AtWork asks it: returns Incomplete if the file
  // may hold the key.
  [[gnu::noinline]] Status GetExistence(const ReadOptions& read_options,
                                        const Slice& internal_key,
                                        GetContext* get_context,
                                        const SliceTransform* prefix_extractor,
                                        bool skip_filters) {
    FilterView view;
    const FileRangeFilter* const filter = GetRangeFilter(
        AskedFor::kGet, read_options, TableReaderCaller::kUserGet, &view);
    if (filter != nullptr) {
      const Slice key = UserKey(internal_key);
      const bool is_deleted =
          deletions() != nullptr && deletions()->Contain(key);
      return !is_deleted && filter->KeyMayMatch(key) && !IsKnownAbsent(key)
                 ? Status::Incomplete("the key may be there")
                 : Status::OK();
    }
    // A filter of RocksDB's, or none. What is in the cache may tell more.
    ReadOptions cached = read_options;
    cached.read_tier = kBlockCacheTier;
    return table_->Get(cached, internal_key, get_context, prefix_extractor,
                       skip_filters);
  }

  // Samples a point query that found nothing. A key that is in the file but too
  // new for the snapshot counts as not found; a filter's builder ignores
  // samples that are not empty for its file.
  void Sample(const Slice& internal_key) {
    if (!queue()->Tick()) return;
    const Slice key = UserKey(internal_key);
    queue()->Record(key, key, /*hi_inclusive=*/true);
  }
  void Sample(const MultiGetContext::Range& range) {
    for (auto key = range.begin(); key != range.end(); ++key) {
      if (key->s->ok() && key->get_context->State() == GetContext::kNotFound) {
        Sample(key->ikey);
      }
    }
  }

  // Returns true if a read has found out that the file does not have the key.
  bool IsKnownMiss(const Slice& internal_key) const {
    if (!IsKnownAbsent(UserKey(internal_key))) return false;
    CountMissHit();
    return true;
  }

  TableReader* const table_ = file().table();
  // The filter that Get asks before the table; nullptr if the table asks.
  const FilterBlock* const filter_of_keys_ = GetFilterOfKeys();
  const bool has_statistics_ = file().statistics() != nullptr;
  const bool has_own_filter_ =  // of Protean
      AsProteanFilterPolicy(file().filter_policy()) != nullptr;
};

}  // namespace ROCKSDB_NAMESPACE::protean
