// SPDX-License-Identifier: Apache-2.0

#include <filesystem>

#include "db/dbformat.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/utilities/debug.h"
#include "tests/protean_db.h"
#include "tests/table/differential/run.h"

namespace ROCKSDB_NAMESPACE::protean {

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
