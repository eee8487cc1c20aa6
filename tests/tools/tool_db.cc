// SPDX-License-Identifier: Apache-2.0

#include "tests/tools/tool_db.h"

#include <pty.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "file/filename.h"
#include "util/string_util.h"

namespace ROCKSDB_NAMESPACE::protean {

std::vector<Json> ToolRun::Rows() const {
  std::vector<Json> rows;
  for (const std::string& line : StringSplit(out, '\n')) {
    rows.push_back(Json::parse(line));
  }
  return rows;
}

std::map<std::string, Json> ToolRun::FileRows() const {
  std::map<std::string, Json> rows;
  for (const Json& row : Rows()) {
    if (row.contains("file")) rows[row["file"]] = row;
  }
  return rows;
}

const ToolRun& ToolRun::ExpectFine() const {
  EXPECT_EQ(kFine, code) << out << err;
  return *this;
}

void ToolRun::ExpectRefused(const Keys& words) const {
  EXPECT_EQ(kCouldNot, code) << err;
  EXPECT_EQ(1, std::count(err.begin(), err.end(), '\n')) << err;
  ExpectHas(err, words);
}

ToolRun RunTool(const Keys& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  ToolRun run;
  run.code = ProteanMain(arguments, out, err);
  run.out = out.str();
  run.err = err.str();
  return run;
}

ToolRun RunToolOnTerminal(const Keys& arguments) {
  ToolRun run;
  int terminal = -1;
  fflush(nullptr);
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    std::ostringstream out;
    _exit(ProteanMain(arguments, out, std::cerr));
  }
  char buffer[4096];
  // Reading fails once the process has ended.
  for (ssize_t n; (n = read(terminal, buffer, sizeof(buffer))) > 0;) {
    run.err.append(buffer, static_cast<size_t>(n));
  }
  close(terminal);
  int ended = 0;
  EXPECT_EQ(child, waitpid(child, &ended, 0));
  EXPECT_TRUE(WIFEXITED(ended));
  run.code = WEXITSTATUS(ended);
  return run;
}

ToolDBTest::ToolDBTest() {
  options_ = NewDBOptions();
  options_.create_missing_column_families = true;
  AddFamily(kDefaultColumnFamilyName,
            ProteanTableText("{id=protean.Proteus;samples_file=" + path_ +
                             ".samples}"));
  AddFamily("surf", ProteanTableText("surf:0:8"));
  AddFamily("bloom",
            "table_factory={id=BlockBasedTable;filter_policy=bloomfilter:10}");
  EXPECT_OK(DestroyDB(path_, Options()));
}

ToolDBTest::~ToolDBTest() {
  Close();
  // With the files of the test, whose names begin with that of the DB.
  const std::filesystem::path db = path_;
  for (const auto& entry :
       std::filesystem::directory_iterator(db.parent_path())) {
    if (entry.path().string().compare(0, path_.size(), path_) == 0) {
      std::filesystem::remove_all(entry.path());
    }
  }
}

void ToolDBTest::AddFamily(const std::string& name,
                           const std::string& options) {
  ColumnFamilyOptions family;
  EXPECT_OK(AddOptions("num_levels=4;compression=kNoCompression;" + options,
                       &family));
  families_.emplace_back(name, family);
}

void ToolDBTest::Open() {
  ASSERT_OK(OpenDB(&db_, options_, path_, families_, &handles_));
}

void ToolDBTest::Close() {
  for (ColumnFamilyHandle* handle : handles_) {
    EXPECT_OK(db_->DestroyColumnFamilyHandle(handle));
  }
  handles_.clear();
  db_.reset();
}

ToolRun ToolDBTest::Run(Keys command, const Keys& more) const {
  command.insert(command.end(), {"--db=" + path_, "--json"});
  command.insert(command.end(), more.begin(), more.end());
  return RunTool(command);
}

void ToolDBTest::WriteRun(ColumnFamilyHandle* handle, bool upper) {
  for (uint64_t i = 0; i < kKeys; i++) {
    if ((i % 3 == 0) != upper) continue;
    ASSERT_OK(db_->Put(WriteOptions(), handle, KeyOf(i), "a value"));
  }
  ASSERT_OK(db_->Flush(FlushOptions(), handle));
  if (upper) return;
  CompactRangeOptions down;
  down.change_level = true;
  down.target_level = 3;
  ASSERT_OK(db_->CompactRange(down, handle, nullptr, nullptr));
}

void ToolDBTest::Fill() {
  Open();
  for (ColumnFamilyHandle* handle : handles_) {
    for (const bool upper : {false, true}) {
      ASSERT_NO_FATAL_FAILURE(WriteRun(handle, upper));
    }
  }
  Close();
}

void ToolDBTest::FillWithSurfBase() {
  const auto proteus = Family(0).table_factory;
  Family(0).table_factory = NewTable("ProteanTable", "filter_policy=surf:0:0");
  Fill();
  Family(0).table_factory = proteus;
}

std::vector<SampleQuery> ToolDBTest::QueriesAboveKeys() {
  std::vector<SampleQuery> queries;
  for (uint64_t i = 0; i < kKeys - 1; i++) {
    queries.push_back({KeyOf(i, 0x41), KeyOf(i, 0x4e), true});
  }
  return queries;
}

void ToolDBTest::Encrypt() {
  Env* env = Env::Default();
  ASSERT_OK(
      Env::CreateFromUri(StrictConfig(), "", kEncryptingEnv, &env, &env_));
  options_.env = env;
}

std::vector<std::string> ToolDBTest::Files(const std::string& family) const {
  std::vector<ManifestFamily> families;
  EXPECT_OK(ReadManifest(Env::Default(), path_, &families));
  std::vector<std::string> paths;
  for (const ManifestFamily& entry : families) {
    if (entry.name != family) continue;
    for (const TargetFile& file : entry.files) {
      paths.push_back(MakeTableFileName(path_, file.number));
    }
  }
  return paths;
}

std::map<std::string, std::string> ToolDBTest::Disk() const {
  std::map<std::string, std::string> contents;
  std::vector<std::string> names;
  EXPECT_OK(Env::Default()->GetChildren(path_, &names));
  for (const std::string& name : names) {
    if (name == "LOCK" || name.compare(0, 3, "LOG") == 0 ||
        !std::filesystem::is_regular_file(path_ + "/" + name)) {
      continue;
    }
    contents[name] = ContentsOf(path_ + "/" + name);
  }
  return contents;
}

std::string ToolDBTest::Manifest() const {
  const std::string name = ContentsOf(CurrentFileName(path_));
  return path_ + "/" + name.substr(0, name.find('\n'));
}

std::string ToolDBTest::OptionsOnDisk() const {
  std::string name;
  EXPECT_OK(GetLatestOptionsFileName(path_, Env::Default(), &name));
  const std::string text = ContentsOf(path_ + "/" + name);
  return text.substr(text.find("[DBOptions]"));
}

void ToolDBTest::ExpectAllKeys(size_t family) {
  Open();
  for (uint64_t i = 0; i < kKeys; i++) {
    std::string value;
    ASSERT_OK(db_->Get(ReadOptions(), handles_[family], KeyOf(i), &value)) << i;
  }
  Close();
}

}  // namespace ROCKSDB_NAMESPACE::protean
