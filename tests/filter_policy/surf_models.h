// SPDX-License-Identifier: Apache-2.0

//  Models of SuRF: the answers that a plain list of its leaves gives, prefixes
//  of keys for a trie of bytes, and digits of a code for a trie of digits.

#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "filter_policy/bits/bit_util.h"
#include "filter_policy/fst/key_code.h"
#include "filter_policy/surf/surf.h"

namespace ROCKSDB_NAMESPACE::protean {

constexpr FilterSalt kModelSalt = {/*file=*/17, /*process=*/4};

// A key has these real bits, and its first `depth` bytes are in the trie.
inline uint64_t ModelValue(const SurfSuffix& suffix, const std::string& key,
                           size_t depth, uint64_t real) {
  return suffix.WithPrefix(
      suffix.WithoutPrefix(key, real, kModelSalt),
      PrefixBitsOf(key, depth, kModelSalt, suffix.prefix_bits,
                   suffix.prefix_step));
}

inline size_t SharedBytes(const std::string& a, const std::string& b) {
  return Slice(a).difference_offset(b);
}

inline size_t SharedWithNeighbors(const std::vector<std::string>& keys,
                                  size_t i) {
  return std::max(i > 0 ? SharedBytes(keys[i - 1], keys[i]) : 0,
                  i + 1 < keys.size() ? SharedBytes(keys[i], keys[i + 1]) : 0);
}

class SurfModel {
 public:
  using Keys = std::vector<std::string>;

  virtual ~SurfModel() = default;

  virtual bool Key(const std::string& key) const = 0;
  virtual bool Range(const std::string& lo, std::string hi,
                     bool hi_inclusive) const = 0;
  // Returns true if Range and Seek know all that the filter does. If not, they
  // let more pass.
  virtual bool IsExact() const { return true; }
  // The first leaf that may be at or above `key`, and whether it may be below.
  virtual size_t Seek(const std::string& key, bool* ambiguous) const = 0;

 protected:
  // An exclusive bound that ends in 0x00 includes the string before it.
  static void MakeInclusive(std::string* hi, bool* inclusive) {
    if (*inclusive || hi->empty() || hi->back() != '\0') return;
    hi->pop_back();
    *inclusive = true;
  }
};

// ---- Over bytes ----

// Every leaf with its prefix, as the definition gives it, and its suffix bits.
class PlainSurfModel : public SurfModel {
 public:
  struct Leaf {
    std::string prefix;
    bool whole_key;
    uint64_t value;
  };

  PlainSurfModel(const Keys& keys, const SurfSuffix& suffix) : suffix_(suffix) {
    for (size_t i = 0; i < keys.size(); i++) {
      const size_t shared = SharedWithNeighbors(keys, i);
      const bool whole_key = shared == keys[i].size();
      const size_t depth = whole_key ? shared : shared + 1;
      leaves_.push_back(
          {keys[i].substr(0, depth), whole_key, ValueOf(keys[i], depth)});
    }
  }

  bool Key(const std::string& key) const override {
    for (const Leaf& leaf : leaves_) {
      if (leaf.whole_key ? leaf.prefix == key
                         : Slice(key).starts_with(leaf.prefix) &&
                               leaf.value == ValueOf(key, leaf.prefix.size())) {
        return true;
      }
    }
    return false;
  }

  // Whether all keys that the leaf may stand for are below `key`.
  bool Below(const Leaf& leaf, const std::string& key) const {
    return RealBelow(leaf, key) ||
           (suffix_.prefix_bits > 0 && !leaf.whole_key &&
            Slice(key).starts_with(leaf.prefix) &&
            !MayBeIn(leaf, key, Highest(leaf.prefix)));
  }

  // Whether all these keys are above `key`, or at least not below it.
  bool Above(const Leaf& leaf, const std::string& key, bool or_equal) const {
    return RealAbove(leaf, key, or_equal) ||
           (!or_equal && !leaf.whole_key && key == leaf.prefix &&
            !MayBeIn(leaf, key, key));
  }

