// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/amq/bloom.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <new>

#include "port/port.h"
#include "util/bloom_impl.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kLineBytes = BloomSet::kLineBytes;
// Lines have 32-bit numbers.
constexpr uint64_t kMaxBytes = 0xffffffc0;
constexpr int kHashBits = 64;
constexpr int kMaxProbes = 24;
constexpr int kMaxLines = 3;

// The false positive rate if each hash sets `probes` bits in each of `lines`
// lines. How many hashes a line has is Poisson distributed; RocksDB's own
// formula guesses that from two points.
double Rate(double bits_per_hash, int probes, int lines) {
  const double mean = 8.0 * kLineBytes * lines / bits_per_hash;
  const double deviation = std::sqrt(mean);
  const double first = std::max(0.0, std::floor(mean - 6 * deviation));
  const double last = std::ceil(mean + 7 * deviation) + 1;
  const double keep = std::pow(1 - 1.0 / (8 * kLineBytes), probes);
  double weight = 1;  // frequency of lines with `hashes`, relative to `first`
  double weights = 0;
  double clear = std::pow(keep, first);  // the share of bits not set
  double rate = 0;
  for (double hashes = first; hashes <= last;) {
    double all = 1;
    for (int i = 0; i < probes; i++) all *= 1 - clear;
    weights += weight;
    rate += weight * all;
    hashes++;
    weight *= mean / hashes;
    clear *= keep;
  }
  return std::min(1.0, std::pow(rate / weights, lines));
}

// The gain from more lines grows with the number of bits.
int LinesFor(double bits_per_hash) {
  return bits_per_hash < 6 ? 1 : bits_per_hash < 12 ? 2 : 3;
}

// How many bits a hash sets in each of its lines, and the rate that follows.
struct Probes {
  int number = 0;
  int lines = 0;
  double rate = 1;
};

// At the best number of probes, half of all bits are set, or a little less
// since lines differ.
Probes BestProbes(double bits_per_hash) {
  Probes best;
  const int lines = LinesFor(bits_per_hash);
  const int most =
      std::clamp(static_cast<int>(std::lround(bits_per_hash * 0.693 / lines)),
                 1, kMaxProbes);
  for (int probes = std::max(1, most - 1); probes <= most; probes++) {
    const double rate = Rate(bits_per_hash, probes, lines);
    if (rate < best.rate) best = {probes, lines, rate};
  }
  return best;
}

// BestProbes takes thousands of instructions, and thousands of sets are planned
// where one is built. So rates from one bit on are interpolated, which is
// within .05 %.
class ProbesTable {
 public:
  ProbesTable() {
    for (size_t i = kSteps; i < probes_.size(); i++) {
      probes_[i] = BestProbes(static_cast<double>(i) / kSteps);
    }
  }

  Probes For(double bits_per_hash) const {
    const double place = bits_per_hash * kSteps;
    const auto below = static_cast<size_t>(place);
    if (below < kSteps || below + 1 >= probes_.size()) {
      return BestProbes(bits_per_hash);
    }
    Probes found = probes_[below];
    const Probes& next = probes_[below + 1];
    if (found.number != next.number || found.lines != next.lines) {
      return BestProbes(bits_per_hash);
    }
    found.rate *=
        std::pow(next.rate / found.rate, place - static_cast<double>(below));
    return found;
  }

 private:
  static constexpr size_t kSteps = 8;  // per bit
  static constexpr size_t kMaxBits = 40;

  std::array<Probes, kMaxBits * kSteps + 1> probes_;
};

AmqPlan Plan(uint64_t hashes, uint64_t bytes) {
  static const ProbesTable table;
  AmqPlan plan;
  bytes = std::min(bytes, kMaxBytes) / kLineBytes * kLineBytes;
  if (bytes == 0) return plan;
  // More bits change nothing.
  constexpr double kMaxBits = 100;
  const Probes probes =
      table.For(std::min(kMaxBits, 8.0 * static_cast<double>(bytes) /
                                       static_cast<double>(hashes)));
  if (probes.number == 0) return plan;
  plan.kind = kBloomAmq;
  plan.hashes = hashes;
  plan.bytes = bytes;
  plan.small[0] = static_cast<uint8_t>(probes.number);
  plan.small[1] = static_cast<uint8_t>(probes.lines);
  plan.false_positive_rate = BloomMath::IndependentProbabilitySum(
      probes.rate, BloomMath::FingerprintFpRate(hashes, kHashBits));
  return plan;
}

