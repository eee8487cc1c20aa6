// SPDX-License-Identifier: Apache-2.0

//  A cascade filter is killed by kill -9 at every mutation of files that it
//  makes; at every third one, the power fails, too. What Flush had
//  acknowledged, insertions and deletions, is there when the filter is opened
//  again.

#include <random>

#include "sets/experimental/cascade_filter.h"
#include "tests/protean_db.h"
#include "tests/table/faults/fault_file_system.h"
#include "tests/table/faults/killed_process.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// What the killed process records for the process that checks.
struct Shared {
  std::atomic<uint64_t> mutations;
  // The numbers of operations begun, and acknowledged by a Flush.
  std::atomic<uint64_t> begun;
  std::atomic<uint64_t> flushed;
};

constexpr uint64_t kOperations = 20000;
constexpr uint64_t kKeys = 7000;
constexpr uint64_t kFlushEvery = 6000;

struct Operation {
  uint64_t key;
  bool is_insert;
};
std::vector<Operation> AllOperations() {
  std::mt19937_64 random(29);
  std::vector<Operation> operations;
  for (uint64_t i = 0; i < kOperations; i++) {
    operations.push_back({random() % kKeys, random() % 3 != 0});
  }
  return operations;
}

enum class Death { kKill, kPowerFailure, kTornFiles };

class CascadeKillTest : public testing::TestWithParam<Death> {
 protected:
  CascadeFilterOptions NewOptions(Env* env = Env::Default()) const {
    CascadeFilterOptions options;
    options.env = env;
    options.fingerprint_bits = 62;
    options.memory = 64 << 10;
    return options;
  }

  // Uses a new filter, until it is killed at the mutation `kill_at` unless 0.
  void Live(uint64_t kill_at) const {
    const auto fs = std::make_shared<FaultFileSystem>();
    fs->KillAt(kill_at, &shared_->mutations, journal_);
    const std::unique_ptr<Env> env = NewCompositeEnv(fs);
    std::unique_ptr<CascadeFilter> filter;
    ASSERT_OK(CascadeFilter::Open(NewOptions(env.get()), folder_, &filter));
    uint64_t n = 0;
    for (const auto& [key, is_insert] : AllOperations()) {
      shared_->begun = ++n;
      ASSERT_OK(is_insert ? filter->Insert(std::to_string(key))
                          : filter->Delete(std::to_string(key)));
      if (n % kFlushEvery == 0) {
        ASSERT_OK(filter->Flush());
        shared_->flushed = n;
      }
      if (n == kOperations / 2) {
        ASSERT_OK(filter->Close());
        shared_->flushed = n;
        filter.reset();
        ASSERT_OK(CascadeFilter::Open(NewOptions(env.get()), folder_, &filter));
      }
    }
    ASSERT_OK(filter->Close());
    shared_->flushed = n;
  }

  void LookAfter(uint32_t seed) const {
    Random random(seed);
    if (GetParam() != Death::kKill) {
      PowerFailure(journal_).Strike(GetParam() == Death::kTornFiles ? &random
                                                                    : nullptr);
    }
    std::unique_ptr<CascadeFilter> filter;
    ASSERT_OK(CascadeFilter::Open(NewOptions(), folder_, &filter));
    std::vector<uint64_t> copies(kKeys);
    std::vector<bool> is_unsure(kKeys);
    uint64_t n = 0;
    for (const auto& [key, is_insert] : AllOperations()) {
      if (++n > shared_->begun) break;
      if (n > shared_->flushed) is_unsure[key] = true;
      if (is_insert || copies[key] > 0) copies[key] += is_insert ? 1 : -1;
    }
    for (uint64_t key = 0; key < kKeys; key++) {
      if (!is_unsure[key]) {
        ASSERT_EQ(copies[key] > 0, filter->MayContain(std::to_string(key)));
      }
    }
    ASSERT_OK(filter->WaitForMerges());
    EXPECT_EQ(0u, filter->GetStatistics().unreadable_pages);
    // Nothing is left of what was not finished.
    std::map<std::string, uint64_t> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      files[entry.path().extension()]++;
    }
    EXPECT_EQ(0u, files[".tmp"]);
    EXPECT_EQ(filter->GetStatistics().runs, files[".run"]);
  }

  // Returns false if the process has ended before that mutation.
  bool Kill(uint64_t kill_at) {
    std::filesystem::remove_all(folder_);
    shared_.Clear();
    const int ended = InAnotherProcess([&] { Live(kill_at); });
    const bool killed = WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL;
    EXPECT_TRUE(killed || ended == 0) << ended;
    // A filter that was never there cannot be opened for reading, but made.
    EXPECT_EQ(0, InAnotherProcess(
                     [&] { LookAfter(static_cast<uint32_t>(kill_at) + 1); }))
        << "killed at " << kill_at << " of " << shared_->mutations;
    return killed;
  }

  const std::string folder_ = PathInMemory("cascade_kill");
  const std::string journal_ = folder_ + ".journal";
  SharedMemory<Shared> shared_;
};

TEST_P(CascadeKillTest, AtEachPoint) {
  // Background jobs make the order of mutations differ from run to run, so that
  // the steps of power failures come to all kinds of places.
  const uint64_t step = GetParam() == Death::kKill ? 1 : 3;
  uint64_t points = 0;
  while (Kill(1 + step * points)) points++;
  EXPECT_GT(step * points, 50u);
  printf("%llu points\n", static_cast<unsigned long long>(points));
}

INSTANTIATE_TEST_SUITE_P(Deaths, CascadeKillTest,
                         ::testing::Values(Death::kKill, Death::kPowerFailure,
                                           Death::kTornFiles));

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean
