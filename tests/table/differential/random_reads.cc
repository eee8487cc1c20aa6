// SPDX-License-Identifier: Apache-2.0

#include <filesystem>

#include "db/dbformat.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/utilities/debug.h"
#include "table/rocksdb_internals/versions.h"
#include "tests/table/differential/run.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A point read of some keys.
struct Query {
  const View& view;
  ReadOptions options = {};
  ReadPoint at = {};
  Keys keys = {};
  bool sorted = true;
  bool cached_only = false;  // Protean's twin may not read

  ReadOptions OptionsOf(Twin twin) const {
    ReadOptions result = options;
    at.Set(twin, &result);
    if (cached_only && twin == kProtean) result.read_tier = kBlockCacheTier;
    return result;
  }
};

void Draw(RandomRun* run, bool many, Query* query) {
  Dice& dice = run->dice;
  ReadOptions& options = query->options;
  options.verify_checksums = !dice.OneIn(4);
  options.fill_cache = !dice.OneIn(4);
  options.async_io = dice.OneIn(4);
  options.optimize_multiget_for_io = dice.OneIn(2);
  // Point reads ignore these options.
  options.total_order_seek = dice.OneIn(4);
  options.auto_prefix_mode = dice.OneIn(8);
  query->at.Draw(run, query->view);
  const KeyPool& pool = query->view.family->pool;
  query->keys.resize(many ? 1 + dice.Below(dice.OneIn(4) ? 60 : 10) : 1);
  for (std::string& key : query->keys) key = pool.PickAround(&dice);
  query->sorted = dice.OneIn(2);
  if (query->sorted) {
    std::sort(query->keys.begin(), query->keys.end(), pool.less());
  }
}

// ---- Ways to read: the answers of a twin, as texts ----

// Calls `read` with the transaction, if there is one, or the DB.
template <typename Read>
auto Ask(const View& view, Twin twin, const Read& read) {
  return view.transactions[twin] != nullptr ? read(view.transactions[twin])
                                            : read(view.dbs[twin]);
}

std::string DescribeValue(const Status& s, const Slice& value,
                          const std::string& timestamp) {
  return s.ok() ? value.ToString() + " @" + Hex(timestamp) : Describe(s);
}

Keys Get(const Query& query, Twin twin) {
  const View& view = query.view;
  const ReadOptions options = query.OptionsOf(twin);
  Keys answers;
  for (const std::string& key : query.keys) {
    std::string value;
    std::string timestamp;
    const Status s =
        view.family->timestamps
            ? view.dbs[twin]->Get(options, view.handles[twin], key, &value,
                                  &timestamp)
            : Ask(view, twin, [&](auto* reader) {
                return reader->Get(options, view.handles[twin], key, &value);
              });
    answers.push_back(DescribeValue(s, value, timestamp));
  }
  return answers;
}

Keys GetEntity(const Query& query, Twin twin) {
  const View& view = query.view;
  Keys answers;
  for (const std::string& key : query.keys) {
    PinnableWideColumns columns;
    const Status s = Ask(view, twin, [&](auto* reader) {
      return reader->GetEntity(query.OptionsOf(twin), view.handles[twin], key,
                               &columns);
    });
    answers.push_back(Describe(s) + " " + Describe(columns.columns()));
  }
  return answers;
}

Keys GetMany(const Query& query, Twin twin) {
  const View& view = query.view;
  const ReadOptions options = query.OptionsOf(twin);
  const size_t size = query.keys.size();
  const std::vector<Slice> keys(query.keys.begin(), query.keys.end());
  std::vector<PinnableSlice> values(size);
  Keys timestamps(size);
  std::vector<Status> statuses(size);
  if (view.family->timestamps) {
    view.dbs[twin]->MultiGet(options, view.handles[twin], size, keys.data(),
                             values.data(), timestamps.data(), statuses.data(),
                             query.sorted);
  } else {
    Ask(view, twin, [&](auto* reader) {
      reader->MultiGet(options, view.handles[twin], size, keys.data(),
                       values.data(), statuses.data(), query.sorted);
    });
  }
  Keys answers;
  for (size_t i = 0; i < size; i++) {
    answers.push_back(DescribeValue(statuses[i], values[i], timestamps[i]));
  }
  return answers;
}

