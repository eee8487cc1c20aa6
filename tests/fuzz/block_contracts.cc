// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/proteus.h"
#include "tests/filter_blocks.h"
#include "util/hash.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Blocks of tests and fuzzers are small.
constexpr int kMaxLeaves = 10000;

class Examiner {
 public:
  Examiner(const FilterBlock& block, const std::vector<std::string>& strings,
           size_t range_step)
      : block_(block), strings_(strings), range_step_(range_step) {}

  BlockExam Run() {
    CheckState();
    // A block that is refused says the same whatever it is asked.
    const size_t count = strings_.size();
    const size_t walk_step = block_.CanFilter() ? 3 : count;
    const size_t range_step = block_.CanFilter() ? range_step_ : count;
    for (size_t i = 0; i < count; i++) {
      CheckString(strings_[i]);
      if (i % walk_step == 0) Walk(strings_[i]);
      for (size_t j = (i + 1) % range_step; j < count; j += range_step) {
        CheckRange(strings_[i], strings_[j]);
      }
      CheckRange(strings_[i], strings_[i]);
    }
    CheckBatches();
    return exam_;
  }

  void CheckParts(const Slice& contents) {
    const FilterDirectory& directory = block_.directory();
    const auto bytes_of = [&contents](const FilterUnit& unit) {
      return Slice(contents.data() + unit.offset, unit.size());
    };
    bool all_open = true;
    for (size_t i = 0; i < directory.parts().size(); i++) {
      const FilterPart& part = directory.parts()[i];
      const Slice first = bytes_of(part.first);
      std::unique_ptr<RangeFilter> filter;
      const bool opens = OpenUnit({i, false}, first, &filter);
      if (!opens) {
        CheckRefusedPart(i);
      } else if (block_.header().kind == kSurfKind) {
        Iterate(static_cast<const Surf&>(*filter));
      }
      all_open = opens && all_open;
      if (!opens || !part.HasSecond()) continue;
      const Slice second = bytes_of(part.second);
      all_open = OpenUnit({i, true}, second, &filter) &&
                 directory.OpenBoth(i, first, second, &filter).ok() && all_open;
    }
    Expect(!HasParts() || all_open == block_.status().ok(),
           "a block is damaged if one of its parts is");
  }

 private:
  bool OpenUnit(const UnitName& name, const Slice& bytes,
                std::unique_ptr<RangeFilter>* filter) {
    const char* const end = bytes.data() + bytes.size();
    const bool ends_with_zeros =
        std::all_of(end, end + FilterDirectory::kUnitTrailer,
                    [](char byte) { return byte == '\0'; });
    filter->reset();
    const Status s = block_.directory().OpenUnit(name, bytes, filter);
    Expect(s.ok() == (*filter != nullptr), "a unit that is accepted is opened");
    return s.ok() && ends_with_zeros;
  }
  void Expect(bool holds, const char* promise) {
    if (!holds && exam_.broken == nullptr) exam_.broken = promise;
  }
  void Note(uint64_t answer) {
    exam_.answers = (exam_.answers ^ answer) * 0x9e3779b97f4a7c15u;
    exam_.answers ^= exam_.answers >> 29;
  }
  bool Note(bool answer) {
    Note(uint64_t{answer} + 1);
    return answer;
  }
  void Note(const Slice& bytes) { Note(GetSliceHash64(bytes)); }

  bool HasParts() const { return !block_.directory().parts().empty(); }

