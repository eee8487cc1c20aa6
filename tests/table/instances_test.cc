// SPDX-License-Identifier: Apache-2.0

//  Files and DBs of ProteanTable under RocksDB's other interfaces: files
//  written and read outside of a DB, copies, second instances, several column
//  families, and what they report about themselves.

#include "file/file_util.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/utilities/backup_engine.h"
#include "rocksdb/utilities/checkpoint.h"
#include "rocksdb/utilities/db_ttl.h"
#include "rocksdb/utilities/debug.h"
#include "rocksdb/utilities/types_util.h"
#include "tests/open_secondary.h"
#include "tests/table/feature_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

class InstancesTest : public FeatureTest {
 protected:
  // Returns another folder of the twin, which is removed with the twin.
  static std::string Folder(TwinDB* dbs, TwinDB::Twin twin,
                            const std::string& name) {
    const std::string parent = dbs->path(twin) + "_more";
    EXPECT_OK(Env::Default()->CreateDirIfMissing(parent));
    return parent + "/" + name;
  }

  // Opens twins from what another pair of twins has left, and lets `compare`
  // work on them in place of that pair.
  static void WithInstances(TwinDB* dbs, const TwinDB::Opener& opener,
                            const std::function<void(TwinDB*)>& compare) {
    TwinDB instances(std::string("instances"), dbs->options(TwinDB::kPlain),
                     dbs->options(TwinDB::kProtean).table_factory,
                     dbs->options(TwinDB::kPlain).table_factory);
    instances.SetOpener(opener);
    instances.Open();
    if (::testing::Test::HasFatalFailure()) return;
    compare(&instances);
    instances.Close();
  }

  std::unique_ptr<TwinDB> NewTwinsWithFolders(
      const Options& options = ManySmallFiles(kLevels)) {
    auto dbs = NewTwins(options);
    for (TwinDB::Twin twin : TwinDB::kTwins) {
      EXPECT_OK(DestroyDir(Env::Default(), dbs->path(twin) + "_more"));
      folders_.push_back(dbs->path(twin) + "_more");
    }
    return dbs;
  }

  // The column family of each twin, by its handles.
  void CompareFamily(TwinDB* dbs,
                     const std::array<ColumnFamilyHandle*, 2>& handles) const {
    for (const std::string& key : queries_) {
      dbs->SameValue([&](TwinDB::Twin twin, std::string* value) {
        return dbs->db(twin)->Get(ReadOptions(), handles[twin], key, value);
      });
    }
    CompareWalks(
        [&](TwinDB::Twin twin, const ReadOptions& options) {
          return dbs->db(twin)->NewIterator(options, handles[twin]);
        },
        queries_);
  }

  void TearDown() override {
    for (const std::string& folder : folders_) {
      EXPECT_OK(DestroyDir(Env::Default(), folder));
    }
  }

 private:
  Keys folders_;
};

PROTEAN_FEATURE_TEST(InstancesTest);

// ---- Files from outside ----

// Files are ingested above, between and below the existing files, with their
// own sequence number.
TEST_P(InstancesTest, IngestedFiles) {
  for (bool behind : {false, true}) {
    SCOPED_TRACE(behind);
    Options options = ManySmallFiles(kLevels);
    options.allow_ingest_behind = behind;
    const auto dbs = NewTwinsWithFolders(options);
    dbs->Open();
    // Ingesting behind needs the last level for itself.
    for (size_t i = 0; i < keys_.size(); i += 2) dbs->Put(keys_[i], "written");
    dbs->Flush();
    CompareGets(dbs.get(), queries_);
    CompareWalks(dbs.get(), queries_);
    dbs->CompactLevel0Into(1, kFileSize);
    dbs->TakeSnapshot();
    for (size_t i = 0; i < keys_.size(); i += 5)
      dbs->Put(keys_[i], "in memory");
    for (int file = 0; file < 3; file++) {
      dbs->Each([&](TwinDB::Twin twin) {
        const std::string name =
            Folder(dbs.get(), twin, "file" + std::to_string(file));
        SstFileWriter writer(EnvOptions(), dbs->options(twin));
        Status s = writer.Open(name);
        for (size_t i = file; s.ok() && i < keys_.size(); i += 3 + file) {
          s = i % 4 == 0 && !behind ? writer.Delete(keys_[i])
                                    : writer.Put(keys_[i], "ingested");
        }
        if (s.ok() && !behind) {
          s = writer.DeleteRange(keys_[50 * (file + 1)],
                                 keys_[50 * (file + 1) + 9]);
        }
        if (s.ok()) s = writer.Finish();
        if (!s.ok()) return s;
        IngestExternalFileOptions ingest;
        ingest.ingest_behind = behind && file == 0;
        ingest.allow_global_seqno = true;
        ingest.write_global_seqno = file == 1;
        ingest.move_files = file == 2;
        return dbs->db(twin)->IngestExternalFile({name}, ingest);
      });
      for (int snapshot : {-1, 0}) {
        ExpectFiltered([&] { CompareReads(dbs.get(), queries_, snapshot); });
      }
    }
    dbs->Reopen();
    ExpectFiltered([&] { CompareReads(dbs.get(), queries_); });
    if (!behind) dbs->Compact();
    ExpectFiltered([&] { CompareReads(dbs.get(), queries_); });
  }
}

