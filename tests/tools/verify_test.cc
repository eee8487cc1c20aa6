// SPDX-License-Identifier: Apache-2.0

//  protean verify: faults, DBs and files that testdata/verify.txt cannot make.
//  protean inspect, verify, refresh and advise over files with filters in
//  parts, and over trees of which some files have them: filters went to the
//  block cache, or left it, when half of the DB was written.

#include <sys/stat.h>

#include <filesystem>

#include "filter_policy/samples/query_file.h"
#include "rocksdb/file_system.h"
#include "rocksdb/utilities/object_registry.h"
#include "tests/filter_blocks.h"
#include "tests/sst_damage.h"
#include "tests/tools/tool_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

class VerifyTest : public ToolDBTest {
 protected:
  ToolRun Verify(const Keys& more = {}) { return Run({"verify"}, more); }
  // The row of an SST file outside of a DB.
  static Json VerifyFile(const std::string& path, int code) {
    const ToolRun run = RunTool({"verify", path, "--json"});
    EXPECT_EQ(code, run.code) << run.out << run.err;
    EXPECT_EQ(1u, run.Rows().size());
    return run.Rows().at(0);
  }
  // Checks that all `files` files but this one are fine. Returns its row.
  static Json ExpectOnly(const ToolRun& run, const std::string& path,
                         const std::string& status, size_t files = 6) {
    EXPECT_EQ(kFoundSomething, run.code) << run.err;
    EXPECT_EQ(files, run.Rows().size());
    for (const auto& [file, row] : run.FileRows()) {
      EXPECT_EQ(file == NameOf(path) ? status : "ok", row["status"]) << row;
    }
    return run.FileRows()[NameOf(path)];
  }
};

TEST_F(VerifyTest, FixesOnlyWhatIsWrong) {
  Fill();
  // There will be more files in level 0 than may stay there, so RocksDB would
  // compact them at the next opening; but --fix must not compact them.
  Open();
  ASSERT_OK(db_->PauseBackgroundWork());
  ASSERT_OK(db_->SetOptions(handles_[0],
                            {{"level0_file_num_compaction_trigger", "1"}}));
  ASSERT_OK(db_->Put(WriteOptions(), handles_[1], KeyOf(4), "in the log"));
  Close();
  Family(0).level0_file_num_compaction_trigger = 1;
  const std::vector<std::string> others = Files(kDefaultColumnFamilyName);
  ASSERT_EQ(2u, others.size());
  const std::vector<std::string> before = Files("surf");
  ASSERT_EQ(2u, before.size());
  const std::string options_before = OptionsOnDisk();
  // One file gets the filter of another one, of whose keys one differs, in the
  // byte of which the filter has a suffix.
  const std::string path = before.back();
  Keys keys;
  for (uint64_t i = 0; i < kKeys; i++) {
    if (i % 3 != 0) keys.push_back(KeyOf(i, i == 1001 ? 1ull << 32 : 0));
  }
  const std::string other = path_ + ".other";
  WriteSstFile(Options(options_, Family(1)), other, keys);
  ChangeFilter(path, /*right_checksum=*/true,
               [&](std::string* bytes) { *bytes = FilterBytes(other); });
  const Json found = ExpectOnly(Verify(), path, "false negatives");
  EXPECT_EQ(1u, found["false_negatives"]);
  EXPECT_EQ(PrintedKey(KeyOf(1001)), found["first_key"]);
  EXPECT_EQ(kKeys / 3 * 2, found["keys"]);
  EXPECT_EQ(FilterHandle(path).offset(), found["offset"]);

  const ToolRun run = Verify({"--fix"}).ExpectFine();
  const auto is_fix = [](const Json& row) { return row.contains("fix"); };
  const std::vector<Json> rows = run.Rows();
  const auto row = std::find_if(rows.begin(), rows.end(), is_fix);
  ASSERT_EQ(1, std::count_if(rows.begin(), rows.end(), is_fix));
  EXPECT_EQ("rewritten", (*row)["fix"]) << *row;
  EXPECT_EQ("surf", (*row)["column_family"]);
  EXPECT_EQ(NameOf(path), (*row)["file"]);
  EXPECT_EQ(options_before, OptionsOnDisk());
  EXPECT_EQ(others, Files(kDefaultColumnFamilyName));
  EXPECT_EQ(kFine, Verify().code);
  for (const Json& fixed : Verify({"--column_family=surf"}).Rows()) {
    EXPECT_TRUE(fixed["level"] == 0 || fixed["level"] == 3) << fixed;
  }
  ExpectAllKeys(1);
  // The application's own opening does compact them.
  Open();
  ASSERT_OK(db_->WaitForCompact(WaitForCompactOptions()));
  Close();
  EXPECT_NE(others, Files(kDefaultColumnFamilyName));
}

