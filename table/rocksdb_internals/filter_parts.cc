// SPDX-License-Identifier: Apache-2.0

#include "table/rocksdb_internals/filter_parts.h"

#include "table/block_based/partitioned_filter_block.h"
#include "test_util/sync_point.h"
#include "util/cast_util.h"

namespace ROCKSDB_NAMESPACE::protean {

using PartsReader = PartitionedFilterBlockReader;
using PartHandle = BlockHandle;

// Explicit instantiation may name private members. A friend function of the
// instantiated class lends this one to the rest of the file.
Status GetPart(const PartsReader& reader, const PartHandle& handle,
               BlockCacheLookupContext* lookup_context,
               const ReadOptions& read_options, FilterHold* hold);

template <auto kGet>
struct PartOf {
  friend Status GetPart(const PartsReader& reader, const PartHandle& handle,
                        BlockCacheLookupContext* lookup_context,
                        const ReadOptions& read_options, FilterHold* hold) {
    return (reader.*kGet)(/*prefetch_buffer=*/nullptr, handle,
                          /*get_context=*/nullptr, lookup_context, read_options,
                          hold);
  }
};

template struct PartOf<&PartsReader::GetFilterPartitionBlock>;

namespace {

// Lends the protected function by which RocksDB gets the index of the parts.
class IndexAccess : public PartsReader {
 public:
  static Status Get(const PartsReader& reader,
                    BlockCacheLookupContext* lookup_context,
                    CachableEntry<Block_kFilterPartitionIndex>* index,
                    const ReadOptions& read_options) {
    constexpr auto kGet = &IndexAccess::GetOrReadFilterBlock;
    return (reader.*kGet)(/*get_context=*/nullptr, lookup_context, index,
                          read_options);
  }
};

const PartsReader& ReaderOf(const BlockBasedTable::Rep& rep) {
  return *static_cast_with_check<PartsReader>(rep.filter.get());
}

// Puts an iterator on the index of a filter's parts, whose entries files with
// format_version 8 encode in another way. RocksDB reads such files since 11.10,
// and has then a function that tells them apart. A last argument of 0 picks the
// first of the two functions where it compiles.
template <typename Index, typename Rep>
auto Iterate(Index& index, const Rep& rep, IndexBlockIter* cursor, int)
    -> decltype(void(
        FormatVersionUsesValueDeltaEscape(rep.footer.format_version()))) {
  index.NewIndexIterator(
      rep.internal_comparator.user_comparator(),
      rep.get_global_seqno(BlockType::kFilterPartitionIndex), cursor,
      /*stats=*/nullptr, /*total_order_seek=*/true, /*have_first_key=*/false,
      rep.index_key_includes_seq, rep.index_value_is_full,
      /*block_contents_pinned=*/false, rep.user_defined_timestamps_persisted,
      /*prefix_index=*/nullptr, /*index_block_search_type=*/{},
      FormatVersionUsesValueDeltaEscape(rep.footer.format_version()));
}
template <typename Index, typename Rep>
void Iterate(Index& index, const Rep& rep, IndexBlockIter* cursor, long) {
  index.NewIndexIterator(
      rep.internal_comparator.user_comparator(),
      rep.get_global_seqno(BlockType::kFilterPartitionIndex), cursor,
      /*stats=*/nullptr, /*total_order_seek=*/true, /*have_first_key=*/false,
      rep.index_key_includes_seq, rep.index_value_is_full,
      /*block_contents_pinned=*/false, rep.user_defined_timestamps_persisted);
}

}  // namespace

Status FilterParts::Open() {
  const BlockBasedTable::Rep& rep = *file_.rep();
  const Status s =
      IndexAccess::Get(ReaderOf(rep), lookup_context_, &index_, read_options_);
  // RocksDB does so where it goes on without a filter.
  IGNORE_STATUS_IF_ERROR(s);
  if (!s.ok()) return s;
  if (index_.GetValue()->size() == 0) {
    return Status::Corruption("the index of the filter's parts is damaged");
  }
  Iterate(*index_.GetValue(), rep, &cursor_, 0);
  return cursor_.status();
}

void FilterParts::Seek(const Slice& user_key) {
  // The first entry of the user key in internal order.
  target_.assign(user_key.data(), user_key.size());
  target_.append(file_.user_comparator()->timestamp_size(), '\xff');
  PutFixed64(&target_,
             PackSequenceAndType(kMaxSequenceNumber, kValueTypeForSeek));
  cursor_.Seek(target_);
}

uint64_t FilterParts::end_offset() const {
  return file_.rep()->filter_handle.offset();
}

uint64_t FilterParts::next_offset() const {
  return offset() +
         BlockBasedTable::BlockSizeWithTrailer(cursor_.value().handle);
}

Slice FilterParts::end() const {
  return StripTimestampFromUserKey(cursor_.user_key(),
                                   file_.user_comparator()->timestamp_size());
}

Status FilterParts::Get(FilterHold* hold, FilterBitsReader** filter) const {
  *filter = nullptr;
  const Status s = GetPart(ReaderOf(*file_.rep()), cursor_.value().handle,
                           lookup_context_, read_options_, hold);
  IGNORE_STATUS_IF_ERROR(s);
  if (s.ok()) *filter = hold->GetValue()->filter_bits_reader();
  return s;
}

}  // namespace ROCKSDB_NAMESPACE::protean
