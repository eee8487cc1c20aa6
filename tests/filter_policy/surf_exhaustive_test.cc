// SPDX-License-Identifier: Apache-2.0

//  SuRF over all subsets of small sets of difficult keys, asked all queries
//  around them. Each answer must be the one that the definition of SuRF gives
//  (SuRF paper, sections 3.1 to 3.5): no false negative, and no false positive
//  but those that the stored prefixes and suffix bits make inevitable.
//
//  The model shares no code with the product, in which a mistake would be on
//  both sides and never show. It has no trie: its leaves are intervals, of all
//  strings that the key of a leaf may be. (surf_test.cc has hash bits, prefix
//  bits, and tries of every encoding.)

#include <map>
#include <set>

#include "filter_policy/filter_block.h"
#include "tests/filter_blocks.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// ---- The definition ----

// The bits of a string as '0' and '1', which order as the bytes do.
std::string Bits(const std::string& bytes) {
  std::string bits;
  for (char byte : bytes) {
    for (int i = 7; i >= 0; i--) bits += (byte >> i & 1) != 0 ? '1' : '0';
  }
  return bits;
}

// The first string whose bits begin with these.
std::string BytesFromBits(const std::string& bits) {
  std::string bytes((bits.size() + 7) / 8, '\0');
  for (size_t i = 0; i < bits.size(); i++) {
    if (bits[i] == '1') bytes[i / 8] |= static_cast<char>(0x80 >> i % 8);
  }
  return bytes;
}

// All strings whose bits are in [begin, end).
struct Interval {
  std::string begin;
  std::string end;
};

Interval Just(const std::string& key) { return {Bits(key), Bits(key) + "0"}; }

// The strings that share with `key` its first `depth` bytes and the `real_bits`
// bits after them. A string that ends within these bits is padded with zeros,
// so the first string does without the zero bytes at their end.
//
// If the bits end within a byte, so does `begin`, below every string that goes
// on there with zeros: SuRF never takes such a string for the first one
// (SurfSuffix::RealIsWhole).
Interval WithSuffix(const std::string& key, size_t depth, size_t real_bits) {
  const std::string prefix = Bits(key.substr(0, depth));
  std::string suffix = Bits(key.substr(depth));
  suffix.resize(real_bits, '0');
  // '2' is above every bit that can follow.
  const std::string end = prefix + suffix + "2";
  while (!suffix.empty()) {
    const size_t last_byte = (suffix.size() - 1) / 8 * 8;
    if (suffix.find('1', last_byte) != std::string::npos) break;
    suffix.resize(last_byte);
  }
  return {prefix + suffix, end};
}

// ---- The model ----

// An interval whose ends are their numbers among all ends that occur, in order.
struct Span {
  int begin = 0;
  int end = 0;

  bool Holds(int place) const { return begin <= place && place < end; }
  bool Meets(const Span& other) const {
    return std::max(begin, other.begin) < std::min(end, other.end);
  }
};

struct Leaf {
  size_t depth = 0;   // bytes in the stored prefix
  std::string first;  // the first string that the key may be
  Span span;          // all strings that the key may be
};

using Subset = uint32_t;  // of the keys, with a bit for each

struct Query {
  std::string string;
  Span span;  // the string alone
};

// What a filter says, or a block, which also knows its first and last key.
struct Answers {
  Keys keys;
  std::vector<const Leaf*> leaves;  // in the same order
  bool of_block = false;

  // A block knows the first 64 bytes of its smallest and largest key.
  static std::string Known(const std::string& key) { return key.substr(0, 64); }
  static bool IsAbove(const std::string& string, const std::string& key) {
    return key.size() < 64 ? string > key : Known(string) > Known(key);
  }

  // The leaf that a lookup ends in, or nullptr.
  const Leaf* LeafOf(const Query& query) const {
    for (const Leaf* leaf : leaves) {
      if (leaf->span.Holds(query.span.begin)) return leaf;
    }
    return nullptr;
  }

