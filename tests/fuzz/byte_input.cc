// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/byte_input.h"

#include <cstring>

namespace ROCKSDB_NAMESPACE::protean {

size_t MutateBytes(uint8_t* data, size_t size, size_t max_size,
                   FuzzRandom* /*random*/, GenericMutator generic) {
  return generic(data, size, max_size);
}

size_t CrossBytes(const Slice& a, const Slice& b, uint8_t* out, size_t max_size,
                  FuzzRandom* random) {
  const size_t size = std::min({a.size(), b.size(), max_size});
  if (size == 0) return 0;
  const size_t cut = random->Next() % size;
  memcpy(out, a.data(), cut);
  memcpy(out + cut, b.data() + cut, size - cut);
  return size;
}

}  // namespace ROCKSDB_NAMESPACE::protean
