#include "table/rocksdb_internals.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "db/column_family.h"
#include "db/db_impl/db_impl.h"
#include "db/log_reader.h"
#include "db/range_del_aggregator.h"
#include "db/version_edit.h"
#include "file/filename.h"
#include "file/sequence_file_reader.h"
#include "filter_policy/protean_filter_policy.h"
#include "filter_policy/surf/surf_policy.h"
#include "port/malloc.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/table_properties.h"
#include "table/block_based/full_filter_block.h"
#include "test_util/sync_point.h"
#include "util/cast_util.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Private members ----

// Explicit instantiation may name private members; a function that is declared
// here and defined in the instantiated class lends them to the rest of the
// file.

bool MarkFilterUsed(BlockBasedTableIterator* iterator);
bool HasReadBlock(const BlockBasedTableIterator& iterator);
bool HasReadInVain(const BlockBasedTableIterator& iterator);

template <typename State>
bool SetFlag(State* state, State flag) {
  if ((*state & flag) != 0) return false;
  *state = static_cast<State>(*state | flag);
  return true;
}

template <auto kState, auto kFilterUsed, auto kBlockRead, auto kValueNotAsked>
struct SeekStatistics {
  friend bool MarkFilterUsed(BlockBasedTableIterator* iterator) {
    return SetFlag(&(iterator->*kState), kFilterUsed);
  }
  friend bool HasReadBlock(const BlockBasedTableIterator& iterator) {
    return (iterator.*kState & kBlockRead) != 0;
  }
  friend bool HasReadInVain(const BlockBasedTableIterator& iterator) {
    return (iterator.*kState & kValueNotAsked) != 0;
  }
};

template struct SeekStatistics<
    &BlockBasedTableIterator::seek_stat_state_,
    BlockBasedTableIterator::kFilterUsed,
    BlockBasedTableIterator::kDataBlockReadSinceLastSeek,
    BlockBasedTableIterator::kReportOnUseful>;

// Whether the value is there without PrepareValue, which the iterator tells its
// caller in NextAndGetResult only.
bool IsValuePrepared(const BlockBasedTableIterator& iterator);

template <auto kIsAtFirstKeyFromIndex>
struct ValueState {
  friend bool IsValuePrepared(const BlockBasedTableIterator& iterator) {
    return !(iterator.*kIsAtFirstKeyFromIndex);
  }
};

template struct ValueState<
    &BlockBasedTableIterator::is_at_first_key_from_index_>;

using FilterReader = FilterBlockReaderCommon<ParsedFullFilterBlock>;

const FilterHold& PinnedBlock(const FilterReader& reader);

template <auto kFilterBlock>
struct PinnedBlockOf {
  friend const FilterHold& PinnedBlock(const FilterReader& reader) {
    return reader.*kFilterBlock;
  }
};

template struct PinnedBlockOf<&FilterReader::filter_block_>;

