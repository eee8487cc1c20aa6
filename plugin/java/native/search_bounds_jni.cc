// SPDX-License-Identifier: Apache-2.0

//  Native functions of protean.rocksjava.SearchBounds.

#include "plugin/java/native/jni_util.h"
#include "plugin/search_bounds.h"

using namespace ROCKSDB_NAMESPACE;           // NOLINT
using namespace ROCKSDB_NAMESPACE::protean;  // NOLINT

extern "C" {

// Null means no bound on that side.
JNIEXPORT void JNICALL Java_protean_rocksjava_SearchBounds_set0(
    JNIEnv* env, jclass /*search_bounds*/, jbyteArray lower_bytes,
    jbyteArray upper_bytes) {
  Guarded(env, [&] {
    std::string lower;
    std::string upper;
    if (lower_bytes != nullptr && !CopyBytes(env, lower_bytes, &lower)) return;
    if (upper_bytes != nullptr && !CopyBytes(env, upper_bytes, &upper)) return;
    const Slice from(lower);
    const Slice to(upper);
    SetSearchBounds(lower_bytes == nullptr ? nullptr : &from,
                    upper_bytes == nullptr ? nullptr : &to);
  });
}

JNIEXPORT void JNICALL Java_protean_rocksjava_SearchBounds_clear0(
    JNIEnv* env, jclass /*search_bounds*/) {
  Guarded(env, [] { ClearSearchBounds(); });
}

}  // extern "C"
