// SPDX-License-Identifier: Apache-2.0

//  The field of a file's keys that has a time.
//
//  Composite keys have fields, such as user:004711|2026-01-01T12:34:56.789Z.
//  Ranges over them are mostly windows: the first fields are given, and the
//  time goes from one value to another. So a window is made by counting up the
//  time, in the digits in which it is written. A time is found by its form
//  (time_forms.h).
//
//  A time stands at the same distance from the beginning or the end of all
//  keys, or after a separator which precedes it in all of them. A few of the
//  keys may be others.
//
//  All functions are pure. They look at kMaxSampledKeys keys
//  (sampled_keys.h) at most.

#pragma once

#include <optional>

#include "filter_policy/proteus/key_store.h"
#include "filter_policy/proteus/prior/anchor.h"
#include "filter_policy/proteus/prior/numeral.h"

namespace ROCKSDB_NAMESPACE::protean {

// The time in the keys of a file.
struct TimeField {
  Anchor anchor;
  Numeral time;
};

// Finds a time. Where keys have several, takes the first one with which a key
// has more than the `shared_bytes` bytes that it shares with its neighbor, else
// the last one.
std::optional<TimeField> FindTimeField(const KeyStore& keys,
                                       size_t shared_bytes);

}  // namespace ROCKSDB_NAMESPACE::protean
