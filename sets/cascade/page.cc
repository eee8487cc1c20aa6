// SPDX-License-Identifier: Apache-2.0

#include "sets/cascade/page.h"

#include <cassert>
#include <cstring>

#include "filter_policy/bits/checksum.h"
#include "util/coding_lean.h"
#include "util/crc32c.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The header. The checksum covers all bytes after it.
constexpr size_t kChecksumAt = 0;
constexpr size_t kPageNumberAt = 4;
constexpr size_t kRunAt = 8;
constexpr size_t kFirstQuotientAt = 16;
constexpr size_t kSizeAt = 24;
constexpr size_t kUnaryBitsAt = 26;
constexpr size_t kListedAt = 28;
constexpr size_t kRemainderBitsAt = 30;
constexpr size_t kFlagsAt = 31;
constexpr size_t kHeaderBytes = 32;

constexpr uint8_t kHasTombstones = 1;

// An index of 2 bytes, deletes and inserts of 4 bytes each.
constexpr size_t kListedBytes = 10;

constexpr unsigned kMaxRemainderBits = 57;  // GetBits

// Returns true if the entry needs a place in the list: it is neither one
// insertion nor one deletion.
bool IsListed(const Entry& entry) {
  return entry.deletes + uint64_t{entry.inserts} != 1;
}

size_t BytesFor(uint64_t unary_bits, uint64_t size, unsigned remainder_bits,
                bool has_tombstones, uint64_t listed) {
  return kHeaderBytes + BitArrayBytes(unary_bits) +
         BitArrayBytes(size * remainder_bits) +
         (has_tombstones ? BitArrayBytes(size) : 0) + kListedBytes * listed;
}

uint32_t ChecksumOf(const char* page) {
  return crc32c::Mask(
      ExtendCrc32c(0, Slice(page + kPageNumberAt, kPageBytes - kPageNumberAt)));
}

}  // namespace

PageBuilder::PageBuilder(unsigned remainder_bits)
    : remainder_bits_(remainder_bits) {
  assert(remainder_bits >= 1 && remainder_bits <= kMaxRemainderBits);
}

bool PageBuilder::Add(const Entry& entry) {
  const uint64_t quotient = entry.fingerprint >> remainder_bits_;
  const bool is_listed = IsListed(entry);
  const bool is_tombstone = !is_listed && entry.deletes == 1;
  const uint64_t first = entries_.empty() ? quotient : first_quotient_;
  const uint64_t size = entries_.size() + 1;
  // The first comparison keeps the sum below from overflowing.
  if (quotient - first >= 8 * kPageBytes ||
      BytesFor(quotient - first + size, size, remainder_bits_,
               has_tombstones_ || is_tombstone,
               listed_ + is_listed) > kPageBytes) {
    return false;
  }
  first_quotient_ = first;
  listed_ += is_listed;
  has_tombstones_ |= is_tombstone;
  entries_.push_back(entry);
  return true;
}

void PageBuilder::Finish(const PageId& id, char* page) {
  memset(page, 0, kPageBytes);
  const uint64_t last_quotient = entries_.back().fingerprint >> remainder_bits_;
  const uint64_t unary_bits = last_quotient - first_quotient_ + entries_.size();
  EncodeFixed32(page + kPageNumberAt, id.page);
  EncodeFixed64(page + kRunAt, id.run);
  EncodeFixed64(page + kFirstQuotientAt, first_quotient_);
  EncodeFixed16(page + kSizeAt, static_cast<uint16_t>(entries_.size()));
  EncodeFixed16(page + kUnaryBitsAt, static_cast<uint16_t>(unary_bits));
  EncodeFixed16(page + kListedAt, static_cast<uint16_t>(listed_));
  page[kRemainderBitsAt] = static_cast<char>(remainder_bits_);
  page[kFlagsAt] = static_cast<char>(has_tombstones_ ? kHasTombstones : 0);

  char* unary = page + kHeaderBytes;
  char* remainders = unary + BitArrayBytes(unary_bits);
  char* tombstones =
      remainders + BitArrayBytes(entries_.size() * remainder_bits_);
  char* listed =
      tombstones + (has_tombstones_ ? BitArrayBytes(entries_.size()) : 0);
  {
    BitWriter writer(remainders, 0);
    for (const Entry& entry : entries_) {
      writer.Write(entry.fingerprint & LowBits(remainder_bits_),
                   remainder_bits_);
    }
  }
  for (size_t i = 0; i < entries_.size(); i++) {
    const Entry& entry = entries_[i];
    SetBit(unary, (entry.fingerprint >> remainder_bits_) - first_quotient_ + i);
    if (IsListed(entry)) {
      EncodeFixed16(listed, static_cast<uint16_t>(i));
      EncodeFixed32(listed + 2, entry.deletes);
      EncodeFixed32(listed + 6, entry.inserts);
      listed += kListedBytes;
    } else if (entry.deletes == 1) {
      SetBit(tombstones, i);
    }
  }
  entries_.clear();
  listed_ = 0;
  has_tombstones_ = false;
  EncodeFixed32(page + kChecksumAt, ChecksumOf(page));
}

