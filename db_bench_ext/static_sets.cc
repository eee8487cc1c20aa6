// SPDX-License-Identifier: Apache-2.0

#include "db_bench_ext/static_sets.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "db_bench_ext/stopwatch.h"
#include "filter_policy/amq/amq.h"
#include "filter_policy/bits/bit_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr int kRounds = 12;
constexpr size_t kBatch = 32;

std::vector<uint64_t> RandomHashes(uint64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint64_t> hashes(count);
  for (uint64_t& hash : hashes) hash = random();
  return hashes;
}

// One kind's set, and its least times for each hash in nanoseconds.
class Measured {
 public:
  Measured(const AmqType* type, const AmqPlan& plan)
      : type_(type), plan_(plan) {}

  Status Build(const std::vector<uint64_t>& hashes) {
    std::string header(Amq::kHeaderSize, '\0');
    // Queries may read some bytes behind the data.
    std::string data(plan_.bytes + kReadPadding, '\0');
    const CpuStopwatch stopwatch;
    AmqBuilder builder(plan_, /*in_second_unit=*/false, header.data(),
                       data.data());
    for (const uint64_t hash : hashes) builder.Add(hash);
    builder.Finish();
    Take(stopwatch, hashes.size(), &build_);
    data_ = std::move(data);
    set_ = std::make_unique<Amq>();
    const Status s = set_->DecodeHeader(header.data());
    Slice input(data_);
    if (s.ok() && !set_->Open(&input)) return Status::Corruption("no set");
    return s;
  }
  void Ask(const std::vector<uint64_t>& absent) {
    found_ = 0;
    const CpuStopwatch stopwatch;
    for (const uint64_t hash : absent) found_ += set_->MayContain(hash);
    Take(stopwatch, absent.size(), &query_);
  }
  void AskInBatches(const std::vector<uint64_t>& absent) {
    const CpuStopwatch stopwatch;
    Amq::Lookup lookups[kBatch];
    size_t kept = 0;
    for (size_t i = 0; i + kBatch <= absent.size(); i += kBatch) {
      for (uint32_t j = 0; j < kBatch; j++) lookups[j] = {absent[i + j], j};
      kept += set_->Keep(kBatch, lookups);
    }
    Take(stopwatch, absent.size(), &batched_query_);
    if (kept > found_) found_ = kept;
  }
  void Print(uint64_t num_hashes) const {
    const auto hashes = static_cast<double>(num_hashes);
    printf("| %.0f | %s | %.2f | %.6f | %.6f | %.1f | %.1f | %.1f |\n", hashes,
           type_->name, 8.0 * static_cast<double>(plan_.bytes) / hashes,
           plan_.false_positive_rate, static_cast<double>(found_) / hashes,
           build_, query_, batched_query_);
  }

 private:
  static void Take(const CpuStopwatch& stopwatch, size_t count, double* least) {
    *least = std::min(*least,
                      stopwatch.Seconds() * 1e9 / static_cast<double>(count));
  }

  const AmqType* const type_;
  const AmqPlan plan_;
  std::string data_;
  std::unique_ptr<Amq> set_;
  size_t found_ = 0;
  double build_ = 1e9;
  double query_ = 1e9;
  double batched_query_ = 1e9;
};

}  // namespace

void PrintStaticSetsHead() {
  printf(
      "| hashes | set | bits per hash | planned false positives | false "
      "positives | build, ns | query, ns | query of %zu, ns |\n"
      "|---:|---|---:|---:|---:|---:|---:|---:|\n",
      kBatch);
}

Status PrintStaticSets(uint64_t num_hashes, double bits_per_hash) {
  const std::vector<uint64_t> hashes = RandomHashes(num_hashes, 1);
  const std::vector<uint64_t> absent = RandomHashes(num_hashes, 2);
  const auto bytes = static_cast<uint64_t>(static_cast<double>(num_hashes) *
                                           bits_per_hash / 8);
  std::vector<std::unique_ptr<Measured>> sets;
  for (const AmqType* type : AmqTypes()) {
    const AmqPlan plan = PlanAmq(type->kind, num_hashes, bytes);
    if (plan.kind == AmqKind::kNone) {
      return Status::InvalidArgument(std::string("no set of the kind ") +
                                     type->name + " has that size");
    }
    sets.push_back(std::make_unique<Measured>(type, plan));
  }
  for (int round = 0; round < kRounds; round++) {
    for (const auto& set : sets) {
      const Status s = set->Build(hashes);
      if (!s.ok()) return s;
    }
    for (const auto& set : sets) set->Ask(absent);
    for (const auto& set : sets) set->AskInBatches(absent);
  }
  for (const auto& set : sets) set->Print(num_hashes);
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
