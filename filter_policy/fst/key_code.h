// SPDX-License-Identifier: Apache-2.0

//  An order-preserving code of keys (HOPE: Zhang et al., SIGMOD 2020), for a
//  trie of text.
//
//  A trie over bytes stores 6 or 7 bits for each byte of text, which tell 2 to
//  5 bits: letters are not equally frequent, and a letter depends on the one
//  before it. So a trie of text is a trie of *digits* of 2 bits. Each byte is
//  coded in 1 to 6 digits, by a code that depends on the byte before it. A node
//  has four edges at most, and is stored as the four bits of LOUDS-Dense.
//
//      key       a       c       m       e       end
//      digits    1 0     2 3     0       1 1     0 0 2
//
//  All codes are alphabetic (Hu and Tucker, 1971): none is a prefix of another,
//  and they order as the bytes do. The end of the key is coded as well, below
//  all bytes. So two keys compare as their digits do, and the digits of one key
//  are never a prefix of another one's.
//
//  Only bytes that occur in the trie have codes. A query may contain others. A
//  key that does is between all keys that go on with a smaller byte there, and
//  all that go on with a larger one. The digits of the latter, cut off after
//  that byte, are the same place: a search takes all that continues its target
//  for larger.
//
//  In a filter block:
//
//    digits of the longest path in the trie (4 bytes), number of codes (2
//    bytes), 2 zero bytes
//    alphabet   32 bytes (alphabet.h): the bytes that occur
//    contexts   the number of the code of the first byte, then of what follows
//               each byte that occurs; 1 byte each, then zeros up to a multiple
//               of 8
//    codes      for each code the entries of the end, of all bytes that occur,
//               and of a place above them; 2 bytes each, then zeros up to a
//               multiple of 8
//
//  An entry is length << 12 | digits, the first digit lowest.

#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "filter_policy/fst/alphabet.h"

namespace ROCKSDB_NAMESPACE::protean {

// The digits of a key.
class CodedKey {
 public:
  static constexpr unsigned kDigitBits = 2;
  static constexpr unsigned kDigitMask = 3;
  static constexpr unsigned kMaxDigits = 6;  // of a byte
  // So many digits can be loaded at once.
  static constexpr unsigned kDigitsPerLoad = 28;

  CodedKey() = default;
  CodedKey(const CodedKey&) = delete;
  CodedKey& operator=(const CodedKey&) = delete;

  // The key, whose bytes must still be there.
  const Slice& key() const { return key_; }

  // The number of digits.
  size_t size() const { return size_; }
  unsigned operator[](size_t i) const {
    return static_cast<uint8_t>(bits_[i / 4]) >> (2 * (i % 4)) & 3;
  }
  // The digits from the i-th one on, the first one lowest; zeros after the end.
  // i <= size()
  uint64_t Load(size_t i) const {
    return GetBits(bits_, kDigitBits * i, kDigitBits * kDigitsPerLoad);
  }

  // Whether every key with these first `digits` digits begins with the bytes of
  // this one.
  bool HoldsAllBytes(size_t digits) const { return digits >= bytes_end_; }

 private:
  friend class KeyCode;

  static constexpr size_t kInlineBytes = 160;
  static constexpr size_t kSlack = 24;

  Slice key_;
  char* bits_ = few_bits_;
  size_t size_ = 0;
  size_t bytes_end_ = 0;  // the number of digits before those of the end
  std::unique_ptr<char[]> many_bits_;
  union {  // not initialized
    char few_bits_[kInlineBytes];
  };
};

// An opened code.
class KeyCode {
 public:
  static constexpr size_t kHeaderSize = 8;

  // The bytes that `codes` codes for `bytes` different bytes take.
  static uint64_t Size(unsigned bytes, unsigned codes) {
    return kHeaderSize + Alphabet::kSize + RoundUp(bytes + 1) +
           RoundUp(2 * codes * Columns(bytes));
  }

  // Takes a code off the front of `input`, whose bytes must outlive this
  // object. False if it is damaged. What the digits are is not checked;
  // whatever they are, no function below reads or writes outside of what it
  // may.
  bool Open(Slice* input);

  // Stores the digits of a key or a bound. They may be cut off where no trie
  // has more.
  void Encode(const Slice& key, CodedKey* coded) const;

