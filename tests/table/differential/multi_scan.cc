// SPDX-License-Identifier: Apache-2.0

#include "tests/table/differential/multi_scan.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/key_families.h"
#include "tests/table/differential/run.h"
#include "tests/table/differential/versions.h"

namespace ROCKSDB_NAMESPACE::protean {

#if PROTEAN_TESTS_MULTI_SCAN

namespace {

using Strings = std::vector<std::string>;

struct MultiScanPlan {
  Strings keys;                // in order
  std::vector<size_t> ranges;  // from one key to the next, by its index
  bool reverse;
  ReadOptions options;
};

MultiScanPlan DrawPlan(RandomRun* run, const View& view) {
  Dice& dice = run->dice;
  const KeyPool& pool = view.family->pool;
  MultiScanPlan plan;
  for (size_t left = 2 + dice.Below(12); left > 0; left--) {
    plan.keys.push_back(pool.PickAround(&dice));
    if (dice.OneIn(2)) {
      plan.keys.push_back(pool.PickAfter(&dice, plan.keys.back()));
    }
  }
  const auto less = [&pool](const std::string& a, const std::string& b) {
    return pool.Less(a, b);
  };
  std::sort(plan.keys.begin(), plan.keys.end(), less);
  plan.keys.erase(std::unique(plan.keys.begin(), plan.keys.end()),
                  plan.keys.end());
  plan.reverse = dice.OneIn(3);
  // Some begin where the one before ends. All of them end: stock RocksDB 11.8.1
  // crashes as it announces to a file on level 0 that there is no end.
  for (size_t i = 0; i + 1 < plan.keys.size(); i += dice.OneIn(3) ? 1 : 2) {
    plan.ranges.push_back(i);
  }
  // Backwards, stock RocksDB 11.8.1 goes on with another range (and stops at an
  // assertion) where a file holds no block of the one that is sought.
  if (plan.reverse && !plan.ranges.empty()) {
    plan.ranges = {dice.In(plan.ranges)};
  }
  ReadOptions& options = plan.options;
  options.verify_checksums = !dice.OneIn(4);
  options.fill_cache = !dice.OneIn(4);
  options.total_order_seek =
      view.family->options.prefix_extractor != nullptr || dice.OneIn(2);
  options.pin_data = dice.OneIn(4);
  options.adaptive_readahead = dice.OneIn(5);
  options.auto_readahead_size = dice.OneIn(2);
  if (dice.OneIn(5)) options.readahead_size = 1 + dice.Below(4096);
  return plan;
}

std::string DescribeEntry(const Iterator& it) {
  if (!it.Valid()) return Describe(it.status());
  return Brief(it.key()) + " => " + it.value().ToString() + " " +
         Describe(it.columns());
}

}  // namespace

void CompareMultiScan(RandomRun* run, const View& view) {
  Dice& dice = run->dice;
  const MultiScanPlan plan = DrawPlan(run, view);
  if (plan.ranges.empty()) return;
  ReadPoint at;
  at.Draw(run, view);
  MultiScanArgs args(view.family->options.comparator);
  for (size_t i : plan.ranges) args.insert(plan.keys[i], plan.keys[i + 1]);
  args.reverse = plan.reverse;
  // Both together, stock RocksDB 11.8.1 returns keys below the lower bound.
  args.use_async_io = !plan.reverse && dice.OneIn(3);
  args.io_coalesce_threshold =
      dice.Of({uint64_t{0}, uint64_t{100}, uint64_t{16 << 10}});

  // The bounds are those of the range that is being scanned.
  Slice lower;
  Slice upper;
  Pair<std::unique_ptr<Iterator>> iterators;
  for (Twin twin : kTwins) {
    ReadOptions options = plan.options;
    at.Set(twin, &options);
    if (plan.reverse) options.iterate_lower_bound = &lower;
    options.iterate_upper_bound = &upper;
    iterators[twin] = view.NewIterator(twin, options);
  }
  const std::string name =
      std::string("MultiScan") + (plan.reverse ? " back" : "") +
      (args.use_async_io ? " async" : "") + at.ToString() + " on " + view.name;
  run->journal.Note(name);
  for (auto& it : iterators) it->Prepare(args);
  for (size_t i : plan.ranges) {
    lower = plan.keys[i];
    upper = plan.keys[i + 1];
    const std::string what =
        name + ", from " + Brief(lower) + " to " + Brief(upper);
    run->journal.Note(what);
    for (auto& it : iterators) {
      plan.reverse ? it->SeekForPrev(upper) : it->Seek(lower);
    }
    // Some scans are left before their end.
    size_t steps =
        dice.OneIn(3) ? dice.Below(6) : view.family->pool.keys().size();
    while (run->journal.Expect(what, DescribeEntry(*iterators[kPlain]),
                               DescribeEntry(*iterators[kProtean])) &&
           iterators[kPlain]->Valid() && steps > 0) {
      for (auto& it : iterators) plan.reverse ? it->Prev() : it->Next();
      steps--;
    }
    if (!run->journal.ok() || !iterators[kPlain]->status().ok()) return;
    if (dice.OneIn(12)) return;  // and some ranges are never asked for
  }
}

#else

void CompareMultiScan(RandomRun* /*run*/, const View& /*view*/) {}

#endif

}  // namespace ROCKSDB_NAMESPACE::protean
