// SPDX-License-Identifier: Apache-2.0

//  Readers, writers, compactions, changing options, column families that come
//  and go, samples, refreshing, and iterators that outlive what they came from,
//  all at once on one DB, which must give right answers all the while. It is
//  made for sanitizers (scripts/check.sh sanitize), above all for that of
//  threads.
//
//      build/concurrency_test                      a minute, a new seed
//      build/concurrency_test --seconds=600
//
//  A seed makes the same choices again, though threads take turns as they like.

#include <gflags/gflags.h>

#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <random>
#include <thread>

#include "db_bench_ext/progress_line.h"
#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/samples/query_file.h"
#include "filter_policy/samples/sample_store.h"
#include "plugin/approximate_count.h"
#include "plugin/filter_properties.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/write_batch.h"
#include "tests/table/concurrency/truth.h"

DEFINE_uint64(seed, 0, "Of all choices; 0: a random one");
DEFINE_uint64(seconds, 60,
              "Of rounds in all; opening, comparing and closing DBs comes on "
              "top");

namespace ROCKSDB_NAMESPACE::protean {

namespace {

void Pause(Dice* dice, size_t most_milliseconds) {
  std::this_thread::sleep_for(
      std::chrono::milliseconds(dice->Below(most_milliseconds)));
}

// Levels fill and are compacted within seconds.
void UseSmallFiles(ColumnFamilyOptions* options) {
  options->write_buffer_size = 32 << 10;
  options->target_file_size_base = 16 << 10;
  options->max_bytes_for_level_base = 64 << 10;
  options->max_bytes_for_level_multiplier = 3;
  options->level0_file_num_compaction_trigger = 3;
  options->level0_slowdown_writes_trigger = 40;
  options->level0_stop_writes_trigger = 60;
  options->max_write_buffer_number = 4;
  options->num_levels = 4;
  options->compression = kNoCompression;
}

// What outlives a round.
struct Persistent {
  std::string path;  // a folder for DBs and files
  Truth truth;
  Version last_version = 0;
};

class Round {
 public:
  // Opens the DB as the previous rounds have left it, with random options.
  Round(Persistent* persistent, uint64_t seed)
      : persistent_(persistent),
        dice_(seed),
        next_version_(persistent->last_version + 1) {
    const std::string policy =
        "{id=protean.Proteus;bits_per_key=12;sample_every=1;"
        "sample_capacity=500;samples_file=" +
        SamplesFile() + "}";
    EXPECT_OK(
        FilterPolicy::CreateFromString(ConfigOptions(), policy, &policy_));
    samples_ = AsProteanFilterPolicy(policy_.get())->Samples();
    // The DB outlives the options, and so does everything that is opened in it.
    EXPECT_OK(OpenDB(&db_, RandomOptions(&dice_), persistent_->path + "/db"));
    if (db_ == nullptr) return;
    family_ = db_->DefaultColumnFamily();
  }

  ~Round() {
    left_.clear();
    db_.reset();
    persistent_->last_version = next_version_;
  }

