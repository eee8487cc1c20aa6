// SPDX-License-Identifier: Apache-2.0

//  Seek decisions against the truth: all small sets of short keys, under
//  filters of several kinds, for all targets and bounds. Where bounds come
//  from, and what of the outcomes is counted.

#include "table/seek/seek_decision.h"

#include "table/rocksdb_internals/block_based_file.h"
#include "table/seek/seek_statistics.h"
#include "tests/filter_blocks.h"
#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Action = SeekDecision::Action;
using KeySet = std::set<std::string>;

// The strings of at most two letters 'a' and 'c', and these with their
// neighbors, which are never keys.
constexpr const char* kCandidates[] = {"a", "aa", "ac", "c", "ca", "cc"};
const std::vector<std::string>& Targets() {
  static const std::vector<std::string> targets = [] {
    KeySet all = {"", "b", "d"};
    for (const std::string key : kCandidates) {
      all.insert({key, key + '\0', key + "b", key + '\xff'});
    }
    return std::vector<std::string>(all.begin(), all.end());
  }();
  return targets;
}

bool HasKeyIn(const KeySet& keys, const std::string& lo,
              const std::string* hi) {
  const auto key = keys.lower_bound(lo);
  return key != keys.end() && (hi == nullptr || *key < *hi);
}

// From exact to ignorant.
std::vector<std::string> Blocks(const std::vector<std::string>& keys) {
  std::vector<std::string> blocks = {
      BuildSurfBlock(keys, SurfSuffix{0, 0}, FstOptions()),
      BuildSurfBlock(keys, SurfSuffix{0, 8}, FstOptions())};
  for (const ProteusDesign& design :
       {TrieAndSet(8, 16), TrieAndSet(0, 16), TrieAndSet(0, 8),
        TrieAndSet(8, 0), TwoSets(8, 16)}) {
    blocks.push_back(BuildProteusBlock(keys, design, /*bits_per_key=*/14));
  }
  return blocks;
}

// Calls `check` with all sets of keys and their filters.
template <typename Check>
void ForAllFilters(const Check& check) {
  size_t filters = 0;
  for (uint32_t subset = 1; subset < 1u << std::size(kCandidates); subset++) {
    std::vector<std::string> keys;
    for (size_t i = 0; i < std::size(kCandidates); i++) {
      if ((subset >> i & 1) != 0) keys.push_back(kCandidates[i]);
    }
    for (const std::string& bytes : Blocks(keys)) {
      if (bytes.empty()) continue;
      const FilterBlock block{Slice(bytes)};
      ASSERT_OK(block.status());
      SCOPED_TRACE("subset " + std::to_string(subset) + ", filter " +
                   std::to_string(filters));
      check(block, KeySet(keys.begin(), keys.end()));
      if (testing::Test::HasFailure()) return;
      filters++;
    }
  }
  EXPECT_GE(filters, 300u);
}

TEST(SeekDecisionTest, ForwardSeeksAndSeekToFirstMissNoKey) {
  std::set<Action> actions;
  std::set<Action> actions_to_first;
  ForAllFilters([&](const FilterBlock& block, const KeySet& keys) {
    for (const std::string& target : Targets()) {
      for (size_t i = 0; i <= Targets().size(); i++) {
        const std::string* const upper =
            i < Targets().size() ? &Targets()[i] : nullptr;
        const Slice bound(upper == nullptr ? Slice() : Slice(*upper));
        for (const Waiting waiting :
             {Waiting::kForbidden, Waiting::kAllowed, Waiting::kNotAtTarget}) {
          std::string marker;
          const SeekDecision decision =
              DecideSeek(block, target, upper == nullptr ? nullptr : &bound,
                         waiting, &marker);
          actions.insert(decision.action);
          if (decision.action == Action::kEmpty) {
            ASSERT_FALSE(HasKeyIn(keys, target, upper));
            if (decision.has_key_beyond) {
              ASSERT_NE(nullptr, upper);
              ASSERT_TRUE(HasKeyIn(keys, *upper, nullptr));
            }
          } else if (decision.action == Action::kWait) {
            ASSERT_NE(Waiting::kForbidden, waiting);
            ASSERT_GT(marker, target);
            ASSERT_FALSE(HasKeyIn(keys, target, &marker));
            ASSERT_LE(marker, *keys.rbegin());
            ASSERT_TRUE(upper == nullptr || marker < *upper);
            ASSERT_NE(Marker::Purpose::kEnd, decision.purpose);
            if (waiting == Waiting::kNotAtTarget) {
              ASSERT_NE(target + '\0', marker);
            }
          }
        }
      }
      const SeekDecision to_first = DecideSeekToFirst(block, target);
      actions_to_first.insert(to_first.action);
      if (to_first.action == Action::kRead) continue;
      ASSERT_GE(*keys.begin(), target);
      ASSERT_TRUE(to_first.has_key_beyond);
    }
  });
  EXPECT_EQ(3u, actions.size());
  EXPECT_EQ((std::set{Action::kRead, Action::kEmpty}), actions_to_first);
}