namespace {

// Lends the protected way by which RocksDB's filter block readers get at their
// filter, so that the block is held once, wherever RocksDB holds it.
class FilterBlockAccess : public FullFilterBlockReader {
 public:
  static Status Get(const FullFilterBlockReader& reader,
                    BlockCacheLookupContext* lookup_context, FilterHold* hold,
                    const ReadOptions& read_options) {
    constexpr auto kGet = &FilterBlockAccess::GetOrReadFilterBlock;
    const Status s = (reader.*kGet)(/*get_context=*/nullptr, lookup_context,
                                    hold, read_options);
    // As where RocksDB goes on without a filter: tells tests that inject errors
    // that no query will return this one.
    IGNORE_STATUS_IF_ERROR(s);
    return s;
  }
};

Status OpenTable(const BlockBasedTableFactory& factory,
                 const ReadOptions& read_options,
                 const TableReaderOptions& table_reader_options,
                 std::unique_ptr<RandomAccessFileReader>&& file,
                 uint64_t file_size, bool prefetch_index_and_filter_in_cache,
                 std::unique_ptr<BlockBasedTable>* table) {
  std::unique_ptr<TableReader> reader;
  const Status s = factory.BlockBasedTableFactory::NewTableReader(
      read_options, table_reader_options, std::move(file), file_size, &reader,
      prefetch_index_and_filter_in_cache);
  if (s.ok()) {
    table->reset(static_cast_with_check<BlockBasedTable>(reader.release()));
  }
  return s;
}

// What reads the filter of a file that has been opened by a policy that does
// not know it: RocksDB's policies and Protean's do not know each other's. Any
// policy of either reads all of its kind. Nullptr if there is no such filter,
// or if RocksDB's own are not wanted because no policy is.
std::shared_ptr<const FilterPolicy> PolicyOfUnknownFilter(
    const BlockBasedTable::Rep& rep) {
  const TableProperties* const properties = rep.table_properties.get();
  if (rep.filter_type != BlockBasedTable::Rep::FilterType::kNoFilter ||
      properties == nullptr || properties->filter_size == 0) {
    return nullptr;
  }
  if (AsProteanFilterPolicy(rep.filter_policy) != nullptr) {
    return std::shared_ptr<const FilterPolicy>(NewBloomFilterPolicy(10));
  }
  if (Slice(properties->filter_policy_name).starts_with("protean.")) {
    return std::make_shared<SurfFilterPolicy>();
  }
  return nullptr;
}

const FullFilterBlockReader& FilterReaderOf(const BlockBasedTable::Rep& rep) {
  return *static_cast_with_check<FullFilterBlockReader>(rep.filter.get());
}

// The factory of a SeparateFile. RocksDB's reader of SST files makes all that a
// table needs, in the shape that its version wants, and gives it to the
// factory; the table is for the SeparateFile, so the reader gets none.
class SeparateTables : public BlockBasedTableFactory {
 public:
  SeparateTables(const BlockBasedTableOptions& options,
                 std::unique_ptr<BlockBasedFile>* opened)
      : BlockBasedTableFactory(Uncached(options)), opened_(opened) {}

  using BlockBasedTableFactory::NewTableReader;
  Status NewTableReader(
      const ReadOptions& read_options,
      const TableReaderOptions& table_reader_options,
      std::unique_ptr<RandomAccessFileReader>&& file, uint64_t file_size,
      std::unique_ptr<TableReader>* /*table_reader*/,
      bool prefetch_index_and_filter_in_cache) const override {
    return BlockBasedFile::Open(*this, read_options, table_reader_options,
                                std::move(file), file_size,
                                prefetch_index_and_filter_in_cache, opened_);
  }

 private:
  static BlockBasedTableOptions Uncached(BlockBasedTableOptions options) {
    options.no_block_cache = true;
    options.block_cache = nullptr;
    options.cache_index_and_filter_blocks = false;
    options.cache_usage_options = CacheUsageOptions();
    return options;
  }

  std::unique_ptr<BlockBasedFile>* const opened_;
};

// The policy of one file in `env`: `policy`, whose filters' facts go into
// `properties`.
class PolicyOfFile : public FilterPolicy {
 public:
  PolicyOfFile(std::shared_ptr<const FilterPolicy> policy, Env* env,
               std::shared_ptr<UserCollectedProperties> properties)
      : policy_(std::move(policy)),
        env_(env),
        properties_(std::move(properties)) {}

  const char* Name() const override { return policy_->Name(); }
  const char* CompatibilityName() const override {
    return policy_->CompatibilityName();
  }
  FilterBitsBuilder* GetBuilderWithContext(
      const FilterBuildingContext& context) const override {
    return AsProteanFilterPolicy(policy_.get())
        ->NewBuilder(context, env_, properties_);
  }
  FilterBitsReader* GetFilterBitsReader(const Slice& contents) const override {
    return policy_->GetFilterBitsReader(contents);
  }

 private:
  const std::shared_ptr<const FilterPolicy> policy_;
  Env* const env_;
  const std::shared_ptr<UserCollectedProperties> properties_;
};

// Adds properties that are not there until the file's filter is finished, which
// is before its properties are written.
class PropertiesOfFilter : public InternalTblPropColl {
 public:
  explicit PropertiesOfFilter(
      std::shared_ptr<UserCollectedProperties> properties)
      : properties_(std::move(properties)) {}

