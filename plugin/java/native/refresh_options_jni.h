// SPDX-License-Identifier: Apache-2.0

//  Options of a refresh from Java.

#pragma once

#include <jni.h>

#include "plugin/refresh_filters.h"

namespace ROCKSDB_NAMESPACE::protean {

// Reads the fields of a protean.rocksjava.RefreshOptions, except for its
// callback. Returns false if an exception is pending.
bool ReadRefreshOptions(JNIEnv* env, jobject java_options,
                        RefreshOptions* options);

}  // namespace ROCKSDB_NAMESPACE::protean