  // Runs all threads for that time, or until the first failure; compares all
  // keys.
  void Run(std::chrono::milliseconds duration) {
    if (db_ == nullptr) return;
    // The keys that always exist come first.
    persistent_->truth.Alone([&](Versions* versions) {
      for (size_t key = 0; key < kNumKeys; key++) {
        if (KindOf(key) != KeyKind::kAlways || (*versions)[key] != 0) continue;
        (*versions)[key] = NextVersion();
        Check(db_->Put(WriteOptions(), KeyAt(key),
                       ValueOf(key, (*versions)[key])));
      }
    });
    using Act = void (Round::*)(Dice*);
    const Act acts[] = {&Round::Write<0>,
                        &Round::Write<1>,
                        &Round::ReadSnapshot,
                        &Round::ReadSnapshot,
                        &Round::ReadLive,
                        &Round::ReadLive,
                        &Round::UseColumnFamily<0>,
                        &Round::UseColumnFamily<1>,
                        &Round::Compact,
                        &Round::ChangeOptions,
                        &Round::Refresh,
                        &Round::Observe,
                        &Round::UseSamples,
                        &Round::UsePolicyInAnotherDB};
    std::vector<std::thread> threads;
    for (const Act act : acts) {
      threads.emplace_back([this, act, seed = dice_.Next()] {
        Dice dice(seed);
        while (!IsOver()) (this->*act)(&dice);
      });
    }
    auto refresher = std::make_unique<FilterRefresher>(
        db_.get(), family_, RefreshOptions(), /*period_seconds=*/1,
        [this](const Status& s, const RefreshResult& /*result*/) {
          if (!s.IsIncomplete() && !s.IsInvalidArgument()) Check(s);
        });
    const auto end = std::chrono::steady_clock::now() + duration;
    while (!IsOver() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    over_.store(true, std::memory_order_relaxed);
    for (std::thread& thread : threads) thread.join();
    refresher.reset();
    left_.clear();
    if (!::testing::Test::HasFailure()) CompareAll();
  }

 private:
  static constexpr size_t kWriters = 2;

  // ---- Failures ----

  // These end the round unless all is right. The threads share nothing else:
  // whatever synchronized them would hide missing synchronization.
  void Fail(const std::string& what, int line = __builtin_LINE()) {
    ADD_FAILURE_AT(__FILE__, line) << what;
    over_.store(true, std::memory_order_relaxed);
  }
  bool Check(const Status& s, int line = __builtin_LINE()) {
    if (!s.ok()) Fail(s.ToString(), line);
    return s.ok();
  }
  void CheckText(const std::string& wrong, int line = __builtin_LINE()) {
    if (!wrong.empty()) Fail(wrong, line);
  }

  bool IsOver() const { return over_.load(std::memory_order_relaxed); }

  // ---- Options ----

  std::string RandomPolicy(Dice* dice) const {
    const std::string samples = ";sample_capacity=300;sample_every=" +
                                std::string(dice->Of({"1", "3", "100"}));
    return dice->In(std::vector<std::string>{
        "surf:0:0", "surf:4:4", "bloomfilter:10",
        "{id=protean.PrefixBloom;bits_per_key=10" + samples + "}",
        "{id=protean.TwoPrefixBloom;bits_per_key=14" + samples + "}",
        "levels:bloomfilter:10,proteus:12,surf:0:8",
        "{id=protean.Proteus;bits_per_key=12;level_bits=kAuto" + samples + "}",
        // A policy other than the round's, with the same samples file.
        "{id=protean.Proteus;bits_per_key=12" + samples +
            ";samples_file=" + SamplesFile() + "}"});
  }

  std::string RandomTable(Dice* dice) const {
    return "{id=ProteanTable;filter_policy=" + RandomPolicy(dice) +
           ";block_size=" + dice->Of({"256", "1024", "4096"}) +
           ";cache_index_and_filter_blocks=" + dice->Of({"true", "false"}) +
           "}";
  }

  Options RandomOptions(Dice* dice) {
    Options options = NewDBOptions();
    options.max_background_jobs = 4;
    all_files_open_ = dice->OneIn(2);
    options.max_open_files = all_files_open_ ? -1 : 15;
    // RocksDB's own dump of statistics crashes at a column family that is
    // dropped but still used by an iterator (DBImpl::DumpStats of 9.10.0,
    // without Protean too).
    handles_go_first_ = dice->OneIn(2);
    options.stats_dump_period_sec = handles_go_first_ ? 0 : 1;
    options.allow_concurrent_memtable_write = dice->OneIn(2);
    if (dice->OneIn(2)) options.statistics = CreateDBStatistics();
    UseSmallFiles(&options);
    options.level_compaction_dynamic_level_bytes = dice->OneIn(2);
    options.optimize_filters_for_hits = dice->OneIn(6);
    options.paranoid_file_checks = dice->OneIn(4);

    BlockBasedTableOptions table;
    table.filter_policy = policy_;
    table.block_size = 512;
    cache_ = NewLRUCache(64 << 10);
    table.block_cache = cache_;
    table.no_block_cache = false;
    table.cache_index_and_filter_blocks = dice->OneIn(2);
    table.pin_l0_filter_and_index_blocks_in_cache = dice->OneIn(2);
    options.table_factory = NewProteanTableFactory(table);
    return options;
  }

  std::string SamplesFile() const { return persistent_->path + "/samples"; }

  // ---- Writers ----

  Version NextVersion() {
    return next_version_.fetch_add(1, std::memory_order_relaxed);
  }
  // Each key has one writer.
  size_t RandomOwnKey(size_t writer, Dice* dice) const {
    for (;;) {
      const size_t key = dice->Below(kNumKeys);
      if (key % kWriters == writer && KindOf(key) != KeyKind::kNever) {
        return key;
      }
    }
  }

  void WriteBatchOf(size_t writer, Dice* dice) {
    WriteBatch batch;
    std::map<size_t, Version> changes;
    for (size_t i = dice->Below(20) + 1; i > 0; i--) {
      const size_t key = RandomOwnKey(writer, dice);
      if (KindOf(key) == KeyKind::kSometimes && dice->OneIn(3)) {
        Check(batch.Delete(KeyAt(key)));
        changes[key] = 0;
      } else {
        changes[key] = NextVersion();
        Check(batch.Put(KeyAt(key), ValueOf(key, changes[key])));
      }
    }
    persistent_->truth.Change([&](Versions* versions) {
      if (!Check(db_->Write(WriteOptions(), &batch))) return;
      for (const auto& [key, version] : changes) (*versions)[key] = version;
    });
  }

  void Ingest(size_t writer, Dice* dice) {
    std::map<size_t, Version> changes;
    for (size_t i = dice->Below(40) + 1; i > 0; i--) {
      changes[RandomOwnKey(writer, dice)] = NextVersion();
    }
    const std::string file =
        persistent_->path + "/ingest" + std::to_string(next_file_++);
    SstFileWriter sst(EnvOptions(), db_->GetOptions());
    Check(sst.Open(file));
    for (const auto& [key, version] : changes) {
      Check(sst.Put(KeyAt(key), ValueOf(key, version)));
    }
    Check(sst.Finish());
    IngestExternalFileOptions options;
    options.move_files = true;
    persistent_->truth.Change([&](Versions* versions) {
      if (!Check(db_->IngestExternalFile({file}, options))) return;
      for (const auto& [key, version] : changes) (*versions)[key] = version;
    });
  }

  // Deletes a range without keys that must always exist.
  void DeleteGap(Dice* dice) {
    const auto is_always = [](size_t key) {
      return KindOf(key) == KeyKind::kAlways;
    };
    const size_t begin = dice->Below(kNumKeys);
    if (is_always(begin)) return;
    size_t end = begin;
    while (end < kNumKeys && !is_always(end)) end++;
    persistent_->truth.Alone([&](Versions* versions) {
      if (!Check(db_->DeleteRange(WriteOptions(), family_, KeyAt(begin),
                                  StringAt(2 * end - 1)))) {
        return;
      }
      std::fill(versions->begin() + static_cast<ptrdiff_t>(begin),
                versions->begin() + static_cast<ptrdiff_t>(end), 0);
    });
  }

  template <size_t writer>
  void Write(Dice* dice) {
    if (dice->OneIn(150)) {
      Ingest(writer, dice);
    } else if (dice->OneIn(40)) {
      DeleteGap(dice);
    } else if (dice->OneIn(60)) {
      Check(db_->Flush(FlushOptions()));
    } else {
      WriteBatchOf(writer, dice);
    }
    if (dice->OneIn(4)) Pause(dice, 3);
  }

  // ---- Readers ----

  // Iterators that their thread has passed on; other threads walk and delete
  // them.
  void LeaveIterator(std::unique_ptr<CheckedIterator> iterator) {
    constexpr size_t kMaxLeft = 12;
    std::unique_ptr<CheckedIterator> oldest;
    const std::lock_guard<std::mutex> lock(left_mutex_);
    left_.push_back(std::move(iterator));
    if (left_.size() <= kMaxLeft) return;
    oldest = std::move(left_.front());
    left_.pop_front();
  }

  std::unique_ptr<CheckedIterator> TakeIterator(Dice* dice) {
    const std::lock_guard<std::mutex> lock(left_mutex_);
    if (left_.empty()) return nullptr;
    std::swap(left_.front(), left_[dice->Below(left_.size())]);
    std::unique_ptr<CheckedIterator> iterator = std::move(left_.front());
    left_.pop_front();
    return iterator;
  }

  void ReadKeys(const Snapshot* snapshot, const Versions& versions,
                Dice* dice) {
    ReadOptions options;
    options.snapshot = snapshot;
    options.fill_cache = !dice->OneIn(4);
    options.async_io = dice->OneIn(4);
    const size_t count = dice->Below(32) + 1;
    std::vector<size_t> slots;
    for (size_t i = 0; i < count; i++) slots.push_back(dice->Below(kSlots));
    const auto check = [&](size_t slot, const Status& s, const Slice& value) {
      const Version version = slot % 2 == 0 ? versions[slot / 2] : 0;
      if (version == 0 ? s.IsNotFound()
                       : s.ok() && value == ValueOf(slot / 2, version)) {
        return;
      }
      Fail("key at slot " + std::to_string(slot) + ": expected version " +
           std::to_string(version) + ", got " + s.ToString() + " " +
           value.ToString());
    };
    if (dice->OneIn(2)) {
      for (const size_t slot : slots) {
        std::string value;
        const Status s = db_->Get(options, StringAt(slot), &value);
        check(slot, s, value);
      }
      return;
    }
    Keys keys;
    for (const size_t slot : slots) keys.push_back(StringAt(slot));
    std::vector<PinnableSlice> values;
    const auto statuses = MultiGet(db_.get(), keys, &values, options);
    for (size_t i = 0; i < count; i++) check(slots[i], statuses[i], values[i]);
  }

  // An iterator of a snapshot, which knows everything that the snapshot must
  // show.
  void ReadSnapshot(Dice* dice) {
    const Snapshot* snapshot = nullptr;
    std::shared_ptr<const Versions> versions;
    const auto look = [&] {
      persistent_->truth.Alone([&](Versions* now) {
        snapshot = db_->GetSnapshot();
        versions = std::make_shared<const Versions>(*now);
      });
    };
    look();
    const auto new_iterator = [&] {
      // Iterators share no count of a handle, which would synchronize their
      // threads.
      std::shared_ptr<ColumnFamilyHandle> unowned(family_, [](auto*) {});
      return std::make_unique<CheckedIterator>(
          db_.get(), std::move(unowned), snapshot, versions,
          CheckedIterator::RandomBounds(dice), dice);
    };
    std::unique_ptr<CheckedIterator> iterator = new_iterator();
    for (size_t i = dice->Below(40); i > 0 && !IsOver(); i--) {
      const size_t way = dice->Below(8);
      if (way == 0) {
        ReadKeys(snapshot, *versions, dice);
      } else if (way == 1) {
        // An iterator may outlive its snapshot.
        LeaveIterator(std::move(iterator));
        iterator = new_iterator();
      } else if (way == 2) {
        auto left = TakeIterator(dice);
        if (left == nullptr) continue;
        CheckText(left->Walk(dice));
        if (dice->OneIn(2)) LeaveIterator(std::move(left));
      } else if (way == 3 && dice->OneIn(8)) {
        db_->ReleaseSnapshot(snapshot);
        look();
        Check(iterator->Refresh(snapshot, versions));
      } else {
        CheckText(iterator->Walk(dice));
      }
    }
    if (dice->OneIn(2)) iterator.reset();
    db_->ReleaseSnapshot(snapshot);
  }

  // An iterator that does not synchronize with any other thread, and knows only
  // what holds at all times.
  void ReadLive(Dice* dice) {
    const size_t slot = dice->Below(kSlots);
    const size_t key = slot / 2;
    const KeyKind kind = slot % 2 == 0 ? KindOf(key) : KeyKind::kNever;
    if (dice->OneIn(3)) {
      std::string value;
      const Status s = db_->Get(ReadOptions(), StringAt(slot), &value);
      const bool may_be = s.ok()
                              ? kind != KeyKind::kNever && IsValueOf(key, value)
                              : s.IsNotFound() && kind != KeyKind::kAlways;
      if (!may_be) {
        Fail("Get of slot " + std::to_string(slot) + ": " + s.ToString() + " " +
             value);
      }
      return;
    }
    const size_t end = std::min(slot + dice->Below(100), kSlots - 1);
    const std::string lower = StringAt(slot);
    const std::string upper = StringAt(end);
    const Slice lower_slice(lower);
    const Slice upper_slice(upper);
    std::vector<size_t> always;
    for (size_t k = FirstKeyAt(slot); 2 * k < end; k++) {
      if (KindOf(k) == KeyKind::kAlways) always.push_back(k);
    }
    const std::string range =
        " of [" + std::to_string(slot) + ", " + std::to_string(end) + ")";
    if (dice->OneIn(4)) {
      CountResult counted;
      const Status s = ApproximateCount(db_.get(), ReadOptions(), family_,
                                        {&lower_slice, &upper_slice}, &counted);
      // Deleted ranges hide no key that always exists.
      if (!s.ok() ||
          (counted.files_estimated == 0 && counted.count < always.size())) {
        Fail("ApproximateCount" + range + ": " + s.ToString() + ", " +
             std::to_string(counted.count));
      }
      return;
    }
    const bool of_thread = slot < end && dice->OneIn(3);
    ReadOptions options;
    if (of_thread) {
      SetSearchBounds(&lower_slice, &upper_slice);
    } else {
      options.iterate_lower_bound = &lower_slice;
      options.iterate_upper_bound = &upper_slice;
    }
    std::unique_ptr<Iterator> it(db_->NewIterator(options));
    const bool backwards = dice->OneIn(2);
    if (backwards) {
      it->SeekForPrev(upper);
      // A key at the bound itself is outside of the range.
      if (of_thread && it->Valid() && it->key() == upper) it->Prev();
      std::reverse(always.begin(), always.end());
    } else {
      it->Seek(lower);
    }
    size_t found = 0;
    while (it->Valid()) {
      const Slice at = it->key();
      if (at.compare(lower) < 0 || at.compare(upper) >= 0) break;
      if (found < always.size() && at == KeyAt(always[found])) {
        if (!IsValueOf(always[found], it->value())) break;
        found++;
      }
      backwards ? it->Prev() : it->Next();
    }
    ClearSearchBounds();
    if (!it->status().ok() || found < always.size()) {
      Fail("a live iterator" + range + (of_thread ? " of the thread" : "") +
           (backwards ? ", backwards: " : ": ") + it->status().ToString() +
           ", " + std::to_string(found) + " of " +
           std::to_string(always.size()));
    }
  }

  // ---- Column families that come and go ----

  template <size_t number>
  void UseColumnFamily(Dice* dice) {
    const std::string name = "family " + std::to_string(number);
    ColumnFamilyOptions options;
    UseSmallFiles(&options);
    options.write_buffer_size = 8 << 10;
    if (!Check(TableFactory::CreateFromString(
            ConfigOptions(), RandomTable(dice), &options.table_factory))) {
      return;
    }
    ColumnFamilyHandle* created = nullptr;
    if (!Check(db_->CreateColumnFamily(options, name, &created))) return;
    std::shared_ptr<ColumnFamilyHandle> family(
        created, [this](ColumnFamilyHandle* handle) {
          Check(db_->DestroyColumnFamilyHandle(handle));
        });
    options = ColumnFamilyOptions();

    Versions versions(kNumKeys, 0);
    std::vector<std::unique_ptr<CheckedIterator>> iterators;
    const auto new_iterator = [&] {
      iterators.push_back(std::make_unique<CheckedIterator>(
          db_.get(), family, nullptr,
          std::make_shared<const Versions>(versions),
          CheckedIterator::RandomBounds(dice), dice));
    };
    for (size_t batches = dice->Below(6) + 1; batches > 0 && !IsOver();
         batches--) {
      for (size_t i = dice->Below(300); i > 0; i--) {
        const size_t key = dice->Below(kNumKeys);
        if (dice->OneIn(8)) {
          Check(db_->Delete(WriteOptions(), family.get(), KeyAt(key)));
          versions[key] = 0;
        } else {
          versions[key] = static_cast<Version>(dice->Below(1000000) + 1);
          Check(db_->Put(WriteOptions(), family.get(), KeyAt(key),
                         ValueOf(key, versions[key])));
        }
      }
      if (dice->OneIn(2)) Check(db_->Flush(FlushOptions(), family.get()));
      if (dice->OneIn(4)) {
        Check(db_->CompactRange(CompactRangeOptions(), family.get(), nullptr,
                                nullptr));
      }
      if (dice->OneIn(4)) {
        Check(db_->SetOptions(family.get(), {{"table_factory.filter_policy",
                                              RandomPolicy(dice)}}));
      }
      new_iterator();
      for (size_t i = dice->Below(20); i > 0; i--) {
        CheckText(dice->In(iterators)->Walk(dice));
      }
    }
    std::unique_ptr<FilterRefresher> refresher;
    if (dice->OneIn(3)) {
      RefreshResult result;
      const Status s =
          RefreshFilters(db_.get(), family.get(), RefreshOptions(), &result);
      // RocksDB's own filters cannot be refreshed.
      if (!s.IsInvalidArgument()) Check(s);
      refresher = std::make_unique<FilterRefresher>(
          db_.get(), family.get(), RefreshOptions(), /*period_seconds=*/1);
    }
    FilterStatistics statistics;
    Check(GetFilterStatistics(db_.get(), family.get(), &statistics));
    refresher.reset();

    // Iterators may outlive the column family, its handle, and its options.
    Check(db_->DropColumnFamily(family.get()));
    const bool handle_goes = handles_go_first_ && dice->OneIn(2);
    family.reset();
    for (auto& iterator : iterators) {
      if (handle_goes) iterator->LeaveFamily();
      CheckText(iterator->Walk(dice));
      if (dice->OneIn(2)) LeaveIterator(std::move(iterator));
    }
  }

  // ---- Files that change ----

  void Compact(Dice* dice) {
    if (dice->OneIn(4)) {
      const Status s = CompactLevel0(
          db_.get(), 1 + static_cast<int>(dice->Below(3)), 16 << 10);
      // Other threads compact the same files, or files in the way.
      if (!s.IsAborted() && !s.IsInvalidArgument()) Check(s);
    } else {
      const auto [begin, end] = RandomSlots(dice);
      const std::string low = StringAt(begin);
      const std::string high = StringAt(end);
      const Slice low_slice(low);
      const Slice high_slice(high);
      CompactRangeOptions options;
      options.exclusive_manual_compaction = dice->OneIn(2);
      options.bottommost_level_compaction =
          dice->Of({BottommostLevelCompaction::kForce,
                    BottommostLevelCompaction::kIfHaveCompactionFilter});
      Check(db_->CompactRange(options, &low_slice, &high_slice));
    }
    Pause(dice, 40);
  }

  void Refresh(Dice* dice) {
    RefreshOptions options;
    options.dry_run = dice->OneIn(4);
    options.min_gain = dice->Of({0.0, 0.0, 0.02});
    const size_t max_calls = dice->OneIn(2) ? 1000000 : dice->Below(20);
    size_t calls = 0;
    options.progress = [&](const RefreshProgress&) {
      return ++calls <= max_calls && !IsOver();
    };
    RefreshResult result;
    const Status s = RefreshFilters(db_.get(), family_, options, &result);
    // Another policy than Protean's may have been set.
    if (!s.IsIncomplete() && !s.IsInvalidArgument()) Check(s);
    for (const RefreshedFile& file : result.files) {
      if (file.outcome == RefreshOutcome::kDamaged ||
          file.outcome == RefreshOutcome::kFailed) {
        Fail("RefreshFilters: " + file.name + " " + ToString(file.outcome) +
             ": " + file.status.ToString());
      }
    }
    Pause(dice, 30);
  }

  void ChangeOptions(Dice* dice) {
    switch (dice->Below(6)) {
      case 0:
        Check(db_->SetOptions({{"table_factory", RandomTable(dice)}}));
        // The new table has a new cache, and the next table has another one.
        // RocksDB's iterators release blocks after the table that kept their
        // cache alive (PinnedIteratorsManager of 9.10.0, without Protean too).
        caches_of_tables_.push_back(TableOf(db_->GetOptions())->block_cache);
        break;
      case 1:
        Check(db_->SetOptions(
            {{"table_factory.block_size", dice->Of({"128", "512", "4096"})},
             {"max_sequential_skip_in_iterations", dice->Of({"1", "8"})}}));
        break;
      case 2:
        Check(
            db_->SetDBOptions({{"stats_dump_period_sec",
                                handles_go_first_ ? "0" : dice->Of({"0", "1"})},
                               {"max_background_jobs", dice->Of({"2", "4"})}}));
        break;
      case 3:
        cache_->SetCapacity(dice->Of({8 << 10, 64 << 10, 1 << 20}));
        break;
      case 4:
        // This call changes nothing.
        if (!db_->SetOptions({{"table_factory.filter_policy", "surf:99:0"}})
                 .IsInvalidArgument()) {
          Fail("SetOptions takes surf:99:0");
        }
        break;
      default:
        Check(db_->SetOptions(
            {{"table_factory.filter_policy", RandomPolicy(dice)}}));
    }
    Pause(dice, 40);
  }

  // ---- Those who look on ----

  void Observe(Dice* dice) {
    std::map<int, uint64_t> asked;
    for (int i = 0; i < 10 && !IsOver(); i++) {
      FilterStatistics statistics;
      Check(GetFilterStatistics(db_.get(), family_, &statistics));
      for (const LevelFilterStatistics& level : statistics.levels) {
        const uint64_t now = level.sums.bounded_seeks.asked() +
                             level.sums.unbounded_seeks.asked();
        // With few open files, all files may be closed for a moment.
        if (now < asked[level.level] && all_files_open_) {
          Fail("the seeks of level " + std::to_string(level.level) +
               " fall from " + std::to_string(asked[level.level]) + " to " +
               std::to_string(now));
        }
        asked[level.level] = now;
      }
      if (statistics.ToString().empty() || statistics.ToJson().empty() ||
          ToPrometheus({statistics}).empty()) {
        Fail("statistics without a text");
      }
      const FilterSums sums = GetFilterSums(persistent_->path);
      if (sums.used_files() > sums.open_files) Fail("more filters than files");
      std::map<std::string, FilterProperties> files;
      Check(GetFilterProperties(db_.get(), family_, &files));
      std::string text;
      for (const std::string& property :
           {DB::Properties::kStats, DB::Properties::kSSTables,
            DB::Properties::kAggregatedTableProperties}) {
        db_->GetProperty(property, &text);
      }
      const Range all(Slice("", 0), Slice("\xff\xff\xff\xff", 4));
      uint64_t size = 0;
      Check(db_->GetApproximateSizes(SizeApproximationOptions(), family_, &all,
                                     1, &size));
      if (dice->OneIn(10)) Check(db_->VerifyChecksum());
      Pause(dice, 30);
    }
  }

  void UseSamples(Dice* dice) {
    Env* const env = Env::Default();
    switch (dice->Below(4)) {
      case 0:
        Check(samples_->Save(kDefaultColumnFamilyName, env));
        break;
      case 1: {
        const std::shared_ptr<QueryQueue> queue =
            samples_->Queue(kDefaultColumnFamilyName, env, nullptr);
        const auto [lower, upper] = RandomSlots(dice);
        queue->Add({StringAt(lower), StringAt(upper), true});
        break;
      }
      case 2:
        for (const SampleQuery& query :
             samples_->Queue(kDefaultColumnFamilyName, env, nullptr)
                 ->Snapshot()) {
          if (IsInverted(query.lo, query.hi, query.hi_inclusive)) {
            Fail("a sample is inverted: " + QueryLine(query));
          }
        }
        break;
      default:
        // Saving replaces the complete file.
        if (env->FileExists(SamplesFile()).ok()) {
          std::vector<SampleQuery> queries;
          std::vector<std::string> refused;
          Check(ReadQueryFile(env, SamplesFile(), &queries, &refused));
          if (!refused.empty()) Fail(refused.front());
        }
    }
    Pause(dice, 20);
  }

  // A second DB that shares the policy, and so the queues.
  void UsePolicyInAnotherDB(Dice* dice) {
    const std::string path = persistent_->path + "/other";
    {
      Options options = NewDBOptions();
      UseSmallFiles(&options);
      BlockBasedTableOptions table;
      table.filter_policy = policy_;
      options.table_factory = NewProteanTableFactory(table);
      std::unique_ptr<DB> db;
      if (!Check(OpenDB(&db, options, path))) return;
      options = Options();
      std::vector<size_t> keys;
      for (size_t i = dice->Below(200); i > 0; i--) {
        keys.push_back(dice->Below(kNumKeys));
        Check(db->Put(WriteOptions(), KeyAt(keys.back()),
                      ValueOf(keys.back(), 1)));
      }
      Check(db->Flush(FlushOptions()));
      for (const size_t key : keys) {
        std::string value;
        Check(db->Get(ReadOptions(), KeyAt(key), &value));
        const std::unique_ptr<Iterator> it(db->NewIterator(ReadOptions()));
        it->Seek(StringAt(2 * key - (dice->OneIn(2) && key > 0 ? 1 : 0)));
        if (!it->Valid()) Fail("another DB has lost a key");
      }
    }
    if (dice->OneIn(4)) Check(DestroyDB(path, Options()));
    Pause(dice, 100);
  }

  // ---- The end ----

  void CompareAll() {
    persistent_->truth.Alone([&](Versions* versions) {
      Records records;
      for (size_t key = 0; key < kNumKeys; key++) {
        const Version version = (*versions)[key];
        if (version != 0) records[KeyAt(key)] = ValueOf(key, version);
      }
      ExpectRecords(db_.get(), records);
      const size_t expected = records.size();
      CountResult counted;
      Check(ApproximateCount(db_.get(), ReadOptions(), family_, {}, &counted));
      if (counted.count < expected ||
          (counted.IsExact() && counted.count != expected)) {
        Fail("counted " + std::to_string(counted.count) + " of " +
             std::to_string(expected));
      }
    });
  }

  Persistent* const persistent_;
  Dice dice_;
  std::atomic<bool> over_{false};
  std::atomic<Version> next_version_;
  std::atomic<uint64_t> next_file_{0};
  std::shared_ptr<const FilterPolicy> policy_;
  std::shared_ptr<SampleStore> samples_;
  std::shared_ptr<Cache> cache_;
  std::vector<std::shared_ptr<Cache>> caches_of_tables_;
  std::unique_ptr<DB> db_;
  ColumnFamilyHandle* family_ = nullptr;
  bool all_files_open_ = false;
  bool handles_go_first_ = false;  // before the iterators

  std::mutex left_mutex_;
  std::deque<std::unique_ptr<CheckedIterator>> left_;
};

}  // namespace

TEST(ConcurrencyTest, AllAtOnce) {
  using std::chrono::milliseconds;
  uint64_t seed = FLAGS_seed;
  if (seed == 0) seed = std::random_device()();
  printf("seed %" PRIu64 "\n", seed);
  fflush(stdout);
  Persistent persistent;
  persistent.path = test::PerThreadDBPath("concurrency");
  std::filesystem::create_directories(persistent.path);

  Dice dice(seed);
  ProgressLine progress;
  progress.SetTitle("concurrency");
  const milliseconds all(1000 * FLAGS_seconds);
  milliseconds passed(0);
  uint64_t rounds = 0;
  for (; passed < all && !HasFailure(); rounds++) {
    progress.Show(
        std::to_string(rounds) + " rounds",
        static_cast<double>(passed.count()) / static_cast<double>(all.count()));
    const milliseconds duration =
        std::min(all - passed, milliseconds(1000 + dice.Below(4000)));
    Round(&persistent, dice.Next()).Run(duration);
    passed += duration;
  }
  progress.Clear();
  printf("%" PRIu64 " rounds, %" PRIu64 " writes\n", rounds,
         uint64_t{persistent.last_version});
  if (HasFailure()) {
    printf("again: concurrency_test --seed=%" PRIu64 " --seconds=%" PRIu64 "\n",
           seed, FLAGS_seconds);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  // Files are in memory by default.
  ROCKSDB_NAMESPACE::protean::PutOwnFolderInMemory();
  return RUN_ALL_TESTS();
}
