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
//  In a filter block, where a *column* is the end of a key (0), one of the B
//  bytes that occur (1 to B, in their order), or a place above them (B + 1):
//
//    digits of the longest path in the trie (4 bytes), B (1 byte), number of
//    codes (1 byte), 2 zero bytes
//    columns    for each of the 256 bytes, its column; or 128 + the column of
//               the next byte that occurs
//    bytes      the B bytes that occur
//    contexts   the number of the code of the first byte of a key, then of what
//               follows each byte that occurs; 1 byte each, then zeros up to a
//               multiple of 8
//    codes      for each code the entries of all columns; 2 bytes each, then
//               zeros up to a multiple of 8
//
//  An entry is length << 12 | digits, the first digit lowest.

#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "filter_policy/bits/bit_array.h"

namespace ROCKSDB_NAMESPACE::protean {

// The bytes that occur in a trie, numbered in their order.
//
// Text uses 30 to 70 of the 256 bytes. The *code* of a byte is its number
// among the bytes that occur. The trie stores codes, in as few bits as they
// take.
//
// Queries contain other bytes as well. They compare *symbols*: the symbol of a
// byte with code c is 2c + 1. The symbol of a byte that does not occur is 2c,
// where c is the code of the next byte that does. So symbols order as bytes
// do, and only an odd symbol can be found in the trie.
class Alphabet {
 public:
  // The size in a block: a bit for each byte.
  static constexpr size_t kSize = 32;

  Alphabet() = default;
  // Copies the kSize bytes at `bytes`.
  explicit Alphabet(const char* bytes) {
    unsigned count = 0;
    for (unsigned i = 0; i < 4; i++) {
      words_[i] = LoadWord(bytes, i);
      before_[i] = static_cast<uint16_t>(count);
      count += PopCount(words_[i]);
    }
    size_ = count;
    code_bits_ = count <= 2 ? 1 : BitsFor(count - 1);
    are_first_ = count < 64 && words_[0] == LowBits(count);
  }

  unsigned size() const { return size_; }
  // The bits of a code, 1 to 8.
  unsigned code_bits() const { return code_bits_; }

  // The symbol of a byte, 0 to 511.
  int Symbol(uint8_t byte) const {
    if (size_ == 256) return 2 * byte + 1;
    const uint64_t word = words_[byte / 64];
    const int code = before_[byte / 64] + PopCount(word & LowBits(byte % 64));
    return 2 * code + static_cast<int>(word >> (byte % 64) & 1);
  }

  // The byte of a code, or any byte for a code that no byte has.
  uint8_t Byte(unsigned code) const {
    if (size_ == 256 || code >= size_ || are_first_) {
      return static_cast<uint8_t>(code);
    }
    unsigned i = 3;
    while (before_[i] > code) i--;
    return static_cast<uint8_t>(64 * i +
                                SelectInWord(words_[i], code - before_[i]));
  }

 private:
  uint64_t words_[4] = {};
  uint16_t before_[4] = {};
  uint16_t size_ = 0;
  uint16_t code_bits_ = 1;
  bool are_first_ = false;  // whether each code is its byte
};

// The digits of a key.
class CodedKey {
 public:
  static constexpr unsigned kDigitBits = 2;
  static constexpr unsigned kDigitMask = 3;
  static constexpr unsigned kMaxDigits = 6;  // of a byte
  // The number of digits that can be loaded at once.
  static constexpr unsigned kDigitsPerLoad = 28;

  CodedKey() = default;
  CodedKey(const CodedKey&) = delete;
  CodedKey& operator=(const CodedKey&) = delete;

  // The key, whose bytes must still be there.
  const Slice& key() const { return key_; }

  size_t size() const { return size_; }
  unsigned operator[](size_t i) const {
    return static_cast<uint8_t>(bits_[i / 4]) >> (2 * (i % 4)) & kDigitMask;
  }
  // The digits from the i-th one on, the first one lowest; anything after the
  // end. i <= size()
  uint64_t Load(size_t i) const {
    return GetBits(bits_, kDigitBits * i, kDigitBits * kDigitsPerLoad);
  }

  // Returns true if every key of the trie whose digits begin with the first
  // `digits` digits of this one is not below this one.
  bool IsReachedBy(size_t digits) const { return digits >= reached_from_; }
  // Returns true if all of these are above this one.
  bool IsPassedBy(size_t digits) const { return digits >= passed_from_; }

 private:
  friend class KeyCode;

  static constexpr size_t kInlineBytes = 128;

  Slice key_;
  char* bits_ = few_bits_;
  size_t size_ = 0;
  size_t reached_from_ = 0;
  size_t passed_from_ = 0;
  std::unique_ptr<char[]> many_bits_;
  union {  // not initialized
    char few_bits_[kInlineBytes];
  };
};

// An opened code.
class KeyCode {
 public:
  static constexpr size_t kHeaderSize = 8;
  static constexpr size_t kColumnsSize = 256;
  // Marks a byte that does not occur.
  static constexpr unsigned kAbsent = 128;
  static constexpr unsigned kMaxBytes = 126;  // that occur
  static constexpr unsigned kLengthShift =
      CodedKey::kDigitBits * CodedKey::kMaxDigits;

