// SPDX-License-Identifier: Apache-2.0

//  Filter policies that a flag names, as options strings do, and their text.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "filter_policy/samples/query_queue.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Makes the policy of an options string, in its short or its object form, with
// or without braces; nullptr for none. InvalidArgument names the flag and says
// what is allowed.
Status MakePolicy(const std::string& flag, const std::string& spec,
                  std::shared_ptr<const FilterPolicy>* policy);

// Makes a policy of Proteus start with these queries instead of its seed_file:
// they are a part of the OPTIONS file then, of which backups have a copy. Other
// policies stay as they are, also lists of policies that have such files.
Status PutSeedsInto(const std::vector<SampleQuery>& seeds,
                    std::shared_ptr<const FilterPolicy>* policy);

// A text that may have policies in it, for people: the seeds of a policy are
// counted, and not listed.
std::string WithoutSeeds(std::string text);

}  // namespace ROCKSDB_NAMESPACE::protean
