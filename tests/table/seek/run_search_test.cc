// SPDX-License-Identifier: Apache-2.0

//  The parts of a search, over members that a test moves by hand.

#include "table/seek/run_search.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

struct Recorded {
  std::string lo;
  std::string hi;
  bool hi_inclusive;
  bool operator==(const Recorded& other) const {
    return lo == other.lo && hi == other.hi &&
           hi_inclusive == other.hi_inclusive;
  }
};

class FakeMember : public SearchMember {
 public:
  explicit FakeMember(const ReadOptions& read_options)
      : handle(this, /*file=*/this) {
    handle.Join(read_options);
  }
  ~FakeMember() { Leave(); }
  // The search must not reach the member any more.
  void Leave() {
    handle.Leave();
    has_left = true;
  }

  SearchPosition Position() const override {
    EXPECT_FALSE(has_left);
    if (!valid) return {};
    return {
        waiting ? SearchPosition::Kind::kMarker : SearchPosition::Kind::kKey,
        key};
  }
  void RecordEmptyRange(const Slice& lo, const Slice& hi,
                        bool hi_inclusive) const override {
    EXPECT_FALSE(has_left);
    ranges.push_back({lo.ToString(), hi.ToString(), hi_inclusive});
  }
  void RecordNothingFrom(const Slice& target) const override {
    EXPECT_FALSE(has_left);
    nothing_from.push_back(target.ToString());
  }

  void SeekTo(const Slice& target, const std::string& found,
              bool waits = false) {
    handle.BeginSeek(&target);
    key = found;
    valid = !found.empty();
    waiting = waits;
  }

  bool has_left = false;
  bool valid = false;
  bool waiting = false;
  std::string key;
  mutable std::vector<Recorded> ranges;
  mutable std::vector<std::string> nothing_from;
  SearchHandle handle;
};

class RunSearchTest : public testing::Test {
 protected:
  std::unique_ptr<FakeMember> NewMember() {
    return std::make_unique<FakeMember>(read_options_);
  }

  const ReadOptions read_options_;
};

TEST_F(RunSearchTest, MembersWithTheSameReadOptionsShareASearch) {
  const auto a = NewMember();
  EXPECT_EQ(RunSearch::Of(read_options_), RunSearch::Of(read_options_));
  const ReadOptions others;
  EXPECT_NE(RunSearch::Of(read_options_), RunSearch::Of(others));
}

TEST_F(RunSearchTest, ASearchEndsWithItsLastMember) {
  auto a = NewMember();
  auto b = NewMember();
  const std::weak_ptr<RunSearch> search = RunSearch::Of(read_options_);
  a->SeekTo("k", "k");
  b->SeekTo("k", "k");
  EXPECT_EQ(2u, search.lock()->runs());
  a.reset();
  EXPECT_EQ(1u, search.lock()->runs());
  b.reset();
  EXPECT_TRUE(search.expired());
}

// Members leave in any order, in the middle of anything. Here they live on, so
// that a search that reaches one of them is noticed.
TEST_F(RunSearchTest, NoMemberIsReachedAfterItHasLeft) {
  for (size_t left = 0; left < 4; left++) {
    std::vector<std::unique_ptr<FakeMember>> members;
    for (size_t i = 0; i < 4; i++) {
      members.push_back(NewMember());
      members[i]->SeekTo("k", "k" + std::to_string(i), /*waits=*/i % 2 == 0);
      members[i]->handle.Watch("k", /*backwards=*/false, /*inclusive=*/true);
    }
    members[left]->Leave();
    for (const auto& member : members) {
      if (member->has_left) continue;
      (void)member->handle.NextStop("k");
      member->handle.Follow();
    }
    for (const auto& member : members) {
      if (!member->has_left) member->SeekTo("l", "l");
    }
  }
}