  const char* Name() const override { return "protean.FilterProperties"; }
  Status InternalAdd(const Slice& /*key*/, const Slice& /*value*/,
                     uint64_t /*file_size*/) override {
    return Status::OK();
  }
  void BlockAdd(uint64_t, uint64_t, uint64_t) override {}
  Status Finish(UserCollectedProperties* properties) override {
    properties->insert(properties_->begin(), properties_->end());
    return Status::OK();
  }
  UserCollectedProperties GetReadableProperties() const override {
    return *properties_;
  }

 private:
  const std::shared_ptr<UserCollectedProperties> properties_;
};

class PropertiesOfFilterFactory : public InternalTblPropCollFactory {
 public:
  explicit PropertiesOfFilterFactory(
      std::shared_ptr<UserCollectedProperties> properties)
      : properties_(std::move(properties)) {}

  const char* Name() const override { return "protean.FilterProperties"; }
  InternalTblPropColl* CreateInternalTblPropColl(
      uint32_t /*column_family_id*/, int /*level_at_creation*/,
      int /*num_levels*/,
      SequenceNumber /*last_level_inclusive_max_seqno_threshold*/) override {
    return new PropertiesOfFilter(properties_);
  }

 private:
  const std::shared_ptr<UserCollectedProperties> properties_;
};

// Makes what another factory makes, which it does not own.
class BorrowedCollFactory : public InternalTblPropCollFactory {
 public:
  explicit BorrowedCollFactory(InternalTblPropCollFactory* factory)
      : factory_(factory) {}

  const char* Name() const override { return factory_->Name(); }
  InternalTblPropColl* CreateInternalTblPropColl(
      uint32_t column_family_id, int level_at_creation, int num_levels,
      SequenceNumber last_level_inclusive_max_seqno_threshold) override {
    return factory_->CreateInternalTblPropColl(
        column_family_id, level_at_creation, num_levels,
        last_level_inclusive_max_seqno_threshold);
  }

 private:
  InternalTblPropCollFactory* const factory_;
};

// Remembers the first damage that a log has.
class DamageReporter : public log::Reader::Reporter {
 public:
  // One of the two overrides what RocksDB calls: later versions tell the number
  // of the log, too.
  virtual void Corruption(size_t /*bytes*/, const Status& s) {
    if (status_.ok()) status_ = s;
  }
  virtual void Corruption(size_t bytes, const Status& s, uint64_t /*log*/) {
    Corruption(bytes, s);
  }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

// The column families of a MANIFEST, by their numbers.
class ManifestState {
 public:
  Status Apply(const VersionEdit& edit) {
    has_log_number_ |= edit.HasLogNumber();
    has_next_file_ |= edit.HasNextFile();
    has_last_sequence_ |= edit.HasLastSequence();
    const uint32_t id = edit.GetColumnFamily();
    if (edit.IsColumnFamilyAdd())
      families_[id].name = edit.GetColumnFamilyName();
    if (edit.IsColumnFamilyDrop()) {
      families_.erase(id);
      return Status::OK();
    }
    // A new DB does not say that it has this one.
    if (id == 0 && families_[id].name.empty()) {
      families_[id].name = kDefaultColumnFamilyName;
    }
    const auto family = families_.find(id);
    if (family == families_.end()) {
      return Status::Corruption("it adds files to an unknown column family");
    }
    if (edit.HasComparatorName()) {
      family->second.comparator = edit.GetComparatorName();
    }
    for (const auto& [level, number] : edit.GetDeletedFiles()) {
      family->second.files.erase({level, number});
    }
    for (const auto& [level, meta] : edit.GetNewFiles()) {
      ManifestFile& file = family->second.files[{level, meta.fd.GetNumber()}];
      file.number = meta.fd.GetNumber();
      file.path_id = meta.fd.GetPathId();
      file.level = level;
      file.bytes = meta.fd.GetFileSize();
      file.smallest = meta.smallest.user_key().ToString();
      file.largest = meta.largest.user_key().ToString();
      file.has_timestamps = meta.user_defined_timestamps_persisted;
    }
    return Status::OK();
  }