Keys GetManyEntities(const Query& query, Twin twin) {
  const View& view = query.view;
  const size_t size = query.keys.size();
  const std::vector<Slice> keys(query.keys.begin(), query.keys.end());
  std::vector<PinnableWideColumns> columns(size);
  std::vector<Status> statuses(size);
  Ask(view, twin, [&](auto* reader) {
    reader->MultiGetEntity(query.OptionsOf(twin), view.handles[twin], size,
                           keys.data(), columns.data(), statuses.data(),
                           query.sorted);
  });
  Keys answers;
  for (size_t i = 0; i < size; i++) {
    answers.push_back(Describe(statuses[i]) + " " +
                      Describe(columns[i].columns()));
  }
  return answers;
}

// ---- Comparisons ----

void Compare(RandomRun* run, const Query& query, const std::string& what,
             Keys (*read)(const Query&, Twin)) {
  // With timestamps, stock MultiGet checks whether the result of a row cache is
  // visible, but gives it the highest sequence number, so that no result is.
  if ((read == GetMany || read == GetManyEntities) &&
      run->plan.db_options.row_cache != nullptr &&
      query.view.family->timestamps) {
    return;
  }
  const Keys protean = read(query, kProtean);
  const Keys plain = read(query, kPlain);
  for (size_t i = 0; i < query.keys.size(); i++) {
    // Data that is not in memory may be missing, but nothing may be wrong.
    if (query.cached_only &&
        protean[i].find("incomplete") != std::string::npos) {
      continue;
    }
    if (!run->journal.Expect(what + " of " + std::to_string(query.keys.size()) +
                                 " keys" + query.at.ToString() + " on " +
                                 query.view.name + ", " + Brief(query.keys[i]),
                             plain[i], protean[i])) {
      return;
    }
  }
}

// KeyMayExist may be true of an absent key, but not false of an existing one.
// RocksDB says of some values that they were found where they were not.
void CheckKeyMayExist(RandomRun* run, const Query& query) {
  const View& view = query.view;
  const std::string& key = query.keys[0];
  if (view.transactions[kProtean] != nullptr) return;
  const std::string expected = Get(query, kPlain)[0];
  if (expected.find(" @") == std::string::npos) return;  // no value
  for (Twin twin : kTwins) {
    bool found;
    std::string value;
    std::string timestamp;
    if (!view.dbs[twin]->KeyMayExist(
            query.OptionsOf(twin), view.handles[twin], key, &value,
            view.family->timestamps ? &timestamp : nullptr, &found)) {
      run->journal.Differ("KeyMayExist " + Brief(key) + query.at.ToString() +
                          ": it does, with the value " + expected);
    }
  }
}

}  // namespace

void ComparePointRead(RandomRun* run, const View& view) {
  const size_t kind = run->dice.Below(12);
  Query query{view};
  Draw(run, /*many=*/kind >= 5 && kind < 9, &query);
  if (kind < 4) {
    // Without a WAL, memtables do not count as persisted.
    if (view.same_shape && !run->plan.Transactional() && run->dice.OneIn(12)) {
      query.options.read_tier = kPersistedTier;
    }
    Compare(run, query, "Get", Get);
  } else if (kind < 5) {
    query.cached_only = true;
    Compare(run, query, "cached Get", Get);
  } else if (kind < 8) {
    Compare(run, query, "MultiGet", GetMany);
  } else if (kind < 9) {
    Compare(run, query, "MultiGetEntity", GetManyEntities);
  } else if (kind < 10) {
    Compare(run, query, "GetEntity", GetEntity);
  } else {
    CheckKeyMayExist(run, query);
  }
}

void CompareAllKeys(RandomRun* run, const View& view) {
  Query query{view};
  query.at.SetLatest(view);
  query.keys = view.family->pool.keys();
  Compare(run, query, "last Get", Get);
  Compare(run, query, "last MultiGet", GetMany);
}

// ---- Scans of several ranges ----

#if PROTEAN_TESTS_MULTI_SCAN

namespace {

std::string DescribeScanned(const Iterator& it) {
  if (!it.Valid()) return Describe(it.status());
  return Brief(it.key()) + " => " + it.value().ToString() + " " +
         Describe(it.columns());
}

}  // namespace

