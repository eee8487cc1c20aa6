// SPDX-License-Identifier: Apache-2.0

//  Decides when the second unit of a part is loaded
//  (docs/internals/overview.md, "Units by heat"). The first false positive of
//  the first unit loads it. If the cache drops the second unit before it is
//  asked again, one more false positive is needed the next time, then three
//  more, and so on, up to 127.

#pragma once

#include <algorithm>
#include <cstdint>

#include "rocksdb/rocksdb_namespace.h"
#include "util/atomic.h"

namespace ROCKSDB_NAMESPACE::protean {

// The kinds of queries that ask a filter.
enum class AskedFor : uint8_t { kGet, kClosedSeek, kOpenSeek };

// The heat of one part. Thread safe. Concurrent calls may forget a query, which
// does not matter.
class UnitHeat {
 public:
  enum class Action : uint8_t {
    kSkip,  // do without the second unit
    kLook,  // look for it in the cache
    kLoad,
  };

  // The first unit has let a query through. `share_in_vain`, which is called
  // seldom, returns the share of such queries that read the file and find
  // nothing. Open seeks always load: their own reads do not tell that.
  template <typename Share>
  Action OnPass(AskedFor asked_for, const Share& share_in_vain) {
    State state = state_.LoadRelaxed();
    if (state.loaded) return Action::kLook;
    const uint32_t passes = state.passes % kMaxPasses + 1;
    state.passes = static_cast<uint16_t>(passes);
    const bool pays = asked_for == AskedFor::kOpenSeek ||
                      ((passes & (passes - 1)) == 0 &&
                       Pays(passes, state.doublings, share_in_vain()));
    if (pays) {
      state.loaded = true;
      state.passes = 0;
      state.doublings = std::min<uint8_t>(state.doublings + 1, kMaxDoublings);
    }
    state_.StoreRelaxed(state);
    return pays ? Action::kLoad : Action::kSkip;
  }
  // Called after kLook: the unit was in the cache, or is gone.
  void OnFound() {
    State state = state_.LoadRelaxed();
    if (state.doublings == 0) return;
    state.doublings--;
    state_.StoreRelaxed(state);
  }
  void OnGone() {
    State state = state_.LoadRelaxed();
    state.loaded = false;
    state_.StoreRelaxed(state);
  }

 private:
  static constexpr uint32_t kMaxPasses = 1 << 15;
  static constexpr uint8_t kMaxDoublings = 7;
  static constexpr double kMinInVain = 0.05;
  // What a read in vain costs, in loads of a unit: it reads a data block, which
  // takes twice the room in the cache, and often a block of the index.
  static constexpr double kWorth = 2;

  // Returns true if loading the second unit is expected to save more reads than
  // it costs. The present query saves a read itself if it is a false positive.
  // More queries must have come, the more often the cache has dropped the unit.
  static bool Pays(uint32_t passes, uint8_t doublings, double share_in_vain) {
    const uint32_t dropped = (uint32_t{1} << doublings) - 1;
    return passes * share_in_vain >= kMinInVain &&
           passes * kWorth * share_in_vain >=
               dropped * (1 - kWorth * share_in_vain);
  }

  struct State {
    uint16_t passes = 0;    // since the second unit was dropped
    uint8_t doublings = 0;  // of the queries that have to come
    bool loaded = false;    // unless the cache has dropped it
  };

  RelaxedAtomic<State> state_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
