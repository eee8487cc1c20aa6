// SPDX-License-Identifier: Apache-2.0

//  Tests which files a replayed seek reads. advise_test compares the replay
//  with what a DB reads.

#include <gtest/gtest.h>

#include <deque>

#include "table/seek/seek_decision.h"
#include "tools/filter_replay.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

using Begin = SeekAnswer::Begin;

// The runs of one seek for "b".
class SearchReplayTest : public testing::Test {
 protected:
  // A run on that level whose first key is `first`; none if that is empty.
  void Add(int level, const std::string& first, SeekAnswer answer) {
    Question question;
    question.found = !first.empty();
    question.first_key = first;
    questions_.push_back(question);
    answers_.push_back(std::move(answer));
    SearchedRun run;
    run.question = &questions_.back();
    run.answer = &answers_.back();
    run.marker_sequence = MarkerSequence(level, /*keys=*/100);
    runs_.push_back(run);
  }
  // A file that waits right behind the target.
  static SeekAnswer Waits(std::vector<bool> passes) {
    return {Begin::kWaits, std::string("b\0", 2), "", std::move(passes)};
  }
  std::vector<bool> Read(const std::string& end,
                         ReadKind kind = ReadKind::kOpenSeek) {
    ReadQuery read;
    read.kind = kind;
    read.target = "b";
    read.bound = "m";
    return FilesRead(runs_, read, {!end.empty(), end});
  }

  std::deque<Question> questions_;
  std::deque<SeekAnswer> answers_;
  std::vector<SearchedRun> runs_;
};

}  // namespace

// The deepest level is read first, and its key tells the others where the
// search ends.
TEST_F(SearchReplayTest, DeepestLevelTellsOthers) {
  Add(0, "x", Waits({false, false, true}));
  Add(1, "y", Waits({false, false, true}));
  Add(2, "c", Waits({false, false, false}));
  EXPECT_EQ((std::vector<bool>{false, false, true}), Read("c"));
}

// The search ends at "c", but the file of level 1 knows only of "k", and its
// filter cannot rule out all keys up to there.
TEST_F(SearchReplayTest, EndThatIsNotKnownYet) {
  Add(0, "c", Waits({false, false, false}));
  Add(1, "x", Waits({true, false, false}));
  Add(2, "k", Waits({false, false, false}));
  EXPECT_EQ((std::vector<bool>{true, true, true}), Read("c"));
}

// Files that wait further on are not reached; those that cannot wait are read.
TEST_F(SearchReplayTest, PlacesToWait) {
  Add(0, "x", {Begin::kWaits, "d", "", {false, false, false, false}});
  Add(1, "c", {});
  Add(2, "", {Begin::kEnds, "", "", {}});
  Add(3, "z", {Begin::kWaits, std::string("b\0", 2), "e", {}});
  answers_[3].passes.assign(4, false);
  EXPECT_EQ((std::vector<bool>{false, true, false, false}), Read("c"));
  runs_[0].may_wait = false;
  EXPECT_EQ((std::vector<bool>{true, true, false, false}), Read("c"));
}

// The file of level 3 waits at "d". That of level 0 moves on to there before
// either is read, if its filter knows that it has nothing before; then the
// deepest level is read first, in vain.
TEST_F(SearchReplayTest, MarkersOfOthers) {
  Add(0, "e", Waits({false, false}));
  Add(3, "k", {Begin::kWaits, "d", "", {true, false}});
  EXPECT_EQ((std::vector<bool>{true, false}), Read("e"));
  answers_[0].clear_to = "d";
  EXPECT_EQ((std::vector<bool>{true, true}), Read("e"));
  answers_[0].clear_to = "c";
  EXPECT_EQ((std::vector<bool>{true, false}), Read("e"));
}

// Nothing is read from the bound of a closed seek on.
TEST_F(SearchReplayTest, Bound) {
  Add(0, "", {Begin::kWaits, "m", "", {false, false}});
  Add(1, "", {Begin::kWaits, "l", "", {false, false}});
  EXPECT_EQ((std::vector<bool>{false, true}), Read("", ReadKind::kClosedSeek));
}

}  // namespace ROCKSDB_NAMESPACE::protean