// An iterator may join its search behind its seek.
TEST_F(RunSearchTest, NoMemberIsReachedThatHasLeftWithoutASeek) {
  const auto a = NewMember();
  const auto late = NewMember();
  a->SeekTo("k", "m");
  late->key = "p";
  late->valid = true;
  late->handle.Watch("k", /*backwards=*/false, /*inclusive=*/true);
  late->Leave();
  a->SeekTo("l", "m");
}

TEST_F(RunSearchTest, StopsAtTheNearestKeyAndElseAtTheNextMarker) {
  using Kind = SearchPosition::Kind;
  const auto a = NewMember();
  const auto b = NewMember();
  const auto c = NewMember();
  a->SeekTo("k", "m", /*waits=*/true);
  EXPECT_EQ(Kind::kNone, a->handle.NextStop("m").kind);
  b->SeekTo("k", "m", /*waits=*/true);
  EXPECT_EQ(Kind::kNone, a->handle.NextStop("m").kind) << "not further on";
  b->SeekTo("k", "n", /*waits=*/true);
  a->SeekTo("k", "m", /*waits=*/true);
  SearchPosition stop = a->handle.NextStop("m");
  EXPECT_EQ(Kind::kMarker, stop.kind);
  EXPECT_EQ("n", stop.user_key);
  c->SeekTo("k", "p");
  stop = a->handle.NextStop("m");
  EXPECT_EQ(Kind::kKey, stop.kind);
  EXPECT_EQ("p", stop.user_key);
  b->SeekTo("k", "m");
  stop = a->handle.NextStop("m");
  EXPECT_EQ(Kind::kKey, stop.kind) << "a key at the marker counts";
  EXPECT_EQ("m", stop.user_key);
  b->valid = false;
  EXPECT_EQ("p", a->handle.NextStop("m").user_key);
}

// How many runs are too many doubles whenever none of them is idle.
TEST_F(RunSearchTest, IdleRunsAreSetAsideAndComeBack) {
  constexpr size_t kIdle = OpenRuns::kMinCrowdedSize;
  const auto search = RunSearch::Of(read_options_);
  std::vector<std::unique_ptr<FakeMember>> idle;
  for (size_t i = 0; i < kIdle; i++) {
    idle.push_back(NewMember());
    idle.back()->SeekTo("a", "b");
  }
  const auto busy = NewMember();
  for (uint64_t i = 0; i <= OpenRuns::kMaxIdleRounds; i++) {
    busy->SeekTo("k" + std::to_string(i), "l");
  }
  EXPECT_EQ(kIdle + 1, search->runs());
  std::vector<std::unique_ptr<FakeMember>> fresh;
  busy->SeekTo("m", "m");
  while (search->runs() < 2 * kIdle) {
    fresh.push_back(NewMember());
    fresh.back()->SeekTo("m", "m");
  }
  busy->SeekTo("n", "n");
  EXPECT_EQ(fresh.size() + 1, search->runs());
  for (const auto& member : idle) member->SeekTo("n", "n");
  EXPECT_EQ(2 * kIdle, search->runs());
}

TEST_F(RunSearchTest, SeeksInVainAreSampledWhenTheNextRoundBegins) {
  const auto a = NewMember();
  const auto b = NewMember();
  a->SeekTo("k", "p");
  a->handle.Watch("k", /*backwards=*/false, /*inclusive=*/true);
  b->SeekTo("k", "m");
  b->handle.Watch("k", /*backwards=*/false, /*inclusive=*/true);
  EXPECT_TRUE(a->ranges.empty());
  a->SeekTo("q", "r");
  // The search ended at "m", which is a key of b.
  EXPECT_EQ(std::vector<Recorded>({{"k", "m", true}}), a->ranges);
  EXPECT_TRUE(b->ranges.empty());
}

TEST_F(RunSearchTest, BackwardSeeksInVainAreSampled) {
  const auto a = NewMember();
  const auto b = NewMember();
  a->SeekTo("k", "d");
  a->handle.Watch("k", /*backwards=*/true, /*inclusive=*/false);
  b->SeekTo("k", "h");
  b->handle.Watch("k", /*backwards=*/true, /*inclusive=*/false);
  a->SeekTo("c", "b");
  EXPECT_EQ(std::vector<Recorded>({{"h", "k", false}}), a->ranges);
  EXPECT_TRUE(b->ranges.empty());
}

