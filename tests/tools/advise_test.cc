//  What `protean advise` promises, against what a DB then reads; and what it
//  says where it can promise nothing.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "filter_policy/samples/query_file.h"
#include "plugin/protean.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/statistics.h"
#include "rocksdb/trace_reader_writer.h"
#include "table/rocksdb_internals.h"
#include "test_util/testharness.h"
#include "tools/command.h"
#include "tools/output.h"
#include "tools/query_trace.h"
#include "util/coding.h"
#include "util/random.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Keys = std::vector<std::string>;

std::string BigEndian(uint64_t number) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) {
    bytes += static_cast<char>(number >> shift);
  }
  return bytes;
}

struct Called {
  int code = 0;
  std::string out;
  std::string err;
};

Called Call(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "advise");
  std::ostringstream out;
  std::ostringstream err;
  Called called;
  called.code = ProteanMain(arguments, out, err);
  called.out = out.str();
  called.err = err.str();
  return called;
}

std::vector<Json> Rows(const Called& called) {
  EXPECT_EQ(kFine, called.code) << called.err;
  std::vector<Json> rows;
  std::istringstream in(called.out);
  for (std::string line; std::getline(in, line);) {
    rows.push_back(Json::parse(line, nullptr, /*allow_exceptions=*/false));
    EXPECT_FALSE(rows.back().is_discarded()) << line;
  }
  return rows;
}

Json RowOf(const std::vector<Json>& rows, const std::string& kind,
           const std::string& policy) {
  for (const Json& row : rows) {
    if (row["row"] == kind && (policy.empty() || row["policy"] == policy)) {
      return row;
    }
  }
  ADD_FAILURE() << "no row " << kind << " " << policy;
  return Json();
}

// A DB of four sorted runs, whose data blocks are counted.
class AdviseTest : public testing::Test {
 protected:
  AdviseTest() {
    options_.create_if_missing = true;
    options_.disable_auto_compactions = true;
    options_.level_compaction_dynamic_level_bytes = false;
    options_.num_levels = 4;
    options_.compression = kNoCompression;
    options_.target_file_size_base = 2 << 20;
    options_.statistics = CreateDBStatistics();
    EXPECT_OK(DestroyDB(path_, options_));
    SetTable("table_factory={id=ProteanTable;filter_policy=proteus:12}");
  }
  ~AdviseTest() override {
    db_.reset();
    EXPECT_OK(DestroyDB(path_, options_));
    for (const std::string& file : {trace_, seeds_, other_}) {
      Env::Default()->DeleteFile(file).PermitUncheckedError();
    }
  }

  void SetTable(const std::string& table) {
    ASSERT_OK(GetColumnFamilyOptionsFromString(ConfigOptions(), options_, table,
                                               &options_));
  }
  void Open() { ASSERT_OK(OpenDB(&db_, options_, path_)); }

  // Writes each 64th key to a file of level 0, as many to another one, an
  // eighth to level 2, and the others to level 3.
  void Write(const Keys& keys) {
    Random64 random(7);
    std::vector<Keys> runs(4);
    for (const std::string& key : keys) {
      const uint64_t draw = random.Uniform(64);
      runs[draw < 2 ? 3 - draw : draw < 10 ? 1 : 0].push_back(key);
    }
    const int levels[] = {3, 2, 0, 0};
    for (size_t i = 0; i < runs.size(); i++) {
      for (const std::string& key : runs[i]) {
        ASSERT_OK(db_->Put(WriteOptions(), key, std::string(100, 'v')));
      }
      ASSERT_OK(db_->Flush(FlushOptions()));
      if (levels[i] > 0) Move(/*from=*/0, levels[i]);
    }
  }
  void Move(int from, int to) {
    std::vector<LiveFileMetaData> files;
    db_->GetLiveFilesMetaData(&files);
    Keys names;
    for (const LiveFileMetaData& file : files) {
      if (file.level == from) names.push_back(file.name);
    }
    CompactionOptions compaction;
    compaction.output_file_size_limit = options_.target_file_size_base;
    ASSERT_OK(db_->CompactFiles(compaction, names, to));
  }
  // As a DB comes to be that goes on for a while.
  void RewriteAll() {
    for (int i = 0; i < 4; i++) {
      Move(2, 2);
      Move(3, 3);
    }
  }
  void Recreate(const std::string& table, const Keys& keys) {
    db_.reset();
    ASSERT_OK(DestroyDB(path_, options_));
    SetTable(table);
    Open();
    Write(keys);
  }

  void Get(const std::string& key) {
    std::string value;
    ASSERT_FALSE(db_->Get(ReadOptions(), key, &value).IsCorruption());
  }
  void Seek(const std::string& target, const std::string& upper) {
    const Slice bound(upper);
    ReadOptions read;
    if (!upper.empty()) read.iterate_upper_bound = &bound;
    const std::unique_ptr<Iterator> it(db_->NewIterator(read));
    it->Seek(target);
    ASSERT_OK(it->status());
  }
  void SeekForPrev(const std::string& target, const std::string& lower) {
    const Slice bound(lower);
    ReadOptions read;
    if (!lower.empty()) read.iterate_lower_bound = &bound;
    const std::unique_ptr<Iterator> it(db_->NewIterator(read));
    it->SeekForPrev(target);
    ASSERT_OK(it->status());
  }

