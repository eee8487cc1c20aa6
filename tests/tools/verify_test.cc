// SPDX-License-Identifier: Apache-2.0

//  protean verify: faults, DBs and files that testdata/verify.txt cannot make.

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <mutex>

#include "filter_policy/surf/surf_policy.h"
#include "plugin/protean.h"
#include "rocksdb/file_system.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksdb/utilities/object_registry.h"
#include "table/rocksdb_internals/versions.h"
#include "tests/filter_blocks.h"
#include "tests/sst_damage.h"
#include "tests/tools/tool_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A broken builder that loses a key.
class ForgetfulBuilder : public RangeFilterBuilder {
 public:
  ForgetfulBuilder(std::unique_ptr<RangeFilterBuilder> builder,
                   std::string forgotten)
      : RangeFilterBuilder(FilterTask()),
        builder_(std::move(builder)),
        forgotten_(std::move(forgotten)) {}

  void Write(size_t part, char* payload) override {
    builder_->Write(part, payload);
  }
  double ApproximateBitsPerKey() const override {
    return builder_->ApproximateBitsPerKey();
  }
  uint64_t MaxSize() const override {
    return builder_->MaxSize() + last_key().size();
  }

 protected:
  void Add(const Slice& key, size_t /*shared*/,
           size_t /*next_shared*/) override {
    if (key != forgotten_) builder_->AddKey(key);
  }
  void AddLast(const Slice& key, size_t /*shared*/) override {
    builder_->AddKey(key);
  }
  Status Plan(const KeysEnd& end, std::vector<PlannedPart>* parts) override {
    const Status s = builder_->Finish(end, parts);
    // The block would tell.
    if (s.ok()) parts->front().num_keys = num_keys();
    return s;
  }
  size_t Memory() const override { return builder_->MemoryUsage(); }

 private:
  const std::unique_ptr<RangeFilterBuilder> builder_;
  const std::string forgotten_;
};

class ForgetfulPolicy : public SurfFilterPolicy {
 public:
  explicit ForgetfulPolicy(std::string forgotten)
      : SurfFilterPolicy(RealSuffix()), forgotten_(std::move(forgotten)) {}

  std::unique_ptr<RangeFilterBuilder> NewRangeFilterBuilder(
      const FilterBuildingContext& context, Env* env,
      const FilterTask& task) const override {
    return std::make_unique<ForgetfulBuilder>(
        SurfFilterPolicy::NewRangeFilterBuilder(context, env, task),
        forgotten_);
  }

 private:
  static SurfPolicyOptions RealSuffix() {
    SurfPolicyOptions options;
    options.real_suffix_bits = 8;
    return options;
  }

  const std::string forgotten_;
};

std::shared_ptr<TableFactory> ForgetfulTable(const std::string& key) {
  BlockBasedTableOptions table;
  table.filter_policy = std::make_shared<ForgetfulPolicy>(key);
  return NewProteanTableFactory(table);
}

// A comparator that the tool does not know: orders keys by their last but one
// byte first.
class OddComparator : public Comparator {
 public:
  const char* Name() const override { return "OddComparator"; }
  int Compare(const Slice& a, const Slice& b) const override {
    const int order = a[a.size() - 2] - b[b.size() - 2];
    return order != 0 ? order : a.compare(b);
  }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

class VerifyTest : public ToolDBTest {
 protected:
  VerifyTest() : ToolDBTest("verify") {}

  ToolRun Verify(std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"verify", "--db=" + path_, "--json"});
    return RunTool(more);
  }
  std::string ManifestPath() const {
    std::string current;
    EXPECT_OK(
        ReadFileToString(Env::Default(), CurrentFileName(path_), &current));
    if (!current.empty()) current.pop_back();  // the end of the line
    return path_ + "/" + current;
  }
  // The row of a file in the output.
  static Json RowOf(const ToolRun& run, const std::string& path) {
    Json found;
    for (const Json& row : run.Rows()) {
      if (row["file"] == NameOf(path)) found = row;
    }
    EXPECT_FALSE(found.is_null()) << path << "\n" << run.out << run.err;
    return found;
  }
  // Checks that all files but this one are fine.
  static void ExpectOnly(const ToolRun& run, const std::string& path,
                         const std::string& status) {
    EXPECT_EQ(kFoundSomething, run.code) << run.err;
    EXPECT_EQ(6u, run.Rows().size());
    for (const Json& row : run.Rows()) {
      EXPECT_EQ(row["file"] == NameOf(path) ? status : "ok", row["status"])
          << row;
    }
  }
  static uint64_t FilterOffset(const std::string& path) {
    FilterLocation location;
    FindFilter(path, &location);
    return location.handle.offset();
  }
};

}  // namespace

