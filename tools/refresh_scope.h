// SPDX-License-Identifier: Apache-2.0

//  The part of a DB that protean refresh works on, and how many files at a
//  time.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugin/refresh_filters.h"
#include "rocksdb/status.h"
#include "tools/command.h"

namespace ROCKSDB_NAMESPACE::protean {

class RefreshScope {
 public:
  void AddFlags(Arguments* arguments);

  // Whether a number of files at a time has been given.
  bool has_parallel() const { return parallel_ != 0; }
  // Sets the options that the flags stand for. Returns InvalidArgument if a
  // flag has a bad value.
  Status Apply(RefreshOptions* options) const;

 private:
  std::vector<std::string> levels_;
  std::string start_;
  std::string limit_;
  uint64_t parallel_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
