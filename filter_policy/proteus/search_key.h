// SPDX-License-Identifier: Apache-2.0

//  Keys on their way through a search: WordKey where a design has no prefix of
//  more than 64 bits, ByteKey for all other designs. Ranges and
//  seeks (proteus_queries.cc) are written once, over either type.

#pragma once

#include <memory>
#include <string>

#include "filter_policy/proteus/byte_alphabets.h"
#include "filter_policy/proteus/design.h"
#include "filter_policy/proteus/prefix_hash.h"

namespace ROCKSDB_NAMESPACE::protean {

// The bytes that the prefix of a key in a layer's trie takes.
inline size_t TriePrefixBytes(const Layer& trie) {
  return std::max(sizeof(uint64_t), size_t{BytesForBits(trie.bits)});
}
// Writes the prefix of a key as the trie of a design stores it, into
// TriePrefixBytes(trie) bytes. The key begins with the 64 bits of `word`.
// REQUIRES: 0 < trie_bits <= 64
inline void CopyTriePrefix(uint64_t word, const Layer& trie, char* prefix) {
  EncodeFixed64(prefix,
                EndianSwapValue(HighBits(word, trie.bits) >> trie.lead));
}
inline void CopyTriePrefix(const Slice& key, const Layer& trie, char* prefix) {
  if (trie.bits <= 64) {
    CopyTriePrefix(LoadBits64(key, 0), trie, prefix);
  } else {
    const size_t size = BytesForBits(trie.bits);
    CopyPadded(key, prefix, size);
    FillAfter(prefix, size, trie.bits, 0);
  }
}

// Uninitialized bytes, which need no allocation unless they are many.
class SmallBuffer {
 public:
  explicit SmallBuffer(size_t size) {
    if (size > sizeof(inline_)) {
      allocated_.reset(new char[size]);
      data_ = allocated_.get();
    }
  }
  char* data() { return data_; }
  const char* data() const { return data_; }

 private:
  char inline_[64];
  std::unique_ptr<char[]> allocated_;
  char* data_ = inline_;
};

class WordKey {
 public:
  // Designs of this key type have no series and no alphabets.
  static constexpr bool kIsBytes = false;

  explicit WordKey(uint64_t word) : word_(word) {}

  uint64_t head() const { return word_; }

  // Returns true if this key is the first one that has its prefix of `bits`
  // bits; bits < 64.
  bool Begins(uint32_t bits) const { return word_ << bits == 0; }
  // Moves to the first key of the next prefix of that length. False if there is
  // none.
  bool NextPrefix(uint32_t bits) {
    word_ = ((word_ >> (64 - bits)) + 1) << (64 - bits);
    return word_ != 0;
  }
  // The first and the last key that have this key's prefix.
  WordKey FirstOfPrefix(uint32_t bits) const {
    return WordKey(HighBits(word_, bits));
  }
  WordKey LastOfPrefix(uint32_t bits) const {
    return WordKey(word_ | LowBits(64 - bits));
  }

  bool SharesPrefix(const WordKey& other, uint32_t bits) const {
    return HighBits(word_ ^ other.word_, bits) == 0;
  }
  // The number of prefixes of `bits` bits after this key's own, up to and with
  // that of `last`, which is not below this key; bits > 0.
  uint64_t PrefixesUpTo(const WordKey& last, uint32_t bits) const {
    return (last.word_ >> (64 - bits)) - (word_ >> (64 - bits));
  }

  uint64_t Hash(const PrefixLength& length) const {
    return HashWord(word_, length);
  }
  // 64 bits from `bit` on; bit < 64.
  uint64_t Window(uint32_t bit) const { return word_ << bit; }

  struct TriePrefix {
    TriePrefix(const WordKey& key, const Layer& trie) {
      CopyTriePrefix(key.word_, trie, bytes);
    }
    const char* data() const { return bytes; }
    char bytes[sizeof(uint64_t)];
  };
  // Moves to the first key of a prefix that the trie stores.
  void MoveToTriePrefix(const char* prefix, const Layer& trie) {
    word_ = LoadBigEndian(prefix, sizeof(word_)) << trie.lead;
  }

