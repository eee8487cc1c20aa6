// SPDX-License-Identifier: Apache-2.0

//  Failing reads of SST files: of every part of the file, in every way, when
//  the file is opened and later. Each answer is right or an error; a filter
//  that cannot be read only costs reads, and the log says so once.
//
//  All of it is in the tests. For an hour of random faults:
//
//      build/read_faults_test --gtest_filter=*Random* --seed=0 --seconds=3600

#include "filter_policy/parted_filter.h"
#include "tests/sst_damage.h"
#include "tests/table/faults/checked_reads.h"
#include "tests/table/faults/fault_file_system.h"
#include "tests/table/feature_fixture.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Stock RocksDB shows which errors are expected.
constexpr char kStock[] = "id=BlockBasedTable;filter_policy=bloomfilter:10";
constexpr char kLevels[] =
    "id=ProteanTable;filter_policy=levels:bloomfilter:10,proteus:12";
constexpr const char* kFilters[] = {
    "id=ProteanTable;filter_policy=surf:0:4",
    "id=ProteanTable;filter_policy={id=protean.Proteus;bits_per_key=12;"
    "sample_every=1}",
    kLevels};

// Where tables keep their filters and indexes.
struct Keeping {
  const char* name;
  const char* table;
  int max_open_files;
  // Filters are read repeatedly, since the cache cannot hold any for long.
  bool reads_filters;
  bool in_parts;
};

constexpr Keeping kKeepings[] = {
    {"in_tables", "block_cache=8K", -1, false, false},
    {"in_the_cache",
     "block_cache=1K;cache_index_and_filter_blocks=true;"
     "metadata_block_size=64",
     -1, true, true},
    {"pinned",
     "block_cache=64K;cache_index_and_filter_blocks=true;"
     "pin_l0_filter_and_index_blocks_in_cache=true;"
     "metadata_cache_options={unpartitioned_pinning=kAll}",
     -1, false, true},
    {"partitioned_index",
     "block_cache=1K;cache_index_and_filter_blocks=true;"
     "index_type=kTwoLevelIndexSearch;metadata_block_size=128",
     -1, true, true},
    {"partitioned_filters",
     "block_cache=1K;cache_index_and_filter_blocks=true;"
     "index_type=kTwoLevelIndexSearch;partition_filters=true;"
     "decouple_partitioned_filters=true;metadata_block_size=64;"
     "pin_top_level_index_and_filter=false",
     -1, true, true},
    {"pinned_parts",
     "block_cache=64K;cache_index_and_filter_blocks=true;"
     "index_type=kTwoLevelIndexSearch;partition_filters=true;"
     "decouple_partitioned_filters=true;metadata_block_size=64;"
     "metadata_cache_options={top_level_index_pinning=kAll;"
     "partition_pinning=kAll}",
     -1, false, true},
    {"tables_opened_late", "block_cache=8K", 20, false, false}};

struct FaultCase {
  std::string Name() const {
    return std::string(ToString(kind)) + ", " + ToString(fault) +
           (at_open ? " at open" : "");
  }

  BlockKind kind;
  ReadFault fault;
  bool at_open;
  uint64_t where = 1000;
  uint64_t limit = UINT64_MAX;
};

// In the log, of a filter or a part of one.
constexpr char kUnfiltered[] = "is read without ";

class ReadFaultsTest : public KnownDBTest {
 protected:
  ReadFaultsTest() {
    options_.max_file_opening_threads = 1;
    options_.stats_dump_period_sec = 0;
    options_.stats_persist_period_sec = 0;
  }
  ~ReadFaultsTest() override { CloseAll(); }

