// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/limits_probe.h"

#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "db_bench_ext/process_memory.h"
#include "db_bench_ext/stopwatch.h"
#include "rocksdb/convenience.h"
#include "rocksdb/iterator.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"

namespace ROCKSDB_NAMESPACE::protean {

void Check(bool right, const char* what) {
  if (right) return;
  fprintf(stderr, "protean_limits: WRONG: %s\n", what);
  exit(1);
}

Cost Measure(const std::function<void()>& work) {
  malloc_trim(0);
  ResetPeakMemory();
  Cost cost;
  const double before = ProcessMiB("VmRSS:");
  const Stopwatch stopwatch;
  work();
  cost.seconds = stopwatch.Seconds();
  cost.peak_mib = ProcessMiB("VmHWM:") - before;
  malloc_trim(0);
  cost.kept_mib = ProcessMiB("VmRSS:") - before;
  return cost;
}

Options OptionsOf(const std::string& policy) {
  const bool stock = Slice(policy).starts_with("bloomfilter");
  Options options;
  options.create_if_missing = true;
  options.compression = kNoCompression;
  options.max_open_files = -1;
  options.disable_auto_compactions = true;
  options.level0_slowdown_writes_trigger = 1 << 30;
  options.level0_stop_writes_trigger = 1 << 30;
  Check(GetColumnFamilyOptionsFromString(
      ConfigOptions(), options,
      std::string("table_factory={id=") +
          (stock ? "BlockBasedTable" : "ProteanTable") +
          ";filter_policy=" + policy + "}",
      &options));
  return options;
}

double ShareRead(DB* db, SpreadKeys* keys, uint64_t count, uint64_t queries) {
  ReadOptions read;
  read.fill_cache = false;
  std::string value;
  std::string end;
  SetPerfLevel(kEnableCount);
  uint64_t reads = 0;
  for (uint64_t q = 0; q < queries; q++) {
    const Slice begin = keys->MakeAbsent(q * count / queries, &end);
    get_perf_context()->Reset();
    if (q % 2 == 0) {
      Check(db->Get(read, begin, &value).IsNotFound(), "a key was found");
    } else {
      const Slice bound = end;
      read.iterate_upper_bound = &bound;
      const std::unique_ptr<Iterator> it(db->NewIterator(read));
      it->Seek(begin);
      Check(!it->Valid(), "a range is not empty");
      Check(it->status());
      read.iterate_upper_bound = nullptr;
    }
    reads += get_perf_context()->block_read_count > 0;
  }
  SetPerfLevel(kDisable);
  return 100.0 * static_cast<double>(reads) / static_cast<double>(queries);
}

}  // namespace ROCKSDB_NAMESPACE::protean
