//  Which Protean this is, and which RocksDB it has been compiled for. Protean
//  includes RocksDB's internal headers: it fits no other version, nor a library
//  that was compiled with other flags of those that change classes.

#pragma once

#include <string>

#include "rocksdb/rocksdb_namespace.h"

namespace ROCKSDB_NAMESPACE::protean {

struct BuildInfo {
  const char* version;          // of Protean, such as "1.0.0"
  const char* rocksdb_version;  // such as "9.10.0"
  bool cxx11_abi;               // of libstdc++: its strings since GCC 5
  bool assertions;              // whether NDEBUG was not defined
  bool rtti;

  // What a shared library of Protean has in its name: the version of RocksDB
  // and what is unusual about it, such as "9.10.0" or "9.10.0-oldabi-assert".
  std::string Tag() const;

  // For people, in a line: "protean 1.0.0 for RocksDB 9.10.0, ...".
  std::string ToString() const;
};

// Of this library. Thread safe.
const BuildInfo& GetBuildInfo();

}  // namespace ROCKSDB_NAMESPACE::protean