  void Use(const std::string& filters, const Keeping& keeping) {
    CloseAll();
    Forget();
    table_ = filters + ";block_size=512;" + keeping.table;
    options_.max_open_files = keeping.max_open_files;
  }
  // A table with empty caches.
  void SetNewTable() {
    ASSERT_OK(TableFactory::CreateFromString(ConfigOptions(), table_,
                                             &options_.table_factory));
  }
  // Two sorted runs of many files, a file in level 0, and a deletion of a range
  // in each.
  void Fill(const std::string& filters, const Keeping& keeping) {
    Use(filters, keeping);
    SetNewTable();
    Open();
    Random rnd(77);
    for (int round = 0; round < 3; round++) {
      for (const std::string& key : keys_) {
        if (rnd.OneIn(2)) {
          Put(key, "a value of some length, of round " + std::to_string(round));
        } else if (rnd.OneIn(9)) {
          Delete(key);
        }
      }
      const size_t from = keys_.size() / 2 + 10 * round;
      DeleteRange(keys_[from], keys_[from + 5]);
      Flush();
      if (round < 2) CompactLevel0Into(2 - round, kFileSize / 2);
    }
    NoteFiles();
    ASSERT_GT(files_.size(), 6u);
  }
  void NoteFiles() {
    files_.clear();
    for (const LiveFileMetaData& file : Files()) {
      files_.push_back(file.relative_filename);
    }
    Close();
  }

  // Opens the DB over a failing file system, with empty caches.
  Status OpenWithFaults() {
    CloseAll();
    file_system_ = std::make_shared<FaultFileSystem>();
    env_ = NewCompositeEnv(file_system_);
    if (arm_) arm_(file_system_.get());
    options_.env = env_.get();
    EXPECT_OK(options_.statistics->Reset());
    SetNewTable();
    log_->Clear();
    return TryOpen();
  }
  void CloseAll() {
    Close();
    options_.env = Env::Default();
    env_.reset();
  }

  Answers Glance(uint32_t seed) {
    CheckedReads reads(db_.get(), contents_);
    reads.Gets(queries_);
    reads.Seeks(queries_, seed, 60);
    return reads.answers();
  }

  // The log names each file at most once for each time it was opened, and only
  // files with a part that could not be read.
  void CheckLog() const {
    const std::set<std::string> failed =
        file_system_->files_with_failed_reads();
    const size_t opened =
        options_.max_open_files < 0 ? 1 : Ticks(NO_FILE_OPENS);
    for (const std::string& file : files_) {
      const size_t lines = log_->Lines({kUnfiltered, file}).size();
      EXPECT_LE(lines, opened) << file;
      if (lines > 0) {
        EXPECT_EQ(1u, failed.count(path_ + "/" + file)) << file;
      }
    }
  }

  struct Outcome {
    Status opened;
    Answers answers;
    uint64_t injected = 0;
    size_t unfiltered_files = 0;
    size_t failed_files = 0;

    // Stock RocksDB does the same.
    std::string Summary() const {
      if (!opened.ok()) return "open: " + CodeOf(opened);
      return answers.failed() > 0 ? "some answers fail" : "all is answered";
    }
  };

