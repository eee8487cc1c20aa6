// SPDX-License-Identifier: Apache-2.0

#include "tests/table/differential/random_reads.h"

#include <algorithm>

#include "tests/key_families.h"
#include "tests/table/differential/run.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Strings = std::vector<std::string>;

ReadOptions DrawReadOptions(RandomRun* run) {
  Dice& dice = run->dice;
  ReadOptions options;
  options.verify_checksums = !dice.OneIn(4);
  options.fill_cache = !dice.OneIn(4);
  options.async_io = dice.OneIn(4);
  options.optimize_multiget_for_io = dice.OneIn(2);
  // Point reads ignore these options.
  options.total_order_seek = dice.OneIn(4);
  options.auto_prefix_mode = dice.OneIn(8);
  return options;
}

Status Get(const View& view, Twin twin, const ReadOptions& options,
           const std::string& key, std::string* value, std::string* timestamp) {
  Transaction* transaction = view.transactions[twin];
  ColumnFamilyHandle* handle = view.handles[twin];
  if (transaction != nullptr) {
    return transaction->Get(options, handle, key, value);
  }
  return view.family->timestamps
             ? view.dbs[twin]->Get(options, handle, key, value, timestamp)
             : view.dbs[twin]->Get(options, handle, key, value);
}

std::string DescribeGet(const View& view, Twin twin, const ReadOptions& options,
                        const std::string& key) {
  std::string value;
  std::string timestamp;
  const Status s = Get(view, twin, options, key, &value, &timestamp);
  if (!s.ok()) return Describe(s);
  return value + (timestamp.empty() ? "" : " @" + Hex(timestamp));
}

void CompareGet(RandomRun* run, const View& view, const ReadOptions& options,
                const ReadPoint& at) {
  const std::string key = view.family->pool.PickAround(&run->dice);
  ReadOptions base = options;
  // Without a WAL, memtables do not count as persisted.
  if (view.same_shape && !run->plan.Transactional() && run->dice.OneIn(12)) {
    base.read_tier = kPersistedTier;
  }
  Pair<std::string> results;
  for (Twin twin : kTwins) {
    ReadOptions twins = base;
    at.Set(twin, &twins);
    results[twin] = DescribeGet(view, twin, twins, key);
  }
  run->journal.Expect("Get " + Brief(key) + at.ToString() + " on " + view.name,
                      results[kPlain], results[kProtean]);
}

// Data that is not in memory may be missing, but nothing may be wrong.
void CompareCachedGet(RandomRun* run, const View& view,
                      const ReadOptions& options, const ReadPoint& at) {
  const std::string key = view.family->pool.PickAround(&run->dice);
  Pair<std::string> results;
  for (Twin twin : kTwins) {
    ReadOptions twins = options;
    at.Set(twin, &twins);
    if (twin == kProtean) twins.read_tier = kBlockCacheTier;
    results[twin] = DescribeGet(view, twin, twins, key);
  }
  if (results[kProtean].find("incomplete") != std::string::npos) return;
  run->journal.Expect("cached Get " + Brief(key) + at.ToString(),
                      results[kPlain], results[kProtean]);
}

Strings DrawKeys(RandomRun* run, const View& view, bool sorted) {
  const KeyPool& pool = view.family->pool;
  Strings keys(1 + run->dice.Below(run->dice.OneIn(4) ? 60 : 10));
  for (std::string& key : keys) key = pool.PickAround(&run->dice);
  if (sorted) {
    std::sort(keys.begin(), keys.end(),
              [&pool](const std::string& a, const std::string& b) {
                return pool.Less(a, b);
              });
  }
  return keys;
}

Strings MultiGet(const View& view, Twin twin, const ReadOptions& options,
                 const Strings& keys, bool sorted) {
  const size_t size = keys.size();
  const std::vector<Slice> slices(keys.begin(), keys.end());
  std::vector<PinnableSlice> values(size);
  Strings timestamps(size);
  std::vector<Status> statuses(size);
  if (view.transactions[twin] != nullptr) {
    view.transactions[twin]->MultiGet(options, view.handles[twin], size,
                                      slices.data(), values.data(),
                                      statuses.data(), sorted);
  } else {
    view.dbs[twin]->MultiGet(
        options, view.handles[twin], size, slices.data(), values.data(),
        view.family->timestamps ? timestamps.data() : nullptr, statuses.data(),
        sorted);
  }
  Strings results;
  for (size_t i = 0; i < size; i++) {
    results.push_back(statuses[i].ok()
                          ? values[i].ToString() + " @" + Hex(timestamps[i])
                          : Describe(statuses[i]));
  }
  return results;
}

Strings MultiGetEntity(const View& view, Twin twin, const ReadOptions& options,
                       const Strings& keys, bool sorted) {
  const size_t size = keys.size();
  const std::vector<Slice> slices(keys.begin(), keys.end());
  std::vector<PinnableWideColumns> columns(size);
  std::vector<Status> statuses(size);
  if (view.transactions[twin] != nullptr) {
    view.transactions[twin]->MultiGetEntity(options, view.handles[twin], size,
                                            slices.data(), columns.data(),
                                            statuses.data(), sorted);
  } else {
    view.dbs[twin]->MultiGetEntity(options, view.handles[twin], size,
                                   slices.data(), columns.data(),
                                   statuses.data(), sorted);
  }
  Strings results;
  for (size_t i = 0; i < size; i++) {
    results.push_back(Describe(statuses[i]) + " " +
                      Describe(columns[i].columns()));
  }
  return results;
}

