// SPDX-License-Identifier: Apache-2.0

//  Whole filters in segments, compared with a sorted vector of the keys.

#include "filter_policy/segments/segmented_filter.h"

#include <algorithm>

#include "filter_policy/filter_bits_builder.h"
#include "filter_policy/filter_properties.h"
#include "test_util/testharness.h"
#include "tests/filter_blocks.h"
#include "tests/fuzz/block_contracts.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Keys = std::vector<std::string>;

// A builder that wants to be finished as a segment whenever it is asked.
class SegmentedSurfBuilder : public SurfBuilder {
 public:
  using SurfBuilder::SurfBuilder;
  bool IsFull() const override { return true; }
};

class SegmentedFilterTest : public ::testing::Test {
 protected:
  std::unique_ptr<FilterBitsBuilder> NewBuilder(FilterKind kind) {
    return NewFilterBitsBuilder(
        kind,
        [kind]() -> std::unique_ptr<RangeFilterBuilder> {
          if (kind == kSurfKind) {
            return std::make_unique<SegmentedSurfBuilder>(SurfSuffix{0, 8},
                                                          FstOptions());
          }
          ProteusSettings settings;
          settings.max_key_memory = 1000;
          return std::make_unique<ProteusBuilder>(settings,
                                                  ProteusBuilder::Samples());
        },
        FilterBuildingContext(table_options_), built_);
  }

  // Builds the filter of these keys, each of which comes as often as given.
  void Build(FilterKind kind, const Keys& keys, int times = 1) {
    keys_ = keys;
    const std::unique_ptr<FilterBitsBuilder> builder = NewBuilder(kind);
    for (const std::string& key : keys) {
      for (int i = 0; i < times; i++) builder->AddKey(key);
    }
    EXPECT_EQ(keys.size(), builder->EstimateEntriesAdded());
    bytes_ = Finish(builder.get());
    EXPECT_EQ(keys.size(), builder->EstimateEntriesAdded());
    EXPECT_OK(builder->MaybePostVerify(bytes_));
    block_ = std::make_unique<FilterBlock>(bytes_);
    ASSERT_OK(block_->status());
    ASSERT_TRUE(block_->header().is_segmented);
    EXPECT_EQ(keys.size(), block_->header().num_keys);
  }
  const SegmentedFilter& segments() const {
    return static_cast<const SegmentedFilter&>(*block_->filter());
  }
  // Indexes of keys, those around the borders of segments among them.
  std::vector<size_t> Places() const {
    std::vector<size_t> places;
    for (size_t i = 0; i < keys_.size(); i += 1 + keys_.size() / 997) {
      places.push_back(i);
    }
    uint64_t before = 0;
    for (size_t i = 0; i < segments().num_segments(); i++) {
      before += segments().segment(i).header().num_keys;
      for (size_t place = before - 2; place < before + 2; place++) {
        if (place < keys_.size()) places.push_back(place);
      }
    }
    return places;
  }

  void AskEverything() {
    Random rnd(7);
    std::string end;
    for (const size_t place : Places()) {
      const std::string& key = keys_[place];
      ASSERT_TRUE(block_->KeyMayMatch(key)) << Hex(key);
      ASSERT_TRUE(block_->PrefixMayMatch(
          Slice(key.data(), rnd.Uniform(static_cast<int>(key.size()) + 1))));
      const std::string& far =
          keys_[rnd.Uniform(static_cast<int>(keys_.size()))];
      for (const std::string& lo : Around(key)) {
        ASSERT_TRUE(LowerBoundHolds(*block_, keys_, lo)) << Hex(lo);
        for (const std::string& hi : {key, key + '\0', far}) {
          for (const bool inclusive : {false, true})
            AskRange(lo, hi, inclusive);
        }
      }
    }
  }

  void AskRange(const std::string& lo, const std::string& hi, bool inclusive) {
    const auto first = std::lower_bound(keys_.begin(), keys_.end(), lo);
    const auto behind = inclusive
                            ? std::upper_bound(keys_.begin(), keys_.end(), hi)
                            : std::lower_bound(keys_.begin(), keys_.end(), hi);
    const bool holds = first < behind;
    ASSERT_TRUE(!holds || block_->RangeMayMatch(lo, hi, inclusive))
        << Hex(lo) << " " << Hex(hi);
    RangeCount count;
    if (lo > hi || !block_->CountRange(lo, hi, inclusive, &count)) return;
    const auto truth =
        static_cast<uint64_t>(std::max<ptrdiff_t>(behind - first, 0));
    ASSERT_GE(count.count, truth) << Hex(lo) << " " << Hex(hi);
    ASSERT_LE(count.count, truth + count.low_ambiguous + count.high_ambiguous)
        << Hex(lo) << " " << Hex(hi);
  }

  BlockBasedTableOptions table_options_;
  std::shared_ptr<FinishedFilter> built_ = std::make_shared<FinishedFilter>();
  Keys keys_;
  std::string bytes_;
  std::unique_ptr<FilterBlock> block_;
};

Keys RandomNumbers(size_t count) {
  Random64 random(5);
  Keys keys;
  for (size_t i = 0; i < count; i++) keys.push_back(BigEndian(random.Next()));
  SortUnique(&keys);
  return keys;
}

