// SPDX-License-Identifier: Apache-2.0

#include "tests/protean_db.h"

#include <chrono>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>

#include "filter_policy/protean_filter_policy.h"
#include "plugin/may_exist.h"
#include "rocksdb/utilities/checkpoint.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Options ----

Options ManySmallFiles(int num_levels) {
  Options options = NewDBOptions();
  options.disable_auto_compactions = true;
  options.level_compaction_dynamic_level_bytes = false;
  options.num_levels = num_levels;
  options.compression = kNoCompression;
  options.target_file_size_base = kFileSize;
  return options;
}

Options UnthrottledFiles() {
  Options options = ManySmallFiles(4);
  options.level0_slowdown_writes_trigger = 1000;
  options.level0_stop_writes_trigger = 1000;
  return options;
}

Options NewDBOptions() {
  Options options;
  options.create_if_missing = true;
  // RocksDB reserves 70 MB for each log. In memory, the kernel clears them all,
  // which can take longer than the rest of a test.
  options.allow_fallocate = false;
  return options;
}

std::shared_ptr<TableFactory> NewTable(const std::string& id,
                                       const std::string& options) {
  std::shared_ptr<TableFactory> factory;
  EXPECT_OK(TableFactory::CreateFromString(
      ConfigOptions(), "id=" + id + ";" + options, &factory));
  return factory;
}

ConfigOptions StrictConfig() {
  ConfigOptions strict;
  strict.ignore_unknown_options = false;
  strict.ignore_unsupported_options = false;
  return strict;
}

Status AddOptions(const std::string& text, ColumnFamilyOptions* options) {
  return GetColumnFamilyOptionsFromString(StrictConfig(), *options, text,
                                          options);
}

std::string ProteanTableText(const std::string& policy) {
  return "table_factory={id=ProteanTable;filter_policy=" + policy + "}";
}

BlockBasedTableOptions* TableOf(const ColumnFamilyOptions& options) {
  return options.table_factory->GetOptions<BlockBasedTableOptions>();
}

const FilterPolicy* PolicyOf(const ColumnFamilyOptions& options) {
  return TableOf(options)->filter_policy.get();
}

const ProteanFilterPolicy* ProteanPolicyOf(const ColumnFamilyOptions& options) {
  return AsProteanFilterPolicy(PolicyOf(options));
}

std::string OptionOf(const FilterPolicy* policy, const std::string& name) {
  std::string value;
  EXPECT_OK(policy->GetOption(ConfigOptions(), name, &value));
  return value;
}

void ExpectHas(const std::string& text, const Keys& words) {
  for (const std::string& word : words) {
    EXPECT_NE(std::string::npos, text.find(word)) << text << " lacks " << word;
  }
}

void ExpectRefused(const Status& s, const Keys& words) {
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  ExpectHas(s.ToString(), words);
}

// ---- Keys, logs and files ----

std::string Digits(uint64_t number, int width) {
  char text[32];
  snprintf(text, sizeof(text), "%0*" PRIu64, width, number);
  return text;
}

Keys RandomNumbers(uint64_t seed, size_t count) {
  Random64 random(seed);
  Keys keys(count);
  for (std::string& key : keys) key = BigEndian(random.Next());
  return keys;
}

int OddComparator::Compare(const Slice& a, const Slice& b) const {
  const auto turned = [](const Slice& key) {
    return std::string(std::reverse_iterator(key.data() + key.size()),
                       std::reverse_iterator(key.data()));
  };
  return turned(a).compare(turned(b));
}

void RecordingLogger::Logv(const char* format, va_list arguments) {
  char line[2000];
  vsnprintf(line, sizeof(line), format, arguments);
  std::lock_guard<std::mutex> lock(mutex_);
  lines_.emplace_back(line);
}

Keys RecordingLogger::Lines(const Keys& words) const {
  std::lock_guard<std::mutex> lock(mutex_);
  Keys found;
  for (const std::string& line : lines_) {
    if (std::all_of(words.begin(), words.end(), [&](const std::string& word) {
          return line.find(word) != std::string::npos;
        })) {
      found.push_back(line);
    }
  }
  return found;
}

void RecordingLogger::Clear() {
  std::lock_guard<std::mutex> lock(mutex_);
  lines_.clear();
}

void Event::Set() {
  const std::lock_guard<std::mutex> lock(mutex_);
  set_ = true;
  changed_.notify_all();
}

bool Event::IsSet() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return set_;
}

void Event::Wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  EXPECT_TRUE(changed_.wait_for(lock, std::chrono::minutes(10),
                                [this] { return set_; }));
}

static ColumnFamilyHandle* OrDefault(DB* db, ColumnFamilyHandle* family) {
  return family == nullptr ? db->DefaultColumnFamily() : family;
}

std::vector<LiveFileMetaData> FilesOf(DB* db) {
  std::vector<LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  return files;
}

