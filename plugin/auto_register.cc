// SPDX-License-Identifier: Apache-2.0

//  Registers Protean when a program that links the library starts. Not part of
//  an in-tree build, where RocksDB registers its plugins itself.

#include "plugin/protean.h"

// The library's link options name this symbol, so that the linker takes this
// file out of the archive.
extern "C" {
extern const int protean_registered;
const int protean_registered =
    ROCKSDB_NAMESPACE::ObjectLibrary::Default()->Register(register_protean, "");
}