void CompareMultiScan(RandomRun* run, const View& view) {
  Dice& dice = run->dice;
  const KeyPool& pool = view.family->pool;
  Keys keys;
  for (size_t left = 2 + dice.Below(12); left > 0; left--) {
    keys.push_back(pool.PickAround(&dice));
    if (dice.OneIn(2)) keys.push_back(pool.PickAfter(&dice, keys.back()));
  }
  std::sort(keys.begin(), keys.end(), pool.less());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  // Some ranges begin where the one before ends. All of them end: stock RocksDB
  // 11.8.1 crashes as it announces to a file on level 0 that there is no end.
  std::vector<size_t> ranges;  // from one key to the next, by its index
  for (size_t i = 0; i + 1 < keys.size(); i += dice.OneIn(3) ? 1 : 2) {
    ranges.push_back(i);
  }
  if (ranges.empty()) return;
  // Backwards, stock RocksDB 11.8.1 goes on with another range (and stops at an
  // assertion) where a file holds no block of the one that is sought.
  const bool reverse = dice.OneIn(3);
  if (reverse) ranges = {dice.In(ranges)};
  ReadOptions options;
  options.verify_checksums = !dice.OneIn(4);
  options.fill_cache = !dice.OneIn(4);
  options.total_order_seek =
      view.family->options.prefix_extractor != nullptr || dice.OneIn(2);
  options.pin_data = dice.OneIn(4);
  options.adaptive_readahead = dice.OneIn(5);
  options.auto_readahead_size = dice.OneIn(2);
  if (dice.OneIn(5)) options.readahead_size = 1 + dice.Below(4096);
  ReadPoint at;
  at.Draw(run, view);
  MultiScanArgs args(view.family->options.comparator);
  for (size_t i : ranges) args.insert(keys[i], keys[i + 1]);
  args.reverse = reverse;
  // Both together, stock RocksDB 11.8.1 returns keys below the lower bound.
  args.use_async_io = !reverse && dice.OneIn(3);
  args.io_coalesce_threshold =
      dice.Of({uint64_t{0}, uint64_t{100}, uint64_t{16 << 10}});

  // The bounds are those of the range that is being scanned.
  Slice lower;
  Slice upper;
  Pair<std::unique_ptr<Iterator>> iterators;
  for (Twin twin : kTwins) {
    at.Set(twin, &options);
    if (reverse) options.iterate_lower_bound = &lower;
    options.iterate_upper_bound = &upper;
    iterators[twin] = view.NewIterator(twin, options);
  }
  const std::string name = std::string("MultiScan") + (reverse ? " back" : "") +
                           (args.use_async_io ? " async" : "") + at.ToString() +
                           " on " + view.name;
  run->journal.Note(name);
  for (auto& it : iterators) it->Prepare(args);
  for (size_t i : ranges) {
    lower = keys[i];
    upper = keys[i + 1];
    const std::string what =
        name + ", from " + Brief(lower) + " to " + Brief(upper);
    run->journal.Note(what);
    for (auto& it : iterators) {
      reverse ? it->SeekForPrev(upper) : it->Seek(lower);
    }
    // Some scans are left before their end.
    size_t steps = dice.OneIn(3) ? dice.Below(6) : pool.keys().size();
    while (run->journal.Expect(what, DescribeScanned(*iterators[kPlain]),
                               DescribeScanned(*iterators[kProtean])) &&
           iterators[kPlain]->Valid() && steps > 0) {
      for (auto& it : iterators) reverse ? it->Prev() : it->Next();
      steps--;
    }
    if (!run->journal.ok() || !iterators[kPlain]->status().ok()) return;
    if (dice.OneIn(12)) return;  // and some ranges are never asked for
  }
}

#else

void CompareMultiScan(RandomRun* /*run*/, const View& /*view*/) {}

#endif

// ---- Queries of a whole DB, and read-only copies of it ----

