// SPDX-License-Identifier: Apache-2.0

//  Partitioned filters of single files, compared with a sorted vector of the
//  file's keys.

#include <algorithm>
#include <cmath>

#include "filter_policy/filter_block.h"
#include "filter_policy/filter_properties.h"
#include "filter_policy/proteus/proteus.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/sst_file_writer.h"
#include "table/block_based/block_based_table_reader.h"
#include "table/rocksdb_internals/separate_file.h"
#include "table/separate_filter.h"
#include "tests/sst_damage.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr char kDecoupled[] = "decouple_partitioned_filters=true;";
constexpr char kPartitioned[] =
    "index_type=kTwoLevelIndexSearch;partition_filters=true;"
    "format_version=6;";

class PartitionedFilterTest : public ::testing::Test {
 protected:
  PartitionedFilterTest() : path_(test::PerThreadDBPath("parts.sst")) {}
  ~PartitionedFilterTest() override {
    filter_.reset();
    file_.reset();
    Env::Default()->DeleteFile(path_).PermitUncheckedError();
  }

  // Writes a file of these keys, and opens its filter.
  void Write(const Keys& keys, const std::string& table) {
    keys_ = keys;
    options_.table_factory = NewTable("ProteanTable", table);
    SstFileWriter writer(EnvOptions(), options_);
    ASSERT_OK(writer.Open(path_));
    for (const std::string& key : keys) ASSERT_OK(writer.Put(key, "value"));
    ASSERT_OK(writer.Finish());
    Open();
  }
  void Open() {
    filter_.reset();
    ASSERT_OK(SeparateFile::Open(options_, path_, &file_));
    filter_ = SeparateFilter::Open(file_->file());
    ASSERT_NE(nullptr, filter_);
  }
  const FileRangeFilter& filter() const { return *filter_->range_filter(); }
  UserCollectedProperties Properties() const {
    return file_->file()
        .table()
        ->GetTableProperties()
        ->user_collected_properties;
  }
  uint64_t FilterBytes() const {
    return file_->file().table()->GetTableProperties()->filter_size;
  }

  // ---- The truth ----

  // The index of the first key at or above `bound`.
  size_t At(const Slice& bound) const {
    return static_cast<size_t>(
        std::lower_bound(keys_.begin(), keys_.end(), bound,
                         [](const std::string& key, const Slice& to) {
                           return Slice(key).compare(to) < 0;
                         }) -
        keys_.begin());
  }
  size_t CountIn(const Slice& lo, const Slice& hi, bool hi_inclusive) const {
    size_t end = At(hi);
    if (hi_inclusive && end < keys_.size() && hi == keys_[end]) end++;
    const size_t begin = At(lo);
    return end < begin ? 0 : end - begin;
  }

  // ---- Questions ----

  void AskForRange(const std::string& lo, const std::string& hi,
                   bool hi_inclusive) {
    const std::string range =
        "[" + Hex(lo) + ", " + Hex(hi) + (hi_inclusive ? "]" : ")");
    const size_t truth = CountIn(lo, hi, hi_inclusive);
    if (!filter().RangeMayMatch(lo, hi, hi_inclusive)) {
      ASSERT_EQ(0u, truth) << range;
    }
    if (lo > hi) return;
    RangeCount count;
    if (!filter().CountRange(lo, hi, hi_inclusive, &count)) return;
    // What RangeCounter does with the ambiguous keys.
    const auto is_first = [this](const Slice& bound, size_t shared,
                                 const std::string& limit) {
      const size_t at = At(bound);
      return at < keys_.size() &&
             Slice(keys_[at]).starts_with(Slice(bound.data(), shared)) &&
             (limit.empty() || keys_[at] < limit);
    };
    uint64_t counted = count.count;
    bool low_is_below = false;
    if (count.low_ambiguous) {
      low_is_below = !is_first(lo, count.low_shared, count.low_limit);
      if (low_is_below) counted--;
    }
    if (count.high_ambiguous && !(low_is_below && count.count == 1) &&
        !hi_inclusive && is_first(hi, count.high_shared, count.high_limit)) {
      counted--;
    }
    if (!hi_inclusive) {
      ASSERT_EQ(truth, counted) << range;
    }
  }

