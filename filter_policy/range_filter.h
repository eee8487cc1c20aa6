// SPDX-License-Identifier: Apache-2.0

//  The interface of Protean's filters, and of their builders. A filter belongs
//  to one SST file and knows its user keys, without timestamps, in bytewise
//  order. Its errors are one-sided: there are false positives, but no false
//  negatives.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "filter_policy/bits/bit_util.h"
#include "filter_policy/false_positive_price.h"
#include "filter_policy/filter_salt.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// What a filter knows of the number of keys in a range: at most `count`. If
// `low_ambiguous`, the first key counted may lie below the range; if
// `high_ambiguous`, the last key counted may lie beyond its end. (They can be
// the same key.) All other keys counted are in the range.
struct RangeCount {
  uint64_t count = 0;
  bool low_ambiguous = false;
  bool high_ambiguous = false;
  // The minimum number of bytes that the ambiguous key shares with the bound on
  // its side. No other key at or above the bound, and below the limit, begins
  // with these bytes. The ambiguous key is below the limit, too. An empty limit
  // is none.
  size_t low_shared = 0;
  size_t high_shared = 0;
  std::string low_limit;
  std::string high_limit;
};

// Stores the smallest string above all strings that start with `prefix`.
// Returns false if there is none.
inline bool FirstBehindPrefix(const Slice& prefix, std::string* end) {
  end->assign(prefix.data(), prefix.size());
  while (!end->empty() && end->back() == '\xff') end->pop_back();
  if (end->empty()) return false;
  end->back() = static_cast<char>(static_cast<uint8_t>(end->back()) + 1);
  return true;
}

// How a builder has come to a design that depends on the keys.
enum class DesignOrigin : uint8_t {
  kSearched,
  kKeptInFile,  // that of other keys of the file
  kKept,        // that of another file
};

// A filter's description of itself, for logs and tools.
struct FilterReport {
  std::string design;
  // What the design is based on; empty if the options prescribe the design.
  std::string basis;
  // Number of sample queries that the design is based on.
  uint32_t samples = 0;
  // Time spent on modelling the design.
  uint32_t model_micros = 0;
  // Predicted false positive rate of queries like the samples that lie among
  // the keys; negative if unknown.
  double predicted_fpr = -1;
  // Known to the builder alone. The price of a false positive is in nanoseconds
  // (false_positive_price.h).
  DesignOrigin origin = DesignOrigin::kSearched;
  uint64_t price = kUsualPrice;
};

// An opened filter. Immutable, and so safe for any number of threads at once.
class RangeFilter {
 public:
  virtual ~RangeFilter() = default;

  // False if the key is certainly absent.
  virtual bool KeyMayMatch(const Slice& key) const = 0;

  // KeyMayMatch for `num_keys` keys at once: stores an answer for each.
  virtual void KeysMayMatch(size_t num_keys, Slice** keys,
                            bool* may_match) const {
    for (size_t i = 0; i < num_keys; i++) may_match[i] = KeyMayMatch(*keys[i]);
  }

  // False if certainly no key lies in [lo, hi] or, unless `hi_inclusive`, in
  // [lo, hi). False for an inverted range, hi < lo.
  virtual bool RangeMayMatch(const Slice& lo, const Slice& hi,
                             bool hi_inclusive) const = 0;

  // How far a seek to `target` may skip (moveToNext; SuRF paper, section 3.5).
  // Returns false if certainly no key is at or above `target`. Otherwise stores
  // a string in `*bound` that is not below `target`, and no key lies in
  // [target, *bound). A filter that knows nothing stores `target`. Asked with a
  // bound that it has stored, every filter must store the same bound again: a
  // seek that goes on from there must find a key in the end.
  virtual bool LowerBound(const Slice& target, std::string* bound) const {
    bound->assign(target.data(), target.size());
    return true;
  }

  // Whether RangeMayMatch can rule out more: a range from a bound that
  // LowerBound stores to some string above it.
  virtual bool LowerBoundIsLoose() const { return false; }
  // Whether LowerBound may take as long as a hundred other queries, and as long
  // as a read from the block cache. The caller should then put it off until its
  // answer matters.
  virtual bool LowerBoundIsSlow() const { return false; }

