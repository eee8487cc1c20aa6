// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/write_bench.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "db_bench_ext/child_process.h"
#include "db_bench_ext/filter_spec.h"
#include "db_bench_ext/table_layout.h"
#include "db_bench_ext/workload_flags.h"
#include "filter_policy/protean_filter_policy.h"

DEFINE_string(value_sizes, "20,100,1000",
              "write: sizes of the values, in bytes");
DEFINE_uint64(write_mb, 64,
              "write: keys and values that each filter gets for each size, in "
              "MB");
DEFINE_uint64(rounds, 3,
              "write: number of times that each filter is measured; the report "
              "has the medians");

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kMaxValueBytes = 1 << 20;
constexpr uint64_t kMaxWriteMb = 1 << 20;
constexpr uint64_t kMaxRounds = 1000;

// One line of the report while it is measured.
struct Contender {
  std::string filter;
  bool taught = false;
  size_t value_bytes = 0;
  size_t base = 0;  // place of the contender that its ratios are to
  std::vector<WriteCost> costs;
};

bool Learns(const std::string& filter) {
  std::string spec = filter;
  TableLayout layout;
  std::shared_ptr<const FilterPolicy> policy;
  if (!TakeTableLayout(&spec, &layout).ok() ||
      !MakeFilterPolicy(spec, &policy).ok()) {
    return false;
  }
  const ProteanFilterPolicy* own = AsProteanFilterPolicy(policy.get());
  return own != nullptr && own->Samples() != nullptr;
}

// The base is RocksDB's Bloom filter: the first one, else the first filter.
std::vector<Contender> MakeContenders(const WriteBenchOptions& options) {
  std::vector<Contender> contenders;
  for (const size_t value_bytes : options.value_sizes) {
    const size_t begin = contenders.size();
    size_t base = begin;
    for (const std::string& filter : options.filters) {
      if (base == begin && filter.compare(0, 6, "bloom:") == 0) {
        base = contenders.size();
      }
      contenders.push_back({filter, false, value_bytes, 0, {}});
      if (options.run.samples > 0 && Learns(filter)) {
        contenders.push_back({filter, true, value_bytes, 0, {}});
      }
    }
    for (size_t i = begin; i < contenders.size(); i++) {
      contenders[i].base = base;
    }
  }
  return contenders;
}

Status MeasureInChild(const WriteRunOptions& options, WriteCost* cost) {
  static_assert(std::is_trivially_copyable_v<WriteCost>);
  std::string bytes;
  const Status s = RunInChild(
      [&options](std::string* text) {
        WriteCost measured;
        const Status run = MeasureWriting(options, &measured);
        text->assign(reinterpret_cast<const char*>(&measured),
                     sizeof(measured));
        return run;
      },
      &bytes);
  if (!s.ok()) return s;
  if (bytes.size() != sizeof(*cost)) {
    return Status::Corruption("a child process", "sent no costs");
  }
  memcpy(cost, bytes.data(), sizeof(*cost));
  return s;
}

}  // namespace

Status WriteBenchOptionsFromFlags(WriteBenchOptions* options) {
  for (const std::string& text : SplitList(FLAGS_value_sizes)) {
    uint64_t size = 0;
    const Status s = ParseAmount("--value_sizes", text, &size);
    if (!s.ok()) return s;
    if (size < 1 || size > kMaxValueBytes) {
      return Status::InvalidArgument("--value_sizes: " + text +
                                     " is not from 1 to " +
                                     std::to_string(kMaxValueBytes));
    }
    options->value_sizes.push_back(size);
  }
  if (options->value_sizes.empty()) {
    return Status::InvalidArgument("--value_sizes names no size");
  }
  if (FLAGS_rounds < 1 || FLAGS_rounds > kMaxRounds || FLAGS_write_mb < 1 ||
      FLAGS_write_mb > kMaxWriteMb) {
    return Status::InvalidArgument(
        "--rounds must be from 1 to " + std::to_string(kMaxRounds) +
        ", --write_mb from 1 to " + std::to_string(kMaxWriteMb));
  }
  options->rounds = FLAGS_rounds;
  options->run.bytes = FLAGS_write_mb << 20;
  options->run.samples = FLAGS_samples;
  Status s = KeySourceFromFlags("ranges", &options->run.keys);
  if (!s.ok()) s = KeySourceFromFlags("strings", &options->run.keys);
  return s.ok() ? QueryOptionsFromFlags(GivenQueryFlags(), options->run.keys,
                                        &options->run.queries)
                : s;
}

Status RunWriteBench(const WriteBenchOptions& options, BenchReport* report,
                     ProgressLine* line) {
  std::vector<Contender> contenders = MakeContenders(options);
  for (uint64_t round = 0; round < options.rounds; round++) {
    for (size_t i = 0; i < contenders.size(); i++) {
      Contender& contender = contenders[i];
      line->SetTitle("round " + std::to_string(round + 1));
      line->Show(contender.filter, static_cast<double>(i) /
                                       static_cast<double>(contenders.size()));
      WriteRunOptions run = options.run;
      run.filter = contender.filter;
      run.value_bytes = contender.value_bytes;
      if (!contender.taught) run.samples = 0;
      WriteCost cost;
      const Status s = MeasureInChild(run, &cost);
      if (!s.ok()) return s;
      contender.costs.push_back(cost);
    }
  }
  line->Clear();
  for (const Contender& contender : contenders) {
    const Contender& base = contenders[contender.base];
    WriteRow row = SummarizeWriting(contender.costs, base.costs);
    row.filter = contender.filter;
    row.taught = contender.taught;
    row.value_bytes = contender.value_bytes;
    row.base = base.filter;
    report->Row(row);
  }
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
