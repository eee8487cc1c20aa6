// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/parted_filter.h"

#include <utility>

#include "filter_policy/bits/bit_util.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// The filter of no keys, which has no parts.
class EmptyFilter final : public RangeFilter {
 public:
  bool KeyMayMatch(const Slice&) const override { return false; }
  bool RangeMayMatch(const Slice&, const Slice&, bool) const override {
    return false;
  }
  bool LowerBound(const Slice&, std::string*) const override { return false; }
};

}  // namespace

void FileRangeFilter::SetUp(const RangeFilter* only, bool can_filter) {
  const FilterBlockHeader& header = directory_.header();
  can_filter_ = can_filter && header.kind != FilterKind::kAlwaysTrue;
  const FilterType* const type = FindFilterType(header.kind);
  parts_may_be_loose_ = can_filter_ && type != nullptr && type->may_be_loose;
  static const auto* const empty = new EmptyFilter;
  only_ = can_filter_ && directory_.parts().empty() ? empty : only;
  key_lengths_ = header.key_lengths == 0 ? ~uint32_t{0} : header.key_lengths;
  smallest_head_ =
      LoadBigEndian(header.smallest.data(), header.smallest.size());
  largest_head_ = LoadBigEndian(header.largest.data(), header.largest.size());
}

// Returns true if the range ends before the smallest key, or begins after the
// largest one.
bool FileRangeFilter::IsOutside(const Slice& lo, const Slice& hi,
                                bool hi_inclusive) const {
  // The stored part of the smallest key is never above that key.
  const int order = hi.compare(header().smallest);
  return order < 0 || (order == 0 && !hi_inclusive) || IsAbove(lo);
}

void FileRangeFilter::KeysMayMatch(size_t num_keys, Slice** keys,
                                   bool* may_match) const {
  if (!can_filter_) {
    std::fill_n(may_match, num_keys, true);
    return;
  }
  for (size_t begin = 0; begin < num_keys;) {
    const size_t index = only_ != nullptr ? 0 : directory_.Find(*keys[begin]);
    size_t end = only_ != nullptr ? num_keys : begin + 1;
    while (end < num_keys && directory_.Find(*keys[end]) == index) end++;
    const RangeFilter* const part = only_ != nullptr ? only_ : PartOf(index);
    if (part == nullptr) {
      std::fill(may_match + begin, may_match + end, true);
    } else {
      part->KeysMayMatch(end - begin, keys + begin, may_match + begin);
    }
    begin = end;
  }
  for (size_t i = 0; i < num_keys; i++) {
    may_match[i] &= LengthMayMatch(*keys[i]);
  }
}

bool FileRangeFilter::RangeMayMatch(const Slice& lo, const Slice& hi,
                                    bool hi_inclusive) const {
  if (!can_filter_) return true;
  // The first bytes usually decide.
  const bool inside = LoadBigEndian(hi.data(), hi.size()) > smallest_head_ &&
                      LoadBigEndian(lo.data(), lo.size()) < largest_head_;
  if (!inside && IsOutside(lo, hi, hi_inclusive)) return false;
  if (only_ != nullptr) return only_->RangeMayMatch(lo, hi, hi_inclusive);
  size_t index = directory_.Find(lo);
  const RangeFilter* part = PartOf(index);
  if (part == nullptr || part->RangeMayMatch(lo, hi, hi_inclusive)) return true;
  if (!directory_.GoesBeyond(index, hi, hi_inclusive)) return false;
  index++;
  // All keys of this part are in the range.
  if (directory_.GoesBeyond(index, hi, hi_inclusive)) return true;
  part = PartOf(index);
  return part == nullptr ||
         part->RangeMayMatch(directory_.parts()[index].begin, hi, hi_inclusive);
}

bool FileRangeFilter::PrefixMayMatch(const Slice& prefix) const {
  if (!can_filter_ ||
      (header().flags & FilterBlockHeader::kPrefixesUnknown) != 0) {
    return true;
  }
  std::string end;
  return !FirstAfterPrefix(prefix, &end) ||
         RangeMayMatch(prefix, end, /*hi_inclusive=*/false);
}

bool FileRangeFilter::LowerBound(const Slice& target,
                                 std::string* bound) const {
  if (!can_filter_) {
    bound->assign(target.data(), target.size());
    return true;
  }
  if (IsAbove(target)) return false;
  const Slice& from =
      target.compare(header().smallest) < 0 ? header().smallest : target;
  if (only_ != nullptr ? !only_->LowerBound(from, bound)
                       : !LowerBoundInParts(from, bound)) {
    return false;
  }
  // Only a damaged filter stores a bound below `target`.
  if (Slice(*bound).compare(target) >= 0) {
    if (Slice(*bound).compare(header().largest) <= 0) return true;
    if (IsAbove(*bound)) return false;
  }
  bound->assign(target.data(), target.size());
  return true;
}

