// SPDX-License-Identifier: Apache-2.0

#include "plugin/checked_registration.h"

#include <memory>
#include <mutex>
#include <string>

#include "plugin/build_info.h"
#include "plugin/protean.h"
#include "rocksdb/convenience.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/object_registry.h"
#include "table/rocksdb_internals/self_check.h"

namespace ROCKSDB_NAMESPACE::protean {

Status RegisterChecked(bool is_ready) {
  const std::string version = GetRocksVersionAsString(/*with_patch=*/true);
  if (version != GetBuildInfo().rocksdb_version) {
    return Status::NotSupported("the RocksDB here is " + version);
  }
  std::unique_ptr<TableFactory> registered;
  if (ObjectRegistry::Default()
          ->NewUniqueObject<TableFactory>("ProteanTable", &registered)
          .ok()) {
    return Status::NotSupported("Protean is registered already");
  }
  const Status s = is_ready ? CheckInsides() : Status::OK();
  if (s.ok()) ObjectLibrary::Default()->Register(register_protean, "");
  return s;
}

Status RegisterOnce() {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  return IsRegistered() ? Status::OK() : RegisterChecked(/*is_ready=*/true);
}

}  // namespace ROCKSDB_NAMESPACE::protean