TEST_F(VerifyTest, FindsWrongHeaders) {
  Fill();
  const std::string path = Files("surf")[0];
  ChangeFilter(path, /*right_checksum=*/true, [](std::string* bytes) {
    // The number of keys stands in the directory, and with its only part.
    FilterDirectory directory;
    ASSERT_OK(directory.Read(*bytes, bytes->size()));
    std::string of_part;
    PutVarint32(&of_part, 1000);
    const size_t entry = bytes->find(
        of_part,
        static_cast<size_t>(directory.header().largest.data() - bytes->data()));
    ASSERT_LT(entry, directory.parts()[0].first.offset);
    (*bytes)[entry]++;
    EncodeFixed64(&(*bytes)[kNumKeysOffset], 1001);
    *bytes = WithRightChecksums(*bytes);
  });
  EXPECT_EQ("it was built from 1001 keys, the file has 1000",
            ExpectOnly(Verify(), path, "wrong header")["detail"]);
}

TEST_F(VerifyTest, FindsWhatBloomFiltersDeny) {
  constexpr char kBlock[] = "fullfilter.rocksdb.BuiltinBloomFilter";
  Fill();
  const std::string path = Files("bloom")[0];
  ChangeFilter(
      path, /*right_checksum=*/true,
      [](std::string* bytes) {
        // Clears all bytes but the last five, which say how the filter is read.
        std::fill(bytes->begin(), bytes->end() - 5, '\0');
      },
      kBlock);
  const Json row = ExpectOnly(Verify(), path, "false negatives");
  EXPECT_EQ(kKeys / 3, row["false_negatives"]);
  EXPECT_EQ("the key", row["question"]);
  ChangeFilter(
      path, /*right_checksum=*/false,
      [](std::string* bytes) { (*bytes)[7] = 1; }, kBlock);
  ExpectOnly(Verify(), path, "damaged filter");
  EXPECT_EQ(kFine, Verify({"--fix"}).code);
}

// Without a checksum of the footer, RocksDB trusts the size of the index in it.
TEST_F(VerifyTest, SizesThatCannotBe) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers end the process where it cannot get memory";
#endif
  AddFamily("old",
            "table_factory={id=ProteanTable;filter_policy=surf:0:8;"
            "format_version=5}");
  Fill();
  const std::string path = Files("old")[0];
  std::string contents = ContentsOf(path);
  constexpr size_t kHandles = 2 * BlockHandle::kMaxEncodedLength;
  const size_t begin = contents.size() - Footer::kNewVersionsEncodedLength + 1;
  Slice handles(&contents[begin], kHandles);
  BlockHandle meta;
  BlockHandle index;
  ASSERT_OK(meta.DecodeFrom(&handles));
  ASSERT_OK(index.DecodeFrom(&handles));
  std::string damaged;
  meta.EncodeTo(&damaged);
  BlockHandle(index.offset(), uint64_t{1} << 62).EncodeTo(&damaged);
  damaged.resize(kHandles);
  contents.replace(begin, kHandles, damaged);
  ASSERT_OK(WriteStringToFile(Env::Default(), contents, path));

  ExpectOnly(Verify(), path, "damaged", /*files=*/8);
  const ToolRun inspect = RunTool({"inspect", "--db=" + path_});
  EXPECT_EQ(kFoundSomething, inspect.code) << inspect.err;
  ExpectHas(inspect.out, {"the file is damaged"});
}

