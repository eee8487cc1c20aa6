//  Proteus::LowerBound: where the next key may be. The trie knows the next
//  prefix of l1 bits. A set of prefixes knows no next one, but where one must
//  be near, the prefixes of l2 bits are tried one after the other, as long as
//  that costs less than what it may save. Of a series of prefixes, only the
//  shortest are tried, which every key has.

#include <algorithm>

#include "filter_policy/proteus/proteus.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A read from the block cache costs as much as some hundred probes.
constexpr uint64_t kMaxProbes = 64;
// What a prefix takes in a set, roughly.
constexpr uint64_t kUsualBits = 12;

// The beginning of a key on its way up.
class Position {
 public:
  Position(const Slice& key, size_t size) : bytes_(size, '\0') {
    CopyPadded(key, bytes_.data(), size);
  }

  Slice slice() const { return bytes_; }
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

  // Stores a string that no key from here on is below: a key may end where the
  // zeros begin.
  void CopyTo(std::string* bound) const {
    size_t length = bytes_.size();
    while (length > 0 && bytes_[length - 1] == '\0') length--;
    bound->assign(bytes_, 0, length);
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

}  // namespace

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

// Whether the next prefix of the second layer is likely to be near enough.
bool Proteus::IsWorthProbing(const Slice& position) const {
  const uint32_t l1 = header_.design.trie_bits;
  const uint32_t l2 = length_.bits;
  if (l1 > 0) {
    // There is one before the end of the prefix in the trie.
    if (l2 - l1 >= 64) return false;
    const uint64_t last = LowBits(l2 - l1);
    return last - (BitWindow(position, l1) >> (64 - (l2 - l1))) < kMaxProbes;
  }
  // Keys that are spread out evenly have that many between them.
  return l2 > 0 && l2 <= 64 &&
         (header_.largest - header_.smallest) >> (64 - l2) <
             kMaxProbes * (set_.bytes() * 8 / kUsualBits + 1);
}

bool Proteus::LowerBound(const Slice& target, std::string* bound) const {
  bound->assign(target.data(), target.size());
  if (LoadBits64(target, 0) > header_.largest) return false;
  const ProteusDesign& design = header_.design;
  const size_t size = BytesForBits(std::max(design.first_bits(), length_.bits));
  if (size > kMaxBoundBytes || (!HasTrie() && !IsWorthProbing(target))) {
    return true;
  }

  Position position(target, size);
  std::string next;
  bool in_trie = !HasTrie();  // whether the prefix in the trie is there
  // Below at most two prefixes in the trie: the second one has keys from here
  // on. (More only in a damaged filter.)
  for (uint64_t probes = 0; probes < (HasTrie() ? 2 : 1) * kMaxProbes;
       probes++) {
    if (!in_trie) {
      if (!NextTriePrefix(position.slice(), size, &next)) return false;
      if (!next.empty()) position.MoveTo(next);
      if (position.moved()) position.CopyTo(bound);
      if (length_.bits == 0 || !IsWorthProbing(position.slice())) return true;
      in_trie = true;
    }
    uint32_t absent = 0;  // the length of a prefix that is not there
    if (first_length_.bits > 0 &&
        !first_set_.MayContain(HashPrefix(position.slice(), first_length_))) {
      absent = first_length_.bits;
    } else if (!set_.MayContain(HashPrefix(position.slice(), length_))) {
      absent = length_.bits;
    } else {
      if (position.moved()) position.CopyTo(bound);
      return true;
    }
    if (!position.NextPrefix(absent)) return false;
    if (HasTrie()) in_trie = !position.Begins(design.trie_bits);
  }
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
