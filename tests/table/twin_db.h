// SPDX-License-Identifier: Apache-2.0

//  A RocksDB with ProteanTable and its twin, a plain RocksDB without any
//  filter, which get the same writes and must give the same answers.

#pragma once

#include <array>
#include <functional>

#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

// The most of so many seeks that read for RocksDB's samples, of which it takes
// one in 1,024 (file_iterator.h).
inline uint64_t MostSampledSeeks(uint64_t seeks) {
  return PROTEAN_SAMPLES_SEEKS ? seeks / 400 + 8 : 0;
}

class TwinDB {
 public:
  enum Twin { kProtean, kPlain };
  static constexpr std::array<Twin, 2> kTwins = {kProtean, kPlain};

  // `options` are those of both, except for the table factories.
  TwinDB(const std::string& name, const Options& options,
         std::shared_ptr<TableFactory> protean,
         std::shared_ptr<TableFactory> plain = NewTable("BlockBasedTable", ""))
      : options_{options, options} {
    for (Twin twin : kTwins) {
      paths_[twin] = test::PerThreadDBPath(
          name + (twin == kProtean ? "_protean" : "_plain"));
      options_[twin].create_if_missing = true;
      options_[twin].allow_fallocate = false;  // for speed in memory
      EXPECT_OK(DestroyDB(paths_[twin], options_[twin]));
    }
    options_[kProtean].table_factory = std::move(protean);
    options_[kPlain].table_factory = std::move(plain);
  }

  ~TwinDB() {
    Close();
    for (Twin twin : kTwins) EXPECT_OK(DestroyDB(paths_[twin], options_[twin]));
  }

  // How Open opens a twin; DB::Open unless it is set. It may open an instance
  // of another kind, or several column families.
  using Opener = std::function<Status(Twin, std::unique_ptr<DB>*)>;
  void SetOpener(const Opener& opener) { opener_ = opener; }

  void Open() {
    for (Twin twin : kTwins) ASSERT_OK(opener_(twin, &dbs_[twin]));
  }

  void Close() {
    for (const auto& pair : snapshots_) {
      for (Twin twin : kTwins) dbs_[twin]->ReleaseSnapshot(pair[twin]);
    }
    snapshots_.clear();
    for (auto& db : dbs_) db.reset();
  }

  void Reopen() {
    Close();
    Open();
  }

  // Opens the twins without the data that they have.
  void OpenAnew() {
    Close();
    for (Twin twin : kTwins) ASSERT_OK(DestroyDB(paths_[twin], options_[twin]));
    Open();
  }

  // Does the same with both twins.
  void Both(const std::function<Status(DB*)>& operation) {
    for (auto& db : dbs_) ASSERT_OK(operation(db.get()));
  }
  void Each(const std::function<Status(Twin)>& operation) {
    for (Twin twin : kTwins) ASSERT_OK(operation(twin));
  }

  // What `describe` says of both, which is the same.
  std::string Same(const std::function<std::string(Twin)>& describe) {
    std::string expected = describe(kPlain);
    EXPECT_EQ(expected, describe(kProtean));
    return expected;
  }

  void SameValue(const std::function<Status(Twin, std::string*)>& read) {
    Same([&](Twin twin) {
      std::string value;
      return read(twin, &value).ToString() + value;
    });
  }

  void Put(const std::string& key, const std::string& value) {
    Both([&](DB* db) { return db->Put(WriteOptions(), key, value); });
  }
  void Delete(const std::string& key) {
    Both([&](DB* db) { return db->Delete(WriteOptions(), key); });
  }
  void DeleteRange(const std::string& begin, const std::string& end) {
    Both([&](DB* db) { return db->DeleteRange(WriteOptions(), begin, end); });
  }
  void Flush() {
    Both([](DB* db) { return db->Flush(FlushOptions()); });
  }

  void Compact(const CompactRangeOptions& options = CompactRangeOptions(),
               const Slice* begin = nullptr, const Slice* end = nullptr) {
    Both([&](DB* db) { return db->CompactRange(options, begin, end); });
  }

  void CompactLevel0Into(int level, uint64_t file_size) {
    Both([&](DB* db) { return CompactLevel0(db, level, file_size); });
  }

