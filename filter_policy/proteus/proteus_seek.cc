//  Proteus::LowerBound: where the next key may be. The trie knows the next
//  prefix of l1 bits. A set knows no next one: where the next key is likely to
//  be near, its prefixes are tried one after the other, up to the end of a
//  *window* of some of them, and the search may skip those that are
//  not there. A window ends where it ends for any target within it, and nothing
//  is tried from the beginning of one: so the filter that is asked with a bound
//  of its own stores it again.
//
//  With two sets, the windows are those of the prefixes of l1 bits, unless
//  there are few of l2 bits too from key to key. Below a prefix of l1 bits that
//  is there, in a set or in the trie, those of l2 bits are tried within such a
//  window, or if only a few are left. In a series, the shortest prefix that is
//  absent takes the search furthest.

#include <algorithm>

#include "filter_policy/proteus/proteus.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A read from the block cache costs as much as some hundred probes, one from
// the disk as much as thousands.
constexpr uint32_t kMostDistanceBits = 7;
// A window holds some keys, so that it seldom ends before the next one.
constexpr uint32_t kMoreWindowBits = 2;
constexpr uint32_t kLeastWindowBits = 5;
// More only where there are prefixes of both lengths to be tried.
constexpr uint64_t kMaxProbes = 4 << kMostDistanceBits;
// Of prefixes of l2 bits below one of l1 bits.
constexpr uint64_t kMostLeft = 64;
// What a prefix takes in a set, roughly.
constexpr uint64_t kUsualBits = 12;

}  // namespace

// The beginning of a key on its way up.
class Proteus::Position {
 public:
  Position(const Slice& key, size_t size) : bytes_(size, '\0') {
    CopyPadded(key, bytes_.data(), size);
  }

  Slice slice() const { return bytes_; }
  uint64_t head() const { return LoadBits64(bytes_, 0); }
  // Whether it is above the key that it began as.
  bool moved() const { return moved_; }

  // Moves to the beginning of the next prefix of that many bits. False if there
  // is none.
  bool NextPrefix(uint32_t bits) {
    moved_ = true;
    ClearBehind(bytes_.data(), bytes_.size(), bits);
    return Increment(bytes_.data(), bits);
  }

  // Whether it is where a prefix of that many bits begins.
  bool Begins(uint32_t bits) const {
    if ((static_cast<unsigned>(bytes_[bits / 8]) & 0xff >> bits % 8) != 0) {
      return false;
    }
    return bytes_.find_first_not_of('\0', bits / 8 + 1) == std::string::npos;
  }

  uint64_t Hash(const PrefixLength& length) const {
    return HashPrefix(bytes_, length);
  }

  // 64 bits from that bit on.
  uint64_t Window(uint32_t bit) const { return BitWindow(bytes_, bit); }

  // Without the zeros at its end.
  Slice Stripped() const {
    size_t length = bytes_.size();
    while (length > 0 && bytes_[length - 1] == '\0') length--;
    return Slice(bytes_.data(), length);
  }

  // Stores a string that no key from here on is below: a key may end where the
  // zeros begin.
  void CopyTo(std::string* bound) const {
    const Slice stripped = Stripped();
    bound->assign(stripped.data(), stripped.size());
  }

  // Moves to the beginning of a prefix above it, given by its bytes.
  void MoveTo(const Slice& prefix) {
    moved_ = true;
    bytes_.assign(prefix.data(), prefix.size());
  }

 private:
  std::string bytes_;
  bool moved_ = false;
};

// The same where no prefix is longer than 64 bits.
class Proteus::WordPosition {
 public:
  explicit WordPosition(uint64_t head) : head_(head) {}

  uint64_t head() const { return head_; }
  bool moved() const { return moved_; }
  bool NextPrefix(uint32_t bits) {
    moved_ = true;
    const unsigned unused = 64 - bits;
    head_ = ((head_ >> unused) + 1) << unused;
    return head_ != 0;
  }
  bool Begins(uint32_t bits) const { return head_ << bits == 0; }  // bits < 64
  uint64_t Hash(const PrefixLength& length) const {
    return HashWord(head_, length);
  }
  uint64_t Window(uint32_t bit) const { return head_ << bit; }  // bit < 64
  void CopyTo(std::string* bound) const {
    char bytes[sizeof(head_)];
    EncodeFixed64(bytes, EndianSwapValue(head_));
    size_t length = sizeof(bytes);
    while (length > 0 && bytes[length - 1] == '\0') length--;
    bound->assign(bytes, length);
  }

 private:
  uint64_t head_;
  bool moved_ = false;
};

// Looks for the first prefix in the trie that is not below that of `key`. False
// if there is none. If it is the key's own, `*next` is empty, else the `size`
// first bytes of the keys that begin with it, as far as they are known.
bool Proteus::NextTriePrefix(const Slice& key, size_t size,
                             std::string* next) const {
  const ProteusDesign& design = header_.design;
  std::string prefix(TriePrefixBytes(design), '\0');
  CopyTriePrefix(key, design, prefix.data());
  std::string found(prefix.size(), '\0');
  if (!trie_.LowerBound(prefix.data(), found.data())) return false;
  next->clear();
  if (found == prefix) return true;
  if (design.trie_bits <= 64) {
    // Back to the bits of the key.
    const uint64_t word = LoadBits64(found, 0) << design.trie_lead;
    EncodeFixed64(found.data(), EndianSwapValue(word));
  }
  next->assign(size, '\0');
  memcpy(next->data(), found.data(), std::min(size, found.size()));
  return true;
}