TEST(SeekDecisionTest, BackwardSeeksAndSeekToLastMissNoKey) {
  std::set<Action> actions;
  std::set<Action> actions_to_last;
  ForAllFilters([&](const FilterBlock& block, const KeySet& keys) {
    for (const std::string& lower : Targets()) {
      for (const bool known : {false, true}) {
        for (const std::string& target : Targets()) {
          if (target < lower) continue;
          for (const bool inclusive : {false, true}) {
            std::string marker;
            const Slice to(target);
            const SeekDecision decision = DecideSeekBackwards(
                block, &to, inclusive, lower, known, &marker);
            actions.insert(decision.action);
            if (decision.action == Action::kRead) continue;
            const std::string behind = inclusive ? target + '\0' : target;
            ASSERT_FALSE(HasKeyIn(keys, lower, &behind));
            if (decision.action == Action::kWait) {
              ASSERT_TRUE(known);
              ASSERT_EQ(Marker::Purpose::kEnd, decision.purpose);
              ASSERT_LT(marker, lower);
              ASSERT_LT(*keys.begin(), lower);
            } else if (known) {
              ASSERT_GT(*keys.begin(), target);
            }
          }
        }
        std::string marker;
        const SeekDecision to_last =
            DecideSeekBackwards(block, /*target=*/nullptr, /*inclusive=*/true,
                                lower, known, &marker);
        actions_to_last.insert(to_last.action);
        if (to_last.action == Action::kRead) continue;
        ASSERT_LT(*keys.rbegin(), lower);
        ASSERT_EQ(known ? Action::kWait : Action::kEmpty, to_last.action);
        if (known) {
          ASSERT_EQ(Marker::Purpose::kEnd, to_last.purpose);
          ASSERT_EQ(*keys.rbegin(), marker);
        }
      }
    }
  });
  EXPECT_EQ(3u, actions.size());
  EXPECT_EQ(3u, actions_to_last.size());
}

// ---- Moves ----

constexpr SequenceNumber kSequence = 1;

Marker ProbeAt(const std::string& user_key) {
  Marker marker;
  *marker.new_user_key() = user_key;
  marker.Place(Marker::Purpose::kProbe, kSequence);
  return marker;
}

TEST(SeekDecisionTest, MovesMissNoKey) {
  size_t moves = 0;
  size_t stays = 0;
  ForAllFilters([&](const FilterBlock& block, const KeySet& keys) {
    for (const std::string& begin : Targets()) {
      for (const std::string& stop_key : Targets()) {
        if (stop_key < begin) continue;
        for (const auto kind :
             {SearchPosition::Kind::kNone, SearchPosition::Kind::kKey,
              SearchPosition::Kind::kMarker}) {
          Marker marker = ProbeAt(begin);
          if (!MoveOn(block, {kind, stop_key}, kSequence, &marker)) {
            stays++;
            continue;
          }
          moves++;
          const std::string moved = marker.user_key().ToString();
          ASSERT_EQ(Marker::Purpose::kProbe, marker.purpose);
          ASSERT_GE(moved, begin);
          ASSERT_FALSE(HasKeyIn(keys, begin, &moved));
          ASSERT_LE(moved, *keys.rbegin());
        }
      }
    }
  });
  EXPECT_GT(stays, 0u);
  EXPECT_GT(moves, 0u);
}

// A file waits behind the key of another file, or at its marker.
TEST(SeekDecisionTest, ProbesMoveOnToTheirStops) {
  const std::string bytes =
      BuildProteusBlock({"a", "e", "j", "o", "t", "z"}, TrieAndSet(0, 8), 20);
  const FilterBlock block{Slice(bytes)};
  const SearchPosition at_key = {SearchPosition::Kind::kKey, "c"};
  Marker marker = ProbeAt("b");
  EXPECT_TRUE(MoveOn(block, at_key, kSequence, &marker));
  EXPECT_EQ(Slice("c\0", 2), marker.user_key());
  EXPECT_EQ(1, marker.moves);
  marker.moves = Marker::kMaxMoves;
  EXPECT_FALSE(MoveOn(block, at_key, kSequence, &marker));
  // Up to a later key, prefixes are tried.
  for (const auto& [stop, moved] :
       {std::pair(SearchPosition{SearchPosition::Kind::kMarker, "c"}, "c"),
        std::pair(SearchPosition{SearchPosition::Kind::kKey, "f"}, "e")}) {
    marker = ProbeAt("b");
    EXPECT_TRUE(MoveOn(block, stop, kSequence, &marker));
    EXPECT_EQ(moved, marker.user_key());
  }
  // Other markers stay where they are, at a key that no write has.
  for (const auto purpose :
       {Marker::Purpose::kNextKey, Marker::Purpose::kEnd}) {
    *marker.new_user_key() = "b";
    marker.Place(purpose, kSequence);
    EXPECT_EQ(purpose == Marker::Purpose::kEnd, marker.IsEnd());
    EXPECT_FALSE(MoveOn(block, at_key, kSequence, &marker));
    ParsedInternalKey parsed;
    ASSERT_OK(ParseInternalKey(marker.key(), &parsed, /*log_err_key=*/true));
    EXPECT_EQ("b", parsed.user_key);
    EXPECT_EQ(kSequence, parsed.sequence);
    EXPECT_EQ(kTypeValue, parsed.type);
  }
}

