// SPDX-License-Identifier: Apache-2.0

//  Native functions of protean.rocksjava.SearchBounds.

#include <optional>
#include <string>

#include "plugin/java/native/jni_util.h"
#include "plugin/search_bounds.h"

using namespace ROCKSDB_NAMESPACE;           // NOLINT
using namespace ROCKSDB_NAMESPACE::protean;  // NOLINT

extern "C" {

// Returns what closeScope takes.
JNIEXPORT jlong JNICALL Java_protean_rocksjava_SearchBounds_openScope(
    JNIEnv* env, jclass /*search_bounds*/, jbyteArray lower, jbyteArray upper) {
  return Guarded(env, [&]() -> jlong {
    std::optional<std::string> from;
    std::optional<std::string> to;
    if (!CopyOptionalBytes(env, lower, &from) ||
        !CopyOptionalBytes(env, upper, &to)) {
      return 0;
    }
    const Slice begin = from ? Slice(*from) : Slice();
    const Slice end = to ? Slice(*to) : Slice();
    return reinterpret_cast<jlong>(
        new SearchBoundsScope(from ? &begin : nullptr, to ? &end : nullptr));
  });
}

JNIEXPORT void JNICALL Java_protean_rocksjava_SearchBounds_closeScope(
    JNIEnv* env, jclass /*search_bounds*/, jlong scope) {
  Guarded(env, [&] { delete reinterpret_cast<SearchBoundsScope*>(scope); });
}

}  // extern "C"