  void AskForBound(const std::string& target) {
    const size_t at = At(target);
    std::string bound;
    for (const bool quick : {false, true}) {
      const bool found = quick ? filter().QuickLowerBound(target, &bound)
                               : filter().LowerBound(target, &bound);
      if (!found) {
        ASSERT_EQ(keys_.size(), at) << Hex(target);
        continue;
      }
      ASSERT_LE(target, bound);
      ASSERT_EQ(at, At(bound)) << Hex(target) << " to " << Hex(bound);
      std::string again;
      ASSERT_TRUE(quick ? filter().QuickLowerBound(bound, &again)
                        : filter().LowerBound(bound, &again));
      ASSERT_EQ(bound, again) << Hex(target);
    }
  }

  void AskForEnds(const std::string& bound) {
    const size_t at = At(bound);
    const bool is_key = at < keys_.size() && keys_[at] == bound;
    if (at < keys_.size()) {
      ASSERT_TRUE(filter().MayHaveKeyAtOrAbove(bound)) << Hex(bound);
    } else {
      ASSERT_FALSE(filter().HasKeyAtOrAbove(bound)) << Hex(bound);
    }
    if (at > 0 || is_key) {
      ASSERT_TRUE(filter().MayHaveKeyAtOrBelow(bound)) << Hex(bound);
    }
    if (at == 0) {
      ASSERT_FALSE(filter().HasKeyBelow(bound)) << Hex(bound);
    }
  }

  void AskEverything(size_t step) {
    Random rnd(17);
    for (size_t i = 0; i < keys_.size(); i += step) {
      const std::string& key = keys_[i];
      ASSERT_TRUE(filter().KeyMayMatch(key)) << Hex(key);
      const Keys around = Around(key);
      const std::string far = keys_[std::min(
          keys_.size() - 1, i + rnd.Uniform(static_cast<int>(keys_.size())))];
      for (const std::string& lo : around) {
        ASSERT_NO_FATAL_FAILURE(AskForBound(lo));
        ASSERT_NO_FATAL_FAILURE(AskForEnds(lo));
        for (const std::string& hi :
             {around.front(), around.back(), far, Pick(keys_, &rnd) + "x"}) {
          ASSERT_NO_FATAL_FAILURE(AskForRange(lo, hi, rnd.OneIn(2)));
          ASSERT_NO_FATAL_FAILURE(AskForRange(lo, hi, false));
        }
      }
    }
    ASSERT_EQ(Slice(keys_.front()).ToString().substr(0, 64),
              filter().smallest().ToString());
    ASSERT_EQ(keys_.back().substr(0, 64), filter().largest().ToString());
  }

  const std::string path_;
  Options options_;
  Keys keys_;
  std::unique_ptr<SeparateFile> file_;
  std::shared_ptr<const SeparateFilter> filter_;
};

Keys RandomNumbers(size_t count, uint64_t seed) {
  Random64 random(seed);
  Keys keys;
  for (size_t i = 0; i < count; i++) keys.push_back(BigEndian(random.Next()));
  SortUnique(&keys);
  return keys;
}

}  // namespace

