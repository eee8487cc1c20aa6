// SPDX-License-Identifier: Apache-2.0

//  The kinds of queries in a prior. Each function makes one query from a key of
//  the file, of that index, and locates it. False if this key gives none.
//
//    alike    in place of the key, which counts as absent
//    behind   a little after the key
//    spread   anywhere between the first and the last key

#pragma once

#include "filter_policy/proteus/prior/prior_source.h"

namespace ROCKSDB_NAMESPACE::protean {

using QueryMaker = bool (*)(size_t index, PriorSource* source,
                            LocatedQuery* query);

// The key itself.
bool MakePointAlike(size_t index, PriorSource* source, LocatedQuery* query);
// A key a little after it, or one with a byte of another key; in text, also one
// with a byte more or less. In printed keys, such points are promised too.
bool MakePointBehind(size_t index, PriorSource* source, LocatedQuery* query);
// A key at a time that is a little later, or with another key's byte in its
// first fields or its time.
// REQUIRES: there are windows
bool MakePointNearTime(size_t index, PriorSource* source, LocatedQuery* query);

// From the key to one that is nearer than its neighbor.
bool MakeRangeAlike(size_t index, PriorSource* source, LocatedQuery* query);
// A short range.
bool MakeRangeBehind(size_t index, PriorSource* source, LocatedQuery* query);
// A range as long as one in place of the key. Not for printed keys.
bool MakeRangeSpread(size_t index, PriorSource* source, LocatedQuery* query);

// From a key to its last byte + 1.
bool MakeSibling(size_t index, PriorSource* source, LocatedQuery* query);
// All keys with a prefix that only this key has.
bool MakePrefixScan(size_t index, PriorSource* source, LocatedQuery* query);

// From the key's time to a later one (time_windows.h).
// REQUIRES: there are windows
bool MakeWindow(size_t index, PriorSource* source, LocatedQuery* query);
// All keys of the next entity.
// REQUIRES: there are windows
bool MakeEntityScan(size_t index, PriorSource* source, LocatedQuery* query);

}  // namespace ROCKSDB_NAMESPACE::protean
