// SPDX-License-Identifier: Apache-2.0

//  What the queries of a prior are made from: the keys of a file, what they
//  look like, and random numbers.

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "filter_policy/proteus/model/located_query.h"
#include "filter_policy/proteus/prior/key_form.h"
#include "filter_policy/proteus/prior/prior_random.h"
#include "filter_policy/proteus/prior/time_windows.h"

namespace ROCKSDB_NAMESPACE::protean {

struct PriorSource {
  // REQUIRES: there are keys. These and their statistics must outlive the
  // source.
  PriorSource(const KeyStore& its_keys, const KeyStatistics& its_statistics,
              bool asks_prefixes_only);

  const KeyStore& keys;
  const KeyStatistics& statistics;
  // Whether a point query asks for all keys that start with its key.
  const bool prefixes_only;
  const KeyForm form;
  // For KeyForm::kDigits, the characters at each place.
  const std::vector<std::string> alphabets;
  const std::optional<TimeWindows> windows;
  PriorRandom random;
};

// The functions below locate a query among the keys. They return false if it is
// not empty, if no string of bits lies in it, or if its bounds are inverted: a
// character that the sampled keys do not have may break the order.

// A query in place of a key of the file, which counts as absent.
bool LocateInPlaceOf(size_t index, const Slice& lo, const Slice& hi,
                     bool hi_inclusive, const PriorSource& source,
                     LocatedQuery* query);
// A query wherever it lies among the keys. False if it lies beyond them: the
// file is not asked for it.
bool LocateAnywhere(const Slice& lo, const Slice& hi, bool hi_inclusive,
                    const PriorSource& source, LocatedQuery* query);

}  // namespace ROCKSDB_NAMESPACE::protean
