// SPDX-License-Identifier: Apache-2.0

//  RocksDB's Standard128 Ribbon over 64-bit hashes, with the parameters of
//  RocksDB's own Ribbon filter policy: how many slots sets have (ribbon.h).

#pragma once

#include <algorithm>
#include <cstdint>

#include "util/ribbon_config.h"
#include "util/ribbon_impl.h"

namespace ROCKSDB_NAMESPACE::protean {

// These settings are part of the file format.
struct RibbonRehasherSettings {
  static constexpr bool kIsFilter = true;
  static constexpr bool kHomogeneous = false;
  static constexpr bool kFirstCoeffAlwaysOne = true;
  static constexpr bool kUseSmash = false;
  static constexpr bool kAllowZeroStarts = false;
  using CoeffRow = Unsigned128;
  using Hash = uint64_t;
  using Seed = uint32_t;
  using Index = uint32_t;
  using ResultRow = uint32_t;
};

using RibbonSettings = ribbon::StandardRehasherAdapter<RibbonRehasherSettings>;
using RibbonSolution = ribbon::SerializableInterleavedSolution<RibbonSettings>;
using RibbonConfig =
    ribbon::BandingConfigHelper1TS<ribbon::kOneIn20, RibbonSettings>;

struct RibbonSizes {
  static constexpr unsigned kSegmentBytes = sizeof(RibbonSettings::CoeffRow);
  static constexpr unsigned kSlotsPerBlock = 8 * kSegmentBytes;
  static constexpr unsigned kMaxColumns = 8 * sizeof(RibbonSettings::ResultRow);
  // RibbonSolution::RoundUpNumSlots makes at least this number.
  static constexpr uint32_t kMinBlocks = 2;
  // The number of blocks for a number of hashes below 2^30.
  static uint32_t BlocksFor(uint64_t hashes) {
    return RibbonSolution::RoundUpNumSlots(RibbonConfig::GetNumSlots(
               std::max<uint32_t>(1, static_cast<uint32_t>(hashes)))) /
           kSlotsPerBlock;
  }
};

}  // namespace ROCKSDB_NAMESPACE::protean
