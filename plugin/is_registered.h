// SPDX-License-Identifier: Apache-2.0

//  Whether this library has been registered, in whichever way: by its own
//  static object, as a plugin of RocksDB, or by a call.

#pragma once

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// Whether register_protean has been called. Thread safe.
bool IsRegistered();

}  // namespace ROCKSDB_NAMESPACE::protean