namespace {

// Opens a read-only copy of both DBs, and compares them if they hold the same.
using OpenCopy = std::function<Status(Twin, std::vector<ColumnFamilyHandle*>*,
                                      std::unique_ptr<DB>*)>;
void CompareCopies(RandomRun* run, const std::string& what, bool hold_the_same,
                   const OpenCopy& open) {
  Pair<std::unique_ptr<DB>> dbs;
  Pair<std::vector<ColumnFamilyHandle*>> handles;
  const bool opened = run->Both(
      what, [&](Twin twin) { return open(twin, &handles[twin], &dbs[twin]); });
  const size_t families =
      opened && hold_the_same ? run->plan.families.size() : 0;
  for (size_t family = 0; family < families; family++) {
    View view;
    view.name = what;
    view.family = &run->plan.families[family];
    for (Twin twin : kTwins) {
      view.dbs[twin] = dbs[twin].get();
      view.handles[twin] = handles[twin][family];
    }
    for (int i = 0; i < 3; i++) {
      ComparePointRead(run, view);
      WalkOnce(run, view, 5 + run->dice.Below(15));
    }
    if (run->dice.OneIn(3)) CompareAllKeys(run, view);
  }
  for (Twin twin : kTwins) {
    for (ColumnFamilyHandle* handle : handles[twin]) delete handle;
  }
}

std::string ListInternalKeys(Iterator* it) {
  if (it == nullptr) return "none";
  std::string list;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    list += Hex(it->key()) + "=" + std::to_string(it->value().size()) + " ";
  }
  return list + Describe(it->status());
}

void CompareFile(RandomRun* run, size_t family, const std::string& name) {
  Pair<std::unique_ptr<SstFileReader>> readers;
  for (Twin twin : kTwins) {
    // The options of both twins, but for the same file.
    Options options = run->twins.options(twin, family);
    options.env = run->twins.env(kProtean);
    readers[twin] = std::make_unique<SstFileReader>(options);
  }
  if (!run->Both("open " + name,
                 [&](Twin twin) { return readers[twin]->Open(name); })) {
    return;
  }
  run->Both("VerifyChecksum",
            [&](Twin twin) { return readers[twin]->VerifyChecksum(); });
  run->Both("VerifyNumEntries", [&](Twin twin) {
    return readers[twin]->VerifyNumEntries(ReadOptions());
  });
  Pair<std::string> keys;
  for (Twin twin : kTwins) {
    keys[twin] = ListInternalKeys(readers[twin]->NewTableIterator().get());
  }
  run->journal.Expect("NewTableIterator of " + name, keys[kPlain],
                      keys[kProtean]);
  View view;
  view.name = "an SST file";
  view.family = &run->plan.families[family];
  view.total_order = true;
  view.file_iterator = [&](Twin twin, const ReadOptions& options) {
    return readers[twin]->NewIterator(options);
  };
  WalkOnce(run, view, /*steps=*/15);
}

// Whether the value may name a file of blobs: these may have other numbers.
bool MayNameBlobs(const FamilyPlan& family, const KeyVersion& version) {
  return version.type == kTypeBlobIndex ||
         (version.type == kTypeWideColumnEntity && kColumnsMayBeBlobs &&
          family.options.enable_blob_files);
}

}  // namespace

// Compactions drop versions, so the twins need the same files.
void CompareKeyVersions(RandomRun* run, size_t index) {
  if (!run->plan.frozen || !run->twins.SameShape(index)) return;
  const FamilyPlan& family = run->plan.families[index];
  // The count ignores the time of the read, and seeks within a prefix.
  if (family.timestamps || family.options.prefix_extractor != nullptr) return;
  auto [begin, end] = family.pool.PickRange(&run->dice);
  if (run->dice.OneIn(3)) begin.clear();
  if (run->dice.OneIn(3)) end = family.pool.keys().back();
  const size_t most = run->dice.OneIn(4) ? 1 + run->dice.Below(20) : 100000;
  // Whether a compaction knows that there is nothing below a merge, and so
  // merges completely, depends on how files were cut, hence on their sizes:
  // keys with a merge in either twin are left out.
  Pair<std::vector<KeyVersion>> found;
  std::set<std::string> merged;
  const Slice from = begin;
  const Slice to = end;
  run->Both("GetAllKeyVersions " + Brief(from) + " " + Brief(to),
            [&](Twin twin) {
              const Status s = GetAllKeyVersions(run->twins.db(twin),
                                                 run->twins.handle(twin, index),
                                                 from, to, most, &found[twin]);
              for (const KeyVersion& version : found[twin]) {
                if (version.type == kTypeMerge) merged.insert(version.user_key);
              }
              return s;
            });
  // In this case, the twins may have cut their lists at different keys.
  const auto is_cut = [&](Twin twin) { return found[twin].size() == most; };
  if (!merged.empty() && (is_cut(kPlain) || is_cut(kProtean))) return;
  Pair<std::string> versions;
  for (Twin twin : kTwins) {
    for (const KeyVersion& version : found[twin]) {
      if (merged.count(version.user_key) > 0) continue;
      versions[twin] += Brief(version.user_key) + " " + version.GetTypeName();
      if (!MayNameBlobs(family, version)) {
        versions[twin] += " " + Hex(version.value);
      }
      versions[twin] += "\n";
    }
  }
  run->journal.Expect("key versions", versions[kPlain], versions[kProtean]);
}