  // Whether RocksDB would open the DB, as far as it asks for more than whole
  // records.
  Status Check() const {
    return has_log_number_ && has_next_file_ && has_last_sequence_
               ? Status::OK()
               : Status::Corruption(
                     "it ends before the numbers of the log, of the next file "
                     "and of the last change");
  }

  void MoveTo(std::vector<ManifestFamily>* families) {
    for (auto& [id, state] : families_) {
      ManifestFamily family;
      family.id = id;
      family.name = std::move(state.name);
      family.comparator = std::move(state.comparator);
      for (auto& [place, file] : state.files) {
        family.files.push_back(std::move(file));
      }
      families->push_back(std::move(family));
    }
  }

 private:
  struct State {
    std::string name;
    std::string comparator;
    std::map<std::pair<int, uint64_t>, ManifestFile> files;
  };
  std::map<uint32_t, State> families_;
  bool has_log_number_ = false;
  bool has_next_file_ = false;
  bool has_last_sequence_ = false;
};

Status ReadManifestOnce(Env* env, const std::string& path,
                        std::vector<ManifestFamily>* families) {
  std::string current;
  Status s = ReadFileToString(env, CurrentFileName(path), &current);
  if (!s.ok()) return s;
  if (current.empty() || current.back() != '\n') {
    return Status::Corruption(CurrentFileName(path), "names no MANIFEST");
  }
  current.pop_back();
  const std::string manifest = path + "/" + current;
  std::unique_ptr<SequentialFileReader> file;
  s = SequentialFileReader::Create(env->GetFileSystem(), manifest,
                                   FileOptions(), &file, nullptr, nullptr);
  if (!s.ok()) return s;
  DamageReporter damage;
  log::Reader reader(/*info_log=*/nullptr, std::move(file), &damage,
                     /*checksum=*/true, /*log_num=*/0);
  ManifestState state;
  std::vector<VersionEdit> group;
  Slice record;
  std::string scratch;
  while (s.ok() && damage.status().ok() &&
         reader.ReadRecord(&record, &scratch)) {
    group.emplace_back();
    VersionEdit& edit = group.back();
    s = edit.DecodeFrom(record);
    // A group counts as a whole, once all of it is there.
    if (edit.IsInAtomicGroup() && edit.GetRemainingEntries() > 0) continue;
    for (const VersionEdit& complete : group) {
      if (s.ok()) s = state.Apply(complete);
    }
    group.clear();
  }
  if (s.ok()) s = damage.status();
  if (s.ok()) s = state.Check();
  if (!s.ok()) return Status::Corruption(manifest, s.ToString());
  state.MoveTo(families);
  return s;
}

// The table of virtual functions tells of which class an object is. RTTI would
// too, but RocksDB is often compiled without it.
const void* ClassOf(const InternalIterator& iterator) {
  const void* virtual_functions;
  memcpy(&virtual_functions, static_cast<const void*>(&iterator),
         sizeof(virtual_functions));
  return virtual_functions;
}

// What ClassOf says of a BlockBasedTableIterator: one is made to find out.
const void* ClassOfBlockBasedTableIterator(const BlockBasedTable& table) {
  const ReadOptions read_options;
  const BlockBasedTableIterator iterator(
      &table, read_options, table.get_rep()->internal_comparator,
      /*index_iter=*/nullptr, /*check_filter=*/false,
      /*need_upper_bound_check=*/false, /*prefix_extractor=*/nullptr,
      TableReaderCaller::kUncategorized);
  return ClassOf(iterator);
}

[[gnu::always_inline]] inline bool GetExactResult(
    BlockBasedTableIterator* iterator, IterateResult* result) {
  if (!iterator->BlockBasedTableIterator::Valid()) return false;
  result->key = iterator->BlockBasedTableIterator::key();
  result->bound_check_result =
      iterator->BlockBasedTableIterator::UpperBoundCheckResult();
  result->value_prepared = IsValuePrepared(*iterator);
  return true;
}

}  // namespace

// ---- An SST file ----

Status BlockBasedFile::Open(const BlockBasedTableFactory& factory,
                            const ReadOptions& read_options,
                            const TableReaderOptions& table_reader_options,
                            std::unique_ptr<RandomAccessFileReader>&& file,
                            uint64_t file_size,
                            bool prefetch_index_and_filter_in_cache,
                            std::unique_ptr<BlockBasedFile>* opened) {
  std::unique_ptr<BlockBasedTable> table;
  Status s =
      OpenTable(factory, read_options, table_reader_options, std::move(file),
                file_size, prefetch_index_and_filter_in_cache, &table);
  if (!s.ok()) return s;
  BlockBasedTable::Rep* const rep = table->get_rep();
  std::shared_ptr<const FilterPolicy> policy;
  if (!table_reader_options.skip_filters) policy = PolicyOfUnknownFilter(*rep);
  if (policy != nullptr) {
    // A copy shares what clones of a factory share, such as the block cache's
    // reservation for table readers.
    BlockBasedTableFactory other(factory);
    other.GetOptions<BlockBasedTableOptions>()->filter_policy =
        std::move(policy);
    std::unique_ptr<RandomAccessFileReader> again = std::move(rep->file);
    table.reset();
    s = OpenTable(other, read_options, table_reader_options, std::move(again),
                  file_size, prefetch_index_and_filter_in_cache, &table);
  }
  if (s.ok()) opened->reset(new BlockBasedFile(std::move(table)));
  return s;
}

std::string BlockBasedFile::column_family() const {
  const TableProperties* properties = rep()->table_properties.get();
  return properties == nullptr ? "" : properties->column_family_name;
}

BlockBasedFile::FilterState BlockBasedFile::filter_state() const {
  using Type = BlockBasedTable::Rep::FilterType;
  if (rep()->filter_type == Type::kNoFilter) return FilterState::kNone;
  if (rep()->filter == nullptr) return FilterState::kUnreadable;
  return rep()->filter_type == Type::kFullFilter ? FilterState::kFull
                                                 : FilterState::kPartitioned;
}

Status BlockBasedFile::GetFilter(const ReadOptions& read_options,
                                 BlockCacheLookupContext* lookup_context,
                                 FilterHold* hold,
                                 FilterBitsReader** filter) const {
  *filter = nullptr;
  const Status s = FilterBlockAccess::Get(FilterReaderOf(*rep()),
                                          lookup_context, hold, read_options);
  if (s.ok()) *filter = hold->GetValue()->filter_bits_reader();
  return s;
}

FilterBitsReader* BlockBasedFile::GetPinnedFilter() const {
  const FilterHold& block = PinnedBlock(FilterReaderOf(*rep()));
  return block.IsEmpty() ? nullptr : block.GetValue()->filter_bits_reader();
}

Status ReadManifest(Env* env, const std::string& path,
                    std::vector<ManifestFamily>* families) {
  // Its DB may begin a new MANIFEST while this one is about to be opened.
  constexpr int kTries = 5;
  Status s;
  for (int i = 0; i < kTries; i++) {
    families->clear();
    s = ReadManifestOnce(env, path, families);
    if (s.ok() || s.IsCorruption()) return s;
  }
  return s;
}

TableBuilder* NewTableBuilderWithProperties(
    const BlockBasedTableFactory& factory, const TableBuilderOptions& options,
    WritableFileWriter* file) {
  std::shared_ptr<const FilterPolicy> policy =
      factory.GetOptions<BlockBasedTableOptions>()->filter_policy;
  const ProteanFilterPolicy* const own = AsProteanFilterPolicy(policy.get());
  if (own == nullptr) {
    return factory.BlockBasedTableFactory::NewTableBuilder(options, file);
  }
  own->ForLevel(options.level_at_creation, &policy);
  const auto properties = std::make_shared<UserCollectedProperties>();
  if (AsProteanFilterPolicy(policy.get()) != nullptr) {
    policy = std::make_shared<PolicyOfFile>(policy, options.ioptions.env,
                                            properties);
  }
  BlockBasedTableFactory factory_of_file(factory);
  factory_of_file.GetOptions<BlockBasedTableOptions>()->filter_policy = policy;
  // The builder takes its collectors from here at once.
  InternalTblPropCollFactories collectors;
  for (const auto& collector : *options.internal_tbl_prop_coll_factories) {
    collectors.push_back(
        std::make_unique<BorrowedCollFactory>(collector.get()));
  }
  collectors.push_back(std::make_unique<PropertiesOfFilterFactory>(properties));
  TableBuilderOptions options_of_file = options;
  options_of_file.internal_tbl_prop_coll_factories = &collectors;
  return factory_of_file.NewTableBuilder(options_of_file, file);
}

Status SeparateFile::Open(const Options& options, const std::string& path,
                          std::unique_ptr<SeparateFile>* opened) {
  std::unique_ptr<SeparateFile> separate(new SeparateFile);
  Options own = options;
  own.statistics = nullptr;
  own.table_factory = std::make_shared<SeparateTables>(
      *options.table_factory->GetOptions<BlockBasedTableOptions>(),
      &separate->file_);
  separate->reader_ = std::make_unique<SstFileReader>(own);
  const Status s = separate->reader_->Open(path);
  if (s.ok()) *opened = std::move(separate);
  return s;
}

// ---- Its iterator ----

FileIterator::~FileIterator() {
  if (!in_arena_) {
    delete iterator_;
  } else if (iterator_ != nullptr) {
    iterator_->~InternalIterator();
  }
}

void FileIterator::Make(const BlockBasedFile& file,
                        const ReadOptions& read_options,
                        const SliceTransform* prefix_extractor, Arena* arena,
                        TableReaderCaller caller,
                        size_t compaction_readahead_size,
                        bool allow_unprepared_value) {
  in_arena_ = arena != nullptr;
  iterator_ = file.table_->NewIterator(
      read_options, prefix_extractor, arena, /*skip_filters=*/false, caller,
      compaction_readahead_size, allow_unprepared_value);
  static const void* const exact_class =
      ClassOfBlockBasedTableIterator(*file.table_);
  if (ClassOf(*iterator_) == exact_class) {
    exact_ = static_cast_with_check<BlockBasedTableIterator>(iterator_);
  }
}

bool FileIterator::NextAndGetResult(IterateResult* result) {
  if (exact_ == nullptr) return iterator_->NextAndGetResult(result);
  exact_->BlockBasedTableIterator::Next();
  return GetExactResult(exact_, result);
}

bool FileIterator::GetResult(IterateResult* result) {
  if (exact_ != nullptr) return GetExactResult(exact_, result);
  if (!iterator_->Valid()) return false;
  result->key = iterator_->key();
  result->bound_check_result = iterator_->UpperBoundCheckResult();
  result->value_prepared = false;
  return true;
}

bool FileIterator::MarkFilterUsed() {
  return exact_ == nullptr || protean::MarkFilterUsed(exact_);
}

bool FileIterator::HasReadBlock() const {
  return exact_ == nullptr || protean::HasReadBlock(*exact_);
}

bool FileIterator::HasReadInVain() const {
  return exact_ != nullptr && protean::HasReadInVain(*exact_);
}

// ---- A column family ----

namespace {

// RocksDB returns them as a pointer or as a reference.
[[maybe_unused]] const void* AddressOf(const ImmutableOptions& options) {
  return &options;
}
[[maybe_unused]] const void* AddressOf(const ImmutableOptions* options) {
  return options;
}

}  // namespace

namespace {

// Whether a block of memory may have been allocated for an object of that size:
// it has room for it, and not much more.
bool Fits(const void* block, size_t size) {
#ifdef ROCKSDB_MALLOC_USABLE_SIZE
  const size_t usable = malloc_usable_size(const_cast<void*>(block));
  return usable >= size && usable <= size + size / 4 + 64;
#else
  return true;  // nobody can tell
#endif
}

// A factory that looks at the tables that it makes from outside.
class MeasuredTables : public BlockBasedTableFactory {
 public:
  using BlockBasedTableFactory::BlockBasedTableFactory;
  using BlockBasedTableFactory::NewTableReader;
  Status NewTableReader(
      const ReadOptions& read_options,
      const TableReaderOptions& table_reader_options,
      std::unique_ptr<RandomAccessFileReader>&& file, uint64_t file_size,
      std::unique_ptr<TableReader>* table_reader,
      bool prefetch_index_and_filter_in_cache) const override {
    const void* const given = file.get();
    const Status s = BlockBasedTableFactory::NewTableReader(
        read_options, table_reader_options, std::move(file), file_size,
        table_reader, prefetch_index_and_filter_in_cache);
    if (!s.ok()) return s;
    auto* const table = static_cast<BlockBasedTable*>(table_reader->get());
    if (!Fits(table, sizeof(BlockBasedTable))) return Differ("BlockBasedTable");
    const BlockBasedTable::Rep* const rep = table->get_rep();
    if (!Fits(rep, sizeof(BlockBasedTable::Rep)) || rep->file.get() != given ||
        rep->internal_comparator.user_comparator() != BytewiseComparator() ||
        rep->level != table_reader_options.level) {
      return Differ("BlockBasedTable::Rep");
    }
    const std::unique_ptr<InternalIterator> iterator(table->NewIterator(
        read_options, /*prefix_extractor=*/nullptr, /*arena=*/nullptr,
        /*skip_filters=*/false, TableReaderCaller::kUncategorized));
    if (!Fits(iterator.get(), sizeof(BlockBasedTableIterator))) {
      return Differ("BlockBasedTableIterator");
    }
    return s;
  }

