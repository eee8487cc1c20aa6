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
#include <vector>

#include "rocksdb/filter_policy.h"
#include "rocksdb/status.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/object_registry.h"

// Adds Protean's objects to `library`. RocksDB calls this function where
// Protean is one of its plugins, and an application that links the library
// `protean` need not call it either. `arg` is not used. Returns the number of
// factories in the library. Thread safe.
extern "C" int register_protean(ROCKSDB_NAMESPACE::ObjectLibrary& library,
                                const std::string& arg);

namespace ROCKSDB_NAMESPACE::protean {

// Proteus, as an options string sets it:
// "{id=protean.Proteus;bits_per_key=12}".
struct ProteusOptions {
  // How a set of prefixes is stored (docs/design_proteus.md).
  enum class Amq {
    kAuto,    // the model chooses
    kBloom,   // fast to build and to ask
    kRibbon,  // the smallest
  };
  // How the bits are divided among files.
  enum class LevelBits {
    kAuto,   // more for small sorted runs, less for the last level
    kEqual,  // bits_per_key for each file
  };
  // What point queries ask.
  enum class Points {
    kAuto,  // whatever suits the queries
    // Whole keys alone: the time that a Get takes tells no more about stored
    // keys than with a Bloom filter (docs/design.md, "Prefix siphoning"). Not
    // with a prefix extractor.
    kWholeKeys,
  };

  // Bits per key, 2 to 64. With filter_memory, this is the size of filters in
  // files that are written outside of a DB.
  double bits_per_key = 12;
  // The size in bytes of all filters of a column family, 1 KiB to 2^60, from
  // which their bits per key follow. 0 for none: bits_per_key decides.
  uint64_t filter_memory = 0;
  Amq amq = Amq::kAuto;
  LevelBits level_bits = LevelBits::kAuto;  // no effect with filter_memory
  Points points = Points::kAuto;
  // What a false positive costs, in microseconds, 1 to 100,000: the time of the
  // read that it causes. 0: what reads of a file's level have cost lately.
  uint32_t false_positive_micros = 0;

  // The number of sample queries that are kept in memory for each column
  // family, and of empty queries out of which one is kept. Positive.
  uint32_t sample_capacity = 20000;
  uint32_t sample_every = 100;
  // A file of queries to start with, and a file in which the samples are kept
  // from one opening of the DB to the next. Empty for none. A file that is
  // missing or cannot be used is logged, and keeps no DB from opening.
  std::string seed_file;
  std::string samples_file;
};

// SuRF, as "{id=protean.SuRF;real_suffix_bits=8}" sets it: the suffix bits that
// each key has in addition to the trie, at most 64 in all.
struct SurfOptions {
  // Bits of the key's hash, 0 to 32. For point queries only.
  uint32_t hash_suffix_bits = 0;
  // Bits of the key behind the part that is stored, 0 to 32. For point and
  // range queries.
  uint32_t real_suffix_bits = 8;
  // Bits of hashes of longer prefixes, 0 to 16. For point queries, scans of a
  // prefix, and ranges whose bounds have a prefix in common, over text above
  // all.
  uint32_t prefix_suffix_bits = 0;
};

// A policy that gives every SST file a filter which designs itself for the
// file's keys and a sample of the column family's queries. Column families that
// share a policy have separate samples. DB::Open refuses options that are out
// of range or cannot be combined with InvalidArgument. Never null. Thread safe.
std::shared_ptr<const FilterPolicy> NewProteusFilterPolicy(
    const ProteusOptions& options);

// Proteus with that many bits per key, from 2 to 64, and the other options as
// they are by default.
std::shared_ptr<const FilterPolicy> NewProteusFilterPolicy(double bits_per_key);

// A policy that gives every SST file a SuRF. DB::Open refuses numbers that are
// out of range with InvalidArgument. Never null. Thread safe.
std::shared_ptr<const FilterPolicy> NewSurfFilterPolicy(
    const SurfOptions& options);

// SuRF with these numbers of bits.
std::shared_ptr<const FilterPolicy> NewSurfFilterPolicy(
    uint32_t hash_suffix_bits, uint32_t real_suffix_bits,
    uint32_t prefix_suffix_bits = 0);

// A policy for each level: the first one is for files of level 0, the next one
// for level 1, and so on; the last one is for all further levels, and for files
// that are written outside of a DB. A policy may be one of RocksDB's, or
// nullptr for no filter. The table factory must be ProteanTable. Policies that
// learn share the samples of the first one of them. DB::Open returns
// InvalidArgument if the list is empty, if one of the policies is such a list
// itself, if more than one has filter_memory, or if one is refused. An OPTIONS
// file has the list as the policies write themselves. Never null. Thread safe.
std::shared_ptr<const FilterPolicy> NewLevelsFilterPolicy(
    const std::vector<std::shared_ptr<const FilterPolicy>>& policies);

// Stores the policy that is shared by all who ask for the same text, such as
// "proteus:12", in the same group, as long as one of them has it; the first one
// creates it. So DBs, such as a series with one DB for each day, learn
// together: their column families of the same name share the samples of their
// queries, and a budget (filter_memory) is for all of them. Both are
// compared as they are spelled. Stores nullptr for "nullptr". Returns
// InvalidArgument if the group is empty, and the error of
// FilterPolicy::CreateFromString, for which Protean must have been registered.
// Thread safe.
Status GetSharedFilterPolicy(const std::string& group,
                             const std::string& policy,
                             std::shared_ptr<const FilterPolicy>* shared);

// The block-based table with these options, whose iterators ask the files'
// range filters before they read data. `options` may have any filter policy.
// With a policy that is not one of Protean's, this is the plain block-based
// table; without a policy, it uses NewProteusFilterPolicy(12), as an options
// string without filter_policy does. partition_filters concerns the filters of
// other policies alone: where filters are in the block cache, those of Protean
// are always in parts. Never null. Thread safe.
std::shared_ptr<TableFactory> NewProteanTableFactory(
    const BlockBasedTableOptions& options = BlockBasedTableOptions());

// ProteanTable without any filter policy: new files get no filters; files that
// have a filter of Protean keep using it. Equivalent to "filter_policy=nullptr"
// in an options string. Never null. Thread safe.
std::shared_ptr<TableFactory> NewProteanTableFactoryWithoutFilters(
    const BlockBasedTableOptions& options = BlockBasedTableOptions());

}  // namespace ROCKSDB_NAMESPACE::protean