void CompareFiles(RandomRun* run, size_t family) {
  // Otherwise, files may be deleted at any time. With timestamps, or blobs,
  // these readers do not support all that the DB does.
  if (!run->plan.frozen || run->plan.families[family].timestamps ||
      run->plan.families[family].options.enable_blob_files) {
    return;
  }
  Keys names;
  for (const LiveFileMetaData& file : FilesOf(run->twins.db(kProtean))) {
    if (file.column_family_name == run->plan.families[family].name) {
      names.push_back(PathOf(file));
    }
  }
  for (size_t i = 0; i < 3 && !names.empty(); i++) {
    CompareFile(run, family, run->dice.In(names));
  }
}

void CompareCheckpoints(RandomRun* run) {
  if (run->plan.in_memory) return;  // where files cannot be linked
#ifndef NDEBUG
  // Stock RocksDB 9.10.0 stops at an assertion of its own (WriteBatchInternal::
  // Iterate) when a log with prepared transactions is opened read only, instead
  // of returning NotSupported.
  if (run->plan.Pessimistic()) return;
#endif
  const auto path = [run](Twin twin) {
    return run->twins.path(twin) + "_checkpoint";
  };
  const bool made = run->Both("checkpoint", [&](Twin twin) {
    return MakeCheckpoint(run->twins.db(twin), path(twin));
  });
  if (made) {
    CompareCopies(run, "checkpoint, read only", /*hold_the_same=*/true,
                  [&](Twin twin, std::vector<ColumnFamilyHandle*>* handles,
                      std::unique_ptr<DB>* db) {
                    return OpenReadOnly(db, run->twins.options(twin, 0),
                                        path(twin), run->twins.families(twin),
                                        handles);
                  });
  }
  for (Twin twin : kTwins) std::filesystem::remove_all(path(twin));
}

void CompareSecondaries(RandomRun* run) {
  // Only the primary knows what a transaction has prepared.
  if (run->plan.in_memory || run->plan.Pessimistic()) return;
  // RocksDB 9.10.0 crashes when it reads a blob in a secondary with a block
  // cache.
  for (const FamilyPlan& family : run->plan.families) {
    if (family.options.enable_blob_files) return;
  }
  CompareCopies(run, "secondary", /*hold_the_same=*/!run->plan.disable_wal,
                [&](Twin twin, std::vector<ColumnFamilyHandle*>* handles,
                    std::unique_ptr<DB>* db) {
                  DBOptions options = run->twins.options(twin, 0);
                  options.max_open_files = -1;
                  const std::string& path = run->twins.path(twin);
                  return OpenSecondary(db, options, path, path + "_secondary",
                                       run->twins.families(twin), handles);
                });
}

void CompareManyFamilies(RandomRun* run) {
  for (const FamilyPlan& family : run->plan.families) {
    if (family.timestamps || family.options.prefix_extractor != nullptr ||
        family.options.comparator != run->plan.families[0].options.comparator) {
      return;
    }
  }
  View view = run->Latest(run->dice.Below(run->plan.families.size()));
  view.name = "all families";
  view.refresh = false;
  view.same_shape = false;
  view.total_order = true;
  view.file_iterator = [run](Twin twin, const ReadOptions& options) {
    std::vector<ColumnFamilyHandle*> handles;
    for (size_t i = 0; i < run->plan.families.size(); i++) {
      handles.push_back(run->twins.handle(twin, i));
    }
    return run->twins.db(twin)
        ->NewCoalescingIterator(options, handles)
        .release();
  };
  WalkOnce(run, view, /*steps=*/15);
}

}  // namespace ROCKSDB_NAMESPACE::protean
