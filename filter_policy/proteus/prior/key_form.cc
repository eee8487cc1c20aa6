// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/proteus/prior/key_form.h"

#include "filter_policy/proteus/prior/characters.h"
#include "filter_policy/proteus/prior/sampled_keys.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Whether all characters of these keys are printable.
bool ArePrintable(const KeyStore& keys) {
  for (size_t i = 0; i < NumSampledKeys(keys); i++) {
    const std::string key = keys[SampledKey(keys, i)];
    for (size_t j = 0; j < key.size(); j++) {
      if (!IsPrintable(key[j])) return false;
    }
  }
  return true;
}

}  // namespace

KeyForm KeyFormOf(const KeyStore& keys, const KeyStatistics& statistics) {
  if (statistics.shortest_key() != statistics.longest_key()) {
    return KeyForm::kText;
  }
  if (ArePrintable(keys)) return KeyForm::kDigits;
  return statistics.longest_key() <= 8 ? KeyForm::kNumber : KeyForm::kRecord;
}

std::vector<std::string> CharactersOf(const KeyStore& keys) {
  std::vector<std::string> seen(keys[0].size());
  for (size_t i = 0; i < NumSampledKeys(keys); i++) {
    const std::string key = keys[SampledKey(keys, i)];
    for (size_t j = 0; j < key.size(); j++) seen[j].push_back(key[j]);
  }
  std::vector<std::string> alphabets;
  for (const std::string& characters : seen) {
    alphabets.push_back(AlphabetOf(characters));
  }
  return alphabets;
}

}  // namespace ROCKSDB_NAMESPACE::protean