// A file is read without a DB: its visible keys, and all of its entries.
TEST_P(InstancesTest, SstFileReader) {
  const auto dbs = NewTree();
  dbs->Compact();
  std::array<std::unique_ptr<class SstFileReader>, 2> readers;
  for (TwinDB::Twin twin : TwinDB::kTwins) {
    std::vector<LiveFileMetaData> files = FilesOf(dbs->db(twin));
    ASSERT_FALSE(files.empty());
    std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
      return a.smallestkey < b.smallestkey;
    });
    Options options = dbs->options(twin);
    readers[twin] = std::make_unique<class SstFileReader>(options);
    ASSERT_OK(readers[twin]->Open(dbs->path(twin) + files[1].name));
    ASSERT_OK(readers[twin]->VerifyChecksum());
    ASSERT_OK(readers[twin]->VerifyNumEntries(ReadOptions()));
  }
  EXPECT_EQ(readers[TwinDB::kPlain]->GetTableProperties()->num_entries,
            readers[TwinDB::kProtean]->GetTableProperties()->num_entries);
  EXPECT_LT(readers[TwinDB::kPlain]->GetTableProperties()->filter_size,
            readers[TwinDB::kProtean]->GetTableProperties()->filter_size);

  ExpectFilteredSeeks([&] {
    CompareWalks(
        [&](TwinDB::Twin twin, const ReadOptions& options) {
          return readers[twin]->NewIterator(options);
        },
        queries_);
  });

  dbs->Same([&](TwinDB::Twin twin) {
    const std::unique_ptr<Iterator> it = readers[twin]->NewTableIterator();
    std::string described;
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      described += Hex(it->key()) + it->value().ToString() + " ";
    }
    for (it->SeekToLast(); it->Valid(); it->Prev()) {
      described += Hex(it->key());
    }
    for (const std::string& query : queries_) {
      std::string target;
      EXPECT_OK(GetInternalKeyForSeek(query, BytewiseComparator(), &target));
      it->Seek(target);
      if (it->Valid()) described += Hex(it->key());
    }
    return described + it->status().ToString();
  });
}

// ---- Copies ----

TEST_P(InstancesTest, BackupAndRestore) {
  const auto dbs = NewTwinsWithFolders();
  dbs->Open();
  Fill(dbs.get());
  const size_t kept = CompareScans(dbs.get());
  for (int backup = 0; backup < 2; backup++) {
    dbs->Each([&](TwinDB::Twin twin) {
      BackupEngine* opened = nullptr;
      BackupEngineOptions options(Folder(dbs.get(), twin, "backup"));
      Status s = BackupEngine::Open(options, Env::Default(), &opened);
      const std::unique_ptr<BackupEngine> engine(opened);
      if (s.ok()) s = engine->CreateNewBackup(dbs->db(twin));
      if (s.ok()) {
        s = engine->VerifyBackup(backup + 1, /*verify_with_checksum=*/true);
      }
      return s;
    });
    for (const std::string& key : keys_) dbs->Delete(key);
    dbs->Put("after the first backup", "value");
  }
  dbs->Close();

  for (int backup : {2, 1}) {
    dbs->Each([&](TwinDB::Twin twin) {
      BackupEngineReadOnly* opened = nullptr;
      BackupEngineOptions options(Folder(dbs.get(), twin, "backup"));
      Status s = BackupEngineReadOnly::Open(options, Env::Default(), &opened);
      const std::unique_ptr<BackupEngineReadOnly> engine(opened);
      if (s.ok()) {
        s = engine->RestoreDBFromBackup(backup, dbs->path(twin),
                                        dbs->path(twin));
      }
      return s;
    });
    dbs->Open();
    if (backup == 1) {
      EXPECT_EQ(kept, CompareScans(dbs.get()));
      ExpectFiltered([&] { CompareReads(dbs.get(), queries_); });
    } else {
      EXPECT_EQ(1u, CompareScans(dbs.get()));
    }
    dbs->Close();
  }
}

