// SPDX-License-Identifier: Apache-2.0

#include "table/rocksdb_internals/cached_filter.h"

#include <algorithm>

#include "cache/cache_helpers.h"
#include "file/file_prefetch_buffer.h"
#include "table/block_based/block_based_table_reader.h"
#include "table/block_based/block_cache.h"
#include "table/rocksdb_internals/versions.h"
#include "test_util/sync_point.h"

namespace ROCKSDB_NAMESPACE::protean {

// Lends a private function (versions.h).
struct GetPartBlock {
  friend auto MemberOf(GetPartBlock);
};
template struct Lend<GetPartBlock,
                     &PartitionedFilterBlockReader::GetFilterPartitionBlock>;

namespace {

// A directory of usual size is read at once.
constexpr size_t kFirstRead = 8 << 10;

Status ReadAt(const BlockBasedTable::Rep& rep, const ReadOptions& read_options,
              uint64_t offset, size_t size, std::string* bytes) {
  IOOptions io_options;
  Status s = rep.file->PrepareIOOptions(read_options, io_options);
  if (!s.ok()) return s;
  bytes->resize(size);
  Slice result;
  s = rep.file->Read(io_options, offset, size, &result, bytes->data(), nullptr);
  if (!s.ok()) return s;
  if (result.size() != size) {
    return Status::Corruption("filter block is cut short");
  }
  if (result.data() != bytes->data()) bytes->assign(result.data(), size);
  return s;
}

// Counts an answer as RocksDB's filters do, and returns it.
bool CountAnswer(bool may_match) {
  FilterAnswers().Add(may_match);
  return may_match;
}

}  // namespace

UnitReader::UnitReader(const FilterDirectory& directory, const Slice& bytes)
    : bytes_(bytes), name_(directory.NameOf(bytes)) {
  status_ = name_ == UnitName()
                ? Status::Corruption("filter block has a part too many")
                : directory.OpenUnit(name_, bytes, &filter_);
}

Status CachedFilter::ReadDirectory(const BlockBasedTable& table,
                                   const ReadOptions& read_options,
                                   const BlockHandle& handle,
                                   OwnedDirectory* directory) {
  const BlockBasedTable::Rep& rep = *table.get_rep();
  const uint64_t first_read = std::min<uint64_t>(handle.size(), kFirstRead);
  Status s =
      ReadAt(rep, read_options, handle.offset(), first_read, &directory->bytes);
  uint64_t size = 0;
  if (s.ok()) s = FilterDirectory::ReadSize(directory->bytes, &size);
  if (s.ok() && size > handle.size()) {
    s = Status::Corruption("filter block has impossible lengths");
  }
  if (s.ok() && size > first_read) {
    s = ReadAt(rep, read_options, handle.offset(), size, &directory->bytes);
  }
  if (!s.ok()) return s;
  directory->bytes.resize(size);
  directory->bytes.shrink_to_fit();
  return directory->directory.Read(directory->bytes, handle.size());
}

CachedFilter::CachedFilter(const BlockBasedTable& table,
                           const BlockHandle& handle,
                           const FilterDirectory& directory)
    : FilterBlockReaderCommon(&table, FilterHold()),
      directory_(directory),
      offset_(handle.offset()),
      parts_(&table, CachableEntry<Block_kFilterPartitionIndex>()) {
  const std::vector<FilterPart>& parts = directory.parts();
  if (std::any_of(parts.begin(), parts.end(),
                  [](const FilterPart& part) { return part.HasSecond(); })) {
    heats_ = std::make_unique<UnitHeat[]>(parts.size());
  }
}

std::vector<UnitName> CachedFilter::Units(bool with_second) const {
  const std::vector<FilterPart>& parts = directory_.parts();
  std::vector<UnitName> units;
  for (size_t i = 0; i < parts.size(); i++) units.push_back({i, false});
  for (size_t i = 0; with_second && i < parts.size(); i++) {
    if (parts[i].HasSecond()) units.push_back({i, true});
  }
  return units;
}

void CachedFilter::Load(const ReadOptions& read_options, bool pin) {
  if (directory_.parts().empty()) return;
  const BlockBasedTable::Rep& rep = *table()->get_rep();
  BlockCacheLookupContext lookup_context(TableReaderCaller::kPrefetch);
  const UnitRead read{read_options, /*get_context=*/nullptr, &lookup_context};
  const std::vector<UnitName> units = Units(/*with_second=*/pin);
  const uint64_t begin = HandleOf(units.front()).offset();
  const BlockHandle last = HandleOf(units.back());
  const uint64_t end =
      last.offset() + BlockBasedTable::BlockSizeWithTrailer(last);
  // A file that is mapped into memory is not read ahead.
  FilePrefetchBuffer buffer(ReadaheadParams(),
                            /*enable=*/!rep.ioptions.allow_mmap_reads);
  IOOptions io_options;
  Status s = rep.file->PrepareIOOptions(read.options(), io_options);
  if (s.ok()) {
    s = buffer.Prefetch(io_options, rep.file.get(), begin, end - begin);
  }
  s.PermitUncheckedError();
  if (pin) {
    pinned_.resize(directory_.parts().size() * (heats_ == nullptr ? 1 : 2));
  }
  for (const UnitName& unit : units) {
    FilterHold hold;
    s = Read(unit, &buffer, read.options(), read, &hold);
    s.PermitUncheckedError();
    if (pin && s.ok()) pinned_[IndexOf(unit)] = std::move(hold);
  }
}

Status CachedFilter::Read(const UnitName& unit,
                          FilePrefetchBuffer* prefetch_buffer,
                          const ReadOptions& options, const UnitRead& read,
                          FilterHold* hold) const {
  const Status s = (parts_.*MemberOf(GetPartBlock()))(
      prefetch_buffer, HandleOf(unit), read.get_context, read.lookup_context,
      options, hold);
  // RocksDB does so where it goes on without a filter. Tests that inject errors
  // then know that no query will return this one.
  IGNORE_STATUS_IF_ERROR(s);
  return s;
}

const FilterHold* CachedFilter::Pinned(const UnitName& unit) const {
  if (pinned_.empty()) return nullptr;
  const FilterHold& hold = pinned_[IndexOf(unit)];
  return hold.IsEmpty() ? nullptr : &hold;
}

const UnitReader* CachedFilter::Get(const UnitName& unit, const UnitRead& read,
                                    FilterHold* hold) const {
  if (const FilterHold* const pinned = Pinned(unit)) {
    return ReaderIn(*pinned, unit);
  }
  const Status s =
      Read(unit, /*prefetch_buffer=*/nullptr, read.options(), read, hold);
  if (s.ok()) return ReaderIn(*hold, unit);
  if (owner_ != nullptr) owner_->ReportUnreadPart(s);
  return nullptr;
}

const UnitReader* CachedFilter::GetSecond(size_t part, AskedFor asked_for,
                                          const UnitRead& read,
                                          FilterHold* hold) const {
  const UnitName unit = {part, true};
  if (Pinned(unit) != nullptr) return Get(unit, read, hold);
  UnitHeat& heat = heats_[part];
  const auto share = [this, asked_for] {
    return owner_ == nullptr ? 1 : owner_->ShareReadInVain(asked_for);
  };
  UnitHeat::Action action = heat.OnPass(asked_for, share);
  if (action == UnitHeat::Action::kLook) {
    ReadOptions cached_only = read.options();
    cached_only.read_tier = kBlockCacheTier;
    const Status s =
        Read(unit, /*prefetch_buffer=*/nullptr, cached_only, read, hold);
    if (s.ok()) {
      heat.OnFound();
      return ReaderIn(*hold, unit);
    }
    heat.OnGone();
    action = heat.OnPass(asked_for, share);
  }
  return action == UnitHeat::Action::kLoad ? Get(unit, read, hold) : nullptr;
}

const UnitReader* CachedFilter::ReaderIn(const FilterHold& hold,
                                         const UnitName& unit) const {
  // The table's policy makes no other readers.
  const auto& reader =
      *static_cast<const UnitReader*>(hold.GetValue()->filter_bits_reader());
  if (reader.status().ok() && reader.name() == unit) return &reader;
  if (owner_ != nullptr) {
    owner_->ReportDamage(
        OpenFile::kPart,
        reader.status().ok()
            ? Status::Corruption("filter block has a part in a wrong place")
            : reader.status());
  }
  return nullptr;
}

// ---- RocksDB's questions ----

bool CachedFilter::KeyMayMatch(const Slice& key, const Slice* /*internal_key*/,
                               GetContext* get_context,
                               BlockCacheLookupContext* lookup_context,
                               const ReadOptions& read_options) {
  if (!whole_key_filtering()) return true;
  return PrefixMayMatch(key, nullptr, get_context, lookup_context,
                        read_options);
}

// A filter does not know whether it is asked for a key or for a prefix.
bool CachedFilter::PrefixMayMatch(const Slice& prefix,
                                  const Slice* /*internal_key*/,
                                  GetContext* get_context,
                                  BlockCacheLookupContext* lookup_context,
                                  const ReadOptions& read_options) {
  const CachedFilterView view(*this, AskedFor::kGet, read_options, get_context,
                              lookup_context);
  return CountAnswer(view.EntryMayMatch(prefix));
}

void CachedFilter::KeysMayMatch(MultiGetRange* range,
                                BlockCacheLookupContext* lookup_context,
                                const ReadOptions& read_options) {
  if (!whole_key_filtering() || range->begin() == range->end()) return;
  const CachedFilterView view(*this, AskedFor::kGet, read_options,
                              range->begin()->get_context, lookup_context);
  for (auto key = range->begin(); key != range->end(); ++key) {
    if (!CountAnswer(view.EntryMayMatch(key->ukey_without_ts))) {
      range->SkipKey(key);
    }
  }
}

size_t CachedFilter::ApproximateMemoryUsage() const {
  const size_t heats = heats_ == nullptr ? 0 : directory_.parts().size();
  return sizeof(*this) + directory_.MemoryUsage() +
         pinned_.capacity() * sizeof(FilterHold) + heats * sizeof(UnitHeat);
}

void CachedFilter::EraseFromCacheBeforeDestruction(
    uint32_t uncache_aggressiveness) {
  if (uncache_aggressiveness == 0) return;
  for (FilterHold& hold : pinned_) hold.ResetEraseIfLastRef();
  if (!pinned_.empty()) return;
  UncacheAggressivenessAdvisor advisor(uncache_aggressiveness);
  for (const UnitName& unit : Units(/*with_second=*/true)) {
    if (!advisor.ShouldContinue()) return;
    advisor.Report(table()->EraseFromCache(HandleOf(unit)));
  }
}

const RangeFilter* CachedFilterView::PartOf(size_t index) const {
  if (slots_[latest_].index() == index) return slots_[latest_].part();
  latest_ = 1 - latest_;
  Slot& slot = slots_[latest_];
  if (slot.index() != index) slot.Load(*this, index);
  return slot.part();
}

void CachedFilterView::Slot::Load(const CachedFilterView& view, size_t index) {
  view_ = &view;
  index_ = index;
  both_.reset();
  second_ = nullptr;
  second_is_known_ = false;
  second_hold_.Reset();
  first_hold_.Reset();
  first_ = view.filter_.Get({index, false}, view.read_, &first_hold_);
  if (first_ == nullptr) {
    part_ = nullptr;
  } else if (view.filter_.directory().parts()[index].HasSecond()) {
    part_ = this;
  } else {
    part_ = &first_->filter();
  }
}

const UnitReader* CachedFilterView::Slot::Second() const {
  if (!second_is_known_) {
    second_is_known_ = true;
    second_ = view_->filter_.GetSecond(index_, view_->asked_for_, view_->read_,
                                       &second_hold_);
  }
  return second_;
}

const RangeFilter* CachedFilterView::Slot::Both() const {
  if (both_ == nullptr && Second() != nullptr) {
    const Status s = view_->filter_.directory().OpenBoth(
        index_, first_->bytes(), second_->bytes(), &both_);
    if (!s.ok()) second_ = nullptr;
  }
  return both_.get();
}

}  // namespace ROCKSDB_NAMESPACE::protean
