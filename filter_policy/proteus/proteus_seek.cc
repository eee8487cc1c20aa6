//  Proteus::LowerBound: where the next key may be. The trie knows the next
//  prefix of l1 bits; below it, as many prefixes of l2 bits are tried as cost
//  less than what they may save. Of a series of prefixes, only the shortest are
//  tried, which every key has.

#include <algorithm>

#include "filter_policy/proteus/proteus.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// A read from the block cache costs as much as some hundred probes.
constexpr int kMaxProbes = 64;

// The beginning of a key on its way up.
class Position {
 public:
  Position(const Slice& key, size_t size) : bytes_(size, '\0') {
    CopyPadded(key, bytes_.data(), size);
  }

  Slice slice() const { return bytes_; }
  // Whether it is above the key that it began as.
  bool moved() const { return moved_; }

  // Moves to the beginning of the next prefix of so many bits. False if there
  // is none.
  bool NextPrefix(uint32_t bits) {
    moved_ = true;
    ClearBehind(bytes_.data(), bytes_.size(), bits);
    unsigned carry = bits % 8 == 0 ? 1 : 1 << (8 - bits % 8);
    for (size_t i = BytesForBits(bits); i-- > 0 && carry != 0;) {
      carry += static_cast<uint8_t>(bytes_[i]);
      bytes_[i] = static_cast<char>(carry);
      carry >>= 8;
    }
    return carry == 0;
  }

  // Whether it is where a prefix of so many bits begins.
  bool Begins(uint32_t bits) const {
    std::string begin = bytes_;
    ClearBehind(begin.data(), begin.size(), bits);
    return begin == bytes_;
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

bool Proteus::LowerBound(const Slice& target, std::string* bound) const {
  bound->assign(target.data(), target.size());
  if (LoadBits64(target, 0) > header_.largest) return false;
  const ProteusDesign& design = header_.design;
  const size_t size = BytesForBits(std::max(design.first_bits(), length_.bits));
  if (size > kMaxBoundBytes) return true;

  Position position(target, size);
  std::string next;
  bool in_trie = false;  // whether the prefix in the trie is known to be there
  for (int probes = 0;; probes++) {
    if (probes == kMaxProbes) return true;
    if (HasTrie() && !in_trie) {
      if (!NextTriePrefix(position.slice(), size, &next)) return false;
      if (!next.empty()) position.MoveTo(next);
      in_trie = true;
    }
    uint32_t absent = 0;  // the length of a prefix that is not there
    if (first_length_.bits > 0 &&
        !first_set_.MayContain(HashPrefix(position.slice(), first_length_))) {
      absent = first_length_.bits;
    } else if (length_.bits > 0 &&
               !set_.MayContain(HashPrefix(position.slice(), length_))) {
      absent = length_.bits;
    } else {
      break;
    }
    if (!position.NextPrefix(absent)) return false;
    in_trie = !position.Begins(design.trie_bits);
  }
  if (!position.moved()) return true;
  // A key may end where the zeros begin.
  Slice found = position.slice();
  while (!found.empty() && found[found.size() - 1] == '\0') {
    found.remove_suffix(1);
  }
  bound->assign(found.data(), found.size());
  return true;
}

}  // namespace ROCKSDB_NAMESPACE::protean