TEST_P(InstancesTest, Checkpoint) {
  const auto dbs = NewTwinsWithFolders();
  dbs->Open();
  Fill(dbs.get());
  dbs->Each([&](TwinDB::Twin twin) {
    return MakeCheckpoint(dbs->db(twin), Folder(dbs.get(), twin, "checkpoint"));
  });
  const size_t kept = CompareScans(dbs.get());
  for (const std::string& key : keys_) dbs->Delete(key);
  dbs->Compact();
  WithInstances(
      dbs.get(),
      [&](TwinDB::Twin twin, std::unique_ptr<DB>* db) {
        return OpenDB(db, dbs->options(twin),
                      Folder(dbs.get(), twin, "checkpoint"));
      },
      [&](TwinDB* copies) {
        EXPECT_EQ(kept, CompareScans(copies));
        ExpectFiltered([&] { CompareReads(copies, queries_); });
        copies->Put("new", "value");
        copies->Compact();
        ExpectFiltered([&] { CompareReads(copies, queries_); });
      });
}

TEST_P(InstancesTest, ExportAndImportOfAColumnFamily) {
  const auto dbs = NewTwinsWithFolders();
  dbs->Open();
  Fill(dbs.get());
  std::array<ColumnFamilyHandle*, 2> imported = {nullptr, nullptr};
  dbs->Each([&](TwinDB::Twin twin) {
    DB* db = dbs->db(twin);
    class Checkpoint* made = nullptr;
    Status s = Checkpoint::Create(db, &made);
    const std::unique_ptr<class Checkpoint> checkpoint(made);
    ExportImportFilesMetaData* raw = nullptr;
    if (s.ok()) {
      s = checkpoint->ExportColumnFamily(
          db->DefaultColumnFamily(), Folder(dbs.get(), twin, "export"), &raw);
    }
    const std::unique_ptr<ExportImportFilesMetaData> metadata(raw);
    if (!s.ok()) return s;
    ImportColumnFamilyOptions import;
    import.move_files = true;
    return db->CreateColumnFamilyWithImport(dbs->options(twin), "imported",
                                            import, *metadata, &imported[twin]);
  });
  for (const std::string& key : keys_) dbs->Delete(key);
  const auto compare = [&] { CompareFamily(dbs.get(), imported); };
  ExpectFiltered(compare);
  // The clone is restricted to a part of the keys.
  dbs->Each([&](TwinDB::Twin twin) {
    return dbs->db(twin)->ClipColumnFamily(imported[twin], keys_[100],
                                           keys_[keys_.size() - 100]);
  });
  ExpectFiltered(compare);
  dbs->Each([&](TwinDB::Twin twin) {
    return dbs->db(twin)->DestroyColumnFamilyHandle(imported[twin]);
  });
}

// ---- Second instances ----

TEST_P(InstancesTest, ReadOnly) {
  const auto dbs = NewTree();
  dbs->Close();
  WithInstances(
      dbs.get(),
      [&](TwinDB::Twin twin, std::unique_ptr<DB>* db) {
        return OpenReadOnly(db, dbs->options(twin), dbs->path(twin));
      },
      [&](TwinDB* readers) {
        ExpectFiltered([&] { CompareReads(readers, queries_); });
        EXPECT_TRUE(readers->protean()
                        ->Put(WriteOptions(), "key", "value")
                        .IsNotSupported());
      });
}