TEST_F(VerifyTest, FindsADeniedKey) {
  const std::string forgotten = KeyOf(1001);
  const std::string path = path_ + ".sst";
  Options options;
  options.table_factory = ForgetfulTable(forgotten);
  SstFileWriter writer(EnvOptions(), options);
  ASSERT_OK(writer.Open(path));
  for (uint64_t i = 0; i < kKeys; i++) {
    ASSERT_OK(writer.Put(KeyOf(i), "value"));
  }
  ASSERT_OK(writer.Finish());
  const ToolRun run = RunTool({"verify", path, "--json"});
  EXPECT_EQ(kFoundSomething, run.code) << run.err;
  ASSERT_EQ(1u, run.Rows().size());
  const Json row = run.Rows()[0];
  EXPECT_EQ("false negatives", row["status"]);
  EXPECT_EQ(1u, row["false_negatives"]);
  EXPECT_EQ(PrintedKey(forgotten), row["first_key"]);
  EXPECT_EQ(kKeys, row["keys"]);
  EXPECT_EQ(FilterOffset(path), row["offset"]);
}

TEST_F(VerifyTest, FixesOnlyWhatIsWrong) {
  const std::string forgotten = KeyOf(1001);
  Family(1).table_factory = ForgetfulTable(forgotten);
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

  const ToolRun run = Verify({"--fix"});
  EXPECT_EQ(kFine, run.code) << run.out << run.err;
  size_t rewritten = 0;
  for (const Json& row : run.Rows()) {
    if (!row.contains("fix")) continue;
    rewritten++;
    EXPECT_EQ("rewritten", row["fix"]) << row;
    EXPECT_EQ("surf", row["column_family"]);
    EXPECT_EQ(NameOf(before.back()), row["file"]);
  }
  EXPECT_EQ(1u, rewritten);
  EXPECT_EQ(options_before, OptionsOnDisk());
  EXPECT_EQ(others, Files(kDefaultColumnFamilyName));
  EXPECT_EQ(kFine, Verify().code);
  for (const Json& row : Verify({"--column_family=surf"}).Rows()) {
    EXPECT_TRUE(row["level"] == 0 || row["level"] == 3) << row;
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
  const ToolRun run = Verify();
  ExpectOnly(run, path, "wrong header");
  EXPECT_EQ("it was built from 1001 keys, the file has 1000",
            RowOf(run, path)["detail"]);
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
  const ToolRun run = Verify();
  ExpectOnly(run, path, "false negatives");
  EXPECT_EQ(kKeys / 3, RowOf(run, path)["false_negatives"]);
  EXPECT_EQ("the key", RowOf(run, path)["question"]);
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
  std::string contents;
  ASSERT_OK(ReadFileToString(Env::Default(), path, &contents));
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

  const ToolRun run = Verify();
  EXPECT_EQ(kFoundSomething, run.code) << run.err;
  EXPECT_EQ(8u, run.Rows().size());
  for (const Json& row : run.Rows()) {
    EXPECT_EQ(row["file"] == NameOf(path) ? "damaged" : "ok", row["status"])
        << row;
  }
  const ToolRun inspect = RunTool({"inspect", "--db=" + path_});
  EXPECT_EQ(kFoundSomething, inspect.code) << inspect.err;
  EXPECT_NE(std::string::npos, inspect.out.find("the file is damaged"));
}

// RocksDB does not open such a DB, so verify must not call it well.
TEST_F(VerifyTest, CutOffManifest) {
  Fill();
  const std::string manifest = ManifestPath();
  std::string contents;
  ASSERT_OK(ReadFileToString(Env::Default(), manifest, &contents));
  const std::vector<ColumnFamilyDescriptor> only_default = {
      {kDefaultColumnFamilyName, Family(0)}};
  int refused = 0;
  for (size_t size = 0; size < contents.size(); size += 1 + size / 16) {
    ASSERT_OK(
        WriteStringToFile(Env::Default(), contents.substr(0, size), manifest));
    std::unique_ptr<DB> db;
    std::vector<ColumnFamilyHandle*> handles;
    const Status s = OpenReadOnly(&db, options_, path_, only_default, &handles);
    if (s.ok()) {
      EXPECT_OK(db->DestroyColumnFamilyHandle(handles[0]));
      continue;
    }
    refused++;
    const ToolRun run = Verify({"--column_family=default"});
    EXPECT_NE(kFine, run.code) << size << ": " << s.ToString() << "\n"
                               << run.out;
  }
  EXPECT_GT(refused, 3);
  ASSERT_OK(WriteStringToFile(Env::Default(), contents, manifest));
  EXPECT_EQ(kFine, Verify().code);
}

// A MANIFEST that was copied too early: a change is missing that has replaced
// all files of a column family.
TEST_F(VerifyTest, ManifestCutWithinARecord) {
  Fill();
  Open();
  ASSERT_OK(
      db_->CompactRange(CompactRangeOptions(), handles_[1], nullptr, nullptr));
  Close();
  const std::string later = ManifestPath();
  std::string contents;
  ASSERT_OK(ReadFileToString(Env::Default(), later, &contents));
  size_t refused = 0;
  for (size_t cut = 7; cut < contents.size() / 2; cut += 7) {
    ASSERT_OK(WriteStringToFile(
        Env::Default(), contents.substr(0, contents.size() - cut), later));
    const ToolRun run = Verify({"--column_family=surf"});
    if (run.err.find("none of the files") == std::string::npos) continue;
    refused++;
    run.ExpectRefused({"ends within a record", "restore it from a backup"});
  }
  EXPECT_GT(refused, 0u);
  ASSERT_OK(WriteStringToFile(Env::Default(), contents, later));
  // Zeros behind the last record are none.
  ASSERT_OK(WriteStringToFile(Env::Default(), contents + std::string(9, '\0'),
                              later));
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
    EXPECT_NE(std::string::npos, run.err.find("cannot be written")) << run.err;
    EXPECT_NE(std::string::npos, run.err.find("Permission denied")) << run.err;
    EXPECT_EQ(std::string::npos, run.err.find("has it open")) << run.err;
  }
}