  // Makes some reads; returns the data blocks that each of them has asked for.
  using MakeRead = std::function<void(Random64* random)>;
  double BlocksPerRead(uint64_t seed, int reads, const MakeRead& make) {
    Random64 random(seed);
    const auto blocks = [&] {
      return options_.statistics->getTickerCount(BLOCK_CACHE_DATA_HIT) +
             options_.statistics->getTickerCount(BLOCK_CACHE_DATA_MISS);
    };
    const uint64_t before = blocks();
    for (int i = 0; i < reads; i++) make(&random);
    return static_cast<double>(blocks() - before) / reads;
  }
  void StartTrace() {
    std::unique_ptr<TraceWriter> writer;
    ASSERT_OK(
        NewFileTraceWriter(Env::Default(), EnvOptions(), trace_, &writer));
    ASSERT_OK(db_->StartTrace(TraceOptions(), std::move(writer)));
  }

  // That a DB reads what is promised: as it is, and under the policies.
  void Check(const Keys& keys, const MakeRead& make) {
    constexpr int kReads = 20000;
    Open();
    Write(keys);
    StartTrace();
    const double as_it_is = BlocksPerRead(/*seed=*/1, kReads, make);
    ASSERT_OK(db_->EndTrace());
    const std::vector<Json> rows = Rows(Call(
        {"--db=" + path_, "--trace=" + trace_, "--save_samples=" + seeds_,
         "--policies=bloomfilter:10,surf:0:4,proteus:8,proteus:12", "--json"}));
    ExpectNear(RowOf(rows, "policy", "as it is"), as_it_is);
    const Json advice = RowOf(rows, "advice", "");
    std::map<std::string, std::string> tables;
    for (const std::string policy : {"none", "bloomfilter:10", "surf:0:4"}) {
      tables[policy] = "table_factory={id=ProteanTable;filter_policy=" +
                       (policy == "none" ? "nullptr" : policy) + "}";
    }
    tables[advice["policy"]] = advice["options"];
    for (const auto& [policy, table] : tables) {
      Recreate(table, keys);
      RewriteAll();
      ExpectNear(RowOf(rows, "policy", policy),
                 BlocksPerRead(/*seed=*/2, kReads, make));
    }
  }
  void ExpectNear(const Json& row, double blocks) {
    const double promised = row["blocks_per_op"].get<double>();
    fprintf(stderr, "%s: promised %.4f, read %.4f blocks per operation\n",
            row["policy"].get<std::string>().c_str(), promised, blocks);
    EXPECT_NEAR(promised, blocks, 0.1 * blocks) << row.dump();
  }

  const std::string path_ = test::PerThreadDBPath("advise_test");
  const std::string trace_ = path_ + ".trace";
  const std::string seeds_ = path_ + ".seeds";
  const std::string other_ = path_ + ".other";
  Options options_;
  std::unique_ptr<DB> db_;
};

}  // namespace

// Events of sensors: keys of a time and a sensor (SuRF paper, section 6.3).
TEST_F(AdviseTest, TimeSeries) {
  Random64 random(1);
  Keys keys;
  uint64_t now = 1000000000;
  for (int i = 0; i < 100000; i++) {
    now += 1 + random.Uniform(200000);
    keys.push_back(BigEndian(now) + BigEndian(random.Uniform(2000)));
  }
  Check(keys, [&](Random64* r) {
    const uint64_t begin = 1000000000 + r->Uniform(now - 1000000000);
    const uint64_t width = r->Uniform(2) == 0 ? 0 : 1 + r->Uniform(50000);
    Seek(BigEndian(begin), width == 0 ? "" : BigEndian(begin + width));
  });
}

TEST_F(AdviseTest, TextKeys) {
  Random64 random(2);
  const Keys syllables = {"an", "ber", "chi", "do", "el", "fa", "go", "hu",
                          "in", "jo",  "ka",  "lo", "ma", "ni", "or", "pe"};
  const auto name = [&](Random64* r) {
    std::string text;
    for (uint64_t n = 3 + r->Uniform(4); n > 0; n--) {
      text += syllables[r->Uniform(syllables.size())];
    }
    return text;
  };
  Keys keys;
  for (int i = 0; i < 100000; i++) {
    keys.push_back("com." + name(&random) + "@" + name(&random));
  }
  Check(keys, [&](Random64* r) {
    const std::string& key = keys[r->Uniform(keys.size())];
    // Keys that begin like another one, up to somewhere in its second part.
    const std::string prefix =
        key.substr(0, key.find('@') + 1) + name(r).substr(0, 4);
    Seek(prefix, prefix + "\x7f");
  });
}

TEST_F(AdviseTest, MixedReads) {
  Random64 random(3);
  Keys keys;
  for (int i = 0; i < 100000; i++) keys.push_back(BigEndian(random.Next()));
  Check(keys, [&](Random64* r) {
    const std::string near = keys[r->Uniform(keys.size())];
    const uint64_t anywhere = r->Next();
    switch (r->Uniform(6)) {
      case 0:
        return Get(near);
      case 1:
        return Get(BigEndian(anywhere));
      case 2:
        return Seek(BigEndian(anywhere),
                    BigEndian(anywhere) + std::string(1, '\xff'));
      case 3:
        return Seek(near.substr(0, 7), near);
      case 4:
        return SeekForPrev(BigEndian(anywhere),
                           BigEndian(anywhere - (anywhere >> 20)));
      default:
        return Seek(BigEndian(anywhere), "");
    }
  });
}

}  // namespace ROCKSDB_NAMESPACE::protean