  // Writes a sorted run of these entries: "a" is put, "-a" is deleted.
  void WriteRun(const Keys& entries, int level = 0) {
    for (const std::string& entry : entries) {
      entry[0] == '-' ? Delete(entry.substr(1)) : Put(entry, "value");
    }
    Flush();
    if (level > 0) CompactLevel0Into(level, 1 << 20);
  }

  void TakeSnapshot() {
    snapshots_.push_back(
        {dbs_[kProtean]->GetSnapshot(), dbs_[kPlain]->GetSnapshot()});
  }
  int num_snapshots() const { return static_cast<int>(snapshots_.size()); }

  // `options` with the snapshot of that index, or with none for -1.
  ReadOptions At(Twin twin, int snapshot, ReadOptions options = {}) const {
    options.snapshot = snapshot < 0 ? nullptr : snapshots_[snapshot][twin];
    return options;
  }

  DB* protean() { return dbs_[kProtean].get(); }
  DB* plain() { return dbs_[kPlain].get(); }
  DB* db(Twin twin) { return dbs_[twin].get(); }
  Options& options(Twin twin) { return options_[twin]; }
  const std::string& path(Twin twin) const { return paths_[twin]; }

  size_t NumFiles() { return FilesOf(protean()).size(); }

 private:
  std::array<Options, 2> options_;
  std::array<std::string, 2> paths_;
  std::array<std::unique_ptr<DB>, 2> dbs_;
  std::vector<std::array<const Snapshot*, 2>> snapshots_;
  Opener opener_ = [this](Twin twin, std::unique_ptr<DB>* db) {
    return OpenDB(db, options_[twin], paths_[twin]);
  };
};

// Iterators over both twins, whose movements are compared.
class TwinIterator {
 public:
  // Whether there are bounds, which are set by the functions below.
  TwinIterator(TwinDB* dbs, const ReadOptions& options, bool lower, bool upper,
               int snapshot = -1)
      : TwinIterator(Of(dbs, snapshot), options, lower, upper) {}

  // Twins of iterators that are not made by DB::NewIterator.
  using Source = std::function<Iterator*(TwinDB::Twin, const ReadOptions&)>;
  TwinIterator(const Source& source, const ReadOptions& options, bool lower,
               bool upper)
      : lower_slice_(lower_), upper_slice_(upper_) {
    for (TwinDB::Twin twin : TwinDB::kTwins) {
      ReadOptions with_bounds = options;
      if (lower) with_bounds.iterate_lower_bound = &lower_slice_;
      if (upper) with_bounds.iterate_upper_bound = &upper_slice_;
      iterators_[twin].reset(source(twin, with_bounds));
    }
  }
  static Source Of(TwinDB* dbs, int snapshot = -1) {
    return [=](TwinDB::Twin twin, const ReadOptions& options) {
      return dbs->db(twin)->NewIterator(dbs->At(twin, snapshot, options));
    };
  }

  // Describes what is compared of a valid iterator besides its key and value.
  using Describer = std::function<std::string(const Iterator&)>;
  void CompareAlso(const Describer& describer) { also_ = describer; }

  // The bound takes effect with the next seek.
  void SetLower(const std::string& bound) {
    lower_ = bound;
    lower_slice_ = lower_;
  }
  void SetUpper(const std::string& bound) {
    upper_ = bound;
    upper_slice_ = upper_;
  }

  // All of these return whether the iterators are valid, which must be equal.
  bool Seek(const std::string& target) {
    return Both("Seek " + Hex(target), &Iterator::Seek, target);
  }
  bool SeekForPrev(const std::string& target) {
    return Both("SeekForPrev " + Hex(target), &Iterator::SeekForPrev, target);
  }
  bool SeekToFirst() { return Both("SeekToFirst", &Iterator::SeekToFirst); }
  bool SeekToLast() { return Both("SeekToLast", &Iterator::SeekToLast); }
  bool Next() { return Both(history_ += " +", &Iterator::Next); }
  bool Prev() { return Both(history_ += " -", &Iterator::Prev); }

  // Refreshes the iterators to the present state of the DB, or to a snapshot.
  void Refresh(TwinDB* dbs, int snapshot = -1) {
    for (TwinDB::Twin twin : TwinDB::kTwins) {
      ASSERT_OK(iterators_[twin]->Refresh(dbs->At(twin, snapshot).snapshot));
    }
  }

