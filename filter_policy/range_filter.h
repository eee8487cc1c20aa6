//  What every filter of Protean can do, and how it is built. A filter belongs
//  to one SST file and knows its user keys, without timestamps, in bytewise
//  order. It errs on one side only: it may say that a key is there when it is
//  not, never the reverse.

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "filter_policy/bits/bit_util.h"
#include "filter_policy/filter_salt.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"
#include "util/math.h"

namespace ROCKSDB_NAMESPACE::protean {

// What a filter knows of how many keys lie in a range: at most `count`. The
// first one counted may lie below the range if `low_ambiguous`, the last one
// not below its end if `high_ambiguous` (they can be the same key); all others
// are in it.
struct RangeCount {
  uint64_t count = 0;
  bool low_ambiguous = false;
  bool high_ambiguous = false;
  // Of an ambiguous key: how many bytes it shares with that bound at least. No
  // other key begins with them.
  size_t low_shared = 0;
  size_t high_shared = 0;
};

// Stores the first string above all that start with `prefix`. False if there is
// none.
inline bool FirstBehindPrefix(const Slice& prefix, std::string* end) {
  end->assign(prefix.data(), prefix.size());
  while (!end->empty() && end->back() == '\xff') end->pop_back();
  if (end->empty()) return false;
  end->back() = static_cast<char>(static_cast<uint8_t>(end->back()) + 1);
  return true;
}

// What a filter says of itself, for people.
struct FilterReport {
  std::string design;    // in words
  std::string basis;     // on what the design rests, in words; empty if it was
                         // given
  uint32_t samples = 0;  // of queries, on which it rests
  uint32_t model_micros = 0;  // spent on the design
  // Of queries like the samples, as far as they lie among the keys; negative if
  // unknown.
  double predicted_fpr = -1;
};

// The query side. Immutable and safe for any number of threads at once.
class RangeFilter {
 public:
  virtual ~RangeFilter() = default;

  // False if the key is certainly absent.
  virtual bool KeyMayMatch(const Slice& key) const = 0;

  // The same for `num_keys` keys at once: stores as many answers.
  virtual void KeysMayMatch(size_t num_keys, Slice** keys,
                            bool* may_match) const {
    for (size_t i = 0; i < num_keys; i++) may_match[i] = KeyMayMatch(*keys[i]);
  }

  // False if certainly no key lies in [lo, hi], or in [lo, hi) unless
  // `hi_inclusive`. A range that holds nothing, because hi < lo, gives false.
  virtual bool RangeMayMatch(const Slice& lo, const Slice& hi,
                             bool hi_inclusive) const = 0;

  // How far a search that begins at `target` may skip (moveToNext; SuRF paper,
  // section 3.5): returns false if certainly no key is at or above `target`.
  // Otherwise stores a string in `*bound` that is not below `target`, and no
  // key lies in [target, *bound). A filter that knows nothing stores `target`,
  // and so must every filter that is asked with the bound that it has stored:
  // whoever goes on from there must find a key in the end.
  virtual bool LowerBound(const Slice& target, std::string* bound) const {
    bound->assign(target.data(), target.size());
    return true;
  }

  // Whether RangeMayMatch can rule out more, from a bound that LowerBound
  // stores to some string above it.
  virtual bool LowerBoundIsLoose() const { return false; }
  // Whether LowerBound may take as long as a hundred other questions, and as a
  // read from the block cache. Then it had better not be asked before the
  // answer matters.
  virtual bool LowerBoundIsSlow() const { return false; }

  // Counts the keys of a range like RangeMayMatch's. Returns false, and leaves
  // `*count` alone, if filters of this kind cannot count.
  virtual bool CountRange(const Slice& /*lo*/, const Slice& /*hi*/,
                          bool /*hi_inclusive*/, RangeCount* /*count*/) const {
    return false;
  }

  virtual FilterReport Report() const { return FilterReport(); }
};

// The build side: takes the keys of one file in ascending order, then writes
// the filter's payload, which the open function of its kind (filter_kinds.h)
// takes. Not thread safe.
class RangeFilterBuilder {
 public:
  virtual ~RangeFilterBuilder() = default;

  // What to hash with; none if it is not called. Called before the first key.
  void SetSalt(const FilterSalt& salt) { salt_ = salt; }

  // Adds a key. Returns false, ignoring it, if it is not above all keys added
  // before in bytewise order; a repeated key is ignored too, but fine.
  bool AddKey(const Slice& key) {
    size_t shared = 0;
    const Slice last = last_key_.slice();
    if (num_keys_ > 0) {
      const int order = Compare(key, last, &shared);
      if (order <= 0) return order == 0;
      Add(last, shared_, shared);
    } else {
      first_key_.Assign(key);
    }
    num_keys_++;
    shared_ = shared;
    last_key_.Assign(key);
    return true;
  }

