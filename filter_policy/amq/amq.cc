#include "filter_policy/amq/amq.h"

#include <algorithm>

#include "filter_policy/bits/bit_array.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

constexpr uint64_t kLineBytes = 64;
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

AmqPlan PlanBloom(uint64_t hashes, uint64_t bytes) {
  AmqPlan plan;
  bytes = std::min(bytes, kMaxBloomBytes) / kLineBytes * kLineBytes;
  if (bytes == 0) return plan;
  plan.kind = AmqKind::kBloom;
  plan.hashes = hashes;
  plan.bytes = bytes;
  const double millibits =
      8000.0 * static_cast<double>(bytes) / static_cast<double>(hashes);
  plan.probes = static_cast<uint8_t>(FastLocalBloomImpl::ChooseNumProbes(
      static_cast<int>(std::min(millibits, 1e6))));
  plan.false_positive_rate = FastLocalBloomImpl::EstimatedFpRate(
      hashes, bytes, plan.probes, kHashBits);
  return plan;
}

AmqPlan PlanRibbon(uint64_t hashes, uint64_t bytes) {
  AmqPlan plan;
  if (hashes > kMaxRibbonHashes) return plan;
  const uint32_t slots = RibbonSolution::RoundUpNumSlots(
      RibbonConfig::GetNumSlots(static_cast<uint32_t>(hashes)));
  const uint32_t blocks = slots / kSlotsPerBlock;
  bytes = std::min(bytes / kSegmentBytes * kSegmentBytes,
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
  hasher_.SetOrdinalSeed(parameter);
  bool sane = false;
  switch (kind_) {
    case AmqKind::kNone:
      sane = bytes_ == 0;
      break;
    case AmqKind::kBloom:
      sane = bytes_ > 0 && bytes_ <= kMaxBloomBytes &&
             bytes_ % kLineBytes == 0 && probes_ > 0 && probes_ <= kMaxProbes;
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
      for (uint64_t hash : hashes_) AddToBloom(hash);
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
  EncodeFixed32(header_ + 4, plan_.blocks);
  EncodeFixed64(header_ + 8, plan_.bytes);
}

size_t AmqBuilder::MemoryUsage(const AmqPlan& plan) {
  if (plan.kind != AmqKind::kRibbon) return 0;
  return plan.hashes * sizeof(uint64_t) +
         RibbonBanding::EstimateMemoryUsage(plan.blocks * kSlotsPerBlock);
}

}  // namespace ROCKSDB_NAMESPACE::protean