// ---- What cannot be looked at, and where to look ----

// A file system that lets the DB do something when an SST file is first opened.
class InterveningFileSystem : public FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;

  static std::function<void()> intervene;

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

std::function<void()> InterveningFileSystem::intervene;

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
  for (const std::string& path : before) {
    EXPECT_EQ("gone", RowOf(run, path)["status"]);
  }
  uint64_t keys = 0;
  for (const std::string& path : after) {
    EXPECT_EQ("ok", RowOf(run, path)["status"]);
    keys += RowOf(run, path)["keys"].get<uint64_t>();
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
    size_t found = 0;
    size_t flipped = 0;
    for (uint64_t where = 0; where < size; where += 97) {
      FlipByte(path, where);
      const ToolRun run = RunTool({"verify", path, "--json"});
      EXPECT_NE(kCouldNot, run.code) << where << run.err;
      flipped++;
      if (run.code == kFoundSomething) found++;
      FlipByte(path, where);
    }
    EXPECT_EQ(flipped, found) << family;
  }
}

// A filter for which Get finds every key, but seeks do not.
TEST_F(VerifyTest, AsksForRangesToo) {
  Fill();
  const std::string path = Files("surf")[0];
  std::string contents;
  ASSERT_OK(ReadFileToString(Env::Default(), path, &contents));
  for (const bool upper : {false, true}) {
    ChangeFilter(path, /*right_checksum=*/true, [upper](std::string* bytes) {
      // The smallest key, followed by the largest, each behind its length.
      bytes->replace(FilterDirectory::kFixedSize + (upper ? 10 : 1), 8,
                     KeyOf(1500));
      *bytes = WithRightChecksums(*bytes);
    });
    const ToolRun run = Verify();
    ExpectOnly(run, path, "false negatives");
    const Json row = RowOf(run, path);
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
  const ToolRun run = Verify();
  EXPECT_EQ(kFine, run.code) << run.out << run.err;
  EXPECT_EQ(8u, run.Rows().size());
  for (const Json& row : run.Rows()) {
    EXPECT_EQ("ok", row["status"]) << row;
    EXPECT_EQ(0u, row["false_negatives"]) << row;
  }
  // The file alone, without the options of its DB.
  const ToolRun file = RunTool({"verify", Files("odd")[0]});
  EXPECT_EQ(kFine, file.code) << file.out << file.err;
}

TEST_F(VerifyTest, Timestamps) {
  const std::string path = path_ + ".sst";
  Options options;
  options.comparator = BytewiseComparatorWithU64Ts();
  options.table_factory = NewProteanTableFactory(
      *Family(1).table_factory->GetOptions<BlockBasedTableOptions>());
  SstFileWriter writer(EnvOptions(), options);
  ASSERT_OK(writer.Open(path));
  for (uint64_t i = 0; i < kKeys; i++) {
    std::string timestamp;
    PutFixed64(&timestamp, i);
    ASSERT_OK(writer.Put(KeyOf(i), timestamp, "value"));
  }
  ASSERT_OK(writer.Finish());
  const ToolRun run = RunTool({"verify", path, "--json"});
  EXPECT_EQ(kFine, run.code) << run.out << run.err;
  EXPECT_EQ(kKeys, run.Rows()[0]["keys"]);
}

// A column family may strip the timestamps from the keys in its files.
TEST_F(VerifyTest, TimestampsThatAreNotPersisted) {
  AddFamily("stripped",
            "table_factory={id=ProteanTable;filter_policy=surf:0:8}");
  families_.back().options.comparator = BytewiseComparatorWithU64Ts();
  families_.back().options.persist_user_defined_timestamps = false;
  options_.allow_concurrent_memtable_write = false;
  Open();
  for (uint64_t i = 0; i < kKeys; i++) {
    std::string timestamp;
    PutFixed64(&timestamp, i);
    ASSERT_OK(db_->Put(WriteOptions(), handles_.back(), KeyOf(i), timestamp,
                       "value"));
  }
  ASSERT_OK(db_->Flush(FlushOptions(), handles_.back()));
  Close();
  const ToolRun run = Verify();
  EXPECT_EQ(kFine, run.code) << run.out << run.err;
  EXPECT_EQ(kKeys, run.Rows()[0]["keys"]);
  const ToolRun file = RunTool({"verify", "--json", Files("stripped")[0]});
  EXPECT_EQ(kFine, file.code) << file.out << file.err;
}

}  // namespace ROCKSDB_NAMESPACE::protean
