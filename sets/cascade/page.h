// SPDX-License-Identifier: Apache-2.0

//  A page of a run on flash: as many entries as 4 KiB hold, in order of their
//  fingerprints, stored as a stretch of a quotient filter without empty slots.
//
//  The upper bits of a fingerprint, its quotient, are coded in unary: entry i
//  with quotient q sets bit q - first quotient + i, so that a quotient costs
//  one bit, and each of its entries one more. Remainders follow in as many bits
//  as each has. Searching a fingerprint counts zeros in the first vector, and
//  compares the remainders of one quotient. A third vector marks tombstones, if
//  the page has any. Entries that are neither one insertion nor one deletion
//  are listed at the end.
//
//  docs/internals/file_format.md has the layout.

#pragma once

#include <cstdint>
#include <vector>

#include "filter_policy/bits/bit_array.h"
#include "sets/cascade/entry.h"

namespace ROCKSDB_NAMESPACE::protean {

constexpr size_t kPageBytes = 4096;

// Where a page belongs, so that a page at another place is not taken for it.
struct PageId {
  // Drawn at random for each run.
  uint64_t run = 0;
  uint32_t page = 0;
};

// Collects the entries of one page after the other.
class PageBuilder {
 public:
  // `remainder_bits` is at least 1 and at most 57.
  explicit PageBuilder(unsigned remainder_bits);

  // Takes an entry with a larger fingerprint than all before it. False if the
  // page has no room for it; the builder is then as it was.
  bool Add(const Entry& entry);

  bool IsEmpty() const { return entries_.empty(); }
  // REQUIRES: !IsEmpty()
  uint64_t FirstFingerprint() const { return entries_.front().fingerprint; }

  // Writes the kPageBytes bytes of the page, and starts the next one.
  // REQUIRES: !IsEmpty()
  void Finish(const PageId& id, char* page);

 private:
  const unsigned remainder_bits_;
  std::vector<Entry> entries_;
  uint64_t first_quotient_ = 0;
  size_t listed_ = 0;
  bool has_tombstones_ = false;
};

// Reads a page, which must outlive this object and be followed by kReadPadding
// bytes that may be loaded.
class PageView {
 public:
  // False if the page is damaged, or is another one than `id`.
  bool Open(const char* page, const PageId& id);

  // Opens a page that Open has accepted before, and which is checked no more.
  void Reopen(const char* page);

  uint32_t size() const { return size_; }

  // Stores what the page says of a fingerprint. False if it says nothing.
  bool Find(uint64_t fingerprint, Entry* entry) const;

  // Visits all entries in ascending order.
  class Cursor {
   public:
    Cursor() = default;
    explicit Cursor(const PageView& page);
    // Stores the next entry. False at the end.
    bool Next(Entry* entry);

   private:
    const PageView* page_ = nullptr;
    uint32_t index_ = 0;
    // The unary bits from the word of the next entry on, those of entries
    // before it cleared.
    uint64_t word_ = 0;
    uint32_t word_index_ = 0;
    uint32_t next_listed_ = 0;
  };

 private:
  uint64_t Remainder(uint32_t index) const {
    return GetBits(remainders_, uint64_t{index} * remainder_bits_,
                   remainder_bits_);
  }
  uint32_t ListedIndex(uint32_t position) const;
  void ReadListed(uint32_t position, Entry* entry) const;
  Entry Marked(uint64_t fingerprint, uint32_t index) const;

  const char* unary_ = nullptr;
  const char* remainders_ = nullptr;
  const char* tombstones_ = nullptr;  // nullptr if there are none
  const char* listed_ = nullptr;
  uint64_t first_quotient_ = 0;
  uint32_t size_ = 0;
  uint32_t unary_bits_ = 0;
  uint32_t listed_count_ = 0;
  unsigned remainder_bits_ = 0;
};

}  // namespace ROCKSDB_NAMESPACE::protean
