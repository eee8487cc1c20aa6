// SPDX-License-Identifier: Apache-2.0

#include <optional>
#include <tuple>

#include "rocksdb/write_batch.h"
#include "tests/table/differential/run.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

struct Write {
  enum Kind {
    kPut,
    kDelete,
    kSingleDelete,
    kMerge,
    kPutEntity,
    kDeleteRange
  } kind;
  size_t family;
  std::string key;
  std::string end;  // of a range
  std::string value;
  std::string timestamp;  // if the column family has timestamps
  // The position of a key that is written for SingleDelete.
  std::optional<size_t> single_position;

  WideColumns Columns() const {
    return {{kDefaultWideColumnName, value}, {"a", key}, {"b", value}};
  }
  std::string ToString() const {
    static const char* const kNames[] = {"Put",   "Delete",    "SingleDelete",
                                         "Merge", "PutEntity", "DeleteRange"};
    std::string line =
        kNames[kind] + (" " + std::to_string(family)) + " " + Brief(key);
    if (kind == kDeleteRange) line += " " + Brief(end);
    if (!value.empty()) line += " = " + value.substr(0, 12);
    if (!timestamp.empty()) line += " @" + Hex(timestamp);
    return line;
  }
};

std::string DrawValue(RandomRun* run) {
  std::string value = "v" + std::to_string(++run->num_values);
  if (!run->dice.OneIn(4)) value += std::string(run->dice.Below(50), '.');
  if (run->dice.OneIn(20)) value += std::string(run->dice.Below(900), '!');
  return value;
}

// `elsewhere`: for a transaction or a file. Keys that are for SingleDelete are
// left alone there, since their state would be unknown for a while.
Write DrawWrite(RandomRun* run, size_t index, bool elsewhere) {
  Dice& dice = run->dice;
  FamilyPlan& family = run->plan.families[index];
  Write write;
  write.family = index;
  if (family.timestamps) EncodeU64Ts(++run->clock, &write.timestamp);

  size_t position = dice.Below(family.pool.keys().size());
  if (elsewhere && family.single_delete[position]) position = 0;
  const std::string& key = family.pool.keys()[position];
  write.key = key;
  if (family.single_delete[position]) {
    const bool is_put = family.is_put[position];
    write.kind = is_put ? Write::kSingleDelete : Write::kPut;
    if (!is_put) write.value = DrawValue(run);
    write.single_position = position;
    family.is_put[position] = !is_put;
    return write;
  }

  // Transactions take no entities and no range deletions.
  const bool simple = elsewhere && run->plan.Transactional();
  const size_t kind = dice.Below(20);
  write.kind = Write::kPut;
  if (kind >= 10 && kind < 14) {
    write.kind = Write::kDelete;
  } else if (kind >= 14 && kind < 17 && !family.timestamps) {
    // With timestamps, the merges that RocksDB does depend on when it flushes.
    write.kind = Write::kMerge;
  } else if (kind >= 14 && kind < 18 && !family.timestamps && !simple) {
    write.kind = Write::kPutEntity;
  } else if (kind == 19 && run->plan.range_deletes && !simple &&
             (run->plan.frozen || !family.timestamps)) {
    // With timestamps, the last level keeps range tombstones, but its keys lose
    // their sequence numbers, and a put after a tombstone is then below it: the
    // remaining keys depend on when RocksDB compacts.
    std::tie(write.key, write.end) = family.pool.PickRange(&dice);
    const bool is_range = family.pool.Less(write.key, write.end);
    write.kind = is_range ? Write::kDeleteRange : Write::kDelete;
    if (!is_range) write.key = key;
  }
  if (write.kind != Write::kDelete && write.kind != Write::kDeleteRange) {
    write.value = DrawValue(run);
  }
  return write;
}

// Undoes what drawing the write has recorded.
void Forget(RandomRun* run, const Write& write) {
  if (!write.single_position.has_value()) return;
  std::vector<bool>& is_put = run->plan.families[write.family].is_put;
  is_put[*write.single_position] = !is_put[*write.single_position];
}