TEST_F(PartitionedFilterTest, NoFalseNegatives) {
  for (const char* policy : {"surf:0:8", "surf:4:4", "surf:0:0", "proteus:12",
                             "prefixbloom:10", "prefixbloom2:14"}) {
    for (const char* size : {"80", "400"}) {
      for (const char* decoupled : {"false", "true"}) {
        for (const KeyFamily& family : KeyFamilies(600, 3)) {
          SCOPED_TRACE(std::string(policy) + " " + size + " " + decoupled +
                       " " + family.name);
          ASSERT_NO_FATAL_FAILURE(Write(
              family.keys, std::string(kPartitioned) +
                               "filter_policy=" + policy +
                               ";block_size=256;metadata_block_size=" + size +
                               ";decouple_partitioned_filters=" + decoupled));
          ASSERT_OK(filter_->status());
          ASSERT_GT(filter_->num_parts(), 0u);
          ASSERT_EQ(family.keys.size(), filter_->header().num_keys);
          ASSERT_NO_FATAL_FAILURE(
              AskEverything(std::max<size_t>(1, family.keys.size() / 40)));
        }
      }
    }
  }
}

// RocksDB reads the contents of the parts only after it has asked the builder,
// at the end of the file, how many keys were added since the last part. All
// parts of this file wait for that moment.
TEST_F(PartitionedFilterTest, PartsAreWrittenBeforeRocksDBReadsThem) {
  for (const char* decoupled : {"false", "true"}) {
    ASSERT_NO_FATAL_FAILURE(
        Write(RandomNumbers(20000, 1),
              std::string(kPartitioned) + "filter_policy=proteus:12;" +
                  "decouple_partitioned_filters=" + decoupled));
    EXPECT_OK(filter_->status());
    EXPECT_GT(filter_->num_parts(), 4u);
    // One design for all.
    const std::string design = PropertyText(Properties(), kDesignProperty);
    EXPECT_EQ(std::string::npos, design.find("more")) << design;
    EXPECT_FALSE(design.empty());
  }
}

TEST_F(PartitionedFilterTest, PartsHaveTheSizeThatIsAskedFor) {
  for (const char* policy : {"proteus:12", "proteus:16", "prefixbloom:10"}) {
    for (const size_t size : {1024u, 4096u}) {
      SCOPED_TRACE(policy + std::string(" ") + std::to_string(size));
      ASSERT_NO_FATAL_FAILURE(
          Write(RandomNumbers(50000, 2),
                std::string(kPartitioned) +
                    "decouple_partitioned_filters=true;"
                    "filter_policy=" +
                    policy + ";metadata_block_size=" + std::to_string(size)));
      const double bits = std::stod(
          std::string(policy).substr(std::string(policy).find(':') + 1));
      const double parts = static_cast<double>(filter_->num_parts());
      // RocksDB asks for a tenth less (block_size_deviation).
      EXPECT_NEAR(0.9 * static_cast<double>(size),
                  bits / 8 * static_cast<double>(keys_.size()) / parts,
                  0.05 * static_cast<double>(size));
      EXPECT_NEAR(bits, PropertyNumber(Properties(), kBitsPerKeyProperty, 0),
                  0.02 * bits);
    }
  }
}

// Parts have the size that is asked for, whether or not they are cut where the
// index is.
TEST_F(PartitionedFilterTest, PartsAreEven) {
  for (const char* policy : {"proteus:12", "surf:0:8"}) {
    size_t parts[2];
    for (const bool decoupled : {false, true}) {
      ASSERT_NO_FATAL_FAILURE(
          Write(RandomNumbers(100000, 11),
                std::string(kPartitioned) + (decoupled ? kDecoupled : "") +
                    "block_size=1000;filter_policy=" + policy));
      parts[decoupled] = filter_->num_parts();
    }
    EXPECT_GT(parts[1], 30u);
    EXPECT_LE(parts[0], parts[1]) << policy;
  }
}

