// SPDX-License-Identifier: Apache-2.0

//  What the parts of one call of RedesignFilters know together.

#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "filter_policy/open_db/refresh_memory.h"
#include "filter_policy/protean_filter_policy.h"
#include "plugin/redesign/redesign_candidate.h"
#include "plugin/redesign/refresh_samples.h"
#include "plugin/refresh_run.h"

namespace ROCKSDB_NAMESPACE::protean {

struct RedesignState {
  // Lists the files of the column family, takes its samples, and recalls what
  // earlier calls have found out. The filter policy of the run is one of
  // Protean's.
  explicit RedesignState(RefreshRun* refresh);

  RedesignState(const RedesignState&) = delete;
  RedesignState& operator=(const RedesignState&) = delete;

  // What a false positive costs in files of the level; 0 if that is unknown.
  uint64_t PriceAt(int level) const;
  // Whether a rewrite of the file pays back in time, if that can be told, with
  // a new filter that saves this share of all questions.
  bool PaysBack(const RefreshedFile& file, double saved) const;
  // Whether the file was read in vain before, and nothing has changed since
  // then that would make a difference.
  bool IsFutile(const RedesignCandidate& candidate) const;

  RefreshRun& run;
  const ProteanFilterPolicy& policy;
  RefreshSamples samples;
  std::vector<RedesignCandidate> candidates;  // in the order of the result
  RefreshMemory memory;
  std::map<int, uint64_t> prices;  // by level, where they are known
};

// Lets later calls recall what this one has found out.
void RememberRefresh(RedesignState* state);

}  // namespace ROCKSDB_NAMESPACE::protean
