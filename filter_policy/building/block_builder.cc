// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/building/block_builder.h"

#include <utility>

namespace ROCKSDB_NAMESPACE::protean {

BlockBuilder::BlockBuilder(std::unique_ptr<RangeFilterBuilder> builder,
                           const FilterBlockHeader& header)
    : builder_(std::move(builder)), header_(header) {
  if (header.is_part) builder_->ExpectParts();
  builder_->SetSalt(header.salt);
  // The salt is written where something is hashed.
  header_.salt = FilterSalt();
}

// Takes a key that is not above the one before it. If the keys are in neither
// ascending nor descending bytewise order, no filter can hold them: they are
// still counted, and the file gets a filter block that says so.
void BlockBuilder::AddOutOfOrder(const Slice& key) {
  if (!unordered_ && descending_.empty() && builder_->num_keys() == 1) {
    descending_.Add(builder_->first_key());
    builder_->TakeBackKey();
  }
  if (!descending_.empty()) {
    const int order = key.compare(descending_.last());
    if (order < 0) descending_.Add(key);
    if (order <= 0) return;
    unordered_keys_ = descending_.size();
    descending_ = DescendingKeys();
  }
  unordered_ = true;
  if (unordered_keys_ > 0 && key == last_unordered_key_) return;
  unordered_keys_++;
  last_unordered_key_.assign(key.data(), key.size());
}

uint64_t BlockBuilder::MaxSize() const {
  FilterBlockHeader header = header_;
  header.salt = FilterSalt{1, 1};
  if (descending_.empty()) {
    header.smallest = first_key();
    header.largest = last_key();
    return FilterBlockSize(header, builder_->MaxPayloadSize());
  }
  // Text takes up to four times of what is usual.
  constexpr double kMore = 4;
  const double bits = kMore * builder_->ApproximateBitsPerKey() *
                      static_cast<double>(descending_.size());
  return FilterBlockSize(header, static_cast<uint64_t>(bits / 8)) +
         2 * FilterBlockHeader::kMaxStoredKey;
}

Status BlockBuilder::Finish() {
  header_.num_keys = num_keys();
  descending_.MoveTo(builder_.get());
  header_.smallest = builder_->first_key();
  header_.largest = builder_->last_key();
  if (!builder_->TellsLengths()) header_.key_lengths = 0;
  if ((header_.flags & FilterBlockHeader::kAskedForPrefixes) != 0) {
    builder_->ExpectPrefixesOnly();
  }
  const Status s = unordered_ ? Status::NotSupported(
                                    "its keys are in neither ascending nor "
                                    "descending bytewise order")
                              : builder_->Finish(&payload_size_);
  if (s.ok()) {
    header_.salt = builder_->Salt();
  } else {
    header_.HoldNoKeys();
    payload_size_ = 0;
  }
  return s;
}

void BlockBuilder::Write(char* block) {
  const size_t size = this->size();
  if (header_.is_part) {
    const uint64_t payload_size =
        filters() ? builder_->WritePart(PayloadOfPart(block), payload_size_)
                  : 0;
    FinishPart(header_, payload_size, block, size);
  } else {
    char* const payload = StartFilterBlock(header_, block);
    if (filters()) builder_->Write(payload);
    FinishFilterBlock(block, size);
  }
}

void BlockBuilder::Overwrite(char* block) {
  const size_t size = this->size();
  memset(block, 0, size);
  header_.HoldNoKeys();
  FinishPart(header_, /*payload_size=*/0, block, size);
}

}  // namespace ROCKSDB_NAMESPACE::protean
