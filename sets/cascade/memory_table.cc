// SPDX-License-Identifier: Apache-2.0

#include "sets/cascade/memory_table.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "sets/quotient/quotient_cursor.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Hashes with more copies than that are counted beside the filter.
constexpr uint64_t kCopiesInFilter = 16;

// A stripe's filter stores a fingerprint without the stripe's number, and one
// bit that tells insertions from tombstones.
unsigned HashBits(unsigned fingerprint_bits) {
  return fingerprint_bits - MemoryTable::kStripeBits + 1;
}

// The largest shape of a stripe for which a table takes at most `bytes` bytes.
QuotientShape ShapeFor(unsigned fingerprint_bits, uint64_t bytes) {
  const unsigned bits = HashBits(fingerprint_bits);
  constexpr unsigned kMinQuotientBits = 6;  // a block
  QuotientShape shape;
  for (unsigned quotient_bits = kMinQuotientBits; quotient_bits < bits;
       quotient_bits++) {
    const QuotientShape larger{quotient_bits, bits - quotient_bits};
    const bool fits =
        larger.IsValid() &&
        MemoryTable::kStripes * QuotientMultiset::BytesOf(larger) <= bytes;
    if (!fits && shape.IsValid()) break;
    shape = larger;
  }
  return shape;
}

}  // namespace

Status MemoryTable::Create(unsigned fingerprint_bits, uint64_t bytes,
                           std::unique_ptr<MemoryTable>* table) {
  table->reset(new MemoryTable(fingerprint_bits));
  const QuotientShape shape = ShapeFor(fingerprint_bits, bytes);
  Status s;
  for (Stripe& stripe : (*table)->stripes_) {
    // Fingerprints are salted already.
    if (s.ok())
      s = QuotientMultiset::Create(shape, FilterSalt(), &stripe.filter);
  }
  if (!s.ok()) table->reset();
  return s;
}

uint64_t MemoryTable::BytesOf(unsigned fingerprint_bits, uint64_t bytes) {
  return kStripes *
         QuotientMultiset::BytesOf(ShapeFor(fingerprint_bits, bytes));
}

uint64_t MemoryTable::InsertHash(uint64_t fingerprint) const {
  return TombstoneHash(fingerprint) | uint64_t{1} << (63 - stripe_shift_);
}
uint64_t MemoryTable::TombstoneHash(uint64_t fingerprint) const {
  // The number of the stripe is shifted out.
  return fingerprint << (64 - stripe_shift_);
}

bool MemoryTable::Stripe::Add(uint64_t hash) {
  if (filter->Count(hash) < kCopiesInFilter) return filter->Insert(hash);
  uint32_t& copies = more[hash];
  copies = AddUpTo(copies, 1);
  return true;
}

bool MemoryTable::Stripe::TakeAway(uint64_t hash) {
  const auto found = more.empty() ? more.end() : more.find(hash);
  if (found == more.end()) return filter->Delete(hash);
  // Copies that can no longer be counted stay (entry.h).
  if (found->second == std::numeric_limits<uint32_t>::max()) return true;
  if (--found->second == 0) more.erase(found);
  return true;
}

uint32_t MemoryTable::Stripe::Count(uint64_t hash) const {
  const auto count = static_cast<uint32_t>(filter->Count(hash));
  const auto found = more.empty() ? more.end() : more.find(hash);
  return found == more.end() ? count : AddUpTo(count, found->second);
}

bool MemoryTable::Insert(uint64_t fingerprint) {
  return StripeFor(fingerprint).Add(InsertHash(fingerprint));
}

bool MemoryTable::Delete(uint64_t fingerprint) {
  Stripe& stripe = StripeFor(fingerprint);
  return stripe.TakeAway(InsertHash(fingerprint)) ||
         stripe.Add(TombstoneHash(fingerprint));
}

Entry MemoryTable::Find(uint64_t fingerprint) const {
  const Stripe& stripe = StripeFor(fingerprint);
  return {fingerprint, stripe.Count(TombstoneHash(fingerprint)),
          stripe.Count(InsertHash(fingerprint))};
}

uint64_t MemoryTable::entries() const {
  uint64_t entries = 0;
  for (const Stripe& stripe : stripes_) {
    entries += stripe.filter->size();
    for (const auto& more : stripe.more) entries += more.second;
  }
  return entries;
}

size_t MemoryTable::MemoryUsage() const {
  size_t bytes = sizeof(*this);
  for (const Stripe& stripe : stripes_) {
    bytes += stripe.filter->MemoryUsage() +
             stripe.more.size() * 4 * sizeof(uint64_t);
  }
  return bytes;
}

class MemoryTable::Stream : public EntryStream {
 public:
  explicit Stream(const MemoryTable& table) : table_(table) { OpenStripe(); }

  size_t Read(Entry* entries, size_t capacity) override {
    size_t read = 0;
    while (read < capacity && FindNext()) {
      entries[read++] = Take();
    }
    return read;
  }

  Status status() const override { return Status::OK(); }

 private:
  // Moves to the next stripe if this one is read to its end. False if all are.
  bool FindNext() {
    while (!cursor_->Valid()) {
      if (stripe_ + 1 == kStripes) return false;
      stripe_++;
      OpenStripe();
    }
    return true;
  }
  void OpenStripe() {
    cursor_.emplace(table_.stripes_[stripe_].filter->blocks());
  }

  // The fingerprint at the cursor, without the bit that tells what it is.
  uint64_t Fingerprint() const {
    return uint64_t{stripe_} << table_.stripe_shift_ |
           cursor_->Fingerprint() >> 1;
  }

  // Takes all copies and tombstones of the fingerprint at the cursor.
  Entry Take() {
    const Stripe& stripe = table_.stripes_[stripe_];
    const uint64_t fingerprint = Fingerprint();
    Entry entry{fingerprint, 0, 0};
    do {
      uint32_t& count =
          cursor_->Fingerprint() & 1 ? entry.inserts : entry.deletes;
      count = AddUpTo(count, 1);
      cursor_->Next();
    } while (cursor_->Valid() && Fingerprint() == fingerprint);
    if (!stripe.more.empty()) entry = table_.Find(fingerprint);
    return entry;
  }

  const MemoryTable& table_;
  unsigned stripe_ = 0;
  std::optional<QuotientCursor> cursor_;
};

std::unique_ptr<EntryStream> MemoryTable::NewStream() const {
  return std::make_unique<Stream>(*this);
}

}  // namespace ROCKSDB_NAMESPACE::protean
