// SPDX-License-Identifier: Apache-2.0

#include "table/rocksdb_internals/file_iterator.h"

#include <cstring>
#include <type_traits>

namespace ROCKSDB_NAMESPACE::protean {

// Lend private members (versions.h).
struct SeekState {
  friend auto MemberOf(SeekState);
};
template struct Lend<SeekState, &BlockBasedTableIterator::seek_stat_state_>;
struct FilterUsed {
  friend auto MemberOf(FilterUsed);
};
template struct Lend<FilterUsed, BlockBasedTableIterator::kFilterUsed>;
struct BlockRead {
  friend auto MemberOf(BlockRead);
};
template struct Lend<BlockRead,
                     BlockBasedTableIterator::kDataBlockReadSinceLastSeek>;
struct ValueNotAsked {
  friend auto MemberOf(ValueNotAsked);
};
template struct Lend<ValueNotAsked, BlockBasedTableIterator::kReportOnUseful>;

namespace {

// Identifies the class of an object by its table of virtual functions. RTTI
// would do, too, but RocksDB is often compiled without it.
const void* ClassOf(const InternalIterator& iterator) {
  const void* virtual_functions;
  memcpy(&virtual_functions, static_cast<const void*>(&iterator),
         sizeof(virtual_functions));
  return virtual_functions;
}

// Returns what ClassOf says of a BlockBasedTableIterator, after making one.
const void* ClassOfBlockBasedTableIterator(const BlockBasedTable& table) {
  const ReadOptions read_options;
  const BlockBasedTableIterator iterator(
      &table, read_options, table.get_rep()->internal_comparator,
      /*index_iter=*/nullptr, /*check_filter=*/false,
      /*need_upper_bound_check=*/false, /*prefix_extractor=*/nullptr,
      TableReaderCaller::kUncategorized);
  return ClassOf(iterator);
}

}  // namespace

FileIterator::~FileIterator() {
  if (arguments.arena == nullptr) {
    delete iterator_;
  } else if (iterator_ != nullptr) {
    iterator_->~InternalIterator();
  }
}

bool FileIterator::MarkFilterUsed() {
  if (!is_exact_) return true;
  auto& state = Exact()->*MemberOf(SeekState());
  if ((state & MemberOf(FilterUsed())) != 0) return false;
  using State = std::remove_reference_t<decltype(state)>;
  state = static_cast<State>(state | MemberOf(FilterUsed()));
  return true;
}

bool FileIterator::HasReadBlock() const {
  return !is_exact_ ||
         (Exact()->*MemberOf(SeekState()) & MemberOf(BlockRead())) != 0;
}

bool FileIterator::HasReadInVain() const {
  return is_exact_ &&
         (Exact()->*MemberOf(SeekState()) & MemberOf(ValueNotAsked())) != 0;
}

void FileIterator::Make() {
  iterator_ = file_.table_->NewIterator(
      read_options, arguments.prefix_extractor, arguments.arena,
      arguments.skip_filters, arguments.caller,
      /*compaction_readahead_size=*/0, arguments.allow_unprepared_value);
  static const void* const exact_class =
      ClassOfBlockBasedTableIterator(*file_.table_);
  is_exact_ = ClassOf(*iterator_) == exact_class;
  if (pinned_iters_manager_ != nullptr) {
    iterator_->SetPinnedItersMgr(pinned_iters_manager_);
  }
  if (readahead_ != nullptr) iterator_->SetReadaheadState(readahead_.get());
}

}  // namespace ROCKSDB_NAMESPACE::protean
