// SPDX-License-Identifier: Apache-2.0

//  What the kinds of filters implement: a RangeFilter, and its builder. A
//  filter knows user keys, without timestamps, in bytewise order: all keys of
//  an SST file, or those of a part of the file's filter (filter_block.h). Its
//  errors are one-sided: there are false positives, but no false negatives.
//
//  A builder is called in this order:
//
//    AddKey+ Finish Write*

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "filter_policy/bits/bit_util.h"
#include "filter_policy/bits/checksum.h"
#include "filter_policy/query_demand.h"
#include "rocksdb/slice.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// ---- Copies of keys ----

// A copy of a key.
class KeyCopy : public KeyBytes {
 public:
  KeyCopy() { Grow(16); }
  Slice slice() const { return Slice(bytes_.get(), size_); }
  void Assign(const Slice& key) {
    if (key.size() > capacity_) Grow(std::max(2 * capacity_, key.size()));
    size_ = key.size();
    if (size_ >= 8 && size_ <= 16) {
      CopyTwoWords(key.data(), size_, bytes_.get());
    } else if (size_ > 0) {
      memcpy(bytes_.get(), key.data(), size_);
    }
  }
};

// Copies of many keys, one after the other.
class KeyList {
 public:
  bool empty() const { return ends_.empty(); }
  size_t size() const { return ends_.size(); }
  size_t bytes() const { return bytes_.size(); }
  Slice operator[](size_t i) const {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    return Slice(bytes_.data() + begin, ends_[i] - begin);
  }
  Slice back() const { return (*this)[size() - 1]; }
  void Add(const Slice& key) {
    bytes_.append(key.data(), key.size());
    ends_.push_back(bytes_.size());
  }
  void Clear() {
    bytes_.clear();
    ends_.clear();
  }
  size_t MemoryUsage() const {
    return bytes_.capacity() + ends_.capacity() * sizeof(size_t);
  }

 private:
  std::string bytes_;
  std::vector<size_t> ends_;
};

// ---- Comparison of keys ----

// How two keys compare: their order, and what they share.
struct KeyComparison {
  int order = 1;  // as Slice::compare has it
  // True if the keys have different bytes at some place; false if one of them
  // begins with the other.
  bool differ = false;
  // The number of bits with which both keys begin. If no bytes differ, 8 for
  // each byte of the shorter key.
  size_t shared_bits = 0;
};