// Puts the write into a DB (where WriteOptions and a column family say), a
// batch or a transaction (where a column family says), or a file. The last two
// do not take all kinds of writes, and no timestamps.
template <typename To, typename... Where>
Status Apply(const Write& write, To* to, const Where&... where) {
  constexpr bool kIsTransaction = std::is_same_v<To, Transaction>;
  constexpr bool kIsFile = std::is_same_v<To, SstFileWriter>;
  const auto& [key, end, time] =
      std::tie(write.key, write.end, write.timestamp);
  if constexpr (!kIsTransaction && !kIsFile) {
    if (write.kind == Write::kSingleDelete) {
      return to->SingleDelete(where..., key);
    }
    if (!time.empty()) {
      return write.kind == Write::kDelete ? to->Delete(where..., key, time)
             : write.kind == Write::kDeleteRange
                 ? to->DeleteRange(where..., key, end, time)
                 : to->Put(where..., key, time, write.value);
    }
  }
  if constexpr (!kIsTransaction) {
    if (write.kind == Write::kDeleteRange) {
      return to->DeleteRange(where..., key, end);
    }
    if (write.kind == Write::kPutEntity) {
      return to->PutEntity(where..., key, write.Columns());
    }
  }
  switch (write.kind) {
    case Write::kPut:
      return to->Put(where..., key, write.value);
    case Write::kDelete:
      return to->Delete(where..., key);
    case Write::kMerge:
      return to->Merge(where..., key, write.value);
    default:
      return Status::NotSupported();
  }
}

size_t DrawFamily(RandomRun* run) {
  return run->dice.Below(run->plan.families.size());
}

WriteOptions WriteOptionsOf(const RandomRun& run) {
  WriteOptions options;
  options.disableWAL = run.plan.disable_wal;
  return options;
}

// In an ingested file, all entries have one sequence number, and a range
// tombstone with it comes after an entity or a blob of the same key. If one of
// its fragments begins there, iterators of stock RocksDB assert that it comes
// before. Merges may become entities, and puts may become blobs, in
// compactions.
bool MayComeBeforeTombstone(const FamilyPlan& family, const Write& point) {
  return point.kind == Write::kPutEntity || point.kind == Write::kMerge ||
         (point.kind == Write::kPut && family.options.enable_blob_files);
}

// No twin can write a key that a transaction has locked.
void Do(RandomRun* run, const Write& write) {
  const bool written = run->Both(write.ToString(), [&](Twin twin) {
    return Apply(write, run->twins.db(twin), WriteOptionsOf(*run),
                 run->twins.handle(twin, write.family));
  });
  if (!written) Forget(run, write);
}

// Deletes keys that follow one another, as a queue does.
void DeleteStretch(RandomRun* run, size_t index) {
  FamilyPlan& family = run->plan.families[index];
  const size_t keys = family.pool.keys().size();
  size_t position = run->dice.Below(keys);
  const size_t most = std::max<size_t>(1, keys / run->dice.Of({1, 4, 16}));
  const size_t end = std::min(keys, position + 4 + run->dice.Below(most));
  for (; position < end; position++) {
    Write write;
    write.family = index;
    write.kind = Write::kDelete;
    write.key = family.pool.keys()[position];
    if (family.timestamps) EncodeU64Ts(++run->clock, &write.timestamp);
    if (family.single_delete[position]) {
      if (!family.is_put[position]) continue;
      write.kind = Write::kSingleDelete;
      write.single_position = position;
      family.is_put[position] = false;
    }
    Do(run, write);
  }
}

void WriteBatchOf(RandomRun* run, size_t size) {
  std::vector<Write> writes;
  std::string what = "batch:";
  for (size_t i = 0; i < size; i++) {
    writes.push_back(DrawWrite(run, DrawFamily(run), /*elsewhere=*/false));
    what += "\n    " + writes.back().ToString();
  }
  const bool written = run->Both(what, [&](Twin twin) {
    WriteBatch batch;
    for (const Write& write : writes) {
      const Status s =
          Apply(write, &batch, run->twins.handle(twin, write.family));
      if (!s.ok()) return s;
    }
    return run->twins.db(twin)->Write(WriteOptionsOf(*run), &batch);
  });
  if (written) return;
  for (const Write& write : writes) Forget(run, write);
}

Transaction* Begin(RandomRun* run, Twin twin) {
  DB* const db = run->twins.db(twin);
  return run->plan.Pessimistic()
             ? static_cast<TransactionDB*>(db)->BeginTransaction(WriteOptions())
             : static_cast<OptimisticTransactionDB*>(db)->BeginTransaction(
                   WriteOptions());
}

