// SPDX-License-Identifier: Apache-2.0

//  Quotient filters in memory beside a textbook Bloom filter of the same false
//  positive rate: the experiment of "Don't Thrash: How to Cache Your Hash on
//  Flash", section 3. One quotient filter is filled hash by hash and one in
//  batches; at each load, a Bloom filter is made for the same hashes.

#include <gflags/gflags.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "db_bench_ext/filter_spec.h"
#include "db_bench_ext/own_flags.h"
#include "db_bench_ext/stopwatch.h"
#include "db_bench_ext/textbook_bloom.h"
#include "sets/quotient/quotient_appender.h"
#include "sets/quotient/quotient_cursor.h"
#include "sets/quotient/quotient_merge.h"

DEFINE_uint32(quotient_bits, 26, "Bits of a quotient: 2^BITS slots");
DEFINE_uint32(remainder_bits, 11, "Bits of a remainder");
DEFINE_uint64(queries, 4'000'000, "Lookups at each load");
DEFINE_uint64(seed, 42, "Seed of the hashes");

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr char kProgram[] = "quotient_bench";
constexpr char kPurpose[] =
    "Measures quotient filters in memory beside a textbook Bloom filter of the "
    "same false positive rate.";

constexpr double kLoads[] = {0.5, 0.75, 0.9, 0.95};
// Hashes are made before they are measured, a chunk at a time.
constexpr size_t kChunk = 1 << 16;

// The i-th hash, by the mixing function of SplitMix64. Those from kAbsent on
// are never inserted.
uint64_t HashOf(uint64_t i) {
  uint64_t z = (i + FLAGS_seed) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}
constexpr uint64_t kAbsent = uint64_t{1} << 40;

// Calls `work` for the hashes [begin, end) in chunks, and returns the seconds
// that it takes.
template <class Work>
double Measure(uint64_t begin, uint64_t end, uint64_t step, const Work& work) {
  std::vector<uint64_t> hashes(kChunk);
  double seconds = 0;
  while (begin < end) {
    size_t count = 0;
    for (; count < kChunk && begin < end; begin++) {
      hashes[count++] = HashOf(begin * step);
    }
    const CpuStopwatch stopwatch;
    work(hashes.data(), count);
    seconds += stopwatch.Seconds();
  }
  return seconds;
}

// A way to insert and to look up.
struct Contender {
  std::string name;
  std::function<void(const uint64_t*, size_t)> insert;
  // Returns the number of hashes that are found.
  std::function<uint64_t(const uint64_t*, size_t)> look_up;
};

template <class Filter>
Contender OneByOne(const char* name, Filter* filter) {
  return {name,
          [filter](const uint64_t* hashes, size_t count) {
            for (size_t i = 0; i < count; i++) filter->Insert(hashes[i]);
          },
          [filter](const uint64_t* hashes, size_t count) {
            uint64_t found = 0;
            for (size_t i = 0; i < count; i++) {
              found += filter->Contains(hashes[i]);
            }
            return found;
          }};
}

Contender InBatches(QuotientMultiset* filter) {
  return {"quotient, batches",
          [filter](const uint64_t* hashes, size_t count) {
            filter->InsertBatch(hashes, count);
          },
          [filter](const uint64_t* hashes, size_t count) {
            bool contained[kChunk];
            filter->ContainsBatch(hashes, count, contained);
            uint64_t found = 0;
            for (size_t i = 0; i < count; i++) found += contained[i];
            return found;
          }};
}

// Millions a second.
double Rate(uint64_t count, double seconds) {
  return static_cast<double>(count) / seconds / 1e6;
}

// Prints a line of the table. `total` is the seconds in which all `size` hashes
// were inserted, `last` those of the last `newest` hashes.
void Report(double load, const Contender& contender, uint64_t size,
            double total, uint64_t newest, double last, size_t bytes) {
  const uint64_t queries = FLAGS_queries;
  uint64_t found = 0;
  const auto look_up = [&](const uint64_t* hashes, size_t count) {
    found += contender.look_up(hashes, count);
  };
  const double absent = Measure(kAbsent, kAbsent + queries, 1, look_up);
  const double false_positives =
      static_cast<double>(found) / static_cast<double>(queries);
  found = 0;
  // Present hashes in another order than that of their insertion.
  const uint64_t stride = std::max<uint64_t>(1, size / queries);
  const uint64_t present_queries = std::min(queries, size / stride);
  const double present = Measure(0, present_queries, stride, look_up);
  if (found != present_queries) {
    Check(Status::Corruption(contender.name + " has lost hashes"));
  }
  printf("| %.0f %% | %s | %.1f | %.5f | %.2f | %.2f | %.2f | %.2f |\n",
         100 * load, contender.name.c_str(),
         8.0 * static_cast<double>(bytes) / static_cast<double>(size),
         false_positives, Rate(size, total), Rate(newest, last),
         Rate(queries, absent), Rate(present_queries, present));
  fflush(stdout);
}

