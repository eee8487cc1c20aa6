// SPDX-License-Identifier: Apache-2.0

//  The switch of all filters of Protean, for the hour when nothing else helps.

#pragma once

#include <atomic>
#include <cstdlib>
#include <string>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// Whether the files of a column family ask Protean's filters, and sample what
// they are asked: the option range_filters. Thread safe.
class FilterSwitch {
 public:
  // The environment variable that switches all filters of the process off,
  // whatever options say, if it is 0, false or off.
  static constexpr char kVariable[] = "PROTEAN_RANGE_FILTERS";
  // Whether it does. Looks once.
  static bool IsOffInProcess() {
    static const bool is_off = [] {
      const char* const value = getenv(kVariable);
      const std::string text = value == nullptr ? "" : value;
      return text == "0" || text == "false" || text == "off";
    }();
    return is_off;
  }

  bool IsOn() const { return is_on_.load(std::memory_order_relaxed); }
  // The option, of which the environment variable takes no account.
  bool wanted() const { return wanted_.load(std::memory_order_relaxed); }
  void Set(bool wanted) {
    wanted_.store(wanted, std::memory_order_relaxed);
    is_on_.store(wanted && !IsOffInProcess(), std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> wanted_{true};
  std::atomic<bool> is_on_{!IsOffInProcess()};
};

}  // namespace ROCKSDB_NAMESPACE::protean
