#include "rocksdb/rocksdb_namespace.h"
#include "tests/fuzz/fuzz_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ROCKSDB_NAMESPACE::protean::FuzzDesign(data, size);
  return 0;
}
