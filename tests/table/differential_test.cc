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

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "filter_policy/open_db/dead_ranges.h"
#include "table/seek/seek_decision.h"
#include "tests/table/differential/run.h"
#include "tests/table/random_runs.h"

DEFINE_bool(control, false,
            "Both are stock RocksDB: a difference is the test's mistake");
DEFINE_bool(live, false,
            "Also runs with flushes and compactions in the background, where "
            "RocksDB's own answers may be a matter of chance: try --control");
DEFINE_bool(trace, false, "Print every operation before it is done");

namespace ROCKSDB_NAMESPACE::protean {

std::string Describe(const Status& status) {
  if (status.ok()) return "OK";
  return status.ToString().substr(0, status.ToString().find(": ")) + "/" +
         std::to_string(status.subcode());
}

std::string Describe(const Snapshot* snapshot) {
  return snapshot == nullptr
             ? ""
             : " snapshot " + std::to_string(snapshot->GetSequenceNumber());
}

std::string Describe(const WideColumns& columns) {
  std::string result;
  for (const WideColumn& column : columns) {
    result += Brief(column.name()) + "=" + Hex(column.value()) + ";";
  }
  return result;
}

std::string Brief(const Slice& bytes) {
  std::string result = "'";
  for (size_t i = 0; i < bytes.size();) {
    size_t run = 1;
    while (i + run < bytes.size() && bytes[i + run] == bytes[i]) run++;
    const auto c = static_cast<unsigned char>(bytes[i]);
    char one[8];
    snprintf(one, sizeof(one),
             c > ' ' && c < 0x7f && c != '\\' ? "%c" : "\\%02x", c);
    if (run < 6) {
      for (size_t j = 0; j < run; j++) result += one;
    } else {
      result += one + ("{" + std::to_string(run) + "}");
    }
    i += run;
  }
  return result + "'";
}

// ---- The run ----

namespace {

class WholeRun : public RandomRun {
 public:
  using RandomRun::RandomRun;

  // Returns whether the twins agreed.
  bool Execute() {
    DeletionSkips::ask_after = dice.Of({2, 8});
    DeadRangeFinder::SetMinEntries(dice.Of({1, 8}));
    std::filesystem::create_directories(plan.directory);
    WriteSeeds();
    if (journal.ok()) Open();
    // Puts data on several levels to begin with.
    for (size_t rounds = dice.Below(6); rounds > 0 && journal.ok(); rounds--) {
      WriteMany(this);
      const size_t family = dice.Below(plan.families.size());
      Flush(this, family);
      Compact(this, family);
    }
    for (int i = 0; i < plan.num_operations && journal.ok(); i++) Operation();
    if (journal.ok()) CompareEverything();
    CloseAll();
    std::filesystem::remove_all(plan.directory);
    return journal.ok();
  }

 private:
  // The queries that Proteus designs its first filters for.
  void WriteSeeds() {
    Env* env = twins.env(kProtean);
    for (const FamilyPlan& family : plan.families) {
      std::string lines = "# sample queries\n";
      for (int i = 0; i < 40; i++) {
        auto [lo, hi] = family.pool.PickRange(&dice);
        if (dice.OneIn(2)) hi = lo + '\0';
        lines += "0x" + Hex(lo) + "\t0x" + Hex(hi) + "\texclusive\n";
        if (dice.OneIn(3)) {
          lines += "0x" + Hex(family.pool.PickAround(&dice)) + "\n";
        }
      }
      Status s = env->CreateDirIfMissing(plan.directory);
      const std::string path = plan.directory + "/seeds_" + family.name;
      if (s.ok()) s = WriteStringToFile(env, lines, path);
      if (!s.ok()) journal.Differ("seeds: " + s.ToString());
    }
  }

  void Open() {
    journal.Note(plan.ToString() + "open");
    const Status s = twins.Open();
    // If RocksDB refuses the options, the test or Protean is wrong.
    if (!s.ok()) journal.Differ("open: " + s.ToString());
  }

