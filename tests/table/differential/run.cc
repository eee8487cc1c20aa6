// SPDX-License-Identifier: Apache-2.0

#include "tests/table/differential/run.h"

#include <filesystem>

#include "filter_policy/open_db/dead_ranges.h"
#include "rocksdb/env.h"
#include "table/seek/seek_decision.h"
#include "tests/key_families.h"

namespace ROCKSDB_NAMESPACE::protean {

RandomRun::RandomRun(uint64_t seed_, const std::string& directory, bool control,
                     bool live, bool print)
    : seed(seed_),
      dice(seed_),
      journal(print),
      plan(&dice, directory, control, live),
      twins(&plan) {}

View RandomRun::Latest(size_t family) {
  View view;
  view.name = "family " + std::to_string(family);
  view.family = &plan.families[family];
  for (Twin twin : kTwins) {
    view.dbs[twin] = twins.db(twin);
    view.handles[twin] = twins.handle(twin, family);
  }
  view.snapshots = true;
  view.same_shape = plan.frozen && twins.SameShape(family);
  // RocksDB does not correctly refresh iterators that know of prepared
  // transactions.
  view.refresh = plan.kind != DbKind::kWritePrepared &&
                 plan.kind != DbKind::kWriteUnprepared;
  return view;
}

bool RandomRun::Same(const std::string& what,
                     const std::function<std::string(Twin)>& answer) {
  const std::string protean = answer(kProtean);
  return journal.Expect(what, answer(kPlain), protean);
}

bool RandomRun::Both(const std::string& what,
                     const std::function<Status(Twin)>& operation) {
  if (!journal.ok()) return false;
  journal.Note(what);
  Pair<Status> statuses;
  for (Twin twin : kTwins) statuses[twin] = operation(twin);
  if (!statuses[kPlain].ok() || !statuses[kProtean].ok()) {
    journal.Note("  " + statuses[kPlain].ToString() + " / " +
                 statuses[kProtean].ToString());
  }
  return journal.Expect(what, Describe(statuses[kPlain]),
                        Describe(statuses[kProtean])) &&
         statuses[kPlain].ok();
}

// The queries that Proteus designs its first filters for.
void RandomRun::WriteSeeds() {
  Env* env = twins.env(kProtean);
  for (const FamilyPlan& family : plan.families) {
    std::string lines = "# sample queries\n";
    for (int i = 0; i < 40; i++) {
      const std::string lo = family.pool.PickAround(&dice);
      std::string hi = family.pool.PickAfter(&dice, lo);
      if (dice.OneIn(2)) hi = lo + std::string(1, '\0');
      lines += "0x" + Hex(lo) + "\t0x" + Hex(hi) + "\texclusive\n";
      if (dice.OneIn(3)) {
        lines += "0x" + Hex(family.pool.PickAround(&dice)) + "\n";
      }
    }
    Status s = env->CreateDirIfMissing(plan.directory);
    if (s.ok()) {
      s = WriteStringToFile(env, lines,
                            plan.directory + "/seeds_" + family.name);
    }
    if (!s.ok()) journal.Differ("seeds: " + s.ToString());
  }
}

bool RandomRun::Open() {
  journal.Note(plan.ToString() + "open");
  const Status s = twins.Open();
  // If RocksDB refuses the options, the test or Protean is wrong.
  if (!s.ok()) journal.Differ("open: " + s.ToString());
  return s.ok();
}

void RandomRun::CloseAll() {
  walks.clear();
  // A prepared transaction must not outlive its DB here: it would hold its
  // locks.
  EndTransactions(this);
  twins.Close();
}

void RandomRun::Reopen() {
  CloseAll();
  if (dice.OneIn(2)) plan.DrawAgain(&dice);
  Open();
}

void WalkOnce(RandomRun* run, const View& view, size_t steps) {
  const std::unique_ptr<Walk> walk = NewWalk(run, view);
  for (; steps > 0; steps--) walk->Step();
}

void RandomRun::MoveWalk() {
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

void RandomRun::Operation() {
  const size_t family = dice.Below(plan.families.size());
  const size_t kind = dice.Below(1000);
  if (kind < 280) {
    WriteSome(this);
  } else if (kind < 330) {
    WriteMany(this);
  } else if (kind < 350) {
    Ingest(this, family);
  } else if (kind < 410) {
    Flush(this, family);
  } else if (kind < 460) {
    Compact(this, family);
  } else if (kind < 480) {
    Reopen();
  } else if (kind < 510) {
    journal.Note("snapshot");
    twins.TakeSnapshot();
  } else if (kind < 520) {
    if (twins.num_snapshots() == 0) return;
    const size_t index = dice.Below(twins.num_snapshots());
    const Snapshot* snapshot = twins.snapshot(index)[kPlain];
    journal.Note("release snapshot " +
                 std::to_string(snapshot->GetSequenceNumber()));
    // Iterators must not outlive their snapshot.
    for (size_t i = walks.size(); i > 0; i--) {
      if (walks[i - 1]->Uses(snapshot)) {
        walks.erase(walks.begin() + static_cast<ptrdiff_t>(i - 1));
      }
    }
    twins.ReleaseSnapshot(index);
  } else if (kind < 700) {
    ComparePointRead(this, Latest(family));
  } else if (kind < 760 && plan.families[family].multi_scans) {
    CompareMultiScan(this, Latest(family));
  } else if (kind < 960) {
    MoveWalk();
  } else if (kind < 967) {
    CompareKeyVersions(this, family);
  } else if (kind < 974) {
    CompareFiles(this, family);
  } else if (kind < 980) {
    CompareSizes(this, family);
  } else if (kind < 983) {
    VerifyChecksums(this);
  } else if (kind < 986) {
    CompareCheckpoints(this);
  } else if (kind < 989) {
    CompareSecondaries(this);
  } else {
    CompareManyFamilies(this);
  }
}

void RandomRun::CompareEverything() {
  for (size_t family = 0; family < plan.families.size(); family++) {
    const View view = Latest(family);
    CompareAllKeys(this, view);
    CompareKeyVersions(this, family);
    for (int i = 0; i < 2; i++) WalkOnce(this, view, /*steps=*/30);
  }
}

bool RandomRun::Execute() {
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

}  // namespace ROCKSDB_NAMESPACE::protean
