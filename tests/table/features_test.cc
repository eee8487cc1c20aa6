// SPDX-License-Identifier: Apache-2.0

//  A RocksDB with ProteanTable answers everything as a plain RocksDB does: for
//  all families of keys, with range deletions and snapshots, whatever options
//  of the DB and of the table are set, with other comparators, and through
//  RocksDB's other interfaces. (Kinds of tables, and other uses of prefix
//  extractors: differential_test.)

#include <cctype>

#include "file/file_util.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/utilities/backup_engine.h"
#include "rocksdb/utilities/checkpoint.h"
#include "rocksdb/utilities/db_ttl.h"
#include "rocksdb/utilities/types_util.h"
#include "tests/table/feature_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint32_t kSeed = 77;

// ---- Families of keys ----

// A key, or a string close to one.
std::string PickAround(const Keys& keys, Random* rnd) {
  return AnyOf(Around(AnyOf(keys, rnd)), rnd);
}

// Range tombstones, mostly of short ranges, so that something is left.
void DeleteRanges(TwinDB* dbs, const Keys& keys, Random* rnd) {
  for (int ranges = 0; ranges < 3; ranges++) {
    const std::string begin = PickAround(keys, rnd);
    std::string end = PickAround(keys, rnd);
    const auto from = std::lower_bound(keys.begin(), keys.end(), begin);
    if (ranges > 0 && keys.end() - from > 20) end = from[1 + rnd->Uniform(19)];
    if (begin < end) dbs->DeleteRange(begin, end);
  }
}

// Every way of reading, of the present state and of every snapshot.
void CompareSnapshots(TwinDB* dbs, const Keys& keys, Random* rnd) {
  WalkOptions walk;
  walk.seeks = keys.size() < 10 ? 100 : 150;
  WalkOptions narrow;
  narrow.seeks = walk.seeks / 5;
  for (int snapshot = -1; snapshot < dbs->num_snapshots(); snapshot++) {
    SCOPED_TRACE("snapshot " + std::to_string(snapshot));
    Keys asked = keys;
    for (int i = 0; i < 500; i++) asked.push_back(PickAround(keys, rnd));
    RandomShuffle(asked.begin(), asked.end(), kSeed);
    CompareGets(dbs, asked, snapshot);
    CompareMultiGets(dbs, asked, snapshot);
    CompareScans(dbs, snapshot);
    CompareWalks(dbs, asked, snapshot, {}, walk);
    // Among a few neighbors, so that ranges hold few keys or none.
    for (int i = 0; i < 10; i++) {
      const size_t from = rnd->Uniform(static_cast<int>(keys.size()));
      const size_t to = std::min(keys.size(), from + 10);
      const Keys few(keys.begin() + from, keys.begin() + to);
      CompareWalks(dbs, few, snapshot, {}, narrow);
    }
    if (testing::Test::HasFailure()) return;
  }
}

class FeaturesTest : public FeatureTest {};
PROTEAN_FEATURE_TEST(FeaturesTest);

// Under each policy. The options of the table alternate, and so do the suffixes
// of SuRF.
TEST_P(FeaturesTest, AllFamilies) {
  const char* const tables[] = {
      "block_size=4096",
      "block_size=256;cache_index_and_filter_blocks=true",
      "block_size=512;cache_index_and_filter_blocks=true;"
      "pin_l0_filter_and_index_blocks_in_cache=true",
      "block_size=512;index_type=kBinarySearchWithFirstKey",
      "block_size=128;index_type=kBinarySearchWithFirstKey;block_cache=64K;"
      "cache_index_and_filter_blocks=true",
      "block_size=300;no_block_cache=true;index_type=kBinarySearch"};
  const char* const surfs[] = {"surf:0:4", "surf:0:0", "surf:4:0", "surf:4:4",
                               "surf:0:16"};
  size_t turn = strlen(GetParam().name);
  for (const KeyFamily& family : KeyFamilies(1000, kSeed)) {
    const std::string table = tables[turn % std::size(tables)];
    const std::string policy = std::string(GetParam().name) == "Surf"
                                   ? surfs[turn % std::size(surfs)]
                                   : GetParam().filter_policy;
    turn++;
    SCOPED_TRACE(family.name + ", " + policy + ", " + table);
    TwinDB dbs("engine", UnthrottledFiles(),
               NewTable("ProteanTable",
                        "filter_policy=" + policy + ";block_cache=8K;" + table),
               NewTable("BlockBasedTable", table));
    Random rnd(kSeed);
    dbs.Open();
    FillTree(&dbs, family.keys, [&](int round) {
      if (round > 0) DeleteRanges(&dbs, family.keys, &rnd);
      if (round < 2) dbs.TakeSnapshot();
    });
    CompareSnapshots(&dbs, family.keys, &rnd);
    dbs.Reopen();  // the snapshots end here
    CompareSnapshots(&dbs, family.keys, &rnd);
    dbs.Compact();
    CompareSnapshots(&dbs, family.keys, &rnd);
    if (HasFailure()) return;
  }
}