// RocksDB is told how many entries the parts have, with the prefixes that it
// adds, although it is not told so before each key.
TEST_F(PartitionedFilterTest, RocksDBCountsTheEntries) {
  for (const size_t prefix : {0, 1, 4}) {
    for (const bool decoupled : {false, true}) {
      if (prefix > 0) {
        options_.prefix_extractor.reset(NewFixedPrefixTransform(prefix));
      }
      ASSERT_NO_FATAL_FAILURE(
          Write(RandomNumbers(50000, 12),
                std::string(kPartitioned) + (decoupled ? kDecoupled : "") +
                    "block_size=1000;metadata_block_size=1000;"
                    "filter_policy=surf:0:8"));
      EXPECT_GT(filter_->num_parts(), 30u);
      EXPECT_EQ(filter_->header().num_keys,
                file_->file().table()->GetTableProperties()->num_filter_entries)
          << prefix;
    }
  }
}

namespace {

// The most bytes that a part of Proteus has beside its layers.
size_t PartHeaders(const Keys& keys) {
  FilterBlockHeader header;
  header.is_part = true;
  header.smallest = keys.front();
  header.largest = keys.back();
  return FilterBlockSize(header, ProteusHeader::kMaxPartSize);
}

}  // namespace

// The rate of false positives is that of one filter of as many bits as the
// parts have beside their headers. Headers take up to 4 % of parts of 4 KB,
// which costs a fifth more false positives where one of two sets decides. Where
// parts are too small for the trie that a whole filter has, some kinds of
// queries are better with the other design, and others worse: then the mean
// counts.
TEST_F(PartitionedFilterTest, FalsePositives) {
  constexpr int kQueries = 20000;
  const Keys keys = RandomNumbers(100000, 3);
  struct {
    std::string name;
    double bits_per_key;  // 0 if the policy takes as many as it needs
    std::string settings;
  } const kPolicies[] = {
      {"proteus:", 12, ""}, {"proteus:", 12, ":bloom"}, {"surf:0:4", 0, ""}};
  for (const auto& [name, bits_per_key, settings] : kPolicies) {
    std::string policy;
    std::string designs[2];
    // The kinds are points, ranges anywhere, and short ranges behind keys.
    double rates[2][3];
    double header_bits = 0;  // of the parts, per key
    for (const bool partitioned : {true, false}) {
      policy = name;
      if (bits_per_key > 0) {
        policy += std::to_string(bits_per_key - header_bits);
      }
      policy += settings;
      ASSERT_NO_FATAL_FAILURE(
          Write(keys, (partitioned ? std::string(kPartitioned) + kDecoupled
                                   : std::string()) +
                          "filter_policy=" + policy));
      designs[partitioned] = filter_->report().design;
      if (partitioned) {
        header_bits = 8 * static_cast<double>(filter_->num_parts()) *
                      static_cast<double>(PartHeaders(keys)) /
                      static_cast<double>(keys.size());
      }
      for (const int kind : {0, 1, 2}) {
        Random64 random(4);
        int asked = 0;
        int positive = 0;
        while (asked < kQueries) {
          const uint64_t width = kind == 0 ? 1 : kind == 1 ? 1 << 20 : 32;
          uint64_t number = random.Next();
          if (kind == 2) {
            const std::string& key = keys[number % keys.size()];
            number = EndianSwapValue(DecodeFixed64(key.data())) + 1 +
                     random.Uniform(1000);
          }
          const std::string lo = BigEndian(number);
          const std::string hi = BigEndian(number + width);
          if (number + width < number || CountIn(lo, hi, false) > 0) continue;
          asked++;
          positive += kind == 0 ? filter().KeyMayMatch(lo)
                                : filter().RangeMayMatch(lo, hi, false);
        }
        rates[partitioned][kind] = static_cast<double>(positive) / kQueries;
      }
    }
    const auto expect_alike = [&](double whole, double parts) {
      const double noise = 3 * std::sqrt(whole / kQueries);
      EXPECT_LE(parts, std::max(1.1 * whole, whole + 0.002) + noise)
          << policy << ": " << designs[0] << "; in parts " << designs[1];
    };
    double sums[2] = {0, 0};
    for (const int kind : {0, 1, 2}) {
      sums[0] += rates[0][kind];
      sums[1] += rates[1][kind];
      if (designs[0] == designs[1]) {
        expect_alike(rates[0][kind], rates[1][kind]);
      }
    }
    expect_alike(sums[0] / 3, sums[1] / 3);
  }
}

