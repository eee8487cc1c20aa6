// SPDX-License-Identifier: Apache-2.0

//  Random operations under random options against two databases that hold the
//  same writes, one with ProteanTable, one of stock RocksDB: any difference in
//  any answer is a failure, and its seed makes it again.
//
//      build/differential_test                     a minute, a new seed
//      build/differential_test --seconds=3600
//      build/differential_test --seed=N --runs=1 --trace
//
//  Among the tests, the seeds are those of the day (--daily): each day makes
//  other runs, all of which --seed makes again. New seeds are for soaking.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "tests/protean_db.h"
#include "tests/table/differential/run.h"
#include "tests/table/random_runs.h"

DEFINE_bool(control, false,
            "Both are stock RocksDB: a difference is the test's mistake");
DEFINE_bool(live, false,
            "Also runs with flushes and compactions in the background, where "
            "RocksDB's own answers may be a matter of chance: try --control");
DEFINE_bool(trace, false, "Print every operation before it is done");

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr size_t kLinesToPrint = 40;
// A run takes a fraction of a second. Busy machines have time.
constexpr unsigned kSecondsForARun = 600;

// What a run that crashes or hangs leaves behind.
char reproduction[100];

void SayHowToReproduce(int signal_number) {
  const ssize_t written =
      write(STDOUT_FILENO, reproduction, strlen(reproduction));
  (void)written;
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void NameRun(uint64_t seed) {
  snprintf(reproduction, sizeof(reproduction),
           "\ncrashed or hung: differential_test --seed=%" PRIu64
           " --runs=1 --trace\n",
           seed);
  alarm(kSecondsForARun);
}

void Report(const RandomRun& run) {
  std::string history;
  const std::vector<std::string>& lines = run.journal.lines();
  const size_t begin =
      lines.size() > kLinesToPrint ? lines.size() - kLinesToPrint : 0;
  for (size_t i = begin; i < lines.size(); i++) history += lines[i] + "\n";
  ADD_FAILURE() << "DIFFERENCE: " << run.journal.difference() << "\n"
                << run.plan.ToString() << "the last of " << lines.size()
                << " lines:\n"
                << history << "reproduce: differential_test --seed=" << run.seed
                << " --runs=1 --trace";
}

}  // namespace

TEST(DifferentialTest, RandomRuns) {
  const std::string directory = test::PerThreadDBPath("differential");
  RandomRuns(/*runs=*/0, [&](uint64_t seed) {
    std::filesystem::remove_all(directory);
    NameRun(seed);
    RandomRun run(seed, directory, FLAGS_control, FLAGS_live, FLAGS_trace);
    if (!run.Execute()) Report(run);
  });
  alarm(0);
}

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  FLAGS_seed = 0;  // unless it is given
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  for (int number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGALRM, SIGTERM}) {
    signal(number, ROCKSDB_NAMESPACE::protean::SayHowToReproduce);
  }
  // Files are in memory by default, since every run makes hundreds.
  ROCKSDB_NAMESPACE::protean::PutOwnFolderInMemory();
  return RUN_ALL_TESTS();
}
