// SPDX-License-Identifier: Apache-2.0

//  Registers Protean with a RocksDB from another build than its own: from a
//  shared library (plugin/shared/binding.cc), or from another package.

#pragma once

#include "rocksdb/rocksdb_namespace.h"
#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Registers Protean with RocksDB's default registry, if that RocksDB is the one
// that Protean was compiled for, and if no other Protean is registered.
// Otherwise returns NotSupported, which says what is different, and changes
// nothing. If RocksDB's static objects may not have been constructed yet
// (`!is_ready`), only its version is checked. Not thread safe.
Status RegisterChecked(bool is_ready);

// Registers Protean as RegisterChecked does, unless this library has been
// registered before: by its own static object, as a plugin of RocksDB, or by a
// call. Then returns OK. Thread safe.
Status RegisterOnce();

// Checks whether the RocksDB in this process is the one that Protean was
// compiled for (CheckInsides), and writes, reads and seeks in SST files in
// memory, with a whole filter and a partitioned one. Takes a few milliseconds.
// Returns an error that says what is different. Thread safe.
Status SelfCheck();

}  // namespace ROCKSDB_NAMESPACE::protean