// Compares keys that are known to share their first `begin` bytes.
[[gnu::noinline]] inline KeyComparison CompareBytes(const Slice& a,
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

inline KeyComparison CompareKeys(const Slice& a, const Slice& b) {
  const size_t shorter = std::min(a.size(), b.size());
  for (size_t i = 0; i + 8 <= shorter; i += 8) {
    const uint64_t word_a = LoadBigEndian(a.data() + i, 8);
    const uint64_t word_b = LoadBigEndian(b.data() + i, 8);
    if (word_a != word_b) {
      return {word_a < word_b ? -1 : 1, true,
              8 * i + static_cast<unsigned>(__builtin_clzll(word_a ^ word_b))};
    }
  }
  return CompareBytes(a, b, shorter / 8 * 8);
}

// ---- Range filter ----

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
inline bool FirstAfterPrefix(const Slice& prefix, std::string* end) {
  end->assign(prefix.data(), prefix.size());
  while (!end->empty() && end->back() == '\xff') end->pop_back();
  if (end->empty()) return false;
  end->back() = static_cast<char>(static_cast<uint8_t>(end->back()) + 1);
  return true;
}

// How a builder has come to a design that depends on the keys.
enum class DesignOrigin : uint8_t {
  kSearched,
  kKeptInFile,  // that of the file's keys before
  kKept,        // that of another file
};

// A filter's description of itself, for logs and tools.
struct FilterReport {
  std::string design;
  // What the design is based on; empty if the options prescribe the design.
  std::string basis;
  uint32_t samples = 0;  // that the design is based on
  uint32_t model_micros = 0;
  // Predicted false positive rate of queries like the samples that lie among
  // the keys; negative if unknown.
  double predicted_fpr = -1;
  // Known to the builder alone.
  DesignOrigin origin = DesignOrigin::kSearched;
  FilterDemand demand;
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

  // Returns true if RangeMayMatch can rule out more: a range from a bound that
  // LowerBound stores to some string above it.
  virtual bool LowerBoundIsLoose() const { return false; }
  // Returns true if LowerBound may take as long as a hundred other queries, and
  // as long as a read from the block cache. The caller should then put it off
  // until its answer matters.
  virtual bool LowerBoundIsSlow() const { return false; }

  // Counts the keys of a range, given as in RangeMayMatch. Returns false, and
  // leaves `*count` alone, if filters of this kind cannot count.
  virtual bool CountRange(const Slice& /*lo*/, const Slice& /*hi*/,
                          bool /*hi_inclusive*/, RangeCount* /*count*/) const {
    return false;
  }

  virtual FilterReport Report() const { return FilterReport(); }
};

// What a builder is to build.
struct FilterTask {
  FilterSalt salt;
  // About the size of a part, in bytes; 0 if the filter is to have one part.
  // Parts may have two units.
  uint64_t part_bytes = 0;
};

// What is known once the last key is there.
struct KeysEnd {
  // The filter will only be asked whether any key starts with a string, even in
  // lookups of whole keys.
  bool prefixes_only = false;
  // More keys of the file come, for another builder.
  bool more_follow = false;
};

// A part that a builder has planned.
struct PlannedPart {
  uint64_t num_keys = 0;
  uint64_t payload_size = 0;  // of its first unit
  uint64_t second_size = 0;   // of the payload of its second one, if it has one
  // See FilterPart. The first part of a builder has no beginning.
  std::string begin;
  std::string design;
};

// Builds a filter, or some parts of a filter that follow one another, of
// ascending keys. A large file may take several builders. Not thread safe.
class RangeFilterBuilder {
 public:
  explicit RangeFilterBuilder(const FilterTask& task) : task_(task) {}
  virtual ~RangeFilterBuilder() = default;

  // Adds a key. Returns false, ignoring the key, if it is below the last one in
  // bytewise order. A repetition of the last key is ignored, too, but returns
  // true.
  bool AddKey(const Slice& key) {
    KeyComparison to_last;
    if (num_keys_ == 0) {
      TakeFirst(key);
    } else {
      to_last = CompareKeys(key, last_key());
      if (to_last.order <= 0) return to_last.order == 0;
      Add(last_key(), to_previous_.shared_bits / 8, to_last.shared_bits / 8);
    }
    to_previous_ = to_last;
    last_.Assign(key);
    num_keys_++;
    return true;
  }

  uint64_t num_keys() const { return num_keys_; }
  Slice first_key() const { return first_.slice(); }
  Slice last_key() const { return last_.slice(); }

  // Returns true if the builder wants no more keys, since they take memory.
  virtual bool IsFull() const { return false; }
  // Returns true if it plans as many parts as the task asks for. If not, it
  // plans one, and gets as many keys as fit.
  virtual bool CutsParts() const { return false; }

  // Ends the keys and plans the parts, of which the payloads are then written.
  // An error means that no filter can hold these keys.
  Status Finish(const KeysEnd& end, std::vector<PlannedPart>* parts) {
    if (num_keys_ > 0) AddLast(last_key(), to_previous_.shared_bits / 8);
    return Plan(end, parts);
  }

  // Writes a payload, which the open function of its kind reads, to as many
  // zero bytes as the plan says, followed by kReadPadding zero bytes. Called
  // once for each part, in order, and then for the second unit that the plan
  // gives the part.
  virtual void Write(size_t part, char* payload) = 0;
  virtual void WriteSecond(size_t /*part*/, char* /*payload*/) {}

  // Bytes allocated at present, and the maximum that Finish will allocate.
  size_t MemoryUsage() const {
    return first_.capacity() + last_.capacity() + Memory();
  }

  // After Finish, the filter's report. The opened filter may report more.
  virtual FilterReport Report() const { return FilterReport(); }

  // Approximate bits per key, so that RocksDB can plan sizes.
  virtual double ApproximateBitsPerKey() const = 0;
  // The maximum sum of payloads, and of what else parts take, if no more keys
  // come. Called before Finish.
  virtual uint64_t MaxSize() const = 0;

 protected:
  // Processes the next key, which shares its first `shared` bytes with the key
  // before it (0 if there is none), and its first `next_shared` bytes with the
  // key after it.
  virtual void Add(const Slice& key, size_t shared, size_t next_shared) = 0;
  // Processes the last key.
  virtual void AddLast(const Slice& key, size_t shared) { Add(key, shared, 0); }
  virtual Status Plan(const KeysEnd& end, std::vector<PlannedPart>* parts) = 0;
  virtual size_t Memory() const = 0;

  // In Add and AddLast, the bits that the key shares with the key before it.
  // kUnknownBits if there is none, or if one of the two begins with the other.
  size_t shared_bits() const {
    return to_previous_.differ ? to_previous_.shared_bits : kUnknownBits;
  }

  const FilterTask& task() const { return task_; }
  const FilterSalt& salt() const { return task_.salt; }

 private:
  [[gnu::noinline]] void TakeFirst(const Slice& key) { first_.Assign(key); }

  const FilterTask task_;
  KeyCopy first_;
  KeyCopy last_;  // not processed before its successor is known
  uint64_t num_keys_ = 0;
  KeyComparison to_previous_;  // of the last key, to the one before it
};

}  // namespace ROCKSDB_NAMESPACE::protean