// Orders letters without regard to case.
class CaseInsensitiveComparator : public Comparator {
 public:
  const char* Name() const override { return "test.CaseInsensitive"; }
  int Compare(const Slice& a, const Slice& b) const override {
    return Slice(Lower(a)).compare(Lower(b));
  }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  static std::string Lower(const Slice& s) {
    std::string lower = s.ToString();
    for (char& c : lower) c = static_cast<char>(std::tolower(c));
    return lower;
  }
};

std::string RandomCase(std::string s, Random* rnd) {
  for (char& c : s) {
    if (rnd->OneIn(2)) c = static_cast<char>(std::toupper(c));
  }
  return s;
}

// ---- Settings ----

// What is set beside the options of every feature test, and tickers that must
// count then.
struct Setting {
  const char* name;
  std::string options = "";
  std::string table = "";
  std::function<void(Options*, BlockBasedTableOptions*)> more = {};
  std::vector<Tickers> counted = {};
};

constexpr char kFiltersInCache[] = "cache_index_and_filter_blocks=true;";

// Others are drawn by differential_test, in all combinations: files that are
// mapped, few open files, kinds of indexes, and where filter blocks are held.
// Those of an open DB change in concurrency_test.
std::vector<Setting> AllSettings() {
  return {
      {"direct reads",
       "use_direct_reads=true;use_direct_io_for_flush_and_compaction=true"},
      {"row cache",
       "",
       "",
       [](Options* options, BlockBasedTableOptions*) {
         options->row_cache = NewLRUCache(1 << 20);
       },
       {ROW_CACHE_HIT}},
      {"compression",
       "compression=kLZ4Compression;bottommost_compression=kZSTD;"
       "bottommost_compression_opts={enabled=true;max_dict_bytes=4096}"},
      {"no filters in the last level",
       "optimize_filters_for_hits=true",
       "",
       {},
       {NON_LAST_LEVEL_SEEK_FILTERED}},
      {"clock cache with filters", "", kFiltersInCache,
       [](Options*, BlockBasedTableOptions* table) {
         HyperClockCacheOptions options(/*capacity=*/64 << 10, 0);
         table->block_cache = options.MakeSharedCache();
       }},
      {"clock cache without filters", "", "cache_index_and_filter_blocks=false",
       [](Options*, BlockBasedTableOptions* table) {
         HyperClockCacheOptions options(/*capacity=*/1 << 20, 256);
         table->block_cache = options.MakeSharedCache();
       }},
      // Blocks come back from it, filters too.
      {"secondary cache",
       "",
       kFiltersInCache,
       [](Options*, BlockBasedTableOptions* table) {
         CompressedSecondaryCacheOptions secondary;
         secondary.capacity = 4 << 20;
         LRUCacheOptions options(/*_capacity=*/8 << 10, /*_num_shard_bits=*/0,
                                 /*_strict_capacity_limit=*/false,
                                 /*_high_pri_pool_ratio=*/0.5);
         options.secondary_cache = secondary.MakeSharedSecondaryCache();
         table->block_cache = options.MakeSharedCache();
       },
       {SECONDARY_CACHE_HITS, SECONDARY_CACHE_FILTER_HITS}},
      {"blocks with hashes and no checksums", "",
       "data_block_index_type=kDataBlockBinaryAndHash;format_version=6;"
       "checksum=kNoChecksum"},
      {"blocks of an old format", "",
       "format_version=2;checksum=kCRC32c;block_restart_interval=1;"
       "read_amp_bytes_per_bit=8"},
      {"aligned blocks", "",
       "use_delta_encoding=false;block_align=true;"
       "optimize_filters_for_memory=true;"
       "detect_filter_construct_corruption=true"}};
}

