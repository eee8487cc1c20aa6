// SPDX-License-Identifier: Apache-2.0

//  What the native functions that ask an open DB share.

#pragma once

#include <jni.h>

#include "plugin/facts.h"
#include "plugin/java/native/jni_util.h"
#include "plugin/refresh_filters.h"
#include "rocksdb/db.h"

namespace ROCKSDB_NAMESPACE::protean {

inline DB* AsDB(jlong handle) { return reinterpret_cast<DB*>(handle); }

// The handle 0 stands for the default column family.
inline ColumnFamilyHandle* AsColumnFamily(DB* db, jlong handle) {
  return handle == 0 ? db->DefaultColumnFamily()
                     : reinterpret_cast<ColumnFamilyHandle*>(handle);
}

// Encodes a record as Facts.java reads it.
void Encode(const Record& record, Encoder* out);

// Encodes a status and the result of a refresh, as RefreshResult.java reads
// them.
void Encode(const Status& status, const RefreshResult& result, Encoder* out);

// Parses a text of RefreshOptions. Returns false if an exception is pending.
bool ParseRefreshOptions(JNIEnv* env, jclass native, jbyteArray bytes,
                         RefreshOptions* options);

}  // namespace ROCKSDB_NAMESPACE::protean