void ReadThrough(RandomRun* run, const OpenTransaction& open) {
  View view = run->Latest(DrawFamily(run));
  view.name += " in a transaction";
  view.refresh = false;
  view.same_shape = false;
  for (Twin twin : kTwins) view.transactions[twin] = open.twins[twin].get();
  // Stock iterators of unprepared transactions crash when they go backwards.
  if (run->plan.kind == DbKind::kWriteUnprepared || run->dice.OneIn(2)) {
    ComparePointRead(run, view);
    return;
  }
  WalkOnce(run, view, 1 + run->dice.Below(15));
}

void WriteThrough(RandomRun* run, const OpenTransaction& open) {
  for (size_t writes = 1 + run->dice.Below(6); writes > 0; writes--) {
    const Write write = DrawWrite(run, DrawFamily(run), /*elsewhere=*/true);
    run->Both("transaction " + write.ToString(), [&](Twin twin) {
      return Apply(write, open.twins[twin].get(),
                   run->twins.handle(twin, write.family));
    });
  }
}

void End(RandomRun* run, OpenTransaction* open) {
  const bool commit = !run->dice.OneIn(3);
  run->Both(commit ? "commit" : "rollback", [&](Twin twin) {
    Transaction* transaction = open->twins[twin].get();
    return commit ? transaction->Commit() : transaction->Rollback();
  });
}

// Does something with a transaction that stays open while other things happen.
void AdvanceTransaction(RandomRun* run) {
  run->num_writes++;
  if (run->transactions.empty() || run->dice.OneIn(4)) {
    if (run->transactions.size() >= 2) return EndTransactions(run);
    OpenTransaction open;
    run->journal.Note("begin");
    for (Twin twin : kTwins) open.twins[twin].reset(Begin(run, twin));
    run->Both("name", [&](Twin twin) {
      return run->plan.Pessimistic()
                 ? open.twins[twin]->SetName("t" +
                                             std::to_string(run->num_writes))
                 : Status::OK();
    });
    WriteThrough(run, open);
    run->transactions.push_back(std::move(open));
    return;
  }
  OpenTransaction& open = run->transactions.back();
  const size_t next = run->dice.Below(10);
  if (next < 4) return ReadThrough(run, open);
  if (next < 6 && !open.prepared) return WriteThrough(run, open);
  const bool ends = next >= 8 || open.prepared || !run->plan.Pessimistic();
  if (!open.prepared && run->plan.Pessimistic() &&
      (!ends || run->dice.OneIn(2))) {
    run->Both("prepare",
              [&](Twin twin) { return open.twins[twin]->Prepare(); });
    open.prepared = true;
  }
  if (!ends) return;
  End(run, &open);
  run->transactions.pop_back();
}

void CompactIntoLevel(RandomRun* run, size_t family) {
  const FamilyPlan& plan = run->plan.families[family];
  const int level = 1 + static_cast<int>(run->dice.Below(
                            static_cast<size_t>(plan.options.num_levels - 1)));
  const uint64_t file_size = plan.options.target_file_size_base;
  run->Both(
      "CompactFiles of level 0 into " + std::to_string(level), [&](Twin twin) {
        const Status s = CompactLevel0(run->twins.db(twin), level, file_size,
                                       run->twins.handle(twin, family));
        // With automatic compactions, RocksDB may be compacting the files
        // already.
        return run->plan.frozen ? s : Status::OK();
      });
}

void CompactRange(RandomRun* run, size_t family) {
  Dice& dice = run->dice;
  const bool all = dice.OneIn(3);
  const auto range = run->plan.families[family].pool.PickRange(&dice);
  CompactRangeOptions options;
  options.bottommost_level_compaction =
      dice.Of({BottommostLevelCompaction::kForce,
               BottommostLevelCompaction::kIfHaveCompactionFilter,
               BottommostLevelCompaction::kForceOptimized});
  options.exclusive_manual_compaction = dice.OneIn(2);
  const Slice begin = range.first;
  const Slice end = range.second;
  run->Both("CompactRange " + (all ? "" : Brief(begin) + " " + Brief(end)),
            [&](Twin twin) {
              return run->twins.db(twin)->CompactRange(
                  options, run->twins.handle(twin, family),
                  all ? nullptr : &begin, all ? nullptr : &end);
            });
}

