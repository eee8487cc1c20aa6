// SPDX-License-Identifier: Apache-2.0

//  protean inspect, verify, refresh and advise over files with filters in
//  parts, and over trees of which some files have them: filters went to the
//  block cache, or left it, when half of the DB was written.

#include <filesystem>

#include "filter_policy/samples/query_file.h"
#include "tests/filter_blocks.h"
#include "tests/sst_damage.h"
#include "tests/tools/tool_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Whether the files of the lower level have filters in parts, then those of the
// upper level, and then the options of the DB.
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

class PartitionsTest : public ToolDBTest {
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
  // Makes the DB new: two thirds of the keys are in level 3, the others in
  // level 0.
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

  ToolRun Run(const std::string& command, Keys more = {}) {
    more.insert(more.begin(), {command, "--db=" + path_, "--json"});
    return RunTool(more);
  }
  // Whether each file of a column family has its filter in parts, by level.
  std::map<int, bool> PartedLevels(const std::string& family) {
    const ToolRun run =
        Run("inspect", {"--column_family=" + family}).ExpectFine();
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
    const ToolRun run = Run("verify").ExpectFine();
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
    const ToolRun verify = Run("verify");
    EXPECT_EQ(kFoundSomething, verify.code) << verify.err;
    const ToolRun inspect = Run("inspect");
    EXPECT_EQ(kFoundSomething, inspect.code) << inspect.out;
    for (auto& [file, row] : verify.FileRows()) {
      const bool damaged = file == NameOf(path);
      EXPECT_EQ(damaged ? "damaged filter" : "ok", row["status"]) << row;
      const Json inspected = inspect.FileRows()[file];
      EXPECT_EQ(damaged, inspected["column_family"] != "bloom" &&
                             inspected["unfiltered"] != "")
          << inspected;
      if (!damaged || !whole) continue;
      EXPECT_EQ(FilterHandle(path).offset(), row["offset"]);
      EXPECT_EQ(kKeys / 3 * 2, row["keys"]);
    }
  }
};

}  // namespace

// Files of any history are inspected and verified; those that are rewritten
// have the filters of the options.
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
        Run("refresh", {"--column_family=default", "--samples=" + samples,
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
         Run("refresh", {"--column_family=default"}).FileRows()) {
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
      const ToolRun run = Run("advise", reads).ExpectFine();
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
// of RocksDB. The file's data is intact, so it can be rewritten, also in level
// 0.
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
            Run("verify", {"--fix"}).ExpectFine();
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