  void CheckState() {
    const Status& status = block_.status();
    Note(uint64_t{static_cast<uint8_t>(status.code())});
    Expect(status.ok() || status.IsCorruption() || status.IsNotSupported(),
           "a block is damaged or unknown");
    if (block_.filter() != nullptr) {
      Note(Slice(block_.filter()->Report().design));
    }
    const bool is_none = block_.header().kind == FilterKind::kAlwaysTrue;
    if (status.ok()) {
      Expect(block_.CanFilter() != is_none, "a block that is accepted filters");
      Expect((block_.filter() != nullptr) == HasParts(),
             "a part that is accepted is opened");
    } else {
      Expect(HasParts() || (is_none && !block_.HasKeys()),
             "nothing is known of a directory that is refused");
    }
    if (!block_.CanFilter()) {
      Expect(block_.filter() == nullptr,
             "a block whose parts are all refused filters nothing");
      Expect(!block_.LowerBoundIsLoose() && !block_.LowerBoundIsSlow(Slice()),
             "a block that is refused has no lower bounds");
    }
  }

  void CheckString(const std::string& string) {
    const bool has_key = Note(block_.KeyMayMatch(string));
    const bool has_prefix = Note(block_.PrefixMayMatch(string));
    const bool may_have_above = Note(block_.MayHaveKeyAtOrAbove(string));
    const bool has_above = Note(block_.HasKeyAtOrAbove(string));
    const bool has_below = Note(block_.HasKeyBelow(string));
    Expect(block_.KeyMayMatch(string) == has_key, "an answer is repeated");
    Expect(may_have_above || !has_above,
           "no key is at or above a string that all keys are below");
    Expect(block_.HasKeys() || !has_below, "a key below is one of the keys");
    Expect(block_.CanFilter() || (may_have_above && !has_below),
           "nothing is known of the keys of a block that filters nothing");
    Expect(block_.CanFilter() || (has_key && has_prefix && !has_above),
           "a block that is refused lets all queries through");
  }

  // The strings in the range of a part that cannot be used are let through.
  void CheckRefusedPart(size_t part) {
    if (!block_.CanFilter()) return;  // CheckString checks that
    const FilterDirectory& directory = block_.directory();
    const auto check = [&](const Slice& string) {
      if (directory.Find(string) != part) return;
      const uint32_t lengths = block_.header().key_lengths;
      const bool fits =
          lengths == 0 || (lengths & FilterBlockHeader::LengthBit(string)) != 0;
      Expect(block_.KeyMayMatch(string) == fits,
             "a part that is refused lets all keys through");
      const bool inside = string.compare(block_.header().smallest) >= 0 &&
                          block_.MayHaveKeyAtOrAbove(string);
      Expect(block_.RangeMayMatch(string, string, true) == inside,
             "a part that is refused lets all ranges through");
      std::string bound;
      Expect(!inside || (block_.LowerBound(string, &bound) && bound == string),
             "a part that is refused skips nothing");
    };
    check(directory.parts()[part].begin);
    for (const std::string& string : strings_) check(string);
  }

  void CheckBatches() {
    // More than filters ask for at once, and a rest.
    std::vector<std::string> keys = strings_;
    for (size_t i = 0; keys.size() < 37; i++) {
      keys.push_back(strings_[i % strings_.size()]);
    }
    const std::vector<bool> answers = AnswersToBatch(block_, keys);
    for (size_t i = 0; i < keys.size(); i++) {
      Expect(answers[i] == block_.KeyMayMatch(keys[i]),
             "a key has one answer, alone or among others");
    }
  }

  void CheckRange(const Slice& lo, const Slice& hi) {
    const bool closed = Note(block_.RangeMayMatch(lo, hi, true));
    const bool open = Note(block_.RangeMayMatch(lo, hi, false));
    const int order = lo.compare(hi);
    if (block_.CanFilter() && block_.status().ok()) {
      Expect(order < 0 || !open, "a range that can hold nothing is empty");
      Expect(order <= 0 || !closed, "an inverted range is empty");
    }
    Expect(block_.CanFilter() || (closed && open),
           "a block that cannot filter excludes no range");
    if (block_.CanFilter() && order <= 0) {
      const bool below = hi.compare(block_.header().smallest) < 0;
      Expect((!below && block_.MayHaveKeyAtOrAbove(lo)) || !closed,
             "a range outside of the keys is empty");
    }
    for (const bool inclusive : {false, true}) {
      Count(lo, hi, inclusive, inclusive ? closed : open);
    }
  }