// ---- Damage ----

namespace {

// The handles of all parts but the last, in order.
std::vector<BlockHandle> HandlesOf(const BlockBasedFile& file) {
  std::vector<BlockHandle> handles;
  const ReadOptions options;
  BlockCacheLookupContext context(TableReaderCaller::kUncategorized);
  FilterParts parts(file, options, &context);
  EXPECT_OK(parts.Open());
  parts.SeekToFirst();
  for (uint64_t begin = parts.offset(); parts.Valid(); parts.Next()) {
    if (parts.offset() == begin) continue;
    handles.emplace_back(
        begin, parts.offset() - begin - BlockBasedTable::kBlockTrailerSize);
    begin = parts.offset();
  }
  return handles;
}

}  // namespace

TEST_F(PartitionedFilterTest, ADamagedPartMayMatch) {
  for (const char* policy : {"proteus:12", "surf:0:8"}) {
    for (const bool right_checksum : {true, false}) {
      SCOPED_TRACE(policy);
      ASSERT_NO_FATAL_FAILURE(Write(
          RandomNumbers(20000, 5),
          std::string(kPartitioned) + kDecoupled + "filter_policy=" + policy));
      const std::vector<BlockHandle> handles = HandlesOf(file_->file());
      ASSERT_GT(handles.size(), 3u);
      FilterLocation location;
      ASSERT_NO_FATAL_FAILURE(FindFilter(
          path_, &location, "partitionedfilter.protean.RangeFilter"));
      ASSERT_NO_FATAL_FAILURE(
          ChangeBlock(path_, handles[1], location.footer, right_checksum,
                      [](std::string* bytes) { (*bytes)[100] ^= 0x10; }));
      Open();
      EXPECT_FALSE(filter_->status().ok());
      ASSERT_NE(nullptr, filter_->range_filter());
      // The range counter reads the file where a part cannot count.
      size_t denied = 0;
      Random64 random(6);
      for (const std::string& key : keys_) {
        ASSERT_TRUE(filter().KeyMayMatch(key));
        ASSERT_TRUE(filter().RangeMayMatch(key, key, true));
        const std::string absent = BigEndian(random.Next());
        if (!filter().KeyMayMatch(absent)) denied++;
        ASSERT_NO_FATAL_FAILURE(AskForBound(absent));
      }
      // One part of six or so.
      EXPECT_GT(denied, keys_.size() / 2);
      EXPECT_LT(denied, keys_.size() * 19 / 20);
    }
  }
}

// Two parts have changed places, and their checksums are right.
TEST_F(PartitionedFilterTest, APartOfOtherKeysMayMatch) {
  options_.compression = kNoCompression;
  ASSERT_NO_FATAL_FAILURE(
      Write(RandomNumbers(20000, 7), std::string(kPartitioned) +
                                         "filter_policy=proteus:12;" +
                                         "decouple_partitioned_filters=true"));
  const std::vector<BlockHandle> handles = HandlesOf(file_->file());
  ASSERT_GT(handles.size(), 3u);
  ASSERT_EQ(handles[1].size(), handles[2].size());
  std::string contents;
  ASSERT_OK(ReadFileToString(Env::Default(), path_, &contents));
  FilterLocation location;
  ASSERT_NO_FATAL_FAILURE(
      FindFilter(path_, &location, "partitionedfilter.protean.RangeFilter"));
  for (const int i : {1, 2}) {
    const BlockHandle& other = handles[static_cast<size_t>(3 - i)];
    ASSERT_NO_FATAL_FAILURE(
        ChangeBlock(path_, handles[static_cast<size_t>(i)], location.footer,
                    /*right_checksum=*/true, [&](std::string* bytes) {
                      *bytes = contents.substr(other.offset(), other.size());
                    }));
  }
  Open();
  EXPECT_TRUE(filter_->status().IsCorruption()) << filter_->status().ToString();
  for (const std::string& key : keys_) {
    ASSERT_TRUE(filter().RangeMayMatch(key, key + '\0', false));
    ASSERT_NO_FATAL_FAILURE(AskForBound(key));
  }
}

