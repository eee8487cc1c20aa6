// SPDX-License-Identifier: Apache-2.0

//  Protean for applications: range filters for RocksDB.
//
//  This header is optional. Once Protean is registered, an options string
//  selects it,
//
//      table_factory={id=ProteanTable;filter_policy=proteus:12}
//
//  and so does an OPTIONS file. These functions are for programs that build
//  their options in code.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "rocksdb/filter_policy.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/object_registry.h"

// Adds Protean's objects to `library`. RocksDB calls this function where
// Protean is one of its plugins, and an application that links the library
// `protean` need not call it either. `arg` is not used. Returns the number of
// factories in the library. Thread safe.
extern "C" int register_protean(ROCKSDB_NAMESPACE::ObjectLibrary& library,
                                const std::string& arg);

namespace ROCKSDB_NAMESPACE::protean {

// A policy that gives every SST file a filter of `bits_per_key` bits per key,
// from 2 to 64, which designs itself for the file's keys and a sample of the
// column family's queries. DB::Open refuses other sizes with InvalidArgument.
// Column families that share a policy have separate samples. All other options,
// such as files of sample queries, are set by string:
// FilterPolicy::CreateFromString with
// "{id=protean.Proteus;bits_per_key=12;...}". Never null. Thread safe.
std::shared_ptr<const FilterPolicy> NewProteusFilterPolicy(double bits_per_key);

// A policy that gives every SST file a SuRF with that many suffix bits per key:
// hash and real bits from 0 to 32, prefix bits from 0 to 16, and at most 64 in
// all; DB::Open refuses other numbers with InvalidArgument. Hash bits help
// point queries only. Real bits help point and range queries. Prefix bits help
// point queries, scans of a prefix, and ranges whose bounds have a prefix in
// common, over text above all. Never null. Thread safe.
std::shared_ptr<const FilterPolicy> NewSurfFilterPolicy(
    uint32_t hash_suffix_bits, uint32_t real_suffix_bits,
    uint32_t prefix_suffix_bits = 0);

// The block-based table with these options, whose iterators ask the files'
// range filters before they read data. `options` may have any filter policy.
// With a policy that is not one of Protean's, this is the plain block-based
// table; without a policy, it uses NewProteusFilterPolicy(12), as an options
// string without filter_policy does. With a policy of Protean, DB::Open refuses
// partition_filters unless index_type is kTwoLevelIndexSearch, because RocksDB
// would ignore the option. Never null. Thread safe.
std::shared_ptr<TableFactory> NewProteanTableFactory(
    const BlockBasedTableOptions& options = BlockBasedTableOptions());

// ProteanTable without any filter policy: new files get no filters; files that
// have a filter of Protean keep using it. Equivalent to "filter_policy=nullptr"
// in an options string. Never null. Thread safe.
std::shared_ptr<TableFactory> NewProteanTableFactoryWithoutFilters(
    const BlockBasedTableOptions& options = BlockBasedTableOptions());

}  // namespace ROCKSDB_NAMESPACE::protean