  // Below and Above by the stored prefix and the real bits alone.
  bool RealBelow(const Leaf& leaf, const std::string& key) const {
    if (leaf.whole_key || !Slice(key).starts_with(leaf.prefix)) {
      return leaf.prefix < key;
    }
    return Real(leaf) < suffix_.Real(key, leaf.prefix.size());
  }
  bool RealAbove(const Leaf& leaf, const std::string& key,
                 bool or_equal) const {
    if (leaf.whole_key) {
      return or_equal ? leaf.prefix >= key : leaf.prefix > key;
    }
    if (!Slice(key).starts_with(leaf.prefix)) return leaf.prefix > key;
    const uint64_t real = suffix_.Real(key, leaf.prefix.size());
    const std::string rest = key.substr(leaf.prefix.size());
    const bool all_bits_known =
        rest.empty() ||
        (8 * rest.size() <= suffix_.real_bits && rest.back() != '\0');
    if (or_equal && all_bits_known && Real(leaf) == real) return true;
    return Real(leaf) > real;
  }

  bool Range(const std::string& lo, std::string hi,
             bool hi_inclusive) const override {
    if (lo > hi || (lo == hi && !hi_inclusive)) return false;
    MakeInclusive(&hi, &hi_inclusive);
    const auto first = First([&](const Leaf& l) { return !RealBelow(l, lo); });
    const auto end =
        First([&](const Leaf& l) { return RealAbove(l, hi, !hi_inclusive); });
    return first < end && std::any_of(first, end, [&](const Leaf& leaf) {
             return leaf.whole_key || MayLieBetween(leaf, lo, hi, hi_inclusive);
           });
  }

  // Whether the prefix bits let the key of a leaf be in a range. If the bounds
  // part in two neighboring bytes, all strings start with either of them, and
  // the two groups are looked at one by one.
  bool MayLieBetween(const Leaf& leaf, const std::string& lo,
                     const std::string& hi, bool hi_inclusive) const {
    if (suffix_.prefix_bits == 0) return true;
    const std::string end = hi_inclusive ? hi : LastBefore(hi);
    const size_t shared = SharedBytes(lo, hi);
    const auto may_be_in = [&](const std::string& group) {
      const std::string first = std::max(lo, group);
      const std::string last = std::min(end, Highest(group));
      return first <= last && MayBeIn(leaf, first, last);
    };
    if (shared >= leaf.prefix.size() && shared < lo.size() &&
        static_cast<uint8_t>(lo[shared]) + 1 ==
            static_cast<uint8_t>(hi[shared])) {
      return may_be_in(lo.substr(0, shared + 1)) ||
             may_be_in(hi.substr(0, shared + 1));
    }
    return may_be_in(leaf.prefix);
  }

  // Whether the prefix bits let the key of a leaf be one of the strings from
  // `first` to `last`, which start with its prefix: then it starts with what
  // the two share, and if there is only one string, it is that one.
  bool MayBeIn(const Leaf& leaf, const std::string& first,
               const std::string& last) const {
    const size_t depth = leaf.prefix.size();
    const size_t known = SharedBytes(first, last) - depth;
    const uint64_t different =
        (leaf.value ^ ValueOf(first, depth)) >> suffix_.hash_bits;
    for (uint32_t j = 1; j <= suffix_.prefix_bits; j++) {
      if (2 * known < size_t{j} * suffix_.prefix_step && first != last) break;
      if ((different >> (j - 1) & 1) != 0) return false;
    }
    return true;
  }

  // The last string that starts with `prefix`, or one that is long enough.
  static std::string Highest(const std::string& prefix) {
    return prefix + std::string(400, '\xff');
  }
  // The last of the strings below `key`, which does not end in 0x00.
  static std::string LastBefore(std::string key) {
    if (key.empty()) return key;
    key.back()--;
    return Highest(key);
  }