TEST_P(InstancesTest, Secondary) {
  const auto dbs = NewTwinsWithFolders();
  dbs->Open();
  Fill(dbs.get());
  WithInstances(
      dbs.get(),
      [&](TwinDB::Twin twin, std::unique_ptr<DB>* db) {
        Options options = dbs->options(twin);
        options.max_open_files = -1;
        return OpenSecondary(db, options, dbs->path(twin),
                             Folder(dbs.get(), twin, "secondary"));
      },
      [&](TwinDB* secondaries) {
        ExpectFiltered([&] { CompareReads(secondaries, queries_); });
        const std::function<void()> changes[] = {
            [&] { dbs->Put("only in the log", "value"); },
            [&] { dbs->Flush(); }, [&] { dbs->Compact(); },
            [&] {
              for (size_t i = 0; i < keys_.size(); i += 3) {
                dbs->Put(keys_[i], "new");
              }
              dbs->Flush();
            }};
        for (const auto& change : changes) {
          change();
          secondaries->Both([](DB* db) { return db->TryCatchUpWithPrimary(); });
          EXPECT_EQ(CompareScans(dbs.get()), CompareScans(secondaries));
          ExpectFiltered([&] { CompareReads(secondaries, queries_); });
        }
      });
}

TEST_P(InstancesTest, Follower) {
  const auto dbs = NewTwinsWithFolders();
  dbs->Open();
  Fill(dbs.get());
  dbs->Flush();
  WithInstances(
      dbs.get(),
      [&](TwinDB::Twin twin, std::unique_ptr<DB>* db) {
        Options options = dbs->options(twin);
        options.create_if_missing = true;
        return DB::OpenAsFollower(options, Folder(dbs.get(), twin, "follower"),
                                  dbs->path(twin), db);
      },
      [&](TwinDB* followers) {
        EXPECT_EQ(CompareScans(dbs.get()), CompareScans(followers));
        ExpectFiltered([&] { CompareReads(followers, queries_); });
      });
}

// A DB with TTL appends the time to each value.
TEST_P(InstancesTest, TimeToLive) {
  const auto dbs = NewTwins();
  dbs->SetOpener([&](TwinDB::Twin twin, std::unique_ptr<DB>* db) {
    DBWithTTL* opened = nullptr;
    const Status s =
        DBWithTTL::Open(dbs->options(twin), dbs->path(twin), &opened, 3600);
    db->reset(opened);
    return s;
  });
  dbs->Open();
  Fill(dbs.get());
  ExpectFiltered([&] { CompareReads(dbs.get(), queries_); });
  dbs->Compact();
  ExpectFiltered([&] { CompareReads(dbs.get(), queries_); });
}

// ---- Several column families ----

// Each column family of a DB has another table; the DB is reopened with the
// tables exchanged.
TEST_P(InstancesTest, ColumnFamiliesWithOtherTables) {
  const auto dbs = NewTwins();
  const std::vector<std::shared_ptr<TableFactory>> tables = {
      ProteanTable(),
      NewTable("BlockBasedTable", "filter_policy=bloomfilter:10"),
      NewTable("ProteanTable", "filter_policy=surf:4:4;block_size=512"),
      NewTable("BlockBasedTable", "")};
  const Keys names = {kDefaultColumnFamilyName, "bloom", "surf", "none"};
  size_t shift = 0;
  std::array<std::vector<ColumnFamilyHandle*>, 2> handles;
  dbs->SetOpener([&](TwinDB::Twin twin, std::unique_ptr<DB>* db) {
    DBOptions options(dbs->options(twin));
    options.create_missing_column_families = true;
    std::vector<ColumnFamilyDescriptor> families;
    for (size_t i = 0; i < names.size(); i++) {
      families.emplace_back(names[i], dbs->options(twin));
      if (twin == TwinDB::kProtean) {
        families.back().options.table_factory = tables[(i + shift) % 4];
      }
    }
    return OpenDB(db, options, dbs->path(twin), families, &handles[twin]);
  });

  Random rnd(41);
  for (; shift < 4; shift++) {
    dbs->Open();
    for (int round = 0; round < 2; round++) {
      for (const std::string& key : keys_) {
        const size_t family = rnd.Uniform(4);
        dbs->Each([&](TwinDB::Twin twin) {
          return dbs->db(twin)->Put(
              WriteOptions(), handles[twin][family], key,
              "value of " + std::to_string(shift) + names[family]);
        });
      }
      if (round == 1) break;
      dbs->Each([&](TwinDB::Twin twin) {
        return dbs->db(twin)->Flush(FlushOptions(), handles[twin]);
      });
    }
    ExpectFiltered([&] {
      for (size_t i = 0; i < names.size(); i++) {
        CompareFamily(dbs.get(), {handles[0][i], handles[1][i]});
      }
    });
    for (TwinDB::Twin twin : TwinDB::kTwins) {
      for (ColumnFamilyHandle* handle : handles[twin]) {
        EXPECT_OK(dbs->db(twin)->DestroyColumnFamilyHandle(handle));
      }
    }
    dbs->Close();
  }
}

