#include "plugin/build_info.h"

#include "plugin/version.h"
#include "table/rocksdb_internals.h"

namespace ROCKSDB_NAMESPACE::protean {

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
  static const BuildInfo info = {
      PROTEAN_VERSION,
      PROTEAN_ROCKSDB_VERSION,
#if !defined(_GLIBCXX_USE_CXX11_ABI) || _GLIBCXX_USE_CXX11_ABI
      /*cxx11_abi=*/true,
#else
      /*cxx11_abi=*/false,
#endif
#ifdef NDEBUG
      /*assertions=*/false,
#else
      /*assertions=*/true,
#endif
#ifdef __GXX_RTTI
      /*rtti=*/true,
#else
      /*rtti=*/false,
#endif
  };
  return info;
}

}  // namespace ROCKSDB_NAMESPACE::protean
