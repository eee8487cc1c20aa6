#include "filter_policy/amq/amq.h"

#include <algorithm>
#include <cmath>

#include "filter_policy/bits/bit_array.h"
#include "port/port.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kLineBytes = Amq::kLineBytes;
// Bloom's line numbers and Ribbon's slots are 32-bit numbers.
constexpr uint64_t kMaxBloomBytes = 0xffffffc0;
constexpr uint64_t kMaxRibbonHashes = 950000000;
constexpr unsigned kSegmentBytes = sizeof(RibbonSettings::CoeffRow);
constexpr unsigned kSlotsPerBlock = 8 * kSegmentBytes;
constexpr unsigned kMaxColumns = 8 * sizeof(RibbonSettings::ResultRow);
constexpr uint32_t kMaxBlocks = uint32_t{1} << 24;
// RocksDB tries as many seeds.
constexpr uint32_t kSeedMask = 255;
constexpr int kHashBits = 64;
constexpr int kMaxProbes = 24;
constexpr int kMaxLines = 3;

// The false positive rate if each hash sets so many bits in each of so many
// lines. How many hashes a line has is Poisson distributed; RocksDB's own
// formula guesses that from two points.
double BloomRate(double bits_per_hash, int probes, int lines) {
  const double mean = 8.0 * kLineBytes * lines / bits_per_hash;
  const double deviation = std::sqrt(mean);
  const double first = std::max(0.0, std::floor(mean - 6 * deviation));
  const double last = std::ceil(mean + 7 * deviation) + 1;
  const double keep = std::pow(1 - 1.0 / (8 * kLineBytes), probes);
  double weight =
      std::exp(first * std::log(mean) - mean - std::lgamma(first + 1));
  double clear = std::pow(keep, first);  // the share of bits not set
  double rate = 0;
  for (double hashes = first; hashes <= last;) {
    double all = 1;
    for (int i = 0; i < probes; i++) all *= 1 - clear;
    rate += weight * all;
    hashes++;
    weight *= mean / hashes;
    clear *= keep;
  }
  return std::min(1.0, std::pow(rate, lines));
}

// More lines gain the more, the more bits there are.
int LinesFor(double bits_per_hash) {
  return bits_per_hash < 6 ? 1 : bits_per_hash < 12 ? 2 : 3;
}

AmqPlan PlanBloom(uint64_t hashes, uint64_t bytes) {
  AmqPlan plan;
  bytes = std::min(bytes, kMaxBloomBytes) / kLineBytes * kLineBytes;
  if (bytes == 0) return plan;
  plan.kind = AmqKind::kBloom;
  plan.hashes = hashes;
  plan.bytes = bytes;
  // What is above changes nothing.
  constexpr double kMostBits = 100;
  const double bits_per_hash =
      std::min(kMostBits,
               8.0 * static_cast<double>(bytes) / static_cast<double>(hashes));
  const int lines = LinesFor(bits_per_hash);
  // Half of all bits set, or, as lines differ, a little less.
  const int most =
      std::clamp(static_cast<int>(std::lround(bits_per_hash * 0.693 / lines)),
                 1, kMaxProbes);
  plan.lines = static_cast<uint8_t>(lines);
  for (int probes = std::max(1, most - 1); probes <= most; probes++) {
    const double rate = BloomRate(bits_per_hash, probes, lines);
    if (rate >= plan.false_positive_rate) continue;
    plan.false_positive_rate = rate;
    plan.probes = static_cast<uint8_t>(probes);
  }
  if (plan.probes == 0) return AmqPlan();
  plan.false_positive_rate = BloomMath::IndependentProbabilitySum(
      plan.false_positive_rate,
      BloomMath::FingerprintFpRate(hashes, kHashBits));
  return plan;
}

AmqPlan PlanRibbon(uint64_t hashes, uint64_t bytes) {
  AmqPlan plan;
  if (hashes > kMaxRibbonHashes) return plan;
  const uint32_t slots = RibbonSolution::RoundUpNumSlots(
      RibbonConfig::GetNumSlots(static_cast<uint32_t>(hashes)));
  const uint32_t blocks = slots / kSlotsPerBlock;
  // A Bloom filter of the same size may have to take its place.
  bytes = std::min(bytes / kLineBytes * kLineBytes,
                   uint64_t{blocks} * kMaxColumns * kSegmentBytes);
  if (bytes == 0 || blocks >= kMaxBlocks) return plan;
  plan.kind = AmqKind::kRibbon;
  plan.hashes = hashes;
  plan.bytes = bytes;
  plan.blocks = blocks;
  RibbonSolution solution(nullptr, bytes);
  solution.ConfigureForNumBlocks(blocks);
  plan.false_positive_rate = solution.ExpectedFpRate();
  return plan;
}

}  // namespace

AmqPlan PlanAmq(AmqKind kind, uint64_t hashes, uint64_t bytes) {
  if (hashes == 0) return AmqPlan();
  switch (kind) {
    case AmqKind::kBloom:
      return PlanBloom(hashes, bytes);
    case AmqKind::kRibbon:
      return PlanRibbon(hashes, bytes);
    default:
      return AmqPlan();
  }
}