namespace {

constexpr char kPartsIndex[] = "partitionedfilter.protean.RangeFilter";

// An index block in which each entry has a restart point: the entries, and the
// rest of the block, which stays behind them.
struct IndexEntries {
  explicit IndexEntries(const std::string& block) : size(block.size()) {
    const size_t count = DecodeFixed32(&block[size - 4]);
    const size_t restarts = size - 4 * (count + 1);
    for (size_t i = 0; i < count; i++) {
      const size_t begin = DecodeFixed32(&block[restarts + 4 * i]);
      const size_t end = i + 1 < count
                             ? DecodeFixed32(&block[restarts + 4 * (i + 1)])
                             : restarts;
      entries.push_back(block.substr(begin, end - begin));
    }
  }
  // A block of the same size; bytes that no entry needs come first.
  std::string Block() const {
    std::string all;
    std::string restarts;
    size_t used = 4 * (entries.size() + 1);
    for (const std::string& entry : entries) used += entry.size();
    all.assign(size - used, '\0');
    for (const std::string& entry : entries) {
      PutFixed32(&restarts, static_cast<uint32_t>(all.size()));
      all += entry;
    }
    PutFixed32(&restarts, static_cast<uint32_t>(entries.size()));
    return all + restarts;
  }

  const size_t size;
  std::vector<std::string> entries;
};

// Opens a file without reading its filter.
class LazyTables : public BlockBasedTableFactory {
 public:
  LazyTables(const BlockBasedTableOptions& options,
             std::unique_ptr<BlockBasedFile>* opened)
      : BlockBasedTableFactory(options), opened_(opened) {}

  using BlockBasedTableFactory::NewTableReader;
  Status NewTableReader(const ReadOptions& read_options,
                        const TableReaderOptions& table_reader_options,
                        std::unique_ptr<RandomAccessFileReader>&& file,
                        uint64_t file_size, std::unique_ptr<TableReader>*,
                        bool /*prefetch*/) const override {
    return BlockBasedFile::Open(*this, read_options, table_reader_options,
                                std::move(file), file_size,
                                /*prefetch=*/false, opened_);
  }

 private:
  std::unique_ptr<BlockBasedFile>* const opened_;
};

}  // namespace

// An index that lacks a part, with a right checksum, does not hide its keys.
TEST_F(PartitionedFilterTest, APartThatTheIndexLacksMayHoldAnyKey) {
  for (const char* policy : {"proteus:12", "surf:0:8"}) {
    for (const int missing : {0, 1, 3, -1}) {
      SCOPED_TRACE(policy + (" " + std::to_string(missing)));
      ASSERT_NO_FATAL_FAILURE(Write(
          RandomNumbers(20000, 9),
          std::string(kPartitioned) + kDecoupled + "filter_policy=" + policy));
      ASSERT_NO_FATAL_FAILURE(ChangeFilter(
          path_, /*right_checksum=*/true,
          [missing](std::string* bytes) {
            IndexEntries index(*bytes);
            ASSERT_GT(index.entries.size(), 4u);
            index.entries.erase(missing < 0 ? index.entries.end() - 1
                                            : index.entries.begin() + missing);
            *bytes = index.Block();
          },
          kPartsIndex));
      Open();
      EXPECT_TRUE(filter_->status().IsCorruption());
      size_t denied = 0;
      for (size_t i = 0; i < keys_.size(); i += 7) {
        const std::string& key = keys_[i];
        ASSERT_TRUE(filter().KeyMayMatch(key)) << i;
        ASSERT_TRUE(filter_->MayMatch(key, key)) << i;
        ASSERT_TRUE(filter().RangeMayMatch(key, key, true)) << i;
        ASSERT_TRUE(filter().MayHaveKeyAtOrAbove(key)) << i;
        ASSERT_TRUE(filter().MayHaveKeyAtOrBelow(key)) << i;
        std::string bound;
        for (const std::string& target : {key, keys_[i / 2]}) {
          ASSERT_TRUE(filter().LowerBound(target, &bound)) << i;
          ASSERT_LE(At(bound), i) << i;
        }
        const std::string absent = key + "x";
        denied += !filter().KeyMayMatch(absent);
        ASSERT_NO_FATAL_FAILURE(AskForRange(key,
                                            keys_[keys_.size() - 1 - i / 2],
                                            /*hi_inclusive=*/false));
      }
      EXPECT_GT(denied, 0u) << "the other parts filter";
    }
  }
}

