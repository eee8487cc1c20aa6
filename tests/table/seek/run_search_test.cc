// SPDX-License-Identifier: Apache-2.0

//  The parts of a search, over members that a test moves by hand.

#include "table/seek/run_search.h"

#include "tests/protean_db.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Kind = SearchPosition::Kind;

class FakeMember final : public OpenRun {
 public:
  explicit FakeMember(const ReadOptions& read_options)
      : search(RunSearch::Of(read_options)) {
    search->Join();
  }
  ~FakeMember() {
    if (!has_left) LeaveForGood();
  }
  // The search must not reach the member any more.
  void LeaveForGood() {
    search->Leave(this);
    search.reset();
    has_left = true;
  }

  SearchPosition Position() const override {
    EXPECT_FALSE(has_left);
    looks++;
    if (!valid) return {};
    return {waiting ? Kind::kMarker : Kind::kKey, key};
  }
  void RecordEmptyRange(const Slice& lo, const Slice& hi,
                        bool hi_inclusive) override {
    EXPECT_FALSE(has_left);
    ranges.push_back(lo.ToString() + ".." + hi.ToString() +
                     (hi_inclusive ? "" : " exclusive"));
  }
  void RecordNothingFrom(const Slice& target) override {
    EXPECT_FALSE(has_left);
    nothing_from.push_back(target.ToString());
  }
  bool FindNextValue(const Slice& from, const Slice* limit,
                     std::string* next) override {
    EXPECT_FALSE(has_left);
    looks++;
    if (next_value.empty()) return false;
    *next = std::max(next_value, from.ToString());
    return limit == nullptr || limit->compare(*next) > 0;
  }
  bool IsAtValue(const Slice&, const Slice&) const override { return false; }
  void LimitToFile(std::string*) override {}
  bool HasNoMoreKeys() const override { return false; }
  bool SeesAllVersions(uint64_t) const override { return true; }
  void NoteDeadRange() override {}
  void KeepDeadRange(DeadRange) override {}

  void SeekTo(const Slice& target, const std::string& found,
              bool waits = false) {
    search->BeginSeek(/*file=*/this, &target, this);
    key = found;
    valid = !found.empty();
    waiting = waits;
  }

  // SeekTo, which is watched, as all seeks are with sample_every=1.
  void SeekWatched(const Slice& target, const std::string& found,
                   bool waits = false, bool backwards = false) {
    SeekTo(target, found, waits);
    search->Watch(target, backwards, /*inclusive=*/!backwards, this);
  }
  SearchPosition NextStop(const Slice& marker) {
    return search->runs.NextStop(this, marker);
  }
  void Follow() { search->Follow(this); }

  static inline size_t looks = 0;  // at any member

  std::shared_ptr<RunSearch> search;
  bool has_left = false;
  bool valid = false;
  bool waiting = false;
  std::string key;
  std::string next_value;  // empty if the file has none
  Keys ranges;
  Keys nothing_from;
};

class RunSearchTest : public testing::Test {
 protected:
  std::unique_ptr<FakeMember> NewMember() {
    return std::make_unique<FakeMember>(read_options_);
  }

  const ReadOptions read_options_;
};

TEST_F(RunSearchTest, MembersWithTheSameReadOptionsShareASearch) {
  auto a = NewMember();
  auto b = NewMember();
  const std::weak_ptr<RunSearch> search = RunSearch::Of(read_options_);
  EXPECT_EQ(a->search, b->search);
  EXPECT_EQ(a->search, search.lock());
  const ReadOptions others;
  EXPECT_NE(a->search, RunSearch::Of(others));
  a->SeekTo("k", "k");
  b->SeekTo("k", "k");
  EXPECT_EQ(2u, search.lock()->runs.size());
  a.reset();
  EXPECT_EQ(1u, search.lock()->runs.size());
  b.reset();
  EXPECT_TRUE(search.expired());
}

