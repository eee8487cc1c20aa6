//  Registers Protean with a RocksDB that it was not linked with by one build: a
//  shared library (plugin/shared/binding.cc), or that of another package.

#pragma once

#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Registers Protean with RocksDB's default registry, if that RocksDB is the one
// that it was compiled for, and if no other Protean is there. NotSupported says
// what is different; then nothing has changed. If RocksDB's own objects have
// not all been made yet (`!is_ready`), only its version is looked at. Not
// thread safe.
Status RegisterChecked(bool is_ready);

}  // namespace ROCKSDB_NAMESPACE::protean