  Slice key() const { return iterators_[TwinDB::kPlain]->key(); }
  Iterator* iterator(TwinDB::Twin twin) { return iterators_[twin].get(); }

 private:
  template <typename Move, typename... Target>
  bool Both(const std::string& history, Move move, const Target&... target) {
    history_ = history;
    for (auto& iterator : iterators_) (iterator.get()->*move)(target...);
    Iterator* const plain = iterators_[TwinDB::kPlain].get();
    Iterator* const protean = iterators_[TwinDB::kProtean].get();
    if (AreAlike(plain, protean)) return true;
    const std::string expected = Describe(plain);
    const std::string got = Describe(protean);
    if (expected == got) return plain->Valid();
    ADD_FAILURE() << history_ << " [" << Hex(lower_) << ", " << Hex(upper_)
                  << "): expected " << expected << ", got " << got;
    return false;
  }

  // Whether both have the same record, told without copies.
  bool AreAlike(Iterator* a, Iterator* b) const {
    return HasRecord(a) && HasRecord(b) && a->key() == b->key() &&
           a->value() == b->value() && also_(*a) == also_(*b);
  }
  // A value that allow_unprepared_value has left out is loaded.
  static bool HasRecord(Iterator* it) {
    return it->Valid() && it->PrepareValue();
  }

  std::string Describe(Iterator* it) const {
    if (!HasRecord(it)) return it->status().ToString();
    return Hex(it->key()) + " => " + it->value().ToString() + also_(*it);
  }

  std::array<std::unique_ptr<Iterator>, 2> iterators_;
  std::string lower_;
  std::string upper_;
  Slice lower_slice_;
  Slice upper_slice_;
  std::string history_;
  Describer also_ = [](const Iterator&) { return std::string(); };
};

inline void CompareGets(TwinDB* dbs, const Keys& keys, int snapshot = -1,
                        const ReadOptions& options = {}) {
  for (const std::string& key : keys) {
    std::array<std::pair<Status, std::string>, 2> found;
    for (TwinDB::Twin twin : TwinDB::kTwins) {
      found[twin].first = dbs->db(twin)->Get(dbs->At(twin, snapshot, options),
                                             key, &found[twin].second);
    }
    ASSERT_EQ(found[TwinDB::kPlain], found[TwinDB::kProtean]) << Hex(key);
  }
}

inline void CompareMultiGets(TwinDB* dbs, const Keys& keys, int snapshot = -1,
                             const ReadOptions& options = {}) {
  constexpr size_t kBatch = 48;
  for (size_t begin = 0; begin < keys.size(); begin += kBatch) {
    const size_t size = std::min(kBatch, keys.size() - begin);
    const Keys batch(keys.begin() + begin, keys.begin() + begin + size);
    std::array<std::vector<PinnableSlice>, 2> values;
    std::array<std::vector<Status>, 2> statuses;
    for (TwinDB::Twin twin : TwinDB::kTwins) {
      statuses[twin] = MultiGet(dbs->db(twin), batch, &values[twin],
                                dbs->At(twin, snapshot, options));
    }
    for (size_t i = 0; i < size; i++) {
      ASSERT_EQ(statuses[TwinDB::kPlain][i], statuses[TwinDB::kProtean][i])
          << Hex(batch[i]);
      ASSERT_EQ(values[TwinDB::kPlain][i], values[TwinDB::kProtean][i])
          << Hex(batch[i]);
    }
  }
}

// Walks from end to end, in both directions. Returns the number of keys.
inline size_t CompareScans(TwinDB* dbs, int snapshot = -1,
                           const ReadOptions& options = {}) {
  TwinIterator it(dbs, options, /*lower=*/false, /*upper=*/false, snapshot);
  size_t forward = 0;
  for (bool valid = it.SeekToFirst(); valid; valid = it.Next()) forward++;
  size_t backward = 0;
  for (bool valid = it.SeekToLast(); valid; valid = it.Prev()) backward++;
  EXPECT_EQ(forward, backward);
  return forward;
}

}  // namespace ROCKSDB_NAMESPACE::protean
