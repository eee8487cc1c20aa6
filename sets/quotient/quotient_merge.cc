// SPDX-License-Identifier: Apache-2.0

#include "sets/quotient/quotient_merge.h"

#include <algorithm>

#include "sets/quotient/quotient_appender.h"
#include "sets/quotient/quotient_cursor.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

Status NoMemory() {
  return Status::MemoryLimit("no memory for a quotient filter");
}

bool AppendAll(QuotientCursor* cursor, QuotientAppender* appender) {
  for (; cursor->Valid(); cursor->Next()) {
    if (!appender->Append(cursor->Fingerprint())) return false;
  }
  return true;
}

// Appends what two filters hold, as two sorted arrays are merged.
bool AppendTwo(QuotientCursor a, QuotientCursor b, QuotientAppender* appender) {
  if (a.Valid() && b.Valid()) {
    uint64_t of_a = a.Fingerprint();
    uint64_t of_b = b.Fingerprint();
    for (;;) {
      const bool takes_a = of_a <= of_b;
      if (!appender->Append(takes_a ? of_a : of_b)) return false;
      QuotientCursor& taken = takes_a ? a : b;
      taken.Next();
      if (!taken.Valid()) break;
      (takes_a ? of_a : of_b) = taken.Fingerprint();
    }
  }
  return AppendAll(&a, appender) && AppendAll(&b, appender);
}

// Appends what any number of filters hold. The few cursors are in a heap, the
// smallest fingerprint first.
bool AppendMany(const std::vector<const QuotientMultiset*>& filters,
                QuotientAppender* appender) {
  struct Source {
    uint64_t fingerprint;
    QuotientCursor* cursor;
  };
  const auto is_later = [](const Source& a, const Source& b) {
    return a.fingerprint > b.fingerprint;
  };
  std::vector<std::unique_ptr<QuotientCursor>> cursors;
  std::vector<Source> heap;
  for (const QuotientMultiset* filter : filters) {
    cursors.push_back(std::make_unique<QuotientCursor>(filter->blocks()));
    QuotientCursor* const cursor = cursors.back().get();
    if (cursor->Valid()) heap.push_back({cursor->Fingerprint(), cursor});
  }
  std::make_heap(heap.begin(), heap.end(), is_later);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), is_later);
    Source& first = heap.back();
    if (!appender->Append(first.fingerprint)) return false;
    first.cursor->Next();
    if (first.cursor->Valid()) {
      first.fingerprint = first.cursor->Fingerprint();
      std::push_heap(heap.begin(), heap.end(), is_later);
    } else {
      heap.pop_back();
    }
  }
  return true;
}

}  // namespace

Status MergeQuotientMultisets(
    const std::vector<const QuotientMultiset*>& filters,
    std::unique_ptr<QuotientMultiset>* merged) {
  merged->reset();
  if (filters.empty()) {
    return Status::InvalidArgument("there is no quotient filter to merge");
  }
  const QuotientMultiset& first = *filters.front();
  QuotientShape shape = first.shape();
  const unsigned fingerprint_bits = shape.fingerprint_bits();
  uint64_t size = 0;
  for (const QuotientMultiset* filter : filters) {
    if (filter->shape().fingerprint_bits() != fingerprint_bits ||
        !(filter->salt() == first.salt())) {
      return Status::InvalidArgument(
          "quotient filters of different fingerprints or salts cannot be "
          "merged");
    }
    shape.quotient_bits =
        std::max(shape.quotient_bits, filter->shape().quotient_bits);
    size += filter->size();
  }
  for (;; shape.quotient_bits++) {
    shape.remainder_bits = fingerprint_bits - shape.quotient_bits;
    if (!shape.IsValid()) {
      return Status::InvalidArgument(
          "fingerprints of " + std::to_string(fingerprint_bits) +
          " bits are too short for " + std::to_string(size) + " hashes");
    }
    if (size <= shape.capacity()) break;
  }
  std::unique_ptr<QuotientMultiset> made;
  const Status s = QuotientMultiset::Create(shape, first.salt(), &made);
  if (!s.ok()) return s;
  QuotientAppender appender(made.get());
  const bool fits =
      filters.size() == 2
          ? AppendTwo(QuotientCursor(filters[0]->blocks()),
                      QuotientCursor(filters[1]->blocks()), &appender)
          : AppendMany(filters, &appender);
  if (!fits) return NoMemory();
  appender.Finish();
  *merged = std::move(made);
  return Status::OK();
}

Status ResizeQuotientMultiset(const QuotientMultiset& filter,
                              unsigned quotient_bits,
                              std::unique_ptr<QuotientMultiset>* resized) {
  resized->reset();
  const QuotientShape shape{quotient_bits,
                            filter.shape().fingerprint_bits() - quotient_bits};
  if (shape.IsValid() && filter.size() > shape.capacity()) {
    return Status::NoSpace(
        "a quotient filter of " + std::to_string(shape.num_quotients()) +
        " slots cannot hold " + std::to_string(filter.size()) + " hashes");
  }
  std::unique_ptr<QuotientMultiset> made;
  const Status s = QuotientMultiset::Create(shape, filter.salt(), &made);
  if (!s.ok()) return s;
  QuotientAppender appender(made.get());
  QuotientCursor cursor(filter.blocks());
  if (!AppendAll(&cursor, &appender)) return NoMemory();
  appender.Finish();
  *resized = std::move(made);
  return Status::OK();
}

}  // namespace ROCKSDB_NAMESPACE::protean