// A MANIFEST copied too early: the last change replaced all files of a family.
TEST_F(VerifyTest, CutOffManifest) {
  Fill();
  Open();
  ASSERT_OK(
      db_->CompactRange(CompactRangeOptions(), handles_[1], nullptr, nullptr));
  Close();
  const std::string manifest = Manifest();
  const std::string contents = ContentsOf(manifest);
  const auto write = [&](const std::string& changed) {
    ASSERT_OK(WriteStringToFile(Env::Default(), changed, manifest));
  };
  const std::vector<ColumnFamilyDescriptor> only_default = {
      {kDefaultColumnFamilyName, Family(0)}};
  size_t refused = 0;
  for (size_t size = 0; size < contents.size(); size += 1 + size / 16) {
    write(contents.substr(0, size));
    std::unique_ptr<DB> db;
    std::vector<ColumnFamilyHandle*> handles;
    const Status s = OpenReadOnly(&db, options_, path_, only_default, &handles);
    if (s.ok()) {
      EXPECT_OK(db->DestroyColumnFamilyHandle(handles[0]));
      continue;
    }
    // Verify must not call a DB well that RocksDB does not open.
    refused++;
    const ToolRun run = Verify({"--column_family=default"});
    EXPECT_NE(kFine, run.code) << size << s.ToString() << "\n" << run.out;
  }
  EXPECT_GT(refused, 3u);
  refused = 0;
  for (size_t cut = 7; cut < contents.size() / 2; cut += 7) {
    write(contents.substr(0, contents.size() - cut));
    const ToolRun run = Verify({"--column_family=surf"});
    if (run.err.find("none of the files") == std::string::npos) continue;
    refused++;
    run.ExpectRefused({"ends within a record", "restore it from a backup"});
  }
  EXPECT_GT(refused, 0u);
  // Zeros behind the last record are none.
  write(contents + std::string(9, '\0'));
  EXPECT_EQ(kFine, Verify().code);
}

// A folder without write permission is no sign of another process.
TEST_F(VerifyTest, FolderThatCannotBeWritten) {
  Fill();
  DamageFilter(Files("surf")[0], 100, false);
  std::filesystem::permissions(std::filesystem::path(path_).parent_path(),
                               std::filesystem::perms(0755));
  std::filesystem::permissions(path_, std::filesystem::perms(0555));
  const uid_t user = geteuid();
  constexpr uid_t kNobody = 65534;
  const bool other = user == 0 && seteuid(kNobody) == 0;
  const ToolRun fix = Verify({"--fix"});
  const ToolRun refresh =
      RunTool({"refresh", "--db=" + path_, "--without_samples"});
  if (other) {
    ASSERT_EQ(0, seteuid(user));
  }
  std::filesystem::permissions(path_, std::filesystem::perms(0755));
  for (const ToolRun& run : {fix, refresh}) {
    EXPECT_EQ(kCouldNot, run.code);
    ExpectHas(run.err, {"cannot be written", "Permission denied"});
    EXPECT_EQ(std::string::npos, run.err.find("has it open")) << run.err;
  }
}

// ---- What cannot be looked at, and where to look ----

// A file system that lets the DB do something when an SST file is first opened.
class InterveningFileSystem : public FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;

  static inline std::function<void()> intervene;

  static const char* kClassName() { return "InterveningFileSystem"; }
  const char* Name() const override { return kClassName(); }

  IOStatus NewRandomAccessFile(const std::string& name,
                               const FileOptions& options,
                               std::unique_ptr<FSRandomAccessFile>* result,
                               IODebugContext* debug) override {
    if (name.find(".sst") != std::string::npos) {
      std::call_once(once_, [] { intervene(); });
    }
    return FileSystemWrapper::NewRandomAccessFile(name, options, result, debug);
  }

 private:
  std::once_flag once_;
};