 private:
  static Status Differ(const char* of) {
    return Status::NotSupported(std::string("RocksDB's ") + of +
                                " is another one");
  }
};

}  // namespace

Status CheckSizes() {
  const std::unique_ptr<Env> env(NewMemEnv(Env::Default()));
  Options options;
  options.env = env.get();
  options.compression = kNoCompression;
  options.table_factory = std::make_shared<MeasuredTables>();
  const std::string path = "/sizes.sst";
  SstFileWriter writer(EnvOptions(), options);
  Status s = writer.Open(path);
  if (s.ok()) s = writer.Put("key", "value");
  if (s.ok()) s = writer.Finish();
  if (s.ok()) s = SstFileReader(options).Open(path);
  return s;
}

const void* FamilyOf(ColumnFamilyHandle* column_family) {
  return AddressOf(static_cast_with_check<ColumnFamilyHandleImpl>(column_family)
                       ->cfd()
                       ->ioptions());
}

ColumnFamilyVersion::ColumnFamilyVersion(DB* db,
                                         ColumnFamilyHandle* column_family)
    : db_(static_cast_with_check<DBImpl>(db->GetRootDB())),
      family_(
          static_cast_with_check<ColumnFamilyHandleImpl>(column_family)->cfd()),
      super_version_(family_->GetReferencedSuperVersion(db_)) {}

InternalIterator* ColumnFamilyVersion::NewIterator(
    const ReadOptions& read_options, Arena* arena) {
  return db_->NewInternalIterator(read_options, family_, super_version_, arena,
                                  kMaxSequenceNumber,
                                  /*allow_unprepared_value=*/true);
}

uint64_t ColumnFamilyVersion::RangeDeletions() const {
  ReadRangeDelAggregator ranges(&family_->internal_comparator(),
                                kMaxSequenceNumber);
  super_version_->imm
      ->AddRangeTombstoneIterators(ReadOptions(), /*arena=*/nullptr, &ranges)
      .PermitUncheckedError();
  return super_version_->mem->NumRangeDeletion() + (ranges.IsEmpty() ? 0 : 1);
}

bool ColumnFamilyVersion::MayHoldUncommitted() const {
  return db_->seq_per_batch();
}

}  // namespace ROCKSDB_NAMESPACE::protean