class Builder : public AmqSetBuilder {
 public:
  Builder(const AmqPlan& plan, char* data)
      : plan_(plan),
        data_(data),
        num_lines_(static_cast<uint32_t>(plan.bytes / kLineBytes)) {}

  void Add(const uint64_t* hashes, size_t count) override {
    const size_t lines = plan_.small[1];
    for (; count * lines > kLinesAtOnce; count -= kLinesAtOnce / lines) {
      AddSome(hashes, kLinesAtOnce / lines);
      hashes += kLinesAtOnce / lines;
    }
    AddSome(hashes, count);
  }

 private:
  // Lines that are prefetched before the bits of the first one are set. They
  // take a quarter of a usual first-level cache.
  static constexpr size_t kLinesAtOnce = 128;

  // Adds hashes that have at most kLinesAtOnce lines together.
  void AddSome(const uint64_t* hashes, size_t count) {
    struct Line {
      char* bytes;
      uint32_t bits;
    };
    // Copies, since the compiler must assume that setting bits changes this
    // object.
    char* const data = data_;
    const uint32_t num_lines = num_lines_;
    const int probes = plan_.small[0];
    const int lines = plan_.small[1];
    Line found[kLinesAtOnce];
    Line* end = found;
    for (size_t i = 0; i < count; i++) {
      uint64_t hash = hashes[i];
      for (int line = 1;; line++) {
        const size_t index = FastRange32(Lower32of64(hash), num_lines);
        *end = {data + index * kLineBytes, Upper32of64(hash)};
        PREFETCH(end->bytes, 1, 3);
        end++;
        if (line == lines) break;
        hash = BloomSet::NextLine(hash);
      }
    }
    for (const Line* line = found; line != end; line++) {
      FastLocalBloomImpl::AddHashPrepared(line->bits, probes, line->bytes);
    }
  }

  const AmqPlan plan_;
  char* const data_;
  const uint32_t num_lines_;
};

bool IsSane(const AmqHeader& header) {
  const uint8_t probes = header.small[0];
  const uint8_t lines = header.small[1];
  return header.bytes > 0 && header.bytes <= kMaxBytes &&
         header.bytes % kLineBytes == 0 && probes > 0 && probes <= kMaxProbes &&
         lines > 0 && lines <= kMaxLines;
}

}  // namespace

// Tests line by line: few absent hashes get to their second line.
size_t BloomSet::Keep(size_t count, AmqLookup* lookups) const {
  // Copies, since the compiler must assume that writing lookups changes this
  // object.
  const char* const data = data_;
  const uint32_t num_lines = num_lines_;
  const int probes = probes_;
  const int lines = lines_;
  for (int line = 1;; line++) {
    for (size_t i = 0; i < count; i++) {
      PREFETCH(Line(data, num_lines, lookups[i].hash), 0, 3);
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
      const AmqLookup lookup = lookups[i];
      lookups[kept] = lookup;
      kept += LineMayContain(Line(data, num_lines, lookup.hash), probes,
                             lookup.hash);
    }
    if (kept == 0 || line == lines) return kept;
    count = kept;
    for (size_t i = 0; i < count; i++) {
      lookups[i].hash = NextLine(lookups[i].hash);
    }
  }
}

const AmqType& BloomAmqType() {
  static_assert(sizeof(BloomSet) <= AmqSet::kMaxBytes);
  static const AmqType type = {
      kBloomAmq,
      "bloom",
      /*takes_neighbours=*/false,
      /*query_nanos=*/6,
      /*next_nanos=*/6,
      /*build_nanos=*/18,
      /*max_hashes_per_key=*/16,
      Plan,
      [](const AmqPlan& plan, char* data) -> std::unique_ptr<AmqSetBuilder> {
        return std::make_unique<Builder>(plan, data);
      },
      [](const AmqPlan&) -> size_t { return sizeof(Builder); },
      IsSane,
      [](const AmqHeader& header, const char* data, void* memory) -> AmqSet* {
        return new (memory) BloomSet(header, data);
      },
  };
  return type;
}

}  // namespace ROCKSDB_NAMESPACE::protean