void CompareAtEachLoad(const QuotientShape& shape) {
  std::unique_ptr<QuotientMultiset> filters[2];
  double seconds[2] = {0, 0};
  for (auto& filter : filters) {
    Check(QuotientMultiset::Create(shape, FilterSalt(), &filter));
  }
  const Contender contenders[2] = {OneByOne("quotient", filters[0].get()),
                                   InBatches(filters[1].get())};
  printf(
      "| load | filter | bits per hash | false positives | inserts, all | "
      "inserts, last | lookups, absent | lookups, present |\n"
      "|---:|---|---:|---:|---:|---:|---:|---:|\n");
  uint64_t size = 0;
  for (const double load : kLoads) {
    const uint64_t before = size;
    size = std::min(shape.capacity(),
                    static_cast<uint64_t>(
                        load * static_cast<double>(shape.num_quotients())));
    // The last insertions are measured apart: they meet the load.
    const uint64_t newest = shape.num_quotients() / 100;
    for (int i = 0; i < 2; i++) {
      seconds[i] += Measure(before, size - newest, 1, contenders[i].insert);
      const double last = Measure(size - newest, size, 1, contenders[i].insert);
      seconds[i] += last;
      Report(load, contenders[i], size, seconds[i], newest, last,
             filters[i]->MemoryUsage());
    }
    const double rate = -std::expm1(
        -load / std::exp2(static_cast<double>(shape.remainder_bits)));
    TextbookBloom bloom(size, rate);
    const Contender contender = OneByOne("Bloom", &bloom);
    const double first = Measure(0, size - newest, 1, contender.insert);
    const double last = Measure(size - newest, size, 1, contender.insert);
    Report(load, contender, size, first + last, newest, last, bloom.bytes());
  }

  // What goes through the fingerprints in order, of the full filter.
  const auto report = [&](const char* what, double taken, uint64_t hashes) {
    printf("%s: %.1f million hashes a second\n", what, Rate(hashes, taken));
  };
  printf("\n");
  {
    const CpuStopwatch stopwatch;
    uint64_t sum = 0;
    for (QuotientCursor cursor(filters[0]->blocks()); cursor.Valid();
         cursor.Next()) {
      sum += cursor.Fingerprint();
    }
    const double taken = stopwatch.Seconds();
    if (sum == 0) printf("no fingerprints\n");
    report("read in order", taken, size);
  }
  {
    const CpuStopwatch stopwatch;
    std::unique_ptr<QuotientMultiset> doubled;
    Check(
        ResizeQuotientMultiset(*filters[0], shape.quotient_bits + 1, &doubled));
    report("doubled", stopwatch.Seconds(), size);
  }
  {
    const CpuStopwatch stopwatch;
    std::unique_ptr<QuotientMultiset> merged;
    Check(
        MergeQuotientMultisets({filters[0].get(), filters[1].get()}, &merged));
    report("two merged", stopwatch.Seconds(), 2 * size);
  }
}

}  // namespace

int RunQuotientBench(int argc, char** argv) {
  ParseOwnFlags(kProgram, kPurpose, &argc, &argv);
  const QuotientShape shape{FLAGS_quotient_bits, FLAGS_remainder_bits};
  printf("%s --quotient_bits=%u --remainder_bits=%u --queries=%llu\n\n",
         kProgram, shape.quotient_bits, shape.remainder_bits,
         static_cast<unsigned long long>(FLAGS_queries));
  CompareAtEachLoad(shape);
  return 0;
}

}  // namespace ROCKSDB_NAMESPACE::protean

int main(int argc, char** argv) {
  return ROCKSDB_NAMESPACE::protean::RunQuotientBench(argc, argv);
}