TablePropertiesCollection PropertiesOf(DB* db, ColumnFamilyHandle* family) {
  TablePropertiesCollection properties;
  EXPECT_OK(db->GetPropertiesOfAllTables(OrDefault(db, family), &properties));
  return properties;
}

std::string PathOf(const LiveFileMetaData& file) {
  return file.directory + "/" + file.relative_filename;
}

bool HasDirectReads() {
  const std::string probe = test::PerThreadDBPath("direct_reads");
  EXPECT_OK(WriteStringToFile(Env::Default(), std::string(4096, 'x'), probe));
  EnvOptions direct;
  direct.use_direct_reads = true;
  std::unique_ptr<RandomAccessFile> file;
  return Env::Default()->NewRandomAccessFile(probe, &file, direct).ok();
}

std::string ContentsOf(const std::string& path) {
  std::string contents;
  EXPECT_OK(ReadFileToString(Env::Default(), path, &contents));
  return contents;
}

FilterStatistics StatisticsOf(DB* db, ColumnFamilyHandle* family) {
  FilterStatistics statistics;
  EXPECT_OK(GetFilterStatistics(db, OrDefault(db, family), &statistics));
  return statistics;
}

std::map<std::string, FilterProperties> FilterPropertiesOf(
    DB* db, ColumnFamilyHandle* family) {
  std::map<std::string, FilterProperties> files;
  EXPECT_OK(GetFilterProperties(db, OrDefault(db, family), &files));
  return files;
}

void WriteSstFile(const Options& options, const std::string& path,
                  const Keys& keys, const Slice& value) {
  SstFileWriter writer(EnvOptions(), options);
  ASSERT_OK(writer.Open(path));
  for (const std::string& key : keys) ASSERT_OK(writer.Put(key, value));
  ASSERT_OK(writer.Finish());
}

Status CompactLevel0(DB* db, int level, uint64_t file_size,
                     ColumnFamilyHandle* family) {
  family = OrDefault(db, family);
  ColumnFamilyMetaData metadata;
  db->GetColumnFamilyMetaData(family, &metadata);
  Keys names;
  for (const SstFileMetaData& file : metadata.levels[0].files) {
    names.push_back(file.name);
  }
  if (names.empty()) return Status::OK();
  CompactionOptions options;
  options.output_file_size_limit = file_size;
  return db->CompactFiles(options, family, names, level);
}

Status MakeCheckpoint(DB* db, const std::string& path) {
  Checkpoint* made = nullptr;
  const Status s = Checkpoint::Create(db, &made);
  const std::unique_ptr<Checkpoint> checkpoint(made);
  return s.ok() ? checkpoint->CreateCheckpoint(path) : s;
}

Status CompactAll(DB* db, ColumnFamilyHandle* family) {
  CompactRangeOptions all;
  all.bottommost_level_compaction = BottommostLevelCompaction::kForce;
  return db->CompactRange(all, OrDefault(db, family), nullptr, nullptr);
}

// ---- Reads ----

static std::string KeyAt(const Iterator& it) {
  EXPECT_OK(it.status());
  return it.Valid() ? it.key().ToString() : "";
}

bool Has(DB* db, const Slice& key, const ReadOptions& options) {
  std::string value;
  const Status s = db->Get(options, key, &value);
  EXPECT_TRUE(s.ok() || s.IsNotFound()) << s.ToString();
  return s.ok();
}

std::string FirstFrom(DB* db, const Slice& lo, const ReadOptions& options,
                      ColumnFamilyHandle* family) {
  const std::unique_ptr<Iterator> it(
      db->NewIterator(options, OrDefault(db, family)));
  lo.empty() ? it->SeekToFirst() : it->Seek(lo);
  return KeyAt(*it);
}

std::string FirstIn(DB* db, const Slice& lo, const Slice& hi,
                    ReadOptions options, ColumnFamilyHandle* family) {
  options.iterate_upper_bound = &hi;
  return FirstFrom(db, lo, options, family);
}

std::string LastIn(DB* db, const Slice& lo, const Slice& hi,
                   ReadOptions options) {
  if (!lo.empty()) options.iterate_lower_bound = &lo;
  const std::unique_ptr<Iterator> it(db->NewIterator(options));
  hi.empty() ? it->SeekToLast() : it->SeekForPrev(hi);
  return KeyAt(*it);
}

std::vector<Status> MultiGet(DB* db, const Keys& keys,
                             std::vector<PinnableSlice>* values,
                             const ReadOptions& options, bool sorted) {
  const std::vector<Slice> slices(keys.begin(), keys.end());
  std::vector<Status> statuses(keys.size());
  values->clear();
  values->resize(keys.size());
  db->MultiGet(options, db->DefaultColumnFamily(), keys.size(), slices.data(),
               values->data(), statuses.data(), sorted);
  return statuses;
}