  // Opens and reads the DB with faults; then, without faults, everything works.
  Outcome RunCase(const FaultCase& c, uint32_t seed) {
    Outcome outcome;
    const auto arm = [c](FaultFileSystem* file_system) {
      file_system->FailReads(c.kind, c.fault, c.where, c.limit);
    };
    arm_ = c.at_open ? arm : std::function<void(FaultFileSystem*)>();
    outcome.opened = OpenWithFaults();
    if (outcome.opened.ok()) {
      if (!c.at_open) arm(file_system_.get());
      outcome.answers = ReadAll(queries_, seed);
      CheckLog();
      for (const std::string& file : files_) {
        outcome.unfiltered_files += !log_->Lines({kUnfiltered, file}).empty();
      }
      outcome.failed_files = file_system_->files_with_failed_reads().size();
    }
    outcome.injected = file_system_->failed_reads();
    arm_ = nullptr;
    // Without a fault, there is nothing to get over.
    if (outcome.injected == 0) return outcome;
    if (!c.at_open) {
      file_system_->HealReads();
      EXPECT_EQ(0u, Glance(seed + 1).failed());
      return outcome;
    }
    // What was missed at open may stay missing until the file is opened again:
    // a partition of an index that was to be pinned does in stock RocksDB, too.
    const Status reopened = OpenWithFaults();
    EXPECT_OK(reopened);
    if (reopened.ok()) {
      EXPECT_EQ(0u, Glance(seed + 1).failed());
      EXPECT_GT(Ticks(BLOOM_FILTER_USEFUL) + FilteredSeeks(), 0u);
      EXPECT_TRUE(log_->Lines({kUnfiltered}).empty());
    }
    return outcome;
  }
  void RunAllCases(
      const std::function<void(const FaultCase&, const Outcome&)>& check) {
    for (BlockKind kind : kBlockKinds) {
      // Protean's filters have none.
      if (kind == BlockKind::kFilterIndex) continue;
      for (const bool at_open : {true, false}) {
        for (ReadFault fault : kReadFaults) {
          const FaultCase c = {kind, fault, at_open};
          SCOPED_TRACE(c.Name());
          const Outcome outcome = RunCase(c, 5);
          check(c, outcome);
          if (HasFailure()) return;
          // Nothing reads such a block after open, where any fault could be.
          if (!at_open && outcome.injected == 0) break;
        }
      }
    }
  }

  std::string table_;
  const Keys keys_ = HurtfulKeys(300);
  const Keys queries_ = WithNeighbours(keys_);
  Keys files_;
  std::function<void(FaultFileSystem*)> arm_;
  std::shared_ptr<FaultFileSystem> file_system_;
  std::unique_ptr<Env> env_;
};

class ReadFaultsOfKeepingTest : public ReadFaultsTest,
                                public ::testing::WithParamInterface<Keeping> {
};

void PrintTo(const Keeping& keeping, std::ostream* out) {
  *out << keeping.name;
}