TEST_P(FeaturesTest, AnswersStayRight) {
  size_t number = 0;
  for (const Setting& setting : AllSettings()) {
    // Each setting is for one of the policies.
    const size_t turn = number++ % std::size(kFeaturePolicies);
    if (GetParam().name != std::string(kFeaturePolicies[turn].name)) continue;
    SCOPED_TRACE(setting.name);
    if (setting.name == std::string("direct reads") && !HasDirectReads()) {
      printf("No direct I/O here: it is not tested.\n");
      continue;
    }
    ASSERT_OK(statistics_->Reset());
    Options options;
    ASSERT_OK(GetOptionsFromString(ManySmallFiles(kLevels), setting.options,
                                   &options));
    const auto dbs = NewTwins(
        options, setting.table.empty()
                     ? "block_size=512"
                     : "block_size=256;block_cache=32M;" + setting.table);
    for (TwinDB::Twin twin : TwinDB::kTwins) {
      Options& own = dbs->options(twin);
      if (!setting.more) continue;
      setting.more(&own, TableOf(own));
    }
    // Read as they have been written, without memtables, and compacted.
    dbs->Open();
    Fill(dbs.get());
    WalkOptions walk;
    walk.seeks = 60;
    ExpectFiltered([&] { CompareReads(dbs.get(), queries_, 1, {}, walk); });
    dbs->Reopen();
    ExpectFiltered([&] { CompareReads(dbs.get(), queries_, -1, {}, walk); });
    dbs->Compact();
    CompareWalks(dbs.get(), queries_, -1, {}, walk);
    if (HasFailure()) return;
    for (const Tickers ticker : setting.counted) {
      EXPECT_GT(Ticks(ticker), 0u) << "ticker " << ticker;
    }
  }
}

TEST_P(FeaturesTest, FifoThatCompacts) {
  Options options;
  options.compaction_style = kCompactionStyleFIFO;
  options.compaction_options_fifo.allow_compaction = true;
  options.level0_file_num_compaction_trigger = 3;
  options.num_levels = 1;
  const auto dbs = NewTwins(options);
  dbs->Open();
  Random rnd(61);
  for (int round = 0; round < 6; round++) {
    for (const std::string& key : keys_) {
      if (rnd.OneIn(2)) dbs->Put(key, "of round " + std::to_string(round));
      if (rnd.OneIn(10)) dbs->Delete(key);
    }
    if (round == 1) {
      CompareGets(dbs.get(), queries_);
      CompareWalks(dbs.get(), queries_);
    }
    if (round < 5) dbs->Flush();
  }
  dbs->Both([](DB* db) { return db->WaitForCompact(WaitForCompactOptions()); });
  EXPECT_LT(dbs->NumFiles(), 5u);
  ExpectFiltered([&] { CompareReads(dbs.get(), queries_); });
  dbs->Compact();
  dbs->Reopen();
  ExpectFiltered([&] { CompareReads(dbs.get(), queries_); });
}

// While all files are open, the table becomes RocksDB's own, and Protean's
// again. Open files keep the filters that they have.
TEST_P(FeaturesTest, ChangedTables) {
  const auto dbs = NewTree();
  DB* const db = dbs->protean();
  const std::string policy = GetParam().filter_policy;
  for (const auto& [name, more] :
       {std::pair<const char*, std::string>{"BlockBasedTable", ""},
        {"ProteanTable", ";filter_policy=" + policy}}) {
    SCOPED_TRACE(name);
    const std::string table = std::string("{id=") + name + more + "}";
    ASSERT_OK(db->SetOptions({{"table_factory", table}}));
    EXPECT_STREQ(name, db->GetOptions().table_factory->Name());
    for (size_t i = 0; i < keys_.size(); i += 3) dbs->Put(keys_[i], name);
    dbs->Flush();
    ExpectFiltered([&] { CompareReads(dbs.get(), queries_); });
  }
  dbs->Compact();
  ExpectFiltered([&] { CompareReads(dbs.get(), queries_); });
}

// ---- Prefix extractors ----

