// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/fst/key_code.h"

namespace ROCKSDB_NAMESPACE::protean {

bool KeyCode::Open(Slice* input) {
  const char* header;
  if (!TakeBytes(input, kHeaderSize, &header)) return false;
  longest_path_ = DecodeFixed32(header);
  bytes_ = static_cast<uint8_t>(header[4]);
  const unsigned codes = static_cast<uint8_t>(header[5]);
  const unsigned columns = Columns(bytes_);
  const unsigned contexts = bytes_ + 1;
  row_size_ = 2 * columns;
  if (bytes_ > kMaxBytes || codes == 0 || codes > contexts ||
      DecodeFixed16(header + 6) != 0 ||
      !TakeBytes(input, Size(bytes_, codes) - kHeaderSize, &columns_)) {
    return false;
  }
  contexts_ = columns_ + kColumnsSize + bytes_;
  codes_ = header + CodesOffset(bytes_);
  for (size_t i = 0; i < kColumnsSize; i++) {
    const unsigned column = ColumnOrAbsent(static_cast<char>(i));
    if (column < kAbsent
            ? !IsByte(column)
            : column % kAbsent == 0 || column % kAbsent >= columns) {
      return false;
    }
  }
  for (unsigned i = 0; i < contexts; i++) {
    if (static_cast<uint8_t>(contexts_[i]) >= codes) return false;
  }
  for (unsigned i = 0; i < codes * columns; i++) {
    const unsigned entry = DecodeFixed16(codes_ + 2 * i);
    const unsigned length = Length(entry);
    if (length == 0 || length > CodedKey::kMaxDigits ||
        Digits(entry) >> (CodedKey::kDigitBits * length) != 0) {
      return false;
    }
  }
  return true;
}

namespace {

// Compares the digits of an entry with `digits`, a byte each. Returns 0 if one
// of them begins with the other.
int CompareDigits(unsigned entry, const Slice& digits) {
  const size_t length = std::min<size_t>(KeyCode::Length(entry), digits.size());
  unsigned left = KeyCode::Digits(entry);
  for (size_t i = 0; i < length; i++, left >>= CodedKey::kDigitBits) {
    const int difference = static_cast<int>(left & CodedKey::kDigitMask) -
                           static_cast<int>(static_cast<uint8_t>(digits[i]));
    if (difference != 0) return difference;
  }
  return 0;
}

}  // namespace

unsigned KeyCode::FirstColumn(unsigned context, const Slice& digits) const {
  unsigned column = 0;
  for (unsigned end = Columns(bytes_) - 1; column < end;) {
    const unsigned middle = (column + end) / 2;
    if (CompareDigits(Entry(context, middle), digits) < 0) {
      column = middle + 1;
    } else {
      end = middle;
    }
  }
  return column;
}

Slice KeyCode::Decode(const Slice& digits, const Slice& hint,
                      std::string* bytes, unsigned* context) const {
  bytes->clear();
  *context = 0;
  bool is_hinted = true;
  Slice left = digits;
  while (!left.empty()) {
    unsigned column = kAbsent;
    is_hinted = is_hinted && bytes->size() < hint.size();
    if (is_hinted) {
      column = ColumnOrAbsent(hint[bytes->size()]);
      is_hinted =
          column < kAbsent && CompareDigits(Entry(*context, column), left) == 0;
    }
    if (!is_hinted) column = FirstColumn(*context, left);
    const unsigned length = Length(Entry(*context, column));
    if (!IsByte(column) || length > left.size()) break;
    bytes->push_back(Byte(column));
    left.remove_prefix(length);
    *context = column;
  }
  return left;
}

void KeyCode::DecodeShared(const Slice& digits, std::string* bytes) const {
  unsigned context;
  Decode(digits, Slice(), bytes, &context);
}

void KeyCode::DecodeFirst(const Slice& digits, const Slice& hint,
                          std::string* key) const {
  unsigned context;
  const Slice left = Decode(digits, hint, key, &context);
  if (left.empty()) return;
  // The last digits belong to a part of a code.
  const unsigned column = FirstColumn(context, left);
  if (IsByte(column)) key->push_back(Byte(column));
}

void KeyCode::DescribePath(const Slice& key, size_t digits, size_t* shared,
                           std::string* limit) const {
  limit->clear();
  size_t left = digits;
  unsigned context = 0;
  size_t i = 0;
  unsigned entry = 0;
  for (; left > 0; i++) {
    const unsigned column = i < key.size() ? Column(key[i]) : 0;
    entry = Entry(context, column);
    if (i == key.size() || Length(entry) > left) break;
    left -= Length(entry);
    context = column;
  }
  *shared = i;
  if (left == 0) return;
  // The keys go on with one of several bytes, whose codes begin alike.
  char begin[CodedKey::kMaxDigits];
  left = std::min<size_t>(left, Length(entry));
  for (size_t digit = 0; digit < left; digit++) {
    begin[digit] = static_cast<char>(
        Digits(entry) >> (CodedKey::kDigitBits * digit) & CodedKey::kDigitMask);
  }
  const Slice prefix(begin, left);
  unsigned next = FirstColumn(context, prefix);
  while (next <= bytes_ && CompareDigits(Entry(context, next), prefix) == 0) {
    next++;
  }
  if (!IsByte(next)) return;
  limit->assign(key.data(), i);
  limit->push_back(Byte(next));
}

KeyCode::LastByte KeyCode::LastByteOf(const Slice& key, size_t digits,
                                      bool one_more) const {
  LastByte last;
  unsigned context = 0;
  unsigned column;
  unsigned entry;
  size_t left = digits;
  for (;;) {
    const bool is_end = last.before == key.size();
    column = is_end ? 0 : ColumnOrAbsent(key[last.before]);
    entry = Entry(context, column % kAbsent);
    if (is_end || Length(entry) >= left) break;
    left -= Length(entry);
    context = column % kAbsent;
    last.before++;
  }
  last.goes_on = one_more && left < Length(entry);
  if (last.goes_on) left++;
  if (!IsByte(column)) return last;
  const auto begins_alike = [&](unsigned other) {
    return FirstDifference(Entry(context, other), entry) >= left;
  };
  last.is_smallest = !begins_alike(column - 1);
  last.is_largest = column == bytes_ || !begins_alike(column + 1);
  return last;
}

}  // namespace ROCKSDB_NAMESPACE::protean
