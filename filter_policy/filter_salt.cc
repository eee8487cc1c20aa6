// SPDX-License-Identifier: Apache-2.0

#include "filter_policy/filter_salt.h"

#include <mutex>
#include <optional>

#include "env/unique_id_gen.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// RocksDB's generator of ids that cannot be predicted from earlier ones: never
// fails, and makes no system call once it exists.
uint64_t DrawNumber() {
  static auto* const source = new UnpredictableUniqueIdGen;
  uint64_t number = 0;
  for (uint64_t unused; number == 0;) source->GenerateNext(&unused, &number);
  return number;
}

struct Fixed {
  std::mutex mutex;
  std::optional<FilterSalt> salt;
};

Fixed& TheFixed() {
  static auto* const fixed = new Fixed;
  return *fixed;
}

}  // namespace

FilterSalt FilterSalt::Draw() {
  {
    Fixed& fixed = TheFixed();
    const std::lock_guard<std::mutex> lock(fixed.mutex);
    if (fixed.salt.has_value()) return *fixed.salt;
  }
  static const uint64_t process = DrawNumber();
  return {DrawNumber(), process};
}

std::optional<FilterSalt> FilterSalt::Fix(
    const std::optional<FilterSalt>& salt) {
  Fixed& fixed = TheFixed();
  const std::lock_guard<std::mutex> lock(fixed.mutex);
  const std::optional<FilterSalt> before = fixed.salt;
  fixed.salt = salt;
  return before;
}

uint64_t HashLong(const char* data, size_t size, uint64_t seed) {
  while (size > kLongestPiece) {
    seed = Hash64(data, kLongestPiece, seed);
    data += kLongestPiece;
    size -= kLongestPiece;
  }
  return Hash64(data, size, seed);
}

}  // namespace ROCKSDB_NAMESPACE::protean