bool KeyMayExist(DB* db, const Slice& key, const ReadOptions& options) {
  bool may_exist = false;
  EXPECT_OK(KeysMayExist(db, options, db->DefaultColumnFamily(), 1, &key,
                         &may_exist));
  return may_exist;
}

bool RangeMayExist(DB* db, const RangePtr& range, const ReadOptions& options) {
  bool may_exist = false;
  EXPECT_OK(RangesMayExist(db, options, db->DefaultColumnFamily(), 1, &range,
                           &may_exist));
  return may_exist;
}

static Records AllRecords(Iterator* it) {
  Records records;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    records.emplace(it->key().ToString(), it->value().ToString());
  }
  EXPECT_OK(it->status());
  return records;
}

Records AllRecords(DB* db, const ReadOptions& options) {
  return AllRecords(std::unique_ptr<Iterator>(db->NewIterator(options)).get());
}

void ExpectRecords(Iterator* it, const Records& expected) {
  ASSERT_EQ(expected, AllRecords(it));
  it->SeekToLast();
  for (auto last = expected.rbegin(); last != expected.rend(); ++last) {
    ASSERT_TRUE(it->Valid()) << Hex(last->first);
    ASSERT_EQ(Hex(last->first), Hex(it->key()));
    ASSERT_EQ(last->second, it->value().ToString());
    it->Prev();
  }
  ASSERT_FALSE(it->Valid());
  ASSERT_OK(it->status());
}

void ExpectRecords(DB* db, const Records& expected,
                   const ReadOptions& options) {
  const std::unique_ptr<Iterator> it(db->NewIterator(options));
  ASSERT_NO_FATAL_FAILURE(ExpectRecords(it.get(), expected));
  for (const auto& [key, value] : expected) {
    std::string found;
    ASSERT_OK(db->Get(options, key, &found)) << Hex(key);
    ASSERT_EQ(value, found) << Hex(key);
  }
}

uint64_t BlocksRead() { return get_perf_context()->block_read_count; }

uint64_t BlocksUsed() {
  return BlocksRead() + get_perf_context()->block_cache_hit_count;
}

// ---- A DB of a test's own ----

OwnDB::OwnDB(const Options& options, const std::string& name)
    : path_(test::PerThreadDBPath(name)), options_(options) {
  options_.create_if_missing = true;
  options_.allow_fallocate = false;
  options_.statistics = CreateDBStatistics();
  options_.info_log = log_;
  SetTable("");
  SetPerfLevel(kEnableCount);
  Destroy();
}

OwnDB::~OwnDB() { Destroy(); }

Status OwnDB::TryOpen() {
  Close();
  return OpenDB(&db_, options_, path_);
}

void OwnDB::Close() {
  for (ColumnFamilyHandle* family : families_) {
    EXPECT_OK(db_->DestroyColumnFamilyHandle(family));
  }
  families_.clear();
  db_.reset();
}

void OwnDB::Destroy() {
  Close();
  Options options = options_;
  // DestroyDB makes one of its own, with the folder, which may be missing.
  options.info_log = nullptr;
  EXPECT_OK(DestroyDB(path_, options));
}

Options OwnDB::OptionsOnDisk() const {
  DBOptions db_options;
  std::vector<ColumnFamilyDescriptor> families;
  EXPECT_OK(LoadLatestOptions(StrictConfig(), path_, &db_options, &families));
  EXPECT_FALSE(families.empty());
  return families.empty() ? Options()
                          : Options(db_options, families[0].options);
}

void OwnDB::WriteFile(const Keys& keys, int level, const Slice& value) {
  for (const std::string& key : keys) Put(key, value);
  Flush();
  if (level > 0) CompactLevel0Into(level);
}

void OwnDB::Ingest(const Keys& keys) {
  const std::string path = path_ + "_ingested.sst";
  WriteSstFile(options_, path, keys);
  IngestExternalFileOptions move;
  move.move_files = true;
  ASSERT_OK(db_->IngestExternalFile({path}, move));
}

void OwnDB::CompactLevel0Into(int level, uint64_t file_size) {
  if (file_size == 0) file_size = options_.target_file_size_base;
  ASSERT_OK(CompactLevel0(db_.get(), level, file_size));
}

void OwnDB::CompactTo(int level) {
  CompactRangeOptions all;
  all.bottommost_level_compaction = BottommostLevelCompaction::kForce;
  all.change_level = true;
  all.target_level = level;
  ASSERT_OK(db_->CompactRange(all, nullptr, nullptr));
}

ColumnFamilyHandle* OwnDB::NewFamily(const std::string& name) {
  ColumnFamilyHandle* family = nullptr;
  EXPECT_OK(db_->CreateColumnFamily(options_, name, &family));
  families_.push_back(family);
  return family;
}

std::string OwnDB::OneFile() const {
  EXPECT_EQ(1u, NumFiles());
  return PathOf(Files().at(0));
}

}  // namespace ROCKSDB_NAMESPACE::protean