// Members that leave live on here, so that a search that reaches one of them is
// noticed.
TEST_F(RunSearchTest, NoMemberIsReachedAfterItHasLeft) {
  for (size_t left = 0; left < 4; left++) {
    std::vector<std::unique_ptr<FakeMember>> members;
    for (size_t i = 0; i < 4; i++) {
      members.push_back(NewMember());
      members[i]->SeekWatched("k", "k" + std::to_string(i),
                              /*waits=*/i % 2 == 0);
    }
    members[left]->LeaveForGood();
    for (const auto& member : members) {
      if (member->has_left) continue;
      (void)member->NextStop("k");
      member->Follow();
    }
    for (const auto& member : members) {
      if (!member->has_left) member->SeekTo("l", "l");
    }
  }
  // An iterator may join its search after its seek.
  const auto a = NewMember();
  const auto late = NewMember();
  a->SeekTo("k", "m");
  late->key = "p";
  late->valid = true;
  late->search->Watch("k", /*backwards=*/false, /*inclusive=*/true, late.get());
  late->LeaveForGood();
  a->SeekTo("l", "m");
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
  EXPECT_EQ(kIdle + 1, search->runs.size());
  std::vector<std::unique_ptr<FakeMember>> fresh;
  busy->SeekTo("m", "m");
  while (search->runs.size() < 2 * kIdle) {
    fresh.push_back(NewMember());
    fresh.back()->SeekTo("m", "m");
  }
  busy->SeekTo("n", "n");
  EXPECT_EQ(fresh.size() + 1, search->runs.size());
  for (const auto& member : idle) member->SeekTo("n", "n");
  EXPECT_EQ(2 * kIdle, search->runs.size());
}

TEST_F(RunSearchTest, RangesBelowAnUpperBoundExcludeIt) {
  const auto a = NewMember();
  const auto b = NewMember();
  a->SeekWatched("k", "d", /*waits=*/false, /*backwards=*/true);
  b->SeekWatched("k", "h", /*waits=*/false, /*backwards=*/true);
  EXPECT_TRUE(a->ranges.empty());
  a->SeekTo("c", "b");
  EXPECT_EQ(Keys({"h..k exclusive"}), a->ranges);
  EXPECT_TRUE(b->ranges.empty());
}

TEST_F(RunSearchTest, AWaitThatEndsNowhereIsSampledAtOnce) {
  const auto a = NewMember();
  a->SeekWatched("k", "m", /*waits=*/true);
  a->key = "n";
  a->Follow();
  EXPECT_TRUE(a->nothing_from.empty());
  a->valid = false;
  a->Follow();
  EXPECT_EQ(Keys({"k"}), a->nothing_from);
}

// Driven as by RocksDB's iterators. The work for each run must be the same
// however many there are.
class ManyRunsTest : public RunSearchTest {
 protected:
  static std::string Key(size_t i) { return std::to_string(10'000'000 + i); }

  void MakeMembers(size_t count) {
    members_.clear();
    for (size_t i = 0; i < count; i++) members_.push_back(NewMember());
  }
  // Seeks all members: each finds a later key or, with `at_one_place`, not.
  void SeekAll(const std::string& target, bool waits,
               bool at_one_place = false) {
    for (size_t i = 0; i < members_.size(); i++) {
      members_[i]->SeekWatched(target, at_one_place ? "m" : "m" + Key(i),
                               waits);
    }
  }
  // The search comes to the marker of a member, which reads `found`, or nothing
  // if that is empty. Returns the next stop.
  SearchPosition Reach(size_t i, const std::string& found) {
    FakeMember& member = *members_[i];
    const std::string marker = member.key;
    member.search->Pass(marker);
    const SearchPosition stop = member.NextStop(marker);
    member.key = found;
    member.valid = !found.empty();
    member.waiting = false;
    member.Follow();
    return stop;
  }