// What compaction has taken away is read where it is now.
TEST_F(VerifyTest, SuccessorsOfFilesThatAreGone) {
  ObjectLibrary::Default()->AddFactory<FileSystem>(
      InterveningFileSystem::kClassName(),
      [](const std::string&, std::unique_ptr<FileSystem>* guard, std::string*) {
        guard->reset(new InterveningFileSystem(FileSystem::Default()));
        return guard->get();
      });
  Fill();
  const std::vector<std::string> before = Files("surf");
  Open();
  InterveningFileSystem::intervene = [this] {
    EXPECT_OK(db_->CompactRange(CompactRangeOptions(), handles_[1], nullptr,
                                nullptr));
  };
  const ToolRun run =
      Verify({"--env_uri=InterveningFileSystem", "--column_family=surf"});
  Close();
  EXPECT_EQ(kFine, run.code) << run.out << run.err;
  const std::vector<std::string> after = Files("surf");
  EXPECT_NE(before, after);
  auto rows = run.FileRows();
  for (const std::string& path : before) {
    EXPECT_EQ("gone", rows[NameOf(path)]["status"]);
  }
  uint64_t keys = 0;
  for (const std::string& path : after) {
    EXPECT_EQ("ok", rows[NameOf(path)]["status"]);
    keys += rows[NameOf(path)]["keys"].get<uint64_t>();
  }
  EXPECT_EQ(kKeys, keys);
}

// Every flipped byte is found.
TEST_F(VerifyTest, AnyFlippedByte) {
  Fill();
  for (const char* family : {"default", "surf", "bloom"}) {
    const std::string path = Files(family)[0];
    uint64_t size = 0;
    ASSERT_OK(Env::Default()->GetFileSize(path, &size));
    for (uint64_t where = 0; where < size; where += 97) {
      FlipByte(path, where);
      const ToolRun run = RunTool({"verify", path, "--json"});
      EXPECT_EQ(kFoundSomething, run.code) << family << where << run.err;
      FlipByte(path, where);
    }
  }
}

// A filter for which Get finds every key, but seeks do not.
TEST_F(VerifyTest, AsksForRangesToo) {
  Fill();
  const std::string path = Files("surf")[0];
  const std::string contents = ContentsOf(path);
  for (const bool upper : {false, true}) {
    ChangeFilter(path, /*right_checksum=*/true, [upper](std::string* bytes) {
      // The smallest key, followed by the largest, each behind its length.
      bytes->replace(FilterDirectory::kFixedSize + (upper ? 10 : 1), 8,
                     KeyOf(1500));
      *bytes = WithRightChecksums(*bytes);
    });
    const Json row = ExpectOnly(Verify(), path, "false negatives");
    EXPECT_EQ(upper ? "keys from it on" : "a seek to key-1", row["question"]);
    EXPECT_EQ(PrintedKey(KeyOf(upper ? 1503 : 0)), row["first_key"]);
    EXPECT_EQ(upper ? 499u : 500u, row["false_negatives"]);
    ASSERT_OK(WriteStringToFile(Env::Default(), contents, path));
  }
}

TEST_F(VerifyTest, UnknownComparator) {
  AddFamily("odd", "table_factory={id=ProteanTable;filter_policy=surf:0:8}");
  const OddComparator odd;
  families_.back().options.comparator = &odd;
  Fill();
  const ToolRun run = Verify().ExpectFine();
  EXPECT_EQ(8u, run.Rows().size());
  for (const Json& row : run.Rows()) EXPECT_EQ(0u, row["false_negatives"]);
  // The file alone, without the options of its DB.
  VerifyFile(Files("odd")[0], kFine);
}

// In a file alone, and in a column family which strips them in its files.
TEST_F(VerifyTest, Timestamps) {
  AddFamily("stripped",
            "table_factory={id=ProteanTable;filter_policy=surf:0:8}");
  ColumnFamilyOptions& options = families_.back().options;
  options.comparator = BytewiseComparatorWithU64Ts();
  const std::string path = path_ + ".sst";
  SstFileWriter writer(EnvOptions(), Options(options_, options));
  ASSERT_OK(writer.Open(path));
  options.persist_user_defined_timestamps = false;
  options_.allow_concurrent_memtable_write = false;
  Open();
  for (uint64_t i = 0; i < kKeys; i++) {
    std::string timestamp;
    PutFixed64(&timestamp, i);
    ASSERT_OK(writer.Put(KeyOf(i), timestamp, "value"));
    ASSERT_OK(db_->Put(WriteOptions(), handles_.back(), KeyOf(i), timestamp,
                       "value"));
  }
  ASSERT_OK(writer.Finish());
  ASSERT_OK(db_->Flush(FlushOptions(), handles_.back()));
  Close();
  EXPECT_EQ(kKeys, Verify().ExpectFine().Rows()[0]["keys"]);
  VerifyFile(Files("stripped")[0], kFine);
  EXPECT_EQ(kKeys, VerifyFile(path, kFine)["keys"]);
}