  size_t Seek(const std::string& key, bool* ambiguous) const override {
    const auto first = First([&](const Leaf& l) { return !Below(l, key); });
    *ambiguous = first != leaves_.end() && !Above(*first, key, true);
    return static_cast<size_t>(first - leaves_.begin());
  }

  RangeCount Count(const std::string& lo, std::string hi,
                   bool hi_inclusive) const {
    RangeCount result;
    if (lo > hi || (lo == hi && !hi_inclusive)) return result;
    MakeInclusive(&hi, &hi_inclusive);
    const auto first = First([&](const Leaf& l) { return !Below(l, lo); });
    const auto end =
        First([&](const Leaf& l) { return Above(l, hi, !hi_inclusive); });
    if (first >= end) return result;
    result.count = static_cast<uint64_t>(end - first);
    const Leaf& last = *(end - 1);
    result.low_ambiguous = !Above(*first, lo, true);
    result.high_ambiguous =
        !Below(last, hi) && !(last.whole_key && last.prefix == hi);
    if (result.count == 1 && result.low_ambiguous && result.high_ambiguous &&
        !Range(lo, hi, hi_inclusive)) {
      return RangeCount();
    }
    return result;
  }

  uint64_t Real(const Leaf& leaf) const {
    return suffix_.RealOfValue(leaf.value);
  }
  const std::vector<Leaf>& leaves() const { return leaves_; }

 private:
  // The first leaf of which something is true, as it is of all after it.
  template <typename Is>
  std::vector<Leaf>::const_iterator First(const Is& is) const {
    return std::partition_point(leaves_.begin(), leaves_.end(),
                                [&](const Leaf& leaf) { return !is(leaf); });
  }
  uint64_t ValueOf(const std::string& key, size_t depth) const {
    return ModelValue(suffix_, key, depth, suffix_.Real(key, depth));
  }

  const SurfSuffix suffix_;
  std::vector<Leaf> leaves_;
};

// ---- Over digits ----

inline std::string DigitsOf(const CodedKey& key) {
  std::string digits;
  for (size_t i = 0; i < key.size(); i++) {
    digits.push_back(static_cast<char>('0' + key[i]));
  }
  return digits;
}

inline std::string DigitsOf(const KeyCode& code, const Slice& key) {
  CodedKey coded;
  code.Encode(key, &coded);
  return DigitsOf(coded);
}

// The definition, for digits: one of the suffix bits belongs to the leaf.
class CodedSurfModel : public SurfModel {
 public:
  CodedSurfModel(const KeyCode& code, const Keys& keys,
                 const SurfSuffix& suffix)
      : code_(code), suffix_(suffix) {
    Keys digits;
    for (const std::string& key : keys) digits.push_back(DigitsOf(code, key));
    for (size_t i = 0; i < keys.size(); i++) {
      const size_t shared = SharedWithNeighbors(digits, i);
      leaves_.push_back(digits[i].substr(0, shared + 1));
      if (suffix_.real_bits > 0 && GoesOn(keys[i], shared + 1)) {
        leaves_.back() += digits[i][shared + 1];
      }
      before_last_.push_back(SharedWithNeighbors(keys, i));
      values_.push_back(ValueAt(i, keys[i]));
    }
  }

  bool Key(const std::string& key) const override {
    const std::string digits = DigitsOf(code_, key);
    for (size_t i = 0; i < leaves_.size(); i++) {
      if (Slice(digits).starts_with(leaves_[i])) {
        return ValueAt(i, key) == values_[i];
      }
    }
    return false;
  }

  size_t Seek(const std::string& key, bool* ambiguous) const override {
    const Bound bound(code_, key);
    const size_t i = FirstNotBelow(bound);
    *ambiguous = i < leaves_.size() && Order(leaves_[i], bound) == 0 &&
                 !bound.coded.IsReachedBy(leaves_[i].size());
    return i;
  }

  // Prefix bits may rule out more.
  bool IsExact() const override { return suffix_.prefix_bits == 0; }

