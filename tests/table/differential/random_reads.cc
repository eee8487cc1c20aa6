// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <string>
#include <vector>

#include "table/rocksdb_internals/versions.h"
#include "tests/key_families.h"
#include "tests/table/differential/run.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Strings = std::vector<std::string>;

// A point read of some keys.
struct Query {
  const View& view;
  ReadOptions options = {};
  ReadPoint at = {};
  Strings keys = {};
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

Strings Get(const Query& query, Twin twin) {
  const View& view = query.view;
  const ReadOptions options = query.OptionsOf(twin);
  Strings answers;
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

Strings GetEntity(const Query& query, Twin twin) {
  const View& view = query.view;
  Strings answers;
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

Strings MultiGet(const Query& query, Twin twin) {
  const View& view = query.view;
  const ReadOptions options = query.OptionsOf(twin);
  const size_t size = query.keys.size();
  const std::vector<Slice> keys(query.keys.begin(), query.keys.end());
  std::vector<PinnableSlice> values(size);
  Strings timestamps(size);
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
  Strings answers;
  for (size_t i = 0; i < size; i++) {
    answers.push_back(DescribeValue(statuses[i], values[i], timestamps[i]));
  }
  return answers;
}

Strings MultiGetEntity(const Query& query, Twin twin) {
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
  Strings answers;
  for (size_t i = 0; i < size; i++) {
    answers.push_back(Describe(statuses[i]) + " " +
                      Describe(columns[i].columns()));
  }
  return answers;
}

// ---- Comparisons ----

void Compare(RandomRun* run, const Query& query, const std::string& what,
             Strings (*read)(const Query&, Twin)) {
  // With timestamps, stock MultiGet checks whether the result of a row cache is
  // visible, but gives it the highest sequence number, so that no result is.
  if ((read == MultiGet || read == MultiGetEntity) &&
      run->plan.db_options.row_cache != nullptr &&
      query.view.family->timestamps) {
    return;
  }
  const Strings protean = read(query, kProtean);
  const Strings plain = read(query, kPlain);
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
    Compare(run, query, "MultiGet", MultiGet);
  } else if (kind < 9) {
    Compare(run, query, "MultiGetEntity", MultiGetEntity);
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
  Compare(run, query, "last MultiGet", MultiGet);
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
  Strings keys;
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

}  // namespace ROCKSDB_NAMESPACE::protean
