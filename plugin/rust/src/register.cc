//  What the crate calls: makes sure that the RocksDB in the program is the one
//  that Protean has been compiled for, and registers Protean.

#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "plugin/build_info.h"
#include "plugin/protean.h"
#include "rocksdb/convenience.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/object_registry.h"
#include "table/rocksdb_self_check.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

Status CheckAndRegister() {
  const std::string version = GetRocksVersionAsString(/*with_patch=*/true);
  if (version != GetBuildInfo().rocksdb_version) {
    return Status::NotSupported("the RocksDB here is " + version);
  }
  std::unique_ptr<TableFactory> registered;
  if (ObjectRegistry::Default()
          ->NewUniqueObject<TableFactory>("ProteanTable", &registered)
          .ok()) {
    return Status::NotSupported("another Protean is registered already");
  }
  const Status s = CheckInsides();
  if (s.ok()) ObjectLibrary::Default()->Register(register_protean, "");
  return s;
}

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean

// Whether Protean has been registered. If not, `reason` says why, in up to
// `size` bytes with the 0 at the end. Must not be called twice.
extern "C" bool protean_rocksdb_register(char* reason, size_t size) noexcept {
  using namespace ROCKSDB_NAMESPACE::protean;
  try {
    const ROCKSDB_NAMESPACE::Status s = CheckAndRegister();
    if (s.ok()) return true;
    snprintf(reason, size, "%s: %s", GetBuildInfo().ToString().c_str(),
             s.getState() == nullptr ? s.ToString().c_str() : s.getState());
  } catch (const std::exception& e) {
    snprintf(reason, size, "%s", e.what());
  }
  return false;
}
