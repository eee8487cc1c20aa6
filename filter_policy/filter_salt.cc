#include "filter_policy/filter_salt.h"

#include <exception>
#include <mutex>
#include <optional>
#include <random>

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Not zero.
uint64_t DrawNumber(std::random_device* source) {
  const uint64_t high = (*source)();
  return (high << 32 | (*source)()) | 1;
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
  try {
    std::random_device source;
    static const uint64_t process = DrawNumber(&source);
    FilterSalt salt;
    salt.file = DrawNumber(&source);
    salt.process = process;
    return salt;
  } catch (const std::exception&) {
    // A filter without a salt is a filter all the same.
    return FilterSalt();
  }
}

void FilterSalt::Fix(const FilterSalt& salt) {
  Fixed& fixed = TheFixed();
  const std::lock_guard<std::mutex> lock(fixed.mutex);
  fixed.salt = salt;
}

void FilterSalt::Unfix() {
  Fixed& fixed = TheFixed();
  const std::lock_guard<std::mutex> lock(fixed.mutex);
  fixed.salt.reset();
}

}  // namespace ROCKSDB_NAMESPACE::protean