  // Does `work` with few and with many members, and compares how often it looks
  // at a member for each of them.
  void ExpectConstantWork(const std::function<void()>& work) {
    constexpr size_t kFew = 100;
    constexpr size_t kMany = 10'000;
    double looks[2];
    for (const bool many : {false, true}) {
      const size_t count = many ? kMany : kFew;
      MakeMembers(count);
      FakeMember::looks = 0;
      work();
      members_.clear();
      looks[many] =
          static_cast<double>(FakeMember::looks) / static_cast<double>(count);
    }
    EXPECT_LE(looks[true], 1.2 * looks[false]);
    EXPECT_LE(looks[true], 30);
  }

  std::vector<std::unique_ptr<FakeMember>> members_;
};

TEST_F(ManyRunsTest, WatchedSeeksCostTheSame) {
  const auto seek = [&](int rounds) {
    for (int round = 0; round < rounds; round++) {
      SeekAll("k" + std::to_string(round), /*waits=*/false);
    }
  };
  ExpectConstantWork([&] { seek(3); });
  // All but the nearest of each of 3 rounds were in vain.
  MakeMembers(1000);
  seek(4);
  for (size_t i = 0; i < members_.size(); i++) {
    EXPECT_EQ(i == 0 ? 0u : 3u, members_[i]->ranges.size()) << i;
  }
}

TEST_F(ManyRunsTest, MarkersCostTheSame) {
  for (const bool at_one_place : {false, true}) {
    SCOPED_TRACE(at_one_place);
    ExpectConstantWork([&] {
      for (int round = 0; round < 3; round++) {
        SeekAll("k" + std::to_string(round), /*waits=*/true, at_one_place);
        for (size_t i = 0; i < members_.size(); i++) {
          const SearchPosition stop = Reach(i, "");
          const bool has_next = !at_one_place && i + 1 < members_.size();
          ASSERT_EQ(has_next ? Kind::kMarker : Kind::kNone, stop.kind);
          ASSERT_EQ(has_next ? "m" + Key(i + 1) : "", stop.user_key);
        }
      }
    });
  }
}

// Every other run is at a key. The search comes to a key and to a marker by
// turns, and each of the two goes on to the end of the keys.
TEST_F(ManyRunsTest, ScansCostTheSame) {
  ExpectConstantWork([&] {
    const size_t count = members_.size();
    for (size_t i = 0; i < count; i++) {
      members_[i]->SeekTo("k", Key(i), /*waits=*/i % 2 == 1);
    }
    for (size_t i = 0; i + 2 < count; i += 2) {
      members_[i]->key = Key(count + i);  // by Next
      const SearchPosition stop = Reach(i + 1, Key(count + i + 1));
      ASSERT_EQ(Kind::kKey, stop.kind);
      ASSERT_EQ(Key(i + 2), stop.user_key);
    }
  });
}

// A search goes on in a few runs only, as from one range deletion to the next.
TEST_F(ManyRunsTest, RoundsOfFewRunsCostTheSame) {
  ExpectConstantWork([&] {
    SeekAll("k", /*waits=*/false);
    for (size_t round = 0; round < members_.size(); round++) {
      const std::string target = "l" + Key(round);
      members_[0]->SeekWatched(target, target, /*waits=*/true);
      Reach(0, "m");
    }
  });
}