// Modes that differential_test does not combine with such an extractor. All
// keys have a whole prefix: what RocksDB's automatic prefix mode does with
// shorter keys does not concern Protean.
TEST(PrefixTest, ModesOfACappedExtractor) {
  constexpr size_t kPrefix = 4;
  Random rnd(kSeed);
  Keys keys;
  Keys targets;
  for (int i = 0; i < 1500; i++) {
    const std::string start = BigEndian(rnd.Uniform(200) * 3).substr(4);
    keys.push_back(start + RandomString(&rnd, "abc", 8));
    targets.push_back(BigEndian(rnd.Uniform(600)).substr(4) + "b");
    const std::string near_key = PickAround(keys, &rnd);
    if (near_key.size() >= kPrefix) targets.push_back(near_key);
  }
  SortUnique(&keys);
  Options options = ManySmallFiles(/*num_levels=*/3);
  options.prefix_extractor.reset(NewCappedPrefixTransform(kPrefix));
  TwinDB dbs("prefix", options,
             NewTable("ProteanTable", "filter_policy=surf:4:4;block_size=512"));
  const auto statistics = CreateDBStatistics();
  dbs.options(TwinDB::kProtean).statistics = statistics;
  dbs.Open();
  FillTree(&dbs, keys);
  ReadOptions modes[2];
  modes[0].auto_prefix_mode = true;
  modes[1].prefix_same_as_start = modes[1].total_order_seek = true;
  for (const ReadOptions& mode : modes) {
    SCOPED_TRACE(&mode - modes);
    ASSERT_OK(statistics->Reset());
    for (const bool closed : {false, true}) {
      TwinIterator it(&dbs, mode, /*lower=*/false, /*upper=*/closed);
      for (const std::string& target : targets) {
        // Inside the target's prefix, at its end, or anywhere.
        it.SetUpper(rnd.OneIn(3)   ? target.substr(0, kPrefix) + "\xff"
                    : rnd.OneIn(2) ? target + "b"
                                   : AnyOf(keys, &rnd));
        bool valid = it.Seek(target);
        for (int step = rnd.Uniform(5); valid && step > 0; step--) {
          valid = it.Next();
        }
        if (testing::Test::HasFailure()) return;
      }
    }
    EXPECT_GT(statistics->getTickerCount(LAST_LEVEL_SEEK_FILTERED), 0u);
  }
}

// ---- Other comparators ----

// One line says so, however many files there are.
TEST(ComparatorTest, RangesAreNotFiltered) {
  static const CaseInsensitiveComparator case_insensitive;
  Random rnd(kSeed);
  Keys keys;
  Keys queries;
  const KeyFamily emails = KeyFamilies(1500, kSeed)[2];
  for (const std::string& key : emails.keys) {
    keys.push_back(RandomCase(key, &rnd));
    queries.push_back(rnd.OneIn(2) ? keys.back() : RandomCase(key, &rnd));
  }
  const Comparator* const orders[] = {ReverseBytewiseComparator(),
                                      &case_insensitive};
  for (const char* table :
       {"filter_policy=surf:4:4",
        "filter_policy=surf:0:8;cache_index_and_filter_blocks=true"}) {
    for (const Comparator* order : orders) {
      SCOPED_TRACE(order->Name() + std::string(" ") + table);
      const auto logger = std::make_shared<RecordingLogger>();
      Options options = ManySmallFiles(/*num_levels=*/3);
      options.comparator = order;
      TwinDB dbs(
          "comparator", options,
          NewTable("ProteanTable", std::string("block_size=512;") + table));
      dbs.options(TwinDB::kProtean).info_log = logger;
      WalkOptions walk;
      walk.seeks = 500;
      walk.order = order;
      dbs.Open();
      FillTree(&dbs, keys);
      ASSERT_GE(dbs.NumFiles(), 8u);
      CompareReads(&dbs, queries, /*snapshot=*/-1, {}, walk);
      dbs.Compact();
      CompareReads(&dbs, queries, /*snapshot=*/-1, {}, walk);
      dbs.Reopen();
      CompareReads(&dbs, queries, /*snapshot=*/-1, {}, walk);
      const Keys warnings = logger->Lines({"ProteanTable:"});
      ASSERT_EQ(1u, warnings.size());
      ExpectHas(warnings[0], {"range filters", order->Name()});
    }
  }
}

// ---- Other interfaces ----

class InstancesTest : public FeatureTest {
 protected:
  InstancesTest() {
    EXPECT_OK(DestroyDir(Env::Default(), folder_));
    EXPECT_OK(Env::Default()->CreateDirIfMissing(folder_));
  }

  // Another path of the twin.
  std::string Path(TwinDB::Twin twin, const std::string& name) const {
    return folder_ + "/" + std::to_string(twin) + name;
  }

  // Opens twins from what another pair of twins has left, and lets `compare`
  // work on them in place of that pair.
  static void WithInstances(TwinDB* dbs, const TwinDB::Opener& opener,
                            const std::function<void(TwinDB*)>& compare) {
    TwinDB instances("instances", dbs->options(TwinDB::kPlain),
                     dbs->options(TwinDB::kProtean).table_factory,
                     dbs->options(TwinDB::kPlain).table_factory);
    instances.SetOpener(opener);
    instances.Open();
    if (HasFatalFailure()) return;
    compare(&instances);
  }

