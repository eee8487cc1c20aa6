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
  Strings keys;  // in order
  // Begin and end of each range, by their indexes in `keys`. A range that ends
  // where `keys` do has no end.
  std::vector<std::pair<size_t, size_t>> ranges;
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
      plan.keys.push_back(pool.PickBehind(&dice, plan.keys.back()));
    }
  }
  const auto less = [&pool](const std::string& a, const std::string& b) {
    return pool.Less(a, b);
  };
  std::sort(plan.keys.begin(), plan.keys.end(), less);
  plan.keys.erase(std::unique(plan.keys.begin(), plan.keys.end()),
                  plan.keys.end());
  plan.reverse = dice.OneIn(3);
  // Without an end, there may be only one range, and no way back.
  if (plan.keys.size() == 1 || (!plan.reverse && dice.OneIn(10))) {
    plan.reverse = false;
    plan.keys.resize(1);
    plan.ranges = {{0, 1}};
  } else {
    // Some begin where the one before ends.
    for (size_t i = 0; i + 1 < plan.keys.size();
         i += 1 + (dice.OneIn(3) ? 0 : 1)) {
      plan.ranges.emplace_back(i, i + 1);
    }
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
  ReadPoint at;
  at.Draw(run, view);
  MultiScanArgs args(view.family->options.comparator);
  for (const auto& [begin, end] : plan.ranges) {
    if (end < plan.keys.size()) {
      args.insert(plan.keys[begin], plan.keys[end]);
    } else {
      args.insert(plan.keys[begin]);
    }
  }
  args.reverse = plan.reverse;
  args.use_async_io = dice.OneIn(3);
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
    if (plan.ranges[0].second < plan.keys.size()) {
      options.iterate_upper_bound = &upper;
    }
    iterators[twin] = view.NewIterator(twin, options);
  }
  const std::string name =
      std::string("MultiScan") + (plan.reverse ? " back" : "") +
      (args.use_async_io ? " async" : "") + at.ToString() + " on " + view.name;
  run->journal.Note(name);
  for (auto& it : iterators) it->Prepare(args);
  for (const auto& [begin, end] : plan.ranges) {
    const bool has_end = end < plan.keys.size();
    lower = plan.keys[begin];
    if (has_end) upper = plan.keys[end];
    const std::string what = name + ", from " + Brief(lower) + " to " +
                             (has_end ? Brief(upper) : "the end");
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