TEST_P(ReadFaultsOfKeepingTest, EveryPartInEveryWay) {
  std::map<std::string, std::string> of_stock;
  ASSERT_NO_FATAL_FAILURE(Fill(kStock, GetParam()));
  RunAllCases([&of_stock](const FaultCase& c, const Outcome& outcome) {
    if (outcome.injected > 0) of_stock[c.Name()] = outcome.Summary();
  });
  for (const std::string filters : kFilters) {
    SCOPED_TRACE(filters);
    ASSERT_NO_FATAL_FAILURE(Fill(filters, GetParam()));
    RunAllCases([&](const FaultCase& c, const Outcome& outcome) {
      const std::string expected =
          of_stock.emplace(c.Name(), "all is answered").first->second;
      // When RocksDB opens a file of level 0, it reads filters that are to be
      // in the cache, and fails with them. Protean's do not keep a DB from
      // opening, unless RocksDB reads them together with the index.
      const bool opens = c.at_open && GetParam().in_parts &&
                         Slice(expected).starts_with("open: ") &&
                         outcome.opened.ok();
      const bool reads_index = c.at_open && GetParam().in_parts &&
                               c.kind == BlockKind::kFilter &&
                               outcome.opened.IsIOError();
      if (!opens && !reads_index) {
        EXPECT_EQ(expected, outcome.Summary());
      }
      const bool is_read = c.at_open || c.kind == BlockKind::kData;
      if (is_read) {
        EXPECT_GT(outcome.injected, 0u);
      }
      if (c.kind == BlockKind::kFilter && outcome.opened.ok()) {
        EXPECT_EQ(0u, outcome.answers.failed());
        if (GetParam().reads_filters) {
          EXPECT_GT(outcome.injected, 0u);
        }
        if (GetParam().in_parts) {
          // A part that could not be read at open may not be needed later.
          EXPECT_GE(outcome.failed_files, outcome.unfiltered_files);
        } else if (filters == kLevels) {
          // Only Get asks the filter of level 0, which is RocksDB's own.
          EXPECT_GE(outcome.unfiltered_files + 1, outcome.failed_files);
        } else {
          EXPECT_EQ(outcome.failed_files, outcome.unfiltered_files);
        }
      }
    });
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Keepings, ReadFaultsOfKeepingTest,
                         ::testing::ValuesIn(kKeepings), [](const auto& test) {
                           return std::string(test.param.name);
                         });

// Filters of which every query reads a part.
constexpr Keeping kUncachedParts = {
    "parts that no cache keeps",
    "block_cache={capacity=1K;num_shard_bits=0};cache_index_and_filter_blocks="
    "true;metadata_block_size=1024",
    -1, true, true};

// One file with a filter of many parts, of which one cannot be read, or the
// directory.
class OnePartTest : public ReadFaultsTest {
 protected:
  static constexpr uint64_t kAllKeys = 12000;

  static std::string NumberedKey(uint64_t i) { return BigEndian(1000 * i); }

  void FillOneFile(const std::string& policy) {
    Use("id=ProteanTable;miss_cache_size=0;filter_policy=" + policy,
        kUncachedParts);
    SetNewTable();
    Open();
    for (uint64_t i = 1; i <= kAllKeys; i++) Put(NumberedKey(i), "value");
    Flush();
    CompactLevel0Into(2, 1 << 30);
    NoteFiles();
    ASSERT_EQ(1u, files_.size());
    const uint64_t begin = FilterHandle(FilePath()).offset();
    const std::string bytes = FilterBytes(FilePath());
    const FilterBlock block(bytes);
    ASSERT_OK(block.status());
    const std::vector<FilterPart>& parts = block.directory().parts();
    ASSERT_GT(parts.size(), 8u);
    const size_t middle = parts.size() / 2;
    part_ = {BlockKind::kFilter, begin + parts[middle].first.offset,
             begin + parts[middle + 1].first.offset};
    part_begin_ = parts[middle].begin.ToString();
    part_end_ = parts[middle + 1].begin.ToString();
    directory_ = {BlockKind::kFilter, begin, begin + parts[0].first.offset};
  }
  std::string FilePath() const { return path_ + "/" + files_[0]; }

  uint64_t FailedLoads() { return FilterStats().total.filter_loads_failed; }

  // Number of absent keys and empty ranges for which the file's data is read:
  // all of them, and those that only the part knows of.
  struct Unfiltered {
    uint64_t asked = 0;
    uint64_t read = 0;
    uint64_t asked_of_part = 0;
    uint64_t read_for_part = 0;
  };
  Unfiltered AskForNothing() {
    Unfiltered result;
    for (uint64_t i = 2; i < kAllKeys; i += 7) {
      const std::string lo = BigEndian(1000 * i + 300);
      const std::string hi = BigEndian(1000 * i + 700);
      const bool of_part = lo > part_begin_ && hi < part_end_;
      const uint64_t before = DataBlocks();
      EXPECT_FALSE(Has(lo));
      EXPECT_EQ("", FirstIn(lo, hi));
      const uint64_t read = DataBlocks() - before;
      (of_part ? result.asked_of_part : result.asked) += 2;
      (of_part ? result.read_for_part : result.read) += read;
    }
    return result;
  }

  // Reads around the part are right. The log has one line, with these words.
  void ExpectRightAndSaid(const std::string& words) {
    const Keys around = WithNeighbours(
        {NumberedKey(1), part_begin_, part_end_, NumberedKey(kAllKeys)});
    EXPECT_EQ(0u, ReadAll(around, 3).failed());
    const Keys lines = log_->Lines({kUnfiltered, files_[0]});
    ASSERT_EQ(1u, lines.size());
    EXPECT_NE(std::string::npos, lines[0].find(words)) << lines[0];
  }

  FilePart part_{};
  FilePart directory_{};
  // The part's keys are not below the first string, and below the second.
  std::string part_begin_;
  std::string part_end_;
};

// For as long as one part cannot be read, its keys may be there. The other
// parts filter, and the log says so once. Without the directory, there is no
// filter until the file is opened again.
TEST_F(OnePartTest, TheOthersFilter) {
  for (const char* policy : {"surf:0:16", "proteus:16"}) {
    ASSERT_NO_FATAL_FAILURE(FillOneFile(policy));
    ASSERT_OK(OpenWithFaults());
    const Unfiltered healthy = AskForNothing();
    ASSERT_GT(healthy.asked_of_part, 20u);
    EXPECT_LT(healthy.read, healthy.asked / 20);
    EXPECT_LT(healthy.read_for_part, healthy.asked_of_part / 5);
    for (const ReadFault fault : kReadFaults) {
      SCOPED_TRACE(std::string(policy) + ", " + ToString(fault));
      ASSERT_OK(OpenWithFaults());
      file_system_->FailReadsOf(FilePath(), part_, fault);
      ASSERT_EQ(0u, FailedLoads());
      const Unfiltered faulty = AskForNothing();
      EXPECT_GE(FailedLoads(), faulty.asked_of_part);
      EXPECT_EQ(healthy.read, faulty.read);
      EXPECT_EQ(faulty.asked_of_part, faulty.read_for_part);
      ASSERT_NO_FATAL_FAILURE(ExpectRightAndSaid("a part of its filter"));
      EXPECT_TRUE(FilterStats().total.unused_files.empty());
      // RocksDB counts what it finds to be damaged.
      if (fault == ReadFault::kFlip) {
        EXPECT_GT(Ticks(BLOCK_CHECKSUM_MISMATCH_COUNT), 0u);
      }
      file_system_->HealReads();
      const uint64_t failed_before = FailedLoads();
      const Unfiltered healed = AskForNothing();
      EXPECT_EQ(failed_before, FailedLoads());
      EXPECT_EQ(healthy.read, healed.read);
      EXPECT_EQ(healthy.read_for_part, healed.read_for_part);
      EXPECT_EQ(1u, log_->Lines({kUnfiltered}).size());

      arm_ = [&](FaultFileSystem* file_system) {
        file_system->FailReadsOf(FilePath(), directory_, fault);
      };
      ASSERT_OK(OpenWithFaults());
      arm_ = nullptr;
      const Unfiltered blind = AskForNothing();
      EXPECT_EQ(blind.asked, blind.read);
      EXPECT_EQ(blind.asked_of_part, blind.read_for_part);
      ASSERT_NO_FATAL_FAILURE(ExpectRightAndSaid("is read without its filter"));
    }
    ASSERT_OK(OpenWithFaults());
    EXPECT_EQ(healthy.read, AskForNothing().read);
  }
}

// A few reads fail, and then no more.
TEST_F(ReadFaultsTest, Random) {
  RandomRuns(2, [this](uint64_t seed) {
    Random rnd(static_cast<uint32_t>(seed));
    const std::string filters = kFilters[rnd.Uniform(std::size(kFilters))];
    const Keeping& keeping = kKeepings[rnd.Uniform(std::size(kKeepings))];
    ASSERT_NO_FATAL_FAILURE(Fill(filters, keeping));
    for (int i = 0; i < 20 && !HasFailure(); i++) {
      FaultCase c = {};
      c.kind = kBlockKinds[rnd.Uniform(std::size(kBlockKinds))];
      c.fault = kReadFaults[rnd.Uniform(std::size(kReadFaults))];
      c.at_open = rnd.OneIn(2);
      c.limit = rnd.OneIn(3) ? UINT64_MAX : 1 + rnd.Uniform(40);
      c.where = rnd.Next();
      SCOPED_TRACE(filters + ", " + keeping.name + ", " + c.Name());
      RunCase(c, rnd.Next());
    }
  });
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  return ROCKSDB_NAMESPACE::protean::RunFaultTests(argc, argv);
}
