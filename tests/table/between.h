// SPDX-License-Identifier: Apache-2.0

//  Ranges with two ends, as functions with RangePtr take them.

#pragma once

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"

namespace ROCKSDB_NAMESPACE::protean {

// [lo, hi), for the expression in which it is made. The keys are not owned.
class Between {
 public:
  Between(const Slice& lo, const Slice& hi) : lo_(lo), hi_(hi) {}

  operator RangePtr() const { return {&lo_, &hi_}; }

 private:
  const Slice lo_;
  const Slice hi_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
