// SPDX-License-Identifier: Apache-2.0

//  What one platform writes, every other one reads: a DB with a column family
//  for each kind of filter, its OPTIONS file, and a cascade filter. The filters
//  give the same answers wherever they are asked, and none is wrong.
//
//  With the environment variable PROTEAN_EXCHANGED=FOLDER, the test writes them
//  there if the folder does not exist, and keeps them; if it exists, the test
//  reads what another platform has written (scripts/platform_room.sh). Without
//  it, the test reads what it has written itself.

#include <cstdlib>

#include "plugin/may_exist.h"
#include "sets/experimental/cascade_filter.h"
#include "tests/dice.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kRunKeys = 1500;
constexpr size_t kRuns = 3;
constexpr uint64_t kMembers = 60000;  // of the cascade filter

struct ExchangedFamily {
  const char* name;
  const char* policy;
  bool text;  // are its keys
  bool parts = false;
};

constexpr char kProteusPolicy[] = "{id=protean.Proteus;sample_every=1}";
constexpr char kRibbonPolicy[] =
    "{id=protean.Proteus;prefix_filter_type=kRibbon;sample_every=1;"
    "bits_per_key=16}";
constexpr char kPoints[] =
    "{id=protean.Proteus;point_lookups_use_whole_keys=true;sample_every=1}";

const ExchangedFamily kFamilies[] = {
    {"default", kProteusPolicy, false},
    {"proteus_text", kProteusPolicy, true},
    {"ribbon", kRibbonPolicy, false},
    {"ribbon_text", kRibbonPolicy, true},
    {"points", kPoints, false},
    {"prefix_bloom", "prefixbloom:12", false},
    {"two_prefix_bloom", "prefixbloom2:12", true},
    {"surf", "surf:0:4", false},
    {"surf_text", "surf:4:8", true},
    {"surf_prefix_bits", "surf:0:0:8", true},
    {"parts", kProteusPolicy, true, true},
    {"surf_parts", "surf:0:4", false, true},
};

std::string AnyKey(Lcg* random, bool text) {
  if (!text) return BigEndian(random->Next(1 << 16) << 28 | random->Next(64));
  std::string key = random->Word("abcdefghijkl", 5, 9);
  key += '/';
  key += random->Word("0123456789\xc3\xbc\xff", 3, 9);
  return key;
}

std::string ValueOf(const std::string& key) {
  return "value of " + Hex(key) + std::string(100, '.');
}

// Keys, and queries, most of which find nothing, some close to a key: points,
// and ranges that begin there.
struct Data {
  explicit Data(bool text) {
    Lcg random(17);
    while (keys.size() < kRunKeys * kRuns) {
      const std::string key = AnyKey(&random, text);
      if (known.insert(key).second) keys.push_back(key);
    }
    Lcg asked(text ? 5 : 6);
    for (int i = 0; i < 1500; i++) {
      const std::string key = keys[asked.Next(keys.size())];
      std::string lo = AnyKey(&asked, text);
      if (asked.Next(10) == 0) {
        lo = key;
        lo.back() = static_cast<char>(lo.back() + 1 + asked.Next(3));
      }
      points.push_back(lo);
      ends.push_back(lo + std::string(1 + asked.Next(2), '2'));
    }
  }

  // The first key in the range of a query, or nothing.
  std::string FirstOf(size_t query) const {
    const auto first = known.lower_bound(points[query]);
    return first != known.end() && *first < ends[query] ? *first : "";
  }

  Keys keys;  // in the order in which they are written
  std::set<std::string> known;
  Keys points;
  Keys ends;
};

const Data& DataOf(const ExchangedFamily& family) {
  static const Data numbers(false);
  static const Data text(true);
  return family.text ? text : numbers;
}

class ExchangedDBTest : public testing::Test {
 protected:
  ExchangedDBTest() {
    const char* const wanted = getenv("PROTEAN_EXCHANGED");
    folder_ = wanted != nullptr ? wanted : test::PerThreadDBPath("exchanged");
  }

  std::string answers_file() const { return folder_ + "/answers"; }

  // ---- Writing ----

