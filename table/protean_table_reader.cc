#include "table/protean_table_reader.h"

#include <algorithm>

#include "filter_policy/protean_filter_policy.h"
#include "memory/arena.h"
#include "monitoring/statistics_impl.h"
#include "rocksdb/env.h"
#include "table/protean_table_iterator.h"
#include "table/range_counter.h"
#include "util/math.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

bool IsForUser(TableReaderCaller caller) {
  return caller == TableReaderCaller::kUserIterator ||
         caller == TableReaderCaller::kSSTFileReader;
}

// Files from outside the DB do not say for which column family they are.
std::string ColumnFamilyOf(const BlockBasedFile& file) {
  const std::string name = file.column_family();
  return name.empty() ? kDefaultColumnFamilyName : name;
}

// The use of the queue of the file's column family, or nullptr if its policy
// needs none.
std::shared_ptr<SampleSession> OpenQueue(const BlockBasedFile& file,
                                         DBSession* session) {
  const std::shared_ptr<SampleStore> store =
      AsProteanFilterPolicy(file.filter_policy())->Samples();
  if (store == nullptr) return nullptr;
  return session->Queue(store, ColumnFamilyOf(file), file.env(),
                        file.info_log());
}

// Announces the file's filter, if it is part of a tree and its policy needs to
// know.
std::unique_ptr<OpenFilter> AnnounceFilter(const BlockBasedFile& file) {
  std::shared_ptr<OpenFilters> all =
      AsProteanFilterPolicy(file.filter_policy())->Filters();
  if (all == nullptr || file.level() < 0) return nullptr;
  const auto properties = file.table()->GetTableProperties();
  if (properties == nullptr) return nullptr;
  FileFilter filter;
  filter.level = file.level();
  filter.keys = properties->num_filter_entries;
  filter.bits = 8 * properties->filter_size;
  return std::make_unique<OpenFilter>(
      std::move(all), OpenFilters::Tree{file.info_log(), ColumnFamilyOf(file)},
      filter);
}

// Whether the file's filter says of itself that it could not hold the keys. Its
// properties tell before it is read.
bool HoldsNoKeys(const BlockBasedFile& file) {
  const auto properties = file.table()->GetTableProperties();
  if (properties == nullptr) return false;
  const auto kind = properties->user_collected_properties.find(kKindProperty);
  return kind != properties->user_collected_properties.end() &&
         kind->second == FindFilterType(FilterKind::kAlwaysTrue)->name;
}

FilterRegistry::Announcement Announce(const BlockBasedFile& file,
                                      uint64_t log_period_seconds) {
  FilterRegistry::Announcement announcement;
  announcement.family = file.family();
  announcement.family_name = file.column_family();
  announcement.path = file.name();
  announcement.level = file.level();
  announcement.properties = file.table()->GetTableProperties();
  if (announcement.properties == nullptr) {
    // A file from before there were any.
    announcement.properties = std::make_shared<TableProperties>();
  }
  announcement.env = file.env();
  announcement.info_log = file.info_log();
  announcement.log_period_seconds = log_period_seconds;
  return announcement;
}

// Above all sequence numbers of writes, below the last one, which RocksDB's
// iterators use for themselves. At the same key, larger numbers come first, so
// they go to the files that are likely to have more keys of a range: those of
// deeper levels, then those that have more of all.
SequenceNumber MarkerSequence(const BlockBasedFile& file) {
  constexpr SequenceNumber kLast = kMaxSequenceNumber - 1;
  constexpr int kMostLevel = 255;
  constexpr int kSizes = 64;
  const auto properties = file.table()->GetTableProperties();
  const uint64_t keys = properties == nullptr ? 0 : properties->num_entries;
  const int size = FloorLog2(std::max<uint64_t>(keys, 1));
  const int level = std::clamp(file.level(), 0, kMostLevel);
  return kLast - static_cast<SequenceNumber>((kMostLevel - level) * kSizes +
                                             (kSizes - 1 - size));
}

}  // namespace

ProteanTableReader::ProteanTableReader(std::unique_ptr<BlockBasedFile>&& file,
                                       FilterUse use,
                                       const std::string& db_session_id,
                                       uint64_t log_period_seconds)
    : file_(std::move(file)),
      table_(file_->table()),
      has_range_filter_(use == FilterUse::kUsed),
      timestamp_size_(file_->user_comparator()->timestamp_size()),
      marker_sequence_(MarkerSequence(*file_)),
      session_(
          DBSession::Join(DBSession::IdOf(db_session_id, file_->info_log()))),
      level_(session_->LevelOf(ColumnFamilyOf(*file_), file_->level())),
      samples_(has_range_filter_ ? OpenQueue(*file_, session_.get()) : nullptr),
      queue_(samples_ == nullptr ? nullptr : samples_->queue()),
      open_filter_(has_range_filter_ ? AnnounceFilter(*file_) : nullptr),
      registered_(session_->filters(), Announce(*file_, log_period_seconds),
                  use) {
  // A damaged filter is reported when the file is opened, if the table keeps it
  // in memory, and else when an iterator comes upon it.
  if (!has_range_filter_) return;
  Checked(file_->GetPinnedFilter());
  if (HoldsNoKeys(*file_)) registered_.SetUse(FilterUse::kUnheld);
}