  RangeCount Count(const Query& lo, const Query& hi, bool hi_inclusive) const {
    RangeCount count;
    if (of_block) {
      const std::string smallest = Known(keys.front());
      if (hi.string < smallest || (hi.string == smallest && !hi_inclusive) ||
          IsAbove(lo.string, keys.back())) {
        return count;
      }
      if (lo.string <= smallest && IsAbove(hi.string, keys.back())) {
        count.count = keys.size();
        return count;
      }
    }
    const Span range = {lo.span.begin,
                        hi_inclusive ? hi.span.end : hi.span.begin};
    for (const Leaf* leaf : leaves) {
      if (!leaf->span.Meets(range)) continue;
      count.count++;
      if (leaf->span.begin < range.begin) {
        count.low_ambiguous = true;
        count.low_shared = leaf->depth;
      }
      if (leaf->span.end > range.end) {
        count.high_ambiguous = true;
        count.high_shared = leaf->depth;
      }
    }
    return count;
  }

  bool LowerBound(const Query& target, std::string* bound) const {
    if (of_block && IsAbove(target.string, keys.back())) return false;
    for (const Leaf* leaf : leaves) {
      if (leaf->span.end <= target.span.begin) continue;
      *bound = std::max(target.string, leaf->first);
      if (of_block) {
        *bound = std::max(*bound, Known(keys.front()));
        if (*bound > Known(keys.back())) *bound = target.string;
      }
      return true;
    }
    return false;
  }
};

// The SuRFs of all subsets of `keys`, with a number of real bits. Keys and
// queries ascend, and every key is a query.
class Model {
 public:
  Model(const Keys& keys, const Keys& queries, size_t real_bits)
      : keys_(keys), leaves_(keys.size()) {
    for (const std::string& query : queries) queries_.push_back({query, {}});
    std::vector<std::pair<Interval, Span*>> intervals;
    for (Query& query : queries_) {
      intervals.emplace_back(Just(query.string), &query.span);
    }
    for (size_t i = 0; i < keys.size(); i++) {
      const std::string& key = keys[i];
      leaves_[i].resize(key.size() + 1);
      for (size_t shared = 0; shared <= key.size(); shared++) {
        // The prefix has one byte more than is shared. If the key has no more
        // bytes, it is stored whole, with a terminator.
        const bool whole = shared == key.size();
        const size_t depth = whole ? shared : shared + 1;
        const Interval interval =
            whole ? Just(key) : WithSuffix(key, depth, real_bits);
        leaves_[i][shared] = {depth, BytesFromBits(interval.begin), {}};
        intervals.emplace_back(interval, &leaves_[i][shared].span);
      }
    }
    std::map<std::string, int> numbers;
    for (const auto& [interval, span] : intervals) {
      numbers[interval.begin] = numbers[interval.end] = 0;
    }
    int next = 0;
    for (auto& number : numbers) number.second = next++;
    for (const auto& [interval, span] : intervals) {
      *span = {numbers[interval.begin], numbers[interval.end]};
    }
  }

  const std::vector<Query>& queries() const { return queries_; }

  Answers AnswersOf(Subset subset) const {
    Answers answers;
    for (size_t i = 0; i < keys_.size(); i++) {
      if ((subset >> i & 1) == 0) continue;
      size_t shared = 0;
      for (size_t j = 0; j < keys_.size(); j++) {
        if ((subset >> j & 1) == 0 || j == i) continue;
        shared = std::max(shared, Slice(keys_[i]).difference_offset(keys_[j]));
      }
      answers.keys.push_back(keys_[i]);
      answers.leaves.push_back(&leaves_[i][shared]);
    }
    return answers;
  }

 private:
  const Keys keys_;
  std::vector<Query> queries_;
  // A leaf for each number of bytes that a key may share with another one.
  std::vector<std::vector<Leaf>> leaves_;
};

// ---- The checks; a Filter is a RangeFilter or a block ----

template <typename Filter>
void CheckKeys(const Filter& filter, const std::vector<Query>& queries,
               const Answers& answers) {
  Keys strings;
  for (const Query& query : queries) strings.push_back(query.string);
  const std::vector<bool> found = AnswersToBatch(filter, strings);
  for (size_t i = 0; i < queries.size(); i++) {
    const std::string& query = queries[i].string;
    ASSERT_EQ(found[i], filter.KeyMayMatch(query)) << Hex(query);
    ASSERT_EQ(answers.LeafOf(queries[i]) != nullptr, found[i]) << Hex(query);
    ASSERT_LE(
        std::binary_search(answers.keys.begin(), answers.keys.end(), query),
        found[i])
        << Hex(query);
  }
}