// RocksDB's iterator over the index ends where an entry cannot be read: that is
// not the end of the keys.
TEST_F(PartitionedFilterTest, AnEntryThatCannotBeReadHidesNoPart) {
  int opened = 0;
  for (const size_t damaged : {0, 2, 3, 5}) {
    ASSERT_NO_FATAL_FAILURE(Write(
        RandomNumbers(20000, 10),
        std::string(kPartitioned) + kDecoupled + "filter_policy=surf:0:8"));
    ASSERT_NO_FATAL_FAILURE(ChangeFilter(
        path_, /*right_checksum=*/true,
        [damaged](std::string* bytes) {
          IndexEntries index(*bytes);
          ASSERT_GT(index.entries.size(), 5u);
          index.entries[damaged][0] = 100;  // bytes shared with no entry
          *bytes = index.Block();
        },
        kPartsIndex));
    BlockBasedTableOptions table =
        *options_.table_factory->GetOptions<BlockBasedTableOptions>();
    table.cache_index_and_filter_blocks = true;
    std::unique_ptr<BlockBasedFile> lazy;
    Options options = options_;
    options.table_factory = std::make_shared<LazyTables>(table, &lazy);
    SstFileReader reader(options);
    ASSERT_OK(reader.Open(path_));
    const ReadOptions read_options;
    BlockCacheLookupContext context(TableReaderCaller::kUncategorized);
    PartitionedFilter filter(*lazy, read_options, &context,
                             /*in_order=*/true, /*reports=*/nullptr);
    if (!filter.Open().ok()) continue;
    opened++;
    for (size_t i = 0; i < keys_.size(); i += 11) {
      const std::string& key = keys_[i];
      ASSERT_TRUE(filter.KeyMayMatch(key)) << i;
      ASSERT_TRUE(filter.RangeMayMatch(key, key, true)) << i;
      ASSERT_TRUE(filter.MayHaveKeyAtOrAbove(key)) << i;
      std::string bound;
      ASSERT_TRUE(filter.LowerBound(key, &bound)) << i;
      ASSERT_EQ(key, bound);
    }
  }
  EXPECT_GT(opened, 1);
}

TEST_F(PartitionedFilterTest, ADamagedIndexIsNoFilter) {
  ASSERT_NO_FATAL_FAILURE(
      Write(RandomNumbers(20000, 8),
            std::string(kPartitioned) + "filter_policy=surf:0:8"));
  ASSERT_NO_FATAL_FAILURE(ChangeFilter(
      path_, /*right_checksum=*/false,
      [](std::string* bytes) { (*bytes)[20] ^= 0x10; },
      "partitionedfilter.protean.RangeFilter"));
  filter_.reset();
  ASSERT_OK(SeparateFile::Open(options_, path_, &file_));
  filter_ = SeparateFilter::Open(file_->file());
  EXPECT_TRUE(filter_ == nullptr || filter_->range_filter() == nullptr);
}

}  // namespace ROCKSDB_NAMESPACE::protean