// ---- What a DB reports about itself ----

TEST_P(InstancesTest, Verification) {
  Options options = ManySmallFiles(kLevels);
  options.file_checksum_gen_factory = GetFileChecksumGenCrc32cFactory();
  const auto dbs = NewTree(options);
  dbs->Both([](DB* db) { return db->VerifyChecksum(); });
  dbs->Both([](DB* db) { return db->VerifyFileChecksums(ReadOptions()); });

  // Each file has one filter, which the policy built.
  const TablePropertiesCollection all = PropertiesOf(dbs->protean());
  EXPECT_EQ(dbs->NumFiles(), all.size());
  for (const auto& [name, properties] : all) {
    EXPECT_GT(properties->filter_size, 0u) << name;
    EXPECT_NE(std::string::npos, properties->filter_policy_name.find("protean"))
        << properties->filter_policy_name;
  }
  dbs->Same([&](TwinDB::Twin twin) {
    const Range range(keys_[100], keys_[200]);
    TablePropertiesCollection some;
    DB* db = dbs->db(twin);
    EXPECT_OK(db->GetPropertiesOfTablesInRange(db->DefaultColumnFamily(),
                                               &range, 1, &some));
    uint64_t entries = 0;
    for (const auto& file : some) entries += file.second->num_entries;
    return std::to_string(some.size()) + " " + std::to_string(entries);
  });
  dbs->Same([&](TwinDB::Twin twin) {
    std::string property;
    EXPECT_TRUE(dbs->db(twin)->GetProperty(DB::Properties::kEstimateNumKeys,
                                           &property));
    return property;
  });
  // Files that differ only in their filters have about the same size.
  const Range range(keys_[100], keys_[600]);
  std::array<uint64_t, 2> sizes;
  for (TwinDB::Twin twin : TwinDB::kTwins) {
    ASSERT_OK(dbs->db(twin)->GetApproximateSizes(&range, 1, &sizes[twin]));
  }
  EXPECT_GE(sizes[TwinDB::kProtean], sizes[TwinDB::kPlain]);
  EXPECT_LE(sizes[TwinDB::kProtean], 2 * sizes[TwinDB::kPlain]);
}

// All versions are listed, as ldb prints them.
TEST_P(InstancesTest, AllKeyVersions) {
  const auto dbs = NewTree();
  const auto versions = [&](const std::string& lo, const std::string& hi) {
    return dbs->Same([&](TwinDB::Twin twin) {
      std::vector<KeyVersion> found;
      EXPECT_OK(GetAllKeyVersions(dbs->db(twin), lo, hi, 100000, &found));
      std::string described;
      for (const KeyVersion& version : found) {
        described += Hex(version.user_key) + version.value +
                     std::to_string(version.sequence) + version.GetTypeName();
      }
      return described;
    });
  };
  EXPECT_FALSE(versions("", "\xff\xff").empty());
  for (size_t i = 1; i < queries_.size(); i += 50) {
    versions(queries_[i - 1], queries_[i]);
  }
}

TEST_P(InstancesTest, DeletedFiles) {
  const auto dbs = NewTree();
  dbs->Compact();
  const size_t before = dbs->NumFiles();
  dbs->Both([&](DB* db) {
    const Slice lo(keys_[100]);
    const Slice hi(keys_[600]);
    return DeleteFilesInRange(db, db->DefaultColumnFamily(), &lo, &hi);
  });
  EXPECT_LT(dbs->NumFiles(), before);
  ExpectFiltered([&] { CompareReads(dbs.get(), queries_); });
}

}  // namespace ROCKSDB_NAMESPACE::protean
