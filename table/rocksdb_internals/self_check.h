// SPDX-License-Identifier: Apache-2.0

//  Whether the RocksDB in this process is the one that Protean was compiled
//  for, as far as that can be found out without debug symbols. A program that
//  was linked with both need not check, but a shared library that is bound when
//  the program starts does (plugin/shared/binding.cc). The version has been
//  compared before: this check is for a library of the same version that was
//  changed, or compiled in another way.

#pragma once

#include "rocksdb/status.h"

namespace ROCKSDB_NAMESPACE::protean {

// Compares the sizes of objects, has RocksDB parse options and compares where
// they end up. Takes less than a millisecond. Returns an error that says what
// is different.
Status CheckInsides();

}  // namespace ROCKSDB_NAMESPACE::protean