// Whole files are deleted, with all versions in them, including those that a
// snapshot sees: the twins stay equal only if their files are the same.
void DropFiles(RandomRun* run, size_t family) {
  if (!run->plan.frozen || !run->twins.SameShape(family)) return;
  const FamilyPlan& plan = run->plan.families[family];
  // Entries below a deleted file become visible again, including keys that
  // should be put once only.
  const std::vector<bool>& single = plan.single_delete;
  if (std::count(single.begin(), single.end(), true) > 0) return;
  const auto range = plan.pool.PickRange(&run->dice);
  const Slice begin = range.first;
  const Slice end = range.second;
  run->Both(
      "DeleteFilesInRange " + Brief(begin) + " " + Brief(end), [&](Twin twin) {
        return DeleteFilesInRange(
            run->twins.db(twin), run->twins.handle(twin, family), &begin, &end);
      });
}

}  // namespace

void WriteSome(RandomRun* run) {
  run->num_writes++;
  if (run->plan.Transactional() && run->dice.OneIn(3)) {
    AdvanceTransaction(run);
  } else if (run->dice.OneIn(4)) {
    WriteBatchOf(run, 1 + run->dice.Below(8));
  } else {
    const size_t family = DrawFamily(run);
    for (size_t writes = 1 + run->dice.Below(12); writes > 0; writes--) {
      Do(run, DrawWrite(run, family, /*elsewhere=*/false));
    }
  }
}

void WriteMany(RandomRun* run) {
  run->num_writes++;
  const size_t family = DrawFamily(run);
  if (run->dice.OneIn(3)) return DeleteStretch(run, family);
  const size_t keys = run->plan.families[family].pool.keys().size();
  for (size_t writes = 1 + run->dice.Below(keys); writes > 0; writes--) {
    Do(run, DrawWrite(run, family, /*elsewhere=*/false));
  }
}

void Ingest(RandomRun* run, size_t index) {
  FamilyPlan& family = run->plan.families[index];
  // Transactions and timestamps require more than a file can promise.
  if (run->plan.Transactional() || family.timestamps) return;
  run->num_writes++;
  const auto less = family.pool.less();
  std::map<std::string, Write, decltype(less)> points(less);
  std::vector<Write> ranges;
  for (size_t left = 1 + run->dice.Below(30); left > 0; left--) {
    const Write write = DrawWrite(run, index, /*elsewhere=*/true);
    if (write.kind == Write::kDeleteRange) {
      ranges.push_back(write);
    } else {
      points.insert_or_assign(write.key, write);
    }
  }
  // Fragments may begin anywhere in a range, at the ends of other ranges.
  const auto is_left_out = [&](const Write& range) {
    return std::any_of(points.lower_bound(range.key),
                       points.lower_bound(range.end),
                       [&family](const auto& point) {
                         return MayComeBeforeTombstone(family, point.second);
                       });
  };
  ranges.erase(std::remove_if(ranges.begin(), ranges.end(), is_left_out),
               ranges.end());
  IngestExternalFileOptions options;
  options.move_files = run->dice.OneIn(2);
  options.write_global_seqno = false;
  const bool with_family = run->dice.OneIn(2);
  std::vector<Write> writes;
  for (const auto& [key, write] : points) writes.push_back(write);
  writes.insert(writes.end(), ranges.begin(), ranges.end());
  std::string what = "ingest:";
  for (const Write& write : writes) what += "\n    " + write.ToString();
  run->Both(what, [&](Twin twin) {
    const std::string name = run->twins.path(twin) + "/ingested";
    ColumnFamilyHandle* handle = run->twins.handle(twin, index);
    SstFileWriter writer(EnvOptions(), run->twins.options(twin, index),
                         with_family ? handle : nullptr);
    Status s = writer.Open(name);
    for (const Write& write : writes) {
      if (s.ok()) s = Apply(write, &writer);
    }
    if (s.ok()) s = writer.Finish();
    if (!s.ok()) return s;
    return run->twins.db(twin)->IngestExternalFile(handle, {name}, options);
  });
}

void EndTransactions(RandomRun* run) {
  while (!run->transactions.empty()) {
    End(run, &run->transactions.back());
    run->transactions.pop_back();
  }
}

void Flush(RandomRun* run, size_t family) {
  run->Both("Flush", [&](Twin twin) {
    return run->twins.db(twin)->Flush(FlushOptions(),
                                      run->twins.handle(twin, family));
  });
}

void Compact(RandomRun* run, size_t family) {
  const size_t way = run->dice.Below(8);
  if (way < 5) {
    CompactIntoLevel(run, family);
  } else if (way < 7) {
    CompactRange(run, family);
  } else {
    DropFiles(run, family);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
