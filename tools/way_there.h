// SPDX-License-Identifier: Apache-2.0

//  The way from a DB as it is to the filters that protean advise recommends:
//  the option, and the commands that lead there. Pure functions.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/filter_replay.h"
#include "tools/target.h"

namespace ROCKSDB_NAMESPACE::protean {

// Where protean advise has its DB and its reads from, as its flags say; empty
// what was not given.
struct AdviceSource {
  std::string db;
  std::string trace;
  std::string queries;
  std::string save_samples;
  uint64_t max_queries = 20000;
};

// The file of samples that a policy which learns is to start with; empty if
// the policy learns nothing, or has the samples that the DB has saved.
std::string SeedsFor(const AdviceSource& source, const TargetFamily& family,
                     const Candidate& candidate);

// The policy as an options string. A policy that learns gets the files that it
// learns from.
std::string PolicyText(const Candidate& candidate,
                       const std::string& samples_file,
                       const std::string& seed_file);

// The commands that give the DB the recommended filters, in their order.
// `policy` is the candidate's PolicyText.
std::vector<std::string> CommandsFor(const AdviceSource& source,
                                     const TargetFamily& family,
                                     const Candidate& candidate,
                                     const std::string& policy);

}  // namespace ROCKSDB_NAMESPACE::protean
