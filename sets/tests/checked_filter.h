// SPDX-License-Identifier: Apache-2.0

//  Quotient filters beside the multisets of fingerprints that they hold.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "sets/quotient/quotient_appender.h"
#include "sets/quotient/quotient_cursor.h"
#include "sets/quotient/quotient_multiset.h"

namespace ROCKSDB_NAMESPACE::protean {

using Fingerprints = std::multiset<uint64_t>;

inline std::unique_ptr<QuotientMultiset> NewQuotientFilter(
    const QuotientShape& shape, const FilterSalt& salt = FilterSalt()) {
  std::unique_ptr<QuotientMultiset> filter;
  const Status s = QuotientMultiset::Create(shape, salt, &filter);
  EXPECT_TRUE(s.ok()) << s.ToString();
  return filter;
}

// A filter of these fingerprints, which are appended in order.
inline std::unique_ptr<QuotientMultiset> AppendedFilter(
    const QuotientShape& shape, const Fingerprints& fingerprints) {
  std::unique_ptr<QuotientMultiset> filter = NewQuotientFilter(shape);
  QuotientAppender appender(filter.get());
  for (const uint64_t fingerprint : fingerprints) {
    EXPECT_TRUE(appender.Append(fingerprint));
  }
  appender.Finish();
  return filter;
}

// A hash that has the fingerprint.
inline uint64_t HashFor(const QuotientShape& shape, uint64_t fingerprint) {
  return fingerprint << (64 - shape.fingerprint_bits());
}

// Compares all that the filter stores.
inline void ExpectHolds(const QuotientMultiset& filter,
                        const Fingerprints& fingerprints) {
  ASSERT_EQ(fingerprints.size(), filter.size());
  QuotientCursor cursor(filter.blocks());
  for (const uint64_t fingerprint : fingerprints) {
    ASSERT_TRUE(cursor.Valid());
    ASSERT_EQ(fingerprint, cursor.Fingerprint());
    cursor.Next();
  }
  ASSERT_FALSE(cursor.Valid());
}

// The blocks' bytes without the zeros at their end: a tail may be longer than
// it must be.
inline std::string BlockBytes(const QuotientMultiset& filter) {
  std::string bytes(filter.blocks().data(), filter.blocks().bytes());
  bytes.resize(bytes.find_last_not_of('\0') + 1);
  return bytes;
}

// The bytes of the blocks depend on nothing but the fingerprints.
inline void ExpectCanonical(const QuotientMultiset& filter,
                            const Fingerprints& fingerprints) {
  ASSERT_EQ(BlockBytes(*AppendedFilter(filter.shape(), fingerprints)),
            BlockBytes(filter));
}

}  // namespace ROCKSDB_NAMESPACE::protean
