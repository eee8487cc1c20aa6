// SPDX-License-Identifier: Apache-2.0

//  ProteanTable as the default table: RocksDB makes its factory wherever it
//  would make a block-based one, in a tree that scripts/check/injected_tree.sh
//  has prepared. This file is included by RocksDB's
//  block_based_table_factory.cc there, and by its test of partitioned filters,
//  which makes the filter blocks itself.
//
//  The environment variable PROTEAN_INJECT is the text of a filter policy, as
//  in an options string. Without it, RocksDB is stock.

#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "rocksdb/convenience.h"
#include "rocksdb/table.h"
#include "table/block_based/filter_policy_internal.h"
#include "table/protean_table_factory.h"

namespace ROCKSDB_NAMESPACE::protean {

// A new one for each factory, as where a user's options name it: the DBs of one
// process do not share their samples.
inline std::shared_ptr<const FilterPolicy> NewInjectedPolicy(
    const std::string& text) {
  std::shared_ptr<const FilterPolicy> policy;
  ConfigOptions strict;
  strict.ignore_unsupported_options = false;
  const Status s = FilterPolicy::CreateFromString(strict, text, &policy);
  if (!s.ok() || policy == nullptr) {
    fprintf(stderr, "PROTEAN_INJECT=%s: %s\n", text.c_str(),
            s.ToString().c_str());
    abort();
  }
  return policy;
}

// The injected policy, or `stock` if there is none. Takes ownership.
inline std::shared_ptr<const FilterPolicy> InjectedPolicyOr(
    const FilterPolicy* stock) {
  std::shared_ptr<const FilterPolicy> policy(stock);
  const char* text = getenv("PROTEAN_INJECT");
  return text == nullptr ? policy : NewInjectedPolicy(text);
}

// The policy replaces that of RocksDB, or none. It leaves alone filters that a
// test wrote to look at them.
inline TableFactory* NewInjectedTableFactory(
    const BlockBasedTableOptions& options) {
  const char* text = getenv("PROTEAN_INJECT");
  if (text == nullptr) return new BlockBasedTableFactory(options);
  BlockBasedTableOptions injected = options;
  const FilterPolicy* policy = options.filter_policy.get();
  if (policy == nullptr ||
      policy->IsInstanceOf(BuiltinFilterPolicy::kClassName())) {
    injected.filter_policy = NewInjectedPolicy(text);
  }
  return new ProteanTableFactory(injected);
}

}  // namespace ROCKSDB_NAMESPACE::protean
