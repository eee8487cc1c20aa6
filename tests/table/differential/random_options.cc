// SPDX-License-Identifier: Apache-2.0

#include "rocksdb/memtablerep.h"
#include "table/rocksdb_internals/versions.h"
#include "tests/table/differential/run.h"
#include "utilities/merge_operators.h"

namespace ROCKSDB_NAMESPACE::protean {

// DBs keep 64 MB of commits by default, whose allocation takes longer than the
// rest of a run. The option is private; explicit instantiation may name it.
void SetCommitCacheBits(TransactionDBOptions* options, size_t bits);

template <auto kBits>
struct CommitCache {
  friend void SetCommitCacheBits(TransactionDBOptions* options, size_t bits) {
    options->*kBits = bits;
  }
};

template struct CommitCache<&TransactionDBOptions::wp_commit_cache_bits>;

namespace {

std::string Option(const std::string& name, const std::string& value) {
  return name + "=" + value + ";";
}

std::string Bool(bool value) { return value ? "true" : "false"; }

}  // namespace

RunPlan::RunPlan(Dice* dice, const std::string& dir, bool is_control, bool live)
    : directory(dir), control(is_control) {
  kind = dice->Percent(70)
             ? DbKind::kPlain
             : dice->Of({DbKind::kOptimistic, DbKind::kWriteCommitted,
                         DbKind::kWritePrepared, DbKind::kWriteUnprepared});
  // With write buffers as small as those of a live run, and without the policy
  // of write committed, stock RocksDB may wait for a flush forever.
  frozen = dice->Percent(65) || !live || WritesEarly();
  in_memory = dice->OneIn(4);
  range_deletes = !Pessimistic() && dice->Percent(65);
  disable_wal = kind == DbKind::kPlain && dice->OneIn(10);
  num_operations =
      dice->OneIn(8) ? 400 : 60 + static_cast<int>(dice->Below(120));

  db_options = NewDBOptions();
  db_options.create_missing_column_families = true;
  db_options.stats_dump_period_sec = 0;
  db_options.stats_persist_period_sec = 0;
  db_options.max_open_files = dice->Of({-1, -1, 5000, 20});
  db_options.max_subcompactions = dice->OneIn(6) ? 3 : 1;
  db_options.prefix_seek_opt_in_only = dice->OneIn(8);
  db_options.avoid_unnecessary_blocking_io = dice->OneIn(4);
  db_options.enable_pipelined_write = !WritesEarly() && dice->OneIn(8);
  // Row caches and range tombstones exclude each other.
  if (!range_deletes && kind == DbKind::kPlain && dice->OneIn(10)) {
    db_options.row_cache = NewLRUCache(64 << 10);
  }
#if PROTEAN_ROCKSDB_AT_LEAST(11, 2)
  db_options.open_files_async = dice->OneIn(6);
  // Which that asks for.
  db_options.skip_stats_update_on_db_open = db_options.open_files_async;
  db_options.fast_sst_open = dice->OneIn(6);
#endif
  if (!in_memory) {
    static const bool direct_reads = HasDirectReads();
    db_options.allow_mmap_reads = dice->OneIn(8);
    db_options.use_direct_reads =
        !db_options.allow_mmap_reads && dice->OneIn(6) && direct_reads;
  }
  transaction_options.write_policy =
      kind == DbKind::kWritePrepared     ? WRITE_PREPARED
      : kind == DbKind::kWriteUnprepared ? WRITE_UNPREPARED
                                         : WRITE_COMMITTED;
  SetCommitCacheBits(&transaction_options, 10);
  // No thread can release a lock while this one waits for it.
  transaction_options.transaction_lock_timeout = 0;
  transaction_options.default_lock_timeout = 0;

  families.resize(dice->OneIn(4) ? 3 : 1);
  for (size_t i = 0; i < families.size(); i++) {
    families[i].name =
        i == 0 ? kDefaultColumnFamilyName : "family" + std::to_string(i);
    DrawFamily(dice, &families[i]);
  }
  DrawAgain(dice);
}

// Options that stay the same for the life of the column family.
void RunPlan::DrawFamily(Dice* dice, FamilyPlan* family) {
  ColumnFamilyOptions& options = family->options;
  family->timestamps = kind == DbKind::kPlain && dice->Percent(12);
  if (family->timestamps) {
    options.comparator = BytewiseComparatorWithU64Ts();
  } else if (dice->OneIn(10)) {
    options.comparator = ReverseBytewiseComparator();
  }
  family->shortest_key = static_cast<size_t>(dice->Of({0, 0, 4, 8}));
  // RocksDB asserts that a key is longer than its timestamp.
  if (family->timestamps && family->shortest_key == 0) family->shortest_key = 1;
  family->pool = KeyPool(dice, options.comparator,
                         dice->OneIn(8) ? 12 : 40 + dice->Below(260),
                         family->shortest_key);

  // Range deletions would leave it open whether a key exists.
  const size_t keys = family->pool.keys().size();
  family->single_delete.resize(keys);
  family->is_put.resize(keys);
  if (!range_deletes && !family->timestamps && dice->OneIn(2)) {
    for (size_t i = 1; i < keys; i++) family->single_delete[i] = dice->OneIn(4);
  }

  // Not "max": stock iterators return its results from freed memory.
  options.merge_operator = MergeOperators::CreateFromStringId("stringappend");
  options.max_sequential_skip_in_iterations =
      static_cast<uint64_t>(dice->Of({0, 1, 2, 3, 8}));
#if PROTEAN_ROCKSDB_AT_LEAST(11, 1)
  options.memtable_batch_lookup_optimization = dice->OneIn(4);
#endif
  // A MultiScan of stock RocksDB goes wrong if RocksDB itself seeks within it:
  // over range tombstones, or at keys with many versions.
  family->multi_scans =
      kHasMultiScan && !range_deletes && !family->timestamps && dice->OneIn(2);
  if (family->multi_scans) options.max_sequential_skip_in_iterations = 1 << 30;
  options.max_successive_merges = dice->OneIn(6) ? 2 : 0;
  // Else RocksDB merges only what it finds in the block cache.
  options.strict_max_successive_merges = true;
  options.num_levels = dice->Of({2, 3, 4, 4, 7});
  options.target_file_size_base =
      static_cast<uint64_t>(dice->Of({512, 1 << 10, 2 << 10, 4 << 10}));
  options.level_compaction_dynamic_level_bytes = dice->OneIn(2);
  options.compression = dice->Of({kNoCompression, kNoCompression,
                                  kSnappyCompression, kLZ4Compression, kZSTD});
  if (dice->OneIn(5)) options.compaction_style = kCompactionStyleUniversal;
  options.level0_file_num_compaction_trigger = dice->Of({2, 4});
  options.level0_slowdown_writes_trigger = 1000;
  options.level0_stop_writes_trigger = 1000;
  options.max_bytes_for_level_base = 4 * options.target_file_size_base;
  options.max_bytes_for_level_multiplier = 3;
  options.optimize_filters_for_hits = dice->OneIn(10);
  options.paranoid_file_checks = dice->OneIn(10);
  options.block_protection_bytes_per_key =
      static_cast<uint8_t>(dice->OneIn(8) ? 4 : 0);
  options.memtable_protection_bytes_per_key =
      static_cast<uint32_t>(dice->OneIn(8) ? 8 : 0);
  if (frozen) {
    options.disable_auto_compactions = true;
    options.write_buffer_size = 1 << 20;
    options.arena_block_size = 8 << 10;
    // Files with filters have other sizes than files without, which must not
    // change what is compacted together.
    options.max_compaction_bytes = uint64_t{1} << 40;
  } else {
    options.write_buffer_size = static_cast<size_t>(dice->Of({4, 8, 32})) << 10;
    options.arena_block_size = 1 << 10;
    options.max_write_buffer_number = dice->Of({3, 6});
    options.min_write_buffer_number_to_merge = dice->Of({1, 1, 2});
  }
  if (dice->Percent(15)) {
    options.enable_blob_files = true;
    options.min_blob_size = static_cast<uint64_t>(dice->Of({0, 20, 60}));
    options.enable_blob_garbage_collection = dice->OneIn(2);
    options.blob_garbage_collection_age_cutoff = 0.8;
  }
}

void RunPlan::DrawAgain(Dice* dice) {
  for (FamilyPlan& family : families) {
    DrawExtractor(dice, &family);
    DrawTables(dice, &family);
    ColumnFamilyOptions& options = family.options;
    // Readahead takes the prefix of every key.
    const bool look_ahead = dice->OneIn(6) && family.Domain() != nullptr;
    // Hashed memtables are left out: they assert that every key asked for has a
    // prefix, and their iterators do not see what is written next to them.
    options.memtable_factory =
        std::make_shared<SkipListFactory>(look_ahead ? 3 : 0);
    options.memtable_prefix_bloom_size_ratio = dice->OneIn(5) ? 0.1 : 0;
    options.memtable_whole_key_filtering = dice->OneIn(2);
  }
}

void RunPlan::DrawExtractor(Dice* dice, FamilyPlan* family) {
  family->options.prefix_extractor.reset();
  if (family->timestamps || dice->Percent(55)) return;
  const size_t length = family->shortest_key > 0 && dice->Percent(80)
                            ? 1 + dice->Below(family->shortest_key)
                            : static_cast<size_t>(dice->Of({1, 2, 4, 8}));
  const size_t kind_of_extractor = dice->Below(6);
  family->options.prefix_extractor.reset(
      kind_of_extractor == 0  ? NewNoopTransform()
      : kind_of_extractor < 3 ? NewCappedPrefixTransform(length)
                              : NewFixedPrefixTransform(length));
}

std::string RunPlan::DrawPolicy(Dice* dice, const FamilyPlan& family) const {
  const std::string bits =
      std::to_string(dice->Of({2, 4, 8, 10, 12, 14, 20, 40}));
  const size_t kind_of_policy = dice->Below(10);
  if (kind_of_policy < 3) {
    return dice->Of({"surf:0:0", "surf:4:0", "surf:0:4", "surf:0:8", "surf:4:4",
                     "surf:0:16", "surf:16:0", "surf:3:11", "surf:0:0:8",
                     "surf:2:3:12"});
  }
  if (kind_of_policy == 3) {
    return dice->Of({"proteus:", "prefixbloom:", "prefixbloom2:"}) + bits;
  }
  if (kind_of_policy == 4) {
    return dice->Of({"bloomfilter:8", "ribbonfilter:8", "nullptr"});
  }
  std::string policy = "{";
  auto add = [&policy](const std::string& name, const std::string& value) {
    policy += Option(name, value);
  };
  add("id", dice->Of({"protean.Proteus", "protean.Proteus",
                      "protean.PrefixBloom", "protean.TwoPrefixBloom"}));
  add("bits_per_key", bits);
  add("prefix_filter_type", dice->Of({"kAuto", "kBloom", "kRibbon"}));
  add("false_positive_cost_micros", dice->Of({"0", "0", "2"}));
  add("sample_every", dice->Of({"1", "3", "100"}));
  add("sample_capacity", dice->Of({"20", "200", "20000"}));
  if (!dice->OneIn(3)) add("seed_file", directory + "/seeds_" + family.name);
  if (dice->OneIn(3)) {
    add("samples_file", directory + "/samples_" + family.name);
  }
  return policy + "}";
}

void RunPlan::DrawTables(Dice* dice, FamilyPlan* family) {
  std::string common;
  auto add = [&common](const std::string& name, const std::string& value) {
    common += Option(name, value);
  };
  add("block_size", dice->Of({"64", "128", "256", "512", "1024", "4096"}));
  add("format_version",
      dice->Of({"4", "5", "6", PROTEAN_ROCKSDB_AT_LEAST(10, 4) ? "7" : "6"}));
  add("block_restart_interval", dice->Of({"1", "2", "4", "16"}));
  add("use_delta_encoding", Bool(!dice->OneIn(3)));
  add("checksum", dice->Of({"kCRC32c", "kxxHash64", "kXXH3"}));
  add("whole_key_filtering", Bool(!dice->OneIn(8)));
  add("index_shortening", dice->Of({"kNoShortening", "kShortenSeparators",
                                    "kShortenSeparatorsAndSuccessor"}));
  add("enable_index_compression", Bool(dice->OneIn(2)));
  add("detect_filter_construct_corruption", Bool(dice->OneIn(6)));
  if (dice->OneIn(6)) {
    add("initial_auto_readahead_size", "512");
    add("num_file_reads_for_auto_readahead", "0");
  }
  if (PROTEAN_ROCKSDB_AT_LEAST(11, 1)) {
    add("separate_key_value_in_data_block", Bool(dice->OneIn(4)));
    if (family->options.comparator == BytewiseComparator()) {
      add("index_block_search_type",
          dice->Of({"kBinary", "kBinary", "kInterpolation", "kAuto"}));
    }
    if (dice->OneIn(4)) add("uniform_cv_threshold", "0.5");
    if (dice->OneIn(6)) {
      add("super_block_alignment_size", "8192");
      add("super_block_alignment_space_overhead_ratio", "4");
    }
  }
  if (!family->timestamps && dice->OneIn(3)) {
    add("data_block_index_type", "kDataBlockBinaryAndHash");
    add("data_block_hash_table_util_ratio", "0.7");
  }
  // The hash index finds keys by prefixes, which all that are asked for must
  // have.
  const SliceTransform* domain = family->Domain();
  bool partitioned = false;
  bool hash_index = false;
  if (domain != nullptr && domain->InDomain("") && !family->timestamps &&
      dice->OneIn(5)) {
    add("index_type", "kHashSearch");
    hash_index = true;
  } else {
    const std::string index = dice->Of(
        {"kBinarySearch", "kBinarySearchWithFirstKey", "kTwoLevelIndexSearch"});
    add("index_type", index);
    partitioned = index == "kTwoLevelIndexSearch";
    if (partitioned) {
      add("metadata_block_size", dice->Of({"64", "256", "4096"}));
    }
    add("index_block_restart_interval", dice->Of({"1", "4"}));
  }
  if (dice->OneIn(5)) {
    add("no_block_cache", "true");
  } else {
    add("block_cache", dice->Of({"4K", "64K", "4M"}));
    if (dice->OneIn(2)) {
      add("cache_index_and_filter_blocks", "true");
      add("pin_l0_filter_and_index_blocks_in_cache", Bool(dice->OneIn(2)));
      add("pin_top_level_index_and_filter", Bool(dice->OneIn(2)));
      if (dice->OneIn(3)) {
        add("metadata_cache_options",
            std::string("{top_level_index_pinning=kFlushedAndSimilar;") +
                "partition_pinning=kAll;unpartitioned_pinning=" +
                dice->Of({"kNone", "kFlushedAndSimilar", "kAll"}) + "}");
      }
    }
    // The prefixes of a hash index are written as index blocks, and RocksDB
    // would parse them as such to cache them: their last bytes, which are bytes
    // of a key, are not a footer.
    if (dice->OneIn(6) && !hash_index) {
      add("prepopulate_block_cache", "kFlushOnly");
    }
  }

  family->tables[kPlain] = "id=BlockBasedTable;" + common;
  // Sometimes RocksDB's own table asks the filters, or finds those of another
  // policy.
  const std::string policy = DrawPolicy(dice, *family);
  std::string protean = Option("id", "BlockBasedTable");
  if (!dice->OneIn(7)) {
    protean = Option("id", "ProteanTable") +
              Option("miss_cache_size", dice->Of({"0", "4096", "1048576"}));
  }
  if (partitioned) {
    protean += Option("partition_filters", Bool(dice->OneIn(2)));
    protean += Option("decouple_partitioned_filters", Bool(dice->OneIn(2)));
  }
  if (policy != "nullptr") protean += Option("filter_policy", policy);
  family->tables[kProtean] =
      control ? family->tables[kPlain] : protean + common;
}

std::string RunPlan::ToString() const {
  static const char* const kKinds[] = {
      "DB", "OptimisticTransactionDB", "TransactionDB, write committed",
      "TransactionDB, write prepared", "TransactionDB, write unprepared"};
  std::string result =
      std::string("kind: ") + kKinds[static_cast<int>(kind)] +
      (frozen ? ", frozen" : ", live") + (in_memory ? ", in memory" : "") +
      (disable_wal ? ", without WAL" : "") +
      (db_options.use_direct_reads ? ", direct reads" : "") + "\n";
  for (const FamilyPlan& family : families) {
    const ColumnFamilyOptions& options = family.options;
    const SliceTransform* extractor = options.prefix_extractor.get();
    result +=
        "family " + family.name + ": " + family.pool.name() + ", " +
        std::to_string(family.pool.keys().size()) + " keys, " +
        options.comparator->Name() + ", extractor " +
        (extractor == nullptr ? "none" : extractor->AsString()) + ", levels " +
        std::to_string(options.num_levels) +
        (options.compaction_style == kCompactionStyleUniversal ? " universal"
                                                               : "") +
        (options.enable_blob_files ? ", blobs" : "") + "\n  " +
        family.tables[kProtean] + "\n";
  }
  return result;
}

// ---- Keys ----

namespace {

// Keys that share more bytes than a filter block stores of its last key, and
// then differ in any of the bytes after.
Keys LongKeys(Dice* dice, size_t size) {
  const size_t shared = dice->Of({60, 64, 65, 100, 300});
  return MakeKeys(size, [&](size_t) {
    std::string key(shared, 'p');
    if (dice->OneIn(8)) key[dice->Below(shared)] = 'q';
    key += BigEndian(dice->Below(size * 2))
               .substr(8 - static_cast<size_t>(dice->Of({2, 4, 8})));
    if (dice->OneIn(10)) key += std::string(dice->Below(200), '\xff');
    return key;
  });
}

Keys FewBytes(Dice* dice, size_t size) {
  Keys keys = {""};
  for (size_t i = 0; i < size; i++) {
    std::string key(dice->Below(5), '\0');
    for (char& c : key) c = dice->Of({'\0', '\1', 'a', '\x7f', '\xfe', '\xff'});
    keys.push_back(std::move(key));
  }
  return keys;
}

// A few prefixes with many keys each, and many with few.
Keys Prefixed(Dice* dice, size_t size) {
  return MakeKeys(size, [&](size_t) {
    return BigEndian(dice->Below(dice->OneIn(2) ? 3 : 200)).substr(4) +
           BigEndian(dice->Below(64)).substr(dice->Below(8));
  });
}

}  // namespace

KeyPool::KeyPool(Dice* dice, const Comparator* order, size_t size,
                 size_t shortest)
    : order_(order), shortest_(shortest) {
  std::vector<KeyFamily> families = {{"long keys", LongKeys(dice, size)},
                                     {"few bytes", FewBytes(dice, size)},
                                     {"prefixes", Prefixed(dice, size)}};
  if (dice->Percent(40)) {
    families = KeyFamilies(size, static_cast<uint32_t>(dice->Next()));
  }
  const KeyFamily& family = dice->In(families);
  name_ = family.name;
  keys_ = family.keys;
  for (std::string& key : keys_) {
    if (key.size() < shortest) key.resize(shortest, 'k');
  }
  SortUnique(&keys_);
  std::sort(keys_.begin(), keys_.end(), less());
}

}  // namespace ROCKSDB_NAMESPACE::protean
