// SPDX-License-Identifier: Apache-2.0

//  Native functions of protean.rocksjava.SearchBounds.

#include "plugin/java/native/jni_util.h"
#include "plugin/search_bounds.h"

using namespace ROCKSDB_NAMESPACE;           // NOLINT
using namespace ROCKSDB_NAMESPACE::protean;  // NOLINT

extern "C" {

// Returns what closeScope takes.
JNIEXPORT jlong JNICALL Java_protean_rocksjava_SearchBounds_openScope(
    JNIEnv* env, jclass /*search_bounds*/, jbyteArray lower, jbyteArray upper) {
  return Guarded(env, [&]() -> jlong {
    OptionalKey from;
    OptionalKey to;
    if (!from.Copy(env, lower) || !to.Copy(env, upper)) return 0;
    return reinterpret_cast<jlong>(new SearchBoundsScope(from.get(), to.get()));
  });
}

JNIEXPORT void JNICALL Java_protean_rocksjava_SearchBounds_closeScope(
    JNIEnv* env, jclass /*search_bounds*/, jlong scope) {
  Guarded(env, [&] { delete reinterpret_cast<SearchBoundsScope*>(scope); });
}

}  // extern "C"