// ---- Bounds and outcomes ----

TEST(SeekBoundsTest, TheThreadsBoundsFillTheGaps) {
  const Slice own("d");
  const Slice threads_lower("a");
  const Slice threads_upper("b");
  ReadOptions read_options;
  read_options.iterate_upper_bound = &own;
  SeekBounds bounds;
  bounds.Take(read_options);
  bounds.Add(
      std::make_shared<const ThreadBounds>(&threads_lower, &threads_upper));
  EXPECT_EQ("d", *bounds.upper) << "whichever is narrower";
  EXPECT_FALSE(bounds.stops_at_upper);
  EXPECT_EQ("a", *bounds.lower) << "kept by the seek's bounds alone";
  EXPECT_TRUE(bounds.stops_at_lower);
  bounds.Take(ReadOptions());
  bounds.Add(nullptr);
  EXPECT_EQ(nullptr, bounds.upper);
  EXPECT_EQ(nullptr, bounds.lower);
}

FileDescription DescribeFile() {
  FileDescription description;
  description.properties = std::make_shared<TableProperties>();
  return description;
}

TEST(SeekOutcomesTest, TickersAreThoseOfTheFilesLevel) {
  const Options options;
  const ReadOptions read_options;
  const std::string path = test::PerThreadDBPath("seek_decision_test.sst");
  WriteSstFile(options, path, {"k"});
  std::unique_ptr<BlockBasedFile> sst;
  ASSERT_OK(BlockBasedFile::OpenApart(options, path, &sst));
  FileIterator inner(
      *sst, read_options,
      FileIterator::Arguments{nullptr, nullptr,
                              TableReaderCaller::kUserIterator, false});
  inner.Get()->Seek(
      InternalKey("k", kMaxSequenceNumber, kValueTypeForSeek).Encode());
  OpenFile file("", DescribeFile(), FilterUse::kNone, /*policy=*/nullptr);
  const std::shared_ptr<Statistics> tickers = CreateDBStatistics();
  for (const bool last : {false, true}) {
    SeekOutcomes outcomes(&file, &inner, tickers.get(), last);
    outcomes.CountNegative(SeekKind::kClosed);
    outcomes.CountPassed(SeekKind::kOpen);
    if (!last) continue;
    outcomes.RecordMatch();
    outcomes.RecordMatch();  // of the same seek
  }
  EXPECT_EQ(2u, tickers->getTickerCount(NON_LAST_LEVEL_SEEK_FILTERED));
  EXPECT_EQ(2u, tickers->getTickerCount(LAST_LEVEL_SEEK_FILTERED));
  EXPECT_EQ(1u, tickers->getTickerCount(LAST_LEVEL_SEEK_FILTER_MATCH));
  EXPECT_EQ(0u, tickers->getTickerCount(NON_LAST_LEVEL_SEEK_FILTER_MATCH));
}

TEST(SeekOutcomesTest, UselessWaitsOfOpenSeeksLeadToAPause) {
  OpenFile file("", DescribeFile(), FilterUse::kNone, /*policy=*/nullptr);
  SeekOutcomes outcomes(&file, /*inner=*/nullptr, /*statistics=*/nullptr,
                        /*is_last_level=*/false);
  for (int i = 0; i < 1000; i++) outcomes.CountUselessWait(SeekKind::kClosed);
  EXPECT_TRUE(outcomes.backoff().ShouldWait());
  for (int i = 0; i < 1000; i++) {
    outcomes.CountUselessWait(SeekKind::kOpen);
    outcomes.CountPassed(SeekKind::kOpen);
  }
  EXPECT_TRUE(outcomes.backoff().ShouldWait());
  for (int i = 0; i < 1000; i++) outcomes.CountUselessWait(SeekKind::kOpen);
  EXPECT_FALSE(outcomes.backoff().ShouldWait());
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