TEST_F(ManyRunsTest, StopsAreThoseOfALookAtAllRuns) {
  MakeMembers(20);
  Random rnd(301);
  for (int round = 0; round < 300; round++) {
    const size_t sought = round % 3 == 0 ? 20 : 1 + rnd.Uniform(20);
    const std::string target = "k" + Key(static_cast<size_t>(round));
    for (size_t i = 0; i < 20 && i < sought; i++) {
      members_[i]->SeekTo(target, "m" + Key(rnd.Uniform(30)), rnd.OneIn(2));
    }
    for (;;) {
      // The search comes to the nearest position.
      FakeMember* at = nullptr;
      for (const auto& member : members_) {
        if (member->valid &&
            (at == nullptr || member->key < at->key ||
             (member->key == at->key && member->waiting && !at->waiting))) {
          at = member.get();
        }
      }
      if (at == nullptr || rnd.OneIn(40)) break;
      const std::string further = "m" + Key(30 + rnd.Uniform(100));
      if (!at->waiting) {
        at->key = further < at->key ? at->key + "+" : further;
        continue;
      }
      SearchPosition nearest;
      for (const auto& other : members_) {
        if (other.get() == at || !other->valid) continue;
        if (other->waiting ? other->key <= at->key || nearest.kind == Kind::kKey
                           : other->key < at->key) {
          continue;
        }
        const SearchPosition position = other->Position();
        if (position.kind != nearest.kind ||
            position.user_key.compare(nearest.user_key) < 0) {
          nearest = position;
        }
      }
      const SearchPosition stop = at->NextStop(at->key);
      ASSERT_EQ(nearest.kind, stop.kind);
      ASSERT_EQ(nearest.user_key, stop.user_key);
      if (stop.kind == Kind::kMarker && rnd.OneIn(2)) {
        at->key = stop.user_key.ToString();
      } else {
        at->waiting = false;
        at->valid = !rnd.OneIn(3);
        at->key = at->key + "+";
      }
      at->Follow();
    }
  }
}

TEST_F(RunSearchTest, ANewRoundBeginsWithASecondSeekOrAnotherTarget) {
  const auto a = NewMember();
  const auto b = NewMember();
  const auto c = NewMember();
  const auto d = NewMember();
  a->SeekTo("k", "m");
  b->SeekTo("k", "m");
  EXPECT_EQ(a->round, b->round) << "another file, one target";
  d->search->BeginSeek(d.get(), /*target=*/nullptr, d.get());
  EXPECT_EQ(a->round, d->round) << "no target tells nothing";
  c->SeekTo("l", "m");
  EXPECT_LT(a->round, c->round) << "a new iterator with another target";
  a->SeekTo("l", "m");
  EXPECT_EQ(a->round, c->round);
  a->SeekTo("l", "m");
  EXPECT_LT(c->round, a->round) << "sought twice";
  a->search->BeginSeek(a.get(), /*target=*/nullptr, a.get());
  c->SeekTo("p", "q");
  EXPECT_EQ(a->round, c->round) << "the first key of the round";
}

TEST_F(RunSearchTest, TargetsRightAfterAPassedMarkerAreKnown) {
  const auto search = RunSearch::Of(read_options_);
  EXPECT_FALSE(search->HasPassed("k"));
  EXPECT_FALSE(search->HasPassed(""));
  search->Pass("k");
  EXPECT_TRUE(search->HasPassed("k"));
  EXPECT_TRUE(search->HasPassed(Slice("k\0\0", 3)));
  EXPECT_FALSE(search->HasPassed("ka"));
  EXPECT_FALSE(search->HasPassed("j"));
  EXPECT_FALSE(search->HasPassed(""));
}

class RoundBoundsTest : public testing::Test {
 protected:
  ~RoundBoundsTest() override { ClearSearchBounds(); }
  static void Set(const Slice& lower, const Slice& upper) {
    SetSearchBounds(&lower, &upper);
  }
  RoundBounds bounds_;
};

TEST_F(RoundBoundsTest, SeeksWithinAreUnderTheThreadsBounds) {
  Set("c", "f");
  const Slice inside("d");
  const Slice outside("g");
  bounds_.BeginRound();
  EXPECT_EQ(ThreadBounds::Current(), bounds_.Take(&inside, false));
  EXPECT_EQ(ThreadBounds::Current(), bounds_.Take(nullptr, false));
  EXPECT_EQ(nullptr, bounds_.Take(&outside, false));
  EXPECT_EQ(nullptr, bounds_.Take(nullptr, false)) << "the rest of the round";
  const Slice upper("f");
  bounds_.BeginRound();
  EXPECT_EQ(nullptr, bounds_.Take(&upper, false));
  bounds_.BeginRound();
  EXPECT_EQ(ThreadBounds::Current(), bounds_.Take(&upper, true));
}