  // Counts the keys of a range, given as in RangeMayMatch. Returns false, and
  // leaves `*count` alone, if filters of this kind cannot count.
  virtual bool CountRange(const Slice& /*lo*/, const Slice& /*hi*/,
                          bool /*hi_inclusive*/, RangeCount* /*count*/) const {
    return false;
  }

  virtual FilterReport Report() const { return FilterReport(); }
};

// Builds a filter: takes the keys of one file in ascending order, then writes
// the filter's payload, which the open function of its kind (filter_kinds.h)
// reads. Not thread safe.
class RangeFilterBuilder {
 public:
  virtual ~RangeFilterBuilder() = default;

  // Sets the salt of the hashes; without a call, there is none. Called before
  // the first key.
  void SetSalt(const FilterSalt& salt) { salt_ = salt; }

  // Adds a key. Returns false, ignoring the key, if it is below the last one in
  // bytewise order. A repetition of the last key is ignored, too, but returns
  // true.
  bool AddKey(const Slice& key) {
    Comparison to_last;
    if (num_keys_ > 0) {
      const Slice last = last_key_.slice();
      to_last = Compare(key, last);
      if (to_last.order <= 0) return to_last.order == 0;
      Add(last, to_previous_.shared_bits / 8, to_last.shared_bits / 8);
    } else {
      TakeFirst(key);
    }
    num_keys_++;
    to_previous_ = to_last;
    last_key_.Assign(key);
    return true;
  }

  // Forgets the only key that has been added. The builder has not processed it
  // yet.
  void TakeBackKey() { num_keys_ = 0; }

  // Called before Finish if the filter will only be asked whether any key
  // starts with a string, even in lookups of whole keys.
  void ExpectPrefixesOnly() { prefixes_only_ = true; }
  // Called before Finish if this builder builds a part of a partitioned filter,
  // or a segment of a whole one.
  void ExpectParts() { is_part_ = true; }
  // Whether this builder should be finished as a segment, since its keys take
  // much memory.
  virtual bool IsFull() const { return false; }

  uint64_t num_keys() const { return num_keys_; }
  // The smallest and the largest key.
  Slice first_key() const { return first_key_.slice(); }
  Slice last_key() const { return last_key_.slice(); }

  // Stores the size of the payload in bytes. Called once, after the last key.
  // An error means that a filter cannot hold these keys.
  Status Finish(uint64_t* payload_size) {
    if (num_keys_ > 0) AddLast(last_key_.slice(), to_previous_.shared_bits / 8);
    return Prepare(payload_size);
  }

  // Writes the payload to `payload`: as many zero bytes as Finish said,
  // followed by kReadPadding zero bytes. Called once, after Finish returned OK.
  virtual void Write(char* payload) = 0;

  // After Finish of a part, whether WritePart should wait until more parts are
  // finished, since they are designed together. The part after it is then built
  // by NextPart().
  virtual bool WaitsForParts() const { return false; }
  virtual std::unique_ptr<RangeFilterBuilder> NextPart() { return nullptr; }
  // Writes the payload of a part, of which Finish has said that it may take
  // `max_size` bytes, and returns its size.
  virtual uint64_t WritePart(char* payload, uint64_t max_size) {
    Write(payload);
    return max_size;
  }

  // After Finish, the salt that the payload must be opened with: none if
  // nothing in the payload is hashed.
  FilterSalt Salt() const { return HasHashes() ? salt_ : FilterSalt(); }

  // Bytes allocated at present, and the maximum that Finish will allocate.
  size_t MemoryUsage() const {
    return first_key_.capacity() + last_key_.capacity() + Memory();
  }

  // After Finish, the filter's report. The opened filter may report more.
  virtual FilterReport Report() const { return FilterReport(); }

  // Whether the range of the file's keys is to be kept among its properties.
  virtual bool KeepsRange() const { return false; }

  // Whether the lengths of the keys may answer point queries.
  virtual bool TellsLengths() const { return true; }

  // Approximate bits per key, so that RocksDB can plan sizes.
  virtual double ApproximateBitsPerKey() const = 0;
  // The maximum size of the payload if no more keys come. Called before Finish.
  virtual uint64_t MaxPayloadSize() const = 0;