  void Write() {
    ASSERT_OK(env_->CreateDirIfMissing(folder_));
    DBOptions options;
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    std::vector<ColumnFamilyDescriptor> families;
    for (const ExchangedFamily& family : kFamilies) {
      Options own = ManySmallFiles(4);
      own.target_file_size_base = 64 << 10;
      // The answers are those of the filters alone.
      own.table_factory = NewTable(
          "ProteanTable",
          std::string("miss_cache_size=0;filter_policy=") + family.policy +
              (family.parts ? ";partition_filters=true;metadata_block_size=512;"
                              "index_type=kTwoLevelIndexSearch"
                            : ""));
      families.emplace_back(family.name, own);
    }
    ASSERT_OK(OpenDB(&db_, options, folder_ + "/db", families, &handles_));
    std::string answers;
    for (size_t i = 0; i < std::size(kFamilies); i++) {
      ASSERT_NO_FATAL_FAILURE(Fill(kFamilies[i], handles_[i]));
      answers += Answers(kFamilies[i], handles_[i]);
    }
    Close();
    std::unique_ptr<CascadeFilter> filter;
    ASSERT_OK(OpenCascade(&filter));
    for (uint64_t i = 0; i < kMembers; i++) {
      ASSERT_OK(filter->Insert(MemberOf(i)));
    }
    ASSERT_OK(filter->Flush());
    ASSERT_OK(filter->WaitForMerges());
    answers += CascadeAnswers(filter.get());
    ASSERT_OK(filter->Close());
    ASSERT_OK(WriteStringToFile(env_, answers, answers_file()));
  }

  // Writes several sorted runs. The files of the later ones are designed for
  // queries.
  void Fill(const ExchangedFamily& family, ColumnFamilyHandle* handle) {
    const Data& data = DataOf(family);
    for (size_t run = 0; run < kRuns; run++) {
      for (size_t i = run * kRunKeys; i < (run + 1) * kRunKeys; i++) {
        const std::string& key = data.keys[i];
        ASSERT_OK(db_->Put(WriteOptions(), handle, key, ValueOf(key)));
      }
      ASSERT_OK(db_->Flush(FlushOptions(), handle));
      if (run > 0) continue;
      ASSERT_OK(
          db_->CompactRange(CompactRangeOptions(), handle, nullptr, nullptr));
      for (size_t i = 0; i < data.points.size(); i++) {
        FirstIn(db_.get(), data.points[i], data.ends[i], {}, handle);
      }
      std::string value;
      for (const std::string& point : data.points) {
        db_->Get(ReadOptions(), handle, point, &value).PermitUncheckedError();
      }
    }
  }

  static std::string MemberOf(uint64_t i) {
    return "member " + std::to_string(i);
  }

  Status OpenCascade(std::unique_ptr<CascadeFilter>* filter) {
    CascadeFilterOptions options;
    options.memory = 64 << 10;
    options.fingerprint_bits = 24;
    return CascadeFilter::Open(options, folder_ + "/cascade", filter);
  }

  // ---- Reading ----

  void Read() {
    const std::string expected = ContentsOf(answers_file());
    DBOptions options;
    std::vector<ColumnFamilyDescriptor> families;
    // What the OPTIONS file says is all that is known of the filters.
    ASSERT_OK(LoadLatestOptions(ConfigOptions(), folder_ + "/db", &options,
                                &families));
    ASSERT_EQ(std::size(kFamilies), families.size());
    options.statistics = statistics_;
    ASSERT_OK(OpenDB(&db_, options, folder_ + "/db", families, &handles_));
    std::string answers;
    for (size_t i = 0; i < std::size(kFamilies); i++) {
      SCOPED_TRACE(kFamilies[i].name);
      ASSERT_EQ(kFamilies[i].name, handles_[i]->GetName());
      answers += Answers(kFamilies[i], handles_[i]);
      ASSERT_NO_FATAL_FAILURE(CheckReads(kFamilies[i], handles_[i]));
    }
    Close();
    std::unique_ptr<CascadeFilter> filter;
    ASSERT_OK(OpenCascade(&filter));
    for (uint64_t i = 0; i < kMembers; i++) {
      ASSERT_TRUE(filter->MayContain(MemberOf(i))) << i;
    }
    answers += CascadeAnswers(filter.get());
    ASSERT_OK(filter->Close());
    ASSERT_EQ(expected, answers);
  }

