// SPDX-License-Identifier: Apache-2.0

//  Filters in parts of single files, compared with a sorted vector of the
//  file's keys.

#include <cmath>

#include "filter_policy/filter_block.h"
#include "filter_policy/filter_properties.h"
#include "filter_policy/proteus/proteus.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/sst_file_reader.h"
#include "table/block_based/block_based_table_reader.h"
#include "table/filter_trial.h"
#include "table/rocksdb_internals/block_based_file.h"
#include "tests/sst_damage.h"
#include "tests/table/twin_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr char kInParts[] = "cache_index_and_filter_blocks=true;";

class FilterPartsTest : public ::testing::Test {
 protected:
  FilterPartsTest() : path_(test::PerThreadDBPath("parts.sst")) {}
  ~FilterPartsTest() override {
    file_.reset();
    Env::Default()->DeleteFile(path_).PermitUncheckedError();
  }

  // Writes a file of these keys, and opens its filter.
  void Write(const Keys& keys, const std::string& table) {
    keys_ = keys;
    options_.table_factory = NewTable("ProteanTable", table);
    WriteSstFile(options_, path_, keys);
    ASSERT_OK(BlockBasedFile::OpenApart(options_, path_, &file_));
    filter_ = file_->GetHeldBlock();
    ASSERT_NE(nullptr, filter_);
  }
  const FileRangeFilter& filter() const { return *filter_; }
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
  std::unique_ptr<BlockBasedFile> file_;
  const FilterBlock* filter_ = nullptr;
};

Keys RandomNumbers(size_t count, uint64_t seed) {
  Random64 random(seed);
  Keys keys;
  for (size_t i = 0; i < count; i++) keys.push_back(BigEndian(random.Next()));
  SortUnique(&keys);
  return keys;
}

}  // namespace

TEST_F(FilterPartsTest, NoFalseNegatives) {
  for (const char* policy : {"surf:0:8", "surf:4:4", "surf:0:0", "proteus:12",
                             "prefixbloom:10", "prefixbloom2:14"}) {
    for (const char* size : {"80", "400"}) {
      for (const KeyFamily& family : KeyFamilies(600, 3)) {
        SCOPED_TRACE(std::string(policy) + " " + size + " " + family.name);
        ASSERT_NO_FATAL_FAILURE(Write(
            family.keys, std::string(kInParts) + "filter_policy=" + policy +
                             ";block_size=256;metadata_block_size=" + size));
        ASSERT_OK(filter_->status());
        ASSERT_GT(filter_->directory().parts().size(), 0u);
        ASSERT_EQ(family.keys.size(), filter_->header().num_keys);
        ASSERT_NO_FATAL_FAILURE(
            AskEverything(std::max<size_t>(1, family.keys.size() / 40)));
      }
    }
  }
}

// What a part has in a block beside its layers, at least: an entry, what is
// behind its payload, and the header of one set.
constexpr double kPartOverhead = 45;

// The rate of false positives is that of one filter of as many bits as the
// parts have beside what each of them adds. Where parts are too small for the
// trie that one filter has, some kinds of queries are better with the other
// design, and others worse: then the mean counts.
TEST_F(FilterPartsTest, FalsePositives) {
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
    for (const bool in_parts : {true, false}) {
      policy = name;
      if (bits_per_key > 0) {
        policy += std::to_string(bits_per_key - header_bits);
      }
      policy += settings;
      ASSERT_NO_FATAL_FAILURE(Write(
          keys,
          (in_parts ? kInParts : std::string()) + "filter_policy=" + policy));
      designs[in_parts] = ReportOf(*file_).design;
      if (in_parts) {
        header_bits = 8 *
                      static_cast<double>(filter_->directory().parts().size()) *
                      kPartOverhead / static_cast<double>(keys.size());
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
        rates[in_parts][kind] = static_cast<double>(positive) / kQueries;
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

}  // namespace ROCKSDB_NAMESPACE::protean