TEST_F(RunSearchTest, WhatHasMovedIsNotSampled) {
  const auto a = NewMember();
  const auto b = NewMember();
  a->SeekTo("k", "p");
  a->handle.Watch("k", /*backwards=*/false, /*inclusive=*/true);
  b->SeekTo("k", "m");
  a->key = "q";  // by Next
  b->SeekTo("r", "r");
  EXPECT_TRUE(a->ranges.empty());
}

TEST_F(RunSearchTest, AWaitThatEndsNowhereIsSampledAtOnce) {
  const auto a = NewMember();
  a->SeekTo("k", "m", /*waits=*/true);
  a->handle.Watch("k", /*backwards=*/false, /*inclusive=*/true);
  a->key = "n";
  a->handle.Follow();
  EXPECT_TRUE(a->nothing_from.empty());
  a->valid = false;
  a->handle.Follow();
  EXPECT_EQ(std::vector<std::string>({"k"}), a->nothing_from);
}

TEST_F(RunSearchTest, SeeksAreSampledWhenTheFirstMemberLeaves) {
  auto a = NewMember();
  const auto b = NewMember();
  a->SeekTo("k", "m");
  b->SeekTo("k", "p");
  b->handle.Watch("k", /*backwards=*/false, /*inclusive=*/true);
  a.reset();
  EXPECT_EQ(std::vector<Recorded>({{"k", "m", true}}), b->ranges);
}

// Unless the process uses bounds of threads, which later tests do.
TEST_F(RunSearchTest, TheOnlyRunBeginsARoundQuickly) {
  const bool quickly = !ThreadBounds::AreUsed();
  const auto a = NewMember();
  EXPECT_FALSE(a->handle.BeginSeekAlone("a")) << "not sought before";
  a->SeekTo("b", "p");
  EXPECT_EQ(quickly, a->handle.BeginSeekAlone("c"));
  EXPECT_EQ(quickly, a->handle.BeginSeekAlone("a longer target than before"));
  EXPECT_EQ(quickly, a->handle.BeginSeekAlone("k"));
  if (!quickly) a->SeekTo("k", "p");
  a->handle.Watch("k", /*backwards=*/false, /*inclusive=*/true);
  EXPECT_FALSE(a->handle.BeginSeekAlone("l")) << "a seek is watched";
  // Another run is sought for the same key, and so in the same round.
  auto b = NewMember();
  b->SeekTo("k", "m");
  EXPECT_TRUE(a->ranges.empty());
  b->SeekTo("q", "r");
  EXPECT_EQ(std::vector<Recorded>({{"k", "m", true}}), a->ranges);
  a->SeekTo("q", "r");
  EXPECT_FALSE(a->handle.BeginSeekAlone("s")) << "there are two runs";
  b.reset();
  EXPECT_FALSE(a->handle.BeginSeekAlone("s")) << "the other was the first";
  a->SeekTo("s", "t");
  EXPECT_EQ(quickly, a->handle.BeginSeekAlone("t"));
  a->handle.BeginSeek(nullptr);
  EXPECT_FALSE(a->handle.BeginSeekAlone("u")) << "not sought for a key before";
  a->SeekTo("v", "v");
  a->handle.Pass("v");
  EXPECT_FALSE(a->handle.BeginSeekAlone("v")) << "a marker was passed";
}