template <typename Filter>
void CheckLowerBounds(const Filter& filter, const std::vector<Query>& queries,
                      const Answers& answers) {
  const Keys& keys = answers.keys;
  for (const Query& query : queries) {
    const std::string& target = query.string;
    std::string wanted;
    std::string bound;
    const bool found = filter.LowerBound(target, &bound);
    ASSERT_EQ(answers.LowerBound(query, &wanted), found) << Hex(target);
    const auto next = std::lower_bound(keys.begin(), keys.end(), target);
    ASSERT_TRUE(found || next == keys.end()) << Hex(target);
    if (!found) continue;
    ASSERT_EQ(Hex(wanted), Hex(bound)) << Hex(target);
    ASSERT_LE(target, bound);
    ASSERT_TRUE(next == keys.end() || *next >= bound) << Hex(target);
    std::string again;
    ASSERT_TRUE(filter.LowerBound(bound, &again)) << Hex(target);
    ASSERT_EQ(bound, again) << Hex(target);
  }
}

// Checks the false positive flag of moveToNext.
void CheckSeeks(const Surf& surf, const std::vector<Query>& queries,
                const Answers& answers) {
  Surf::Iterator it(&surf);
  for (const Query& query : queries) {
    const Leaf* leaf = answers.LeafOf(query);
    const bool wanted = leaf != nullptr && leaf->span.begin < query.span.begin;
    ASSERT_EQ(wanted, it.Seek(query.string)) << Hex(query.string);
  }
}

bool SameCount(const RangeCount& a, const RangeCount& b) {
  return a.count == b.count && a.low_ambiguous == b.low_ambiguous &&
         a.high_ambiguous == b.high_ambiguous &&
         (!a.low_ambiguous || a.low_shared == b.low_shared) &&
         (!a.high_ambiguous || a.high_shared == b.high_shared);
}

template <typename Filter>
void CheckRanges(const Filter& filter, const std::vector<Query>& queries,
                 const Answers& answers) {
  for (const Query& lo : queries) {
    for (const Query& hi : queries) {
      for (bool inclusive : {false, true}) {
        const RangeCount wanted = answers.Count(lo, hi, inclusive);
        RangeCount count;
        ASSERT_TRUE(
            filter.RangeMayMatch(lo.string, hi.string, inclusive) ==
                (wanted.count > 0) &&
            filter.CountRange(lo.string, hi.string, inclusive, &count) &&
            SameCount(wanted, count))
            << Hex(lo.string) << " to " << Hex(hi.string)
            << (inclusive ? " inclusive: " : ": ") << count.count
            << " counted, not " << wanted.count;
      }
    }
  }
}

void CheckEnds(const FilterBlock& block, const std::vector<Query>& queries,
               const Answers& answers) {
  const std::string& smallest = answers.keys.front();
  const std::string& largest = answers.keys.back();
  for (const Query& query : queries) {
    const std::string& bound = query.string;
    ASSERT_EQ(Answers::IsAbove(bound, smallest), block.HasKeyBelow(bound));
    ASSERT_EQ(bound <= Answers::Known(largest), block.HasKeyAtOrAbove(bound));
    ASSERT_NE(Answers::IsAbove(bound, largest),
              block.MayHaveKeyAtOrAbove(bound));
  }
}

// ---- Keys and queries ----

// All strings of these letters up to a length, each after `head`; and `more`.
Keys Words(const std::string& letters, size_t length,
           const std::string& head = "", const Keys& more = {}) {
  Keys words = more;
  for (const std::string& word : StringsOver(letters, length)) {
    words.push_back(head + word);
  }
  SortUnique(&words);
  return words;
}

// The keys, and each of them with every letter after it, without its last byte,
// and with that byte one lower and one higher.
Keys AllQueriesAround(const Keys& keys, const std::string& letters) {
  std::set<std::string> queries(keys.begin(), keys.end());
  for (const std::string& key : keys) {
    for (char letter : letters) queries.insert(key + letter);
    if (key.empty()) continue;
    const std::string head = key.substr(0, key.size() - 1);
    queries.insert(head);
    queries.insert(head + static_cast<char>(key.back() - 1));
    queries.insert(head + static_cast<char>(key.back() + 1));
  }
  return Keys(queries.begin(), queries.end());
}