  // Forgets the only key that has been added. Nothing has been made of it yet.
  // REQUIRES: num_keys() == 1
  void TakeBackKey() { num_keys_ = 0; }

  // Called before Finish if the filter will be asked whether any key starts
  // with a string, and only that, even by whoever looks for a whole key.
  void ExpectPrefixesOnly() { prefixes_only_ = true; }

  uint64_t num_keys() const { return num_keys_; }
  // The smallest and the largest key.
  Slice first_key() const { return first_key_.slice(); }
  Slice last_key() const { return last_key_.slice(); }

  // Stores the size of the payload in bytes. Called once, after the last key.
  // An error means that these keys cannot be held.
  Status Finish(uint64_t* payload_size) {
    if (num_keys_ > 0) AddLast(last_key_.slice(), shared_);
    return Prepare(payload_size);
  }

  // Writes the payload into that many zero bytes, which are followed by
  // kReadPadding zero bytes. Called once, after Finish returned OK.
  virtual void Write(char* payload) = 0;

  // After Finish, what whoever opens the payload must be given: the salt if
  // anything in it is hashed, else none.
  FilterSalt Salt() const { return HasHashes() ? salt_ : FilterSalt(); }

  // Bytes allocated at present, and what Finish will allocate at most.
  size_t MemoryUsage() const {
    return first_key_.capacity() + last_key_.capacity() + Memory();
  }

  // After Finish, what the filter will say of itself, at least.
  virtual FilterReport Report() const { return FilterReport(); }

  // The bits that a key costs, roughly, so that RocksDB can plan sizes.
  virtual double ApproximateBitsPerKey() const = 0;

 protected:
  // Takes the next key, which shares its first `shared` bytes with the one
  // before it (0 if there is none), and `next_shared` with the one after it.
  virtual void Add(const Slice& key, size_t shared, size_t next_shared) = 0;
  // Takes the last key.
  virtual void AddLast(const Slice& key, size_t shared) = 0;
  virtual Status Prepare(uint64_t* payload_size) = 0;
  virtual size_t Memory() const = 0;
  // After Finish, whether anything in the payload is hashed.
  virtual bool HasHashes() const { return false; }

  const FilterSalt& salt() const { return salt_; }
  bool prefixes_only() const { return prefixes_only_; }

 private:
  // Below, equal to or above 0 as `a` is below, equal to or above `b` in
  // bytewise order. Stores how many bytes they share at their beginning.
  static int Compare(const Slice& a, const Slice& b, size_t* shared) {
    const size_t shorter = std::min(a.size(), b.size());
    for (size_t i = 0; i + 8 <= shorter; i += 8) {
      const uint64_t word_a = DecodeFixed64(a.data() + i);
      const uint64_t word_b = DecodeFixed64(b.data() + i);
      if (word_a != word_b) {
        *shared =
            i +
            static_cast<unsigned>(CountTrailingZeroBits(word_a ^ word_b)) / 8;
        return EndianSwapValue(word_a) < EndianSwapValue(word_b) ? -1 : 1;
      }
    }
    return CompareBytes(a, b, shorter / 8 * 8, shared);
  }
  [[gnu::noinline]] static int CompareBytes(const Slice& a, const Slice& b,
                                            size_t begin, size_t* shared) {
    const size_t shorter = std::min(a.size(), b.size());
    size_t i = begin;
    while (i < shorter && a[i] == b[i]) i++;
    *shared = i;
    if (i < shorter) {
      return static_cast<uint8_t>(a[i]) < static_cast<uint8_t>(b[i]) ? -1 : 1;
    }
    return a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
  }

  // A copy of a key. A string would do, but its call for every assignment costs
  // as much as all else that is done with a short key.
  class KeyCopy {
   public:
    Slice slice() const { return Slice(bytes_.get(), size_); }
    size_t capacity() const { return capacity_; }
    void Assign(const Slice& key) {
      if (key.size() > capacity_) Grow(key.size());
      size_ = key.size();
      if (size_ >= 8 && size_ <= 16) {
        // Two words, which may overlap.
        const uint64_t head = DecodeFixed64(key.data());
        const uint64_t tail = DecodeFixed64(key.data() + size_ - 8);
        EncodeFixed64(bytes_.get(), head);
        EncodeFixed64(bytes_.get() + size_ - 8, tail);
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
  // The last key waits here for its successor, which decides how long a prefix
  // tells the two apart.
  KeyCopy last_key_;
  size_t shared_ = 0;  // with the key before it
  uint64_t num_keys_ = 0;
  bool prefixes_only_ = false;
};

}  // namespace ROCKSDB_NAMESPACE::protean