TEST(SearchRoundsTest, ANewRoundBeginsWithASecondSeekOrAnotherTarget) {
  SearchRounds rounds;
  const int files[3] = {};
  OpenRun a{nullptr, &files[0]};
  OpenRun b{nullptr, &files[1]};
  OpenRun c{nullptr, &files[2]};
  const Slice k("k");
  const Slice l("l");
  EXPECT_FALSE(rounds.IsNext(a, &k));
  rounds.Enter(&k, &a);
  EXPECT_FALSE(rounds.IsNext(b, &k)) << "another file, the same target";
  EXPECT_TRUE(rounds.IsNext(b, &l)) << "a new iterator with another target";
  EXPECT_FALSE(rounds.IsNext(b, nullptr)) << "no target tells nothing";
  rounds.Enter(&k, &b);
  EXPECT_TRUE(rounds.IsNext(a, &k)) << "sought twice";
  EXPECT_TRUE(rounds.IsNext(a, nullptr));
  rounds.BeginNext();
  EXPECT_FALSE(rounds.IsNext(a, &k));
  EXPECT_FALSE(rounds.IsNext(c, &l)) << "the first of the round";
}

TEST(SearchRoundsTest, TargetsRightBehindAPassedMarkerAreKnown) {
  SearchRounds rounds;
  EXPECT_FALSE(rounds.HasPassed("k"));
  EXPECT_FALSE(rounds.HasPassed(""));
  rounds.Pass("k");
  EXPECT_TRUE(rounds.HasPassed("k"));
  EXPECT_TRUE(rounds.HasPassed(Slice("k\0\0", 3)));
  EXPECT_FALSE(rounds.HasPassed("ka"));
  EXPECT_FALSE(rounds.HasPassed("j"));
  EXPECT_FALSE(rounds.HasPassed(""));
}

class RoundBoundsTest : public testing::Test {
 protected:
  ~RoundBoundsTest() override { ThreadBounds::SetCurrent(nullptr); }
  static void Set(const Slice& lower, const Slice& upper) {
    ThreadBounds::SetCurrent(
        std::make_shared<const ThreadBounds>(&lower, &upper));
  }
  RoundBounds bounds_;
};

TEST_F(RoundBoundsTest, SeeksWithinAreUnderTheThreadsBounds) {
  Set("c", "f");
  const Slice inside("d");
  const Slice outside("g");
  bounds_.BeginSeek();
  EXPECT_EQ(ThreadBounds::Current(), bounds_.Take(&inside, false));
  EXPECT_EQ(ThreadBounds::Current(), bounds_.Take(nullptr, false));
  EXPECT_EQ(nullptr, bounds_.Take(&outside, false));
  EXPECT_EQ(nullptr, bounds_.Take(nullptr, false)) << "the rest of the round";
  bounds_.EndRound();
  const Slice upper("f");
  bounds_.BeginSeek();
  EXPECT_EQ(nullptr, bounds_.Take(&upper, false));
  bounds_.EndRound();
  EXPECT_EQ(ThreadBounds::Current(), bounds_.Take(&upper, true));
}

TEST_F(RoundBoundsTest, FilesReachedByNextAreUnderTheBoundsOfTheirSearch) {
  Set("c", "f");
  const Slice inside("d");
  bounds_.BeginSeek();
  EXPECT_NE(nullptr, bounds_.Take(&inside, false));
  Set("a", "z");
  EXPECT_EQ(nullptr, bounds_.Take(nullptr, false));
  Set("c", "f");
  EXPECT_EQ(nullptr, bounds_.Take(nullptr, false)) << "another search's";
}

TEST_F(RoundBoundsTest, RoundsUnderBoundsAreNotRepeated) {
  bounds_.BeginSeek();
  const bool unused = !ThreadBounds::AreUsed();
  EXPECT_EQ(unused, bounds_.Repeat());
  bounds_.EndRound();
  EXPECT_FALSE(bounds_.Repeat()) << "no seek has begun";
  Set("c", "f");
  bounds_.BeginSeek();
  EXPECT_FALSE(bounds_.Repeat());
}

TEST_F(RoundBoundsTest, AFewFilesMayBeSkippedInARound) {
  int skipped = 0;
  while (bounds_.MaySkip() && skipped < 100) skipped++;
  EXPECT_EQ(8, skipped);
  bounds_.EndRound();
  EXPECT_TRUE(bounds_.MaySkip());
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
