// SPDX-License-Identifier: Apache-2.0

//  RocksDB's Standard128 Ribbon over 64-bit hashes, with the parameters of
//  RocksDB's own Ribbon filter policy.

#pragma once

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
using RibbonBanding = ribbon::StandardBanding<RibbonSettings>;
using RibbonSolution = ribbon::SerializableInterleavedSolution<RibbonSettings>;
using RibbonHasher = ribbon::StandardHasher<RibbonSettings>;
using RibbonConfig =
    ribbon::BandingConfigHelper1TS<ribbon::kOneIn20, RibbonSettings>;

}  // namespace ROCKSDB_NAMESPACE::protean