bool FileRangeFilter::LowerBoundInParts(const Slice& target,
                                        std::string* bound) const {
  const std::vector<FilterPart>& parts = directory_.parts();
  const size_t first = directory_.Find(target);
  for (size_t i = first; i < parts.size(); i++) {
    const Slice& from = i == first ? target : parts[i].begin;
    const RangeFilter* const part = PartOf(i);
    if (part == nullptr) {
      bound->assign(from.data(), from.size());
      return true;
    }
    // A bound beyond the part says that it has no key from there on.
    if (part->LowerBound(from, bound) &&
        !directory_.GoesBeyond(i, *bound, /*hi_inclusive=*/true)) {
      return true;
    }
  }
  return false;
}

bool FileRangeFilter::CountRange(const Slice& lo, const Slice& hi,
                                 bool hi_inclusive, RangeCount* count) const {
  if (!can_filter_) return false;
  if (IsOutside(lo, hi, hi_inclusive)) {
    *count = RangeCount();
    return true;
  }
  if (lo.compare(header().smallest) <= 0 && IsAbove(hi)) {
    *count = RangeCount();
    count->count = header().num_keys;
    return true;
  }
  return only_ != nullptr ? only_->CountRange(lo, hi, hi_inclusive, count)
                          : CountInParts(lo, hi, hi_inclusive, count);
}

bool FileRangeFilter::CountInParts(const Slice& lo, const Slice& hi,
                                   bool hi_inclusive, RangeCount* count) const {
  const std::vector<FilterPart>& parts = directory_.parts();
  const auto limit_to_part_after = [&parts](size_t part, std::string* limit) {
    if (part + 1 == parts.size()) return;
    const Slice& begin = parts[part + 1].begin;
    if (limit->empty() || begin.compare(*limit) < 0) *limit = begin.ToString();
  };
  const size_t first = directory_.Find(lo);
  const size_t last = std::max(first, directory_.Find(hi));
  const RangeFilter* part = PartOf(first);
  RangeCount low;
  if (first == last) {
    if (part == nullptr || !part->CountRange(lo, hi, hi_inclusive, &low)) {
      return false;
    }
  } else if (lo.compare(parts[first].begin) <= 0) {
    low.count = parts[first].num_keys;
  } else if (part == nullptr ||
             !part->CountRange(lo, parts[first + 1].begin, false, &low)) {
    return false;
  } else {
    // All keys of this part are below the next one.
    low.high_ambiguous = false;
  }
  limit_to_part_after(first, &low.low_limit);
  if (first < last) {
    part = PartOf(last);
    RangeCount high;
    if (part == nullptr ||
        !part->CountRange(parts[last].begin, hi, hi_inclusive, &high)) {
      return false;
    }
    low.count += parts[last].keys_before - parts[first + 1].keys_before;
    low.count += high.count;
    low.high_ambiguous = high.high_ambiguous;
    low.high_shared = high.high_shared;
    low.high_limit = std::move(high.high_limit);
  }
  limit_to_part_after(last, &low.high_limit);
  *count = std::move(low);
  return true;
}

FilterBlock::FilterBlock(const Slice& contents) : FileRangeFilter(directory_) {
  status_ = directory_.Read(contents, contents.size());
  parts_.resize(directory_.parts().size());
  bool can_filter = parts_.empty();
  for (size_t i = 0; i < parts_.size(); i++) {
    parts_[i] = OpenPart(contents, i);
    can_filter = can_filter || parts_[i] != nullptr;
  }
  SetUp(parts_.size() == 1 ? parts_[0].get() : nullptr, can_filter);
}

std::unique_ptr<RangeFilter> FilterBlock::OpenPart(const Slice& contents,
                                                   size_t part) {
  auto first = OpenUnit(contents, {part, false});
  if (!directory_.parts()[part].HasSecond() ||
      OpenUnit(contents, {part, true}) == nullptr || first == nullptr) {
    return first;
  }
  std::unique_ptr<RangeFilter> both;
  const Status s = directory_.OpenBoth(part, BytesOf(contents, {part, false}),
                                       BytesOf(contents, {part, true}), &both);
  if (!s.ok() && status_.ok()) status_ = s;
  return s.ok() ? std::move(both) : std::move(first);
}

std::unique_ptr<RangeFilter> FilterBlock::OpenUnit(const Slice& contents,
                                                   const UnitName& name) {
  const Slice bytes = BytesOf(contents, name);
  const Slice trailer(bytes.data() + bytes.size(),
                      FilterDirectory::kUnitTrailer);
  std::unique_ptr<RangeFilter> filter;
  const Status s =
      trailer == Slice("\0\0\0\0\0", trailer.size())
          ? directory_.OpenUnit(name, bytes, &filter)
          : Status::Corruption(
                "filter block has a part that does not end with zeros");
  if (!s.ok() && status_.ok()) status_ = s;
  return filter;
}

}  // namespace ROCKSDB_NAMESPACE::protean