  // Stores the shortest string that no key from here on is below: a key may end
  // where the zeros begin.
  void CopyTo(std::string* bound) const {
    char bytes[sizeof(word_)];
    EncodeFixed64(bytes, EndianSwapValue(word_));
    const Slice stripped = WithoutZeros(Slice(bytes, sizeof(bytes)));
    bound->assign(stripped.data(), stripped.size());
  }

  // Successive prefixes of one length, which is passed to every function. A
  // move goes no further than behind the end of a group.
  class Prefixes {
   public:
    Prefixes(const WordKey& first, const PrefixLength& length)
        : step_(uint64_t{1} << (64 - length.bits)),
          word_(first.word_ >> (64 - length.bits) << (64 - length.bits)) {}

    WordKey key() const { return WordKey(word_); }
    void Move(uint64_t steps, const PrefixLength& /*length*/) {
      word_ += steps * step_;
    }
    uint64_t LeftInGroup(const PrefixLength& length) const {
      return length.LeftInGroup(word_);
    }
    uint64_t Hash(const PrefixLength& length) const {
      return HashWord(word_, length);
    }

   private:
    const uint64_t step_;
    uint64_t word_;
  };

 private:
  uint64_t word_;
};

class ByteKey {
 public:
  static constexpr bool kIsBytes = true;

  // The first `size` bytes of a key, with zeros after its end.
  ByteKey(const Slice& key, size_t size) : size_(size), bytes_(size) {
    CopyPadded(key, bytes_.data(), size);
  }
  ByteKey(const ByteKey& other) : size_(other.size_), bytes_(size_) {
    memcpy(bytes_.data(), other.bytes_.data(), size_);
  }
  ByteKey& operator=(const ByteKey&) = delete;

  Slice slice() const { return Slice(bytes_.data(), size_); }
  uint64_t head() const { return LoadBits64(slice(), 0); }

  // These functions are WordKey's, with bits <= 8 * size; for Begins and
  // Window, less than that.

  bool Begins(uint32_t bits) const {
    const char* const bytes = bytes_.data();
    return (static_cast<uint8_t>(bytes[bits / 8]) & 0xff >> bits % 8) == 0 &&
           WithoutZeros(slice()).size() <= bits / 8 + 1;
  }
  bool NextPrefix(uint32_t bits) {
    FillAfter(bytes_.data(), size_, bits, 0);
    return Increment(bytes_.data(), bits);
  }
  ByteKey FirstOfPrefix(uint32_t bits) const {
    ByteKey first = *this;
    FillAfter(first.bytes_.data(), size_, bits, 0);
    return first;
  }
  ByteKey LastOfPrefix(uint32_t bits) const {
    ByteKey last = *this;
    FillAfter(last.bytes_.data(), size_, bits, 0xff);
    return last;
  }
  bool SharesPrefix(const ByteKey& other, uint32_t bits) const {
    return SharedBits(slice(), other.slice()) >= bits;
  }
  static constexpr uint64_t kManyPrefixes = ~uint64_t{0};
  uint64_t PrefixesUpTo(const ByteKey& last, uint32_t bits) const;
  // The number of possible prefixes of `bits` bits (byte_alphabets.h) from this
  // key's own up to that of `last`, which is not below this key.
  uint64_t PossibleUpTo(const ByteKey& last, const ByteAlphabets& alphabets,
                        uint32_t bits) const {
    const size_t from = slice().difference_offset(last.slice());
    return from >= BytesForBits(bits)
               ? 1
               : alphabets.Count(bytes_.data() + from,
                                 last.bytes_.data() + from, from, bits);
  }
  uint64_t Hash(const PrefixLength& length) const {
    return HashPrefix(slice(), length);
  }
  uint64_t Window(uint32_t bit) const {
    const uint64_t head = LoadBits64(slice(), bit / 8);
    const unsigned shift = bit % 8;
    return shift == 0 ? head
                      : head << shift |
                            LoadBits64(slice(), bit / 8 + 8) >> (64 - shift);
  }
  // Without the zeros at the end.
  Slice Stripped() const { return WithoutZeros(slice()); }

