// SPDX-License-Identifier: Apache-2.0

//  Random runs, each of which is made again by its seed, for as long as the
//  flags say.

#pragma once

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <random>
#include <string>

#include "db_bench_ext/progress_line.h"
#include "tests/with_salt.h"

DEFINE_uint64(seed, 1,
              "Of the first run, the next has the next; 0: see --daily");
DEFINE_bool(daily, false,
            "--seed=0 is the seed of the day (UTC), and not a random one");
DEFINE_uint64(runs, 0, "End after that many, unless --seconds is given");
DEFINE_uint64(seconds, 0, "End after that many");
DEFINE_uint64(failures, 1, "End after that many runs that fail");

namespace ROCKSDB_NAMESPACE::protean {

// The first seed: each day has a thousand of its own.
inline uint64_t FirstSeed() {
  if (FLAGS_seed != 0) return FLAGS_seed;
  if (!FLAGS_daily) return std::random_device()();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto days =
      std::chrono::duration_cast<std::chrono::hours>(now).count() / 24;
  return static_cast<uint64_t>(days) * 1000 + 1;
}

// Makes `runs` runs, or as many as the flags demand; for a minute if neither
// says how many.
inline void RandomRuns(uint64_t runs,
                       const std::function<void(uint64_t seed)>& run) {
  using Clock = std::chrono::steady_clock;
  if (FLAGS_runs > 0) runs = FLAGS_runs;
  const auto limit =
      static_cast<double>(runs == 0 && FLAGS_seconds == 0 ? 60 : FLAGS_seconds);
  uint64_t seed = FirstSeed();
  printf("first seed %" PRIu64 "\n", seed);
  fflush(stdout);
  ProgressLine progress;
  progress.SetTitle("random runs");
  const Clock::time_point start = Clock::now();
  const auto seconds = [start] {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  const ::testing::TestResult& result =
      *::testing::UnitTest::GetInstance()->current_test_info()->result();
  uint64_t done = 0;
  for (uint64_t failures = 0; failures < FLAGS_failures; done++, seed++) {
    const double part =
        limit > 0 ? seconds() / limit
                  : static_cast<double>(done) / static_cast<double>(runs);
    if (part >= 1) break;
    progress.Show(std::to_string(done) + " runs", part);
    SCOPED_TRACE("--seed=" + std::to_string(seed) + " --runs=1");
    const WithSalt salt(SaltOf(seed));
    const int parts = result.total_part_count();
    run(seed);
    if (result.total_part_count() > parts) failures++;
  }
  progress.Clear();
  printf("%" PRIu64 " runs in %.1f s, the next seed is %" PRIu64 "\n", done,
         seconds(), seed);
}

}  // namespace ROCKSDB_NAMESPACE::protean
