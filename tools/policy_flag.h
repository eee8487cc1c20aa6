// SPDX-License-Identifier: Apache-2.0

//  Filter policies that a flag names, as options strings do.

#pragma once

#include <memory>
#include <string>

#include "rocksdb/filter_policy.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Makes the policy of an options string, in its short or its object form, with
// or without braces; nullptr for none. InvalidArgument names the flag and says
// what is allowed.
Status MakePolicy(const std::string& flag, const std::string& spec,
                  std::shared_ptr<const FilterPolicy>* policy);

}  // namespace ROCKSDB_NAMESPACE::protean