  // What the filters say to all queries. At most a third is wrong: a quarter of
  // the ranges pass where points have most of the memory.
  std::string Answers(const ExchangedFamily& family,
                      ColumnFamilyHandle* handle) {
    const Data& data = DataOf(family);
    const size_t queries = data.points.size();
    const std::vector<Slice> points(data.points.begin(), data.points.end());
    const std::vector<Slice> ends(data.ends.begin(), data.ends.end());
    std::vector<RangePtr> ranges;
    for (size_t i = 0; i < queries; i++) {
      ranges.emplace_back(&points[i], &ends[i]);
    }
    std::string answers = std::string(family.name) + "\n";
    const auto may_exist = std::make_unique<bool[]>(queries);
    for (const bool of_ranges : {false, true}) {
      EXPECT_OK(of_ranges
                    ? RangesMayExist(&*db_, ReadOptions(), handle, queries,
                                     ranges.data(), may_exist.get())
                    : KeysMayExist(&*db_, ReadOptions(), handle, queries,
                                   points.data(), may_exist.get()));
      size_t wrong = 0;
      for (size_t i = 0; i < queries; i++) {
        answers += may_exist[i] ? '+' : '.';
        wrong +=
            may_exist[i] && (of_ranges ? data.FirstOf(i).empty()
                                       : data.known.count(data.points[i]) == 0);
      }
      answers += '\n';
      EXPECT_LT(wrong, queries / 3) << family.name;
    }
    return answers;
  }

  static std::string CascadeAnswers(CascadeFilter* filter) {
    std::string answers = "cascade filter\n";
    for (uint64_t i = kMembers; i < 3 * kMembers; i++) {
      if (filter->MayContain(MemberOf(i))) answers += std::to_string(i) + ' ';
    }
    return answers + '\n';
  }

  // All keys are found with their values, and nothing else is found.
  void CheckReads(const ExchangedFamily& family, ColumnFamilyHandle* handle) {
    const Data& data = DataOf(family);
    std::string value;
    for (const std::string& key : data.keys) {
      ASSERT_OK(db_->Get(ReadOptions(), handle, key, &value)) << Hex(key);
      ASSERT_EQ(ValueOf(key), value);
    }
    ASSERT_OK(statistics_->Reset());
    for (size_t i = 0; i < data.points.size(); i++) {
      const std::string& point = data.points[i];
      const Status s = db_->Get(ReadOptions(), handle, point, &value);
      ASSERT_EQ(data.known.count(point) > 0, s.ok()) << Hex(point);
      ASSERT_TRUE(s.ok() || s.IsNotFound()) << s.ToString();
      ASSERT_EQ(data.FirstOf(i),
                FirstIn(db_.get(), point, data.ends[i], {}, handle))
          << Hex(point);
    }
    const auto ticks = [this](Tickers ticker) {
      return statistics_->getTickerCount(ticker);
    };
    EXPECT_GT(ticks(BLOOM_FILTER_USEFUL), 1000u);
    EXPECT_GT(
        ticks(LAST_LEVEL_SEEK_FILTERED) + ticks(NON_LAST_LEVEL_SEEK_FILTERED),
        1000u);
  }

  void Close() {
    for (ColumnFamilyHandle* handle : handles_) {
      EXPECT_OK(db_->DestroyColumnFamilyHandle(handle));
    }
    handles_.clear();
    db_.reset();
  }

  Env* const env_ = Env::Default();
  std::string folder_;
  const std::shared_ptr<Statistics> statistics_ = CreateDBStatistics();
  std::unique_ptr<DB> db_;
  std::vector<ColumnFamilyHandle*> handles_;
};

}  // namespace

TEST_F(ExchangedDBTest, IsReadAsItWasWritten) {
  if (!env_->FileExists(answers_file()).ok()) {
    ASSERT_NO_FATAL_FAILURE(Write());
  }
  ASSERT_NO_FATAL_FAILURE(Read());
}

}  // namespace ROCKSDB_NAMESPACE::protean