TEST_F(RoundBoundsTest, FilesReachedByNextAreUnderTheBoundsOfTheirSearch) {
  Set("c", "f");
  const Slice inside("d");
  bounds_.BeginRound();
  EXPECT_NE(nullptr, bounds_.Take(&inside, false));
  Set("a", "z");
  EXPECT_EQ(nullptr, bounds_.Take(nullptr, false));
  Set("c", "f");
  EXPECT_EQ(nullptr, bounds_.Take(nullptr, false)) << "another search's";
}

TEST_F(RoundBoundsTest, AFewFilesMayBeSkippedInARound) {
  int skipped = 0;
  while (bounds_.MaySkip() && skipped < 100) skipped++;
  EXPECT_EQ(8, skipped);
  bounds_.BeginRound();
  EXPECT_TRUE(bounds_.MaySkip());
}

}  // namespace

// ---- Deletions ----

class SkipTest : public RunSearchTest {
 protected:
  // A run at a deletion of that key, whose next value is further on.
  std::unique_ptr<FakeMember> RunAt(const std::string& key,
                                    const std::string& next_value) {
    std::unique_ptr<FakeMember> run = NewMember();
    run->SeekTo("a", key);
    run->next_value = next_value;
    return run;
  }
  // Where the search may go on from there; empty if it may not skip.
  static std::string Skip(const Slice& from, FakeMember* run) {
    std::string to;
    return run->search->SkipDeletions(from, run, &to) ? to : "";
  }
};

TEST_F(SkipTest, GoesOnAtTheNearestNextValue) {
  const auto a = RunAt("b", "m");
  const auto b = RunAt("c", "k");
  const auto c = RunAt("d", "");  // has no value any more
  EXPECT_EQ("k", Skip("b", a.get()));
  // The others get the same answer without a look at any run.
  const size_t looks = FakeMember::looks;
  EXPECT_EQ("k", Skip("d", c.get()));
  EXPECT_EQ("k", Skip("j", b.get()));
  EXPECT_EQ(looks, FakeMember::looks);
  // At the end of what is skipped, they look again.
  b->next_value = "l";
  EXPECT_EQ("l", Skip("k", b.get()));
}

TEST_F(SkipTest, ARoundForgetsWhatWasSkipped) {
  const auto a = RunAt("b", "m");
  const auto b = RunAt("b", "n");
  EXPECT_EQ("m", Skip("b", a.get()));
  a->SeekTo("c", "c");
  b->SeekTo("c", "c");
  b->next_value = "d";
  EXPECT_EQ("d", Skip("c", a.get()));
}

// A run that has not been sought yet, or is not listed any more, may have
// values.
TEST_F(SkipTest, NothingIsSkippedWhileARunIsNotListed) {
  const auto a = RunAt("b", "m");
  {
    const auto not_sought = NewMember();
    EXPECT_EQ("", Skip("b", a.get()));
  }
  EXPECT_EQ("m", Skip("b", a.get()));
  const auto idle = RunAt("b", "z");
  for (uint64_t i = 0; i < OpenRuns::kMaxIdleRounds + 2; i++) {
    a->SeekTo("b", "b");
  }
  EXPECT_EQ("m", Skip("b", a.get()));
  std::vector<std::unique_ptr<FakeMember>> others;
  for (size_t i = 0; i < OpenRuns::kMinCrowdedSize; i++) {
    others.push_back(RunAt("b", "z"));
  }
  for (int round = 0; round < 2; round++) a->SeekTo("b", "b");
  EXPECT_EQ("", Skip("b", a.get()));
}

}  // namespace ROCKSDB_NAMESPACE::protean
