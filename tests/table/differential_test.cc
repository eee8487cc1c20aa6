// SPDX-License-Identifier: Apache-2.0

//  Random operations under random options against two databases that hold the
//  same writes, one with ProteanTable, one of stock RocksDB: any difference in
//  any answer is a failure, and its seed makes it again.
//
//      build/differential_test                     a minute, a new seed
//      build/differential_test --seconds=3600
//      build/differential_test --seed=N --runs=1 --trace
//
//  Among the tests it makes the same runs each time; new seeds are for soaking.

#include <gflags/gflags.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>

#include "db_bench_ext/progress_line.h"
#include "test_util/testharness.h"
#include "tests/own_folder.h"
#include "tests/table/differential/run.h"
#include "tests/with_salt.h"

DEFINE_uint64(seed, 0,
              "Of the first run, the next has the next; 0: a random one");
DEFINE_uint64(runs, 0, "End after that many; 0: when the time is over");
DEFINE_uint64(seconds, 60, "End after that many, unless --runs is given");
DEFINE_uint64(failures, 1, "End after that many runs with a difference");
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
  using Clock = std::chrono::steady_clock;
  uint64_t seed = FLAGS_seed;
  if (seed == 0) seed = std::random_device()();
  printf("first seed %" PRIu64 "\n", seed);
  fflush(stdout);
  const std::string directory = test::PerThreadDBPath("differential");
  ProgressLine progress;
  progress.SetTitle("differential");
  const Clock::time_point start = Clock::now();
  uint64_t runs = 0;
  uint64_t failures = 0;
  for (;; runs++, seed++) {
    const double seconds =
        std::chrono::duration<double>(Clock::now() - start).count();
    if (FLAGS_runs > 0 ? runs >= FLAGS_runs : seconds >= FLAGS_seconds) break;
    progress.Show(std::to_string(runs) + " runs",
                  FLAGS_runs > 0 ? static_cast<double>(runs) / FLAGS_runs
                                 : seconds / FLAGS_seconds);
    std::filesystem::remove_all(directory);
    NameRun(seed);
    const WithSalt salt(SaltOf(seed));
    RandomRun run(seed, directory, FLAGS_control, FLAGS_live, FLAGS_trace);
    if (run.Execute()) continue;
    progress.Clear();
    Report(run);
    if (++failures >= FLAGS_failures) break;
  }
  alarm(0);
  progress.Clear();
  printf("%" PRIu64 " runs in %.1f s, the next seed is %" PRIu64 "\n", runs,
         std::chrono::duration<double>(Clock::now() - start).count(), seed);
}

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  for (int number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGALRM, SIGTERM}) {
    signal(number, ROCKSDB_NAMESPACE::protean::SayHowToReproduce);
  }
  // Files are in memory by default, since every run makes hundreds.
  ROCKSDB_NAMESPACE::protean::PutOwnFolderInMemory();
  return RUN_ALL_TESTS();
}