// ---- Filters in parts ----

// Whether files of level 3 and of level 0, and the options, have parts.
struct History {
  const char* name;
  bool lower;
  bool upper;
  bool now;
};
constexpr History kHistories[] = {{"whole", false, false, false},
                                  {"in parts", true, true, true},
                                  {"switched on", false, true, true},
                                  {"switched off", true, false, false},
                                  {"to be switched on", false, false, true},
                                  {"to be switched off", true, true, false}};

class PartitionsTest : public VerifyTest {
 protected:
  // Sets the options of both column families of Protean.
  void SetTables(bool in_parts) {
    std::string more =
        "block_size=512;block_size_deviation=0;metadata_block_size=1024;";
    if (in_parts) more += "cache_index_and_filter_blocks=true;";
    const std::string policies[] = {
        "{id=protean.Proteus;samples_file=" + path_ + ".samples}", "surf:0:8"};
    for (const size_t i : {0, 1}) {
      Family(i).table_factory =
          NewTable("ProteanTable", more + "filter_policy=" + policies[i]);
    }
  }
  // Makes the DB new, with both runs (WriteRun).
  void Make(const History& history) {
    ASSERT_OK(
        DestroyDB(path_, Options(options_, families_[0].options), families_));
    Env::Default()->DeleteFile(path_ + ".samples").PermitUncheckedError();
    for (const bool upper : {false, true}) {
      SetTables(upper ? history.upper : history.lower);
      Open();
      for (ColumnFamilyHandle* handle : handles_) {
        ASSERT_NO_FATAL_FAILURE(WriteRun(handle, upper));
      }
      Close();
    }
    SetTables(history.now);
    Open();
    Close();
  }

  // Whether each file of a column family has its filter in parts, by level.
  std::map<int, bool> PartedLevels(const std::string& family) {
    const ToolRun run =
        Run({"inspect"}, {"--column_family=" + family}).ExpectFine();
    std::map<int, bool> levels;
    for (const Json& row : run.Rows()) {
      EXPECT_EQ("", row["unfiltered"]) << row;
      EXPECT_EQ(family == "surf" ? "SuRF" : "Proteus", row["kind"]);
      EXPECT_NEAR(
          8.0 * row["filter_bytes"].get<double>() / row["keys"].get<double>(),
          row["bits_per_key"].get<double>(), 1e-9);
      EXPECT_EQ(family == "surf", row["predicted_fpr"].is_null()) << row;
      EXPECT_EQ(row["bytes"],
                std::filesystem::file_size(path_ + "/" +
                                           row["file"].get<std::string>()));
      levels[row["level"].get<int>()] = row["parts"] > 1;
    }
    return levels;
  }
  void ExpectVerified() {
    const ToolRun run = Run({"verify"}).ExpectFine();
    EXPECT_EQ(6u, run.Rows().size());
    for (const Json& row : run.Rows()) {
      EXPECT_EQ("ok", row["status"]) << row;
      EXPECT_EQ(0u, row["false_negatives"]) << row;
    }
  }
  // Data blocks that a query asks for in the DB, which finds nothing.
  double BlocksPerQuery(size_t family,
                        const std::vector<SampleQuery>& queries) {
    options_.statistics = CreateDBStatistics();
    Open();
    for (const SampleQuery& query : queries) {
      std::string value;
      if (query.lo == query.hi) {
        EXPECT_TRUE(db_->Get(ReadOptions(), handles_[family], query.lo, &value)
                        .IsNotFound());
      } else {
        // A bound is exclusive.
        EXPECT_EQ("", FirstIn(db_.get(), query.lo, query.hi + '\0', {},
                              handles_[family]));
      }
    }
    const uint64_t blocks =
        options_.statistics->getTickerCount(BLOCK_CACHE_DATA_HIT) +
        options_.statistics->getTickerCount(BLOCK_CACHE_DATA_MISS);
    Close();
    options_.statistics.reset();
    return static_cast<double>(blocks) / static_cast<double>(queries.size());
  }