// A literal with zeros in it.
std::string operator""_s(const char* bytes, size_t size) {
  return std::string(bytes, size);
}

void CheckSubsets(const Keys& keys, const std::string& letters,
                  uint32_t real_bits, bool blocks = false) {
  const Model model(keys, AllQueriesAround(keys, letters), real_bits);
  const std::vector<Query>& queries = model.queries();
  // One filter of those that are the same to the model is asked for all ranges.
  std::set<std::string> checked;
  // A block of no keys has no SuRF.
  for (Subset subset = 1; subset >> keys.size() == 0; subset++) {
    SCOPED_TRACE(std::to_string(real_bits) + " real bits, subset " +
                 std::to_string(subset) + ", last key " + Hex(keys.back()));
    Answers answers = model.AnswersOf(subset);
    const auto contents = BuildSurfBlock(answers.keys, {0, real_bits}, {});
    const FilterBlock block(contents);
    ASSERT_TRUE(block.CanFilter()) << block.status().ToString();
    const RangeFilter& filter = *block.filter();
    CheckKeys(filter, queries, answers);
    CheckLowerBounds(filter, queries, answers);
    CheckSeeks(static_cast<const Surf&>(filter), queries, answers);
    std::string same;
    for (const Leaf* leaf : answers.leaves) {
      same += std::to_string(leaf->depth) + " " +
              std::to_string(leaf->span.begin) + " " +
              std::to_string(leaf->span.end) + " ";
    }
    if (checked.insert(same).second) CheckRanges(filter, queries, answers);
    if (blocks) {
      answers.of_block = true;
      CheckKeys(block, queries, answers);
      CheckLowerBounds(block, queries, answers);
      CheckRanges(block, queries, answers);
      CheckEnds(block, queries, answers);
    }
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace

TEST(SurfExhaustiveTest, Suffixes) {
  const std::string bits = "\0\1"_s;
  const std::string ends = "\0\xff"_s;
  const std::pair<Keys, std::string> sets[] = {
      {Words(bits, 2, "\0"_s, Words(bits, 2)), bits},
      {Words(ends, 2, "\xff", Words(ends, 2)), ends},
      {Words("ab", 2, "b", Words("ab", 2)), "ab"},
      // Each key is a prefix of the next one.
      {Words("a", 6, "", {"aaab", "ab"}), "ab"},
      {Words("\0"_s, 3, "k", {"", "k\0\1"_s, "k\0\0\1"_s, "k\1"}), bits},
      // The real bits end within a byte.
      {{"", "x", "x\x20", "x\x40", "x\x60", "x\x60\0"_s, "x\x60\x60", "y"},
       "\0\x20\x60\x80"_s},
      // These keys have runs, and room for 32 real bits.
      {{"k", "kabc", "kabc\0\0"_s, "kabcd", "kabcdefg", "kabcdefh", "kaz", "l"},
       "\0dez"_s}};
  for (const auto& [keys, letters] : sets) {
    for (uint32_t real_bits : {0, 3, 4, 8, 32}) {
      CheckSubsets(keys, letters, real_bits);
      if (HasFailure()) return;
    }
  }
}

TEST(SurfExhaustiveTest, AllWordsOfThreeBytes) {
  CheckSubsets(Words("\0\1"_s, 3), "\0\1"_s, 0);
}

TEST(SurfExhaustiveTest, Blocks) {
  // A block stores 64 bytes of a longer key.
  const std::string head(62, 'p');
  const Keys deep = Words("p", 3, head, {head + "ppq", head + "pq", "a", "q"});
  for (uint32_t real_bits : {0, 8}) {
    for (const Keys& keys : {Words("\0\xff"_s, 2, "", {"\0a"_s}), deep}) {
      CheckSubsets(keys, "\0p\xff"_s, real_bits, /*blocks=*/true);
      if (HasFailure()) return;
    }
  }
}

}  // namespace ROCKSDB_NAMESPACE::protean