  // Stores the bytes with which all keys begin whose digits begin with
  // `digits`, one in each byte: the path of a leaf.
  void DecodeShared(const Slice& digits, std::string* bytes) const;
  // Stores the smallest key whose digits begin so.
  void DecodeFirst(const Slice& digits, std::string* key) const;

  // Describes the keys of the trie whose digits begin with the first `digits`
  // digits of `key`, which are the path of a leaf. Stores how many bytes they
  // share with `key`, and in `*limit` a string that is above them, but not
  // above any other key above them; it is empty if no key above them shares the
  // bytes.
  void DescribePath(const Slice& key, size_t digits, size_t* shared,
                    std::string* limit) const;

  // The number of bytes of `key` that its first `digits` digits tell something
  // of.
  size_t BytesIn(const Slice& key, size_t digits) const;

  // The column of a byte that occurs; 0 is that of the end.
  unsigned Column(uint8_t byte) const {
    return static_cast<unsigned>(alphabet_.Symbol(byte) / 2 + 1);
  }
  // The entry of a column in the code after `context`, the column of the byte
  // before, or 0 for none.
  unsigned Entry(unsigned context, unsigned column) const {
    return Load16(Row(context) + 2 * column);
  }
  static unsigned Length(unsigned entry) { return entry >> kLengthShift; }
  static unsigned Digits(unsigned entry) {
    return entry & static_cast<unsigned>(LowBits(kLengthShift));
  }
  static constexpr unsigned kLengthShift =
      CodedKey::kDigitBits * CodedKey::kMaxDigits;

  // The end, the bytes, and a place above them.
  static constexpr unsigned Columns(unsigned bytes) { return bytes + 2; }

 private:
  static constexpr uint64_t RoundUp(uint64_t bytes) {
    return (bytes + 7) / 8 * 8;
  }
  static unsigned Load16(const char* at) { return DecodeFixed16(at); }
  const char* Row(unsigned context) const {
    return entries_ + 2 * Columns(alphabet_.size()) *
                          static_cast<uint8_t>(contexts_[context]);
  }
  bool IsByte(unsigned column) const {
    return column > 0 && column <= alphabet_.size();
  }
  char Byte(unsigned column) const {
    return static_cast<char>(alphabet_.Byte(column - 1));
  }
  // The first column after `context` whose digits are not below `digits`.
  unsigned FirstColumn(unsigned context, const Slice& digits) const;

  Alphabet alphabet_;
  const char* contexts_ = nullptr;
  const char* entries_ = nullptr;
  uint32_t longest_path_ = 0;
};

inline void KeyCode::Encode(const Slice& key, CodedKey* coded) const {
  const size_t most =
      std::min<size_t>(longest_path_, CodedKey::kMaxDigits * (key.size() + 1)) +
      CodedKey::kMaxDigits;
  const size_t bytes = most / 4 + CodedKey::kSlack;
  if (bytes > CodedKey::kInlineBytes) {
    coded->many_bits_.reset(new char[bytes]);
    coded->bits_ = coded->many_bits_.get();
  }
  coded->key_ = key;
  char* out = coded->bits_;
  uint64_t word = 0;
  unsigned used = 0;
  size_t size = 0;
  const char* row = Row(0);
  auto append = [&](unsigned entry) {
    word |= uint64_t{Digits(entry)} << used;
    used += CodedKey::kDigitBits * Length(entry);
    size += Length(entry);
    if (used >= 48) {
      EncodeFixed64(out, word);
      out += used / 8;
      word >>= used / 8 * 8;
      used %= 8;
    }
  };
  coded->bytes_end_ = ~size_t{0};
  size_t i = 0;
  for (; i < key.size() && size < longest_path_; i++) {
    const auto symbol =
        static_cast<unsigned>(alphabet_.Symbol(static_cast<uint8_t>(key[i])));
    const unsigned column = symbol / 2 + 1;
    append(Load16(row + 2 * column));
    if (symbol % 2 == 0) break;
    row = Row(column);
  }
  if (i == key.size()) {
    coded->bytes_end_ = size;
    append(Load16(row));
  }
  EncodeFixed64(out, word);
  EncodeFixed64(out + 8, 0);
  coded->size_ = size;
}

}  // namespace ROCKSDB_NAMESPACE::protean
