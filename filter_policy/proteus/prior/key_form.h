// SPDX-License-Identifier: Apache-2.0

//  What the keys of a file look like, which decides what the prior asks. All
//  functions are pure, and look at kSampledKeys keys (sampled_keys.h).

#pragma once

#include <string>
#include <vector>

#include "filter_policy/proteus/key_statistics.h"
#include "filter_policy/proteus/key_store.h"

namespace ROCKSDB_NAMESPACE::protean {

enum class KeyForm {
  kNumber,  // keys of one length, up to 8 bytes
  kRecord,  // longer keys of one length: a time and a sensor, say
  kDigits,  // printed keys of one length: a number or a time
  kText,    // keys of different lengths
};

KeyForm KeyFormOf(const KeyStore& keys, const KeyStatistics& statistics);

inline bool IsPrinted(KeyForm form) {
  return form == KeyForm::kDigits || form == KeyForm::kText;
}

// The characters that keys of one length have at each place.
std::vector<std::string> CharactersOf(const KeyStore& keys);

}  // namespace ROCKSDB_NAMESPACE::protean
