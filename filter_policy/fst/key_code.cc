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
  return static_cast<unsigned>(
      FirstWhere(0, Columns(bytes_) - 1, [&](uint64_t column) {
        const auto number = static_cast<unsigned>(column);
        return CompareDigits(Entry(context, number), digits) >= 0;
      }));
}

void KeyCode::Decode(const Slice& digits, const Slice& hint, bool to_first,
                     std::string* bytes) const {
  bytes->clear();
  unsigned context = 0;
  bool is_hinted = true;
  Slice left = digits;
  while (!left.empty()) {
    unsigned column = kAbsent;
    is_hinted = is_hinted && bytes->size() < hint.size();
    if (is_hinted) {
      column = ColumnOrAbsent(hint[bytes->size()]);
      is_hinted =
          column < kAbsent && CompareDigits(Entry(context, column), left) == 0;
    }
    if (!is_hinted) column = FirstColumn(context, left);
    const unsigned length = Length(Entry(context, column));
    if (!IsByte(column) || length > left.size()) break;
    bytes->push_back(Byte(column));
    left.remove_prefix(length);
    context = column;
  }
  if (left.empty() || !to_first) return;
  // The last digits belong to a part of a code.
  const unsigned column = FirstColumn(context, left);
  if (IsByte(column)) bytes->push_back(Byte(column));
}

inline KeyCode::PathEnd KeyCode::PathEndOf(const Slice& key,
                                           size_t digits) const {
  PathEnd end;
  end.left = digits;
  for (;; end.before++) {
    const bool is_end = end.before == key.size();
    end.column = is_end ? 0 : ColumnOrAbsent(key[end.before]);
    end.entry = Entry(end.context, end.column % kAbsent);
    if (is_end || Length(end.entry) >= end.left) return end;
    end.left -= Length(end.entry);
    end.context = end.column % kAbsent;
  }
}

void KeyCode::DescribePath(const Slice& key, size_t digits, size_t* shared,
                           std::string* limit) const {
  limit->clear();
  const PathEnd end = PathEndOf(key, digits);
  const bool is_whole =
      end.before < key.size() && Length(end.entry) == end.left;
  *shared = end.before + (is_whole ? 1 : 0);
  if (is_whole) return;
  // The keys go on with one of several bytes, whose codes begin alike.
  const size_t alike = std::min<size_t>(end.left, Length(end.entry));
  unsigned next = end.column % kAbsent + 1;
  while (next <= bytes_ &&
         FirstDifference(Entry(end.context, next), end.entry) >= alike) {
    next++;
  }
  if (!IsByte(next)) return;
  limit->assign(key.data(), end.before);
  limit->push_back(Byte(next));
}

KeyCode::LastByte KeyCode::LastByteOf(const Slice& key, size_t digits,
                                      bool one_more) const {
  const PathEnd end = PathEndOf(key, digits);
  LastByte last;
  last.before = end.before;
  last.goes_on = one_more && end.left < Length(end.entry);
  if (!IsByte(end.column)) return last;
  const size_t known = end.left + (last.goes_on ? 1 : 0);
  const auto begins_alike = [&](unsigned other) {
    return FirstDifference(Entry(end.context, other), end.entry) >= known;
  };
  last.is_smallest = !begins_alike(end.column - 1);
  last.is_largest = end.column == bytes_ || !begins_alike(end.column + 1);
  return last;
}

// ---- Alphabetic codes ----

namespace {

static_assert(CodedKey::kDigitBits == 2, "a node has two halves of two trees");

// Hu and Tucker's methods are for digits of one bit. With digits of two bits, a
// code is a tree of nodes with up to four children, and the best one for an
// interval of symbols is found from the best ones for its parts, as are optimal
// search trees (Gilbert and Moore, 1959): in a time that grows with the cube of
// the number of symbols. For a hundred, that is half a millisecond.
class AlphabeticCode {
 public:
  explicit AlphabeticCode(size_t symbols)
      : symbols_(symbols),
        splits_(2 * (symbols + 1) * (symbols + 1)),
        costs_from_(splits_.size()),
        costs_to_(splits_.size()) {}

  std::vector<uint16_t> Compute(std::vector<uint64_t> weights) {
    std::vector<uint16_t> entries(symbols_);
    for (;;) {
      Solve(weights);
      if (Assign(0, symbols_, 0, 0, &entries)) return entries;
      // The weights end up equal, with lengths of log4(symbols).
      const uint64_t most = *std::max_element(weights.begin(), weights.end());
      for (uint64_t& weight : weights) weight = weight / 4 + most / 1024 + 1;
    }
  }