  // Checks that only this file has a damaged filter. Where it is, is said
  // rightly of a whole one, and the data is still read.
  void ExpectFound(const std::string& path, bool whole) {
    const Json row = ExpectOnly(Verify(), path, "damaged filter");
    const ToolRun inspect = Run({"inspect"});
    EXPECT_EQ(kFoundSomething, inspect.code) << inspect.out;
    for (auto& [file, inspected] : inspect.FileRows()) {
      EXPECT_EQ(file == NameOf(path), inspected["column_family"] != "bloom" &&
                                          inspected["unfiltered"] != "")
          << inspected;
    }
    if (!whole) return;
    EXPECT_EQ(FilterHandle(path).offset(), row["offset"]);
    EXPECT_EQ(kKeys / 3 * 2, row["keys"]);
  }
};

}  // namespace

// Files of any history. Those that are rewritten have filters of the options.
TEST_F(PartitionsTest, InspectVerifyAndRefresh) {
  const std::string samples = path_ + ".today";
  ASSERT_OK(WriteQueryFile(Env::Default(), samples, QueriesAboveKeys()));
  for (const History& history : kHistories) {
    SCOPED_TRACE(history.name);
    ASSERT_NO_FATAL_FAILURE(Make(history));
    const auto before = Disk();
    for (const char* family : {"default", "surf"}) {
      EXPECT_EQ((std::map<int, bool>{{0, history.upper}, {3, history.lower}}),
                PartedLevels(family))
          << family;
    }
    ExpectVerified();
    for (const char* command : {"inspect", "verify"}) {
      EXPECT_EQ(kFine, RunTool({command, "--db=" + path_}).code);
    }
    EXPECT_EQ(before, Disk());
    // Files alone, without the options of their DB.
    std::vector<std::string> files = Files("surf");
    files.insert(files.begin(), {"verify", "--json"});
    EXPECT_EQ(kFine, RunTool(files).code);

    // Parts this small are not always better than a whole filter before.
    const ToolRun run =
        Run({"refresh"}, {"--column_family=default", "--samples=" + samples,
                          "--all", "--min_gain=0.001"})
            .ExpectFine();
    EXPECT_EQ(2u, run.FileRows().size()) << run.out;
    for (const auto& [file, row] : run.FileRows()) {
      EXPECT_EQ("rewritten", row["outcome"]) << row;
      EXPECT_GT(row["old_fpr"], row["new_fpr"]) << row;
      EXPECT_LT(row["new_fpr"], 0.05) << row;
    }
    EXPECT_EQ((std::map<int, bool>{{0, history.now}, {3, history.now}}),
              PartedLevels("default"));
    ExpectVerified();
    ExpectAllKeys(0);
    // Nothing is left to gain.
    for (const auto& [file, row] :
         Run({"refresh"}, {"--column_family=default"}).FileRows()) {
      EXPECT_EQ("too little gain", row["outcome"]) << row;
    }
  }
}

// The existing filters are replayed as they are cut, and new ones as they would
// be: once files have them, they need as many blocks as was promised, as
// FollowingAdviceTest shows of Proteus.
TEST_F(PartitionsTest, Advise) {
  const std::string queries = path_ + ".queries";
  std::vector<SampleQuery> asked;
  for (uint64_t i = 0; i < kKeys - 1; i++) {
    asked.push_back({KeyOf(i, 0x4100000000), KeyOf(i, 0x4e00000000), true});
    asked.push_back({KeyOf(i, 0x1234), KeyOf(i, 0x1234), true});
  }
  ASSERT_OK(WriteQueryFile(Env::Default(), queries, asked));
  // Keyed by the form of new filters, the column family, and the policy.
  std::map<std::string, double> promised;
  for (const History& history : kHistories) {
    ASSERT_NO_FATAL_FAILURE(Make(history));
    const std::string form = history.now ? "parts " : "whole ";
    for (const size_t i : {0, 1}) {
      const std::string family = families_[i].name;
      SCOPED_TRACE(history.name + (", " + family));
      const Keys reads = {"--queries=" + queries, "--column_family=" + family,
                          "--policies=surf:0:8,proteus:12"};
      const auto before = Disk();
      const ToolRun run = Run({"advise"}, reads).ExpectFine();
      EXPECT_EQ(before, Disk());
      size_t policies = 0;
      for (const Json& row : run.Rows()) {
        if (row["row"] != "policy") continue;
        policies++;
        const std::string policy = row["policy"];
        const double blocks = row["blocks_per_op"].get<double>();
        if (policy == "as it is") {
          const double read = BlocksPerQuery(i, asked);
          EXPECT_NEAR(read, blocks, 0.03 + 0.05 * read) << row;
          continue;
        }
        const double first =
            promised.insert({form + family + " " + policy, blocks})
                .first->second;
        EXPECT_NEAR(first, blocks, 0.01 + 0.05 * first) << row;
      }
      EXPECT_GE(policies, 4u);
      const ToolRun text = RunTool({"advise", "--db=" + path_, reads.at(0),
                                    reads.at(1), reads.at(2)})
                               .ExpectFine();
      EXPECT_EQ(std::string::npos, text.out.find("does not know"));
    }
    if (history.now != history.upper || history.now != history.lower) continue;
    const double surf = promised.at(form + "surf surf:0:8");
    EXPECT_NEAR(surf, BlocksPerQuery(1, asked), 0.01 + 0.05 * surf);
  }
}

