//  Protean for applications: range filters for RocksDB.
//
//  Nothing of this header is needed to use Protean. Once it is registered, an
//  options string selects it,
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

// Adds Protean's objects to `library`. RocksDB calls it where Protean is one of
// its plugins; an application that links the library `protean` need not call it
// either. `arg` is not used. Returns the number of factories in the library.
// Thread safe.
extern "C" int register_protean(ROCKSDB_NAMESPACE::ObjectLibrary& library,
                                const std::string& arg);

namespace ROCKSDB_NAMESPACE::protean {

// A policy that gives every SST file a filter of `bits_per_key` bits for each
// key, from 2 to 64, which designs itself from the file's keys and a sample of
// the column family's queries; DB::Open refuses other sizes with
// InvalidArgument. Column families that share a policy keep their samples
// apart. All other options, such as files of sample queries, are set by string:
// FilterPolicy::CreateFromString with
// "{id=protean.Proteus;bits_per_key=12;...}". Never null. Thread safe.
std::shared_ptr<const FilterPolicy> NewProteusFilterPolicy(double bits_per_key);

// A policy that gives every SST file a SuRF with that many suffix bits a key,
// each from 0 to 32; DB::Open refuses others with InvalidArgument. Hash bits
// help point queries only, real bits point and range queries. Never null.
// Thread safe.
std::shared_ptr<const FilterPolicy> NewSurfFilterPolicy(
    uint32_t hash_suffix_bits, uint32_t real_suffix_bits);

// The block-based table with these options, whose iterators ask the files'
// range filters before they read data. Any filter policy may be set in
// `options`; with another than Protean's it is the plain block-based table, and
// if none is set, it is NewProteusFilterPolicy(12), as in an options string
// that names none. DB::Open refuses partition_filters with it. Never null.
// Thread safe.
std::shared_ptr<TableFactory> NewProteanTableFactory(
    const BlockBasedTableOptions& options = BlockBasedTableOptions());

// The same without any filter policy: new files get no filters; files that have
// a filter of Protean keep using it. As "filter_policy=nullptr" in an options
// string. Never null. Thread safe.
std::shared_ptr<TableFactory> NewProteanTableFactoryWithoutFilters(
    const BlockBasedTableOptions& options = BlockBasedTableOptions());

}  // namespace ROCKSDB_NAMESPACE::protean