const FilterBlock* ProteanTableReader::GetRangeFilter(
    const ReadOptions& read_options, BlockCacheLookupContext* lookup_context,
    FilterHold* hold) const {
  if (!has_range_filter_) return nullptr;
  FilterBitsReader* filter;
  const Status s =
      file_->GetFilter(read_options, lookup_context, hold, &filter);
  if (s.IsCorruption()) {
    ReportDamage(s);
  } else if (s.IsIOError() || s.IsMemoryLimit()) {
    ReportFailure(s);
  }
  return Checked(filter);
}

const FilterBlock* ProteanTableReader::Checked(FilterBitsReader* filter) const {
  if (filter == nullptr) return nullptr;
  // Policies of Protean make no other readers.
  const FilterBlock& block =
      static_cast<const ProteanFilterBitsReader*>(filter)->block();
  if (block.CanFilter()) {
    // It may have been damaged on its way only, before.
    registered_.SetUse(FilterUse::kUsed);
    return &block;
  }
  NoteUseless(block);
  return nullptr;
}

void ProteanTableReader::NoteUseless(const FilterBlock& filter) const {
  if (filter.status().ok()) {
    registered_.SetUse(FilterUse::kUnheld);
  } else if (ReportDamage(filter.status()) && filter.status().IsCorruption()) {
    // RocksDB counts where it is the first to see it.
    RecordTick(file_->statistics(), BLOCK_CHECKSUM_MISMATCH_COUNT);
  }
}

bool ProteanTableReader::ReportDamage(const Status& status) const {
  registered_.SetUse(FilterUse::kDamaged);
  if (damage_reported_.exchange(true)) return false;
  Log(InfoLogLevel::WARN_LEVEL, file_->info_log(),
      "ProteanTable: %s is read without its filter: %s", file_->name().c_str(),
      status.ToString().c_str());
  return true;
}

void ProteanTableReader::ReportFailure(const Status& status) const {
  if (failure_reported_.exchange(true)) return;
  Log(InfoLogLevel::WARN_LEVEL, file_->info_log(),
      "ProteanTable: %s is read without its filter while that cannot be read: "
      "%s",
      file_->name().c_str(), status.ToString().c_str());
}

void ProteanTableReader::Sample(const MultiGetContext::Range& range) {
  for (auto key = range.begin(); key != range.end(); ++key) {
    if (key->s->ok()) Sample(key->ikey, *key->get_context);
  }
}

Status ProteanTableReader::MultiGetFilter(
    const ReadOptions& read_options, const SliceTransform* prefix_extractor,
    MultiGetContext::Range* range) {
  if (queue_ == nullptr) {
    return table_->MultiGetFilter(read_options, prefix_extractor, range);
  }
  MultiGetContext::Range dropped(*range, range->begin(), range->end());
  Status s = table_->MultiGetFilter(read_options, prefix_extractor, range);
  if (s.ok()) {
    for (auto key = range->begin(); key != range->end(); ++key) {
      dropped.SkipKey(key);
    }
    Sample(dropped);
  }
  return s;
}

InternalIterator* ProteanTableReader::NewIterator(
    const ReadOptions& read_options, const SliceTransform* prefix_extractor,
    Arena* arena, bool skip_filters, TableReaderCaller caller,
    size_t compaction_readahead_size, bool allow_unprepared_value) {
  if (IsForUser(caller)) {
    if (RangeCounter* counter = RangeCounter::Current()) {
      return counter->NewIterator(this, arena);
    }
  }
  if (skip_filters || !has_range_filter_ || !IsForUser(caller)) {
    return table_->NewIterator(read_options, prefix_extractor, arena,
                               skip_filters, caller, compaction_readahead_size,
                               allow_unprepared_value);
  }
  const ProteanTableIterator::Arguments arguments = {
      prefix_extractor, arena, caller, compaction_readahead_size,
      allow_unprepared_value};
  if (arena == nullptr) {
    return new ProteanTableIterator(this, read_options, arguments);
  }
  return new (arena->AllocateAligned(sizeof(ProteanTableIterator)))
      ProteanTableIterator(this, read_options, arguments);
}

}  // namespace ROCKSDB_NAMESPACE::protean