  bool Range(const std::string& lo, std::string hi,
             bool hi_inclusive) const override {
    if (lo > hi || (lo == hi && !hi_inclusive)) return false;
    MakeInclusive(&hi, &hi_inclusive);
    const size_t i = FirstNotBelow(Bound(code_, lo));
    return i < leaves_.size() &&
           MayLieBelow(leaves_[i], Bound(code_, hi), hi_inclusive);
  }

  // Whether a scan of all that starts with a prefix may find a key. That is not
  // sure if the only one is at the end, which the filter may know better.
  bool Scan(const std::string& prefix, const std::string& end,
            bool* is_sure) const {
    const Bound from(code_, prefix);
    const Bound to(code_, end);
    *is_sure = true;
    for (size_t i = FirstNotBelow(from); i < leaves_.size(); i++) {
      if (!MayLieBelow(leaves_[i], to, /*or_equal=*/false)) break;
      const bool is_on_path = Order(leaves_[i], from) == 0;
      if (is_on_path && !PrefixBitsAgree(i, prefix)) continue;
      *is_sure = is_on_path || Order(leaves_[i], to) != 0;
      return true;
    }
    return false;
  }

 private:
  struct Bound {
    Bound(const KeyCode& code, const std::string& key) {
      code.Encode(key, &coded);
      digits = DigitsOf(coded);
    }
    CodedKey coded;
    std::string digits;
  };

  // Compares the keys that the leaf of a path may stand for with a bound; 0 if
  // some may be on either side, or if some may be the bound.
  static int Order(const std::string& path, const Bound& bound) {
    if (Slice(bound.digits).starts_with(path)) {
      return bound.coded.IsPassedBy(path.size()) ? 1 : 0;
    }
    return path < bound.digits ? -1 : 1;
  }
  size_t FirstNotBelow(const Bound& bound) const {
    const auto first = std::partition_point(
        leaves_.begin(), leaves_.end(),
        [&](const std::string& path) { return Order(path, bound) < 0; });
    return static_cast<size_t>(first - leaves_.begin());
  }
  static bool MayLieBelow(const std::string& path, const Bound& bound,
                          bool or_equal) {
    const int order = Order(path, bound);
    return order < 0 ||
           (order == 0 && (or_equal || !bound.coded.IsReachedBy(path.size())));
  }

  // Whether the first digits of a key end within a byte, or its end.
  bool GoesOn(const std::string& key, size_t digits) const {
    size_t coded = 0;
    unsigned context = 0;
    for (size_t i = 0; coded < digits; i++) {
      const unsigned column = i < key.size() ? code_.Column(key[i]) : 0;
      coded += KeyCode::Length(code_.Entry(context, column));
      context = column;
    }
    return coded > digits;
  }

  // How many bytes of a string that begins with the path are in the trie, the
  // last one perhaps in part.
  size_t DepthIn(size_t leaf, const std::string& string) const {
    return std::min(before_last_[leaf] + 1, string.size());
  }
  // The suffix of a key without its digit.
  uint64_t ValueAt(size_t leaf, const std::string& key) const {
    return ModelValue(suffix_, key, DepthIn(leaf, key), 0);
  }
  // Whether the prefix bits that speak of the string alone are those of it.
  bool PrefixBitsAgree(size_t leaf, const std::string& string) const {
    if (string.size() <= before_last_[leaf]) return true;
    const size_t depth = DepthIn(leaf, string);
    const uint32_t count = PrefixBitsWithin(
        string.size() - depth, suffix_.prefix_bits, suffix_.prefix_step);
    const uint64_t bits =
        PrefixBitsOf(string, depth, kModelSalt, count, suffix_.prefix_step);
    return ((values_[leaf] >> suffix_.hash_bits ^ bits) & LowBits(count)) == 0;
  }

  const KeyCode& code_;
  const SurfSuffix& suffix_;
  Keys leaves_;
  // The number of bytes before the one in which the path ends.
  std::vector<size_t> before_last_;
  std::vector<uint64_t> values_;
};

}  // namespace ROCKSDB_NAMESPACE::protean
