// SPDX-License-Identifier: Apache-2.0

//  Native functions of protean.rocksjava.SearchBounds.

#include <optional>
#include <string>

#include "plugin/java/native/jni_util.h"
#include "plugin/search_bounds.h"

namespace ROCKSDB_NAMESPACE::protean {

namespace {

// Bounds from Java, where null means no bound on that side.
class Bounds {
 public:
  // Returns false if an exception is pending.
  bool Copy(JNIEnv* env, jbyteArray lower, jbyteArray upper) {
    return CopyOptionalBytes(env, lower, &lower_) &&
           CopyOptionalBytes(env, upper, &upper_);
  }
  template <typename Function>
  auto PassTo(const Function& function) const {
    const Slice lower = lower_ ? Slice(*lower_) : Slice();
    const Slice upper = upper_ ? Slice(*upper_) : Slice();
    return function(lower_ ? &lower : nullptr, upper_ ? &upper : nullptr);
  }

 private:
  std::optional<std::string> lower_;
  std::optional<std::string> upper_;
};

}  // namespace

}  // namespace ROCKSDB_NAMESPACE::protean

using namespace ROCKSDB_NAMESPACE;           // NOLINT
using namespace ROCKSDB_NAMESPACE::protean;  // NOLINT

extern "C" {

JNIEXPORT void JNICALL Java_protean_rocksjava_SearchBounds_set0(
    JNIEnv* env, jclass /*search_bounds*/, jbyteArray lower, jbyteArray upper) {
  Guarded(env, [&] {
    Bounds bounds;
    if (bounds.Copy(env, lower, upper)) bounds.PassTo(SetSearchBounds);
  });
}

JNIEXPORT void JNICALL Java_protean_rocksjava_SearchBounds_clear0(
    JNIEnv* env, jclass /*search_bounds*/) {
  Guarded(env, [] { ClearSearchBounds(); });
}

// Returns what closeScope takes.
JNIEXPORT jlong JNICALL Java_protean_rocksjava_SearchBounds_openScope(
    JNIEnv* env, jclass /*search_bounds*/, jbyteArray lower, jbyteArray upper) {
  return Guarded(env, [&]() -> jlong {
    Bounds bounds;
    if (!bounds.Copy(env, lower, upper)) return 0;
    return bounds.PassTo([](const Slice* from, const Slice* to) {
      return reinterpret_cast<jlong>(new SearchBoundsScope(from, to));
    });
  });
}

JNIEXPORT void JNICALL Java_protean_rocksjava_SearchBounds_closeScope(
    JNIEnv* env, jclass /*search_bounds*/, jlong scope) {
  Guarded(env, [&] { delete reinterpret_cast<SearchBoundsScope*>(scope); });
}

}  // extern "C"
