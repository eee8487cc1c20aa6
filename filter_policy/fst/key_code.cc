// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/fst/key_code.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "util/coding.h"

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
      !TakeBytes(input, Size(bytes_, codes) - kHeaderSize, &code_by_column_)) {
    return false;
  }
  contexts_ = code_by_column_ + kColumnsSize + bytes_;
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

// ---- Alphabetic code ----

static_assert(CodedKey::kDigitBits == 2, "a node has two halves of two trees");

AlphabeticCode::AlphabeticCode(size_t symbols)
    : symbols_(symbols),
      forests_(2 * (symbols + 1) * (symbols + 1)),
      costs_from_(forests_.size()),
      costs_to_(forests_.size()) {}

uint64_t AlphabeticCode::BestPair(unsigned k, size_t begin, size_t end,
                                  uint16_t* split) const {
  const uint64_t* const first = &costs_from_[Index(k, begin, 0)];
  const uint64_t* const second = &costs_to_[Index(k, end, 0)];
  uint64_t best = std::numeric_limits<uint64_t>::max();
  size_t best_middle = 0;
  for (size_t middle = begin + 1; middle < end; middle++) {
    const uint64_t cost = first[middle] + second[middle];
    if (cost < best) {
      best = cost;
      best_middle = middle;
    }
  }
  *split = static_cast<uint16_t>(best_middle);
  return best;
}

void AlphabeticCode::Solve(const std::vector<uint64_t>& weights) {
  for (size_t end = 2; end <= symbols_; end++) {
    uint64_t sum = weights[end - 1];
    for (size_t begin = end - 1; begin-- > 0;) {
      sum += weights[begin];
      Forest* const one = &At(0, begin, end);
      Forest* const two = &At(1, begin, end);
      // Below its root, a tree has two forests of two trees.
      const uint64_t tree = sum + BestPair(1, begin, end, &one->split);
      const uint64_t trees = BestPair(0, begin, end, &two->split);
      two->is_tree = tree < trees;
      SetCost(0, begin, end, tree);
      SetCost(1, begin, end, std::min(tree, trees));
    }
  }
}

// Appends the ends of the one or two trees of a forest.
void AlphabeticCode::AppendTrees(size_t begin, size_t end,
                                 std::vector<size_t>* ends) {
  const Forest& forest = At(1, begin, end);
  if (!forest.is_tree) ends->push_back(forest.split);
  ends->push_back(end);
}

// Gives the symbols of a tree their digits after those of the root. False if
// they are too many.
bool AlphabeticCode::Assign(size_t begin, size_t end, unsigned digits,
                            unsigned length, std::vector<uint16_t>* entries) {
  if (end - begin == 1 && length > 0) {
    (*entries)[begin] =
        static_cast<uint16_t>(length << KeyCode::kLengthShift | digits);
    return true;
  }
  if (length == CodedKey::kMaxDigits) return false;
  std::vector<size_t> ends;
  if (end - begin == 1) {
    ends.push_back(end);
  } else {
    const size_t split = At(0, begin, end).split;
    AppendTrees(begin, split, &ends);
    AppendTrees(split, end, &ends);
  }
  for (unsigned digit = 0; digit < ends.size(); digit++) {
    if (!Assign(begin, ends[digit],
                digits | digit << (CodedKey::kDigitBits * length), length + 1,
                entries)) {
      return false;
    }
    begin = ends[digit];
  }
  return true;
}

void AlphabeticCode::Compute(std::vector<uint64_t> weights,
                             std::vector<uint16_t>* entries) {
  entries->assign(symbols_, 0);
  for (;;) {
    Solve(weights);
    if (Assign(0, symbols_, 0, 0, entries)) return;
    // The weights end up equal, with lengths of log4(symbols).
    uint64_t most = 0;
    for (uint64_t weight : weights) most = std::max(most, weight);
    for (uint64_t& weight : weights) weight = weight / 4 + most / 1024 + 1;
  }
}

// ---- Key code builder ----

namespace {

// A code of its own is worth its size in the block, 16 bits for each column, if
// it saves that much on what occurs after the context; half a bit a byte is
// usual.
constexpr uint64_t kOccurrencesPerColumn = 32;

// Bytes that do not occur after a context have codes, too, as if each had at
// least this part of all occurrences.
constexpr uint64_t kMinShare = 4096;

}  // namespace

std::string MakeKeyCode(const bool (&occurs)[256], const ByteCounts& counts) {
  const unsigned columns = counts.columns();
  const unsigned contexts = columns - 1;
  std::vector<std::vector<uint64_t>> weights(1, std::vector<uint64_t>(columns));
  std::string numbers;
  bool is_shared = false;
  for (unsigned context = 0; context < contexts; context++) {
    const uint32_t* const after = counts.After(context);
    const uint64_t total = std::accumulate(after, after + columns, uint64_t{0});
    if (total >= kOccurrencesPerColumn * columns) {
      numbers.push_back(static_cast<char>(weights.size()));
      weights.emplace_back(after, after + columns);
    } else {
      numbers.push_back(0);
      is_shared = true;
      for (unsigned i = 0; i < columns; i++) weights[0][i] += after[i];
    }
  }
  if (!is_shared) {
    weights.erase(weights.begin());
    for (char& number : numbers) number--;
  }

  const unsigned bytes = contexts - 1;
  const auto codes = static_cast<unsigned>(weights.size());
  std::string code(KeyCode::kHeaderSize + KeyCode::kColumnsSize, '\0');
  code[4] = static_cast<char>(bytes);
  code[5] = static_cast<char>(codes);
  unsigned column = 0;
  for (unsigned byte = 0; byte < 256; byte++) {
    if (occurs[byte]) code.push_back(static_cast<char>(byte));
    column += occurs[byte] ? 1 : 0;
    code[KeyCode::kHeaderSize + byte] = static_cast<char>(
        occurs[byte] ? column : KeyCode::kAbsent + column + 1);
  }
  code.append(numbers);
  code.resize(KeyCode::CodesOffset(bytes));
  AlphabeticCode optimal(columns);
  std::vector<uint16_t> entries;
  for (std::vector<uint64_t>& weight : weights) {
    const uint64_t least =
        std::accumulate(weight.begin(), weight.end(), uint64_t{0}) / kMinShare +
        1;
    for (uint64_t& w : weight) w += least;
    optimal.Compute(weight, &entries);
    for (uint16_t entry : entries) PutFixed16(&code, entry);
  }
  code.resize(KeyCode::Size(bytes, codes));
  return code;
}

void SetLongestPath(uint32_t digits, std::string* code) {
  EncodeFixed32(&(*code)[0], digits);
}

}  // namespace ROCKSDB_NAMESPACE::protean
