// SPDX-License-Identifier: Apache-2.0

//  A new filter is one file and one line: this file has one, and registers it.
//  Options name it, files keep it, errors and help mention it, and no other
//  line of Protean knows of it.

#include "db_bench_ext/filter_spec.h"
#include "filter_policy/filter_kinds.h"
#include "filter_policy/protean_filter_policy.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- The filter: the set of the keys' last bytes ----

constexpr FilterKind kToyKind{200};

class Toy : public RangeFilter {
 public:
  static Status Open(const PartContents& part,
                     std::unique_ptr<RangeFilter>* filter) {
    const Slice& payload = part.payload;
    if (payload.size() != 256) return Status::Corruption("toy of wrong size");
    filter->reset(new Toy(payload.data()));
    return Status::OK();
  }
  bool KeyMayMatch(const Slice& key) const override {
    return key.empty() || bytes_[static_cast<uint8_t>(key[key.size() - 1])];
  }
  bool RangeMayMatch(const Slice& lo, const Slice& hi,
                     bool hi_inclusive) const override {
    return lo == hi && hi_inclusive ? KeyMayMatch(lo) : lo.compare(hi) < 0;
  }
  FilterReport Report() const override {
    FilterReport report;
    report.design = "last bytes";
    return report;
  }

 private:
  explicit Toy(const char* bytes) : bytes_(bytes) {}
  const char* const bytes_;
};

class ToyBuilder : public RangeFilterBuilder {
 public:
  using RangeFilterBuilder::RangeFilterBuilder;

  void Write(size_t /*part*/, char* payload) override {
    memcpy(payload, bytes_, 256);
  }
  double ApproximateBitsPerKey() const override { return 1; }
  uint64_t MaxSize() const override { return sizeof(bytes_) + 64; }

 protected:
  void Add(const Slice& key, size_t, size_t) override {
    if (!key.empty()) bytes_[static_cast<uint8_t>(key[key.size() - 1])] = 1;
  }
  Status Plan(const KeysEnd& /*end*/,
              std::vector<PlannedPart>* parts) override {
    parts->resize(1);
    parts->front().num_keys = num_keys();
    parts->front().payload_size = 256;
    return Status::OK();
  }
  size_t Memory() const override { return 0; }

 private:
  char bytes_[256] = {};
};

class ToyPolicy : public ProteanFilterPolicy {
 public:
  const char* Name() const override { return "protean.Toy"; }
  FileBuilders NewFileBuilders(const FilterBuildingContext&, Env*,
                               uint64_t) const override {
    return {kToyKind, [](const FilterTask& task) {
              return std::make_unique<ToyBuilder>(task);
            }};
  }
};

const FilterType& ToyFilterType() {
  static const FilterType type = {
      kToyKind,
      "Toy",
      Toy::Open,
      {{"protean.Toy", "toy", "toy:SIZE",
        []() -> std::unique_ptr<const FilterPolicy> {
          return std::make_unique<ToyPolicy>();
        },
        [](const std::string& spec,
           std::unique_ptr<const FilterPolicy>* policy) {
          if (spec != "toy:small") {
            return Status::InvalidArgument("filter_policy=" + spec +
                                           " is not allowed; allowed: "
                                           "toy:small");
          }
          policy->reset(new ToyPolicy);
          return Status::OK();
        }}}};
  return type;
}

// ---- The line ----

[[maybe_unused]] const bool registered = [] {
  RegisterFilterType(&ToyFilterType());
  return true;
}();

}  // namespace

TEST(ToyFilterTest, OptionsNameIt) {
  for (const char* policy : {"toy:small", "{id=protean.Toy}"}) {
    ColumnFamilyOptions options;
    ASSERT_OK(AddOptions(ProteanTableText(policy), &options));
    EXPECT_STREQ("protean.Toy", PolicyOf(options)->Name());
  }
}

TEST(ToyFilterTest, ErrorsAndHelpMentionIt) {
  ColumnFamilyOptions options;
  ExpectRefused(AddOptions(ProteanTableText("unknown:1"), &options),
                {"toy:SIZE", "{id=protean.Toy;...}"});
  ExpectRefused(AddOptions(ProteanTableText("toy:large"), &options),
                {"toy:small"});
  EXPECT_NE(std::string::npos,
            std::string(FiltersHelp("Filters")).find("toy:SIZE"));
  std::shared_ptr<const FilterPolicy> policy;
  EXPECT_OK(MakeFilterPolicy("toy:small", &policy));
}

class ToyDBTest : public OwnDBTest {};

TEST_F(ToyDBTest, FilesKeepIt) {
  SetPolicy("toy:small");
  for (int opened = 0; opened < 2; opened++) {
    ASSERT_NO_FATAL_FAILURE(Open());
    for (int i = 0; opened == 0 && i < 1000; i++) Put(std::to_string(10 * i));
    Flush();
    ASSERT_OK(options_.statistics->Reset());
    for (int i = 0; i < 1000; i++) {
      ASSERT_TRUE(Has(std::to_string(10 * i)));
      ASSERT_FALSE(Has(std::to_string(10 * i + 7)));
    }
    EXPECT_LE(998u, Ticks(BLOOM_FILTER_USEFUL));
    EXPECT_EQ(1000u, AllRecords(db_.get()).size());
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