// ---- Damage ----

// Filters, whole and in parts, and directories, under wrong and right checksums
// of RocksDB. The data is intact, so files can be rewritten, also in level 0.
TEST_F(PartitionsTest, DamagedFiltersAreFoundAndFixed) {
  for (const History& history : {kHistories[0], kHistories[1]}) {
    ASSERT_NO_FATAL_FAILURE(Make(history));
    const std::map<int, bool> parted = {{0, history.now}, {3, history.now}};
    for (const size_t family : {0, 1}) {
      for (const size_t file : {0, 1}) {
        for (const bool directory : {false, true}) {
          if (!history.lower && (file == 0 || directory)) continue;
          for (const bool right_checksum : {false, true}) {
            const std::string name = families_[family].name;
            SCOPED_TRACE(std::string(history.name) + " " + name + " " +
                         std::to_string(file) +
                         (directory ? ", directory" : ", part") +
                         (right_checksum ? ", right checksum" : ""));
            const std::string path = Files(name)[file];
            ASSERT_NO_FATAL_FAILURE(
                ChangeFilter(path, right_checksum, [&](std::string* bytes) {
                  (*bytes)[directory ? 9 : bytes->size() / 2] ^= 0x10;
                }));
            ExpectFound(path, /*whole=*/!history.lower);
            Run({"verify"}, {"--fix"}).ExpectFine();
            ExpectVerified();
            EXPECT_EQ(parted, PartedLevels(name));
            ExpectAllKeys(family);
          }
        }
      }
    }
  }
}

// Wrong bits under right checksums, as if a filter had been built wrongly.
TEST_F(PartitionsTest, WrongBits) {
  for (const bool in_parts : {false, true}) {
    ASSERT_NO_FATAL_FAILURE(Make(kHistories[in_parts ? 1 : 0]));
    size_t found = 0;
    for (const char* family : {"default", "surf"}) {
      const std::string path = Files(family)[1];
      const std::string contents = ContentsOf(path);
      const size_t size = FilterHandle(path).size();
      for (size_t where = in_parts ? size / 2 : 110; where < size - 16;
           where += in_parts ? 5 : 31) {
        ASSERT_NO_FATAL_FAILURE(ChangeFilter(
            path, /*right_checksum=*/true, [&](std::string* bytes) {
              (*bytes)[where] ^= 0x15;
              *bytes = WithRightChecksums(*bytes);
            }));
        const ToolRun run = RunTool({"verify", path, "--json"});
        EXPECT_NE(kCouldNot, run.code) << where << run.err;
        const Json row = run.Rows()[0];
        if (row["status"] == "false negatives") {
          EXPECT_GT(row["false_negatives"], 0u) << row;
          found++;
        }
        ASSERT_OK(WriteStringToFile(Env::Default(), contents, path));
      }
      EXPECT_EQ(kFine, RunTool({"verify", path}).code);
    }
    EXPECT_GT(found, in_parts ? 20u : 100u);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
