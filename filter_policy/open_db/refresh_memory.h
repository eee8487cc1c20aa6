// SPDX-License-Identifier: Apache-2.0

//  What RefreshFilters (plugin/refresh_filters.h) remembers of its calls while
//  a DB is open, so that the next call need not do the same again.

#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// The refreshes of a column family since its DB was opened, for the statistics.
struct RefreshCounts {
  uint64_t runs = 0;      // that have ended
  uint64_t failures = 0;  // the part of them that ended with an error
  int64_t last_end = 0;   // seconds since 1970; 0 before the first end
  // These include the refreshes that are running.
  uint64_t files_rewritten = 0;
  uint64_t bytes_read = 0;
  uint64_t bytes_rewritten = 0;
  // The number of refreshes that are running, and how far the one that began
  // last is: the bytes of all files, and of the files whose outcome is known.
  uint64_t running = 0;
  std::chrono::steady_clock::time_point began;
  uint64_t bytes = 0;
  uint64_t bytes_decided = 0;
};

// The part of a file's sample queries that its filter lets through. Some of
// them may be true positives.
struct PassedSamples {
  double share = 0;
  double samples = 0;  // their number; 0 if there are none

  // Returns true if the shares differ by at least `least`, and by more than
  // chance explains: three standard deviations.
  bool DiffersFrom(const PassedSamples& other, double least) const {
    if (samples == 0 || other.samples == 0) return samples != other.samples;
    const double all = samples + other.samples;
    const double mean = (share * samples + other.share * other.samples) / all;
    const double deviation =
        std::sqrt(mean * (1 - mean) * (1 / samples + 1 / other.samples));
    return std::fabs(share - other.share) >= std::max(least, 3 * deviation);
  }
};

// A file whose keys were read, and whose filter a new one could not replace
// with enough gain.
struct RejectedRefresh {
  PassedSamples passed;
  // What the new filter would have gained: in its false positive rate (0 if
  // that may be chance), and as a share of all questions to filters.
  double gain = 0;
  double saved = 0;
};

// What is remembered of a column family.
struct RefreshMemory {
  std::string policy;  // its options: all else holds only while they are these
  uint64_t runs = 0;
  std::map<std::string, RejectedRefresh> futile;  // by the name of the file
};

}  // namespace ROCKSDB_NAMESPACE::protean