  struct TriePrefix : SmallBuffer {
    TriePrefix(const ByteKey& key, const Layer& trie)
        : SmallBuffer(TriePrefixBytes(trie)) {
      CopyTriePrefix(key.slice(), trie, data());
    }
  };
  void MoveToTriePrefix(const char* prefix, const Layer& trie) {
    if (trie.bits <= 64) {
      char word[sizeof(uint64_t)];
      EncodeFixed64(word, EndianSwapValue(LoadBigEndian(prefix, sizeof(word))
                                          << trie.lead));
      CopyPadded(Slice(word, sizeof(word)), bytes_.data(), size_);
    } else {
      CopyPadded(Slice(prefix, BytesForBits(trie.bits)), bytes_.data(), size_);
    }
  }
  void CopyTo(std::string* bound) const {
    const Slice stripped = Stripped();
    bound->assign(stripped.data(), stripped.size());
  }
  // Turns the end of a range to which it does not belong into the last bits
  // before it, which may need one more than `size` bytes: they go on with ones.
  // False if there are none.
  bool Decrement() {
    for (size_t i = size_; i-- > 0;) {
      if (bytes_.data()[i]-- != 0) return true;
    }
    return false;
  }

  class Prefixes;
  class PossiblePrefixes;

 private:
  const size_t size_;
  SmallBuffer bytes_;
};

class ByteKey::Prefixes {
 public:
  Prefixes(const ByteKey& first, const PrefixLength& length)
      : key_(first.FirstOfPrefix(length.bits)) {}

  const ByteKey& key() const { return key_; }
  void Move(uint64_t steps, const PrefixLength& length) {
    Increment(key_.bytes_.data(), length.bits, static_cast<unsigned>(steps));
  }
  uint64_t LeftInGroup(const PrefixLength& length) const {
    return length.LeftInGroup(Window(length));
  }
  uint64_t Hash(const PrefixLength& length) {
    const uint64_t window = Window(length);
    // If the head has changed since the last hash, the window has begun anew:
    // it has not grown.
    if (window <= hashed_) head_ = HashHeadOnce(key_.slice(), length);
    hashed_ = window;
    return HashWindow(window, head_, length);
  }

 protected:
  uint64_t Window(const PrefixLength& length) const {
    return LoadBits64(key_.slice(), length.head_bytes);
  }

  ByteKey key_;

 private:
  uint64_t hashed_ = ~uint64_t{0};  // the window of the last hash
  uint64_t head_ = 0;
};

// Successive possible prefixes of one length, which is passed to every
// function.
class ByteKey::PossiblePrefixes : public Prefixes {
 public:
  PossiblePrefixes(const ByteKey& first, const ByteAlphabets& alphabets,
                   const PrefixLength& length)
      : Prefixes(first, length), alphabets_(alphabets) {
    MoveToPossible(length);
  }

  // Returns true if the prefix is behind that of a key, or there are no more.
  bool IsAfter(const ByteKey& last) const {
    return at_end_ || key_.slice().compare(last.slice()) > 0;
  }
  void Next(const PrefixLength& length) {
    at_end_ = !Increment(key_.bytes_.data(), length.bits);
    if (!at_end_) MoveToPossible(length);
  }
  // Moves behind this prefix and those possible ones that follow it without a
  // gap in its group, at most `most` of them, and returns their number.
  uint64_t MoveAfterRun(uint64_t most, const PrefixLength& length) {
    const uint64_t step = uint64_t{1} << length.window_unused;
    most = std::min(most, LeftInGroup(length));
    uint64_t count = 0;
    for (uint64_t next = Window(length);
         count < most && !at_end_ && Window(length) == next; next += step) {
      Next(length);
      count++;
    }
    return count;
  }

 private:
  void MoveToPossible(const PrefixLength& length) {
    at_end_ = !alphabets_.MoveToPossible(key_.bytes_.data(), length.bits);
  }

  const ByteAlphabets& alphabets_;
  bool at_end_ = false;
};

}  // namespace ROCKSDB_NAMESPACE::protean
