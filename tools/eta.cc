// SPDX-License-Identifier: Apache-2.0

#include "tools/eta.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>

#include "tools/output.h"

namespace ROCKSDB_NAMESPACE::protean {

std::string PrintedSeconds(double seconds) {
  constexpr double kLongest = 1e9;  // which says enough
  const auto all =
      static_cast<uint64_t>(std::llround(std::clamp(seconds, 0.0, kLongest)));
  if (all < 100) return Format("%" PRIu64 " s", all);
  const uint64_t minutes = (all + 30) / 60;
  if (minutes < 100) return Format("%" PRIu64 " min", minutes);
  return Format("%" PRIu64 " h %" PRIu64 " min", minutes / 60, minutes % 60);
}

double SecondsLeft(uint64_t done, uint64_t total, double seconds) {
  if (done == 0) return -1;
  return seconds * static_cast<double>(total - std::min(done, total)) /
         static_cast<double>(done);
}

std::string PrintedProgress(uint64_t done, uint64_t total, double seconds) {
  if (total == 0) return "beginning";
  const double share = static_cast<double>(done) / static_cast<double>(total);
  std::string text =
      Format("%s of %s, %.0f %%", PrintedBytes(done).c_str(),
             PrintedBytes(total).c_str(), 100 * std::min(share, 1.0));
  const double left = SecondsLeft(done, total, seconds);
  if (left >= 0) text += ", about " + PrintedSeconds(left) + " left";
  return text;
}

}  // namespace ROCKSDB_NAMESPACE::protean
