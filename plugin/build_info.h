// SPDX-License-Identifier: Apache-2.0

//  The version of Protean, and the RocksDB that it was compiled for. Protean
//  includes RocksDB's internal headers: it fits no other version, nor a RocksDB
//  compiled with different flags that change the layout of classes.

#pragma once

#include <string>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

// What was compiled, with what.
struct BuildInfo {
  const char* version;          // Protean's, such as "1.0.0"
  const char* rocksdb_version;  // such as "9.10.0"
  bool cxx11_abi;               // libstdc++'s ABI of strings since GCC 5
  bool assertions;              // whether NDEBUG was not defined
  bool rtti;                    // whether classes have type information

  // The part of the name of Protean's shared library that stands for RocksDB:
  // its version and what is unusual about its build, such as "9.10.0" or
  // "9.10.0-oldabi-assert".
  std::string Tag() const;

  // One line for people: "protean 1.0.0 for RocksDB 9.10.0, ...".
  std::string ToString() const;
};

// The build of this library. Thread safe.
const BuildInfo& GetBuildInfo();

}  // namespace ROCKSDB_NAMESPACE::protean
