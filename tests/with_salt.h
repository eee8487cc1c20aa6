// SPDX-License-Identifier: Apache-2.0

//  Filters that are built in a scope have a given salt; and what hashing costs.

#pragma once

#include "filter_policy/bits/checksum.h"
#include "filter_policy/bits/key_digest.h"

namespace ROCKSDB_NAMESPACE::protean {

// One for each seed of a random run.
inline FilterSalt SaltOf(uint64_t seed) {
  return {/*file=*/(2 * seed + 1) * 0x9e3779b97f4a7c15u,
          /*process=*/(2 * seed + 1) * 0xd1342543de82ef95u};
}

class WithSalt {
 public:
  // Without a value, each filter has a salt that is not known.
  explicit WithSalt(const std::optional<FilterSalt>& salt)
      : before_(FilterSalt::Fix(salt)) {}
  ~WithSalt() { FilterSalt::Fix(before_); }
  WithSalt(const WithSalt&) = delete;
  WithSalt& operator=(const WithSalt&) = delete;

 private:
  const std::optional<FilterSalt> before_;
};

// The digests that a call computes, and does not have from an earlier one.
template <typename Call>
uint32_t ComputedIn(const Call& call) {
  const uint32_t before = DigestMemory::Computed();
  call();
  return DigestMemory::Computed() - before;
}

}  // namespace ROCKSDB_NAMESPACE::protean
