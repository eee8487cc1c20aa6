// SPDX-License-Identifier: Apache-2.0

//  Readers, writers, compactions, changing options, column families that come
//  and go, samples, refreshing, and iterators that outlive what they came from,
//  all at once on one DB, which must give right answers all the while. It is
//  made for sanitizers (scripts/check.sh sanitize), above all for that of
//  threads.
//
//      build/concurrency_test                      a minute, a new seed
//      build/concurrency_test --seconds=600
//
//  A seed makes the same choices again, though threads take turns as they like.

#include <gflags/gflags.h>

#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <random>

#include "db_bench_ext/progress_line.h"
#include "tests/table/concurrency/round.h"

DEFINE_uint64(seed, 0, "Of all choices; 0: a random one");
DEFINE_uint64(seconds, 60,
              "Of rounds in all; opening, comparing and closing DBs comes on "
              "top");

namespace ROCKSDB_NAMESPACE::protean {

TEST(ConcurrencyTest, AllAtOnce) {
  using std::chrono::milliseconds;
  uint64_t seed = FLAGS_seed;
  if (seed == 0) seed = std::random_device()();
  printf("seed %" PRIu64 "\n", seed);
  fflush(stdout);
  Persistent persistent;
  persistent.path = test::PerThreadDBPath("concurrency");
  std::filesystem::create_directories(persistent.path);

  Dice dice(seed);
  ProgressLine progress;
  progress.SetTitle("concurrency");
  const milliseconds all(1000 * FLAGS_seconds);
  milliseconds passed(0);
  uint64_t rounds = 0;
  for (; passed < all && !HasFailure(); rounds++) {
    progress.Show(
        std::to_string(rounds) + " rounds",
        static_cast<double>(passed.count()) / static_cast<double>(all.count()));
    const milliseconds duration =
        std::min(all - passed, milliseconds(1000 + dice.Below(4000)));
    RunRound(&persistent, dice.Next(), duration);
    passed += duration;
  }
  progress.Clear();
  printf("%" PRIu64 " rounds, %" PRIu64 " writes\n", rounds,
         uint64_t{persistent.last_version});
  if (HasFailure()) {
    printf("again: concurrency_test --seed=%" PRIu64 " --seconds=%" PRIu64 "\n",
           seed, FLAGS_seconds);
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  // Files are in memory by default.
  ROCKSDB_NAMESPACE::protean::PutOwnFolderInMemory();
  return RUN_ALL_TESTS();
}