  void CloseAll() {
    walks.clear();
    // A prepared transaction must not outlive its DB here: it would hold its
    // locks.
    EndTransactions(this);
    twins.Close();
  }

  void Reopen() {
    CloseAll();
    if (dice.OneIn(2)) plan.DrawAgain(&dice);
    Open();
  }

  void MoveWalk() {
    if (walks.size() < 3 && (walks.empty() || dice.OneIn(2))) {
      walks.push_back(NewWalk(this, Latest(dice.Below(plan.families.size()))));
    }
    const size_t index = dice.Below(walks.size());
    for (size_t steps = 1 + dice.Below(30); steps > 0; steps--) {
      walks[index]->Step();
    }
    if (dice.OneIn(2)) {
      walks.erase(walks.begin() + static_cast<ptrdiff_t>(index));
    }
  }

  void ReleaseSnapshot() {
    if (twins.num_snapshots() == 0) return;
    const size_t index = dice.Below(twins.num_snapshots());
    const Snapshot* snapshot = twins.snapshot(index)[kPlain];
    journal.Note("release" + Describe(snapshot));
    // Iterators must not outlive their snapshot.
    const auto uses = [&](const auto& walk) { return walk->Uses(snapshot); };
    walks.erase(std::remove_if(walks.begin(), walks.end(), uses), walks.end());
    twins.ReleaseSnapshot(index);
  }

  void Operation() {
    const size_t family = dice.Below(plan.families.size());
    // What is done, and how often of about a thousand times.
    const std::pair<size_t, std::function<void()>> operations[] = {
        {280, [&] { WriteSome(this); }},
        {50, [&] { WriteMany(this); }},
        {20, [&] { Ingest(this, family); }},
        {60, [&] { Flush(this, family); }},
        {50, [&] { Compact(this, family); }},
        {20, [&] { Reopen(); }},
        {30,
         [&] {
           journal.Note("snapshot");
           twins.TakeSnapshot();
         }},
        {10, [&] { ReleaseSnapshot(); }},
        {180, [&] { ComparePointRead(this, Latest(family)); }},
        {plan.families[family].multi_scans ? 60 : 0,
         [&] { CompareMultiScan(this, Latest(family)); }},
        {200, [&] { MoveWalk(); }},
        {7, [&] { CompareKeyVersions(this, family); }},
        {13, [&] { CompareFiles(this, family); }},
        {3,
         [&] {
           Both("VerifyChecksum",
                [&](Twin twin) { return twins.db(twin)->VerifyChecksum(); });
         }},
        {3, [&] { CompareCheckpoints(this); }},
        {3, [&] { CompareSecondaries(this); }},
        {11, [&] { CompareManyFamilies(this); }}};
    size_t drawn = dice.Below(plan.families[family].multi_scans ? 1000 : 940);
    for (const auto& [chance, operation] : operations) {
      if (drawn < chance) return operation();
      drawn -= chance;
    }
  }

  void CompareEverything() {
    for (size_t family = 0; family < plan.families.size(); family++) {
      const View view = Latest(family);
      CompareAllKeys(this, view);
      CompareKeyVersions(this, family);
      for (int i = 0; i < 2; i++) WalkOnce(this, view, /*steps=*/30);
    }
  }
};

// ---- The test ----

constexpr size_t kLinesToPrint = 40;

// What a run that crashes or hangs leaves behind.
char reproduction[100];

void SayHowToReproduce(int signal_number) {
  const ssize_t written =
      write(STDOUT_FILENO, reproduction, strlen(reproduction));
  (void)written;
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void Report(const WholeRun& run) {
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
    snprintf(reproduction, sizeof(reproduction),
             "\ncrashed or hung: differential_test --seed=%" PRIu64
             " --runs=1 --trace\n",
             seed);
    // A run takes a fraction of a second. Busy machines have time.
    alarm(600);
    WholeRun run(seed, directory, FLAGS_control, FLAGS_live, FLAGS_trace);
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
