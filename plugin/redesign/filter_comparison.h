// SPDX-License-Identifier: Apache-2.0

//  How much better a new filter of a file does than the old one.

#pragma once

#include <vector>

#include "filter_policy/samples/query_queue.h"
#include "table/filter_trial.h"

namespace ROCKSDB_NAMESPACE::protean {

struct FilterComparison {
  // False positive rates.
  double old_fpr = 0;
  double new_fpr = 0;
  // The queries that only one of the two filters denies.
  std::vector<const SampleQuery*> denied_by_new;
  std::vector<const SampleQuery*> denied_by_old;

  // How many more queries the new filter denies than the old one.
  double MoreDenied() const {
    return static_cast<double>(denied_by_new.size()) -
           static_cast<double>(denied_by_old.size());
  }
  // The fall of the false positive rate; 0 if that may be chance.
  double Gain() const;
};

// Asks both filters about the queries, which match no key of the file. There is
// at least one.
FilterComparison CompareFilters(const AskedFilter& old_filter,
                                const AskedFilter& new_filter,
                                const std::vector<const SampleQuery*>& queries);

}  // namespace ROCKSDB_NAMESPACE::protean