 protected:
  // Processes the next key, which shares its first `shared` bytes with the key
  // before it (0 if there is none), and its first `next_shared` bytes with the
  // key after it.
  virtual void Add(const Slice& key, size_t shared, size_t next_shared) = 0;
  // Processes the last key.
  virtual void AddLast(const Slice& key, size_t shared) = 0;
  virtual Status Prepare(uint64_t* payload_size) = 0;
  virtual size_t Memory() const = 0;
  // After Finish, whether anything in the payload is hashed.
  virtual bool HasHashes() const { return false; }

  // In Add and AddLast, the bits that the key shares with the key before it.
  // kUnknownBits if there is none, or if one of the two begins with the other.
  size_t shared_bits() const {
    return to_previous_.differ ? to_previous_.shared_bits : kUnknownBits;
  }

  const FilterSalt& salt() const { return salt_; }
  bool prefixes_only() const { return prefixes_only_; }
  bool is_part() const { return is_part_; }

 private:
  [[gnu::noinline]] void TakeFirst(const Slice& key) { first_key_.Assign(key); }

  // How two keys compare.
  struct Comparison {
    // Negative, zero or positive as the first key is below, equal to or above
    // the second one in bytewise order.
    int order = 1;
    // Whether the keys have different bytes at some place. If not, one begins
    // with the other.
    bool differ = false;
    // The number of bits with which both keys begin. If no bytes differ, 8 for
    // each byte of the shorter key.
    size_t shared_bits = 0;
  };
  static Comparison Compare(const Slice& a, const Slice& b) {
    const size_t shorter = std::min(a.size(), b.size());
    for (size_t i = 0; i + 8 <= shorter; i += 8) {
      const uint64_t word_a = LoadBigEndian(a.data() + i, 8);
      const uint64_t word_b = LoadBigEndian(b.data() + i, 8);
      if (word_a != word_b) {
        return {
            word_a < word_b ? -1 : 1, true,
            8 * i + static_cast<unsigned>(__builtin_clzll(word_a ^ word_b))};
      }
    }
    return CompareBytes(a, b, shorter / 8 * 8);
  }
  // Compare, if it is known that the keys share `begin` bytes.
  [[gnu::noinline]] static Comparison CompareBytes(const Slice& a,
                                                   const Slice& b,
                                                   size_t begin) {
    const size_t shorter = std::min(a.size(), b.size());
    const size_t i = SharedBytes(a.data(), b.data(), shorter, begin);
    if (i == shorter) {
      const int order = a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
      return {order, false, 8 * i};
    }
    const auto byte_a = static_cast<uint8_t>(a[i]);
    const auto byte_b = static_cast<uint8_t>(b[i]);
    return {byte_a < byte_b ? -1 : 1, true,
            8 * i + 8 - BitsFor(static_cast<uint8_t>(byte_a ^ byte_b))};
  }

  // A copy of a key. A std::string would do, but the call that each assignment
  // takes costs as much as all else that is done with a short key.
  class KeyCopy {
   public:
    Slice slice() const { return Slice(bytes_.get(), size_); }
    size_t capacity() const { return capacity_; }
    void Assign(const Slice& key) {
      if (key.size() > capacity_) Grow(key.size());
      size_ = key.size();
      if (size_ >= 8 && size_ <= 16) {
        CopyTwoWords(key.data(), size_, bytes_.get());
      } else if (size_ > 0) {
        memcpy(bytes_.get(), key.data(), size_);
      }
    }

   private:
    [[gnu::noinline]] void Grow(size_t size) {
      capacity_ = std::max(2 * capacity_, size);
      bytes_.reset(new char[capacity_]);
    }

    size_t size_ = 0;
    size_t capacity_ = 16;
    std::unique_ptr<char[]> bytes_{new char[capacity_]};
  };

  FilterSalt salt_;
  KeyCopy first_key_;
  // The last key is not processed before its successor is known, which decides
  // how long a prefix tells the two apart.
  KeyCopy last_key_;
  // The last key, compared with the key before it.
  Comparison to_previous_;
  uint64_t num_keys_ = 0;
  bool prefixes_only_ = false;
  bool is_part_ = false;
};

}  // namespace ROCKSDB_NAMESPACE::protean