 private:
  // The place of the best forest of up to 2^k trees over an interval, k = 0, 1.
  size_t Index(unsigned k, size_t begin, size_t end) const {
    return (k * (symbols_ + 1) + begin) * (symbols_ + 1) + end;
  }
  void SetCost(unsigned k, size_t begin, size_t end, uint64_t cost) {
    costs_from_[Index(k, begin, end)] = cost;
    costs_to_[Index(k, end, begin)] = cost;
  }
  // The least cost of two forests of up to 2^k trees each, and where the second
  // one begins.
  uint64_t BestPair(unsigned k, size_t begin, size_t end,
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
  void Solve(const std::vector<uint64_t>& weights) {
    for (size_t end = 2; end <= symbols_; end++) {
      uint64_t sum = weights[end - 1];
      for (size_t begin = end - 1; begin-- > 0;) {
        sum += weights[begin];
        uint16_t* const two = &splits_[Index(1, begin, end)];
        // Below its root, a tree has two forests of two trees.
        const uint64_t tree =
            sum + BestPair(1, begin, end, &splits_[Index(0, begin, end)]);
        const uint64_t trees = BestPair(0, begin, end, two);
        if (tree < trees) *two = 0;
        SetCost(0, begin, end, tree);
        SetCost(1, begin, end, std::min(tree, trees));
      }
    }
  }
  // Gives the symbols of a tree their digits after those of the root. False if
  // they are too many.
  bool Assign(size_t begin, size_t end, unsigned digits, unsigned length,
              std::vector<uint16_t>* entries) const {
    if (end - begin == 1 && length > 0) {
      (*entries)[begin] =
          static_cast<uint16_t>(length << KeyCode::kLengthShift | digits);
      return true;
    }
    if (length == CodedKey::kMaxDigits) return false;
    std::vector<size_t> ends;  // of the trees below the root
    const auto add_forest = [&](size_t from, size_t to) {
      const size_t split = splits_[Index(1, from, to)];
      if (split > 0) ends.push_back(split);
      ends.push_back(to);
    };
    const size_t split = splits_[Index(0, begin, end)];
    if (split > 0) add_forest(begin, split);
    add_forest(std::max(begin, split), end);
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

  const size_t symbols_;
  // Where the second of two forests begins: of those below the root of one
  // tree, or of two trees. 0 for a single symbol, and if one tree is better
  // than two.
  std::vector<uint16_t> splits_;
  // The least cost of each forest, twice: those with one begin are side by side
  // in one list, those with one end in the other.
  std::vector<uint64_t> costs_from_;
  std::vector<uint64_t> costs_to_;
};

}  // namespace

std::vector<std::vector<uint16_t>> AlphabeticCodes(
    const std::vector<std::vector<uint64_t>>& weights) {
  AlphabeticCode code(weights.front().size());
  std::vector<std::vector<uint16_t>> codes;
  for (const auto& list : weights) codes.push_back(code.Compute(list));
  return codes;
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
  const auto columns = static_cast<unsigned>(counts.size());
  const unsigned contexts = columns - 1;
  std::vector<std::vector<uint64_t>> weights(1, std::vector<uint64_t>(columns));
  std::string numbers;
  bool is_shared = false;
  for (unsigned context = 0; context < contexts; context++) {
    const std::vector<uint32_t>& after = counts[context];
    const uint64_t total =
        std::accumulate(after.begin(), after.end(), uint64_t{0});
    if (total >= kOccurrencesPerColumn * columns) {
      numbers.push_back(static_cast<char>(weights.size()));
      weights.emplace_back(after.begin(), after.end());
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
  for (std::vector<uint64_t>& list : weights) {
    const uint64_t least =
        std::accumulate(list.begin(), list.end(), uint64_t{0}) / kMinShare + 1;
    for (uint64_t& weight : list) weight += least;
  }
  for (const std::vector<uint16_t>& entries : AlphabeticCodes(weights)) {
    for (uint16_t entry : entries) PutFixed16(&code, entry);
  }
  code.resize(KeyCode::Size(bytes, codes));
  return code;
}

}  // namespace ROCKSDB_NAMESPACE::protean