  void ExpectSame(TwinDB* dbs, int snapshot = -1) const {
    ExpectFiltered([&] { CompareReads(dbs, queries_, snapshot); });
  }

 private:
  const std::string folder_ = test::PerThreadDBPath("instances_more");
};

PROTEAN_FEATURE_TEST(InstancesTest);

// ---- Files from outside ----

// Above, between and below the existing files.
TEST_P(InstancesTest, IngestedFiles) {
  for (bool behind : {false, true}) {
    SCOPED_TRACE(behind);
    Options options = ManySmallFiles(kLevels);
    options.allow_ingest_behind = behind;
    const auto dbs = NewTwins(options);
    dbs->Open();
    // Ingesting behind needs the last level for itself.
    for (size_t i = 0; i < keys_.size(); i += 2) dbs->Put(keys_[i], "written");
    dbs->Flush();
    CompareGets(dbs.get(), queries_);
    CompareWalks(dbs.get(), queries_);
    dbs->CompactLevel0Into(1, kFileSize);
    dbs->TakeSnapshot();
    for (size_t i = 0; i < keys_.size(); i += 5) dbs->Put(keys_[i], "newer");
    for (int file = 0; file < 3; file++) {
      dbs->Each([&](TwinDB::Twin twin) {
        const std::string name = Path(twin, "file" + std::to_string(file));
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
      for (int snapshot : {-1, 0}) ExpectSame(dbs.get(), snapshot);
    }
    dbs->Reopen();
    ExpectSame(dbs.get());
    if (!behind) dbs->Compact();
    ExpectSame(dbs.get());
  }
}

TEST_P(InstancesTest, SstFileReader) {
  const auto dbs = NewTree();
  dbs->Compact();
  std::array<std::unique_ptr<class SstFileReader>, 2> readers;
  dbs->Each([&](TwinDB::Twin twin) {
    std::map<std::string, std::string> files;  // by their smallest keys
    for (const LiveFileMetaData& file : FilesOf(dbs->db(twin))) {
      files[file.smallestkey] = PathOf(file);
    }
    readers[twin] = std::make_unique<class SstFileReader>(dbs->options(twin));
    const Status s = readers[twin]->Open(std::next(files.begin())->second);
    if (!s.ok()) return s;
    EXPECT_OK(readers[twin]->VerifyChecksum());
    return readers[twin]->VerifyNumEntries(ReadOptions());
  });
  const auto properties_of = [&](TwinDB::Twin twin) {
    return readers[twin]->GetTableProperties();
  };
  EXPECT_EQ(properties_of(TwinDB::kPlain)->num_entries,
            properties_of(TwinDB::kProtean)->num_entries);
  EXPECT_LT(properties_of(TwinDB::kPlain)->filter_size,
            properties_of(TwinDB::kProtean)->filter_size);

  ExpectFilteredSeeks([&] {
    CompareWalks(
        [&](TwinDB::Twin twin, const ReadOptions& options) {
          return readers[twin]->NewIterator(options);
        },
        queries_);
  });

  TwinIterator it(
      [&](TwinDB::Twin twin, const ReadOptions&) {
        return readers[twin]->NewTableIterator().release();
      },
      {}, /*lower=*/false, /*upper=*/false);
  for (bool valid = it.SeekToFirst(); valid;) valid = it.Next();
  for (bool valid = it.SeekToLast(); valid;) valid = it.Prev();
  for (const std::string& query : queries_) {
    std::string target;
    EXPECT_OK(GetInternalKeyForSeek(query, BytewiseComparator(), &target));
    it.Seek(target);
  }
}

// ---- Copies ----

TEST_P(InstancesTest, BackupAndRestore) {
  const auto dbs = NewTree();
  const size_t kept = CompareScans(dbs.get());
  using Work = std::function<Status(BackupEngine*, TwinDB::Twin)>;
  const auto with_engines = [&](const Work& work) {
    dbs->Each([&](TwinDB::Twin twin) {
      std::unique_ptr<BackupEngine> engine;
      const Status s = OpenAs<BackupEngine>(
          &engine, Env::Default(), BackupEngineOptions(Path(twin, "backup")));
      return s.ok() ? work(engine.get(), twin) : s;
    });
  };
  for (const uint32_t backup : {1, 2}) {
    with_engines([&](BackupEngine* engine, TwinDB::Twin twin) {
      const Status s = engine->CreateNewBackup(dbs->db(twin));
      return s.ok()
                 ? engine->VerifyBackup(backup, /*verify_with_checksum=*/true)
                 : s;
    });
    for (const std::string& key : keys_) dbs->Delete(key);
    dbs->Put("after the first backup", "value");
  }
  for (const uint32_t backup : {2, 1}) {
    dbs->Close();
    with_engines([&](BackupEngine* engine, TwinDB::Twin twin) {
      return engine->RestoreDBFromBackup(backup, dbs->path(twin),
                                         dbs->path(twin));
    });
    dbs->Open();
    EXPECT_EQ(backup == 1 ? kept : 1, CompareScans(dbs.get()));
  }
  ExpectSame(dbs.get());
}

TEST_P(InstancesTest, ExportAndImportOfAColumnFamily) {
  const auto dbs = NewTree();
  std::array<ColumnFamilyHandle*, 2> imported = {nullptr, nullptr};
  dbs->Each([&](TwinDB::Twin twin) {
    DB* db = dbs->db(twin);
    class Checkpoint* made = nullptr;
    Status s = Checkpoint::Create(db, &made);
    const std::unique_ptr<class Checkpoint> checkpoint(made);
    ExportImportFilesMetaData* raw = nullptr;
    if (!s.ok()) return s;
    s = checkpoint->ExportColumnFamily(db->DefaultColumnFamily(),
                                       Path(twin, "export"), &raw);
    const std::unique_ptr<ExportImportFilesMetaData> metadata(raw);
    if (!s.ok()) return s;
    ImportColumnFamilyOptions import;
    import.move_files = true;
    return db->CreateColumnFamilyWithImport(dbs->options(twin), "imported",
                                            import, *metadata, &imported[twin]);
  });
  for (const std::string& key : keys_) dbs->Delete(key);
  const auto compare = [&] {
    for (const std::string& key : queries_) {
      dbs->SameValue([&](TwinDB::Twin twin, std::string* value) {
        return dbs->db(twin)->Get(ReadOptions(), imported[twin], key, value);
      });
    }
    CompareWalks(
        [&](TwinDB::Twin twin, const ReadOptions& options) {
          return dbs->db(twin)->NewIterator(options, imported[twin]);
        },
        queries_);
  };
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
  const auto open = [&](TwinDB::Twin twin, std::unique_ptr<DB>* db) {
    return OpenReadOnly(db, dbs->options(twin), dbs->path(twin));
  };
  WithInstances(dbs.get(), open, [&](TwinDB* readers) { ExpectSame(readers); });
}

TEST_P(InstancesTest, Secondary) {
  const auto dbs = NewTree();
  WithInstances(
      dbs.get(),
      [&](TwinDB::Twin twin, std::unique_ptr<DB>* db) {
        Options options = dbs->options(twin);
        options.max_open_files = -1;
        return OpenSecondary(db, options, dbs->path(twin),
                             Path(twin, "secondary"));
      },
      [&](TwinDB* secondaries) {
        ExpectSame(secondaries);
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
          ExpectSame(secondaries);
        }
      });
}

TEST_P(InstancesTest, Follower) {
  const auto dbs = NewTree();
  dbs->Flush();
  WithInstances(
      dbs.get(),
      [&](TwinDB::Twin twin, std::unique_ptr<DB>* db) {
        Options options = dbs->options(twin);
        options.create_if_missing = true;
        return DB::OpenAsFollower(options, Path(twin, "follower"),
                                  dbs->path(twin), db);
      },
      [&](TwinDB* followers) {
        EXPECT_EQ(CompareScans(dbs.get()), CompareScans(followers));
        ExpectSame(followers);
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
  ExpectSame(dbs.get());
  dbs->Compact();
  ExpectSame(dbs.get());
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
    ExpectHas(properties->filter_policy_name, {"protean"});
  }
  // Files that differ only in their filters have about the same size.
  const Range range(keys_[100], keys_[600]);
  std::array<uint64_t, 2> sizes;
  for (TwinDB::Twin twin : TwinDB::kTwins) {
    ASSERT_OK(dbs->db(twin)->GetApproximateSizes(&range, 1, &sizes[twin]));
  }
  EXPECT_GE(sizes[TwinDB::kProtean], sizes[TwinDB::kPlain]);
  EXPECT_LE(sizes[TwinDB::kProtean], 2 * sizes[TwinDB::kPlain]);
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
