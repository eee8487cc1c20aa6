// SPDX-License-Identifier: Apache-2.0

#include "rocksdb/table_properties.h"
#include "table/rocksdb_internals/versions.h"
#include "tests/table/differential/run.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class RandomWalk : public Walk {
 public:
  RandomWalk(RandomRun* run, const View& view)
      : run_(run),
        view_(view),
        name_("iterator " + std::to_string(run->journal.lines().size()) +
              " on " + view.name),
        extractor_(view.family->options.prefix_extractor.get()),
        lower_slice_(lower_),
        upper_slice_(upper_) {
    DrawMode();
    DrawOptions();
    DrawBounds();
    for (Twin twin : kTwins) {
      ReadOptions options = options_;
      at_.Set(twin, &options);
      if (cached_only_ && twin == kProtean) options.read_tier = kBlockCacheTier;
      iterators_[twin] = view_.NewIterator(twin, options);
    }
  }

  // Compares the keys that were pinned with what they were.
  ~RandomWalk() override {
    for (const auto& [slice, copy] : pins_) {
      if (slice != copy) {
        run_->journal.Differ(name_ + ": the pinned key " + Brief(copy) +
                             " has become " + Brief(slice));
      }
    }
  }

  void Step() override {
    if (!run_->journal.ok()) return;
    Dice& dice = run_->dice;
    // A tailing iterator sees new writes, but when it does depends on the
    // blocks that it holds.
    must_seek_ |= options_.tailing && writes_at_seek_ != run_->num_writes;
    if (must_seek_ || dice.OneIn(6)) {
      DrawSeek();
      return;
    }
    const bool back = !forward_only_ && dice.Percent(42);
    Move(back ? "Prev" : "Next",
         [back](Iterator* it) { back ? it->Prev() : it->Next(); });
  }

  bool Uses(const Snapshot* snapshot) const override {
    return at_.snapshot(kPlain) == snapshot ||
           refreshed_to_[kPlain] == snapshot;
  }

 private:
  enum class Mode { kTotalOrder, kAutoPrefix, kSamePrefix, kImplicitPrefix };

  void DrawMode() {
    Dice& dice = run_->dice;
    // Without a prefix extractor, or where prefix seeks must be asked for, the
    // total order is the default.
    options_.total_order_seek = dice.OneIn(2);
    if (extractor_ == nullptr) return;
    options_.total_order_seek = view_.total_order || dice.OneIn(3);
    if (options_.total_order_seek) return;
    const SliceTransform* all_keys = view_.family->Domain();
    if (dice.OneIn(3) && all_keys != nullptr &&
        Slice(extractor_->Name()).starts_with("rocksdb.FixedPrefix") &&
        view_.family->options.comparator == BytewiseComparator()) {
      // The answers are those of total order if all keys and bounds have a
      // whole prefix. (RocksDB documents wrong answers where they do not.)
      mode_ = Mode::kAutoPrefix;
      options_.auto_prefix_mode = true;
      domain_ = all_keys;
    } else if (dice.OneIn(2) && all_keys != nullptr) {
      // RocksDB takes the prefix of all keys that it passes, and of the target.
      // Files are filtered as without a total order.
      mode_ = Mode::kSamePrefix;
      options_.prefix_same_as_start = true;
      domain_ = all_keys;
    } else if (!run_->plan.db_options.prefix_seek_opt_in_only) {
      // A target out of the domain has no prefix, so nothing is promised.
      mode_ = Mode::kImplicitPrefix;
      domain_ = extractor_;
    }
  }

  void DrawOptions() {
    Dice& dice = run_->dice;
    const RunPlan& plan = run_->plan;
    at_.Draw(run_, view_);
    // All versions are shown with their types, and a value becomes a blob when
    // it is flushed.
    if (view_.family->timestamps && dice.OneIn(4) &&
        (plan.frozen || !view_.family->options.enable_blob_files)) {
      at_.DrawStart(run_);
    }

    forward_only_ =
        // The Bloom filter of a memtable hides its keys but not its range
        // tombstones, and going backwards, RocksDB asserts that both are there.
        (plan.range_deletes && mode_ == Mode::kImplicitPrefix) ||
        // When such an iterator changes direction, RocksDB seeks again among
        // files that are filtered by prefix, and misses keys with its own
        // filters as well.
        mode_ == Mode::kSamePrefix ||
        // Backwards through all versions, stock RocksDB also returns versions
        // written after the iterator was created, if it holds their memtable;
        // in live runs, that is nondeterministic.
        (at_.has_start() && !plan.frozen);

    // Tailing iterators do not support going backwards, range tombstones, or
    // snapshots. As memtables are flushed meanwhile, they may return old
    // values, in stock RocksDB too. They look up blobs in the files of the time
    // when they were created. They take the prefix of every target and key.
    const SliceTransform* all_keys = view_.family->Domain();
    if (plan.frozen && !view_.family->options.enable_blob_files &&
        mode_ == Mode::kTotalOrder && !plan.range_deletes &&
        !plan.Transactional() && view_.snapshots &&
        at_.snapshot(kPlain) == nullptr && !view_.family->timestamps &&
        dice.OneIn(6) && (extractor_ == nullptr || all_keys != nullptr)) {
      options_.tailing = true;
      options_.total_order_seek = true;
      domain_ = all_keys;
      forward_only_ = true;
    }
    options_.verify_checksums = !dice.OneIn(4);
    options_.fill_cache = !dice.OneIn(4);
    // Only a DB's iterators ask again for data that is being read
    // asynchronously.
    options_.async_io = dice.OneIn(5) && view_.file_iterator == nullptr;
    options_.adaptive_readahead = dice.OneIn(5);
    options_.auto_readahead_size = dice.OneIn(2);
    if (dice.OneIn(5)) options_.readahead_size = 1 + dice.Below(4096);
    options_.background_purge_on_iterator_cleanup = dice.OneIn(8);
    if (!options_.tailing && dice.OneIn(4)) {
      options_.pin_data = true;
      // Blocks that are not cached, perhaps because they must not be, cannot be
      // pinned. Blocks of files that are mapped, or in memory, are cached if a
      // flush or a readahead did it, as long as there is room, which filters
      // also take.
      same_pins_ = view_.same_shape && options_.fill_cache &&
                   !plan.db_options.allow_mmap_reads && !plan.in_memory;
    }
    // With blobs under merges, stock RocksDB returns freed memory when it goes
    // backwards.
    if (dice.OneIn(6)) {
      options_.allow_unprepared_value = true;
      values_ = dice.OneIn(2);
    }
    cached_only_ = !options_.tailing && dice.OneIn(12);
    if (view_.same_shape && !options_.tailing) {
      // These options let old versions through, or count them, so answers
      // depend on how far the files are compacted.
      if (dice.OneIn(8)) options_.ignore_range_deletions = true;
      if (dice.OneIn(8))
        options_.max_skippable_internal_keys = 1 + dice.Below(8);
      if (dice.OneIn(8)) {
        options_.table_filter = [](const TableProperties& properties) {
          return properties.num_entries % 3 != 0;
        };
      }
    }
    refresh_ = view_.refresh && !options_.ignore_range_deletions &&
               options_.max_skippable_internal_keys == 0 &&
               options_.table_filter == nullptr;
#if PROTEAN_ROCKSDB_AT_LEAST(10, 1)
    // Such an iterator picks up changes below it, between two steps.
    options_.auto_refresh_iterator_with_snapshot =
        refresh_ && at_.snapshot(kPlain) != nullptr && !options_.pin_data &&
        dice.OneIn(3);
#endif
    has_lower_ = dice.OneIn(3);
    has_upper_ = dice.OneIn(2);
    if (has_lower_) options_.iterate_lower_bound = &lower_slice_;
    if (has_upper_) options_.iterate_upper_bound = &upper_slice_;

    std::string line = name_ + " new" + at_.ToString();
    const std::pair<bool, const char*> words[] = {
        {options_.total_order_seek, " total_order"},
        {options_.auto_prefix_mode, " auto_prefix"},
        {options_.prefix_same_as_start, " same_prefix"},
        {options_.tailing, " tailing"},
        {options_.async_io, " async_io"},
        {options_.auto_readahead_size, " auto_readahead"},
        {options_.pin_data, " pin_data"},
        {options_.allow_unprepared_value, " unprepared"},
        {cached_only_, " cached_only"},
        {options_.ignore_range_deletions, " ignore_range_deletions"},
        {options_.table_filter != nullptr, " table_filter"},
        {options_.max_skippable_internal_keys > 0, " max_skippable"}};
    for (const auto& [is_set, word] : words) line += is_set ? word : "";
    run_->journal.Note(line);
  }

  void DrawBounds() {
    Dice& dice = run_->dice;
    const KeyPool& pool = view_.family->pool;
    // The prefix of a bound is taken if the bound replaces the target.
    lower_ = pool.PickAround(&dice, domain_);
    upper_ = pool.PickAfter(&dice, lower_);
    if (dice.OneIn(2) || !IsInDomain(upper_)) {
      upper_ = pool.PickAround(&dice, domain_);
    }
    // Sometimes the bounds are reversed, so that the range is empty.
    if (pool.Less(upper_, lower_) && !dice.OneIn(16)) std::swap(lower_, upper_);
    if (has_lower_ && !has_upper_ && dice.OneIn(2))
      lower_ = pool.keys().front();
    lower_slice_ = lower_;
    upper_slice_ = upper_;
    must_seek_ = true;
    if (has_lower_ || has_upper_) {
      run_->journal.Note(name_ + " bounds " +
                         (has_lower_ ? Brief(lower_) : "-") + " " +
                         (has_upper_ ? Brief(upper_) : "-"));
    }
  }

  bool IsInDomain(const std::string& key) const {
    return domain_ == nullptr || domain_->InDomain(key);
  }

  std::string DrawTarget() {
    Dice& dice = run_->dice;
    if (has_lower_ && dice.OneIn(4)) return lower_;
    if (has_upper_ && dice.OneIn(6)) return upper_;
    if (has_upper_ && has_lower_ && dice.OneIn(2)) {
      const std::string target = view_.family->pool.PickAfter(&dice, lower_);
      if (IsInDomain(target)) return target;
    }
    return view_.family->pool.PickAround(&dice, domain_);
  }

  void DrawSeek() {
    Dice& dice = run_->dice;
    if (dice.OneIn(4)) DrawBounds();
    if (refresh_ && dice.OneIn(8)) Refresh();
    writes_at_seek_ = run_->num_writes;
    const size_t way = dice.Below(10);
    if (way < 2) {
      SeekToEnd(/*last=*/way == 1);
    } else {
      Seek(/*back=*/way < 4);
    }
  }

  void Seek(bool back) {
    if (back && forward_only_) return;
    std::string target = DrawTarget();
    if (mode_ == Mode::kImplicitPrefix) {
      // A bound replaces a target beyond it.
      const KeyPool& pool = view_.family->pool;
      if (!back && has_lower_ && pool.Less(target, lower_)) target = lower_;
      if (back && has_upper_ && !pool.Less(target, upper_)) target = upper_;
      if (!extractor_->InDomain(target)) return;
      prefix_ = extractor_->Transform(target).ToString();
    }
    Move((back ? "SeekForPrev " : "Seek ") + Brief(target), [&](Iterator* it) {
      back ? it->SeekForPrev(target) : it->Seek(target);
    });
  }

  void SeekToEnd(bool last) {
    if (last && forward_only_) return;
    // With a filter, even RocksDB's own, the following entries may be old
    // values: when RocksDB seeks over hidden versions, it skips files that lack
    // the prefix.
    if (mode_ == Mode::kImplicitPrefix || mode_ == Mode::kSamePrefix) return;
    Move(last ? "SeekToLast" : "SeekToFirst",
         [last](Iterator* it) { last ? it->SeekToLast() : it->SeekToFirst(); });
  }

  void Refresh() {
    Pair<const Snapshot*> snapshots = {};
    const Twins& twins = run_->twins;
    if (twins.num_snapshots() > 0 && run_->dice.OneIn(3)) {
      snapshots = twins.snapshot(run_->dice.Below(twins.num_snapshots()));
    }
    run_->Both(
        name_ + " Refresh" + Describe(snapshots[kPlain]),
        [&](Twin twin) { return iterators_[twin]->Refresh(snapshots[twin]); });
    refreshed_to_ = snapshots;
    pins_.clear();  // their memory is gone
    must_seek_ = true;
  }

  void Move(const std::string& what,
            const std::function<void(Iterator*)>& move) {
    movement_ = name_ + " " + what;
    run_->journal.Note(movement_);
    for (auto& it : iterators_) move(it.get());
    must_seek_ = false;
    Compare();
  }

  void Compare() {
    if (options_.allow_unprepared_value && values_ && plain()->Valid() &&
        protean()->Valid()) {
      // One that fails is not valid any more.
      for (auto& it : iterators_) (void)it->PrepareValue();
    }
    if (cached_only_ && !protean()->Valid() &&
        protean()->status().IsIncomplete()) {
      must_seek_ = true;
      return;
    }
    if (mode_ == Mode::kImplicitPrefix && !CompareInPrefix()) return;
    const std::string expected = DescribeEntry(plain());
    const std::string got = DescribeEntry(protean());
    if (!run_->journal.Expect(movement_, expected, got)) return;
    if (!plain()->Valid()) {
      must_seek_ = true;
    } else if (options_.pin_data) {
      ComparePinned();
    }
  }

  // RocksDB promises only the keys that share the target's prefix; the entries
  // behind them depend on filters. Returns whether the entries must be equal.
  bool CompareInPrefix() {
    if (InPrefix(*plain())) return true;
    must_seek_ = true;
    if (plain()->status().ok() && InPrefix(*protean())) {
      run_->journal.Differ(movement_ + ": the plain twin is past the prefix " +
                           Brief(prefix_) + ", the other on " +
                           Brief(protean()->key()));
    }
    return false;
  }

  bool InPrefix(const Iterator& it) const {
    return it.Valid() && extractor_->InDomain(it.key()) &&
           extractor_->Transform(it.key()) == prefix_;
  }

  // A key that the iterator reports as pinned must stay in place. A key that
  // the plain twin holds in memory is held by the other twin too, as the files
  // are written with the same options.
  void ComparePinned() {
    const std::string property = "rocksdb.iterator.is-key-pinned";
    Pair<std::string> values;
    for (Twin twin : kTwins) {
      if (!iterators_[twin]->GetProperty(property, &values[twin]).ok()) return;
    }
    if (same_pins_ && values[kPlain] == "1") {
      run_->journal.Expect(movement_ + " " + property, values[kPlain],
                           values[kProtean]);
    }
    if (values[kProtean] != "1") return;
    pins_.emplace_back(protean()->key(), protean()->key().ToString());
  }

  std::string DescribeEntry(Iterator* it) {
    if (!it->Valid()) return Describe(it->status());
    std::string entry = Brief(it->key());
    if (view_.family->timestamps) entry += " @" + Hex(it->timestamp());
    if (values_) {
      entry += " => " + it->value().ToString();
      // The columns of a version other than the latest are not kept.
      if (!at_.has_start()) entry += " " + Describe(it->columns());
    }
    return entry;
  }

  Iterator* plain() { return iterators_[kPlain].get(); }
  Iterator* protean() { return iterators_[kProtean].get(); }

  RandomRun* const run_;
  const View view_;
  const std::string name_;
  const SliceTransform* const extractor_;
  // The range in which targets and bounds must lie.
  const SliceTransform* domain_ = nullptr;
  Mode mode_ = Mode::kTotalOrder;
  bool forward_only_ = false;
  bool cached_only_ = false;  // Protean's iterator may not read
  bool values_ = true;        // are compared
  bool same_pins_ = false;    // both pin the same keys
  bool refresh_ = false;      // they can be refreshed
  ReadOptions options_;
  ReadPoint at_;
  Pair<const Snapshot*> refreshed_to_ = {};

  // The targets of the pointers in ReadOptions.
  std::string lower_;
  std::string upper_;
  Slice lower_slice_;
  Slice upper_slice_;
  bool has_lower_ = false;
  bool has_upper_ = false;

  Pair<std::unique_ptr<Iterator>> iterators_;
  std::string movement_;
  bool must_seek_ = true;
  uint64_t writes_at_seek_ = 0;
  std::string prefix_;  // of the last seek, for kImplicitPrefix
  std::vector<std::pair<Slice, std::string>> pins_;
};

}  // namespace

std::unique_ptr<Walk> NewWalk(RandomRun* run, const View& view) {
  return std::make_unique<RandomWalk>(run, view);
}

}  // namespace ROCKSDB_NAMESPACE::protean
