// SPDX-License-Identifier: Apache-2.0

//  The workload write: its summary of rounds, its processes, and its check of
//  what was written.

#include "db_bench_ext/write_summary.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "db_bench_ext/child_process.h"
#include "test_util/testharness.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

WriteCost Cost(double cpu, double compaction_cpu) {
  WriteCost cost;
  cost.cpu_seconds = cpu;
  cost.compaction_cpu_seconds = compaction_cpu;
  return cost;
}

}  // namespace

TEST(WriteSummaryTest, MediansAndRatiosOfRounds) {
  // The second round was slow for both.
  const std::vector<WriteCost> base = {Cost(2, 1), Cost(20, 10), Cost(4, 1)};
  const std::vector<WriteCost> costs = {Cost(3, 2), Cost(30, 15), Cost(5, 4)};
  const WriteRow row = SummarizeWriting(costs, base);
  EXPECT_EQ(3u, row.rounds);
  EXPECT_EQ(5, row.cost.cpu_seconds);
  EXPECT_EQ(4, row.cost.compaction_cpu_seconds);
  EXPECT_EQ(1.5, row.cpu_ratio);
  EXPECT_EQ(2, row.compaction_cpu_ratio);
  EXPECT_EQ(1.5, row.min_compaction_cpu_ratio);
  EXPECT_EQ(4, row.max_compaction_cpu_ratio);
}

TEST(WriteSummaryTest, NothingWasCompacted) {
  const WriteRow row = SummarizeWriting({Cost(1, 0)}, {Cost(1, 0)});
  EXPECT_EQ(1, row.cpu_ratio);
  EXPECT_EQ(0, row.compaction_cpu_ratio);
}

TEST(ChildProcessTest, HandsOverWhatItMade) {
  const std::string bytes = std::string(100000, 'x') + '\0' + 'y';
  const pid_t parent = getpid();
  std::string text;
  ASSERT_OK(RunInChild(
      [&](std::string* made) {
        *made = bytes;
        return getpid() == parent ? Status::Corruption("no child")
                                  : Status::OK();
      },
      &text));
  EXPECT_EQ(bytes, text);
}

TEST(ChildProcessTest, SaysWhyItFailed) {
  const auto expect = [](const std::string& words,
                         const std::function<Status()>& work) {
    std::string text;
    const Status s =
        RunInChild([&work](std::string*) { return work(); }, &text);
    EXPECT_TRUE(s.IsAborted()) << s.ToString();
    EXPECT_NE(std::string::npos, s.ToString().find(words)) << s.ToString();
  };
  expect("the disk: is full",
         [] { return Status::IOError("the disk", "is full"); });
  expect("ended by signal 9", [] {
    raise(SIGKILL);
    return Status::OK();
  });
  expect("ended early", []() -> Status { _exit(3); });
}

}  // namespace ROCKSDB_NAMESPACE::protean