  // The end, the bytes, and the place above them.
  static constexpr unsigned Columns(unsigned bytes) { return bytes + 2; }
  // The offset of the codes, and the size of all.
  static constexpr uint64_t CodesOffset(unsigned bytes) {
    return kHeaderSize + kColumnsSize + RoundUp(2 * bytes + 1);
  }
  static constexpr uint64_t Size(unsigned bytes, unsigned codes) {
    return CodesOffset(bytes) + RoundUp(uint64_t{2} * codes * Columns(bytes));
  }

  static unsigned Length(unsigned entry) { return entry >> kLengthShift; }
  static unsigned Digits(unsigned entry) {
    return entry & ((1u << kLengthShift) - 1);
  }

  // How many digits two entries share.
  static unsigned FirstDifference(unsigned entry, unsigned other) {
    const unsigned different = Digits(entry ^ other);
    return different == 0 ? CodedKey::kMaxDigits
                          : static_cast<unsigned>(__builtin_ctz(different)) /
                                CodedKey::kDigitBits;
  }

  // Takes a code off the front of `input`, whose bytes must outlive this
  // object. False if it is damaged. Which digits stand for a byte is not
  // checked: only the block's checksum protects them. Whatever they are, no
  // function below reads or writes outside of what it may.
  bool Open(Slice* input);

  // Stores the digits of a key or a bound. They may be cut off where no path in
  // the trie has more.
  void Encode(const Slice& key, CodedKey* coded) const {
    Start(key, coded);
    Writer writer(coded->bits_);
    EncodeBytes(key.data(), key.data() + key.size(), &writer);
    Finish(&writer, coded);
  }
  // Encodes the two bounds of a range.
  void Encode(const Slice& lo, const Slice& hi, CodedKey* coded_lo,
              CodedKey* coded_hi) const {
    Start(lo, coded_lo);
    Start(hi, coded_hi);
    const size_t shared = lo.difference_offset(hi);
    Writer low(coded_lo->bits_);
    EncodeBytes(lo.data(), lo.data() + shared, &low);
    Writer high = low;
    const size_t written = low.out - coded_lo->bits_;
    high.out = coded_hi->bits_ + written;
    for (size_t i = 0; i < written; i += 8) {
      EncodeFixed64(coded_hi->bits_ + i, DecodeFixed64(coded_lo->bits_ + i));
    }
    EncodeBytes(lo.data() + shared, lo.data() + lo.size(), &low);
    Finish(&low, coded_lo);
    EncodeBytes(hi.data() + shared, hi.data() + hi.size(), &high);
    Finish(&high, coded_hi);
  }

  // Stores the bytes with which all keys begin whose digits begin with
  // `digits`, one in each byte: the path of a leaf. If `to_first`, stores the
  // smallest of these keys. Both are found faster if they begin as `hint` does.
  void Decode(const Slice& digits, const Slice& hint, bool to_first,
              std::string* bytes) const;

  // Describes the keys of the trie whose digits begin with the first `digits`
  // digits of `key`, which are the path of a leaf. Stores how many bytes they
  // share with `key`, and in `*limit` a string that is above them, but not
  // above any other key above them; it is empty if no key above them shares the
  // bytes.
  void DescribePath(const Slice& key, size_t digits, size_t* shared,
                    std::string* limit) const;
  // The last byte of a key that its first digits tell something of. The end of
  // the key counts as a byte.
  struct LastByte {
    size_t before = 0;     // the number of bytes before it
    bool goes_on = false;  // whether its code has one more digit
    // Whether no byte below it, or above it, has a code that begins with these
    // digits. Not true of the end, and of a byte that does not occur.
    bool is_smallest = false;
    bool is_largest = false;
  };
  // What the first `digits` digits tell, digits > 0; and the next one, if
  // `one_more` and the code goes on.
  LastByte LastByteOf(const Slice& key, size_t digits, bool one_more) const;

  // The column of a byte that occurs.
  unsigned Column(char byte) const { return ColumnOrAbsent(byte) % kAbsent; }
  // The entry of a column in the code after `context`, the column of the byte
  // before, or 0 for none.
  unsigned Entry(unsigned context, unsigned column) const {
    return EntryIn(CodeAfter(context), column);
  }
  // The code after `context`, and the entry of a column in it.
  const char* CodeAfter(unsigned context) const {
    return codes_ + row_size_ * static_cast<uint8_t>(contexts_[context]);
  }
  static unsigned EntryIn(const char* code, unsigned column) {
    return DecodeFixed16(code + 2 * column);
  }

 private:
  // Writes the digits of one key.
  struct Writer {
    explicit Writer(char* bits) : out(bits) {}