  void Count(const Slice& lo, const Slice& hi, bool inclusive, bool may_match) {
    RangeCount count;
    if (!Note(block_.CountRange(lo, hi, inclusive, &count))) return;
    Expect(block_.CanFilter(), "only what filters counts");
    Note(count.count);
    Note(count.low_ambiguous);
    Note(count.high_ambiguous);
    Expect(count.low_shared <= lo.size() && count.high_shared <= hi.size(),
           "a key shares no more with a bound than the bound has");
    const int order = lo.compare(hi);
    Expect(order < 0 || (order == 0 && inclusive) || count.count == 0,
           "a range that can hold nothing counts none");
    Expect(may_match || block_.header().num_keys > 0 || count.count == 0,
           "a block without keys counts none");
  }

  // Goes up as a search does, from key to key.
  void Walk(const std::string& target) {
    std::string at = target;
    std::string bound;
    for (int steps = 0; steps < 4; steps++) {
      const bool found = Note(block_.LowerBound(at, &bound));
      Expect(found || block_.CanFilter(),
             "a search ends only if the keys are known");
      if (!found) return;
      Note(Slice(bound));
      Expect(bound >= at, "a search never goes back");
      Expect(bound == at || block_.MayHaveKeyAtOrAbove(bound),
             "a search goes no further than the largest key");
      CheckSettled(bound);
      CheckString(bound);
      CheckRange(at, bound);
      at = bound + '\0';
      CheckRange(bound, at);
    }
  }

  // A search that has been sent to `bound` asks again. Where the labels of a
  // damaged trie are out of order, each of its leaves may send the search on
  // once more, or end it.
  void CheckSettled(std::string bound) {
    const bool in_order = !HasTrie();
    int moves_left = in_order ? 0 : kMaxLeaves;
    std::string next;
    for (;; moves_left--, bound = next) {
      const bool found = block_.LowerBound(bound, &next);
      Expect(found || !in_order, "a search finds where it has been sent");
      if (!found || next == bound) return;
      Expect(next > bound, "a search never goes back");
      Expect(moves_left > 0, "a search stays where it has been sent");
      if (exam_.broken != nullptr) return;
    }
  }
  // Whether a part may have one.
  bool HasTrie() const {
    if (block_.header().kind != kProteusKind) return true;
    const std::vector<FilterPart>& parts = block_.directory().parts();
    return std::any_of(parts.begin(), parts.end(), [](const FilterPart& part) {
      ProteusHeader header;
      return !header.DecodeFrom(part.design) || header.design.trie_bits() > 0;
    });
  }

  void Iterate(const Surf& surf) {
    // Counting visits every level, so their number must be a possible one.
    Expect(surf.fst().height() <= surf.fst().num_nodes(),
           "a trie has no more levels than nodes");
    Surf::Iterator it(&surf);
    const auto walk = [&](int steps) {
      for (; it.Valid() && steps > 0; steps--, it.Next()) {
        Note(it.key_prefix());
        Note(it.real_suffix());
        Note(it.IsWholeKey());
      }
    };
    for (const std::string& target : strings_) {
      it.Seek(target);
      walk(6);
    }
    it.SeekToFirst();
    walk(200);
  }

  const FilterBlock& block_;
  const std::vector<std::string>& strings_;
  const size_t range_step_;
  BlockExam exam_;
};

}  // namespace

BlockExam Examine(const FilterBlock& block,
                  const std::vector<std::string>& strings, size_t range_step,
                  const Slice* contents) {
  Examiner examiner(block, strings, range_step);
  if (contents != nullptr) examiner.CheckParts(*contents);
  return examiner.Run();
}

}  // namespace ROCKSDB_NAMESPACE::protean