// How many prefixes of that many bits there are from key to key, roughly:
// 2^that. Without neighbour_bits, it is known of up to 64 bits only.
uint32_t Proteus::DistanceBits(uint32_t bits) const {
  if (header_.neighbour_bits > 0) {
    return bits - std::min(bits, header_.neighbour_bits);
  }
  // As if the keys were spread out evenly.
  if (bits > 64) return bits;
  const uint64_t keys = set_.bytes() * 8 / kUsualBits + 1;
  const uint64_t prefixes = (header_.largest - header_.smallest) >> (64 - bits);
  return BitsFor(prefixes / keys);
}

void Proteus::FindWindows() {
  const uint32_t bits[] = {length_.bits, first_length_.bits};
  for (uint32_t asked : bits) {
    if (asked == 0) continue;
    const uint32_t distance = DistanceBits(asked);
    if (distance > kMostDistanceBits) continue;
    window_prefix_ = asked;
    const uint32_t window_bits =
        std::max(kLeastWindowBits, distance + kMoreWindowBits);
    window_begin_ = asked - std::min(asked, window_bits);
    return;
  }
}

// The length of a prefix of `position` that is not there; 0 if the position is
// to stay: all of them may be there, or a window begins, or the next key is not
// likely to be near.
template <class AnyPosition>
inline uint32_t Proteus::AbsentPrefix(const AnyPosition& position) const {
  const uint32_t bits = length_.bits;
  const uint32_t first_bits = header_.design.first_bits();
  if (!HasTrie()) {
    if (window_prefix_ == 0 ||
        (window_begin_ > 0 && position.Begins(window_begin_))) {
      return 0;
    }
    if (first_bits > 0 &&
        !first_set_.MayContain(position.Hash(first_length_))) {
      return first_bits;
    }
  }
  if (first_bits > 0 && window_prefix_ != bits) {
    // There is a key below this prefix of l1 bits: how many prefixes of l2 bits
    // are left of it?
    if (bits - first_bits >= 64) return 0;
    const uint64_t last = LowBits(bits - first_bits);
    const uint64_t here =
        position.Window(first_bits) >> (64 - (bits - first_bits));
    if (last - here >= kMostLeft) return 0;
  }
  return set_.MayContain(position.Hash(length_)) ? 0 : bits;
}

// The same in a series, whose windows are those of the last byte.
uint32_t Proteus::AbsentInSeries(const Position& position) const {
  // A shorter key, which goes on with zeros, has no longer prefixes.
  const Slice key = position.Stripped();
  if (key.empty() || (static_cast<uint8_t>(key[key.size() - 1]) &
                      LowBits(kLeastWindowBits)) == 0) {
    return 0;
  }
  const uint32_t longest = header_.design.LongestPrefix(key.size());
  for (uint32_t bits = length_.bits; bits <= longest;
       bits += header_.design.stride_bits) {
    if (!set_.MayContain(HashPrefix(key, PrefixLength(bits, salt_)))) {
      return bits;
    }
  }
  return 0;
}

// Where the walk of `position` from `target` has ended.
template <class AnyPosition>
bool Proteus::StoreBound(const AnyPosition& position,
                         std::string* bound) const {
  if (!position.moved()) return true;
  if (position.head() > header_.largest) return false;
  position.CopyTo(bound);
  return true;
}

bool Proteus::LowerBound(const Slice& target, std::string* bound) const {
  bound->assign(target.data(), target.size());
  const uint64_t head = LoadBits64(target, 0);
  if (head > header_.largest) return false;
  if (!HasTrie() && (length_.bits == 0 || in_words_)) {
    WordPosition position(head);
    for (uint64_t probes = 0; probes < kMaxProbes; probes++) {
      const uint32_t absent = length_.bits > 0 ? AbsentPrefix(position) : 0;
      if (absent == 0) return StoreBound(position, bound);
      if (!position.NextPrefix(absent)) return false;
    }
    return true;
  }
  const ProteusDesign& design = header_.design;
  const size_t size = BytesForBits(
      std::max(design.first_bits(), design.LongestPrefix(target.size())));
  if (size > kMaxBoundBytes) return true;

  Position position(target, size);
  std::string next;
  bool in_trie = !HasTrie();  // whether the prefix in the trie is there
  // (More probes only in a damaged filter, or where lengths multiply; then
  // nothing is skipped.)
  for (uint64_t probes = 0; probes < kMaxProbes; probes++) {
    if (!in_trie) {
      if (!NextTriePrefix(position.slice(), size, &next)) return false;
      if (!next.empty()) position.MoveTo(next);
      in_trie = true;
    }
    const uint32_t absent = length_.bits == 0 ? 0
                            : HasSeries()     ? AbsentInSeries(position)
                                              : AbsentPrefix(position);
    if (absent == 0) return StoreBound(position, bound);
    if (!position.NextPrefix(absent)) return false;
    if (HasTrie()) in_trie = !position.Begins(design.trie_bits);
  }
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