    void Append(unsigned entry) {
      word |= uint64_t{Digits(entry)} << used;
      used += CodedKey::kDigitBits * Length(entry);
      size += Length(entry);
      if (used >= 48) {
        EncodeFixed64(out, word);
        out += used / 8;
        word >>= used / 8 * 8;
        used %= 8;
      }
    }

    char* out;
    uint64_t word = 0;
    unsigned used = 0;
    size_t size = 0;
    unsigned context = 0;  // the column of the last byte
    bool goes_on = true;
  };

  static constexpr uint64_t RoundUp(uint64_t bytes) {
    return (bytes + 7) / 8 * 8;
  }
  unsigned ColumnOrAbsent(char byte) const {
    return static_cast<uint8_t>(code_by_column_[static_cast<uint8_t>(byte)]);
  }
  bool IsByte(unsigned column) const { return column > 0 && column <= bytes_; }
  char Byte(unsigned column) const {
    return code_by_column_[kColumnsSize + column - 1];
  }

  void Start(const Slice& key, CodedKey* coded) const {
    // The last word is written whole, and one more read.
    constexpr size_t kSlack = 24;
    coded->key_ = key;
    const size_t digits =
        std::min<size_t>(longest_path_, CodedKey::kMaxDigits * key.size()) +
        2 * CodedKey::kMaxDigits;
    const size_t size = CodedKey::kDigitBits * digits / 8 + kSlack;
    if (size > CodedKey::kInlineBytes) {
      coded->many_bits_.reset(new char[size]);
      coded->bits_ = coded->many_bits_.get();
    }
  }
  // Encodes the bytes in [begin, end), as far as their digits are needed.
  void EncodeBytes(const char* begin, const char* end, Writer* writer) const {
    Writer w = *writer;
    for (; begin < end && w.goes_on; begin++) {
      const unsigned column = ColumnOrAbsent(*begin);
      w.Append(Entry(w.context, column % kAbsent));
      w.context = column;
      w.goes_on = column < kAbsent && w.size < longest_path_;
    }
    *writer = w;
  }
  // How many of the last digits of a key, all of whose bytes occur, can be left
  // off so that all keys of the trie that begin with the others are still at or
  // above it.
  unsigned DigitsNotNeeded(const Slice& key) const {
    const size_t size = key.size();
    if (size == 0) return 0;
    const unsigned context = size == 1 ? 0 : Column(key[size - 2]);
    const unsigned column = Column(key[size - 1]);
    const unsigned entry = Entry(context, column);
    const unsigned needed =
        FirstDifference(entry, Entry(context, column - 1)) + 1;
    return Length(entry) - std::min(needed, Length(entry));
  }
  // Ends the key.
  void Finish(Writer* writer, CodedKey* coded) const {
    constexpr size_t kNever = ~size_t{0};
    coded->reached_from_ = coded->passed_from_ = kNever;
    if (writer->goes_on) {
      coded->reached_from_ = writer->size - DigitsNotNeeded(coded->key_);
      writer->Append(Entry(writer->context, 0));
    } else if (writer->context >= kAbsent) {
      coded->reached_from_ = coded->passed_from_ = writer->size;
    }
    EncodeFixed64(writer->out, writer->word);
    coded->size_ = writer->size;
  }
  // The last byte of a key that its first digits tell something of, or its end.
  struct PathEnd {
    size_t before = 0;  // the number of bytes before it
    unsigned context = 0;
    unsigned column;  // or kAbsent and the column
    unsigned entry;
    size_t left;  // of the digits, those that are of its code
  };
  PathEnd PathEndOf(const Slice& key, size_t digits) const;
  // The first column after `context` whose digits are not below `digits`.
  unsigned FirstColumn(unsigned context, const Slice& digits) const;

  const char* code_by_column_ = nullptr;
  const char* contexts_ = nullptr;
  const char* codes_ = nullptr;
  uint32_t bytes_ = 0;
  uint32_t row_size_ = 0;
  uint32_t longest_path_ = 0;
};

// Returns the codes of digits, as entries, that have the least sum of weight
// times length among all whose digits order as the symbols do, none a prefix of
// another one (Hu and Tucker, 1971): one code for each list of weights. All
// lists are of the same symbols. No weight is 0, and the sum of a list is below
// 2^56. No code has more than kMaxDigits digits: if the best one does, larger
// weights take the place of the smallest ones.
std::vector<std::vector<uint16_t>> AlphabeticCodes(
    const std::vector<std::vector<uint64_t>>& weights);

// How often each byte occurs in a trie after each other byte: on the edges and
// in the runs. Contexts and symbols are columns of the code: 0 is the beginning
// of a key as a context, and its end as a symbol.
using ByteCounts = std::vector<std::vector<uint32_t>>;  // by context

// Returns the code for keys with these counts, as it is stored in a filter
// block, but for the digits of the longest path. `occurs` tells which bytes are
// in the trie. A context that is too rare for a code of its own shares one with
// all others of that kind.
std::string MakeKeyCode(const bool (&occurs)[256], const ByteCounts& counts);

}  // namespace ROCKSDB_NAMESPACE::protean
