// SPDX-License-Identifier: Apache-2.0

#include "table/rocksdb_internals/file_iterator.h"

#include <cstring>

namespace ROCKSDB_NAMESPACE::protean {

bool MarkFilterUsed(BlockBasedTableIterator* iterator);
bool HasReadBlock(const BlockBasedTableIterator& iterator);
bool HasReadInVain(const BlockBasedTableIterator& iterator);

template <typename State>
bool SetFlag(State* state, State flag) {
  if ((*state & flag) != 0) return false;
  *state = static_cast<State>(*state | flag);
  return true;
}

// Explicit instantiation may name private members. Friend functions of the
// instantiated class, which are declared above, lend them to this file: they
// are inline functions.
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
  return !is_exact_ || protean::MarkFilterUsed(Exact());
}

bool FileIterator::HasReadBlock() const {
  return !is_exact_ || protean::HasReadBlock(*Exact());
}

bool FileIterator::HasReadInVain() const {
  return is_exact_ && protean::HasReadInVain(*Exact());
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