Status Amq::DecodeHeader(const char* header) {
  kind_ = static_cast<AmqKind>(header[0]);
  const auto parameter = static_cast<uint8_t>(header[1]);
  blocks_ = DecodeFixed32(header + 4);
  bytes_ = DecodeFixed64(header + 8);
  probes_ = parameter;
  lines_ = static_cast<uint8_t>(header[2]);
  hasher_.SetOrdinalSeed(parameter);
  bool sane = false;
  switch (kind_) {
    case AmqKind::kNone:
      sane = bytes_ == 0;
      break;
    case AmqKind::kBloom:
      sane = bytes_ > 0 && bytes_ <= kMaxBloomBytes &&
             bytes_ % kLineBytes == 0 && probes_ > 0 && probes_ <= kMaxProbes &&
             lines_ > 0 && lines_ <= kMaxLines;
      break;
    case AmqKind::kRibbon:
      // At least two blocks: RibbonSolution::RoundUpNumSlots.
      sane = bytes_ > 0 && bytes_ % kSegmentBytes == 0 && blocks_ >= 2 &&
             blocks_ < kMaxBlocks &&
             bytes_ <= uint64_t{blocks_} * kMaxColumns * kSegmentBytes;
      break;
  }
  return sane ? Status::OK()
              : Status::Corruption("prefix filter has an impossible header");
}

bool Amq::Open(Slice* input) {
  if (!TakeBytes(input, bytes_, &data_)) return false;
  if (kind_ == AmqKind::kRibbon) {
    // Reads only.
    solution_.emplace(const_cast<char*>(data_), bytes_);
    solution_->ConfigureForNumBlocks(blocks_);
  }
  return true;
}

size_t Amq::Keep(size_t count, Lookup* lookups) const {
  switch (kind_) {
    case AmqKind::kBloom:
      return KeepInBloom(count, lookups);
    case AmqKind::kRibbon:
      return KeepInRibbon(count, lookups);
    case AmqKind::kNone:
      break;
  }
  return count;
}

// Line by line: few hashes that are absent get to their second one.
size_t Amq::KeepInBloom(size_t count, Lookup* lookups) const {
  // Copies, since the compiler must assume that writing lookups changes this
  // object.
  const char* const data = data_;
  const uint32_t num_lines = NumLines();
  const int probes = probes_;
  const int lines = lines_;
  for (int line = 1;; line++) {
    for (size_t i = 0; i < count; i++) {
      PREFETCH(Line(data, num_lines, lookups[i].hash), 0, 3);
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
      const Lookup lookup = lookups[i];
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

size_t Amq::KeepInRibbon(size_t count, Lookup* lookups) const {
  for (size_t i = 0; i < count; i++) {
    // Asks the cache. What it finds out costs less to find out again than to
    // keep.
    uint64_t seeded;
    uint32_t segment;
    uint32_t columns;
    uint32_t start_bit;
    ribbon::InterleavedPrepareQuery(lookups[i].hash, hasher_, *solution_,
                                    &seeded, &segment, &columns, &start_bit);
  }
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    const Lookup lookup = lookups[i];
    lookups[kept] = lookup;
    kept += solution_->FilterQuery(lookup.hash, hasher_);
  }
  return kept;
}

AmqBuilder::AmqBuilder(const AmqPlan& plan, char* header, char* data)
    : plan_(plan), header_(header), data_(data) {
  if (plan.kind == AmqKind::kRibbon) hashes_.reserve(plan.hashes);
}

bool AmqBuilder::FinishRibbon(uint8_t* seed) {
  const uint32_t first_seed =
      hashes_.empty() ? 0 : Lower32of64(hashes_.front()) & kSeedMask;
  RibbonBanding banding;
  if (!banding.ResetAndFindSeedToSolve(plan_.blocks * kSlotsPerBlock,
                                       hashes_.begin(), hashes_.end(),
                                       first_seed, kSeedMask)) {
    return false;
  }
  *seed = static_cast<uint8_t>(banding.GetOrdinalSeed());
  RibbonSolution solution(data_, plan_.bytes);
  solution.BackSubstFrom(banding);
  return true;
}

void AmqBuilder::Finish() {
  uint8_t parameter = 0;
  if (plan_.kind == AmqKind::kRibbon && !FinishRibbon(&parameter)) {
    const uint64_t bytes = plan_.bytes;
    plan_ = PlanBloom(plan_.hashes, bytes);
    if (plan_.kind == AmqKind::kBloom) {
      for (uint64_t hash : hashes_) Add(hash);
    }
  }
  if (plan_.kind == AmqKind::kBloom) {
    parameter = plan_.probes;
    for (const Pending& pending : pending_) {
      if (pending.line == nullptr) continue;
      FastLocalBloomImpl::AddHashPrepared(pending.bits, plan_.probes,
                                          pending.line);
    }
  }
  header_[0] = static_cast<char>(plan_.kind);
  header_[1] = static_cast<char>(parameter);
  header_[2] = static_cast<char>(plan_.lines);
  EncodeFixed32(header_ + 4, plan_.blocks);
  EncodeFixed64(header_ + 8, plan_.bytes);
}

size_t AmqBuilder::MemoryUsage(const AmqPlan& plan) {
  if (plan.kind != AmqKind::kRibbon) return 0;
  return plan.hashes * sizeof(uint64_t) +
         RibbonBanding::EstimateMemoryUsage(plan.blocks * kSlotsPerBlock);
}

}  // namespace ROCKSDB_NAMESPACE::protean