// With timestamps, stock MultiGet checks whether the result of a row cache is
// visible, but gives it the highest sequence number, so that no result is.
bool CanReadMany(const RandomRun& run, const View& view) {
  return run.plan.db_options.row_cache == nullptr || !view.family->timestamps;
}

template <typename Read>
void CompareMany(RandomRun* run, const View& view, const ReadOptions& options,
                 const ReadPoint& at, const std::string& what, Read read) {
  if (!CanReadMany(*run, view)) return;
  const bool sorted = run->dice.OneIn(2);
  const Strings keys = DrawKeys(run, view, sorted);
  Pair<Strings> results;
  for (Twin twin : kTwins) {
    ReadOptions twins = options;
    at.Set(twin, &twins);
    results[twin] = read(view, twin, twins, keys, sorted);
  }
  for (size_t i = 0; i < keys.size(); i++) {
    if (!run->journal.Expect(what + " of " + std::to_string(keys.size()) +
                                 " keys" + at.ToString() + " on " + view.name +
                                 ", " + Brief(keys[i]),
                             results[kPlain][i], results[kProtean][i])) {
      return;
    }
  }
}

void CompareGetEntity(RandomRun* run, const View& view,
                      const ReadOptions& options, const ReadPoint& at) {
  const std::string key = view.family->pool.PickAround(&run->dice);
  Pair<std::string> results;
  for (Twin twin : kTwins) {
    ReadOptions twins = options;
    at.Set(twin, &twins);
    PinnableWideColumns columns;
    const Status s = view.transactions[twin] != nullptr
                         ? view.transactions[twin]->GetEntity(
                               twins, view.handles[twin], key, &columns)
                         : view.dbs[twin]->GetEntity(twins, view.handles[twin],
                                                     key, &columns);
    results[twin] = Describe(s) + " " + Describe(columns.columns());
  }
  run->journal.Expect("GetEntity " + Brief(key) + at.ToString(),
                      results[kPlain], results[kProtean]);
}

// KeyMayExist may return true for an absent key, but not false for an existing
// one.
void CompareKeyMayExist(RandomRun* run, const View& view,
                        const ReadOptions& options, const ReadPoint& at) {
  if (view.transactions[kProtean] != nullptr) return;
  const std::string key = view.family->pool.PickAround(&run->dice);
  ReadOptions plain = options;
  at.Set(kPlain, &plain);
  std::string expected;
  std::string timestamp;
  if (!Get(view, kPlain, plain, key, &expected, &timestamp).ok()) return;
  Pair<bool> found;
  Pair<std::string> values;
  const std::string what = "KeyMayExist " + Brief(key) + at.ToString();
  for (Twin twin : kTwins) {
    ReadOptions twins = options;
    at.Set(twin, &twins);
    if (!view.dbs[twin]->KeyMayExist(
            twins, view.handles[twin], key, &values[twin],
            view.family->timestamps ? &timestamp : nullptr, &found[twin])) {
      run->journal.Differ(what + ": it does, with the value " + expected);
      return;
    }
  }
  // The value, if any, is not compared: RocksDB says of some values that they
  // were found where they were not.
}

}  // namespace

void ComparePointRead(RandomRun* run, const View& view) {
  const ReadOptions options = DrawReadOptions(run);
  ReadPoint at;
  at.Draw(run, view);
  const size_t kind = run->dice.Below(12);
  if (kind < 4) {
    CompareGet(run, view, options, at);
  } else if (kind < 5) {
    CompareCachedGet(run, view, options, at);
  } else if (kind < 8) {
    CompareMany(run, view, options, at, "MultiGet", MultiGet);
  } else if (kind < 9) {
    CompareMany(run, view, options, at, "MultiGetEntity", MultiGetEntity);
  } else if (kind < 10) {
    CompareGetEntity(run, view, options, at);
  } else {
    CompareKeyMayExist(run, view, options, at);
  }
}

void CompareAllKeys(RandomRun* run, const View& view) {
  const Strings& keys = view.family->pool.keys();
  Pair<Strings> gets;
  Pair<Strings> multi_gets;
  for (Twin twin : kTwins) {
    const std::string latest = MaxU64Ts().ToString();
    const Slice timestamp = latest;
    ReadOptions options;
    if (view.family->timestamps) options.timestamp = &timestamp;
    for (const std::string& key : keys) {
      gets[twin].push_back(DescribeGet(view, twin, options, key));
    }
    if (CanReadMany(*run, view)) {
      multi_gets[twin] = MultiGet(view, twin, options, keys, /*sorted=*/true);
    }
  }
  for (size_t i = 0; i < keys.size(); i++) {
    run->journal.Expect("last Get " + Brief(keys[i]), gets[kPlain][i],
                        gets[kProtean][i]);
  }
  for (size_t i = 0; i < multi_gets[kPlain].size(); i++) {
    run->journal.Expect("last MultiGet " + Brief(keys[i]),
                        multi_gets[kPlain][i], multi_gets[kProtean][i]);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
