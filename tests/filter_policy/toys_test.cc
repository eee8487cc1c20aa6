// SPDX-License-Identifier: Apache-2.0

//  A new filter is one class with its builder and one line that registers it,
//  and so is a new kind of AMQ: this file has one of each. Options name them,
//  files keep the filter, filters keep their prefixes in the AMQ, the design
//  search chooses it where it is best, errors, help and printers mention both,
//  and no other line of Protean knows of them.

#include <cmath>
#include <new>

#include "db_bench_ext/design_policy.h"
#include "filter_policy/amq/amq.h"
#include "filter_policy/filter_kinds.h"
#include "tests/filter_policy/small_blocks.h"
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
  Status Plan(const KeysEnd&, std::vector<PlannedPart>* parts) override {
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

// ---- The AMQ: a sorted list of the hashes' first 32 bits ----

constexpr AmqKind kSortedAmq{77};

uint32_t Head(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

class SortedSet final : public AmqSet {
 public:
  SortedSet(const AmqHeader& header, const char* data)
      : data_(data), count_(header.bytes / 4) {}

  bool MayContain(uint64_t hash) const override {
    size_t begin = 0;
    for (size_t end = count_; begin < end;) {
      const size_t middle = (begin + end) / 2;
      const bool is_below = DecodeFixed32(data_ + 4 * middle) < Head(hash);
      (is_below ? begin : end) = is_below ? middle + 1 : middle;
    }
    return begin < count_ && DecodeFixed32(data_ + 4 * begin) == Head(hash);
  }
  size_t Keep(size_t count, AmqLookup* lookups) const override {
    return static_cast<size_t>(
        std::stable_partition(
            lookups, lookups + count,
            [this](const AmqLookup& l) { return MayContain(l.hash); }) -
        lookups);
  }

 private:
  const char* const data_;
  const size_t count_;
};

class SortedBuilder : public AmqSetBuilder {
 public:
  SortedBuilder(const AmqPlan& plan, char* data) : plan_(plan), data_(data) {}
  void Add(const uint64_t* hashes, size_t count) override {
    for (size_t i = 0; i < count; i++) heads_.push_back(Head(hashes[i]));
  }
  void Finish() override {
    std::sort(heads_.begin(), heads_.end());
    heads_.resize(plan_.bytes / 4, heads_.empty() ? 0 : heads_.back());
    for (size_t i = 0; i < heads_.size(); i++) {
      EncodeFixed32(data_ + 4 * i, heads_[i]);
    }
  }

 private:
  const AmqPlan plan_;
  char* const data_;
  std::vector<uint32_t> heads_;
};

const AmqType& SortedAmqType() {
  static const AmqType type = {
      kSortedAmq,
      "sorted",
      /*takes_neighbours=*/false,
      /*query_nanos=*/1,
      /*next_nanos=*/1,
      /*build_nanos=*/1,
      /*max_hashes_per_key=*/1,
      [](uint64_t hashes, uint64_t bytes) {
        AmqPlan plan;
        if (4 * hashes > bytes) return plan;
        plan.kind = kSortedAmq;
        plan.hashes = hashes;
        plan.bytes = 4 * hashes;
        plan.false_positive_rate = std::ldexp(static_cast<double>(hashes), -32);
        return plan;
      },
      [](const AmqPlan& plan, char* data) -> std::unique_ptr<AmqSetBuilder> {
        return std::make_unique<SortedBuilder>(plan, data);
      },
      [](const AmqPlan& plan) -> size_t { return 8 * plan.hashes; },
      [](const AmqHeader& header) {
        return header.bytes > 0 && header.bytes % 4 == 0;
      },
      [](const AmqHeader& header, const char* data, void* memory) -> AmqSet* {
        return new (memory) SortedSet(header, data);
      }};
  return type;
}

// ---- The lines ----

[[maybe_unused]] const bool registered = [] {
  RegisterFilterType(&ToyFilterType());
  AmqTypes().push_back(&SortedAmqType());
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
  ExpectHas(FiltersHelp("Filters"), {"toy:SIZE"});
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

TEST(ToyAmqTest, OptionsNameIt) {
  std::shared_ptr<const FilterPolicy> policy;
  for (const char* spec :
       {"proteus:40:sorted",
        "{id=protean.Proteus;bits_per_key=40;prefix_filter_type=kSorted}"}) {
    EXPECT_OK(FilterPolicy::CreateFromString(StrictConfig(), spec, &policy))
        << spec;
  }
  ExpectRefused(FilterPolicy::CreateFromString(StrictConfig(),
                                               "proteus:40:cuckoo", &policy),
                {"kAuto, kBloom, kRibbon, kSorted"});
  ExpectHas(DesignForm(), {"sorted58"});
}

TEST(ToyAmqTest, FiltersKeepTheirPrefixesInIt) {
  const MemoryFilter filter = FilterOf(
      "design:40:sorted64",
      MakeKeys(5000, [](size_t i) { return BigEndian((i + 1) << 40); }));
  ASSERT_NE(nullptr, filter.proteus());
  EXPECT_EQ("sorted 64", filter.proteus()->Report().design);
  for (uint64_t i = 1; i <= 5000; i++) {
    ASSERT_TRUE(filter.reader()->MayMatch(BigEndian(i << 40)));
    ASSERT_FALSE(filter.reader()->MayMatch(BigEndian((i << 40) + i)));
    ASSERT_TRUE(filter.block()->RangeMayMatch(BigEndian((i << 40) - 3),
                                              BigEndian((i << 40) + 3), true));
    ASSERT_FALSE(filter.block()->RangeMayMatch(BigEndian((i << 40) + 3),
                                               BigEndian((i << 40) + 9), true));
  }
}

// The toy claims to be the fastest kind. It leaves no room for a trie, which
// the ranges of the prior need: so there are enough samples to outweigh these.
TEST(ToyAmqTest, TheDesignSearchChoosesIt) {
  std::vector<std::string> keys;
  std::vector<SampleQuery> samples;
  Random64 random(1);
  for (int i = 0; i < 2000; i++) {
    const uint64_t key = random.Next();
    keys.push_back(BigEndian(key));
    // Only whole keys tell them apart, of which a trie is too large.
    for (uint64_t behind = 1; behind <= 9; behind++) {
      const std::string point = BigEndian(key + behind);
      samples.push_back({point, point, true});
    }
  }
  std::sort(keys.begin(), keys.end());
  ProteusSettings settings;
  settings.bits_per_key = 44;
  settings.kinds.clear();
  for (const AmqType* type : AmqTypes()) settings.kinds.push_back(type->kind);
  const OwnBlock block(BuildProteusBlock(keys, settings, samples));
  const std::string design = block->filter()->Report().design;
  EXPECT_EQ(0u, design.find("sorted ")) << design;
  ExpectHolds(*block, keys);
}

}  // namespace ROCKSDB_NAMESPACE::protean