bool PageView::Open(const char* page, const PageId& id) {
  if (DecodeFixed32(page + kChecksumAt) != ChecksumOf(page) ||
      DecodeFixed32(page + kPageNumberAt) != id.page ||
      DecodeFixed64(page + kRunAt) != id.run) {
    return false;
  }
  const auto flags = static_cast<uint8_t>(page[kFlagsAt]);
  Reopen(page);
  // A flag that is not known may say that the page means something else.
  return (flags & ~kHasTombstones) == 0 && remainder_bits_ >= 1 &&
         remainder_bits_ <= kMaxRemainderBits &&
         BytesFor(unary_bits_, size_, remainder_bits_, tombstones_ != nullptr,
                  listed_count_) <= kPageBytes &&
         TailIsZero(unary_, unary_bits_) &&
         CountOnes(unary_, 0, unary_bits_) == size_;
}

void PageView::Reopen(const char* page) {
  first_quotient_ = DecodeFixed64(page + kFirstQuotientAt);
  size_ = DecodeFixed16(page + kSizeAt);
  unary_bits_ = DecodeFixed16(page + kUnaryBitsAt);
  listed_count_ = DecodeFixed16(page + kListedAt);
  remainder_bits_ = static_cast<uint8_t>(page[kRemainderBitsAt]);
  const bool has_tombstones =
      (static_cast<uint8_t>(page[kFlagsAt]) & kHasTombstones) != 0;
  unary_ = page + kHeaderBytes;
  remainders_ = unary_ + BitArrayBytes(unary_bits_);
  const char* after =
      remainders_ + BitArrayBytes(uint64_t{size_} * remainder_bits_);
  tombstones_ = has_tombstones ? after : nullptr;
  listed_ = after + (has_tombstones ? BitArrayBytes(size_) : 0);
}

uint32_t PageView::ListedIndex(uint32_t position) const {
  return DecodeFixed16(listed_ + kListedBytes * position);
}

void PageView::ReadListed(uint32_t position, Entry* entry) const {
  const char* at = listed_ + kListedBytes * position;
  entry->deletes = DecodeFixed32(at + 2);
  entry->inserts = DecodeFixed32(at + 6);
}

// The entry at an index that is not listed.
Entry PageView::Marked(uint64_t fingerprint, uint32_t index) const {
  const bool is_tombstone =
      tombstones_ != nullptr && GetBit(tombstones_, index);
  return {fingerprint, is_tombstone, !is_tombstone};
}

bool PageView::Find(uint64_t fingerprint, Entry* entry) const {
  const uint64_t quotient = fingerprint >> remainder_bits_;
  if (quotient < first_quotient_ || quotient - first_quotient_ > unary_bits_) {
    return false;
  }
  // The entries of a quotient begin after the zero that ends the one before.
  const uint64_t zeros = quotient - first_quotient_;
  uint64_t at = 0;
  if (zeros > 0) {
    uint64_t rest = zeros - 1;
    uint64_t index = 0;
    for (;; index++) {
      if (64 * index >= unary_bits_) return false;
      const auto count =
          static_cast<uint64_t>(64 - PopCount(LoadWord(unary_, index)));
      if (rest < count) break;
      rest -= count;
    }
    at = 64 * index + 1 +
         SelectInWord(~LoadWord(unary_, index), static_cast<unsigned>(rest));
  }
  const uint64_t remainder = fingerprint & LowBits(remainder_bits_);
  for (auto i = static_cast<uint32_t>(at - zeros);
       at < unary_bits_ && GetBit(unary_, at); at++, i++) {
    const uint64_t found = Remainder(i);
    if (found > remainder) return false;
    if (found < remainder) continue;
    *entry = Marked(fingerprint, i);
    for (uint32_t position = 0; position < listed_count_; position++) {
      if (ListedIndex(position) == i) ReadListed(position, entry);
    }
    return true;
  }
  return false;
}

PageView::Cursor::Cursor(const PageView& page)
    : page_(&page), word_(LoadWord(page.unary_, 0)) {}

bool PageView::Cursor::Next(Entry* entry) {
  if (page_ == nullptr || index_ == page_->size_) return false;
  while (word_ == 0) word_ = LoadWord(page_->unary_, ++word_index_);
  const uint64_t at = 64 * uint64_t{word_index_} + __builtin_ctzll(word_);
  word_ &= word_ - 1;
  const uint64_t quotient = page_->first_quotient_ + at - index_;
  *entry = page_->Marked(
      quotient << page_->remainder_bits_ | page_->Remainder(index_), index_);
  if (next_listed_ < page_->listed_count_ &&
      page_->ListedIndex(next_listed_) == index_) {
    page_->ReadListed(next_listed_++, entry);
  }
  index_++;
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
