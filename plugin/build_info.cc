// SPDX-License-Identifier: Apache-2.0

#include "plugin/build_info.h"

#include "plugin/version.h"
#include "table/rocksdb_internals/versions.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// In the old ABI, a string is nothing but a pointer.
constexpr bool kCxx11Abi = sizeof(std::string) > sizeof(char*);

#ifdef NDEBUG
constexpr bool kAssertions = false;
#else
constexpr bool kAssertions = true;
#endif

#ifdef __GXX_RTTI
constexpr bool kRtti = true;
#else
constexpr bool kRtti = false;
#endif

}  // namespace

std::string BuildInfo::Tag() const {
  std::string tag = rocksdb_version;
  if (!cxx11_abi) tag += "-oldabi";
  if (assertions) tag += "-assert";
  if (!rtti) tag += "-nortti";
  return tag;
}

std::string BuildInfo::ToString() const {
  return std::string("protean ") + version + " for RocksDB " + rocksdb_version +
         ", " + (cxx11_abi ? "C++11" : "old C++") + " ABI, assertions " +
         (assertions ? "on" : "off") + ", RTTI " + (rtti ? "on" : "off");
}

const BuildInfo& GetBuildInfo() {
  static const BuildInfo info = {PROTEAN_VERSION, PROTEAN_ROCKSDB_VERSION,
                                 kCxx11Abi, kAssertions, kRtti};
  return info;
}

}  // namespace ROCKSDB_NAMESPACE::protean