// The bytes of all families in one file: more than one segment of them.
Keys AllFamilies() {
  Keys keys;
  for (const KeyFamily& family : KeyFamilies(3000, 11)) {
    keys.insert(keys.end(), family.keys.begin(), family.keys.end());
  }
  SortUnique(&keys);
  return keys;
}

}  // namespace

TEST_F(SegmentedFilterTest, NoFalseNegatives) {
  for (const FilterKind kind : {kProteusKind, kSurfKind}) {
    for (const Keys& keys : {RandomNumbers(60000), AllFamilies()}) {
      ASSERT_NO_FATAL_FAILURE(Build(kind, keys));
      EXPECT_GT(segments().num_segments(), 3u);
      ASSERT_NO_FATAL_FAILURE(AskEverything());
    }
  }
}

// Several versions of the last key of a segment do not begin the next one.
TEST_F(SegmentedFilterTest, KeysMayBeRepeated) {
  for (const int times : {2, 5}) {
    ASSERT_NO_FATAL_FAILURE(Build(kSurfKind, RandomNumbers(30000), times));
    ASSERT_NO_FATAL_FAILURE(AskEverything());
  }
}

TEST_F(SegmentedFilterTest, Batches) {
  ASSERT_NO_FATAL_FAILURE(Build(kProteusKind, RandomNumbers(60000)));
  Random64 random(9);
  for (const bool sorted : {true, false}) {
    Keys asked;
    for (int i = 0; i < 500; i++) {
      asked.push_back(i % 2 == 0 ? keys_[random.Uniform(keys_.size())]
                                 : BigEndian(random.Next()));
    }
    if (sorted) std::sort(asked.begin(), asked.end());
    std::vector<Slice> slices(asked.begin(), asked.end());
    std::vector<Slice*> pointers;
    for (Slice& slice : slices) pointers.push_back(&slice);
    const std::unique_ptr<bool[]> answers(new bool[asked.size()]);
    block_->KeysMayMatch(asked.size(), pointers.data(), answers.get());
    for (size_t i = 0; i < asked.size(); i++) {
      EXPECT_EQ(block_->KeyMayMatch(asked[i]), answers[i]) << i;
    }
  }
}

// The properties are those of all segments, and the size is the one asked for.
TEST_F(SegmentedFilterTest, Properties) {
  ASSERT_NO_FATAL_FAILURE(Build(kProteusKind, RandomNumbers(60000)));
  EXPECT_EQ("Proteus", built_->properties[kKindProperty]);
  EXPECT_NE("", built_->properties[kDesignProperty]);
  const double bits = 8.0 * static_cast<double>(bytes_.size()) / 60000;
  EXPECT_LE(bits, 12 * 1.02);
  EXPECT_GE(bits, 12 * 0.95);
}

// A key that is not above those of the segments before comes in no order that a
// filter could hold.
TEST_F(SegmentedFilterTest, KeysInNoOrder) {
  for (const bool at_the_end : {false, true}) {
    Keys keys = RandomNumbers(30000);
    const size_t place = keys.size() - (at_the_end ? 1 : 5000);
    keys[place] = "";
    const std::unique_ptr<FilterBitsBuilder> builder = NewBuilder(kProteusKind);
    for (const std::string& key : keys) builder->AddKey(key);
    const std::string bytes = Finish(builder.get());
    const FilterBlock block(bytes);
    ASSERT_OK(block.status());
    EXPECT_FALSE(block.CanFilter());
    EXPECT_EQ(keys.size(), block.header().num_keys);
    EXPECT_TRUE(block.KeyMayMatch("absent"));
    EXPECT_EQ("none", built_->properties[kKindProperty]);
  }
}

// Whatever a directory says, the block is refused or keeps its promises.
TEST_F(SegmentedFilterTest, DamagedDirectories) {
  const Keys keys = RandomNumbers(300);
  const std::string intact =
      BuildSegmentedProteus(keys, 100, TrieAndSet(8, 40), 40, {1, 2});
  ASSERT_EQ(3u,
            static_cast<const SegmentedFilter&>(*FilterBlock(intact).filter())
                .num_segments());
  const Keys asked = {keys[0],   keys[99], keys[100], keys[150],
                      keys[299], "",       "\xff"};
  const size_t payload = DecodeFixed32(intact.data() + kPayloadOffset);
  int accepted = 0;
  for (size_t at = payload; at < payload + 8 + 3 * 16 + 3 * 8; at++) {
    for (const int change : {1, 0x10, 0x80, 0xff}) {
      std::string damaged = intact;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      const GuardedBlock copy(WithRightChecksum(damaged), 1);
      const FilterBlock block(copy.slice());
      const BlockExam exam = Examine(block, asked, 1);
      EXPECT_EQ(nullptr, exam.broken) << at << ": " << exam.broken;
      accepted += block.status().ok();
    }
  }
  // Zero bytes, and ends that are just as right.
  EXPECT_LT(accepted, 200);
  // A segment less.
  std::string fewer = intact;
  EncodeFixed32(&fewer[payload], 2);
  EXPECT_TRUE(FilterBlock(WithRightChecksum(fewer)).status().IsCorruption());
}

}  // namespace ROCKSDB_NAMESPACE::protean
