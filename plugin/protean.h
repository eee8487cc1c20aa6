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
// "{id=protean.Proteus;bits_per_key=12}". Names and defaults are the same
// there.
//
// DB::SetOptions can change what is marked mutable in an open DB, such as
// {{"table_factory.filter_policy.bits_per_key", "14"}}. Files that are written
// from then on get it; samples are kept. The change is for all column families
// that have the policy object.
struct ProteusOptions {
  // How a set of prefixes is stored.
  enum class PrefixFilterType {
    kAuto,    // a model chooses for each file
    kBloom,   // as fast as RocksDB's Bloom filter to build and to ask
    kRibbon,  // fewer false positives in the same space, slower to build
  };
  // How the bits are divided among files.
  enum class LevelBits {
    kAuto,   // more for small sorted runs, less for the last level
    kEqual,  // bits_per_key for each file
  };

  // Bits per key, 2 to 64. 12 lets about one bounded seek in 100 through that
  // finds nothing in a file, 14 one in 500, on keys and queries that are not
  // hostile. With filter_budget_bytes, this is the size of filters in files
  // that are written outside of a DB. Mutable.
  double bits_per_key = 12;
  // The size in bytes of all filters of a column family, 1 KiB to 2^60, from
  // which their bits per key follow. 0 for none: bits_per_key decides. Mutable.
  uint64_t filter_budget_bytes = 0;
  // Mutable.
  PrefixFilterType prefix_filter_type = PrefixFilterType::kAuto;
  // No effect with filter_budget_bytes. Mutable.
  LevelBits level_bits = LevelBits::kAuto;
  // If true, point lookups ask a set of whole keys and nothing else. The time
  // of a Get then tells no more about stored keys than with a Bloom filter. The
  // set takes bits from what answers ranges. Must be false with a prefix
  // extractor.
  bool point_lookups_use_whole_keys = false;
  // The cost of a false positive in microseconds, 1 to 10,000,000: the time of
  // the read that it causes. 0 stands for the mean cost of recent reads in the
  // file's level. Mutable.
  uint32_t false_positive_cost_micros = 0;
  // The queries that find nothing in a file, in its life, for each of its keys,
  // 0.002 to 1,000. The fewer they are, the less time is spent on building a
  // filter. 0 stands for what is measured. Mutable.
  double queries_per_key = 1000;

  // The number of sample queries that are kept in memory for each column
  // family. Positive. Mutable.
  uint32_t sample_capacity = 20000;
  // One in that many empty queries is kept as a sample. Positive. Mutable.
  uint32_t sample_every = 100;
  // A file of queries to start with. One that is missing or cannot be read is
  // logged; only a device or a pipe keeps a DB from opening. Empty for none.
  std::string seed_file{};
  // The absolute path of a file in which the samples are kept from one opening
  // of the DB to the next, in a folder that exists. No device or pipe. Empty
  // for none.
  std::string samples_file{};
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
// file's keys and a sample of the column family's queries.
//
// It takes the memory of a Bloom filter of the same bits per key, and answers
// ranges, too. Compared to RocksDB's Bloom filter, compactions take 1.2 to 1.3
// times the CPU time with integer keys and 2 times with text, building takes
// up to 16 MB for each thread that writes a file, and a Get takes 1.04 to 1.09
// times the instructions. prefix_filter_type=kBloom halves what building costs.
//
// Column families that share a policy have separate samples. DB::Open refuses
// options that are out of range or cannot be combined with InvalidArgument.
// Never null. Thread safe.
std::shared_ptr<const FilterPolicy> NewProteusFilterPolicy(
    const ProteusOptions& options = ProteusOptions());

// A policy that gives every SST file a SuRF, a succinct trie of the keys' first
// bytes.
//
// Its size follows from the keys and cannot be chosen: about 11 bits per key
// with integers and 8 to 18 with text, besides 8 suffix bits. It needs no
// samples, finds the next key of a seek without an upper bound, and counts the
// keys of a range. Building takes about the time of a Bloom filter with
// integers, and seven times as long with text.
//
// DB::Open refuses numbers that are out of range with InvalidArgument. Never
// null. Thread safe.
std::shared_ptr<const FilterPolicy> NewSurfFilterPolicy(
    const SurfOptions& options = SurfOptions());

// A policy for each level: the first one is for files of level 0, the next one
// for level 1, and so on; the last one is for all further levels, and for files
// that are written outside of a DB. A policy may be one of RocksDB's, or
// nullptr for no filter. The table factory must be ProteanTable. Policies that
// learn share the samples of the first one of them. DB::Open returns
// InvalidArgument if the list is empty, if one of the policies is such a list
// itself, if more than one has a
// filter_budget_bytes, or if one is refused. An OPTIONS
// file has the list as the policies write themselves. Never null. Thread safe.
std::shared_ptr<const FilterPolicy> NewLevelsFilterPolicy(
    const std::vector<std::shared_ptr<const FilterPolicy>>& policies);

// Stores the policy that is shared by all who ask for the same text, such as
// "proteus:12", in the same group, as long as one of them has it; the first one
// creates it. So DBs, such as a series with one DB for each day, learn
// together: their column families of the same name share the samples of their
// queries, and a budget (filter_budget_bytes) is for all of them. Both are
// compared as they are spelled. Stores nullptr for "nullptr". Returns
// InvalidArgument if the group is empty, and the error of
// FilterPolicy::CreateFromString, for which Protean must have been registered.
// Thread safe.
Status GetSharedFilterPolicy(const std::string& group,
                             const std::string& policy,
                             std::shared_ptr<const FilterPolicy>* shared);

// The block-based table with these options, whose iterators ask the files'
// range filters before they read data. `options` may have any filter policy:
// with nullptr, new files get no filters, and with one that is not of Protean,
// this is the plain block-based table; files that have a filter of Protean keep
// using it. partition_filters concerns the filters of other policies alone:
// where filters are in the block cache, those of Protean are always in parts.
//
// `range_filters` is the option of that name, which DB::SetOptions can change
// in an open DB ({{"table_factory.range_filters", "false"}}): while it is
// false, no filter of Protean is asked, nor are queries sampled, from the next
// read on; files get filters as before. The environment variable
// PROTEAN_RANGE_FILTERS=off does that for a whole process. Never null. Thread
// safe.
std::shared_ptr<TableFactory> NewProteanTableFactory(
    const BlockBasedTableOptions& options, bool range_filters = true);

}  // namespace ROCKSDB_NAMESPACE::protean
